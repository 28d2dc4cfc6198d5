//! Amounts of mail: messages and their bytes.

use serde::{Deserialize, Serialize};

/// An amount of mail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MailAmount {
    /// The number of messages.
    pub messages: u64,
    /// The number of bytes of these messages.
    pub bytes: u64,
}

impl MailAmount {
    /// The amount that an agent below the store's own host may send before the agent's host is asked, and that a yes
    /// adds.
    pub const QUOTA: MailAmount = MailAmount { messages: 1000, bytes: 16 << 20 };

    /// Returns the sum of two amounts.
    #[must_use]
    pub fn plus(self, other: MailAmount) -> MailAmount {
        MailAmount {
            messages: self.messages.saturating_add(other.messages),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Returns whether the amount is at least `limit` in either part.
    #[must_use]
    pub fn reaches(self, limit: MailAmount) -> bool {
        self.messages >= limit.messages || self.bytes >= limit.bytes
    }
}
