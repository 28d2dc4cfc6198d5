//! Exhaust: a run has reached one of its limits. It waits until a person raises the limit or ends the run.

use passable::Untrusted;

use crate::budget::{Exhausted, LimitKind, Raise};
use crate::command::{Choice, Fault, Reply};
use crate::event::Change;
use crate::formula::Formula;
use crate::id::{HostRun, RunNumber, StepRef};
use crate::message::{Answer, Body};
use crate::provenance::Provenance;
use crate::run::{Entry, Limits, Run, RunOutcome, State as RunState, Trouble};
use crate::state::{EndedObject, LoadedMessage, State};

use super::run_end;

/// The error for an answer that does not fit a question about a limit.
const WANTS: &str =
    "it asks whether a run may use more: approve it, with how much more if you like, or deny it";

/// The error for an answer that adds nothing to the limit.
const NOTHING: &str = "nothing would be added, and the run would ask again at once";

/// The reason for the end of a run that the user stopped without a reason.
const STOPPED: &str = "you stopped it: it kept asking for what you refuse";

/// The error for an answer that raises the depth limit too far.
const TOO_DEEP: &str = "workers call workers at most 32 deep, whatever anybody says: add less";

/// Asks the host to raise a limit of the run, and lets the run wait.
pub(super) fn exhaust(
    state: &mut State<'_>,
    run: &mut Run,
    limit: LimitKind,
    trouble: Trouble,
) -> Result<(), Fault> {
    let at = StepRef { run: run.number, step: run.next_step };
    if !run.open.is_empty() || !run.children.is_empty() || run.exhausted.is_some() {
        return Err(Fault::OutOfOrder { at, what: "a run with open calls asks for nothing more" });
    }
    // The depth counts from the run that a person started. All runs below that run have its limit.
    let own = Limits { depth: run.limits.depth, ..own_limits(state, run)? };
    let offer = Raise::double(limit, own);
    if offer.is_nothing() {
        return Err(Fault::OutOfOrder { at, what: "there is nothing more of this for anybody" });
    }
    let body = Body::Budget { run: run.number, trouble: trouble.clone(), used: run.used, offer };
    let answers = run.cause().map(|number| state.message_of(number)).transpose()?.flatten();
    let message = state.deliver(body, answers, true, run.provenance.clone())?;
    state.journal(
        run,
        Entry::Exhausted { limit, trouble: trouble.clone(), message },
        Provenance::default(),
    )?;
    state.make_still(run)?;
    run.exhausted = Some(Exhausted { message, trouble, limit: Some(limit) });
    run.state = RunState::Waiting;
    state.yield_place(run)?;
    let why = format!("for an answer to message {message}");
    state.journal(run, Entry::Suspended { why }, Provenance::default())?;
    Ok(())
}

/// Returns the limits in the worker's own file. A child may have been lent less.
fn own_limits(state: &mut State<'_>, run: &Run) -> Result<Limits, Fault> {
    Ok(match state.formula(&run.worker)? {
        Formula::Worker { limits, .. } => limits,
        _ => run.limits,
    })
}

/// Raises a limit of a run, or ends the run, as the person answered.
pub(super) fn answer(
    state: &mut State<'_>,
    letter: LoadedMessage,
    number: RunNumber,
    offer: Raise,
    choice: &Choice,
) -> Result<Reply, Fault> {
    let message = letter.number;
    let wrong = |what| Fault::WrongKind { number: message, kind: letter.mail.envelope.kind.clone(), what };
    let raise = match choice {
        Choice::Approve { for_run: false } => Some(offer),
        Choice::Raise { by } if by.is_nothing() => return Err(wrong(NOTHING)),
        Choice::Raise { by } => Some(by.with_counts_of(offer)),
        Choice::Deny { .. } => None,
        Choice::Approve { for_run: true } | Choice::Happened | Choice::Repeat => return Err(wrong(WANTS)),
    };
    let mut mail = letter.mail;
    let mut run = state.run(number)?;
    if raise.is_some_and(|by| by.depth > u64::from(Limits::MAX_DEPTH.saturating_sub(run.limits.depth))) {
        return Err(Fault::WrongKind { number: message, kind: mail.envelope.kind, what: TOO_DEEP });
    }
    let at_ms = state.env.now_ms();
    mail.needs_you = false;
    mail.answers.insert(
        0,
        match choice {
            Choice::Deny { reason } => Answer::Denied { reason: reason.clone(), at_ms },
            _ => Answer::Approved { for_run: false, at_ms },
        },
    );
    state.put_mail(message, &mail)?;
    state.event(Change::Answered { number: message, needs_you: false })?;
    let Some(exhausted) = run.exhausted.take() else {
        return Ok(Reply::AlreadyAnswered { run: number });
    };
    match raise {
        Some(by) => {
            raise_limits(state, &mut run, by, message)?;
            for mut above in state.ancestors(&run)? {
                raise_limits(state, &mut above, by.shared_part(), message)?;
                state.put_run(&above)?;
            }
            state.wake(&mut run, format!("message {message} was answered"))?;
        }
        None if exhausted.can_do_without() && run.cancelled.is_none() => {
            let limit = exhausted.limit.unwrap_or(LimitKind::Depth);
            state.journal(&mut run, Entry::Held { message, limit }, Provenance::host())?;
            state.wake(&mut run, format!("message {message} was answered"))?;
        }
        None if exhausted.is_after_refusals() => stop(state, &mut run, choice)?,
        None => run_end::finish(state, &mut run, RunOutcome::Failed(exhausted.trouble))?,
    }
    state.put_run(&run)?;
    Ok(Reply::Answered { run: number, entries: vec![0], needs_you: false })
}

/// Ends a run that keeps asking for what the user refuses. This is the user's own act, so the run counts as cancelled.
fn stop(state: &mut State<'_>, run: &mut Run, choice: &Choice) -> Result<(), Fault> {
    let said = match choice {
        Choice::Deny { reason } if !reason.raw().is_empty() => reason.clone(),
        _ => Untrusted::new(STOPPED),
    };
    run.cancelled.get_or_insert(said);
    state.ended.push(EndedObject::Run(HostRun { host: state.actor, run: run.number }));
    run_end::finish_if_still(state, run)
}

/// Raises the limits of one run. The addition comes from outside, so the caller raises the runs above as well, and
/// they lose nothing.
fn raise_limits(
    state: &mut State<'_>,
    run: &mut Run,
    by: Raise,
    message: crate::id::MessageNumber,
) -> Result<(), Fault> {
    if by.is_nothing() {
        return Ok(());
    }
    run.limits = run.limits.raised(by);
    state.journal(run, Entry::Raised { message, by }, Provenance::host())?;
    Ok(())
}
