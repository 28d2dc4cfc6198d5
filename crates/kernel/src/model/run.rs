//! Runs: durable executions, each a journal of steps.

use std::collections::{BTreeMap, BTreeSet};

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::budget::Exhausted;
use crate::id::{BlobHash, FormulaId, MessageNumber, Number, RunNumber};
use crate::provenance::Provenance;

use super::binding::Addition;

pub use super::call::{CallSite, Completion, Origin};
pub use super::entry::{DiscardedCopy, Entry, RestoredFile};
pub use super::input::{Attachment, Earlier, Input};
pub use super::limits::Limits;
pub use super::program::{PROJECT_POLICY, Program};
pub use super::run_outcome::{RunOutcome, Trouble};
pub use super::usage::Usage;

/// A run as the store keeps it beside its journal: its parameters, and the state that follows from the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its number.
    pub number: RunNumber,
    /// Its formula.
    pub id: FormulaId,
    /// The worker that it executes.
    pub worker: FormulaId,
    /// The worker's name.
    pub name: String,
    /// The worker's definition, byte for byte.
    pub definition: BlobHash,
    /// The files that the definition includes, by name: templates that lay beside it when the run began.
    #[serde(default)]
    pub includes: BTreeMap<String, BlobHash>,
    /// One execution, or one for each item.
    pub shape: Shape,
    /// The run that waits for this one.
    #[serde(default)]
    pub parent: Option<Parent>,
    /// How many runs stand above it.
    pub depth: u32,
    /// The model's name.
    pub model: String,
    /// The input of the run.
    pub input: Input,
    /// Its grants by slot.
    pub grants: BTreeMap<String, FormulaId>,
    /// The limits of the run.
    pub limits: Limits,
    /// The usage of the run, its children included.
    #[serde(default)]
    pub used: Usage,
    /// Where it stands.
    pub state: State,
    /// The number that the next step of the journal gets.
    pub next_step: u64,
    /// The promise for its result.
    pub result: FormulaId,
    /// All that its model has been shown depends on this.
    pub provenance: Provenance,
    /// The message that started it.
    pub source: MessageNumber,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
    /// When it ended.
    #[serde(default)]
    pub finished_ms: Option<i64>,
    /// The proposals that have not come to their end, by the step that proposed them.
    #[serde(default)]
    pub open: BTreeMap<u64, Phase>,
    /// The children of items that have not ended, by item.
    #[serde(default)]
    pub children: BTreeMap<usize, RunNumber>,
    /// The outbox row that says that the run must go on.
    #[serde(default)]
    pub drive: Option<u64>,
    /// The recipient of the result besides the host.
    #[serde(default)]
    pub delivery: Option<Delivery>,
    /// The reason why it was cancelled. Effects that had begun complete, and nothing else begins.
    #[serde(default)]
    pub cancelled: Option<Untrusted>,
    /// The message of the command that cancelled it, in its host's mailbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<MessageNumber>,
    /// The agent for whom it acts, if that is not the host whose run it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<FormulaId>,
    /// Who endowed the code whose journal it is: the code itself may be gone when somebody asks why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endowed_by: Option<Number>,
    /// The user's additions to workers that the run is about to make, by the step that proposed each worker. Each
    /// comes with the message of the answer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub additions: BTreeMap<u64, (MessageNumber, Addition)>,
    /// The workers that it has made, by the slots that they fill.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub made: BTreeSet<String>,
    /// The slots filled with the capabilities that the run asked for.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub given: BTreeSet<String>,
    /// How often it has written to its host, the runs below it included.
    #[serde(default, skip_serializing_if = "is_never")]
    pub written: u32,
    /// The limit that is used up, if the run waits for the user to raise it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted: Option<Exhausted>,
    /// Whether a user has erased its data. The bytes that only its journal names are removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten: bool,
}

/// How far an open proposal has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// A person is asked.
    AwaitingApproval {
        /// In this message.
        message: MessageNumber,
    },
    /// A person has approved it; a permission lies ready.
    Approved,
    /// The effect may be happening.
    Executing {
        /// The outbox row that stands for it.
        outbox: u64,
    },
    /// The host is asked by a message, whose answer completes it.
    Questioned {
        /// In this message.
        message: MessageNumber,
        /// The promise that settles with the answer.
        promise: FormulaId,
    },
    /// It comes to its end at a time.
    Sleeping {
        /// When, in milliseconds since 1970.
        until_ms: i64,
    },
    /// The effect is a run of its own.
    Called {
        /// That run.
        child: RunNumber,
    },
}

