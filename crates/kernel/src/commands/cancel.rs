//! Cancel: a person ends work, and everything that was made of it. Begun effects complete; nothing else begins. A
//! guest withdraws only its own requests.

use std::collections::{BTreeSet, VecDeque};

use passable::Untrusted;

use crate::command::{Cancel, CancelledCode, Fault, Reply};
use crate::event::Change;
use crate::formula::Formula;
use crate::id::{FormulaId, HostRun, RunNumber};
use crate::message::{Answer, Body};
use crate::proposal::Finding;
use crate::provenance::Provenance;
use crate::run::{Completion, Entry, Phase, Run, RunOutcome, State as RunState};
use crate::state::{EndedObject, State};
use crate::table::{self, EdgeRow, PromiseRow};
use crate::txn::{NO_OWNER, Table};

use super::permission::forget_permission;
use super::run_end::{finish_if_still, trouble};

/// The maximum number of dependent formulas to look at.
const MAX_ITEMS: usize = 100_000;

pub(super) fn cancel(state: &mut State<'_>, what: &Cancel, reason: &Untrusted) -> Result<Reply, Fault> {
    if let Cancel::Vat { vat } = what {
        return empty(state, vat, reason);
    }
    if !state.is_host()? {
        return cancel_own(state, what, reason);
    }
    match what {
        Cancel::Run { run } => {
            let id = state.run(*run)?.id;
            cancel_run(state, *run, reason)?;
            state.event(Change::Cancelled { id })?;
        }
        Cancel::Name { path } => {
            // If the name stands for a grant, only that grant is cancelled. The formula behind the grant stays,
            // because others also have grants of it.
            let id = state.find(path)?;
            for dependent in dependents(state, id)? {
                end(state, &dependent, reason)?;
            }
            state.event(Change::Cancelled { id })?;
        }
        Cancel::Vat { .. } => {}
    }
    Ok(Reply::Done)
}

/// Ends all code that waits to run in a vat. The vat stays, and runs the next code.
fn empty(state: &mut State<'_>, vat: &FormulaId, reason: &Untrusted) -> Result<Reply, Fault> {
    state.expect_held(vat)?;
    let (id, formula) = state.through(vat, "terminate")?;
    if !matches!(formula, Formula::Vat { .. }) {
        return Err(Fault::Misfit {
            what: format!("{} is no place to run", crate::query::describe(&formula)),
        });
    }
    for dependent in dependents(state, id)? {
        if matches!(state.formula(&dependent)?, Formula::Eval { .. }) {
            end(state, &dependent, reason)?;
        }
    }
    state.event(Change::Cancelled { id })?;
    Ok(Reply::Done)
}

/// Ends a request of the actor's own. The recipient cannot answer any more, and code of the actor's own does not run.
fn cancel_own(state: &mut State<'_>, what: &Cancel, reason: &Untrusted) -> Result<Reply, Fault> {
    let Cancel::Name { path } = what else {
        return Err(Fault::NotAllowed("only a host can cancel runs".to_owned()));
    };
    let id = state.find(path)?;
    match state.formula(&id)? {
        Formula::Promise { asker, .. } if asker == state.me() => {}
        _ => return Err(Fault::NotAllowed("a guest cancels only what it asked for itself".to_owned())),
    }
    if table::promise(state.txn, &id)? != Some(PromiseRow::Pending) {
        return Ok(Reply::AlreadySettled);
    }
    for dependent in dependents(state, id)? {
        end(state, &dependent, reason)?;
    }
    state.event(Change::Cancelled { id })?;
    Ok(Reply::Done)
}

