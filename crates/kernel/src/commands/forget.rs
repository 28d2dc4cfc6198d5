//! Forget: removes the documents of a run. The record of the run and of its acts stays.
//!
//! The journal stays as it was, so the log of events still describes the run. The store no longer keeps the documents
//! that the journal names: a sweep skips the rows of forgotten runs.

use crate::command::{Fault, Reply};
use crate::formula::Formula;
use crate::id::RunNumber;
use crate::provenance::Provenance;
use crate::run::{Entry, Run};
use crate::state::State;
use crate::table::{self, ForgottenRun, FormulaRow};
use crate::txn::{NO_OWNER, Table};

pub(super) fn forget(state: &mut State<'_>, number: RunNumber) -> Result<Reply, Fault> {
    let mut run = state.run(number)?;
    let above = state.ancestors(&run)?;
    if let Some(open) = std::iter::once(&run).chain(&above).find(|run| !run.is_finished()) {
        return Err(Fault::Misfit { what: format!("{} is not over: it may still need it", open.number) });
    }
    if run.forgotten {
        return Ok(Reply::Done);
    }
    let_documents_go(state, &run)?;
    let documents = run.input.attachments.iter().chain(&run.input.items);
    let row = ForgottenRun { documents: documents.map(|document| document.hash).collect() };
    let key = table::forgotten_key(&state.owner(), number);
    table::save(state.txn, Table::Meta, &NO_OWNER, &key, &row, None)?;
    run.forgotten = true;
    state.journal(&mut run, Entry::Forgotten, Provenance::host())?;
    state.put_run(&run)?;
    Ok(Reply::Done)
}

/// Removes the documents from the run's formula, which would keep them for every holder of the run.
fn let_documents_go(state: &mut State<'_>, run: &Run) -> Result<(), Fault> {
    let row: Option<FormulaRow> = table::load(state.txn, Table::Formula, &NO_OWNER, &run.id.number)?;
    // A formula without holders may have been collected, with all its references.
    let Some(FormulaRow { formula, provenance }) = row else { return Ok(()) };
    let edges = formula.edges();
    let Formula::Run { run: number, worker, result, .. } = formula else { return Ok(()) };
    let formula = Formula::Run { run: number, worker, result, documents: vec![] };
    let kept = formula.edges();
    let row = FormulaRow { formula, provenance };
    table::save(state.txn, Table::Formula, &NO_OWNER, &run.id.number, &row, Some(&row.provenance))?;
    for (label, to) in edges.into_iter().filter(|edge| !kept.contains(edge)) {
        state.untie(&run.id, &label, &to)?;
    }
    Ok(())
}
