//! Undo, apply, discard: the changes of a run are undone, put in place out of a staged copy, or thrown away. The
//! kernel records the intent. The daemon, which changes the files, checks their current state each time.

use crate::command::{Fault, Reply};
use crate::id::RunNumber;
use crate::provenance::Provenance;
use crate::query::file_name;
use crate::run::{Entry, RestoredFile};
use crate::state::State;
use crate::table;
use crate::txn::Table;

pub(super) fn settle(state: &mut State<'_>, number: RunNumber, entry: Entry) -> Result<Reply, Fault> {
    let mut run = state.run(number)?;
    if !run.is_finished() {
        return Err(Fault::Misfit { what: format!("{number} is not over: it may still change something") });
    }
    if let Entry::Applied { files } = &entry {
        index(state, number, files)?;
    }
    state.journal(&mut run, entry, Provenance::host())?;
    state.put_run(&run)?;
    Ok(Reply::Done)
}

/// Indexes the files that a program changed, as an effect of the run indexes the file that it changes.
fn index(state: &mut State<'_>, number: RunNumber, files: &[RestoredFile]) -> Result<(), Fault> {
    let owner = state.owner();
    for file in files.iter().filter(|file| file.digests.is_some()) {
        if let Some(name) = file_name(&file.path) {
            table::save(state.txn, Table::FileRun, &owner, &table::file_run_key(name, number), &true, None)?;
        }
    }
    Ok(())
}
