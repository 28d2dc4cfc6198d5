//! Commands: every durable change is a command, which is applied in one transaction.

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
use crate::proposal::{Finding, Fingerprint, Proposal, Verdict};
use crate::run::{
    Attachment, CallSite, Completion, ConversationView, DiscardedCopy, RestoredFile, RunOutcome, Trouble,
    Usage,
};
use crate::slot::Slot;
use crate::started_effect::StartedEffect;

pub use crate::run::Program;

/// The maximum size of a text that a person says to a run: 256 KiB. A longer text must be a document.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Command {
    /// The agent who acts.
    pub actor: FormulaId,
    /// The act of the agent.
    pub act: Act,
    /// The command in the person's own words, for the transcript. `None` if no person gave the command.
    #[serde(default)]
    pub said: Option<UserCommand>,
}

/// A command as a person gave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UserCommand {
    /// The verb of the command.
    pub verb: String,
    /// The whole text of the command.
    pub text: Untrusted,
}

/// The act of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// A person answers several approvals in the same way.
    AnswerAll(AnswerAll),
    /// A person resumes stalled runs.
    Resume {
        /// The runs. A run comes before the runs that it has started.
        runs: Vec<RunNumber>,
        /// The run that the person named, if there is one. The other runs are of its family.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        named: Option<RunNumber>,
    },
    /// A person gave a command that was refused. Nothing was done, and the transcript records the refusal.
    Refused {
        /// The subject of the command.
        #[serde(default)]
        about: CommandSubject,
        /// The reason.
        why: Untrusted,
    },
    /// A person says something to a run that talks.
    Say {
        /// The run.
        run: RunNumber,
        /// The text.
        said: Untrusted,
        /// The documents that come with the text.
        documents: Vec<Attachment>,
        /// The person's command, for the transcript.
        text: Untrusted,
    },
    /// A person has the changes of a run undone.
    Undo {
        /// The run, which is over.
        run: RunNumber,
        /// The files to restore.
        files: Vec<RestoredFile>,
    },
    /// A person has the changes that a run made in a staged copy applied to the real directory.
    Apply {
        /// The run, which is over.
        run: RunNumber,
        /// The files to put in place.
        files: Vec<RestoredFile>,
    },
    /// A person discards the changes of a run in its staged copy.
    Discard {
        /// The run, which is over.
        run: RunNumber,
        /// The files to discard. An empty list means the whole copy.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<DiscardedCopy>,
    },
    /// A person has the documents of a run forgotten.
    Forget {
        /// The run. This run, and the runs that wait for it, are over.
        run: RunNumber,
    },
    /// The daemon has started, and takes up everything in the outbox again.
    Recover,
    /// An act on names.
    Name(NameAct),
    /// An agent is made.
    Provide(ProvideAgent),
    /// An act on grants and sharing tokens.
    Grant(GrantAct),
    /// An act on mail.
    Mail(Box<MailAct>),
    /// An act on timers.
    Timer(TimerAct),
    /// A person ends work: runs, promises, and everything that was made of them. A guest may only withdraw its own
    /// requests.
    Cancel {
        /// The work to end.
        what: Cancel,
        /// The reason.
        reason: Untrusted,
    },
    /// An event of endowed code.
    Code(CodeAct),
    /// Endowed code has ended.
    Evaluated {
        /// The code.
        eval: FormulaId,
        /// The outcome of the code.
        outcome: RunOutcome,
    },
    /// Collects some formulas that are no longer referenced.
    Collect {
        /// The maximum number of formulas to look at.
        budget: u32,
        /// The formulas that live clients refer to; these stay.
        pinned: BTreeSet<FormulaId>,
    },
}

/// The target of a cancellation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "cancel", rename_all = "snake_case")]
pub enum Cancel {
    /// The formula behind a name.
    Name {
        /// The name.
        path: NamePath,
    },
    /// A run.
    Run {
        /// The number of the run.
        run: RunNumber,
    },
    /// All code that waits in a vat, as far as the actor may end it.
    Vat {
        /// The vat, or a grant of it. The actor must hold it.
        vat: FormulaId,
    },
}

