//! Undo, apply, discard: the changes of a run are undone, put in place out of a staged copy, or thrown away. The
//! kernel records the intent. The daemon, which changes the files, checks their current state each time.

use crate::command::{Fault, Reply};
use crate::id::RunNumber;
use crate::provenance::Provenance;
use crate::run::Entry;
use crate::state::State;

pub(super) fn settle(state: &mut State<'_>, number: RunNumber, entry: Entry) -> Result<Reply, Fault> {
    let mut run = state.run(number)?;
    if !run.is_finished() {
        return Err(Fault::Misfit { what: format!("{number} is not over: it may still change something") });
    }
    state.journal(&mut run, entry, Provenance::host())?;
    state.put_run(&run)?;
    Ok(Reply::Done)
}
