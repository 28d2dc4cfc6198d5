//! Runs: durable executions, each a journal of steps.

use std::collections::{BTreeMap, BTreeSet};

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::budget::Exhausted;
use crate::id::{BlobHash, FormulaId, MessageNumber, Number, RunNumber};
use crate::provenance::Provenance;

use super::binding::Addition;

pub use super::call::{CallSite, Completion, Origin};
pub use super::entry::{ChangeDigests, ConversationView, DiscardedCopy, Entry, RestoredFile};
pub use super::input::{Attachment, Earlier, Input, Rejection};
pub use super::limits::Limits;
pub use super::program::{PROJECT_POLICY, Program};
pub use super::question_count::{FamilyQuestion, QuestionCount, Refusal, RefusalCount};
pub use super::run_outcome::{RunOutcome, Trouble};
pub use super::usage::Usage;
pub use super::yield_reason::{DEFAULT_WAITING, MAX_STALLED_ITEMS, YieldReason};

/// A run as the store keeps it beside its journal: its parameters, and the state that follows from the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// The number of the run.
    pub number: RunNumber,
    /// The formula of the run.
    pub id: FormulaId,
    /// The worker that the run executes.
    pub worker: FormulaId,
    /// The worker's name.
    pub name: String,
    /// The worker's definition, byte for byte.
    pub definition: BlobHash,
    /// The files that the definition includes, by name: templates that lay beside it when the run began.
    #[serde(default)]
    pub includes: BTreeMap<String, BlobHash>,
    /// The shape of the run: one execution, or one for each item.
    pub shape: Shape,
    /// The run that waits for this one.
    #[serde(default)]
    pub parent: Option<Parent>,
    /// The number of runs above this one.
    pub depth: u32,
    /// The model's name.
    pub model: String,
    /// The input of the run.
    pub input: Input,
    /// The grants of the run, by slot.
    pub grants: BTreeMap<String, FormulaId>,
    /// The limits of the run.
    pub limits: Limits,
    /// The usage of the run, its children included.
    #[serde(default)]
    pub used: Usage,
    /// The state of the run.
    pub state: State,
    /// The number that the next step of the journal gets.
    pub next_step: u64,
    /// The promise for the result.
    pub result: FormulaId,
    /// The provenance of everything that the run's model has been shown.
    pub provenance: Provenance,
    /// The message that started the run.
    pub source: MessageNumber,
    /// The time at which the run began, in milliseconds since 1970.
    pub started_ms: i64,
    /// The time at which the run ended.
    #[serde(default)]
    pub finished_ms: Option<i64>,
    /// The proposals that have not ended, by the step that proposed them.
    #[serde(default)]
    pub open: BTreeMap<u64, Phase>,
    /// The children of items that have not ended, by item.
    #[serde(default)]
    pub children: BTreeMap<usize, RunNumber>,
    /// The items whose children have given their place to the next item, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub yielded: BTreeMap<usize, YieldReason>,
    /// The outbox row that says that the run must go on.
    #[serde(default)]
    pub drive: Option<u64>,
    /// The recipient of the result besides the host.
    #[serde(default)]
    pub delivery: Option<Delivery>,
    /// The reason why the run was cancelled. Effects that had begun complete, and nothing else begins.
    #[serde(default)]
    pub cancelled: Option<Untrusted>,
    /// The message of the command that cancelled the run, in its host's mailbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<MessageNumber>,
    /// The agent for which the run acts, if that is not the run's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<FormulaId>,
    /// The agent that endowed the code, if this is the journal of code. The code itself may be gone when somebody
    /// asks why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endowed_by: Option<Number>,
    /// The user's additions to workers that the run is about to make, by the step that proposed each worker. Each
    /// comes with the message of the answer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub additions: BTreeMap<u64, (MessageNumber, Addition)>,
    /// The workers that the run has made, by the slots that they fill.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub made: BTreeSet<String>,
    /// The slots filled with the capabilities that the run asked for.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub given: BTreeSet<String>,
    /// The number of messages to the host from the run and the runs below it.
    #[serde(default, skip_serializing_if = "is_never")]
    pub written: u32,
    /// The number of bytes that are kept for the run, and that do not count for the runs above it yet.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub kept_since: u64,
    /// The limit that is used up, if the run waits for the user to raise it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted: Option<Exhausted>,
    /// The questions to the user from the run and the runs below it, if the run counts for them.
    #[serde(default, skip_serializing_if = "QuestionCount::is_nothing")]
    pub questions: QuestionCount,
    /// Whether a user has erased the run's data. The bytes that only the run's journal names are removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten: bool,
    /// Whether the request for the run had a key. The key starts no second run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_key: bool,
}

/// The progress of an open proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// A person is asked.
    AwaitingApproval {
        /// The message that asks.
        message: MessageNumber,
    },
    /// A person has approved the call, and its permission is recorded.
    Approved,
    /// The effect may be happening.
    Executing {
        /// The outbox row of the effect.
        outbox: u64,
    },
    /// The host is asked by a message. The answer completes the call.
    Questioned {
        /// The message that asks.
        message: MessageNumber,
        /// The promise that settles with the answer.
        promise: FormulaId,
    },
    /// The call ends at a given time.
    Sleeping {
        /// The time, in milliseconds since 1970.
        until_ms: i64,
    },
    /// The step asked a model, whose server takes no request before a given time.
    Paused {
        /// The time, in milliseconds since 1970.
        until_ms: i64,
    },
    /// The effect is a run of its own.
    Called {
        /// The child run.
        child: RunNumber,
    },
}

