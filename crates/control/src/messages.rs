//! Listings of mail: which messages are listed, and which page of them.

use kernel::MessageNumber;
use serde::{Deserialize, Serialize};

use super::threads::{MailboxPart, MessageStatus};

/// The maximum number of messages on one page, for any requested limit.
pub const MAX_PAGE_MESSAGES: usize = 1000;

/// Which messages are listed, and in which form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "list", rename_all = "snake_case")]
pub enum MessageFilter {
    /// The messages of an agent's mailbox, one by one. The answer is `letters`.
    Mailbox {
        /// Only messages that need an answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        open: bool,
        /// The order in which they come.
        #[serde(default)]
        order: Order,
    },
    /// The mailbox of a host in threads, newest first. The answer is `threads`; a narrower filter lists messages by
    /// themselves.
    Threads {
        /// Only messages of this kind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// Only messages with this status. The answer includes the messages that need an answer in any case.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        standing: Option<MessageStatus>,
        /// Only messages of this part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<MailboxPart>,
    },
    /// The messages that came in answer to one of a host's, and in answer to those. The answer is `answers`: the newest
    /// of the page, oldest first.
    Answers {
        /// The message.
        message: MessageNumber,
    },
}

/// The order of a list of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The oldest message comes first.
    #[default]
    OldestFirst,
    /// The newest message comes first.
    NewestFirst,
}

/// One page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageBounds {
    /// The message behind which the page begins, in the order of the list; the first page has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<MessageNumber>,
    /// The maximum number of messages on the page. In a list of threads, open messages count apart.
    pub limit: usize,
}

impl Default for PageBounds {
    fn default() -> PageBounds {
        PageBounds { after: None, limit: MAX_PAGE_MESSAGES }
    }
}

impl PageBounds {
    /// Returns the bounds of the largest page behind a message.
    pub fn after(message: Option<MessageNumber>) -> PageBounds {
        PageBounds { after: message, ..PageBounds::default() }
    }

    /// Returns how many messages the page really has at most.
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
