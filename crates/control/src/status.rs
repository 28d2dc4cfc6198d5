//! How a daemon is, and what a run would do.

use kernel::RunNumber;
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
    /// It has not begun: what one of its names stands for is not there yet, or other code has all the room.
    pub waiting: usize,
}

impl CodeCount {
    /// All of it.
    pub fn all(&self) -> usize {
        self.running.saturating_add(self.asleep).saturating_add(self.waiting)
    }
}

/// What a run would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The worker's name.
    pub worker: String,
    /// The hash of its definition.
    pub digest: String,
    /// The model.
    pub model: String,
    /// What fills each slot, in a sentence.
    pub slots: Vec<String>,
    /// The tools that the model is offered.
    pub tools: Vec<String>,
    /// The documents, with what is read of them.
    pub documents: Vec<String>,
    /// What the model is told first.
    pub prompt: Untrusted,
    /// What came from a file of the project that the person trusts: the client's to say.
    #[serde(default)]
    pub from: Vec<String>,
}
