//! The results of a run over many documents, as counts.

use std::collections::{BTreeMap, BTreeSet};

use kernel::run::{Entry, Run, RunOutcome, Shape, State, Step};
use kernel::{RunNumber, Value};
use passable::{Untrusted, visible_line};
use serde::Serialize;

/// The maximum number of failures that are listed.
const MAX_FAILURES: usize = 20;

/// The results of a run over many documents.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Batch {
    /// The number of documents.
    pub items: usize,
    /// The number of documents with a result in this run.
    pub done: usize,
    /// The number of documents with a result in the earlier run, if this run completes an earlier one.
    pub earlier: usize,
    /// The earlier run, if this one completes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<RunNumber>,
    /// The documents without a result, or without their file, each with the reason.
    pub failed: Vec<Failed>,
    /// The files for all documents that could not be written, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Failed>,
    /// Whether some of the failed documents have an answer of the model that could not be written.
    #[serde(skip)]
    pub has_answers: bool,
}

/// A document without a result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failed {
    /// The name of the document.
    pub item: Untrusted,
    /// The reason.
    pub why: Untrusted,
}

/// A file that a run over many documents was to write and did not write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnwrittenFile {
    /// The index of the item, or `None` for a file of the whole run.
    pub index: Option<usize>,
    /// The slot, and the path if it is known.
    pub name: String,
    /// The reason.
    pub why: String,
}

impl UnwrittenFile {
    /// Returns the unwritten files in the result of a run. A file that a person has denied is not among them.
    pub fn of(result: &Value) -> Vec<UnwrittenFile> {
        let json = result.to_json();
        let rows = json["files"].as_array().into_iter().flatten();
        rows.filter(|row| row["failed"] == true)
            .map(|row| {
                let slot = row["slot"].as_str().unwrap_or_default();
                UnwrittenFile {
                    index: row["index"].as_u64().and_then(|index| usize::try_from(index).ok()),
                    name: row["path"]
                        .as_str()
                        .map_or_else(|| slot.to_owned(), |path| format!("{slot}/{path}")),
                    why: row["why"].as_str().unwrap_or_default().to_owned(),
                }
            })
            .collect()
    }
}

impl Batch {
    /// Returns the results of a run, or `None` if the run is not one over many documents.
    pub fn of(run: &Run, steps: &[Step]) -> Option<Batch> {
        if !matches!(run.shape, Shape::Each { .. }) {
            return None;
        }
        let earlier = run.input.earlier.as_deref();
        let mut outcomes: BTreeMap<usize, Option<Untrusted>> = BTreeMap::new();
        for step in steps {
            let Entry::Collected { index, outcome } = &step.entry else { continue };
            let why = match outcome {
                RunOutcome::Failed(trouble) => Some(trouble.message.clone()),
                RunOutcome::Done(_) => None,
            };
            outcomes.insert(*index, why);
        }
        // These items were paid for in the earlier run, and this run has only written their files.
        let rewritten: BTreeSet<usize> = earlier.map(|earlier| earlier.unwritten.clone()).unwrap_or_default();
        let (mut unwritten, mut has_answers) = (BTreeMap::new(), false);
        let mut files = Vec::new();
        match &run.state {
            State::Finished { outcome: RunOutcome::Done(value) } => {
                for file in UnwrittenFile::of(value) {
                    match file.index {
                        Some(index) => {
                            unwritten.entry(index).or_insert(Untrusted::new(file.why));
                        }
                        None => files
                            .push(Failed { item: Untrusted::new(file.name), why: Untrusted::new(file.why) }),
                    }
                }
            }
            State::Finished { outcome: RunOutcome::Failed(trouble) }
                if WriteFailure::from_code(&trouble.code) == Some(WriteFailure::Tried) =>
            {
                let done = outcomes.iter().filter(|(_, why)| why.is_none()).map(|(index, _)| *index);
                unwritten
                    .extend(done.chain(rewritten.iter().copied()).map(|at| (at, trouble.message.clone())));
            }
            _ => {}
        }
        for (index, why) in unwritten {
            has_answers = true;
            outcomes.insert(index, Some(why));
        }
        let name = |index: &usize| run.input.items.get(*index).map(|item| Untrusted::new(item.name.clone()));
        let failed: Vec<Failed> = outcomes
            .iter()
            .filter_map(|(index, why)| Some(Failed { item: name(index)?, why: why.clone()? }))
            .collect();
        let before = earlier.map_or(0, |earlier| earlier.results.len());
        let failed_before = rewritten.iter().filter(|index| outcomes.contains_key(index)).count();
        Some(Batch {
            items: run.input.items.len(),
            done: outcomes.len().saturating_sub(failed.len()),
            earlier: before.saturating_sub(failed_before),
            of: earlier.map(|earlier| earlier.run),
            failed,
            files,
            has_answers,
        })
    }

    /// Returns whether every item has a result, and every file is written.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty() && self.files.is_empty()
    }

    /// Returns the results as text for users. Quoted text in it is escaped for a terminal.
    pub fn render(&self) -> String {
        let items = |count: usize| if count == 1 { "1 item".to_owned() } else { format!("{count} items") };
        let mut text = match self.of {
            Some(of) => format!(
                "{}: {} done before, in {of}; {} done now, {} failed",
                items(self.items),
                self.earlier,
                self.done,
                self.failed.len()
            ),
            None => format!("{}: {} done, {} failed", items(self.items), self.done, self.failed.len()),
        };
        let missing = self.items.saturating_sub(self.earlier + self.done + self.failed.len());
        if missing > 0 {
            text += &format!(", {missing} not begun");
        }
        text += "\n";
        for failed in self.failed.iter().chain(&self.files).take(MAX_FAILURES) {
            let name = failed.item.visible_line();
            text += &format!("  {name}: {}\n", visible_line(failed.why.raw()));
        }
        let listed = self.failed.len() + self.files.len();
        if listed > MAX_FAILURES {
            text += &format!("  … and {} more\n", listed - MAX_FAILURES);
        }
        if listed > 0 || missing > 0 {
            text += "  the same command with `--retry-failed` does these again, and only these\n";
        }
        if self.has_answers {
            text += "  what the model answered is kept; `--retry-failed` writes it and asks no model again\n";
        }
        text
    }
}

/// The reason why a run has written none of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFailure {
    /// The files could not be written. A retry writes them.
    Tried,
    /// A person has denied them. A retry does not write them.
    Denied,
}

impl WriteFailure {
    /// Returns the reason for the error code of a run, or `None` if the run failed otherwise.
    pub fn from_code(code: &str) -> Option<WriteFailure> {
        match code {
            "output/write" | "write/failed" | "conflict/write" => Some(WriteFailure::Tried),
            "denied/write" => Some(WriteFailure::Denied),
            _ => None,
        }
    }
}