impl Phase {
    /// Returns whether the proposal waits for another party or for the clock.
    pub fn is_waiting(&self) -> bool {
        match self {
            Phase::AwaitingApproval { .. }
            | Phase::Questioned { .. }
            | Phase::Sleeping { .. }
            | Phase::Paused { .. }
            | Phase::Called { .. } => true,
            Phase::Approved | Phase::Executing { .. } => false,
        }
    }
}

impl Run {
    /// Notes that further bytes are kept for the run.
    pub(crate) fn keep(&mut self, bytes: u64) {
        self.used.kept_bytes = self.used.kept_bytes.saturating_add(bytes);
        self.kept_since = self.kept_since.saturating_add(bytes);
    }

    /// Returns whether nothing is left for the run to do until a person or a child acts.
    pub fn is_idle(&self) -> bool {
        if self.is_agent_journal() {
            // The caller that began an effect is at work on that effect.
            return !self.open.values().any(|phase| *phase == Phase::Approved);
        }
        (self.shape == Shape::Chat || !self.open.is_empty() || !self.children.is_empty())
            && self.open.values().all(Phase::is_waiting)
    }

    /// Returns whether the run waits until its model can be asked again.
    pub fn is_paused(&self) -> bool {
        self.state == State::Waiting && self.open.values().any(|phase| matches!(phase, Phase::Paused { .. }))
    }

    /// Returns the runs that this one has started and that have not ended.
    pub fn open_children(&self) -> impl Iterator<Item = RunNumber> {
        let called = self.open.values().filter_map(|phase| match phase {
            Phase::Called { child } => Some(*child),
            _ => None,
        });
        self.children.values().copied().chain(called)
    }

    /// Returns whether this is the journal of the calls that an agent makes without a run of its own.
    pub fn is_agent_journal(&self) -> bool {
        self.shape == Shape::AgentJournal
    }

    /// Returns the message that started the run, or `None` for the journal of an agent.
    pub fn cause(&self) -> Option<MessageNumber> {
        (!self.is_agent_journal()).then_some(self.source)
    }

    /// Returns whether the run is over.
    pub fn is_finished(&self) -> bool {
        matches!(self.state, State::Finished { .. })
    }
}

/// The shape of a run: one execution, several, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum Shape {
    /// One execution over the whole input.
    Single,
    /// One isolated child for each item of the input, at most `jobs` at a time.
    Each {
        /// The maximum number of children at work at once, at least 1.
        jobs: u32,
        /// The maximum number of children that are open at once, if that is more than `jobs`. A child that waits for a
        /// person is open and not at work.
        #[serde(default = "default_waiting")]
        waiting: u32,
    },
    /// The child of an `Each` run for one item.
    Item,
    /// A conversation. After each answer, the run waits for the person to say something. It ends when it is
    /// cancelled.
    Chat,
    /// No execution: the journal of the calls that an agent makes without a run of its own. It has no model, and it
    /// does not end before the agent does.
    AgentJournal,
}

fn default_waiting() -> u32 {
    DEFAULT_WAITING
}

/// The run that waits for another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parent {
    /// The run that waits.
    pub run: RunNumber,
    /// The reason for the wait.
    #[serde(flatten)]
    pub place: WaitReason,
}

/// The reason why a parent waits for a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum WaitReason {
    /// The parent called a worker.
    Call {
        /// The step that proposed the call.
        proposal: u64,
    },
    /// The child is one item of the parent's input.
    Item {
        /// The index of the item, from 0.
        index: usize,
    },
}

/// The recipient of the result of endowed work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delivery {
    /// The agent that proposed the work.
    pub guest: FormulaId,
    /// The promise for which the guest waits.
    pub promise: FormulaId,
    /// The part of the result that the guest gets.
    pub goes_to: ResultGoesTo,
    /// The definition's message in the host's mailbox.
    pub message: MessageNumber,
}

/// The destination of the result of endowed work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ResultGoesTo {
    /// The guest, if the result is data. A result that carries a capability is withheld, and the host is asked.
    #[default]
    GuestData,
    /// The guest. Capabilities in the result become grants.
    GuestCapabilities,
    /// The host alone.
    Host,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_never(times: &u32) -> bool {
    *times == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_nothing(bytes: &u64) -> bool {
    *bytes == 0
}

/// The state of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// The run can go on. An outbox row says that it must.
    Ready,
    /// The run waits for a person or for its children, and holds no memory.
    Waiting,
    /// Something outside of the run failed. `resume` continues the run.
    Stalled {
        /// The failure and its remedy.
        trouble: Trouble,
    },
    /// The run is over.
    Finished {
        /// The outcome of the run.
        outcome: RunOutcome,
    },
}

/// One step of a run's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// The number of the step, from 1.
    pub number: u64,
    /// The time of the record, in milliseconds since 1970.
    pub at_ms: i64,
    /// The entry.
    pub entry: Entry,
    /// The provenance of the entry.
    #[serde(default)]
    pub provenance: Provenance,
}