/// Returns the formula, and all work that depends on the formula.
fn dependents(state: &mut State<'_>, id: FormulaId) -> Result<Vec<FormulaId>, Fault> {
    let mut seen = BTreeSet::from([id]);
    let mut queue = VecDeque::from([id]);
    let mut all = Vec::new();
    while let Some(next) = queue.pop_front() {
        all.push(next);
        let edges: Vec<(Vec<u8>, EdgeRow)> = table::scan(
            state.txn,
            Table::Edge,
            &NO_OWNER,
            &next.number,
            &table::prefix_end(&next.number),
            MAX_ITEMS,
            false,
        )?;
        for (_, edge) in edges {
            let Some(row) = table::formula(state.txn, &edge.from)? else { continue };
            let depends = matches!(
                row.formula,
                Formula::Grant { .. } | Formula::Worker { .. } | Formula::Eval { .. } | Formula::Run { .. }
            );
            // A grant does not depend on its holder, only on its target.
            let depends = depends && edge.label != "holder";
            if depends && seen.len() < MAX_ITEMS && seen.insert(edge.from) {
                queue.push_back(edge.from);
            }
        }
    }
    Ok(all)
}

fn end(state: &mut State<'_>, id: &FormulaId, reason: &Untrusted) -> Result<(), Fault> {
    match state.formula(id)? {
        // Only the agent that started the work, or the store's own host, may end it.
        Formula::Run { run, result, .. } => match may_end(state, &result)? {
            Some(whose) => end_run(state, whose, id, run, reason),
            None => Ok(()),
        },
        Formula::Eval { result, .. } => match may_end(state, &result)? {
            Some(_) => end_code(state, id, reason),
            None => Ok(()),
        },
        Formula::Export { eval, .. } => end(state, &eval, reason),
        Formula::Promise { asker, .. } if asker == state.me() => {
            super::mail::withdraw(state, id, reason).map(drop)
        }
        Formula::Timer { owner, .. }
            if owner == state.me() || table::host(state.txn)? == Some(state.actor) =>
        {
            state.end_timer(id)?;
            state.hasten(id)
        }
        Formula::Grant { .. } => state.hasten(id),
        _ => Ok(()),
    }
}

/// Ends code. If the code has ended before, its heap is dropped, and its objects are made again on their next use.
fn end_code(state: &mut State<'_>, eval: &FormulaId, reason: &Untrusted) -> Result<(), Fault> {
    let trouble = trouble(reason, false);
    let why = trouble.message.clone();
    if super::mail::park_cancelled(state, eval, &RunOutcome::Failed(trouble))? {
        return Ok(());
    }
    if let Formula::Eval { author, .. } = state.formula(eval)? {
        state.outcome.cancelled.push(CancelledCode { eval: *eval, author, reason: why });
    }
    Ok(())
}

/// Returns the agent that started the work of this promise, if the actor may end that work.
fn may_end(state: &mut State<'_>, result: &FormulaId) -> Result<Option<FormulaId>, Fault> {
    let Formula::Promise { asker, .. } = state.formula(result)? else { return Ok(None) };
    let whose = state.id_of(asker);
    let may = whose == state.actor || table::host(state.txn)? == Some(state.actor);
    Ok(may.then_some(whose))
}

/// Ends a run of any host. The records of its end belong to that host.
fn end_run(
    state: &mut State<'_>,
    whose: FormulaId,
    id: &FormulaId,
    run: RunNumber,
    reason: &Untrusted,
) -> Result<(), Fault> {
    match table::run(state.txn, &whose.number, run)? {
        Some(found) if found.id == *id => {}
        _ => return Ok(()),
    }
    let actor = std::mem::replace(&mut state.actor, whose);
    let ended = cancel_run(state, run, reason);
    state.actor = actor;
    ended
}

