//! What clients and the daemon say to each other.

pub use super::agent_act::{AgentAct, GivenModules, SeenEndowment};
pub use super::answered::{Answered, Written};
pub use super::copied::{Copy, Freed};
pub use super::look::Look;
pub use super::run_request::{
    Document, ModelChoice, RunRequest, StartShape, StartSpec, TALKER, WorkerSource,
};
pub use super::status::{CodeCount, Plan, Planned, PlannedDocument, PlannedMethod, Status};
use std::collections::BTreeMap;

use kernel::budget::Raise;
use kernel::command::{Reply, Said};
use kernel::event::Event;
use kernel::query::Letter;
use kernel::run::{Run, Step};
use kernel::{BlobHash, FormulaId, MessageNumber, RunNumber};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

use super::audited::{Anchor, Audited};
use super::binding::SlotBinding;
use super::examined::{Examined, Saving};
use super::inspect::{Called, FormulaView, GrantView, Graph};
use super::messages::{MessageFilter, PageBounds};
use super::models::ModelList;
use super::narrow::Narrowable;
use super::powers::{Added, Adding};
use super::secret::{SecretAct, VaultView};
use super::sessions::{SessionAct, SessionRow};
use super::talk::{ChatRow, Talker};
use super::threads::ThreadPage;
use super::tools::ToolTable;
use super::undone::{Diff, Part, Undone};
use super::view::{
    CodePage, EndowedView, GrantRow, LetterView, NamePage, NameRow, PickRow, PromiseState, Proposed, Thing,
};
use crate::exit::Failure;
use crate::show::card::Card;
use crate::show::reason::Reason;
use crate::show::stats::Stats;

/// The version of this protocol. A client and a daemon of different versions do not talk.
pub const VERSION: u32 = 14;

/// What a client's environment has of the variables that models need, by name.
pub type Brought = BTreeMap<String, String>;

/// What a client says first.
#[derive(Clone, Serialize, Deserialize)]
pub struct Hello {
    /// The client's [`VERSION`].
    pub version: u32,
    /// The client's build: a newer binary asks an older daemon to make room.
    pub build: String,
    /// What the client's environment has of the variables that models need. Kept in the daemon's memory and nowhere
    /// else, each key under the address of the server that it is for.
    pub keys: Brought,
}

/// A request, and the agent on whose behalf it is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnBehalf {
    /// The agent, by a name path of the store's own host; `None` means that host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What is asked for.
    #[serde(flatten)]
    pub request: Request,
}

/// What a client asks for. Runs, messages and events are those of the agent on whose behalf it asks, which must be a
/// host for everything but `act`, `look` and letters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// How the daemon is.
    Status,
    /// What a configured server of tools says of its tools now.
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
        /// What the person adds to a worker that is made.
        #[serde(flatten)]
        added: Box<Added>,
        /// How much more a run may use that asks for more; what its card offers, if nothing is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raise: Option<Raise>,
    },
    /// What a person would add to a worker that an entry of an approval makes. Nothing is answered.
    Adding {
        /// The approval.
        message: MessageNumber,
        /// Which entry, from 0.
        entry: usize,
        /// What is added.
        #[serde(flatten)]
        added: Box<Added>,
    },
    /// Say no to an approval.
    Deny {
        /// The command as the person gave it.
        text: Untrusted,
        /// The approval.
        message: MessageNumber,
        /// Which entries, from 0; `None` means all that are open.
        entries: Option<Vec<usize>>,
        /// What the model is told.
        reason: Untrusted,
    },
    /// Say whether something happened that a crash cut off. If it did not, it is done now.
    Happened {
        /// The command as the person gave it.
        text: Untrusted,
        /// The message that asks.
        message: MessageNumber,
        /// Whether it did.
        happened: bool,
    },
    /// Go through the log of events and what it tells of.
    Audit {
        /// Also the last events, so many.
        last: Option<usize>,
        /// Of those before this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<u64>,
        /// What the log had come to at some time, to be found in it.
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
        /// What is said.
        said: Untrusted,
        /// The documents that come with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        documents: Vec<Document>,
        /// Only say whether it would be taken.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        dry_run: bool,
    },
    /// Put back what a run changed, or say what that would do.
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
    /// What a run changed in its staged copies, as one diff.
    Diff {
        /// The run, which is over.
        run: RunNumber,
        /// Only these: absolute paths, or as the run named them.
        only: Vec<String>,
    },
    /// Put in place what a run changed in its staged copies.
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
    /// Throw away what a run did in its staged copies.
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
    /// Forget what a run and all that it started worked on.
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
    /// A run and, of all that it has started, what is not over.
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
    /// The number of the last event: what happens from now on comes after it.
    LastEvent,
    /// Every event after `after`, and then each as it comes.
    Follow {
        /// The last event that the client has seen.
        after: u64,
        /// Also what models write, while they write it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        text: bool,
    },
    /// Change something as an agent: names, agents, grants, mail.
    Act {
        /// The command as the person gave it, for the transcript; programs leave it out.
        #[serde(default)]
        said: Option<Said>,
        /// What to do.
        act: Box<AgentAct>,
    },
    /// Look at something as an agent.
    Look {
        /// At what.
        look: Look,
    },
    /// Give out a one-use token with which a client of the gateway becomes this agent.
    Pass,
    /// What came of runs, in figures.
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
        /// What to do.
        act: SessionAct,
    },
    /// Do something with the vault.
    Secret {
        /// What.
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
    /// What a person says, with nothing that comes along.
    pub fn say(text: Untrusted, run: RunNumber, said: Untrusted) -> Request {
        Request::Say { text, run, said, documents: vec![], dry_run: false }
    }

    /// A yes to what a card shows, with nothing added.
    pub fn yes(
        text: Untrusted,
        message: MessageNumber,
        entries: Option<Vec<usize>>,
        for_run: bool,
    ) -> Request {
        Request::Approve { text, message, entries, for_run, added: Box::default(), raise: None }
    }
}

