//! The requests of clients and the responses of the daemon.

pub use super::agent_act::{AgentAct, GivenModules, SeenEndowment};
pub use super::answer_input::{AnswerInput, FieldInput};
pub use super::blob_copy::{Copy, FreedSpace};
pub use super::look::Look;
pub use super::run_request::{
    Document, ModelChoice, RunRequest, StartShape, StartSpec, TALKER, WorkerSource,
};
pub use super::status::{CodeCount, Plan, PlannedDocument, PlannedMethod, PlannedSlot, Status};
use std::collections::BTreeMap;

use kernel::budget::Raise;
use kernel::command::{Reply, UserCommand};
use kernel::event::Event;
use kernel::query::MailboxEntry;
use kernel::run::{Run, Step};
use kernel::{BlobHash, FormulaId, MessageNumber, RunNumber};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

use super::audit_report::{Anchor, AuditReport};
use super::binding::SlotBinding;
use super::health_check::{HealthCheck, SaveReport};
use super::inspect::{FormulaSummary, FormulaView, GrantView, Graph};
use super::messages::{MessageFilter, PageBounds};
use super::models::ModelList;
use super::narrow::Narrowable;
use super::powers::{ApprovalExtras, ExtrasPreview};
use super::secret::{SecretAct, VaultView};
use super::sessions::{SessionAct, SessionRow};
use super::talk::{ChatRow, Talker};
use super::threads::ThreadPage;
use super::tools::ToolTable;
use super::undo_report::{Diff, Part, UndoReport};
use super::view::{
    CodePage, EndowedView, GrantRow, MessageView, NamePage, NameRow, ObjectView, PickRow, ProgramProposal,
    PromiseState,
};
use crate::exit::Failure;
use crate::show::card::Card;
use crate::show::reason::Reason;
use crate::show::stats::Stats;

/// The version of this protocol. A client and a daemon of different versions do not talk.
pub const VERSION: u32 = 15;

/// The variables that models need, by name, from a client's environment.
pub type ClientKeys = BTreeMap<String, String>;

/// A client's first message.
#[derive(Clone, Serialize, Deserialize)]
pub struct Hello {
    /// The client's [`VERSION`].
    pub version: u32,
    /// The client's build: a newer binary asks an older daemon to make room.
    pub build: String,
    /// The variables that models need, from the client's environment. The daemon keeps them in memory only, each key
    /// under the address of its server.
    pub keys: ClientKeys,
}

/// A request, and the agent on whose behalf it is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnBehalf {
    /// The agent, by a name path of the store's own host; `None` means that host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The request itself.
    #[serde(flatten)]
    pub request: Request,
}

