//! The pages. Each has its own file or folder.

mod after_answer;
mod approval;
mod approval_answer;
mod approval_bar;
mod approval_entry;
mod attachments;
mod audit;
mod batch;
mod chat;
mod doctor;
mod grants;
mod graph;
mod inbox;
pub mod login;
mod look;
mod message;
mod message_status;
mod messages;
mod models;
mod names;
mod package;
pub mod passkey_login;
mod passkeys;
mod policy;
mod runs;
mod search;
mod sessions;
mod settings;
mod start;
mod waiting;
mod why;
mod workers;

use crate::serve::PageHandler;

/// Returns whether forms that are sent to this path may contain files.
pub fn takes_files(path: &str) -> bool {
    ["/chat", "/chat/{run}", "/runs/new"].contains(&path)
}

/// Returns whether forms that are sent to this path are as small as those of the login.
pub fn is_small(path: &str) -> bool {
    path.starts_with("/sessions")
}

/// All addresses. Each has its path, the function that shows the page, and the function that handles its form.
pub const ROUTES: &[(&str, Option<PageHandler>, Option<PageHandler>)] = &[
    ("/", Some(inbox::show), None),
    ("/m/{number}", Some(message::show), Some(message::send)),
    ("/m/{number}/answer", None, Some(approval_answer::answer)),
    ("/m/{number}/check", None, Some(messages::form::check)),
    ("/m/{number}/dismiss", None, Some(approval_answer::dismiss)),
    ("/batch/{run}", Some(batch::show), Some(batch::answer)),
    ("/chat", Some(chat::list), Some(chat::begin)),
    ("/chat/{run}", Some(chat::show), Some(chat::say)),
    ("/chat/{run}/end", None, Some(chat::end)),
    ("/runs", Some(runs::list::show), None),
    ("/runs/new", Some(start::new_run::show), Some(start::new_run::start)),
    ("/examples", None, Some(start::example::open)),
    ("/r/{run}", Some(runs::page::show), None),
    ("/r/{run}/step/{step}", Some(runs::step::show), None),
    ("/code", Some(runs::code::show), None),
    ("/r/{run}/cancel", None, Some(runs::act::cancel)),
    ("/r/{run}/resume", None, Some(runs::act::resume)),
    ("/r/{run}/save", Some(runs::save::show), Some(runs::save::save)),
    ("/r/{run}/undo", Some(runs::undo::show), Some(runs::undo::undo)),
    ("/r/{run}/diff", Some(runs::diff::show), Some(runs::diff::act)),
    ("/why", Some(why::show), None),
    ("/grants", Some(grants::show), None),
    ("/grants/{grant}", Some(grants::one::show), Some(grants::one::revoke)),
    ("/names", Some(names::show), Some(names::act)),
    ("/names/{*path}", Some(names::show), None),
    ("/call", Some(names::call::show), Some(names::call::send)),
    ("/call/check", None, Some(names::call::check)),
    ("/graph", Some(graph::show), None),
    ("/workers", Some(workers::show), None),
    ("/models", Some(models::show), Some(models::try_it)),
    ("/policy", Some(policy::show), None),
    ("/audit", Some(audit::show), None),
    ("/audit/verified", Some(audit::verify), None),
    ("/doctor", Some(doctor::show), None),
    ("/doctor/{part}", Some(doctor::part), None),
    ("/thing", Some(names::by_id), None),
    ("/settings", Some(settings::show), Some(settings::change)),
    ("/sessions", Some(sessions::show), Some(sessions::revoke)),
    ("/sessions/passkeys", None, Some(passkeys::add)),
    ("/sessions/passkeys/begin", None, Some(passkeys::begin)),
    ("/sessions/passkeys/remove", None, Some(passkeys::remove)),
    ("/logout", None, Some(sessions::leave)),
    ("/look", None, Some(look::choose)),
    ("/search", Some(search::show), None),
    ("/waiting", Some(waiting::show), None),
];
