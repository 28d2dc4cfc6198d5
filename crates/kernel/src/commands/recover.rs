//! Recover: the daemon has started, and takes up every open row of the outbox.

use std::collections::BTreeSet;

use crate::command::{Fault, Reply};
use crate::provenance::Provenance;
use crate::query;
use crate::run::Entry;
use crate::state::State;
use crate::table::Task;

/// Records a resumption in the journal of every run that must go on. The entry shows that no work was done on the run
/// just before this step. Begun effects are settled when their runs are driven.
pub(super) fn recover(state: &mut State<'_>) -> Result<Reply, Fault> {
    let owner = state.owner();
    let runs: BTreeSet<_> = query::outbox(state.txn, &owner)?
        .into_iter()
        .filter_map(|task| match task {
            Task::Drive { run } => Some(run),
            Task::Effect { step } => Some(step.run),
            // Code waits for a vat, which takes up the code by itself.
            Task::Eval { .. } => None,
        })
        .collect();
    for number in runs {
        let mut run = state.run(number)?;
        let why = "the daemon came up".to_owned();
        state.journal(&mut run, Entry::Resumed { why }, Provenance::default())?;
        state.put_run(&run)?;
        state.note_ready(number);
    }
    Ok(Reply::Done)
}
