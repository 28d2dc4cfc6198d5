//! Retries of the failed documents of a run over many documents.
//!
//! The new run works on the bytes that the old run stored, not on files that may have changed. A document that has a
//! result keeps it: no child runs for the document, and nothing is written again for it alone.

use std::collections::BTreeMap;

use kernel::run::{Earlier, Entry, Input, RunOutcome, Shape};
use kernel::{RunNumber, Value};
use worker::definition::Definition;

use crate::queries::runs;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::protocol::StartSpec;

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
    let mut results: BTreeMap<usize, Value> =
        run.input.earlier.as_ref().map(|earlier| earlier.results.clone()).unwrap_or_default();
    runs::for_each_step(daemon, old, 1, |step| {
        if let Entry::Collected { index, outcome: RunOutcome::Done(value) } = step.entry {
            results.insert(index, value);
        }
        true
    })?;
    if results.len() >= run.input.items.len() {
        let help = format!("`almoner trace {old}` shows what came of each");
        return refuse(Exit::NotFound, format!("nothing failed in {old}"), help);
    }
    if results.values().any(|value| !value.references().is_empty()) {
        let help = "give the documents once more, without `--retry-failed`".to_owned();
        let what = format!("what {old} came to is more than data, and cannot be handed on");
        return refuse(Exit::Conflict, what, help);
    }
    let earlier = Earlier { run: old, results, provenance: run.provenance };
    Ok(Input { earlier: Some(Box::new(earlier)), ..run.input })
}
