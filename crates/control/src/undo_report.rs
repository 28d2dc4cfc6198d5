//! The result of `almoner undo`.

use std::collections::BTreeSet;

use kernel::{BlobHash, RunNumber, StepRef};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// The files of a run's changes that were put back, or would be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UndoReport {
    /// The run.
    pub run: RunNumber,
    /// Whether it was only looked.
    pub dry_run: bool,
    /// Everything that it changed in directories, the latest change first.
    pub entries: Vec<UndoEntry>,
    /// The effects of the run that cannot be undone.
    pub beyond: Vec<Untrusted>,
}

/// Something that a run changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UndoEntry {
    /// Its absolute path.
    pub path: Untrusted,
    /// The step that changed it first, of those that are undone.
    pub step: StepRef,
    /// Its state after the run, as text.
    pub from: String,
    /// Its state before the run, as text.
    pub to: String,
    /// The outcome for it.
    pub state: UndoState,
}

/// The outcome for something that a run changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum UndoState {
    /// It would be put back.
    Would,
    /// It was put back.
    Done,
    /// It is already as it was.
    Already,
    /// Somebody has changed it since: it was left alone.
    Conflict {
        /// Its present state, as text.
        now: String,
    },
    /// It could not be put back.
    Failed {
        /// Why.
        why: Untrusted,
    },
}

/// The changes of a run in its staged copies, as one diff.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diff {
    /// The run.
    pub run: RunNumber,
    /// Everything that it changed, by path.
    pub files: Vec<FileDiff>,
}

/// The change of a run at one path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileDiff {
    /// The path, and the state of its change.
    #[serde(flatten)]
    pub entry: UndoEntry,
    /// The lines that went and that came, as a unified diff.
    pub text: Untrusted,
    /// Whether it was put in place out of this copy; a place may hold the same for another reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub applied: bool,
    /// The kind of change.
    pub became: FileChange,
    /// If somebody else has changed the path meanwhile: a unified diff between its present content and the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_now: Option<Untrusted>,
}

/// The kind of a run's change at one path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "became", rename_all = "snake_case")]
pub enum FileChange {
    /// There was nothing.
    New,
    /// It was there before and after.
    Changed,
    /// It is gone.
    Removed,
    /// It is gone from here: it was moved. Both ends of a move are put in place together.
    MovedTo {
        /// To this absolute path.
        path: Untrusted,
    },
    /// It came here: it was moved.
    MovedFrom {
        /// From this absolute path.
        path: Untrusted,
    },
}

/// The parts of one file's diff that are to be applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The file's absolute path.
    pub path: String,
    /// The parts, counted from 1 as the diff shows them.
    pub hunks: BTreeSet<usize>,
    /// The digest of the file's diff as it was shown, so that a number never comes to mean another part.
    pub shown: BlobHash,
}

impl Diff {
    /// Returns the diffs and the conflicts, for a user.
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
        if self.files.is_empty() {
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
        if self.entries.is_empty() {
            out.push_str(&format!("{} changed nothing in its staged copy\n", self.run));
        }
        out
    }

    /// Returns whether something is not as it was before the run.
    pub fn is_partial(&self) -> bool {
        let is_left =
            |entry: &UndoEntry| matches!(entry.state, UndoState::Conflict { .. } | UndoState::Failed { .. });
        self.entries.iter().any(is_left)
    }

    /// Returns one line for each change, for a user.
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
