//! Commands: every durable change is one of these, applied in one transaction.

mod code;
mod command_subject;
mod fault;
mod mail;
mod names;
mod start;
mod timer;

use std::collections::{BTreeMap, BTreeSet};

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::budget::{LimitKind, Raise};
use crate::id::{BlobHash, FormulaId, HostRun, MessageNumber, Number, RunNumber};
use crate::name::NamePath;
use crate::proposal::{Finding, Proposal, Verdict};
use crate::run::{Attachment, CallSite, Completion, DiscardedCopy, RestoredFile, RunOutcome, Trouble, Usage};
use crate::slot::Slot;
use crate::started_effect::StartedEffect;

pub use crate::run::Program;

/// The maximum size of a text that is said to a run at once: 256 KiB. A longer text must be a document.
pub const MAX_USER_TEXT_BYTES: usize = 256 << 10;

pub use crate::model::binding::{Addition, Binding, Target};
pub use crate::model::reply::Reply;
pub use code::{CodeAct, ExportedObject};
pub use command_subject::CommandSubject;
pub use fault::Fault;
pub use mail::{Define, FieldValue, Form, MailAct, RequestAnswer, Send, Text};
pub use names::{AgentKind, GrantAct, NameAct, ProvideAgent, ProvidedObject};
pub use start::Start;
pub use timer::TimerAct;

/// One durable change, asked for on behalf of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// The agent who acts.
    pub actor: FormulaId,
    /// The act of the agent.
    pub act: Act,
    /// The person's own words, if a person gave the command: they go into the transcript.
    #[serde(default)]
    pub said: Option<UserCommand>,
}

/// A command as a person gave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserCommand {
    /// Its verb.
    pub verb: String,
    /// All of it.
    pub text: Untrusted,
}

/// The act of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Act {
    /// A person starts a run.
    Start(Box<Start>),
    /// A run goes on by some steps.
    Advance(Advance),
    /// The daemon asks for the journal of an agent's acts outside of runs. The journal is made if it does not exist.
    OpenAgentJournal {
        /// The agent.
        agent: FormulaId,
    },
    /// A person answers an approval.
    Answer(AnswerApproval),
    /// A person lets stalled runs go on.
    Resume {
        /// Which, a run before those that it has started.
        runs: Vec<RunNumber>,
        /// The one that the person named, if it was one: the others are of its family.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        named: Option<RunNumber>,
    },
    /// A person gave a command that was refused: nothing was done, and the transcript says so.
    Refused {
        /// The subject of the command.
        #[serde(default)]
        about: CommandSubject,
        /// Why.
        why: Untrusted,
    },
    /// A person says something to a run that talks.
    Say {
        /// The run.
        run: RunNumber,
        /// The text.
        said: Untrusted,
        /// The documents that come with it.
        documents: Vec<Attachment>,
        /// The person's command, for the transcript.
        text: Untrusted,
    },
    /// A person has the changes of a run undone.
    Undo {
        /// The run; it is over.
        run: RunNumber,
        /// The files to restore.
        files: Vec<RestoredFile>,
    },
    /// A person has the changes that a run made in a staged copy applied to the real directory.
    Apply {
        /// The run; it is over.
        run: RunNumber,
        /// The files to put in place.
        files: Vec<RestoredFile>,
    },
    /// A person discards the changes of a run in its staged copy.
    Discard {
        /// The run; it is over.
        run: RunNumber,
        /// Of these files alone; of the whole copy if there are none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<DiscardedCopy>,
    },
    /// A person has the documents of a run forgotten.
    Forget {
        /// The run; it and those that wait for it are over.
        run: RunNumber,
    },
    /// The daemon has come up: everything in the outbox is taken up again.
    Recover,
    /// Something happens to names.
    Name(NameAct),
    /// An agent is made.
    Provide(ProvideAgent),
    /// Something happens to the right to use things.
    Grant(GrantAct),
    /// Something happens to mail.
    Mail(Box<MailAct>),
    /// Something happens to timers.
    Timer(TimerAct),
    /// A person ends work: runs, promises, and everything that was made of them. A guest may only withdraw its own
    /// requests.
    Cancel {
        /// The work to end.
        what: Cancel,
        /// Why.
        reason: Untrusted,
    },
    /// Something happens to endowed code.
    Code(CodeAct),
    /// Endowed code has come to its end.
    Evaluated {
        /// The code.
        eval: FormulaId,
        /// The outcome of the code.
        outcome: RunOutcome,
    },
    /// Collects some formulas that are no longer referenced.
    Collect {
        /// How many formulas are looked at, at most.
        budget: u32,
        /// The formulas that live clients refer to; these stay.
        pinned: BTreeSet<FormulaId>,
    },
}

/// The target of a cancellation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cancel", rename_all = "snake_case")]
pub enum Cancel {
    /// The formula behind a name.
    Name {
        /// The name.
        path: NamePath,
    },
    /// A run.
    Run {
        /// Which.
        run: RunNumber,
    },
    /// All code that waits in a vat, as far as the actor may end it.
    Vat {
        /// The place, or a grant of it. The actor must hold it.
        vat: FormulaId,
    },
}

