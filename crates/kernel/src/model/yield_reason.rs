//! The reasons for which an item of a batch gives its place to the next item.

use serde::{Deserialize, Serialize};

/// The default for the number of items of a run that may wait for a person.
pub const DEFAULT_WAITING: u32 = 100;

/// The maximum number of stalled items that give their place to the next item.
///
/// If more items stall, the fault is hardly that of the items, so the run begins no more of them.
pub const MAX_STALLED_ITEMS: usize = 5;

/// The reason for which an item has given its place to the next item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum YieldReason {
    /// A person must act.
    Person,
    /// The item has stalled.
    Stall,
}

impl YieldReason {
    /// Returns the reason as the end of a sentence about the item.
    pub fn in_words(self) -> &'static str {
        match self {
            YieldReason::Person => "waits for you",
            YieldReason::Stall => "has stalled",
        }
    }
}