/// What the daemon answers.
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
    /// What a server says of its tools.
    ServerTools(Box<ToolTable>),
    /// How the daemon is.
    Status(Status),
    /// What a command did.
    Reply(Reply),
    /// What a run would do.
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
    Letters(Vec<Letter>),
    /// A mailbox in threads.
    Threads(Box<ThreadPage>),
    /// What came in answer to a message, oldest first.
    Answers {
        /// A page of it.
        letters: Vec<Letter>,
        /// How many are older than those.
        earlier: usize,
    },
    /// An approval.
    Card(Box<Card>),
    /// What a person would add to a worker.
    Adding(Box<Adding>),
    /// Names in a directory.
    Names(Vec<NameRow>),
    /// A page of them.
    NamePage(NamePage),
    /// What a name stands for.
    Thing(Box<Thing>),
    /// Which formula has a name; `None` if it is data.
    Identifier(Option<FormulaId>),
    /// Grants.
    Grants(Vec<GrantRow>),
    /// A message in full.
    Letter(Box<LetterView>),
    /// What can be picked.
    Picks(Vec<PickRow>),
    /// What can be taken away of something.
    Narrowable(Box<Narrowable>),
    /// What a message proposes.
    Proposed(Box<Proposed>),
    /// What came of a definition, oldest first.
    Endowed(Vec<EndowedView>),
    /// How a promise stands.
    Promise(PromiseState),
    /// The journal of endowed code.
    Code(CodePage),
    /// Ways on which something is kept, each as lines from the root.
    Kept(Vec<Vec<String>>),
    /// A sharing token. It is shown once and kept nowhere.
    Token(String),
    /// A token for the gateway.
    Pass(Pass),
    /// An address that lets one browser in, once and within a minute.
    Web(String),
    /// The sessions of the web pages that have not ended.
    Sessions(Vec<SessionRow>),
    /// What formulas are, in short.
    Called(Vec<Called>),
    /// A formula.
    Formula(Box<FormulaView>),
    /// A grant.
    Grant(Box<GrantView>),
    /// A graph.
    Graph(Box<Graph>),
    /// What came of runs, in figures.
    Stats(Box<Stats>),
    /// Where something comes from.
    Why(Vec<Reason>),
    /// What a run changed in its staged copies.
    Diff(Box<Diff>),
    /// What was put back of what a run changed, or would be.
    Undone(Box<Undone>),
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
    /// What a model has written of a reply so far. May be lost, and may come again from the start.
    Text {
        /// The run.
        run: RunNumber,
        /// The step that asked.
        prompted: u64,
        /// How many bytes of the reply came before.
        from: usize,
        /// What comes next of it.
        text: Untrusted,
    },
    /// A run cannot go on, and the store cannot even say so.
    Stuck {
        /// The run.
        run: RunNumber,
        /// Why, and what to do.
        trouble: kernel::run::Trouble,
    },
    /// The vault, as it is shown.
    Secrets(VaultView),
    /// The findings of an examination.
    Examined(Vec<Examined>),
    /// The models that can be asked.
    Models(Box<ModelList>),
    /// A run that is saved, or would be.
    Saved(Box<Saving>),
    /// The operator's policies that are in force.
    Policy(Box<PolicyFile>),
    /// What was found in the log of events.
    Audited(Box<Audited>),
    /// The runs that are forgotten.
    Forgotten(Vec<RunNumber>),
    /// What was freed.
    Freed(Freed),
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
    /// How many examples came out as they must.
    pub examples: usize,
    /// What is worth a look.
    pub warnings: Vec<Untrusted>,
    /// What is wrong with the file as it is now; the one before it is in force then.
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
    /// Whether nothing may ever permit what it forbids.
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
