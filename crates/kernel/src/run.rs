//! Runs: durable executions, each a journal of steps.

use std::collections::{BTreeMap, BTreeSet};

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::budget::Exhausted;
use crate::command::Addition;
pub use crate::entry::{DiscardedCopy, Entry, RestoredFile};
use crate::id::{BlobHash, FormulaId, MessageNumber, Number, RunNumber};
use crate::proposal::{Finding, Value};
use crate::provenance::{Provenance, Source};

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

/// The input of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// The named inputs: a record.
    pub values: Value,
    /// Documents that the model is shown.
    #[serde(default)]
    pub attachments: Vec<Attachment>,
    /// For an `Each` run: the items, one for each child.
    #[serde(default)]
    pub items: Vec<Attachment>,
    /// Files from which named inputs were read. Their content does not count as the user's own words.
    #[serde(default)]
    pub origins: Vec<Source>,
    /// For an `Each` run that retries the failed items of another run: the results of the other items there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Box<Earlier>>,
}

/// The results of items in another run. These items have no children in this run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Earlier {
    /// That run.
    pub run: RunNumber,
    /// The results, by item.
    pub results: BTreeMap<usize, Value>,
    /// The provenance of the results.
    pub provenance: Provenance,
}

impl Input {
    /// Returns the result of an item in another run.
    pub fn earlier(&self, index: usize) -> Option<&Value> {
        self.earlier.as_ref().and_then(|earlier| earlier.results.get(&index))
    }
}

/// A document handed to a run, kept by content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its file name.
    pub name: String,
    /// Its bytes.
    pub hash: BlobHash,
    /// The text that the model is shown.
    pub text: BlobHash,
    /// How many bytes the document has.
    pub bytes: u64,
    /// The media type, found in the content: `application/pdf`. Empty for documents that were taken in before the
    /// type was kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub media_type: String,
}

/// The name under which a program keeps its project's policies. They lie beside the worker file, and models do not
/// see them.
pub const PROJECT_POLICY: &str = "policy.cedar";

/// A worker definition with all that it consists of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The worker's name.
    pub name: String,
    /// Its definition.
    pub definition: BlobHash,
    /// The files that the definition includes, by name.
    #[serde(default)]
    pub includes: BTreeMap<String, BlobHash>,
    /// The limits of one run of it.
    pub limits: Limits,
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

/// The limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How often the model may be asked.
    pub turns: u32,
    /// The number of calls that the run may make, with or without success.
    #[serde(default = "default_calls")]
    pub calls: u32,
    /// How deep workers may call workers.
    pub depth: u32,
    /// The number of tokens that may be read and written, children included. A caller lends a child a share of its
    /// remaining tokens. The child gives back its unused tokens when it ends.
    pub tokens: u64,
    /// How long the run may last while it is not waiting, in milliseconds.
    pub wall_ms: u64,
    /// How much may be spent on models, children included, in millionths of a dollar; `None` is no limit. Lent like
    /// tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_micros: Option<u64>,
}

/// Returns how many calls a run may make about which nothing is said.
fn default_calls() -> u32 {
    500
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            turns: 20,
            calls: default_calls(),
            depth: 5,
            tokens: 200_000,
            wall_ms: 3_600_000,
            usd_micros: None,
        }
    }
}

/// The amounts that a run can lend to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Tokens.
    pub(crate) tokens: u64,
    /// Money, in millionths of a dollar; `None` is no limit.
    pub(crate) usd_micros: Option<u64>,
}

impl Share {
    /// Returns one of so many equal parts.
    pub(crate) fn part(self, of: u64) -> Share {
        let of = of.max(1);
        Share { tokens: self.tokens / of, usd_micros: self.usd_micros.map(|micros| micros / of) }
    }
}

impl Limits {
    /// Returns the smaller of both limits of each kind, so that one side can only tighten the other.
    #[must_use]
    pub fn at_most(self, other: Limits) -> Limits {
        Limits {
            turns: self.turns.min(other.turns),
            calls: self.calls.min(other.calls),
            depth: self.depth.min(other.depth),
            tokens: self.tokens.min(other.tokens),
            wall_ms: self.wall_ms.min(other.wall_ms),
            usd_micros: match (self.usd_micros, other.usd_micros) {
                (Some(own), Some(most)) => Some(own.min(most)),
                (own, most) => own.or(most),
            },
        }
    }