/// Ends a run and every run that it started.
pub(super) fn cancel_run(state: &mut State<'_>, number: RunNumber, reason: &Untrusted) -> Result<(), Fault> {
    let mut run = state.run(number)?;
    if run.is_finished() || run.cancelled.is_some() {
        return Ok(());
    }
    if run.is_agent_journal() {
        // Waiting calls are refused, and the agent goes on.
        refuse_open(state, &mut run)?;
        if !matches!(run.state, RunState::Ready) {
            state.forget_stalled(&run)?;
            run.state = RunState::Waiting;
        }
        return state.put_run(&run);
    }
    run.cancelled = Some(reason.clone());
    state.ended.push(EndedObject::Run(HostRun { host: state.actor, run: number }));
    refuse_open(state, &mut run)?;
    state.put_run(&run)?;
    // A child that ends tells its parent, which may change the parent. The parent is therefore read again.
    let children: Vec<RunNumber> = run
        .children
        .values()
        .copied()
        .chain(run.open.values().filter_map(|phase| match phase {
            Phase::Called { child } => Some(*child),
            _ => None,
        }))
        .collect();
    for child in children {
        cancel_run(state, child, reason)?;
    }
    let mut run = state.run(number)?;
    if run.is_finished() {
        return Ok(());
    }
    finish_if_still(state, &mut run)?;
    if !run.is_finished() && run.state != RunState::Ready {
        // The driver of the run completes the begun calls.
        state.make_ready(&mut run)?;
    }
    state.put_run(&run)
}

/// Refuses the calls that have not begun, and closes the cards that ask about them. The caller must save the run.
pub(super) fn refuse_open(state: &mut State<'_>, run: &mut Run) -> Result<(), Fault> {
    let finding = Finding::new("run/cancelled", "the run was cancelled");
    if let Some(exhausted) = run.exhausted.take()
        && !super::exhaust::is_awaited_by_others(state, run, exhausted.message)?
    {
        close_card(state, exhausted.message)?;
    }
    for (step, phase) in run.open.clone() {
        if phase == Phase::Approved {
            forget_permission(state, run, step)?;
        }
        if let Phase::AwaitingApproval { .. } | Phase::Approved = phase {
            run.open.remove(&step);
            let completion = if in_doubt(state, phase) {
                let message =
                    "it may or may not have happened before a crash, and the run was cancelled since";
                Completion::Failed(Finding::new("effect/unknown", message))
            } else {
                Completion::Refused(vec![finding.clone()])
            };
            state.journal(run, Entry::Completed { proposal: step, completion }, Provenance::host())?;
        }
        if let Phase::Sleeping { until_ms } = phase {
            super::wait::rest(state, run, step, until_ms, &finding)?;
        }
        if let Phase::Paused { .. } = phase {
            super::pause::end(state, run)?;
        }
        if let Phase::Questioned { promise, .. } = phase {
            run.open.remove(&step);
            super::question::withdraw(state, &promise)?;
            let completion = Completion::Refused(vec![finding.clone()]);
            state.journal(run, Entry::Completed { proposal: step, completion }, Provenance::host())?;
        }
        if let Phase::AwaitingApproval { message } = phase {
            close_card(state, message)?;
        }
    }
    Ok(())
}

/// Returns whether a waiting call asks if its effect happened, and not if it may happen.
fn in_doubt(state: &mut State<'_>, phase: Phase) -> bool {
    let Phase::AwaitingApproval { message } = phase else { return false };
    state.letter(message).is_ok_and(|letter| matches!(letter.message.body, Body::OutcomeUnknown { .. }))
}

/// Closes an approval whose run no longer needs an answer.
fn close_card(state: &mut State<'_>, message: crate::id::MessageNumber) -> Result<(), Fault> {
    let Ok(letter) = state.letter(message) else { return Ok(()) };
    let entries = match &letter.message.body {
        Body::Approval { entries, .. } => entries.len(),
        _ => 1,
    };
    let mut mail = letter.mail;
    if mail.needs_you {
        let (reason, at_ms) = (Untrusted::new("the run was cancelled"), state.env.now_ms());
        for entry in 0..entries {
            let withdrawn = || Answer::Withdrawn { reason: reason.clone(), at_ms };
            mail.answers.entry(entry).or_insert_with(withdrawn);
        }
        mail.needs_you = false;
        state.put_mail(message, &mail)?;
        state.event(Change::Answered { number: message, needs_you: false, over: None })?;
    }
    Ok(())
}
