//! Resume: runs go on that are stalled, or that wait until their model can be asked.

use crate::command::{Fault, Reply};
use crate::id::RunNumber;
use crate::provenance::Provenance;
use crate::run::{Entry, State as RunState};
use crate::state::State;

pub(super) fn resume(state: &mut State<'_>, numbers: &[RunNumber]) -> Result<Reply, Fault> {
    let mut reply = Reply::NotStalled;
    for number in numbers {
        let mut run = state.run(*number)?;
        if !matches!(run.state, RunState::Stalled { .. }) && !run.is_paused() {
            continue;
        }
        super::pause::end(state, &mut run)?;
        state.journal(&mut run, Entry::Resumed { why: "the host said so".to_owned() }, Provenance::host())?;
        state.make_ready(&mut run)?;
        state.put_run(&run)?;
        reply = Reply::Done;
    }
    Ok(reply)
}
