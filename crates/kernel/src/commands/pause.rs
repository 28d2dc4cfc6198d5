//! Pause: a run whose model cannot be asked before a given time. Nothing holds memory until then.

use crate::command::Fault;
use crate::id::StepRef;
use crate::provenance::Provenance;
use crate::run::{Entry, Phase, Run, State as RunState};
use crate::state::State;
use crate::table;
use crate::timer::{MAX_INTERVAL_MS, Wake, wake_key};
use crate::txn::{NO_OWNER, Table};

/// Lets a run wait until this time, when it asks its model again.
pub(super) fn pause(
    state: &mut State<'_>,
    run: &mut Run,
    prompted: u64,
    until_ms: i64,
    why: String,
) -> Result<(), Fault> {
    let at = StepRef { run: run.number, step: prompted };
    let Entry::Prompted { .. } = state.step(at)?.entry else {
        return Err(Fault::OutOfOrder { at, what: "this step asks no model" });
    };
    if run.state != RunState::Ready {
        return Err(Fault::OutOfOrder { at, what: "only a run at work pauses" });
    }
    let longest = state.env.now_ms().saturating_add(i64::try_from(MAX_INTERVAL_MS).unwrap_or(i64::MAX));
    if until_ms > longest {
        return Err(Fault::Misfit { what: "nobody waits longer than ten years".to_owned() });
    }
    let wake = Wake { at_ms: until_ms, host: state.actor, run: run.number, step: prompted };
    table::save(state.txn, Table::Meta, &NO_OWNER, &wake_key(&wake), &true, None)?;
    run.open.insert(prompted, Phase::Paused { until_ms });
    state.journal(run, Entry::Suspended { why }, Provenance::default())?;
    state.make_still(run)?;
    run.state = RunState::Waiting;
    Ok(())
}

/// Ends the pause of a run, if it has one: the run goes on, or is over. The caller must save the run.
pub(super) fn end(state: &mut State<'_>, run: &mut Run) -> Result<(), Fault> {
    let paused = run.open.iter().find_map(|(step, phase)| match phase {
        Phase::Paused { until_ms } => Some((*step, *until_ms)),
        _ => None,
    });
    let Some((step, at_ms)) = paused else { return Ok(()) };
    let wake = Wake { at_ms, host: state.actor, run: run.number, step };
    state.txn.delete(Table::Meta, &NO_OWNER, &wake_key(&wake))?;
    run.open.remove(&step);
    Ok(())
}
