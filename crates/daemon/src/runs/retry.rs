//! Retries of the failed documents of a run over many documents.
//!
//! The new run works on the bytes that the old run stored, not on files that may have changed. A document that has a
//! result keeps it: no child runs for the document, and nothing is written again for it alone. If only the file of a
//! result could not be written, the new run writes it, and asks no model. A file that a person has denied is not
//! written. A file that could not be read is read again.

use std::collections::{BTreeMap, BTreeSet};

use kernel::proposal::Finding;
use kernel::run::{Attachment, Completion, Earlier, Entry, Input, Rejection, RunOutcome, Shape, State};
use kernel::{RunNumber, Value};
use worker::definition::Definition;

use super::documents::DocumentImporter;
use crate::queries::runs;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::protocol::{Document, StartSpec};
use control::show::batch::{UnwrittenFile, WriteFailure};

/// Returns the input of a run that retries the documents without a result in `old`.
///
/// # Errors
/// When `old` is not a run of this worker over many documents, has not ended, or has no document left to retry.
pub fn input(
    daemon: &HostDaemon,
    definition: &Definition,
    spec: &StartSpec,
    old: RunNumber,
) -> Result<Input, Failure> {
    let run = runs::load_run(daemon, old)?;
    let refuse = |exit, what: String, help: String| Err(Failure::new(exit, what).help(help));
    if !spec.values.is_empty() || !spec.documents.is_empty() {
        let what = format!("{old} is done again over its own inputs and documents, and others were given");
        return refuse(Exit::Usage, what, "leave out one of the two".to_owned());
    }
    if run.name != definition.name || !matches!(run.shape, Shape::Each { .. }) {
        let what = format!("{old} is no run of `{}` with `--each`", definition.name);
        return refuse(Exit::Usage, what, "`almoner runs` shows which runs there are".to_owned());
    }
    if !run.is_finished() {
        let help = format!("`almoner resume {old}`, or `almoner cancel {old}`, first");
        return refuse(Exit::Conflict, format!("{old} is not over"), help);
    }
    if run.forgotten {
        let help = "give the documents once more, without `--retry-failed`".to_owned();
        return refuse(Exit::NotFound, format!("what {old} worked on was forgotten"), help);
    }
    let before = run.input.earlier.as_deref();
    let mut results: BTreeMap<usize, Value> =
        before.map(|earlier| earlier.results.clone()).unwrap_or_default();
    let mut unwritten: BTreeSet<usize> = before.map(|earlier| earlier.unwritten.clone()).unwrap_or_default();
    let mut is_denied = false;
    runs::for_each_step(daemon, old, 1, |step| {
        match step.entry {
            Entry::Collected { index, outcome: RunOutcome::Done(value) } => {
                results.insert(index, value);
                unwritten.insert(index);
            }
            Entry::Completed { completion: Completion::Refused(findings), .. } => {
                is_denied |= findings.iter().any(Finding::is_denial);
            }
            _ => {}
        }
        true
    })?;
    let mut has_unwritten_file = false;
    if let State::Finished { outcome: RunOutcome::Done(value) } = &run.state {
        // The run has written all files but these.
        let files = UnwrittenFile::of(value);
        has_unwritten_file = files.iter().any(|file| file.index.is_none());
        unwritten = files.into_iter().filter_map(|file| file.index).collect();
    }
    if let State::Finished { outcome: RunOutcome::Failed(trouble) } = &run.state
        && WriteFailure::from_code(&trouble.code) == Some(WriteFailure::Denied)
        && is_denied
    {
        // A person does not want these files. Files that only a gate refused are tried again.
        unwritten.clear();
    }
    if definition.write.is_empty() {
        unwritten.clear();
    }
    if results.len() >= run.input.items.len() && unwritten.is_empty() && !has_unwritten_file {
        let help = format!("`almoner trace {old}` shows what came of each");
        return refuse(Exit::NotFound, format!("nothing failed in {old}"), help);
    }
    if results.values().any(|value| !value.references().is_empty()) {
        let help = "give the documents once more, without `--retry-failed`".to_owned();
        let what = format!("what {old} came to is more than data, and cannot be handed on");
        return refuse(Exit::Conflict, what, help);
    }
    let earlier = Earlier { run: old, results, provenance: run.provenance, unwritten };
    Ok(Input { earlier: Some(Box::new(earlier)), ..run.input })
}

/// Returns the items of the earlier run for the retry. The files of items that could not be read are read once more.
///
/// # Errors
/// When the store cannot keep a document.
pub fn items(importer: &DocumentImporter<'_>, old: Vec<Attachment>) -> Result<Vec<Attachment>, Failure> {
    let again = |item: Attachment| match item.rejected.as_deref() {
        Some(Rejection { is_read: true, .. }) => Ok(Attachment { rejected: None, ..item }),
        Some(Rejection { path: Some(path), within, .. }) => {
            importer.import_item(&Document::File { path: path.clone(), within: within.clone() })
        }
        Some(_) | None => Ok(item),
    };
    old.into_iter().map(again).collect()
}
