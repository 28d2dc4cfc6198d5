//! The reports about undone, staged and applied changes of a run.

use std::collections::BTreeSet;

use kernel::{BlobHash, RunNumber, StepRef};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// The report about a run's changes that were undone or applied, or about a preview of that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UndoReport {
    /// The run.
    pub run: RunNumber,
    /// Whether the report is only a preview.
    pub dry_run: bool,
    /// All changes of the run in directories, the latest first.
    pub entries: Vec<UndoEntry>,
    /// The effects of the run that cannot be undone.
    pub beyond: Vec<Untrusted>,
    /// The changes in staged copies that cannot be applied, such as symbolic links that a program made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unappliable: Vec<Untrusted>,
}

/// A file or directory that a run changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UndoEntry {
    /// The absolute path of the file or directory.
    pub path: Untrusted,
    /// The first of the undone steps that changed the path.
    pub step: StepRef,
    /// The state of the path after the run, as text.
    pub from: String,
    /// The state of the path before the run, as text.
    pub to: String,
    /// The outcome of the undo for this path.
    pub state: UndoState,
}

/// The outcome of an undo, or of applying a staged copy, for one path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum UndoState {
    /// The change would be made.
    Would,
    /// The change was made.
    Done,
    /// The path already has the wanted state.
    Already,
    /// Somebody else has changed the path since, so it was left alone.
    Conflict {
        /// The present state of the path, as text.
        now: String,
    },
    /// The change could not be made.
    Failed {
        /// The reason.
        why: Untrusted,
    },
}

/// The changes of a run in its staged copies, as one diff.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diff {
    /// The run.
    pub run: RunNumber,
    /// All changes of the run, by path.
    pub files: Vec<FileDiff>,
    /// The changes in staged copies that cannot be applied, such as symbolic links that a program made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unappliable: Vec<Untrusted>,
}

/// The change of a run at one path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileDiff {
    /// The path, and the state of its change.
    #[serde(flatten)]
    pub entry: UndoEntry,
    /// The removed and the added lines, as a unified diff.
    pub text: Untrusted,
    /// Whether the change was applied from this copy. The real path may have the same content for another reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub applied: bool,
    /// The kind of change.
    pub became: FileChange,
    /// A unified diff between the present content of the path and the run's, if somebody else has changed the path
    /// meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_now: Option<Untrusted>,
}

/// The kind of a run's change at one path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "became", rename_all = "snake_case")]
pub enum FileChange {
    /// The path did not exist before.
    New,
    /// The path existed before and after.
    Changed,
    /// The path was removed.
    Removed,
    /// The file was moved away from this path. Both ends of a move are applied together.
    MovedTo {
        /// The absolute path to which the file was moved.
        path: Untrusted,
    },
    /// The file was moved to this path.
    MovedFrom {
        /// The absolute path from which the file was moved.
        path: Untrusted,
    },
}

/// The parts of one file's diff that are to be applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// The file's absolute path.
    pub path: String,
    /// The parts, counted from 1 as the diff shows them.
    pub hunks: BTreeSet<usize>,
    /// The digest of the file's diff as it was shown. With it, a number never refers to another part than the user
    /// saw.
    pub shown: BlobHash,
}

impl Diff {
    /// Returns the diffs and the conflicts as text for a user.
    pub fn render(&self) -> String {
        let mut out = String::new();
        for FileDiff { entry, text, applied, became, .. } in &self.files {
            let path = entry.path.visible_line();
            match &entry.state {
                UndoState::Conflict { now } => out.push_str(&format!(
                    "CONFLICT {path}: it was changed meanwhile ({} when the run changed it, {now} now); it would be left alone\n",
                    entry.from
                )),
                UndoState::Failed { why } => {
                    out.push_str(&format!("CANNOT BE APPLIED {path}: {}\n", why.visible_line()));
                }
                UndoState::Already if *applied => out.push_str(&format!("APPLIED {path}\n")),
                UndoState::Already => out.push_str(&format!("THE SAME {path}: the place already holds this\n")),
                UndoState::Would | UndoState::Done => {}
            }
            if let FileChange::MovedFrom { path: from } = became {
                out.push_str(&format!("MOVED {} to {path}\n", from.visible_line()));
            }
            out.push_str(&text.visible());
        }
        for change in &self.unappliable {
            out.push_str(&format!("CANNOT BE APPLIED {}\n", change.visible_line()));
        }
        if self.files.is_empty() && self.unappliable.is_empty() {
            out.push_str(&format!("{} changed nothing in its staged copy\n", self.run));
        }
        out
    }
}

impl UndoReport {
    /// Returns one line for each change, for a user who has applied a staged copy.
    pub fn render_applied(&self) -> String {
        let mut out = String::new();
        for entry in &self.entries {
            let (path, to) = (entry.path.visible_line(), &entry.to);
            let line = match &entry.state {
                UndoState::Would | UndoState::Done => format!("applied  {path}  ({to})"),
                UndoState::Already => format!("already in place  {path}  ({to})"),
                UndoState::Conflict { now } => format!(
                    "CONFLICT, left alone  {path}  (it was {} when the run changed it, and is {now} now)",
                    entry.from
                ),
                UndoState::Failed { why } => format!("NOT applied  {path}  ({})", why.visible_line()),
            };
            out.push_str(&format!("{line}    {}\n", entry.step));
        }
        for change in &self.unappliable {
            out.push_str(&format!("NOT applied  {}\n", change.visible_line()));
        }
        if self.entries.is_empty() && self.unappliable.is_empty() {
            out.push_str(&format!("{} changed nothing in its staged copy\n", self.run));
        }
        out
    }

    /// Returns whether some change was left out because of a conflict or a failure.
    pub fn is_partial(&self) -> bool {
        let is_left =
            |entry: &UndoEntry| matches!(entry.state, UndoState::Conflict { .. } | UndoState::Failed { .. });
        self.entries.iter().any(is_left) || !self.unappliable.is_empty()
    }

    /// Returns one line for each change, for a user who has undone a run.
    pub fn render(&self) -> String {
        let mut out = String::new();
        for entry in &self.entries {
            let (path, from, to) = (entry.path.visible_line(), &entry.from, &entry.to);
            let line = match &entry.state {
                UndoState::Would => format!("would put back  {path}  ({from} → {to})"),
                UndoState::Done => format!("put back  {path}  ({from} → {to})"),
                UndoState::Already => format!("already as it was  {path}  ({to})"),
                UndoState::Conflict { now } => {
                    format!(
                        "CONFLICT, left alone  {path}  (the run left {from}; it is {now} now; it was {to})"
                    )
                }
                UndoState::Failed { why } => format!("NOT put back  {path}  ({})", why.visible_line()),
            };
            out.push_str(&format!("{line}    {}\n", entry.step));
        }
        if self.entries.is_empty() {
            out.push_str(&format!("{} changed no file that could be put back\n", self.run));
        }
        for beyond in &self.beyond {
            out.push_str(&format!("cannot be undone  {}\n", beyond.visible_line()));
        }
        out
    }
}
