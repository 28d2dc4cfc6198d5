//! Commands: every durable change is one of these, applied in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::begun::Begun;
use crate::grant::Attenuation;
use crate::id::{BlobHash, FormulaId, MessageNumber, RunNumber, StepRef};
use crate::proposal::{Finding, Proposal, Verdict};
use crate::run::{CallSite, Completion, Input, Limits, RunOutcome, Shape, Trouble, Usage};
use crate::txn::StoreFault;

/// One durable change, asked for on behalf of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// The agent who acts.
    pub actor: FormulaId,
    /// What it does.
    pub act: Act,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Act {
    /// A person starts a run.
    Start(Box<Start>),
    /// A run goes on by some steps.
    Advance(Advance),
    /// A person answers an approval.
    Answer(AnswerApproval),
    /// A person lets a stalled run go on.
    Resume {
        /// The run.
        run: RunNumber,
    },
    /// The daemon has come up: everything in the outbox is taken up again.
    Recover,
}

/// Starts a run: endows the worker with what is bound to its slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The person's command, for the transcript.
    pub text: Untrusted,
    /// The worker.
    pub worker: Program,
    /// One execution, or one for each item.
    pub shape: Shape,
    /// The model's name.
    pub model: String,
    /// What to work on.
    pub input: Input,
    /// What fills the slots.
    pub bindings: Vec<Binding>,
}

/// A worker definition with all that it consists of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The worker's name.
    pub name: String,
    /// Its definition.
    pub definition: BlobHash,
    /// What the definition includes, by name.
    #[serde(default)]
    pub includes: BTreeMap<String, BlobHash>,
    /// What one run of it may use up.
    pub limits: Limits,
}

/// One slot and what fills it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// The slot.
    pub slot: String,
    /// What fills it.
    pub target: Target,
    /// The methods that may be called.
    pub methods: BTreeSet<String>,
    /// What is taken away from the target.
    #[serde(default)]
    pub attenuation: Attenuation,
    /// Methods about which the person does not want to be asked.
    #[serde(default)]
    pub allow: BTreeSet<String>,
    /// Methods about which the worker file wants the person to be asked.
    #[serde(default)]
    pub ask: BTreeSet<String>,
}

/// What a person binds to a slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "target", rename_all = "snake_case")]
pub enum Target {
    /// A directory of this machine, by absolute path.
    Mount {
        /// The path.
        path: String,
    },
    /// A directory for outgoing mail, by absolute path.
    Spool {
        /// The path.
        path: String,
    },
    /// A worker that has no slots of its own.
    Worker(Program),
}

/// Steps that a run takes, together in one transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advance {
    /// The run.
    pub run: RunNumber,
    /// The steps, in order.
    pub moves: Vec<Move>,
}

/// One step that a run takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "move", rename_all = "snake_case")]
pub enum Move {
    /// The model is about to be asked.
    Prompt {
        /// The request's bytes.
        request: BlobHash,
        /// The model's name.
        model: String,
    },
    /// The model has answered.
    Reply {
        /// The step that asked.
        prompted: u64,
        /// The reply's bytes.
        reply: BlobHash,
        /// What it cost.
        usage: Usage,
    },
    /// The model's call or answer cannot be used.
    Reject {
        /// Which call; `None` for the final answer.
        site: Option<CallSite>,
        /// Why not.
        findings: Vec<Finding>,
    },
    /// Calls are proposed; those that need a person become one approval.
    Propose {
        /// The calls, with what the gates said.
        proposals: Vec<Judgement>,
    },
    /// An approved call begins.
    Begin {
        /// The step that proposed it.
        proposal: u64,
    },
    /// A begun call is over.
    Complete {
        /// The step that proposed it.
        proposal: u64,
        /// What came of it.
        completion: Completion,
    },
    /// A child starts on an item.
    Spawn {
        /// Which, from 0.
        index: usize,
    },
    /// Nothing is left to do until somebody else acts. Refused when the journal has grown past `seen`.
    Suspend {
        /// The number of the next step when the decision was made.
        seen: u64,
        /// What the run waits for, in one line.
        why: String,
    },
    /// Something outside failed.
    Stall {
        /// What, and what to do.
        trouble: Trouble,
    },
    /// The run is over.
    Finish {
        /// What came of it.
        outcome: RunOutcome,
    },
}

/// A call and what the gates said of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// What made the call.
    pub site: CallSite,
    /// The call.
    pub proposal: Proposal,
    /// What the gates said.
    pub verdict: Verdict,
}

/// A person's answer to an approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerApproval {
    /// The person's command, for the transcript.
    pub text: Untrusted,
    /// The approval.
    pub message: MessageNumber,
    /// Which entries, from 0; `None` means all that are open.
    pub entries: Option<Vec<usize>>,
    /// The answer.
    pub choice: Choice,
}

/// Yes or no.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "choice", rename_all = "snake_case")]
pub enum Choice {
    /// It may be done.
    Approve {
        /// Also again, as often as the same run proposes exactly the same.
        for_run: bool,
    },
    /// It may not.
    Deny {
        /// What the model is told.
        reason: Untrusted,
    },
}

/// What a command did.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The reply to whoever sent it.
    pub reply: Reply,
    /// Effects that began and that the caller must now perform.
    pub begun: Vec<Begun>,
    /// Runs that can go on. May be lost: the outbox says the same.
    pub ready: Vec<RunNumber>,
    /// The number of the last event. May be lost.
    pub last_event: u64,
}

/// The reply to a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// It was done.
    #[default]
    Done,
    /// A run was started.
    Started {
        /// Its number.
        run: RunNumber,
    },
    /// An approval was answered.
    Answered {
        /// The run that waited for it.
        run: RunNumber,
        /// The entries that were answered by this command.
        entries: Vec<usize>,
        /// Whether entries are still open.
        needs_you: bool,
    },
    /// Everything that the answer was for had been answered before; nothing changed.
    AlreadyAnswered {
        /// The run that waited for it.
        run: RunNumber,
    },
    /// The run is not stalled; nothing changed.
    NotStalled,
    /// The journal has grown since the decision to suspend; nothing changed.
    NotSuspended,
}

/// Why a command was not applied. Nothing of it was recorded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// The store has not been made yet, or was made already.
    #[error("the store {0}")]
    Genesis(&'static str),
    /// There is no such run.
    #[error("there is no run {0}")]
    NoRun(RunNumber),
    /// There is no such message.
    #[error("there is no message {0}")]
    NoMessage(MessageNumber),
    /// The message is of another type.
    #[error("message {0} is not an approval")]
    NotAnApproval(MessageNumber),
    /// The approval has no such entry.
    #[error("message {message} has no entry {entry}; it has {count}")]
    NoEntry {
        /// The approval.
        message: MessageNumber,
        /// What was asked for, from 0.
        entry: usize,
        /// How many entries there are.
        count: usize,
    },
    /// A reference leads nowhere.
    #[error("formula {0} is not in the store")]
    Dangling(FormulaId),
    /// A move that the run's journal does not allow.
    #[error("{at}: {what}")]
    OutOfOrder {
        /// Where.
        at: StepRef,
        /// What is wrong.
        what: &'static str,
    },
}