/// The authority that a run gives to one slot of a worker that it makes. It is at most the run's own authority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlotGrant {
    /// The run's own slot from which the authority comes.
    pub from: String,
    /// The methods that the worker may call.
    pub methods: BTreeSet<String>,
    /// The methods for which a person is asked because the worker's file says so.
    #[serde(default)]
    pub ask: BTreeSet<String>,
}

/// Steps that a run takes, together in one transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advance {
    /// The run.
    pub run: RunNumber,
    /// The steps, in order.
    pub moves: Vec<Move>,
}

/// One step that a run takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        /// The step that asked the model.
        prompted: u64,
        /// The reply's bytes.
        reply: BlobHash,
        /// The usage of the model for this reply.
        usage: Usage,
        /// The model that answered, if several models could have been asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The model's call or answer cannot be used.
    Reject {
        /// The call. `None` means the final answer.
        site: Option<CallSite>,
        /// The reasons.
        findings: Vec<Finding>,
    },
    /// Calls are proposed; those that need a person become one approval.
    Propose {
        /// The calls, with the verdicts of the gates.
        proposals: Vec<Judgement>,
    },
    /// An approved call begins.
    Begin {
        /// The step that proposed the call.
        proposal: u64,
    },
    /// The state on which an approved call depends has changed since the approval. The approval is spent, and the
    /// call is proposed anew as it would be now.
    Restate {
        /// The step that proposed the call.
        proposal: u64,
        /// The same call, judged on the current state.
        judgement: Box<Judgement>,
    },
    /// A rule that is newer than the approval forbids an approved call. The approval is spent, and the call is refused.
    Forbid {
        /// The step that proposed the call.
        proposal: u64,
        /// The reasons.
        findings: Vec<Finding>,
    },
    /// A begun call may or may not have happened before a crash, so the host is asked.
    OutcomeUnknown {
        /// The step that proposed the call.
        proposal: u64,
    },
    /// A begun call is over.
    Complete {
        /// The step that proposed the call.
        proposal: u64,
        /// The result of the call.
        completion: Completion,
    },
    /// A begun call that makes a worker is over. The worker exists and holds grants that its maker gives from its
    /// own. The maker can call the worker.
    Make {
        /// The step that proposed the call.
        proposal: u64,
        /// The worker.
        program: Program,
        /// The authority that each slot of the worker is given.
        slots: BTreeMap<String, SlotGrant>,
    },
    /// The result of a begun call is large. The whole result is kept beside the store, and its beginning completes
    /// the call.
    Spill {
        /// The step that proposed the call.
        proposal: u64,
        /// The bytes of the whole result.
        whole: BlobHash,
        /// The number of bytes.
        bytes: u64,
    },
    /// The content that a begun call is about to replace is kept for `undo`. It counts towards the bytes that the run
    /// keeps, and no journal entry tells of it.
    Keep {
        /// The number of bytes.
        bytes: u64,
    },
    /// The model reads another part of a large result.
    Page {
        /// The call that asks for the part.
        site: CallSite,
        /// The step that proposed the call with the large result.
        of: u64,
        /// The position of the first byte.
        from: u64,
        /// The maximum number of bytes.
        bytes: u64,
    },
    /// From here on, the model is shown older parts of the conversation in a shorter form, because the whole would not
    /// fit.
    Shrink {
        /// The shorter form.
        view: ConversationView,
        /// The reason, in one line.
        why: String,
    },
    /// A begun call waits, and ends at a given time.
    Wait {
        /// The step that proposed the call.
        proposal: u64,
        /// The time of the end, in milliseconds since 1970.
        until_ms: i64,
    },
    /// A begun call that asks the host. It becomes a form, and the answers to the form complete it.
    Ask {
        /// The step that proposed the call.
        proposal: u64,
        /// The purpose of the form. Foreign text.
        description: Untrusted,
        /// The fields; none of them a secret.
        fields: Vec<crate::message::Field>,
    },
    /// A begun call that writes to the host. A plain text is delivered at once. For a request or a proposal, the
    /// answer to the message completes the call.
    Write {
        /// The step that proposed the call.
        proposal: u64,
        /// The content of the message.
        writing: Writing,
    },
    /// A child run starts on one item of the input.
    Spawn {
        /// The index of the item, from 0.
        index: usize,
    },
    /// The run has nothing to do until another party acts. Refused when the journal has grown past `seen`, unless it
    /// grew through earlier moves of this command.
    Suspend {
        /// The number of the next step at the time of the decision to wait. The decision is made now, or was made
        /// before this command.
        seen: u64,
        /// The reason why the run waits, in one line.
        why: String,
    },
    /// The model of a run cannot be asked before a given time, and the run waits until then.
    Pause {
        /// The step that asks the model.
        prompted: u64,
        /// The time, in milliseconds since 1970.
        until_ms: i64,
        /// The reason why the run waits, in one line.
        why: String,
    },
    /// The run has reached one of its limits. It asks for more, and waits.
    Exhaust {
        /// The limit that the run has reached.
        limit: LimitKind,
        /// The error with which the run ends if the request for more is denied.
        trouble: Trouble,
    },
    /// The run stalls, because something outside of it failed.
    Stall {
        /// The failure, and the advice how to go on.
        trouble: Trouble,
    },
    /// The run is over.
    Finish {
        /// The outcome of the run.
        outcome: RunOutcome,
    },
}

