//! The requests of clients and the responses of the daemon.

pub use super::agent_act::{AgentAct, GivenModules, SeenEndowment};
pub use super::answer_input::{AnswerInput, FieldInput};
pub use super::blob_copy::{Copy, FreedSpace};
pub use super::look::Look;
pub use super::policy_report::{ManagedPolicies, PolicyFile, PolicyRow};
pub use super::run_request::{
    Document, ModelChoice, RunRequest, StartShape, StartSpec, TALKER, WorkerSource,
};
use super::sent_request::SentRequest;
pub use super::status::{CodeCount, Plan, PlannedDocument, PlannedMethod, PlannedSlot, StalledRun, Status};
pub use super::version::VERSION;
use std::collections::BTreeMap;

use kernel::budget::Raise;
use kernel::command::{Reply, SeenApproval, UserCommand};
use kernel::event::Event;
use kernel::query::MailboxEntry;
use kernel::run::{Run, Step};
use kernel::{BlobHash, FormulaId, MessageNumber, RunNumber};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

use super::audit_report::{Anchor, AuditReport};
use super::backup_report::BackupReport;
use super::binding::SlotBinding;
use super::health_check::{HealthCheck, SaveReport};
use super::inspect::{FormulaSummary, FormulaView, GrantView, Graph};
use super::login::{LoginAct, LoginAnswer};
use super::messages::{MessageFilter, PageBounds};
use super::models::ModelList;
use super::narrow::Narrowable;
use super::powers::{ApprovalExtras, ExtrasPreview};
use super::secret::{SecretAct, VaultView};
use super::sessions::{SessionAct, SessionRow};
use super::talk::{ChatRow, Talker};
use super::threads::{Line, ThreadPage};
use super::tools::ToolTable;
use super::undo_report::{Diff, Part, UndoReport};
use super::view::{
    CodePage, EndowedView, GrantRow, MessageView, NamePage, NameRow, ObjectView, PickRow, ProgramProposal,
    PromiseState,
};
use crate::exit::Failure;
use crate::show::batch_card::BatchAsks;
use crate::show::card::Card;
use crate::show::reason::Reason;
use crate::show::stats::Stats;

/// The environment variables of a client that models need, by name.
pub type ClientKeys = BTreeMap<String, String>;

/// The first message of a client.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(expecting = "an object with `version`, `build` and `keys`")]
pub struct Hello {
    /// The client's [`VERSION`]. The daemon answers in the form of this version.
    pub version: u32,
    /// The client's build. A client asks a daemon of another build to end, so that a daemon of its own build can start.
    pub build: String,
    /// The variables that models need, from the client's environment. The daemon keeps them only in memory, each key
    /// under the address of its server.
    pub keys: ClientKeys,
}

/// A request, with the agent on whose behalf it is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(expecting = "an object with `request`")]
pub struct OnBehalf {
    /// The agent, as a name path from the store's own host. `None` means that host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The request itself.
    #[serde(flatten)]
    pub request: Request,
}

