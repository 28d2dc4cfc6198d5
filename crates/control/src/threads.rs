//! Mail in threads.

use kernel::MessageNumber;
use kernel::query::Letter;
use serde::{Deserialize, Serialize};

/// How a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It needs an answer.
    Open,
    /// It asked for something, and was answered.
    Answered,
    /// It was dismissed: only its envelope is left.
    Dismissed,
}

/// Messages that answer one another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// The first and the newest, oldest first. Those that need an answer are told of apart, and those that were dismissed
    /// not at all, unless it is they that are asked for.
    pub letters: Vec<Letter>,
    /// How many between the first and the others are left out.
    pub left_out: usize,
}

/// A page of mail in threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadPage {
    /// What needs an answer, newest first: a hundred at most.
    pub open: Vec<Letter>,
    /// How many need an answer.
    pub open_count: usize,
    /// How many need one of whatever kind.
    #[serde(default)]
    pub all_open_count: usize,
    /// The threads, those with the newest messages first.
    pub threads: Vec<Thread>,
    /// Below which message the next page begins, if there is one.
    pub next: Option<MessageNumber>,
}