/// A client's request. Runs, messages and events are those of the agent on whose behalf the client asks. That agent
/// must be a host for everything but `act`, `look` and the listing of a mailbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// How the daemon is.
    Status,
    /// A configured server's present description of its tools.
    ServerTools {
        /// The server, by its name.
        server: String,
    },
    /// Start a run.
    Run(Box<RunRequest>),
    /// Say yes to an approval.
    Approve {
        /// The command as the person gave it.
        text: Untrusted,
        /// The approval.
        message: MessageNumber,
        /// Which entries, from 0; `None` means all that are open.
        entries: Option<Vec<usize>>,
        /// Also again, as often as the same run proposes exactly the same.
        for_run: bool,
        /// The user's additions to a worker that the run makes.
        #[serde(flatten)]
        added: Box<ApprovalExtras>,
        /// The raise of the limits of a run that asks for more; without it, the offer of its card.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raise: Option<Raise>,
    },
    /// Preview a user's additions to a worker that an entry of an approval makes. This answers no message.
    PreviewExtras {
        /// The approval.
        message: MessageNumber,
        /// Which entry, from 0.
        entry: usize,
        /// The additions.
        #[serde(flatten)]
        added: Box<ApprovalExtras>,
    },
    /// Say no to an approval.
    Deny {
        /// The command as the person gave it.
        text: Untrusted,
        /// The approval.
        message: MessageNumber,
        /// Which entries, from 0; `None` means all that are open.
        entries: Option<Vec<usize>>,
        /// The reason that the model is given.
        reason: Untrusted,
    },
    /// Say whether something happened that a crash cut off. If it did not, it is done now.
    ConfirmOutcome {
        /// The command as the person gave it.
        text: Untrusted,
        /// The message that asks.
        message: MessageNumber,
        /// Whether it did.
        happened: bool,
    },
    /// Verify the event log and the records that it describes.
    Audit {
        /// Also the last events, so many.
        last: Option<usize>,
        /// Of those before this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<u64>,
        /// An earlier anchor of the log, to be found in it.
        contains: Option<Anchor>,
        /// Only tell of the last events, and verify nothing: that takes the longer, the longer the log is.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unverified: bool,
    },
    /// Say something to a run that talks.
    Say {
        /// The command as the person gave it.
        text: Untrusted,
        /// The run.
        run: RunNumber,
        /// The user's text.
        said: Untrusted,
        /// The documents that come with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        documents: Vec<Document>,
        /// Only say whether it would be taken.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        dry_run: bool,
    },
    /// Put back the files that a run changed, or preview that.
    Undo {
        /// The command as the person gave it.
        text: Untrusted,
        /// The run, which is over.
        run: RunNumber,
        /// Only these: absolute paths, or as the run named them.
        only: Vec<String>,
        /// Only look.
        dry_run: bool,
    },
    /// The changes of a run in its staged copies, as one diff.
    Diff {
        /// The run, which is over.
        run: RunNumber,
        /// Only these: absolute paths, or as the run named them.
        only: Vec<String>,
    },
    /// Put a run's changes in its staged copies in place.
    Apply {
        /// The command as the person gave it.
        text: Untrusted,
        /// The run, which is over.
        run: RunNumber,
        /// Only these: absolute paths, or as the run named them.
        only: Vec<String>,
        /// Of these files only some parts; each of them is among `only`.
        #[serde(default)]
        parts: Vec<Part>,
    },
    /// Discard a run's changes in its staged copies.
    Discard {
        /// The command as the person gave it.
        text: Untrusted,
        /// The run, which is over.
        run: RunNumber,
        /// Of these files alone: absolute paths, or as the run named them. All of it, if there are none.
        #[serde(default)]
        only: Vec<String>,
        /// Of these files only some parts; each of them is among `only`.
        #[serde(default)]
        parts: Vec<Part>,
    },
    /// Forget the inputs of a run and of all runs that it started.
    Forget {
        /// The command as the person gave it.
        text: Untrusted,
        /// The run, which is over.
        run: RunNumber,
    },
    /// Collect and sweep all that can be, now.
    Gc,
    /// A page of a run as it is copied out of the store: itself from 0, its steps from 1 on.
    Export {
        /// Which.
        run: RunNumber,
        /// Where the page begins.
        from: u64,
    },
    /// Bytes kept beside the store, as they are copied out of it.
    Copy {
        /// Their hash.
        hash: BlobHash,
    },
    /// Let a stalled run go on; `None` means all that are stalled.
    Resume {
        /// The command as the person gave it.
        #[serde(default)]
        text: Untrusted,
        /// The run.
        run: Option<RunNumber>,
    },
    /// Runs, newest first: a page of them.
    Runs {
        /// How many at most. An answer has a limit of its own.
        limit: usize,
        /// Only runs older than this one.
        #[serde(default)]
        below: Option<RunNumber>,
        /// Only runs that no other run started.
        #[serde(default)]
        roots: bool,
    },
    /// Conversations, newest first: a page of them.
    Chats {
        /// Those that are open; otherwise those that are over.
        open: bool,
        /// Only conversations older than this one.
        #[serde(default)]
        below: Option<RunNumber>,
        /// How many at most. An answer has a limit of its own.
        limit: usize,
    },
    /// The workers with which one can talk.
    Talkers,
    /// A run and those of its descendants that are not over.
    Family {
        /// Which.
        run: RunNumber,
    },
    /// One run.
    GetRun {
        /// Which.
        run: RunNumber,
    },
    /// The bindings of the slots of one run.
    Bindings {
        /// Which.
        run: RunNumber,
    },
    /// The journal of one run: a page of it.
    Journal {
        /// Which.
        run: RunNumber,
        /// The number of the first step that is wanted.
        #[serde(default)]
        from: u64,
    },
    /// List messages: a page of them. Letters are those of any agent, everything else is a host's.
    Messages {
        /// Which messages, and in which form.
        filter: MessageFilter,
        /// Which page.
        #[serde(default)]
        page: PageBounds,
    },
    /// An approval, as it is shown to the person who answers it.
    Card {
        /// Which.
        message: MessageNumber,
    },
    /// Where something comes from.
    Why {
        /// A run, a step, a message number, a file or a slot.
        thing: String,
    },
    /// Bytes kept beside the store.
    Blob {
        /// Their hash.
        hash: BlobHash,
    },
    /// The number of the last event: later events come after it.
    LastEvent,
    /// Every event after `after`, and then each as it comes.
    Follow {
        /// The last event that the client has seen.
        after: u64,
        /// Whether to send the text of models too, while they write it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        text: bool,
    },
    /// Change something as an agent: names, agents, grants, mail.
    Act {
        /// The command as the person gave it, for the transcript; programs leave it out.
        #[serde(default)]
        said: Option<UserCommand>,
        /// The act.
        act: Box<AgentAct>,
    },
    /// Look at something as an agent.
    Look {
        /// The query.
        look: Look,
    },
    /// Give out a one-use token with which a client of the gateway becomes this agent.
    Pass,
    /// The outcomes of runs, in figures.
    Stats {
        /// Only of runs that were started at this time or later, in milliseconds since 1970.
        #[serde(default)]
        since_ms: Option<i64>,
    },
    /// Open the web pages, and let one browser in.
    Web {
        /// The path to go to: `/`, or `/m/7` for a message.
        to: String,
        /// Under the bare address, for a browser that does not know names below `localhost`.
        #[serde(default)]
        by_address: bool,
    },
    /// Look at the sessions of the web pages, or end some.
    Sessions {
        /// The act on sessions.
        act: SessionAct,
    },
    /// Do something with the vault.
    Secret {
        /// The act on the vault.
        act: SecretAct,
    },
    /// Examine a part of the installation. It may take seconds.
    Examine {
        /// The part, by its name in [`crate::examined::PARTS`].
        part: String,
    },
    /// List the models that can be asked, for the variables that the client brings.
    Models,
    /// Save a run as a worker with a test, or return what that would write.
    Save {
        /// The run.
        run: RunNumber,
        /// The name of the worker.
        name: String,
        /// The directory of its file: an absolute path.
        dir: String,
        /// Whether the files are written.
        write: bool,
    },
    /// The operator's policies that are in force.
    Policy,
    /// Copy the store.
    Backup {
        /// Where to: an absolute path at which there is nothing.
        path: String,
    },
    /// End.
    Stop,
}