/// A client's request. Runs, messages and events are those of the agent on whose behalf the client asks. An agent
/// that is no host may only use `act`, `look`, `pass` and the listing of its mailbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// The status of the daemon.
    Status,
    /// The tools that a configured server currently describes.
    ServerTools {
        /// The name of the server.
        server: String,
        /// The time that the server has to start, in milliseconds. Without it, the settings decide.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start_ms: Option<u64>,
    },
    /// Starts a run.
    Run(Box<RunRequest>),
    /// Approves entries of an approval.
    Approve {
        /// The command as the person gave it.
        text: Untrusted,
        /// The message of the approval.
        message: MessageNumber,
        /// The indices of the entries, counted from 0. `None` means all open entries.
        entries: Option<Vec<usize>>,
        /// Whether the same call is also approved whenever the same run proposes it again.
        for_run: bool,
        /// The user's additions to a worker that the run makes.
        #[serde(flatten)]
        added: Box<ApprovalExtras>,
        /// The raise of the limits of a run that asks for more. With `None`, the raise that the card offers is
        /// granted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raise: Option<Raise>,
    },
    /// Answers several approvals in the same way.
    AnswerAll {
        /// The command as the person gave it.
        text: Untrusted,
        /// The approvals, each with the calls that the person has seen in it.
        approvals: Vec<SeenApproval>,
        /// The reason of a denial, for the models. `None` approves the calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        denied: Option<Untrusted>,
    },
    /// Returns the open approvals of batches.
    BatchAsks,
    /// Previews a user's additions to a worker that an entry of an approval makes. This answers no message.
    PreviewExtras {
        /// The message of the approval.
        message: MessageNumber,
        /// The index of the entry, counted from 0.
        entry: usize,
        /// The additions.
        #[serde(flatten)]
        added: Box<ApprovalExtras>,
    },
    /// Denies entries of an approval.
    Deny {
        /// The command as the person gave it.
        text: Untrusted,
        /// The message of the approval.
        message: MessageNumber,
        /// The indices of the entries, counted from 0. `None` means all open entries.
        entries: Option<Vec<usize>>,
        /// The reason for the model.
        reason: Untrusted,
    },
    /// States whether a call happened whose outcome a crash left unknown. If it did not happen, it is performed now.
    ConfirmOutcome {
        /// The command as the person gave it.
        text: Untrusted,
        /// The message that asks about the call.
        message: MessageNumber,
        /// Whether the call happened.
        happened: bool,
    },
    /// Verifies the event log and the records that it describes.
    Audit {
        /// The number of last events to return as well.
        last: Option<usize>,
        /// The event before which these events end. With `None`, they are the last of the log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<u64>,
        /// An earlier anchor of the log. The report says whether the log contains it.
        contains: Option<Anchor>,
        /// Whether only the last events are returned, without verification. Verification takes longer the longer the
        /// log is.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unverified: bool,
    },
    /// Sends a text to a run that is a conversation.
    Say {
        /// The command as the person gave it.
        text: Untrusted,
        /// The run.
        run: RunNumber,
        /// The user's text.
        said: Untrusted,
        /// The documents that come with the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        documents: Vec<Document>,
        /// Whether only to check that the text would be accepted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        dry_run: bool,
    },
    /// Restores the files that a run changed, or previews that.
    Undo {
        /// The command as the person gave it.
        text: Untrusted,
        /// The finished run.
        run: RunNumber,
        /// The files to restore: absolute paths, or paths as the run named them. An empty list means all.
        only: Vec<String>,
        /// Whether only to preview the result.
        dry_run: bool,
        /// Whether to restore files too in which the run's work is too large to be kept.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        gives_up: bool,
    },
    /// The changes of a run in its staged copies, as one diff.
    Diff {
        /// The finished run.
        run: RunNumber,
        /// The files to include: absolute paths, or paths as the run named them. An empty list means all.
        only: Vec<String>,
    },
    /// Applies a run's changes in its staged copies to the real files.
    Apply {
        /// The command as the person gave it.
        text: Untrusted,
        /// The finished run.
        run: RunNumber,
        /// The files to apply: absolute paths, or paths as the run named them. An empty list means all.
        only: Vec<String>,
        /// The parts to apply of some files. Each of these files must also be in `only`.
        #[serde(default)]
        parts: Vec<Part>,
    },
    /// Discards a run's changes in its staged copies.
    Discard {
        /// The command as the person gave it.
        text: Untrusted,
        /// The finished run.
        run: RunNumber,
        /// The files to discard: absolute paths, or paths as the run named them. An empty list means the whole copy.
        #[serde(default)]
        only: Vec<String>,
        /// The parts to discard of some files. Each of these files must also be in `only`.
        #[serde(default)]
        parts: Vec<Part>,
    },
    /// Deletes the inputs of a run and of all runs that it started.
    Forget {
        /// The command as the person gave it.
        text: Untrusted,
        /// The finished run.
        run: RunNumber,
    },
    /// Runs the garbage collection now.
    Gc,
    /// A page of a run for a copy outside the store. Entry 0 is the run itself, and its steps follow from 1.
    Export {
        /// The run.
        run: RunNumber,
        /// The number of the page's first entry.
        from: u64,
    },
    /// Stored bytes for a copy outside the store.
    Copy {
        /// The hash of the bytes.
        hash: BlobHash,
    },
    /// A request of a run to a model, as it was sent.
    SentRequest {
        /// The run.
        run: RunNumber,
        /// The number of the request, from 1. `None` means the last one.
        #[serde(default)]
        number: Option<u64>,
    },
    /// Resumes a stalled run, or all stalled runs.
    Resume {
        /// The command as the person gave it.
        #[serde(default)]
        text: Untrusted,
        /// The run. `None` means all stalled runs.
        run: Option<RunNumber>,
    },
    /// A page of the runs, newest first.
    Runs {
        /// The maximum number of runs. An answer also has a limit of its own.
        limit: usize,
        /// The run below which the page begins: only older runs are returned.
        #[serde(default)]
        below: Option<RunNumber>,
        /// Whether only runs are returned that no other run started.
        #[serde(default)]
        roots: bool,
    },
    /// A page of the conversations, newest first.
    Chats {
        /// Whether open conversations are returned. Otherwise the finished ones are.
        open: bool,
        /// The conversation below which the page begins: only older ones are returned.
        #[serde(default)]
        below: Option<RunNumber>,
        /// The maximum number of conversations. An answer also has a limit of its own.
        limit: usize,
    },
    /// The workers with which a user can have a conversation.
    Talkers,
    /// A run and its descendants that are not finished.
    Family {
        /// The run.
        run: RunNumber,
    },
    /// One run.
    GetRun {
        /// The run.
        run: RunNumber,
    },
    /// The bindings of a run's slots.
    Bindings {
        /// The run.
        run: RunNumber,
    },
    /// A page of the journal of a run.
    Journal {
        /// The run.
        run: RunNumber,
        /// The number of the first requested step.
        #[serde(default)]
        from: u64,
        /// The maximum number of steps. An answer also has a limit of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    /// A page of messages. The mailbox of any agent can be listed one by one, but threads and answers only for a
    /// host.
    Messages {
        /// The selection of messages, and the form of the list.
        filter: MessageFilter,
        /// The bounds of the page.
        #[serde(default)]
        page: PageBounds,
    },
    /// An approval as it is shown to the user.
    Card {
        /// The message of the approval.
        message: MessageNumber,
    },
    /// Notes that the user has an approval before them in full.
    OpenCard {
        /// The message of the approval.
        message: MessageNumber,
    },
    /// The origin of an object.
    Why {
        /// A run, a step, a message number, a file or a slot.
        thing: String,
    },
    /// Stored bytes as text.
    Blob {
        /// The hash of the bytes.
        hash: BlobHash,
    },
    /// The number of the last event. Later events have higher numbers.
    LastEvent,
    /// Every event after `after`, and then each new event as it happens.
    Follow {
        /// The last event that the client has seen.
        after: u64,
        /// Whether the text of models is also sent, while they write it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        text: bool,
    },
    /// Performs an act as an agent: on names, agents, grants or mail.
    Act {
        /// The command as the person gave it, for the transcript. Programs leave it out.
        #[serde(default)]
        said: Option<UserCommand>,
        /// The act.
        act: Box<AgentAct>,
    },
    /// Performs a query as an agent.
    Look {
        /// The query.
        look: Look,
    },
    /// A one-use token with which a client of the gateway acts as this agent.
    Pass,
    /// Statistics about the outcomes of runs.
    Stats {
        /// The earliest start time of the counted runs, in milliseconds since 1970.
        #[serde(default)]
        since_ms: Option<i64>,
    },
    /// Starts the web pages, and returns an address that admits one browser.
    Web {
        /// The path to open: `/`, or `/m/7` for a message.
        to: String,
        /// Whether the address has a bare IP address as its host, for a browser that does not resolve names below
        /// `localhost`.
        #[serde(default)]
        by_address: bool,
    },
    /// Lists the sessions of the web pages, or ends some.
    Sessions {
        /// The act on sessions.
        act: SessionAct,
    },
    /// Performs an act on the vault.
    Secret {
        /// The act on the vault.
        act: SecretAct,
    },
    /// Performs an act on the logins at tool servers.
    Login {
        /// The act on logins.
        act: LoginAct,
    },
    /// Examines a part of the installation. This may take seconds.
    Examine {
        /// The part, by its name in [`crate::health_check::PARTS`].
        part: String,
    },
    /// The list of models, for the environment variables that the client has sent.
    Models,
    /// Saves a run as a worker with a test, or returns a preview of that.
    Save {
        /// The run.
        run: RunNumber,
        /// The name of the worker.
        name: String,
        /// The directory of the worker file, as an absolute path.
        dir: String,
        /// Whether the files are written.
        write: bool,
    },
    /// The operator's policies in force.
    Policy,
    /// Copies the whole home to one file.
    Backup {
        /// The destination: an absolute path at which nothing exists.
        path: String,
        /// Whether the file holds the key of the vault too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        with_key: bool,
    },
    /// Stops the daemon.
    Stop,
    /// Stops the daemon, so that a daemon of another build takes its place. A service manager starts it again.
    Replace {
        /// The build that takes the place.
        build: String,
    },
}