impl Phase {
    /// Returns whether it is for somebody else, or for the clock, to bring it further.
    pub fn is_waiting(&self) -> bool {
        match self {
            Phase::AwaitingApproval { .. }
            | Phase::Questioned { .. }
            | Phase::Sleeping { .. }
            | Phase::Called { .. } => true,
            Phase::Approved | Phase::Executing { .. } => false,
        }
    }
}

impl Run {
    /// Returns whether nothing is left for the run to do until a person or a child acts.
    pub fn is_idle(&self) -> bool {
        if self.is_agent_journal() {
            // The caller that began an effect is at work on it.
            return !self.open.values().any(|phase| *phase == Phase::Approved);
        }
        (self.shape == Shape::Chat || !self.open.is_empty() || !self.children.is_empty())
            && self.open.values().all(Phase::is_waiting)
    }

    /// Returns the runs that this one has started and that have not ended.
    pub fn open_children(&self) -> impl Iterator<Item = RunNumber> {
        let called = self.open.values().filter_map(|phase| match phase {
            Phase::Called { child } => Some(*child),
            _ => None,
        });
        self.children.values().copied().chain(called)
    }

    /// Returns whether it is an agent journal: the journal of the calls that an agent makes without a run of its own.
    pub fn is_agent_journal(&self) -> bool {
        self.shape == Shape::AgentJournal
    }

    /// Returns the message that started it; an agent journal has none.
    pub fn cause(&self) -> Option<MessageNumber> {
        (!self.is_agent_journal()).then_some(self.source)
    }

    /// Returns whether the run is over.
    pub fn is_finished(&self) -> bool {
        matches!(self.state, State::Finished { .. })
    }
}

/// Whether a run is one execution or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum Shape {
    /// One execution over the whole input.
    Single,
    /// One isolated child for each item of the input, at most `jobs` at a time.
    Each {
        /// How many children may be open at once; at least 1.
        jobs: u32,
    },
    /// The child of an `Each` run for one item.
    Item,
    /// A conversation: after each answer it waits for the person to say something. It ends when it is cancelled.
    Chat,
    /// No execution: the journal of the calls that an agent makes without a run of its own. It has no model, and it
    /// does not end before the agent does.
    AgentJournal,
}

/// Who waits for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The run that waits.
    pub run: RunNumber,
    /// The reason for the wait.
    #[serde(flatten)]
    pub place: WaitReason,
}

/// Why a parent waits for a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum WaitReason {
    /// The parent called a worker: the step at which it was proposed.
    Call {
        /// That step.
        proposal: u64,
    },
    /// The child is one item of the parent's input.
    Item {
        /// Which, from 0.
        index: usize,
    },
}

/// The recipient of the result of endowed work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The agent who proposed the work.
    pub guest: FormulaId,
    /// The promise that the guest waits for.
    pub promise: FormulaId,
    /// The part of the result that the guest gets.
    pub goes_to: ResultGoesTo,
    /// The definition's message in the host's mailbox.
    pub message: MessageNumber,
}

/// Where the result of endowed work goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultGoesTo {
    /// To the guest, if it is data; a result that carries a capability is withheld and the host is asked.
    #[default]
    GuestData,
    /// To the guest; capabilities in it become grants.
    GuestCapabilities,
    /// To the host alone.
    Host,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_never(times: &u32) -> bool {
    *times == 0
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// It can go on: an outbox row says that it must.
    Ready,
    /// It waits for a person or for its children and holds no memory.
    Waiting,
    /// Something outside failed; `resume` takes it up again.
    Stalled {
        /// The failure and its remedy.
        trouble: Trouble,
    },
    /// It is over.
    Finished {
        /// The outcome of the run.
        outcome: RunOutcome,
    },
}

/// One step of a run's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its number, from 1.
    pub number: u64,
    /// When it was recorded, in milliseconds since 1970.
    pub at_ms: i64,
    /// The entry.
    pub entry: Entry,
    /// The provenance of the entry.
    #[serde(default)]
    pub provenance: Provenance,
}