/// A one-use token for the gateway. It is shown once and kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// Where clients connect.
    pub url: String,
    /// The token.
    pub token: String,
    /// How long it can be used, in seconds.
    pub seconds: u64,
}

impl Request {
    /// Returns the request for a user's text, without documents.
    pub fn say(text: Untrusted, run: RunNumber, said: Untrusted) -> Request {
        Request::Say { text, run, said, documents: vec![], dry_run: false }
    }

    /// Returns a yes to a card, with no additions.
    pub fn yes(
        text: Untrusted,
        message: MessageNumber,
        entries: Option<Vec<usize>>,
        for_run: bool,
    ) -> Request {
        Request::Approve { text, message, entries, for_run, added: Box::default(), raise: None }
    }
}

/// A response of the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "response", content = "body", rename_all = "snake_case")]
pub enum Response {
    /// The client's hello was taken.
    Welcome {
        /// The daemon's build.
        build: String,
        /// How many messages wait for the person, counted to a hundred.
        #[serde(default)]
        waiting: usize,
    },
    /// A server's description of its tools.
    ServerTools(Box<ToolTable>),
    /// How the daemon is.
    Status(Status),
    /// The result of a command.
    Reply(Reply),
    /// The plan of a run.
    Plan(Plan),
    /// Runs, newest first.
    Runs(Vec<Run>),
    /// Conversations.
    Chats(Vec<ChatRow>),
    /// Workers with which one can talk.
    Talkers(Vec<Talker>),
    /// A family.
    Family(Family),
    /// One run.
    Run(Box<Run>),
    /// The bindings of the slots of a run.
    Bindings(Vec<SlotBinding>),
    /// Steps of a journal.
    Journal(Vec<Step>),
    /// Messages.
    Mailbox(Vec<MailboxEntry>),
    /// A mailbox in threads.
    Threads(Box<ThreadPage>),
    /// The messages in answer to a message, oldest first.
    Answers {
        /// A page of it.
        letters: Vec<MailboxEntry>,
        /// How many are older than those.
        earlier: usize,
    },
    /// An approval.
    Card(Box<Card>),
    /// A preview of a user's additions to a worker.
    ExtrasPreview(Box<ExtrasPreview>),
    /// Names in a directory.
    Names(Vec<NameRow>),
    /// A page of them.
    NamePage(NamePage),
    /// The object of a name.
    Object(Box<ObjectView>),
    /// Which formula has a name; `None` if it is data.
    Identifier(Option<FormulaId>),
    /// Grants.
    Grants(Vec<GrantRow>),
    /// A message in full.
    Message(Box<MessageView>),
    /// The objects that can be picked.
    Picks(Vec<PickRow>),
    /// The restrictions that an object can take.
    Narrowable(Box<Narrowable>),
    /// The program that a message proposes.
    Proposed(Box<ProgramProposal>),
    /// The outcomes of a definition, oldest first.
    Endowed(Vec<EndowedView>),
    /// How a promise stands.
    Promise(PromiseState),
    /// The journal of endowed code.
    Code(CodePage),
    /// Ways on which something is kept, each as lines from the root.
    RetentionPaths(Vec<Vec<String>>),
    /// A sharing token. It is shown once and kept nowhere.
    Token(String),
    /// A token for the gateway.
    Pass(Pass),
    /// An address that lets one browser in, once and within a minute.
    Web(String),
    /// The sessions of the web pages that have not ended.
    Sessions(Vec<SessionRow>),
    /// Formulas in short.
    FormulaSummaries(Vec<FormulaSummary>),
    /// A formula.
    Formula(Box<FormulaView>),
    /// A grant.
    Grant(Box<GrantView>),
    /// A graph.
    Graph(Box<Graph>),
    /// The outcomes of runs, in figures.
    Stats(Box<Stats>),
    /// Where something comes from.
    Why(Vec<Reason>),
    /// The changes of a run in its staged copies.
    Diff(Box<Diff>),
    /// The files of a run's changes that were put back, or would be.
    UndoReport(Box<UndoReport>),
    /// Bytes, as text; `None` if they are not text.
    Blob(Option<String>),
    /// The number of the last event; 0 if there is none.
    LastEvent(u64),
    /// Something happened.
    Event(Box<Event>),
    /// How far a model has come, in one line. May be lost.
    Progress {
        /// The run that waits for it.
        run: RunNumber,
        /// The line.
        line: Untrusted,
    },
    /// The text so far of a model's reply. May be lost, and may come again from the start.
    Text {
        /// The run.
        run: RunNumber,
        /// The step that asked.
        prompted: u64,
        /// How many bytes of the reply came before.
        from: usize,
        /// The next part of it.
        text: Untrusted,
    },
    /// A run cannot go on, and the store cannot even say so.
    Stuck {
        /// The run.
        run: RunNumber,
        /// The reason, with advice.
        trouble: kernel::run::Trouble,
    },
    /// The vault, as it is shown.
    Secrets(VaultView),
    /// The findings of an examination.
    Examined(Vec<HealthCheck>),
    /// The models that can be asked.
    Models(Box<ModelList>),
    /// A run that is saved, or would be.
    Saved(Box<SaveReport>),
    /// The operator's policies that are in force.
    Policy(Box<PolicyFile>),
    /// The result of an audit of the event log.
    Audited(Box<AuditReport>),
    /// The runs that are forgotten.
    Forgotten(Vec<RunNumber>),
    /// The result of a garbage collection.
    Freed(FreedSpace),
    /// A page of a run; empty once there is no more.
    Exported(Vec<serde_json::Value>),
    /// A copy of bytes; `None` if they are gone.
    Copy(Option<Copy>),
    /// It was not done.
    Failed(Failure),
}

/// The operator's policies that are in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyFile {
    /// The file from which they come, whether it is there or not.
    pub path: String,
    /// The hash of the file that is in force, if one is.
    pub digest: Option<BlobHash>,
    /// The policies in their order.
    pub policies: Vec<PolicyRow>,
    /// The number of examples that came out as they must.
    pub examples: usize,
    /// The warnings.
    pub warnings: Vec<Untrusted>,
    /// The faults of the present file; if there are any, the policies from before are in force.
    pub problems: Vec<Untrusted>,
    /// Whether anything is judged at all: not while the first file is invalid.
    pub ready: bool,
}

/// One policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyRow {
    /// Its name.
    pub name: String,
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Whether it forbids; otherwise it permits.
    pub forbids: bool,
    /// Whether no other policy may ever permit the calls that it forbids.
    pub invariant: bool,
    /// Why it is there.
    pub reason: Option<Untrusted>,
}

/// A run and those that it has started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// The run that was asked about, and of all that it has started those that are not over; oldest first.
    pub members: Vec<Run>,
    /// Their approvals that wait for an answer, oldest first.
    pub asked: Vec<MessageNumber>,
}
