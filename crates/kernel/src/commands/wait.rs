//! Wait: a call of a run that ends at a given time. Nothing holds memory until then.

use resource::Resource;

use crate::command::Fault;
use crate::formula::Formula;
use crate::id::{FormulaId, RunNumber};
use crate::proposal::{Finding, Value};
use crate::provenance::Provenance;
use crate::run::{Completion, Entry, Phase, Run};
use crate::state::State;
use crate::table;
use crate::timer::{MAX_INTERVAL_MS, Wake, wake_key};
use crate::txn::{NO_OWNER, Table};

use super::kernel_call::{KernelCall, find_kernel_call};
use super::run_end;

/// Lets a begun call wait until this time. A call whose time is past completes at once.
pub(super) fn wait(state: &mut State<'_>, run: &mut Run, step: u64, until_ms: i64) -> Result<(), Fault> {
    let KernelCall { outbox, .. } = find_kernel_call(state, run, step, &Formula::Resource(Resource::Alarm))?;
    let longest = state.env.now_ms().saturating_add(i64::try_from(MAX_INTERVAL_MS).unwrap_or(i64::MAX));
    if until_ms > longest {
        return Err(Fault::Misfit { what: "nobody waits longer than ten years".to_owned() });
    }
    let wake = Wake { at_ms: until_ms, host: state.actor, run: run.number, step };
    table::save(state.txn, Table::Meta, &NO_OWNER, &wake_key(&wake), &true, None)?;
    state.unpost(outbox)?;
    run.open.insert(step, Phase::Sleeping { until_ms });
    state.journal(run, Entry::Slept { proposal: step, until_ms }, Provenance::default())?;
    Ok(())
}

/// Completes a call whose time has come, and lets its run go on.
pub(super) fn wake(state: &mut State<'_>, wake: &Wake) -> Result<(), Fault> {
    state.txn.delete(Table::Meta, &NO_OWNER, &wake_key(wake))?;
    let actor = std::mem::replace(&mut state.actor, wake.host);
    let done = complete(state, wake.run, wake.step);
    state.actor = actor;
    done
}

fn complete(state: &mut State<'_>, number: RunNumber, step: u64) -> Result<(), Fault> {
    let mut run = state.run(number)?;
    match run.open.remove(&step) {
        Some(Phase::Sleeping { .. }) => {}
        Some(Phase::Paused { .. }) => {
            state.wake(&mut run, "the time has come".to_owned())?;
            return state.put_run(&run);
        }
        _ => return Ok(()),
    }
    let value = Value::string(crate::time::iso(state.env.now_ms()));
    let completion = Completion::Done { value, provenance: Provenance::host() };
    state.journal(&mut run, Entry::Completed { proposal: step, completion }, Provenance::host())?;
    run_end::finish_if_still(state, &mut run)?;
    if !run.is_finished() {
        state.wake(&mut run, "the time has come".to_owned())?;
    }
    state.put_run(&run)
}

/// Removes the wake-up of a run that does not go on, and refuses the call. The caller must save the run.
pub(super) fn rest(
    state: &mut State<'_>,
    run: &mut Run,
    step: u64,
    until_ms: i64,
    finding: &Finding,
) -> Result<(), Fault> {
    let host: FormulaId = state.actor;
    let wake = Wake { at_ms: until_ms, host, run: run.number, step };
    state.txn.delete(Table::Meta, &NO_OWNER, &wake_key(&wake))?;
    run.open.remove(&step);
    let completion = Completion::Refused(vec![finding.clone()]);
    state.journal(run, Entry::Completed { proposal: step, completion }, Provenance::host())?;
    Ok(())
}
