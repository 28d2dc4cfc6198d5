//! The results of a run over many documents, as counts.

use kernel::RunNumber;
use kernel::run::{Entry, Run, RunOutcome, Shape, Step};
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
    /// The documents without a result, each with the reason.
    pub failed: Vec<Failed>,
}

/// A document without a result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failed {
    /// The name of the document.
    pub item: Untrusted,
    /// The reason.
    pub why: Untrusted,
}

impl Batch {
    /// Returns the results of a run, or `None` if the run is not one over many documents.
    pub fn of(run: &Run, steps: &[Step]) -> Option<Batch> {
        if !matches!(run.shape, Shape::Each { .. }) {
            return None;
        }
        let earlier = run.input.earlier.as_deref();
        let (mut done, mut failed) = (0, Vec::new());
        for step in steps {
            let Entry::Collected { index, outcome } = &step.entry else { continue };
            match (outcome, run.input.items.get(*index)) {
                (RunOutcome::Failed(trouble), Some(item)) => {
                    let item = Untrusted::new(item.name.clone());
                    failed.push((index, Failed { item, why: trouble.message.clone() }));
                }
                _ => done += 1,
            }
        }
        failed.sort_by_key(|(index, _)| **index);
        Some(Batch {
            items: run.input.items.len(),
            done,
            earlier: earlier.map_or(0, |earlier| earlier.results.len()),
            of: earlier.map(|earlier| earlier.run),
            failed: failed.into_iter().map(|(_, failed)| failed).collect(),
        })
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
        for failed in self.failed.iter().take(MAX_FAILURES) {
            let name = failed.item.visible_line();
            text += &format!("  {name}: {}\n", visible_line(failed.why.raw()));
        }
        if self.failed.len() > MAX_FAILURES {
            text += &format!("  … and {} more\n", self.failed.len() - MAX_FAILURES);
        }
        if !self.failed.is_empty() || missing > 0 {
            text += "  the same command with `--retry-failed` does these again, and only these\n";
        }
        text
    }
}
