//! Lists of mail in threads.

use kernel::proposal::Effect;
use kernel::query::MailboxEntry;
use kernel::{MessageNumber, RunNumber};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::title::Title;

/// The status of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    /// The message needs an answer.
    Open,
    /// The message asked for something, and was answered.
    Answered,
    /// The message was dismissed, and only its envelope is left.
    Dismissed,
}

/// A part of a mailbox, identified by one of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MailboxPart {
    /// The thread of this message.
    Thread(MessageNumber),
    /// The open messages from the sender of this message.
    Asker(MessageNumber),
}

/// A message in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Line {
    /// The message.
    #[serde(flatten)]
    pub letter: MailboxEntry,
    /// The call that the message asks about. If there are several, it is the first that waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<AskedCall>,
    /// The title of the message: who wants to do what to what. A dismissed message has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    /// The worst danger of an open approval, as far as the sources of its arguments show one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub danger: Option<Title>,
}

/// A call that an approval asks about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskedCall {
    /// The effect of the call on the world.
    pub effect: Effect,
    /// The slot.
    pub slot: String,
    /// The method.
    pub method: String,
    /// The beginnings of the arguments, in one line.
    pub with: Untrusted,
}

/// A thread: messages that answer one another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Thread {
    /// The first message of the thread. Messages that need an answer are listed elsewhere, and dismissed ones are
    /// left out.
    pub first: Line,
    /// The number of the other messages in the thread.
    pub more: usize,
}

/// The open messages of one sender. The sender is an agent, or a run with its descendants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asker {
    /// The newest messages of the sender, newest first.
    pub lines: Vec<Line>,
    /// The number of further messages.
    pub more: usize,
    /// The oldest message of the sender. It identifies the sender until it is answered.
    pub oldest: MessageNumber,
    /// The root run, if the sender is a family of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunNumber>,
}

/// A page of mail in threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadPage {
    /// The messages that need an answer, by sender. The sender of the newest message comes first.
    pub open: Vec<Asker>,
    /// The number of messages that need an answer and match the filter.
    pub open_count: usize,
    /// The number of messages of all kinds that need an answer.
    #[serde(default)]
    pub all_open_count: usize,
    /// The threads, those with the newest messages first.
    pub threads: Vec<Thread>,
    /// Messages listed one by one, newest first, if the request has a filter for kind, status or part.
    #[serde(default)]
    pub lines: Vec<Line>,
    /// The message after which the next page begins, if there is one.
    pub next: Option<MessageNumber>,
}
