//! What clients and the daemon say to each other.

use std::collections::BTreeMap;

use kernel::command::Reply;
use kernel::event::Event;
use kernel::query::Letter;
use kernel::run::{Run, Step};
use kernel::{BlobHash, MessageNumber, RunNumber};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::exit::Failure;
use crate::show::card::Card;
use crate::show::reason::Reason;

/// The version of this protocol. A client and a daemon of different versions do not talk.
pub const VERSION: u32 = 2;

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

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// How the daemon is.
    Status,
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
    /// Let a stalled run go on; `None` means all that are stalled.
    Resume {
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
    /// The journal of one run: a page of it.
    Journal {
        /// Which.
        run: RunNumber,
        /// The number of the first step that is wanted.
        #[serde(default)]
        from: u64,
    },
    /// The mailbox, newest first: a page of it.
    Inbox {
        /// Only what needs an answer.
        open: bool,
        /// Only messages older than this one.
        #[serde(default)]
        below: Option<MessageNumber>,
        /// How many at most. An answer has a limit of its own.
        limit: usize,
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
    /// Every event after `after`, and then each as it comes.
    Follow {
        /// The last event that the client has seen.
        after: u64,
    },
    /// Examine the store.
    Check,
    /// Copy the store.
    Backup {
        /// Where to: an absolute path at which there is nothing.
        path: String,
    },
    /// End.
    Stop,
}

/// A run that a person wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRequest {
    /// The command as the person gave it.
    pub text: Untrusted,
    /// The worker's name.
    pub name: String,
    /// Its definition.
    pub source: String,
    /// The files that the definition includes, by name.
    pub includes: BTreeMap<String, String>,
    /// The directory of the worker file: where workers for unbound worker slots are looked for.
    pub beside: Option<String>,
    /// The named inputs, a JSON object.
    pub values: serde_json::Map<String, serde_json::Value>,
    /// Files from which named inputs were read, by input: name and hash.
    #[serde(default)]
    pub read_from: Vec<(String, BlobHash)>,
    /// The documents.
    pub documents: Vec<Document>,
    /// One child for each document, so many at a time.
    pub each: Option<u32>,
    /// What the person binds to slots.
    pub endow: Vec<Endowment>,
    /// Methods, as `slot.method`, about which the person does not want to be asked.
    pub allow: Vec<String>,
    /// The model.
    pub model: String,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// A document that a person hands to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "document", rename_all = "snake_case")]
pub enum Document {
    /// A file of this machine, by absolute path.
    File {
        /// The path.
        path: String,
    },
    /// Text that came through a pipe.
    Text {
        /// What to call it.
        name: String,
        /// The text.
        text: String,
    },
}

/// What a person binds to a slot: `-e SLOT=PATH[:rw][?suffix=.pdf&max=10MiB]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endowment {
    /// The slot.
    pub slot: String,
    /// The absolute path.
    pub path: String,
    /// Whether it may be written.
    pub write: bool,
    /// Only names that end in one of these.
    pub suffixes: Vec<String>,
    /// No file larger than this many bytes.
    pub max_bytes: Option<u64>,
}

/// What the daemon answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "response", content = "body", rename_all = "snake_case")]
pub enum Response {
    /// The client's hello was taken.
    Welcome {
        /// The daemon's build.
        build: String,
        /// The number of the last event.
        last_event: u64,
    },
    /// How the daemon is.
    Status(Status),
    /// What a command did.
    Reply(Reply),
    /// What a run would do.
    Plan(Plan),
    /// Runs, newest first.
    Runs(Vec<Run>),
    /// A family.
    Family(Family),
    /// One run.
    Run(Box<Run>),
    /// Steps of a journal.
    Journal(Vec<Step>),
    /// Messages.
    Letters(Vec<Letter>),
    /// An approval.
    Card(Box<Card>),
    /// Where something comes from.
    Why(Vec<Reason>),
    /// Bytes, as text; `None` if they are not text.
    Blob(Option<String>),
    /// Something happened.
    Event(Box<Event>),
    /// How far a model has come, in one line. May be lost.
    Progress {
        /// The run that waits for it.
        run: RunNumber,
        /// The line.
        line: Untrusted,
    },
    /// A run cannot go on, and the store cannot even say so.
    Stuck {
        /// The run.
        run: RunNumber,
        /// Why, and what to do.
        trouble: kernel::run::Trouble,
    },
    /// What an examination found: id, whether it is well, and what was found.
    Checked(Vec<(String, bool, String)>),
    /// It was not done.
    Failed(Failure),
}

/// A run and those that it has started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// The run that was asked about, and of all that it has started those that are not over; oldest first.
    pub members: Vec<Run>,
    /// Their approvals that wait for an answer, oldest first.
    pub asked: Vec<MessageNumber>,
}

/// How a daemon is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Its process.
    pub pid: u32,
    /// Its build.
    pub build: String,
    /// The directory of its store.
    pub store: String,
    /// Runs that are at work.
    pub at_work: Vec<RunNumber>,
    /// How many messages wait for an answer.
    pub needs_you: usize,
    /// How many commits the store has made since the daemon began.
    pub commits: u64,
    /// How often it has waited for the disk.
    pub syncs: u64,
}

/// What a run would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The worker's name.
    pub worker: String,
    /// The hash of its definition.
    pub digest: String,
    /// The model.
    pub model: String,
    /// What fills each slot, in a sentence.
    pub slots: Vec<String>,
    /// The tools that the model is offered.
    pub tools: Vec<String>,
    /// The documents, with what is read of them.
    pub documents: Vec<String>,
    /// What the model is told first.
    pub prompt: Untrusted,
}
