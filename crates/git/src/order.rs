//! The orders to a repository, and the replies.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::refusal::Refusal;

/// One thing to do in one repository.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The directory that holds its working tree, with all links followed.
    pub root: PathBuf,
    /// The call to make.
    pub call: Call,
}

/// The possible calls. A call that changes something comes with the pins that it was judged with, and leaves alone
/// anything that has changed since. Without pins the call is only a preview.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Call {
    /// The changed files.
    Status,
    /// Commits, newest first.
    Log {
        /// `A..B`, or one revision; without it the checked-out commit.
        range: Option<String>,
        /// Only commits that changed files under this path.
        path: Option<String>,
        /// How many are passed over.
        skip: u64,
        /// How many are wanted.
        most: u64,
    },
    /// Differences as text.
    Diff {
        /// The two sides.
        between: DiffSides,
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
    /// Adds files, as they are, to the index.
    Add {
        /// Files and directories.
        paths: Vec<String>,
        /// The pins that the call was judged with.
        pinned: Option<Vec<StatePin>>,
    },
    /// Takes files out of the index. The files themselves stay as they are.
    Unstage {
        /// Files and directories.
        paths: Vec<String>,
        /// The pins that the call was judged with.
        pinned: Option<Vec<StatePin>>,
    },
    /// Commits the index.
    Commit {
        /// The message.
        message: String,
        /// Who commits.
        author: Author,
        /// The last line of the message, by which the commit is found again.
        trailer: String,
        /// The pins that the call was judged with.
        pinned: Option<Vec<StatePin>>,
    },
    /// Makes a branch.
    Branch {
        /// Its name.
        name: String,
        /// Where it begins; without it at the checked-out commit.
        at: Option<String>,
        /// The pins that the call was judged with.
        pinned: Option<Vec<StatePin>>,
    },
    /// Checks a branch out.
    Switch {
        /// Its name.
        name: String,
        /// The pins that the call was judged with.
        pinned: Option<Vec<StatePin>>,
    },
    /// Whether an `add` or `unstage` that was judged with these pins has been made.
    Settled {
        /// The pins that the call was judged with.
        pinned: Vec<StatePin>,
    },
    /// Whether a commit with this trailer has been made since `head`.
    Find {
        /// The trailer.
        trailer: String,
        /// The digest of the pin for the commit that was checked out then.
        head: String,
    },
}

impl Call {
    /// Returns whether it is about to change something.
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
pub enum DiffSides {
    /// The index, and the files as they are.
    Worktree,
    /// The checked-out commit, and the index.
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
pub struct StatePin {
    /// The kind of the object.
    pub kind: String,
    /// Which.
    pub name: String,
    /// The BLAKE3 digest of its content, as hexadecimal digits.
    pub digest: String,
}

impl StatePin {
    pub(crate) fn new(kind: &str, name: &str, what: &[u8]) -> StatePin {
        let digest = blake3::hash(what).to_hex().to_string();
        StatePin { kind: kind.to_owned(), name: name.to_owned(), digest }
    }
}

/// The result of an order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The value that the call returns.
    pub value: Json,
    /// The files that it tells of, or changes.
    pub paths: Vec<String>,
    /// The state that a change depends on.
    pub pins: Vec<StatePin>,
    /// The text of a change that a person is shown: the text of the pin of the kind `diff`.
    pub shown: Option<String>,
    /// The summary of the answer, in a few words.
    pub line: String,
}

/// An answer, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// It was done.
    Done {
        /// The result.
        answer: Answer,
    },
    /// It was not done, and nothing was changed.
    Refused {
        /// Why.
        refusal: Refusal,
    },
}
