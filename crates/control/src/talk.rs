//! Conversations: which there are, and with whom one can have one.

use std::collections::BTreeMap;

use kernel::RunNumber;
use kernel::proposal::Value;
use kernel::run::Run;
use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// A conversation in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatRow {
    /// Its run, without the inputs.
    pub run: Run,
    /// The beginning of its first message, if there is one.
    pub said: Option<Untrusted>,
    /// When something last happened in it, in milliseconds since 1970.
    pub last_ms: i64,
}

/// A worker with which one can talk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Talker {
    /// Its name, as its file gives it.
    pub name: String,
    /// The latest run of it; `None` if it is offered by a name of the person's.
    pub run: Option<RunNumber>,
    /// The person's name for it.
    pub path: Option<String>,
    /// The names of its slots.
    pub slots: Vec<String>,
}

/// With whom somebody wants to talk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatPartner {
    /// A model and nothing else.
    Model,
    /// The worker of a run.
    Run {
        /// Which.
        run: RunNumber,
    },
    /// A worker that the person has a name for.
    Named {
        /// The path of names.
        path: String,
    },
    /// A worker file that was brought.
    Text {
        /// The worker's name.
        name: String,
        /// The text of the file.
        source: String,
    },
    /// A worker file of this machine, with the files beside it.
    File {
        /// Its absolute path.
        path: String,
    },
}

/// The material of a new conversation with a worker, and the worker's requirements.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatSetup {
    /// The worker's name.
    pub name: String,
    /// Its definition.
    pub source: String,
    /// The files that the definition includes, by name.
    pub includes: BTreeMap<String, String>,
    /// The directory of its file, if it was read from there.
    pub beside: Option<String>,
    /// The policies under which it ran before.
    pub policy: Option<String>,
    /// Its own description.
    pub description: Option<Untrusted>,
    /// The pattern of its inputs: a record.
    pub input: Value,
    /// Its slots, in the order of its file.
    pub slots: Vec<ChatSlot>,
}

/// A slot that has to be filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatSlot {
    /// Its name.
    pub name: String,
    /// Its purpose, in the words of the worker's author.
    pub words: Option<Untrusted>,
    /// Of which kind.
    pub kind: String,
    /// An example of the text behind `-e NAME=`; `None` if the slot fills itself.
    pub example: Option<String>,
    /// Whether nothing begins as long as nothing was said of it.
    pub is_needed: bool,
}
