//! Commands: every durable change is one of these, applied in one transaction.

mod about;
mod code;
mod fault;
mod mail;
mod names;
mod timer;

use std::collections::{BTreeMap, BTreeSet};

use passable::Untrusted;
use resource::Resource;
use serde::{Deserialize, Serialize};

use crate::begun::Begun;
use crate::budget::{LimitKind, Raise};
use crate::grant::Attenuation;
use crate::id::{BlobHash, FormulaId, GrantNumber, HostRun, MessageNumber, Number, RunNumber, StepRef};
use crate::name::NamePath;
use crate::proposal::{Finding, Proposal, Verdict};
pub use crate::run::Program;
use crate::run::{
    Attachment, CallSite, Completion, Input, PutBack, RunOutcome, Shape, ThrownAway, Trouble, Usage,
};
use crate::slot::Slot;

/// The most bytes that are said to a run at once: 256 KiB. What is longer is a document.
pub const MOST_SAID: usize = 256 << 10;

pub use about::About;
pub use code::{CodeAct, Exported};
pub use fault::Fault;
pub use mail::{Define, Filled, Form, Handed, MailAct, Send, Text};
pub use names::{AgentKind, GrantAct, NameAct, ProvideAgent, Provided};
pub use timer::TimerAct;

/// One durable change, asked for on behalf of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// The agent who acts.
    pub actor: FormulaId,
    /// What it does.
    pub act: Act,
    /// The person's own words, if a person gave the command: they go into the transcript.
    #[serde(default)]
    pub said: Option<Said>,
}

/// A command as a person gave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// Its verb.
    pub verb: String,
    /// All of it.
    pub text: Untrusted,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Act {
    /// A person starts a run.
    Start(Box<Start>),
    /// A run goes on by some steps.
    Advance(Advance),
    /// The daemon wants the journal of what an agent does without a run of its own: it is made if it is not there.
    Stand {
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
        /// What it was about.
        #[serde(default)]
        about: About,
        /// Why.
        why: Untrusted,
    },
    /// A person says something to a run that talks.
    Say {
        /// The run.
        run: RunNumber,
        /// What is said.
        said: Untrusted,
        /// The documents that come with it.
        documents: Vec<Attachment>,
        /// The person's command, for the transcript.
        text: Untrusted,
    },
    /// A person has what a run changed put back.
    Undo {
        /// The run; it is over.
        run: RunNumber,
        /// What is put back.
        files: Vec<PutBack>,
    },
    /// A person has what a run changed in a staged copy put in place.
    Apply {
        /// The run; it is over.
        run: RunNumber,
        /// What is put in place.
        files: Vec<PutBack>,
    },
    /// A person throws away what a run did in its staged copy.
    Discard {
        /// The run; it is over.
        run: RunNumber,
        /// Of these files alone; of the whole copy if there are none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<ThrownAway>,
    },
    /// A person has forgotten what a run worked on.
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
    /// A person ends work: runs, promises, and all that was made of them. A guest withdraws what it asked for itself.
    Cancel {
        /// What.
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
        /// What came of it.
        outcome: RunOutcome,
    },
    /// Collects some of what nothing refers to any more.
    Collect {
        /// How many formulas are looked at, at most.
        budget: u32,
        /// What live clients refer to, and must stay.
        pinned: BTreeSet<FormulaId>,
    },
}

/// What is cancelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cancel", rename_all = "snake_case")]
pub enum Cancel {
    /// What a name stands for.
    Name {
        /// The name.
        path: NamePath,
    },
    /// A run.
    Run {
        /// Which.
        run: RunNumber,
    },
    /// All that waits to run in a place, of what the actor may end.
    Vat {
        /// The place, or a grant of it. The actor must hold it.
        vat: FormulaId,
    },
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
    /// Whether what it is given to work on may only be read by those who may read what is private.
    #[serde(default)]
    pub private: bool,
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
    /// A resource that a person typed, resolved, or one for which nothing is typed: questions, a timer, mail.
    Resource(Resource),
    /// A worker that has no slots of its own.
    Worker(Program),
    /// A worker with what fills its slots. It holds that and nothing of its caller's.
    Endowed {
        /// The worker.
        program: Program,
        /// What fills each of its slots.
        bindings: Vec<Binding>,
    },
    /// A model: a worker that hands on what it is told, with a model of its own, and limits for all calls together.
    Model {
        /// The worker.
        program: Program,
        /// The model, or several that are asked in turn.
        model: String,
    },
    /// The worker that has the slot, once more.
    Myself,
    /// What lets a run make workers.
    Workshop,
    /// What one of the actor's names stands for.
    Named {
        /// The name.
        path: NamePath,
    },
}

