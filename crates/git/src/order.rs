//! The orders to a repository, and the replies.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::refusal::Refusal;

/// An order: one call in one repository.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The directory that holds the working tree, with all links followed.
    pub root: PathBuf,
    /// The call to make.
    pub call: Call,
}

/// The possible calls. A call that changes something carries the pins of the state on which it was judged. If that
/// state has changed since, nothing is done. Without pins, the call is only a preview.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Call {
    /// The changed files.
    Status,
    /// Commits, newest first.
    Log {
        /// A range `A..B`, or one revision. `None` means the checked-out commit.
        range: Option<String>,
        /// Only commits that changed files under this path.
        path: Option<String>,
        /// The number of commits to skip.
        skip: u64,
        /// The maximum number of commits.
        most: u64,
    },
    /// Differences as text.
    Diff {
        /// The two sides.
        between: DiffSides,
        /// The file or directory to which the differences are limited.
        path: Option<String>,
        /// The position of the first wanted byte in the text.
        offset: u64,
    },
    /// A commit with its changes, or a file or directory at that commit.
    Show {
        /// The revision.
        revision: String,
        /// The file or directory.
        path: Option<String>,
        /// The position of the first wanted byte in the text.
        offset: u64,
    },
    /// The origin of each line of a file.
    Blame {
        /// The file.
        path: String,
        /// The number of the first line, from 1.
        from: u64,
        /// The number of lines.
        lines: u64,
    },
    /// All branches.
    Branches,
    /// Adds files to the index, with their present content.
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
        /// The author of the commit.
        author: Author,
        /// The last line of the message, which identifies the commit in a later search.
        trailer: String,
        /// The pins that the call was judged with.
        pinned: Option<Vec<StatePin>>,
    },
    /// Makes a branch.
    Branch {
        /// The name of the branch.
        name: String,
        /// The revision at which the branch begins. `None` means the checked-out commit.
        at: Option<String>,
        /// The pins that the call was judged with.
        pinned: Option<Vec<StatePin>>,
    },
    /// Checks a branch out.
    Switch {
        /// The name of the branch.
        name: String,
        /// The pins that the call was judged with.
        pinned: Option<Vec<StatePin>>,
    },
    /// Checks whether an `add` or `unstage` that was judged with these pins has been made.
    Settled {
        /// The pins that the call was judged with.
        pinned: Vec<StatePin>,
    },
    /// Looks for a commit with this trailer among the commits since `head`.
    Find {
        /// The trailer.
        trailer: String,
        /// The digest of the pin for the earlier commit, at which the search ends.
        head: String,
    },
}

impl Call {
    /// Returns whether the call changes the repository. A preview, which has no pins, does not.
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
    /// The difference between the index and the files in the working tree.
    Worktree,
    /// The difference between the checked-out commit and the index.
    Staged,
    /// The difference between two revisions, or between one revision and the files in the working tree.
    Revisions {
        /// The older side.
        from: String,
        /// The newer side. `None` means the files in the working tree.
        to: Option<String>,
    },
}

/// The author of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
}

/// A part of the state on which a change depends, with its digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StatePin {
    /// The kind of the object.
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// The BLAKE3 digest of the object's content, as hexadecimal digits.
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
    /// The files that the answer names or that the call changes.
    pub paths: Vec<String>,
    /// The state that a change depends on.
    pub pins: Vec<StatePin>,
    /// The text of a change, as it is shown to a person. The pin of the kind `diff` has the same text.
    pub shown: Option<String>,
    /// The summary of the answer, in a few words.
    pub line: String,
    /// The kind of a key in the texts of which the answer shows at least a part, in words.
    pub key: Option<String>,
}

/// The reply to an order: an answer, or a refusal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// The order was done.
    Done {
        /// The result.
        answer: Answer,
    },
    /// The order was refused, and nothing was changed.
    Refused {
        /// The reason of the refusal.
        refusal: Refusal,
    },
}
