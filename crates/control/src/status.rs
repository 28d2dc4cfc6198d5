//! The status of a daemon, and the plan of a run.

use kernel::proposal::Effect;
use kernel::{BlobHash, NamePath, RunNumber, Value};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// How a daemon is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Its process.
    pub pid: u32,
    /// Its build.
    pub build: String,
    /// The directory of its store.
    pub store: String,
    /// Runs of the host that are at work.
    pub at_work: Vec<RunNumber>,
    /// How many runs of other hosts are.
    pub others_at_work: usize,
    /// How much code there is that has not come to its end, of all hosts.
    #[serde(default)]
    pub code: CodeCount,
    /// How many messages wait for an answer.
    pub needs_you: usize,
    /// How many commits the store has made since the daemon began.
    pub commits: u64,
    /// How often it has waited for the disk.
    pub syncs: u64,
}

/// Code that has not come to its end, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeCount {
    /// It has a heap, or is about to get one.
    pub running: usize,
    /// It waits for promises of the store's, and holds no memory meanwhile.
    pub asleep: usize,
    /// The number that have not begun: the object of a name is not there yet, or other code has all the room.
    pub waiting: usize,
}

impl CodeCount {
    /// Returns all of it.
    pub fn all(&self) -> usize {
        self.running.saturating_add(self.asleep).saturating_add(self.waiting)
    }
}

/// The plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The worker's name.
    pub worker: String,
    /// The hash of its definition.
    pub digest: String,
    /// The model.
    pub model: String,
    /// The content of each slot, in a sentence.
    pub slots: Vec<String>,
    /// The tools that the model is offered.
    pub tools: Vec<String>,
    /// The documents, each with its size.
    pub documents: Vec<String>,
    /// The first text for the model.
    pub prompt: Untrusted,
    /// The parts that come from a project file that the user trusts. The client fills this in.
    #[serde(default)]
    pub from: Vec<String>,
    /// The content of each slot, with its methods and limits; slots of workers in slots come after theirs.
    pub grants: Vec<PlannedSlot>,
    /// The documents, each with its path, size and hash.
    pub reads: Vec<PlannedDocument>,
    /// The other inputs.
    pub inputs: Value,
    /// Whether somebody outside of this program is told all that the model reads.
    pub tells: bool,
    /// Notes on the limits of the run, and on the other permissions of its file.
    pub notes: Vec<String>,
    /// The hash of all that the run would be begun with. If it is another one by then, the person has seen something else.
    pub seal: BlobHash,
}

/// The planned content of a slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedSlot {
    /// The slot, behind those of the workers in whose slots it lies.
    pub slot: String,
    /// The kind of slot, as in worker files.
    pub kind: String,
    /// The description of the content; paths of this machine have all links followed.
    pub what: Untrusted,
    /// The person's name for that, if it has one and was chosen by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<NamePath>,
    /// Whether it is a directory that is not there and would be made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new: bool,
    /// The methods of the content that may be called.
    pub methods: Vec<PlannedMethod>,
    /// The restrictions of the content, as text.
    pub limits: Vec<String>,
}

/// A method that would be granted to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedMethod {
    /// Its name.
    pub name: String,
    /// Its effect on the world, if its kind has one.
    pub effect: Option<Effect>,
    /// Whether the person has said not to be asked about it.
    pub allowed: bool,
    /// Whether the worker file wants the person to be asked about it.
    pub asked: bool,
}

impl PlannedMethod {
    /// Returns whether the user is asked about each call of it. No user can lift that from a method that sends, or
    /// from one that the worker file marks.
    pub fn asks(&self) -> bool {
        match self.effect {
            _ if self.asked => true,
            Some(Effect::Commit) => true,
            Some(Effect::Modify) => !self.allowed,
            Some(Effect::Observe) | None => false,
        }
    }
}

/// A document that would be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedDocument {
    /// Its path, or its name if it is no file of this machine.
    pub path: Untrusted,
    /// How many bytes it has.
    pub bytes: u64,
    /// The hash of these bytes.
    pub hash: BlobHash,
}
