//! What is asked of a repository, and what comes back.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::refusal::Refusal;

/// One thing to do in one repository.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The directory that holds its working tree, with all links followed.
    pub root: PathBuf,
    /// What to do.
    pub call: Call,
}

/// What can be done. With what changes something come the pins that it was judged with: what does not stand as it stood
/// then is left alone. Without them it is only looked at what would be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Call {
    /// What has changed.
    Status,
    /// Commits, newest first.
    Log {
        /// `A..B`, or one revision; without it what is checked out.
        range: Option<String>,
        /// Only commits that changed what is there.
        path: Option<String>,
        /// How many are passed over.
        skip: u64,
        /// How many are wanted.
        most: u64,
    },
    /// Differences as text.
    Diff {
        /// Between what.
        between: Between,
        /// Only there.
        path: Option<String>,
        /// The first byte of the text that is wanted.
        offset: u64,
    },
    /// A commit, or a file as it was.
    Show {
        /// The revision.
        revision: String,
        /// The file or directory.
        path: Option<String>,
        /// The first byte of the text that is wanted.
        offset: u64,
    },
    /// Who wrote which line.
    Blame {
        /// The file.
        path: String,
        /// The first line, from 1.
        from: u64,
        /// How many lines.
        lines: u64,
    },
    /// All branches.
    Branches,
    /// Puts files, as they are, among what is committed next.
    Add {
        /// Files and directories.
        paths: Vec<String>,
        /// What it was judged with.
        pinned: Option<Vec<Pinned>>,
    },
    /// Takes files out of what is committed next. They stay as they are.
    Unstage {
        /// Files and directories.
        paths: Vec<String>,
        /// What it was judged with.
        pinned: Option<Vec<Pinned>>,
    },
    /// Commits what was added.
    Commit {
        /// The message.
        message: String,
        /// Who commits.
        author: Author,
        /// The last line of the message, by which the commit is found again.
        trailer: String,
        /// What it was judged with.
        pinned: Option<Vec<Pinned>>,
    },
    /// Makes a branch.
    Branch {
        /// Its name.
        name: String,
        /// Where it begins; without it at what is checked out.
        at: Option<String>,
        /// What it was judged with.
        pinned: Option<Vec<Pinned>>,
    },
    /// Checks a branch out.
    Switch {
        /// Its name.
        name: String,
        /// What it was judged with.
        pinned: Option<Vec<Pinned>>,
    },
    /// Whether an `add` or `unstage` that was judged with these pins has been made.
    Settled {
        /// What it was judged with.
        pinned: Vec<Pinned>,
    },
    /// Whether a commit with this trailer has been made since `head`.
    Find {
        /// The trailer.
        trailer: String,
        /// The digest of the pin that said what was checked out.
        head: String,
    },
}

impl Call {
    /// Whether it is about to change something.
    pub fn changes(&self) -> bool {
        match self {
            Call::Add { pinned, .. }
            | Call::Unstage { pinned, .. }
            | Call::Commit { pinned, .. }
            | Call::Branch { pinned, .. }
            | Call::Switch { pinned, .. } => pinned.is_some(),
            _ => false,
        }
    }
}

/// The two sides of a difference.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "between", rename_all = "snake_case")]
pub enum Between {
    /// What was added, and the files as they are.
    Worktree,
    /// What is checked out, and what was added.
    Staged,
    /// Two revisions, or one and the files as they are.
    Revisions {
        /// The older side.
        from: String,
        /// The newer side.
        to: Option<String>,
    },
}

/// In whose name is committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
}

/// Something that a change depends on, as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pinned {
    /// What kind of thing.
    pub kind: String,
    /// Which.
    pub name: String,
    /// The BLAKE3 digest of what it is, as hexadecimal digits.
    pub digest: String,
}

impl Pinned {
    pub(crate) fn of(kind: &str, name: &str, what: &[u8]) -> Pinned {
        let digest = blake3::hash(what).to_hex().to_string();
        Pinned { kind: kind.to_owned(), name: name.to_owned(), digest }
    }
}

/// What came of an order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What the call gives back.
    pub value: Json,
    /// The files that it tells of, or changes.
    pub paths: Vec<String>,
    /// What a change depends on.
    pub pins: Vec<Pinned>,
    /// What a person is shown of a change: the text of the pin of the kind `diff`.
    pub shown: Option<String>,
    /// What it comes to, in a few words.
    pub line: String,
}

/// An answer, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// It was done.
    Done {
        /// What came of it.
        answer: Answer,
    },
    /// It was not done, and nothing was changed.
    Refused {
        /// Why.
        refusal: Refusal,
    },
}
