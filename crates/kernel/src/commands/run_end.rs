//! The end of a run.

use passable::Untrusted;

use crate::command::Fault;
use crate::commands::permission;
use crate::event::Change;
use crate::id::StepRef;
use crate::run::{Entry, Run, RunOutcome, Shape, State as RunState, Trouble};
use crate::state::State;

pub(crate) fn finish(state: &mut State<'_>, run: &mut Run, outcome: RunOutcome) -> Result<(), Fault> {
    if !run.open.is_empty() || !run.children.is_empty() {
        let at = StepRef { run: run.number, step: run.next_step };
        return Err(Fault::OutOfOrder { at, what: "a run with open calls cannot end" });
    }
    if let RunOutcome::Done(value) = &outcome {
        let worker = run.worker;
        state.expect_held_by(&worker, value)?;
    }
    let provenance = run.provenance.clone();
    state.journal(run, Entry::Finished { outcome: outcome.clone() }, provenance)?;
    state.make_still(run)?;
    state.forget_stalled(run)?;
    permission::forget_permissions(state, run)?;
    run.state = RunState::Finished { outcome: outcome.clone() };
    run.finished_ms = Some(state.env.now_ms());
    state.settle(&run.result, &outcome)?;
    state.let_run_go(run)?;
    if let Some(delivery) = run.delivery {
        let provenance = run.provenance.clone();
        super::mail::share(state, &delivery, &outcome, &provenance)?;
    }
    state.event(Change::RunFinished { run: run.number, ok: matches!(outcome, RunOutcome::Done(_)) })?;
    state.report(run, &outcome)
}

/// Returns the trouble of a cancelled run, or of cancelled code. A key starts one run, so another start needs another key.
pub(crate) fn trouble(reason: &Untrusted, has_key: bool) -> Trouble {
    let why = if reason.raw().is_empty() { "the host cancelled it" } else { reason.raw() };
    Trouble {
        code: "run/cancelled".to_owned(),
        message: Untrusted::new(why),
        help: match has_key {
            true => "start it again with another key if you want it after all".to_owned(),
            false => "start it again if you want it after all".to_owned(),
        },
    }
}

/// Ends a cancelled run once none of its calls and none of its children is open.
pub(crate) fn finish_if_still(state: &mut State<'_>, run: &mut Run) -> Result<(), Fault> {
    let Some(reason) = run.cancelled.clone() else { return Ok(()) };
    if run.is_finished() || !run.open.is_empty() || !run.children.is_empty() {
        return Ok(());
    }
    finish(
        state,
        run,
        match run.shape {
            // Cancelling is the only end of a conversation, so it is no failure.
            Shape::Chat => RunOutcome::Done(crate::proposal::Value::Null),
            _ => RunOutcome::Failed(trouble(&reason, run.has_key)),
        },
    )
}
