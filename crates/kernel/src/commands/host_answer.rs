//! The answer for which a call of a run waits: the message that asks, and the completion of the call.

use crate::command::Fault;
use crate::commands::run_end;
use crate::id::{FormulaId, HostRun};
use crate::message::Body;
use crate::proposal::Finding;
use crate::provenance::Provenance;
use crate::run::{Completion, Entry, Phase, Run};
use crate::state::State;
use crate::table;
use crate::txn::{NO_OWNER, Table};

/// Returns the key of the row that names the call which waits for a promise.
fn key(promise: &FormulaId) -> Vec<u8> {
    [b"question ", &promise.number[..]].concat()
}

/// Asks the host by a message. The call waits until the promise settles.
pub(crate) fn wait_for(
    state: &mut State<'_>,
    run: &mut Run,
    step: u64,
    outbox: u64,
    promise: FormulaId,
    body: Body,
) -> Result<(), Fault> {
    let answers = run.cause().map(|number| state.message_of(number)).transpose()?.flatten();
    let message = state.deliver(body, answers, true, run.provenance.clone())?;
    let host = HostRun { host: state.actor, run: run.number };
    table::save(state.txn, Table::Meta, &NO_OWNER, &key(&promise), &(host, step), None)?;
    state.unpost(outbox)?;
    state.count_questions(run, |count| count.cards = count.cards.saturating_add(1))?;
    run.open.insert(step, Phase::Questioned { message, promise });
    state.journal(run, Entry::Questioned { proposal: step, message }, Provenance::default())?;
    Ok(())
}

/// Returns whether a call waits for this promise.
pub(crate) fn is_awaited(state: &mut State<'_>, promise: &FormulaId) -> Result<bool, Fault> {
    Ok(waiting(state, promise)?.is_some())
}

/// Returns the call that waits for this promise.
pub(crate) fn waiting(state: &mut State<'_>, promise: &FormulaId) -> Result<Option<(HostRun, u64)>, Fault> {
    Ok(table::load(state.txn, Table::Meta, &NO_OWNER, &key(promise))?)
}

/// Completes the call that waits for this promise, if there is one. The caller must settle the promise.
pub(crate) fn conclude(
    state: &mut State<'_>,
    promise: &FormulaId,
    completion: Completion,
) -> Result<(), Fault> {
    let Some((at, step)) = waiting(state, promise)? else { return Ok(()) };
    forget(state, promise)?;
    let actor = std::mem::replace(&mut state.actor, at.host);
    let done = close(state, at, step, completion);
    state.actor = actor;
    done
}

/// Returns whether the user has refused a call with this completion.
fn is_denial(completion: &Completion) -> bool {
    matches!(completion, Completion::Refused(findings) if findings.iter().any(Finding::is_denial))
}

fn close(state: &mut State<'_>, at: HostRun, step: u64, completion: Completion) -> Result<(), Fault> {
    let mut run = state.run(at.run)?;
    let Some(Phase::Questioned { message, .. }) = run.open.remove(&step) else { return Ok(()) };
    let provenance = match &completion {
        Completion::Done { provenance, .. } => provenance.clone(),
        _ => Provenance::host(),
    };
    run.provenance = run.provenance.join(&provenance);
    let is_denied = is_denial(&completion);
    state.journal(&mut run, Entry::Completed { proposal: step, completion }, provenance)?;
    if is_denied {
        state.count_refusal(&mut run, step, Some(message))?;
    }
    run_end::finish_if_still(state, &mut run)?;
    if !run.is_finished() {
        state.wake(&mut run, format!("message {message} was answered"))?;
    }
    state.put_run(&run)
}

/// Removes the row of the call that waits for this promise.
pub(crate) fn forget(state: &mut State<'_>, promise: &FormulaId) -> Result<(), Fault> {
    state.txn.delete(Table::Meta, &NO_OWNER, &key(promise))?;
    Ok(())
}