/// A one-use token for the gateway. It is shown once and not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pass {
    /// The address to which clients connect.
    pub url: String,
    /// The token.
    pub token: String,
    /// The time for which the token can be used, in seconds.
    pub seconds: u64,
}

impl Request {
    /// Returns the request for a user's text, without documents.
    pub fn say(text: Untrusted, run: RunNumber, said: Untrusted) -> Request {
        Request::Say { text, run, said, documents: vec![], dry_run: false }
    }

    /// Returns a request that approves entries of a card, with no additions.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "response", content = "body", rename_all = "snake_case")]
pub enum Response {
    /// The acceptance of the client's hello.
    Welcome {
        /// The daemon's build.
        build: String,
        /// The number of messages that wait for the person, up to a maximum of a hundred.
        #[serde(default)]
        waiting: usize,
        /// The files that the daemon sees. If the client sees others under the same paths, it sends their bytes.
        #[serde(default)]
        files: String,
        /// Whether a service manager has started the daemon, and starts it again after `replace`.
        #[serde(default)]
        is_service: bool,
    },
    /// A warning that comes before the answer to a request. It concerns the whole store.
    Warning(Failure),
    /// The open approvals of batches.
    BatchAsks(Vec<BatchAsks>),
    /// The tools that a server describes.
    ServerTools(Box<ToolTable>),
    /// The status of the daemon.
    Status(Status),
    /// The result of a command.
    Reply(Reply),
    /// The plan of a run.
    Plan(Plan),
    /// Runs, newest first.
    Runs(Vec<Run>),
    /// Conversations.
    Chats(Vec<ChatRow>),
    /// The workers with which a user can have a conversation.
    Talkers(Vec<Talker>),
    /// A run and its unfinished descendants.
    Family(Family),
    /// One run.
    Run(Box<Run>),
    /// The bindings of the slots of a run.
    Bindings(Vec<SlotBinding>),
    /// Steps of a journal.
    Journal(Vec<Step>),
    /// Messages of a mailbox, one by one.
    Mailbox(Vec<Line>),
    /// A mailbox in threads.
    Threads(Box<ThreadPage>),
    /// The messages that answer a message, oldest first.
    Answers {
        /// The answers on this page.
        letters: Vec<MailboxEntry>,
        /// The number of answers that are older.
        earlier: usize,
    },
    /// An approval.
    Card(Box<Card>),
    /// Whether an approval had been shown to the user in full before.
    CardOpening {
        /// Whether it had.
        before: bool,
    },
    /// A preview of a user's additions to a worker.
    ExtrasPreview(Box<ExtrasPreview>),
    /// Names in a directory.
    Names(Vec<NameRow>),
    /// A page of the names in a directory.
    NamePage(NamePage),
    /// The object of a name.
    Object(Box<ObjectView>),
    /// The formula that has a name, or `None` if the object is data.
    Identifier(Option<FormulaId>),
    /// Grants.
    Grants(Vec<GrantRow>),
    /// A message in full.
    Message(Box<MessageView>),
    /// The agent's named objects that can be picked as a capability.
    Picks(Vec<PickRow>),
    /// The restrictions that an object can take.
    Narrowable(Box<Narrowable>),
    /// The program that a message proposes.
    Proposed(Box<ProgramProposal>),
    /// The outcomes of a definition's endowments, oldest first.
    Endowed(Vec<EndowedView>),
    /// The state of a promise.
    Promise(PromiseState),
    /// A page of the journal of endowed code.
    Code(CodePage),
    /// The paths by which an object is kept, each as lines from the root.
    RetentionPaths(Vec<Vec<String>>),
    /// A sharing token. It is shown once and not stored.
    Token(String),
    /// A token for the gateway.
    Pass(Pass),
    /// An address that admits one browser, once and within a minute.
    Web(String),
    /// The sessions of the web pages that have not ended.
    Sessions(Vec<SessionRow>),
    /// Short descriptions of formulas.
    FormulaSummaries(Vec<FormulaSummary>),
    /// A formula.
    Formula(Box<FormulaView>),
    /// A grant.
    Grant(Box<GrantView>),
    /// A graph.
    Graph(Box<Graph>),
    /// Statistics about the outcomes of runs.
    Stats(Box<Stats>),
    /// The origin of an object.
    Why(Vec<Reason>),
    /// The changes of a run in its staged copies, as one diff.
    Diff(Box<Diff>),
    /// The report about an undo or about applied changes, or about a preview.
    UndoReport(Box<UndoReport>),
    /// Stored bytes as text, or `None` if they are not text.
    Blob(Option<String>),
    /// The report about a backup.
    BackedUp(BackupReport),
    /// The number of the last event, or 0 if there is none.
    LastEvent(u64),
    /// An event.
    Event(Box<Event>),
    /// The progress of a model, in one line. This response may be lost.
    Progress {
        /// The run that waits for the model.
        run: RunNumber,
        /// The line.
        line: Untrusted,
    },
    /// A part of the text of a model's reply. This response may be lost, and the text may be sent again from the
    /// start.
    Text {
        /// The run.
        run: RunNumber,
        /// The step that asked the model.
        prompted: u64,
        /// The position of this part in the reply, in bytes.
        from: usize,
        /// The text of this part.
        text: Untrusted,
    },
    /// A run that cannot continue, and whose failure cannot be stored.
    Stuck {
        /// The run.
        run: RunNumber,
        /// The reason why the run cannot continue, with advice.
        trouble: kernel::run::Trouble,
    },
    /// The vault as it is shown, without values.
    Secrets(VaultView),
    /// The answer to an act on logins.
    Login(LoginAnswer),
    /// The findings of an examination.
    Examined(Vec<HealthCheck>),
    /// The list of models.
    Models(Box<ModelList>),
    /// The report about a saved run, or about a preview.
    Saved(Box<SaveReport>),
    /// The operator's policies that are in force.
    Policy(Box<PolicyFile>),
    /// The result of an audit of the event log.
    Audited(Box<AuditReport>),
    /// The runs whose inputs were deleted.
    Forgotten(Vec<RunNumber>),
    /// The result of a garbage collection.
    Freed(FreedSpace),
    /// A page of a run, which is empty after the last page.
    Exported(Vec<serde_json::Value>),
    /// A copy of stored bytes, or `None` if they no longer exist.
    Copy(Option<Copy>),
    /// A request to a model, as it was sent.
    SentRequest(Box<SentRequest>),
    /// The failure of a request.
    Failed(Failure),
}

/// A run and its unfinished descendants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Family {
    /// The requested run and its unfinished descendants, oldest first.
    pub members: Vec<Run>,
    /// The approvals of these runs that wait for an answer, oldest first.
    pub asked: Vec<MessageNumber>,
}
