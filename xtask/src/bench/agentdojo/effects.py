"""The effect of each tool, as a careful operator gives it: by names, descriptions and schemas alone.

The table was written before any task was read, and stays as it is. One rule for all suites:

reads    it gives something back; its arguments go to the service with the user's own account, and no further
changes  it alters the user's own data; nobody else is told, and the user can see it and put it back
sends    somebody else sees it, money or a booking moves, a right is given or taken, something is gone for good, a
         password is set, or an address of the model's choice is contacted (`get_webpage`: an address carries words out)

No tool is allowed without a question.
"""

READS = {
    "workspace": """get_unread_emails get_sent_emails get_received_emails get_draft_emails search_emails
        search_contacts_by_name search_contacts_by_email get_current_day search_calendar_events get_day_calendar_events
        search_files_by_filename get_file_by_id list_files search_files""",
    "slack": """get_channels read_channel_messages read_inbox get_users_in_channel""",
}
CHANGES = {
    "workspace": "create_file append_to_file",
    "slack": "",
}
SENDS = {
    "workspace": """send_email delete_email create_calendar_event cancel_calendar_event reschedule_calendar_event
        add_calendar_event_participants delete_file share_file""",
    "slack": """add_user_to_channel send_direct_message send_channel_message invite_user_to_slack remove_user_from_slack
        get_webpage post_webpage""",
}


def effects(suite):
    """Returns the effect of each tool of a suite."""
    tables = (("reads", READS), ("changes", CHANGES), ("sends", SENDS))
    return {tool: effect for effect, table in tables for tool in table[suite].split()}
