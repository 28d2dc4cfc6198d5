//! Conversations: the list of them, and the workers with which a user can have one.

use std::collections::BTreeMap;

use kernel::RunNumber;
use kernel::proposal::Value;
use kernel::run::{Limits, Run};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// A conversation in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatRow {
    /// The run of the conversation, without its inputs.
    pub run: Run,
    /// The beginning of the first message, if there is one.
    pub said: Option<Untrusted>,
    /// The time of the last event in the conversation, in milliseconds since 1970.
    pub last_ms: i64,
}

/// A worker with which a user can have a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Talker {
    /// The name of the worker in its file.
    pub name: String,
    /// The latest run of the worker, or `None` if the worker is known by one of the user's names.
    pub run: Option<RunNumber>,
    /// The user's name for the worker.
    pub path: Option<String>,
    /// The names of the worker's slots.
    pub slots: Vec<String>,
}

/// The partner in a new conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatPartner {
    /// A model alone.
    Model,
    /// The worker of a run.
    Run {
        /// The number of the run.
        run: RunNumber,
    },
    /// A worker for which the user has a name.
    Named {
        /// The path of names.
        path: String,
    },
    /// A worker file that was uploaded.
    Text {
        /// The worker's name.
        name: String,
        /// The text of the file.
        source: String,
    },
    /// A local worker file, with the files beside it.
    File {
        /// The absolute path of the file.
        path: String,
    },
}

/// The use for which a user chooses a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkerUse {
    /// A conversation, which needs a worker that answers in text.
    #[default]
    Chat,
    /// A run, with any worker.
    Run,
}

/// Everything needed for a new conversation or run with a worker: the worker's text, and its requirements.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatSetup {
    /// The worker's name.
    pub name: String,
    /// The text of the definition.
    pub source: String,
    /// The files that the definition includes, by name.
    pub includes: BTreeMap<String, String>,
    /// The directory of the worker file, if the worker was read from a file.
    pub beside: Option<String>,
    /// The policies under which the worker ran before.
    pub policy: Option<String>,
    /// The worker's own description.
    pub description: Option<Untrusted>,
    /// The pattern of the worker's inputs: a record.
    pub input: Value,
    /// The worker's slots, in the order of its file.
    pub slots: Vec<ChatSlot>,
    /// The maximum number of documents that the worker takes.
    pub documents: u32,
    /// The limits of the worker file.
    pub limits: Limits,
    /// The model that the worker file asks for.
    pub model: Option<Untrusted>,
}

/// A slot of the worker, with the content that it requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatSlot {
    /// The name of the slot.
    pub name: String,
    /// The purpose of the slot, in the words of the worker's author.
    pub words: Option<Untrusted>,
    /// The kind of slot.
    pub kind: String,
    /// Whether a directory of this machine fills the slot.
    pub is_directory: bool,
    /// Whether the worker may change the directory that fills the slot.
    pub is_changed: bool,
    /// An example of the text after `-e NAME=`, or `None` if the slot needs no content from the user.
    pub example: Option<String>,
    /// Whether the conversation cannot start until the user has filled the slot.
    pub is_needed: bool,
}