/// What a run gives to a slot of a worker that it makes: less than it has itself, or as much.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
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
        /// What it cost.
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
        /// The calls, with what the gates said.
        proposals: Vec<Judgement>,
    },
    /// An approved call begins.
    Begin {
        /// The step that proposed it.
        proposal: u64,
    },
    /// What an approved call depends on is not what it was when it was approved: the approval is spent, and the call is
    /// proposed anew as it would be now.
    Restate {
        /// The step that proposed it.
        proposal: u64,
        /// The same call, judged on what is there now.
        judgement: Box<Judgement>,
    },
    /// A begun call may or may not have happened before a crash: the host is asked.
    Doubt {
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
    /// A begun call that makes a worker is over: the worker is there, with what its maker gives it of its own, and the
    /// maker may call it.
    Make {
        /// The step that proposed it.
        proposal: u64,
        /// The worker.
        program: Program,
        /// What is given to its slots.
        slots: BTreeMap<String, Given>,
    },
    /// What a begun call came to is large: the whole of it is kept beside the store, and its head completes the call.
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
    /// A begun call that asks the host: it becomes a form, and what is filled in completes it.
    Ask {
        /// The step that proposed it.
        proposal: u64,
        /// What for. Foreign text.
        description: Untrusted,
        /// The fields; none of them a secret.
        fields: Vec<crate::message::Field>,
    },
    /// A begun call that writes to the host: what it says is delivered at once, what it asks for or proposes is a message
    /// whose answer completes it.
    Write {
        /// The step that proposed it.
        proposal: u64,
        /// What.
        writing: Writing,
    },
    /// A child starts on an item.
    Spawn {
        /// Which, from 0.
        index: usize,
    },
    /// Nothing is left to do until somebody else acts. Refused when the journal has grown past `seen`, but for what the
    /// moves before this one in the same command have led to.
    Suspend {
        /// The number of the next step when the decision was made: now, or before this command.
        seen: u64,
        /// What the run waits for, in one line.
        why: String,
    },
    /// The run has used up what it may: it asks for more, and waits.
    Exhaust {
        /// Of what.
        limit: LimitKind,
        /// What it ends with if the answer is no.
        trouble: Trouble,
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

/// What a run writes to its host. All of it is foreign text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "writes", rename_all = "snake_case")]
pub enum Writing {
    /// Something to be known.
    Say {
        /// What.
        text: Untrusted,
    },
    /// A thing is asked for.
    Request {
        /// Which, and what for.
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
        /// What it is for.
        description: Untrusted,
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
    /// What the person adds to the one entry that is approved, if it makes a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addition: Option<Addition>,
}

/// What a person adds to a worker that a run makes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Addition {
    /// What fills slots of it; of the maker's own nothing is in them then.
    #[serde(default)]
    pub bindings: Vec<Binding>,
    /// Its text, if the person has changed it; the bytes lie beside the store.
    #[serde(default)]
    pub edited: Option<BlobHash>,
    /// What the names among the bindings stood for when the person chose them. If one stands for something else when the
    /// worker is made, it is not made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<(NamePath, FormulaId)>,
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
        /// What the model is told.
        reason: Untrusted,
    },
    /// A run that has used up what it may may use more.
    Raise {
        /// How much more.
        by: Raise,
    },
    /// It happened.
    Happened,
    /// It did not happen, and may be done now.
    Repeat,
}

/// What a command did.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The reply to whoever sent it.
    pub reply: Reply,
    /// Effects that began and that the caller must now perform.
    pub begun: Vec<Begun>,
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
    /// The journal of what an agent does without a run of its own.
    Standing {
        /// Where it is.
        at: HostRun,
    },
    /// A call was proposed in such a journal.
    Proposed {
        /// The step that proposes it.
        at: StepRef,
    },
    /// The same send of the same code had proposed its call before; nothing changed.
    AlreadyProposed {
        /// The step that proposed it.
        at: StepRef,
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
    /// None of the runs is stalled; nothing changed.
    NotStalled,
    /// The journal has grown since the decision to suspend; nothing changed.
    NotSuspended,
    /// A formula was made, or found.
    Made {
        /// The formula.
        id: FormulaId,
    },
    /// An agent was made, or found.
    Agent {
        /// The agent.
        agent: FormulaId,
        /// Its handle.
        handle: FormulaId,
    },
    /// Something was asked for.
    Asked {
        /// Settles with the answer.
        promise: FormulaId,
        /// The message in the actor's mailbox; `None` if the call attached to an earlier one.
        number: Option<MessageNumber>,
    },
    /// A message was sent.
    Sent {
        /// Its number in the actor's mailbox.
        number: MessageNumber,
    },
    /// Endowed code is parked until a vat has brought it to its end.
    Parked {
        /// The code.
        eval: FormulaId,
        /// The promise for its result.
        promise: FormulaId,
    },
    /// A grant was made.
    Granted {
        /// Its number.
        number: GrantNumber,
    },
    /// Somebody has answered before; nothing changed.
    AlreadySettled,
    /// So many messages were dismissed.
    Dismissed {
        /// How many.
        count: u64,
    },
    /// So many formulas were collected.
    Collected {
        /// How many.
        count: u64,
        /// Whether nothing is left to look at.
        done: bool,
    },
    /// So many agents were told of ticks.
    Ticked {
        /// How many.
        count: u64,
        /// Whether nobody is left who must be told now.
        done: bool,
    },
}
