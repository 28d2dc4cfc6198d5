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
    /// Its run, without what it works on.
    pub run: Run,
    /// The beginning of what was said first, if anything was.
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
pub enum With {
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
        /// What the file says.
        source: String,
    },
    /// A worker file of this machine, with what lies beside it.
    File {
        /// Its absolute path.
        path: String,
    },
}

/// What a conversation with a worker is begun with, and what it wants for that.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
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
    /// What it says of itself.
    pub description: Option<Untrusted>,
    /// The pattern of its inputs: a record.
    pub input: Value,
    /// Its slots, in the order of its file.
    pub slots: Vec<WantedSlot>,
}

/// A slot that has to be filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedSlot {
    /// Its name.
    pub name: String,
    /// What it is for, in the words of whoever wrote the worker.
    pub words: Option<Untrusted>,
    /// Of which kind.
    pub kind: String,
    /// What could stand behind `-e NAME=`; `None` if the slot fills itself.
    pub example: Option<String>,
    /// Whether nothing begins as long as nothing was said of it.
    pub is_needed: bool,
}
