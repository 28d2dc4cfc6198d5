//! Question: a run asks its host for a record, by a form, and goes on with what is filled in.

use passable::Untrusted;

use crate::command::Fault;
use crate::formula::Formula;
use crate::id::{FormulaId, HostRun, StepRef};
use crate::message::{Body, Field};
use crate::proposal::Finding;
use crate::provenance::Provenance;
use crate::run::{Completion, Entry, Phase, Run};
use crate::slot::Want;
use crate::state::State;
use crate::table::{self, PromiseRow};
use crate::txn::{NOBODY, Table};

/// Where it stands which call waits for a promise.
fn key(promise: &FormulaId) -> Vec<u8> {
    [b"question ", &promise.number[..]].concat()
}

/// A call that has begun becomes a form in the host's mailbox. What comes of it completes the call.
pub(super) fn ask(
    state: &mut State<'_>,
    run: &mut Run,
    step: u64,
    description: Untrusted,
    fields: Vec<Field>,
) -> Result<(), Fault> {
    let at = StepRef { run: run.number, step };
    let Some(Phase::Begun { outbox }) = run.open.get(&step).copied() else {
        return Err(Fault::OutOfOrder { at, what: "only a call that has begun asks anything" });
    };
    let Entry::Proposed { proposal, .. } = state.step(at)?.entry else {
        return Err(Fault::OutOfOrder { at, what: "this step proposes nothing" });
    };
    let reached = table::reach(state.txn, &proposal.grant)?.ok_or(Fault::Dangling(proposal.grant))?;
    if reached.formula != Formula::Questions {
        return Err(Fault::OutOfOrder { at, what: "this call asks nobody" });
    }
    super::mail::check_fields(&fields)?;
    // Whoever writes a secret into a form of a model's has been led to it by the model.
    if fields.iter().any(|field| field.secret) {
        return Err(Fault::Misfit { what: "a run asks for no secrets".to_owned() });
    }
    for field in &fields {
        if Want::is_any_capability(&super::mail::pattern(&field.pattern, &field.name)?) {
            return Err(Fault::Misfit { what: "a run asks for data alone".to_owned() });
        }
    }
    let me = state.me();
    let (promise, resolver) = state.new_promise(me, None)?;
    let number = Some(run.number);
    let body = Body::Form { description, fields, promise, resolver, repeatable: false, run: number };
    let answers = run.cause().map(|number| state.message_of(number)).transpose()?.flatten();
    let message = state.deliver(body, answers, true, run.provenance.clone())?;
    let host = HostRun { host: state.actor, run: run.number };
    table::save(state.txn, Table::Meta, &NOBODY, &key(&promise), &(host, step), None)?;
    state.unpost(outbox)?;
    run.open.insert(step, Phase::Questioned { message, promise });
    state.journal(run, Entry::Questioned { proposal: step, message }, Provenance::default())?;
    Ok(())
}

/// Something came of a promise: if a call waits for it, that is over.
pub(crate) fn answered(state: &mut State<'_>, promise: &FormulaId, row: &PromiseRow) -> Result<(), Fault> {
    let Some((at, step)) = table::load::<(HostRun, u64)>(state.txn, Table::Meta, &NOBODY, &key(promise))?
    else {
        return Ok(());
    };
    forget(state, promise)?;
    let actor = std::mem::replace(&mut state.actor, at.host);
    let done = complete(state, at, step, row);
    state.actor = actor;
    done
}

fn complete(state: &mut State<'_>, at: HostRun, step: u64, row: &PromiseRow) -> Result<(), Fault> {
    let mut run = state.run(at.run)?;
    let Some(Phase::Questioned { message, .. }) = run.open.remove(&step) else { return Ok(()) };
    let completion = match row {
        // What could be used without a grant of its own is no answer.
        PromiseRow::Fulfilled { value } if !value.references().is_empty() => {
            Completion::Refused(vec![Finding::new("question/data", "the answer was no data")])
        }
        PromiseRow::Fulfilled { value } => {
            Completion::Done { value: value.clone(), provenance: Provenance::host() }
        }
        PromiseRow::Rejected { reason } => {
            let said = if reason.is_empty() { "the host does not answer" } else { reason };
            Completion::Refused(vec![Finding::new("host/denied", said)])
        }
        PromiseRow::Pending => return Ok(()),
    };
    state.journal(&mut run, Entry::Completed { proposal: step, completion }, Provenance::host())?;
    super::cancel::finish_if_still(state, &mut run)?;
    if !run.is_finished() {
        state.wake(&mut run, format!("message {message} was answered"))?;
    }
    state.put_run(&run)
}

/// No call waits for it any more.
fn forget(state: &mut State<'_>, promise: &FormulaId) -> Result<(), Fault> {
    state.txn.delete(Table::Meta, &NOBODY, &key(promise))?;
    Ok(())
}

/// The run does not go on: nobody is asked any more. The call is the caller's to complete.
pub(super) fn withdraw(state: &mut State<'_>, promise: &FormulaId) -> Result<(), Fault> {
    forget(state, promise)?;
    super::mail::withdraw(state, promise, &Untrusted::new("the run was cancelled")).map(drop)
}
