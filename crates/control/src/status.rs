//! The status of a daemon, and the plan of a run.

use kernel::proposal::Effect;
use kernel::{BlobHash, NamePath, RunNumber, Value};
use passable::{Untrusted, visible_line};
use serde::{Deserialize, Serialize};

/// The status of a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// The process identifier of the daemon.
    pub pid: u32,
    /// The build of the daemon.
    pub build: String,
    /// The directory of the store.
    pub store: String,
    /// The runs of the host that are at work.
    pub at_work: Vec<RunNumber>,
    /// The runs of the host that wait for a time, each with the reason in a short phrase.
    #[serde(default)]
    pub waiting: Vec<(RunNumber, String)>,
    /// The number of runs of other hosts that are at work.
    pub others_at_work: usize,
    /// The code of all hosts that has not ended.
    #[serde(default)]
    pub code: CodeCount,
    /// The number of messages that wait for an answer.
    pub needs_you: usize,
    /// The runs that have stalled. Each goes on after `almoner resume`.
    #[serde(default)]
    pub stalled: Vec<StalledRun>,
    /// The number of commits that the store has made since the daemon started.
    pub commits: u64,
    /// The number of times that the store has waited for the disk since the daemon started.
    pub syncs: u64,
}

/// A run of which a part has stalled: the run itself, or runs that it has started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StalledRun {
    /// The run that the user has started.
    pub run: RunNumber,
    /// The name of the run's worker.
    pub name: String,
    /// Whether the run works on many items.
    pub is_batch: bool,
    /// The number of stalled runs in the family.
    pub count: usize,
    /// The reason of the first stalled run. It may quote foreign text.
    pub message: Untrusted,
    /// The remedy.
    pub help: String,
}

impl StalledRun {
    /// Returns the run, the reason and the command that continues the run, in one line.
    pub fn line(&self) -> String {
        let (run, name) = (self.run, visible_line(&self.name));
        let what = match (self.is_batch, self.count) {
            (true, 1) => "has 1 stalled item".to_owned(),
            (true, count) => format!("has {count} stalled items"),
            (false, _) => "has stalled".to_owned(),
        };
        format!("{run} `{name}` {what}: {}; almoner resume {run}", self.message.visible_line())
    }
}

/// The number of pieces of code that have not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodeCount {
    /// The number that have a heap, or are about to get one.
    pub running: usize,
    /// The number that wait for promises of the store, and use no memory meanwhile.
    pub asleep: usize,
    /// The number that have not begun. The object of a name is not there yet, or other code uses all the room.
    pub waiting: usize,
}

impl CodeCount {
    /// Returns the number of all pieces of code.
    pub fn all(&self) -> usize {
        self.running.saturating_add(self.asleep).saturating_add(self.waiting)
    }
}

/// The plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// The worker's name.
    pub worker: String,
    /// The hash of the worker's definition.
    pub digest: String,
    /// The model.
    pub model: String,
    /// The content of each slot, in a sentence.
    pub slots: Vec<String>,
    /// The tools that are offered to the model.
    pub tools: Vec<String>,
    /// The documents, each with its size.
    pub documents: Vec<String>,
    /// The first text for the model.
    pub prompt: Untrusted,
    /// The parts that come from a project file that the user trusts. The client fills in this field.
    #[serde(default)]
    pub from: Vec<String>,
    /// The content of each slot, with its methods and limits. The slots of a worker in a slot come after that slot.
    pub grants: Vec<PlannedSlot>,
    /// The documents, each with its path, size and hash.
    pub reads: Vec<PlannedDocument>,
    /// The named inputs.
    pub inputs: Value,
    /// Whether somebody outside of this program receives everything that the model reads.
    pub tells: bool,
    /// Notes on the limits of the run, and on the other permissions of its worker file.
    pub notes: Vec<String>,
    /// The hash of everything with which the run would be started. If it has changed by then, the user has seen a
    /// different plan.
    pub seal: BlobHash,
}

/// The planned content of a slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedSlot {
    /// The name of the slot, after the names of the slots of workers that contain it.
    pub slot: String,
    /// The kind of slot, as in worker files.
    pub kind: String,
    /// The description of the content. Local paths in it have all links followed.
    pub what: Untrusted,
    /// The user's name for the content, if the content was chosen by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<NamePath>,
    /// Whether the content is a directory that does not exist yet and would be created.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new: bool,
    /// The methods of the content that may be called.
    pub methods: Vec<PlannedMethod>,
    /// The restrictions of the content, as text.
    pub limits: Vec<String>,
}

/// A method that would be granted to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedMethod {
    /// The name of the method.
    pub name: String,
    /// The effect of the method on the world, if it has a known one.
    pub effect: Option<Effect>,
    /// Whether the user has said not to be asked about the method.
    pub allowed: bool,
    /// Whether the worker file requires that the user is asked about the method.
    pub asked: bool,
}

impl PlannedMethod {
    /// Returns whether the user is asked before each call of the method. The user cannot switch this off for a method
    /// that sends, or that the worker file marks.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedDocument {
    /// The path of the document, or its name if it is no local file.
    pub path: Untrusted,
    /// The size of the document, in bytes.
    pub bytes: u64,
    /// The hash of these bytes.
    pub hash: BlobHash,
}
