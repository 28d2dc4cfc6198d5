//! The entries in the journal of endowed code, and the references in them.

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::formula::Tree;
use crate::id::{BlobHash, FormulaId, MessageNumber};

use super::file_part::Part;
use super::reply::{Reply, Then};

/// The object outside of a heap that a reference in the heap stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Reference {
    /// A formula, as somebody reaches it.
    Object {
        /// The formula.
        id: FormulaId,
        /// On whose behalf it is called.
        agent: FormulaId,
        /// The grants through which it was found: it can be used as long as they last.
        through: Vec<FormulaId>,
    },
    /// A promise of the store's.
    Promise {
        /// The promise.
        id: FormulaId,
        /// On whose behalf it is waited for.
        agent: FormulaId,
        /// The grants through which it was found.
        through: Vec<FormulaId>,
    },
    /// Whether a promise of the store's was kept, once it settles.
    Settled {
        /// The promise.
        id: FormulaId,
    },
    /// That a message was dismissed, once it is.
    Dismissed {
        /// In whose mailbox.
        agent: FormulaId,
        /// Its number there.
        number: MessageNumber,
    },
    /// A part that was looked up in a directory or a tree of files.
    Part {
        /// The directory or the tree.
        id: FormulaId,
        /// On whose behalf it is called.
        agent: FormulaId,
        /// The grants through which it was found.
        through: Vec<FormulaId>,
        /// The tree of the snapshot in which the part was looked up, if it is no formula.
        taken: Option<Tree>,
        /// The names that lead to it.
        place: Vec<String>,
        /// The kind of the part.
        kind: Part,
        /// Whether nothing in it may be changed.
        read_only: bool,
    },
    /// An object of a heap that lasts as long as the heap.
    Live {
        /// The code.
        eval: FormulaId,
        /// The heap.
        heap: u64,
        /// The number by which the heap knows it.
        number: u32,
        /// The grants through which it was found: it can be used as long as they last.
        through: Vec<FormulaId>,
    },
    /// Something that ends with the heap: an iterator.
    Passing,
}

impl Reference {
    /// Returns the formulas that it needs.
    pub fn needs(&self) -> Vec<FormulaId> {
        match self {
            Reference::Object { id, through, .. }
            | Reference::Promise { id, through, .. }
            | Reference::Part { id, through, .. }
            | Reference::Live { eval: id, through, .. } => {
                std::iter::once(*id).chain(through.iter().copied()).collect()
            }
            Reference::Settled { id } => vec![*id],
            Reference::Dismissed { .. } | Reference::Passing => vec![],
        }
    }
}

/// A number by which a heap knows something outside of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeapReference {
    /// The number.
    pub slot: u32,
    /// The object that the number stands for.
    pub to: Reference,
}

/// The subject of an outcome that a heap hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeSubject {
    /// A send of its own.
    Send(u32),
    /// A promise that it was given, by the number by which it knows it.
    Promise(u32),
}

/// A promise that code has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodePromise {
    /// By the number by which its heap knows it.
    Numbered(u32),
    /// For the answer to one of its sends, by the heap's number for that answer.
    Answer(u32),
}

/// An event between a heap and the outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum CodeEntry {
    /// The code began.
    Began {
        /// The engine and the realm, with their versions: others may do the same otherwise.
        engine: String,
        /// The values of its names, as the heap got them.
        values: String,
        /// The numbers in that.
        bound: Vec<HeapReference>,
    },
    /// It sent something.
    Sent {
        /// Which of its sends.
        send: u32,
        /// The digest of all that was sent, in the numbers of the heap.
        digest: BlobHash,
        /// A description of the message, in one line.
        line: Untrusted,
    },
    /// It heard the outcome of a send or a promise.
    Heard {
        /// The send or the promise.
        of: OutcomeSubject,
        /// The outcome, as the heap got it.
        outcome: String,
        /// The numbers that are new in that.
        bound: Vec<HeapReference>,
    },
    /// Others called one of its objects before it had come to its end.
    Called {
        /// The number of the answer.
        answer: u32,
        /// The number by which the heap knows the object.
        target: u32,
        /// The method and its arguments, as the heap got them.
        call: String,
        /// The numbers that are new in that.
        bound: Vec<HeapReference>,
    },
    /// It wrote to its console.
    Logged {
        /// How loud: `debug`, `log`, `info`, `warn`, `error`.
        level: String,
        /// The text.
        text: Untrusted,
    },
}

impl CodeEntry {
    /// Returns the formulas that the daemon needs to start the code again.
    pub fn needs(&self) -> Vec<FormulaId> {
        match self {
            CodeEntry::Began { bound, .. }
            | CodeEntry::Heard { bound, .. }
            | CodeEntry::Called { bound, .. } => bound.iter().flat_map(|bound| bound.to.needs()).collect(),
            CodeEntry::Sent { .. } | CodeEntry::Logged { .. } => vec![],
        }
    }
}

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its number, from 0.
    pub number: u64,
    /// When it was recorded, in milliseconds since 1970.
    pub at_ms: i64,
    /// The entry.
    pub entry: CodeEntry,
}

/// The result of a send that became a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// As whom, and through which grants, the answer is reached.
    pub reach: Reference,
    /// The meaning of the reply for the caller.
    pub then: Then,
    /// The reply.
    pub reply: Reply,
}
