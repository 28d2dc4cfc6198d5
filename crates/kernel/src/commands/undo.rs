//! Undo, apply, discard: what a run changed is put back, or put in place out of a staged copy, or thrown away. The kernel writes down what is about to be; whoever puts it back looks each time
//! at what is there.

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