    /// Returns the same, capped by the lent share.
    pub(crate) fn within(mut self, share: Share) -> Limits {
        self.tokens = self.tokens.min(share.tokens);
        self.usd_micros = match (self.usd_micros, share.usd_micros) {
            (Some(own), Some(lent)) => Some(own.min(lent)),
            (own, lent) => own.or(lent),
        };
        self
    }
}

/// The usage of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that models read.
    pub input_tokens: u64,
    /// Tokens that models wrote.
    pub output_tokens: u64,
    /// How long models took, in milliseconds.
    pub model_ms: u64,
    /// The cost of models, in millionths of a dollar, by the prices known when each answered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub usd_micros: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_never(times: &u32) -> bool {
    *times == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(amount: &u64) -> bool {
    *amount == 0
}

impl Usage {
    /// Returns all tokens, read and written.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds another usage to this one.
    pub fn add(&mut self, other: Usage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.model_ms = self.model_ms.saturating_add(other.model_ms);
        self.usd_micros = self.usd_micros.saturating_add(other.usd_micros);
    }
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

/// A failure and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// A short, stable name: `model/unauthorized`, `output/invalid`, …
    pub code: String,
    /// The failure, in one sentence. It may quote foreign text.
    pub message: Untrusted,
    /// The remedy.
    pub help: String,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// Its result.
    Done(Value),
    /// Why it has none.
    Failed(Trouble),
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

/// Which of the calls of one turn, or of a worker's own steps, a proposal is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum CallSite {
    /// A call that the model made.
    Turn {
        /// The step at which the model replied.
        replied: u64,
        /// Which of the reply's calls, from 0.
        index: usize,
        /// The provider's name for the call.
        id: String,
    },
    /// A step of the worker's `then` list.
    Then {
        /// Which, from 0.
        index: usize,
    },
    /// A step of the worker's `write` list.
    Write {
        /// Which of all writes of the run, from 0.
        index: usize,
    },
    /// A call that an agent made without a run of its own.
    Direct {
        /// The send that the call is, if code made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    },
}

/// The identity of a send of code. The same call, made again after a crash, is the same send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    /// The code.
    pub eval: FormulaId,
    /// Which of its sends, from 0.
    pub send: u32,
}

/// The outcome of a proposal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// The call was made and returned a value.
    Done {
        /// The returned value.
        value: Value,
        /// The provenance of the value.
        provenance: Provenance,
    },
    /// The call was refused: by a gate, by the user, or because its basis had changed since it was judged. Nothing
    /// happened.
    Refused(Vec<Finding>),
    /// It was tried and failed. Nothing is left half done.
    Failed(Finding),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn child_limits_never_exceed_the_lent_share() {
        let limits = |tokens, usd_micros| Limits { tokens, usd_micros, ..Limits::default() };
        for (own, lent, expected) in [
            ((100, None), (40, None), (40, None)),
            ((10, None), (40, Some(7)), (10, Some(7))),
            ((10, Some(5)), (40, None), (10, Some(5))),
            ((10, Some(5)), (40, Some(7)), (10, Some(5))),
            ((100, Some(9)), (40, Some(0)), (40, Some(0))),
        ] {
            let share = Share { tokens: lent.0, usd_micros: lent.1 };
            assert_eq!(limits(own.0, own.1).within(share), limits(expected.0, expected.1));
        }
        let share = Share { tokens: 10, usd_micros: Some(7) };
        assert_eq!(share.part(3), Share { tokens: 3, usd_micros: Some(2) });
        assert_eq!(share.part(0), share);
    }

    #[test]
    fn rows_from_before_the_money_limit_are_read() {
        let limits: Limits =
            serde_json::from_str(r#"{"turns": 1, "depth": 1, "tokens": 1, "wall_ms": 1}"#).unwrap();
        assert_eq!(limits.usd_micros, None);
        assert!(!serde_json::to_string(&limits).unwrap().contains("usd"));
        let usage: Usage =
            serde_json::from_str(r#"{"input_tokens": 1, "output_tokens": 1, "model_ms": 1}"#).unwrap();
        assert_eq!(usage.usd_micros, 0);
        assert!(!serde_json::to_string(&usage).unwrap().contains("usd"));
    }
}