/// The authority that a run gives to one slot of a worker that it makes: at most as much as it has itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotGrant {
    /// The run's own slot.
    pub from: String,
    /// The methods that the worker may call.
    pub methods: BTreeSet<String>,
    /// Methods that are asked about because the worker's file says so.
    #[serde(default)]
    pub ask: BTreeSet<String>,
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
        /// The usage of the model for this reply.
        usage: Usage,
        /// Who answered, where several could have been asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
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
        /// The calls, with the verdicts of the gates.
        proposals: Vec<Judgement>,
    },
    /// An approved call begins.
    Begin {
        /// The step that proposed it.
        proposal: u64,
    },
    /// The state on which an approved call depends has changed since the approval. The approval is spent, and the
    /// call is proposed anew as it would be now.
    Restate {
        /// The step that proposed it.
        proposal: u64,
        /// The same call, judged on the current state.
        judgement: Box<Judgement>,
    },
    /// A begun call may or may not have happened before a crash: the host is asked.
    OutcomeUnknown {
        /// The step that proposed it.
        proposal: u64,
    },
    /// A begun call is over.
    Complete {
        /// The step that proposed it.
        proposal: u64,
        /// The result of the call.
        completion: Completion,
    },
    /// A begun call that makes a worker is over. The worker exists, holds the grants that its maker gives it of its
    /// own, and can be called by the maker.
    Make {
        /// The step that proposed it.
        proposal: u64,
        /// The worker.
        program: Program,
        /// The authority that each of its slots is given.
        slots: BTreeMap<String, SlotGrant>,
    },
    /// The result of a begun call is large. The whole is kept beside the store, and its head completes the call.
    Spill {
        /// The step that proposed it.
        proposal: u64,
        /// The bytes of the whole.
        whole: BlobHash,
        /// How many there are.
        bytes: u64,
    },
    /// The model reads on in such a result.
    Page {
        /// Which of its calls asks for that.
        site: CallSite,
        /// The step that proposed the call whose result it is.
        of: u64,
        /// The first byte.
        from: u64,
        /// How many at most.
        bytes: u64,
    },
    /// A begun call comes to its end at a time.
    Wait {
        /// The step that proposed it.
        proposal: u64,
        /// When, in milliseconds since 1970.
        until_ms: i64,
    },
    /// A begun call that asks the host. It becomes a form, and the answers to the form complete it.
    Ask {
        /// The step that proposed it.
        proposal: u64,
        /// The purpose of the form. Foreign text.
        description: Untrusted,
        /// The fields; none of them a secret.
        fields: Vec<crate::message::Field>,
    },
    /// A begun call that writes to the host. A plain text is delivered at once. A request or a proposal is a message
    /// whose answer completes the call.
    Write {
        /// The step that proposed it.
        proposal: u64,
        /// The content of the message.
        writing: Writing,
    },
    /// A child starts on an item.
    Spawn {
        /// Which, from 0.
        index: usize,
    },
    /// Nothing is left to do until another party acts. Refused when the journal has grown past `seen`, unless it grew
    /// through earlier moves of this command.
    Suspend {
        /// The number of the next step when the decision was made: now, or before this command.
        seen: u64,
        /// The reason why the run waits, in one line.
        why: String,
    },
    /// The run has reached one of its limits: it asks for more, and waits.
    Exhaust {
        /// The limit that it has reached.
        limit: LimitKind,
        /// The error with which the run ends if the answer is no.
        trouble: Trouble,
    },
    /// Something outside failed.
    Stall {
        /// The failure, and the advice how to go on.
        trouble: Trouble,
    },
    /// The run is over.
    Finish {
        /// The outcome of the code.
        outcome: RunOutcome,
    },
}

/// A message from a run to its host. All of it is foreign text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "writes", rename_all = "snake_case")]
pub enum Writing {
    /// Something to be known.
    Say {
        /// The text.
        text: Untrusted,
    },
    /// A thing is asked for.
    Request {
        /// The requested thing, and its purpose.
        description: Untrusted,
        /// The slot under which the run would have it.
        slot: String,
    },
    /// Code is proposed, inert until the host endows it.
    Define {
        /// The code.
        source: Untrusted,
        /// Its slots.
        slots: BTreeMap<String, Slot>,
        /// The purpose of the code.
        description: Untrusted,
    },
}

/// A call and the verdict of the gates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The origin of the call: a turn of the model, a step of the worker, or an agent.
    pub site: CallSite,
    /// The call.
    pub proposal: Proposal,
    /// The verdict of the gates.
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
    /// The additions of the person to the one entry that is approved, if it makes a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addition: Option<Addition>,
}

/// Yes or no; for an effect that may have happened, whether it did.
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
        /// The reason that the model reads.
        reason: Untrusted,
    },
    /// A run that has reached a limit may use more.
    Raise {
        /// How much more.
        by: Raise,
    },
    /// It happened.
    Happened,
    /// It did not happen, and may be done now.
    Repeat,
}

/// The result of applying a command.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The reply to the sender of the command.
    pub reply: Reply,
    /// Effects that began and that the caller must now perform.
    pub begun: Vec<StartedEffect>,
    /// Runs that can go on. May be lost: the outbox says the same.
    pub ready: Vec<HostRun>,
    /// Code that has come to its end before and was cancelled: its heap goes. May be lost, as heaps may.
    pub cancelled: Vec<CancelledCode>,
    /// The number of the last event. May be lost.
    pub last_event: u64,
}

/// Code whose heap goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelledCode {
    /// The code.
    pub eval: FormulaId,
    /// The agent beside whose code it runs.
    pub author: Number,
    /// Why.
    pub reason: Untrusted,
}
