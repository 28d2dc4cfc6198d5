//! Mail in threads.

use kernel::proposal::Effect;
use kernel::query::MailboxEntry;
use kernel::{MessageNumber, RunNumber};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// How a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    /// It needs an answer.
    Open,
    /// It asked for something, and was answered.
    Answered,
    /// It was dismissed: only its envelope is left.
    Dismissed,
}

/// A part of a mailbox, by one of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailboxPart {
    /// The thread of this message.
    Thread(MessageNumber),
    /// The open messages of the sender of this one.
    Asker(MessageNumber),
}

/// A message as a list tells of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The message.
    #[serde(flatten)]
    pub letter: MailboxEntry,
    /// The call that it asks about; of several the first that waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<AskedCall>,
}

/// A call that an approval asks about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskedCall {
    /// Its effect on the world.
    pub effect: Effect,
    /// The slot.
    pub slot: String,
    /// The method.
    pub method: String,
    /// The beginnings of its arguments, in a line.
    pub with: Untrusted,
}

/// Messages that answer one another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// The first of them. Those that need an answer are told of apart, and those that were dismissed not at all.
    pub first: Line,
    /// How many others there are.
    pub more: usize,
}

/// The open messages of one sender: of an agent, or of a run with all that it has started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asker {
    /// The newest of their messages, newest first.
    pub lines: Vec<Line>,
    /// How many others there are.
    pub more: usize,
    /// The oldest: as long as it is not answered, it says who is meant.
    pub oldest: MessageNumber,
    /// The run with which it began, if runs ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunNumber>,
}

/// A page of mail in threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadPage {
    /// The messages that need an answer, by sender; the sender of the newest message comes first.
    pub open: Vec<Asker>,
    /// How many messages need an answer.
    pub open_count: usize,
    /// The number of messages of all kinds that need an answer.
    #[serde(default)]
    pub all_open_count: usize,
    /// The threads, those with the newest messages first.
    pub threads: Vec<Thread>,
    /// Messages by themselves, newest first: where some of a kind, of a standing or of a part are asked for.
    #[serde(default)]
    pub lines: Vec<Line>,
    /// Below which message the next page begins, if there is one.
    pub next: Option<MessageNumber>,
}