/// A message from a run to its host. The whole message is foreign text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "writes", rename_all = "snake_case")]
pub enum Writing {
    /// A text that needs no answer.
    Say {
        /// The text.
        text: Untrusted,
    },
    /// A request for a capability.
    Request {
        /// The description of the requested capability and of its purpose.
        description: Untrusted,
        /// The slot under which the run would get the capability.
        slot: String,
    },
    /// A proposal of code, which does nothing until the host endows it.
    Define {
        /// The code.
        source: Untrusted,
        /// The slots of the code.
        slots: BTreeMap<String, Slot>,
        /// The purpose of the code.
        description: Untrusted,
    },
}

/// A call and the verdict of the gates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerApproval {
    /// The person's command, for the transcript.
    pub text: Untrusted,
    /// The approval.
    pub message: MessageNumber,
    /// The indices of the entries, from 0. `None` means all open entries.
    pub entries: Option<Vec<usize>>,
    /// The answer.
    pub choice: Choice,
    /// The person's additions to a worker, if the one approved entry makes a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addition: Option<Addition>,
}

/// A person's answer to several approvals, the same for all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerAll {
    /// The person's command, for the transcript.
    pub text: Untrusted,
    /// The approvals that the person has seen.
    pub approvals: Vec<SeenApproval>,
    /// The answer.
    pub choice: Choice,
}

/// An approval with the calls that a person has seen in it. The answer covers exactly these calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeenApproval {
    /// The approval.
    pub message: MessageNumber,
    /// The fingerprints of all its calls, in order.
    pub fingerprints: Vec<Fingerprint>,
}

/// The choice of a person: yes or no. For an effect that may have happened, the choice says whether it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "choice", rename_all = "snake_case")]
pub enum Choice {
    /// The call may be done.
    Approve {
        /// Whether the approval also covers every identical call that the same run proposes later.
        for_run: bool,
    },
    /// The call may not be done.
    Deny {
        /// The reason, which the model reads.
        reason: Untrusted,
    },
    /// A run that has reached a limit may use more.
    Raise {
        /// The amount that is added to the limit.
        by: Raise,
    },
    /// The effect happened.
    Happened,
    /// The effect did not happen, and may be done now.
    Repeat,
}

/// The result of applying a command.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The reply to the sender of the command.
    pub reply: Reply,
    /// The effects that began. The caller must perform them now.
    pub begun: Vec<StartedEffect>,
    /// The runs that can go on. This list may be lost, because the outbox says the same.
    pub ready: Vec<HostRun>,
    /// The code that was cancelled after its end. Its heap is dropped. This list may be lost, as heaps may.
    pub cancelled: Vec<CancelledCode>,
    /// The number of the last event. It may be lost.
    pub last_event: u64,
}

/// Cancelled code whose heap is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelledCode {
    /// The code.
    pub eval: FormulaId,
    /// The agent beside whose other code this code runs.
    pub author: Number,
    /// The reason.
    pub reason: Untrusted,
}
