//! Undo: what a run changed is put back. The kernel writes down what is about to be; whoever puts it back looks each time
//! at what is there.

use crate::command::{Fault, Reply};
use crate::id::RunNumber;
use crate::provenance::Provenance;
use crate::run::{Entry, PutBack};
use crate::state::State;

pub(super) fn undo(state: &mut State<'_>, number: RunNumber, files: Vec<PutBack>) -> Result<Reply, Fault> {
    let mut run = state.run(number)?;
    if !run.is_finished() {
        return Err(Fault::Misfit { what: format!("{number} is not over: it may still change something") });
    }
    state.journal(&mut run, Entry::Undone { files }, Provenance::host())?;
    state.put_run(&run)?;
    Ok(Reply::Done)
}
