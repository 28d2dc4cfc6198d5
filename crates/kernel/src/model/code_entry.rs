//! The entries in the journal of endowed code, and the references in them.

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::formula::Tree;
use crate::id::{BlobHash, FormulaId, MessageNumber};

use super::file_part::Part;
use super::reply::{Reply, Then};

/// The object outside of a heap for which a reference in the heap stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CodeReference"))]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Reference {
    /// A formula, with the agent and the grants through which it is reached.
    Object {
        /// The formula.
        id: FormulaId,
        /// The agent on whose behalf the formula is called.
        agent: FormulaId,
        /// The grants through which the formula was found. The reference can be used as long as they last.
        through: Vec<FormulaId>,
    },
    /// A promise of the store.
    Promise {
        /// The promise.
        id: FormulaId,
        /// The agent on whose behalf the code waits for the promise.
        agent: FormulaId,
        /// The grants through which the promise was found.
        through: Vec<FormulaId>,
    },
    /// The settlement of a promise of the store: whether the promise was kept.
    Settled {
        /// The promise.
        id: FormulaId,
    },
    /// The dismissal of a message.
    Dismissed {
        /// The agent that has the message in its mailbox.
        agent: FormulaId,
        /// The number of the message in the mailbox.
        number: MessageNumber,
    },
    /// A part that was looked up in a directory or a tree of files.
    Part {
        /// The directory or the tree.
        id: FormulaId,
        /// The agent on whose behalf the part is called.
        agent: FormulaId,
        /// The grants through which the part was found.
        through: Vec<FormulaId>,
        /// The tree of the snapshot in which the part was looked up, if that tree is no formula.
        taken: Option<Tree>,
        /// The names that lead to the part.
        place: Vec<String>,
        /// The kind of the part.
        kind: Part,
        /// Whether the part is read-only.
        read_only: bool,
    },
    /// An object of a heap. It lasts as long as the heap.
    Live {
        /// The code.
        eval: FormulaId,
        /// The heap.
        heap: u64,
        /// The number by which the heap knows the object.
        number: u32,
        /// The grants through which the object was found. The reference can be used as long as they last.
        through: Vec<FormulaId>,
    },
    /// An object that ends with the heap, such as an iterator.
    Passing,
}

impl Reference {
    /// Returns the formulas that the reference needs.
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

/// A number by which a heap knows an object outside of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeapReference {
    /// The number.
    pub slot: u32,
    /// The object that the number stands for.
    pub to: Reference,
}

/// The subject of an outcome that a heap hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutcomeSubject {
    /// A send of the code, by its number.
    Send(u32),
    /// A promise that the code was given, by the heap's number for it.
    Promise(u32),
}

/// A promise that code has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CodePromise {
    /// The promise for which the heap has this number.
    Numbered(u32),
    /// The promise for the answer to one of the code's sends, by the heap's number for that answer.
    Answer(u32),
}

/// An event between a heap and the outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum CodeEntry {
    /// The code began.
    Began {
        /// The engine and the realm, with their versions. Under other versions, the code may behave differently.
        engine: String,
        /// The values of the code's names, as the heap got them.
        values: String,
        /// The numbers in these values, with the objects that they stand for.
        bound: Vec<HeapReference>,
    },
    /// The code sent a message.
    Sent {
        /// The number of the send.
        send: u32,
        /// The digest of all that was sent, in the numbers of the heap.
        digest: BlobHash,
        /// A description of the message, in one line.
        line: Untrusted,
    },
    /// The code heard the outcome of a send or a promise.
    Heard {
        /// The send or the promise.
        of: OutcomeSubject,
        /// The outcome, as the heap got it.
        outcome: String,
        /// The numbers that are new in the outcome.
        bound: Vec<HeapReference>,
    },
    /// Others called one of the code's objects before the code had ended.
    Called {
        /// The number of the answer.
        answer: u32,
        /// The number by which the heap knows the object.
        target: u32,
        /// The method and its arguments, as the heap got them.
        call: String,
        /// The numbers that are new in the call.
        bound: Vec<HeapReference>,
    },
    /// The code wrote to its console.
    Logged {
        /// The level of the text: `debug`, `log`, `info`, `warn` or `error`.
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

/// One entry of the journal of endowed code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// The number of the entry, from 0.
    pub number: u64,
    /// The time of the entry, in milliseconds since 1970.
    pub at_ms: i64,
    /// The entry.
    pub entry: CodeEntry,
}

/// The result of a send that became a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mark {
    /// The party and the grants through which the answer is reached.
    pub reach: Reference,
    /// The meaning of the reply for the caller.
    pub then: Then,
    /// The reply.
    pub reply: Reply,
}
