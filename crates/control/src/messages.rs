//! Requests for lists of messages: the filter and the page.

use kernel::MessageNumber;
use serde::{Deserialize, Serialize};

use super::threads::{MailboxPart, MessageStatus};

/// The maximum number of messages on one page, for any requested limit.
pub const MAX_PAGE_MESSAGES: usize = 1000;

/// The selection of messages for a list, and the form of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "list", rename_all = "snake_case")]
pub enum MessageFilter {
    /// The messages of an agent's mailbox, one by one. The answer is `mailbox`.
    Mailbox {
        /// Whether only messages that need an answer are listed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        open: bool,
        /// The order of the messages.
        #[serde(default)]
        order: Order,
    },
    /// The mailbox of a host in threads, newest first. The answer is `threads`. With a filter below, messages are
    /// listed one by one.
    Threads {
        /// The kind of the listed messages. Without it, all kinds are listed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// The status of the listed messages. The answer always includes the messages that need an answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        standing: Option<MessageStatus>,
        /// The part of the mailbox. Without it, all parts are listed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<MailboxPart>,
    },
    /// The messages that answer one of a host's messages, directly or through other answers. The answer is `answers`:
    /// the newest messages up to the page limit, oldest first.
    Answers {
        /// The message.
        message: MessageNumber,
    },
}

/// The order of a list of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The oldest message comes first.
    #[default]
    OldestFirst,
    /// The newest message comes first.
    NewestFirst,
}

/// The bounds of one page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PageBounds {
    /// The last message before the page, in the order of the list. The first page has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<MessageNumber>,
    /// The maximum number of messages on the page. In a list of threads, open messages are counted separately.
    pub limit: usize,
}

impl Default for PageBounds {
    fn default() -> PageBounds {
        PageBounds { after: None, limit: MAX_PAGE_MESSAGES }
    }
}

impl PageBounds {
    /// Returns the bounds of the largest page after a message.
    pub fn after(message: Option<MessageNumber>) -> PageBounds {
        PageBounds { after: message, ..PageBounds::default() }
    }

    /// Returns the maximum number of messages on the page, within the bounds of every page.
    pub fn bounded_limit(self) -> usize {
        self.limit.clamp(1, MAX_PAGE_MESSAGES)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn page_limit_stays_within_its_bounds() {
        let limits =
            [(0, 1), (1, 1), (20, 20), (MAX_PAGE_MESSAGES + 1, MAX_PAGE_MESSAGES), (usize::MAX, 1000)];
        for (limit, bounded) in limits {
            assert_eq!(PageBounds { after: None, limit }.bounded_limit(), bounded, "{limit}");
        }
    }

    #[test]
    fn default_listing_is_first_page_of_mailbox() {
        let filter: MessageFilter = serde_json::from_value(json!({"list": "mailbox"})).unwrap();
        assert_eq!(filter, MessageFilter::Mailbox { open: false, order: Order::OldestFirst });
        let page: PageBounds = serde_json::from_value(json!({})).unwrap();
        assert_eq!((page.after, page.limit), (None, MAX_PAGE_MESSAGES));
    }
}
