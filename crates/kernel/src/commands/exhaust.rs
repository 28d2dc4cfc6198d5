//! Exhaust: a run has reached one of its limits. It waits until a person raises the limit or ends the run.

use std::collections::BTreeSet;

use passable::Untrusted;

use crate::budget::{Exhausted, LimitKind, Raise};
use crate::command::{Choice, Fault, Reply};
use crate::event::Change;
use crate::formula::Formula;
use crate::id::{MessageNumber, RunNumber, StepRef};
use crate::message::{Answer, Body};
use crate::provenance::Provenance;
use crate::run::{Entry, FamilyQuestion, Limits, Run, RunOutcome, State as RunState, Trouble};
use crate::state::{LoadedMessage, State};

use super::{cancel, run_end};

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
    let message = match open_question(state, run, limit)? {
        Some(message) => message,
        None => {
            let body = Body::Budget { run: run.number, trouble: trouble.clone(), used: run.used, offer };
            let answers = run.cause().map(|number| state.message_of(number)).transpose()?.flatten();
            state.deliver(body, answers, true, run.provenance.clone())?
        }
    };
    if is_of_family(limit) {
        wait_together(state, run, limit, message)?;
    }
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

/// Returns whether a limit counts for a whole family of runs.
fn is_of_family(limit: LimitKind) -> bool {
    matches!(limit, LimitKind::Refusals | LimitKind::Cards)
}

/// Returns the open question of a run's family about a limit, so that several runs that reach the limit ask once.
fn open_question(
    state: &mut State<'_>,
    run: &mut Run,
    limit: LimitKind,
) -> Result<Option<MessageNumber>, Fault> {
    let open = state.count_questions(run, |count| count.open.clone())?;
    let Some(open) = open.filter(|open| is_of_family(limit) && open.limit == limit) else { return Ok(None) };
    Ok(state.letter(open.message)?.mail.needs_you.then_some(open.message))
}

/// Adds a run to those of its family that wait for an answer.
fn wait_together(
    state: &mut State<'_>,
    run: &mut Run,
    limit: LimitKind,
    message: MessageNumber,
) -> Result<(), Fault> {
    let number = run.number;
    state.count_questions(run, |count| match &mut count.open {
        Some(open) if open.message == message => drop(open.runs.insert(number)),
        open => *open = Some(FamilyQuestion { message, limit, runs: BTreeSet::from([number]) }),
    })
}

/// Returns the other runs of a run's family that wait for the answer to a message.
fn others_waiting(
    state: &mut State<'_>,
    run: &mut Run,
    message: MessageNumber,
) -> Result<Vec<RunNumber>, Fault> {
    let open = state.count_questions(run, |count| count.open.clone())?;
    let runs = open.filter(|open| open.message == message).map(|open| open.runs).unwrap_or_default();
    let mut waiting = Vec::new();
    for number in runs.into_iter().filter(|number| *number != run.number) {
        let other = state.run(number)?;
        if other.exhausted.is_some_and(|exhausted| exhausted.message == message) {
            waiting.push(number);
        }
    }
    Ok(waiting)
}

/// Returns whether other runs wait for the answer to a message for which a cancelled run waits no more.
pub(super) fn is_awaited_by_others(
    state: &mut State<'_>,
    run: &mut Run,
    message: MessageNumber,
) -> Result<bool, Fault> {
    Ok(!others_waiting(state, run, message)?.is_empty())
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
    let over = state.env.surface();
    state.event(Change::Answered { number: message, needs_you: false, over })?;
    let others = others_waiting(state, &mut run, message)?;
    match run.exhausted.take_if(|exhausted| exhausted.message == message) {
        Some(exhausted) => settle(state, run, exhausted, raise, choice)?,
        None if others.is_empty() => return Ok(Reply::AlreadyAnswered { run: number }),
        None => {}
    }
    for other in others {
        // A stop of the whole family has ended the others.
        let mut other = state.run(other)?;
        if let Some(exhausted) = other.exhausted.take_if(|exhausted| exhausted.message == message) {
            if let Some(by) = raise {
                state.count_questions(&mut other, |count| count.forgive(by))?;
            }
            // Only the run that asked gets more of the other amounts.
            settle(state, other, exhausted, raise.map(|_| Raise::default()), choice)?;
        }
    }
    Ok(Reply::Answered { run: number, entries: vec![0], needs_you: false })
}

/// Lets a run that has waited for an answer go on, or ends it. Saves the run.
fn settle(
    state: &mut State<'_>,
    mut run: Run,
    exhausted: Exhausted,
    raise: Option<Raise>,
    choice: &Choice,
) -> Result<(), Fault> {
    let message = exhausted.message;
    match raise {
        Some(by) => {
            raise_limits(state, &mut run, by, message)?;
            for mut above in state.ancestors(&run)? {
                raise_limits(state, &mut above, by.shared_part(), message)?;
                state.put_run(&above)?;
            }
            state.count_questions(&mut run, |count| count.forgive(by))?;
            state.wake(&mut run, format!("message {message} was answered"))?;
        }
        None if exhausted.can_do_without() && run.cancelled.is_none() => {
            let limit = exhausted.limit.unwrap_or(LimitKind::Depth);
            state.journal(&mut run, Entry::Held { message, limit }, Provenance::host())?;
            state.wake(&mut run, format!("message {message} was answered"))?;
        }
        None if exhausted.is_after_refusals() => return stop(state, &run, choice),
        None => run_end::finish(state, &mut run, RunOutcome::Failed(exhausted.trouble))?,
    }
    state.put_run(&run)
}

/// Ends a family of runs that keeps asking for what the user refuses. This is the user's own act, so the runs count as
/// cancelled.
fn stop(state: &mut State<'_>, run: &Run, choice: &Choice) -> Result<(), Fault> {
    let said = match choice {
        Choice::Deny { reason } if !reason.raw().is_empty() => reason.clone(),
        _ => Untrusted::new(STOPPED),
    };
    state.put_run(run)?;
    let head = state.family_head(run)?.map_or(run.number, |head| head.number);
    cancel::cancel_run(state, head, &said)
}

/// Raises the limits of one run. The addition comes from outside, so the caller raises the runs above as well, and
/// they lose nothing.
fn raise_limits(
    state: &mut State<'_>,
    run: &mut Run,
    by: Raise,
    message: MessageNumber,
) -> Result<(), Fault> {
    if by.is_nothing() {
        return Ok(());
    }
    run.limits = run.limits.raised(by);
    state.journal(run, Entry::Raised { message, by }, Provenance::host())?;
    Ok(())
}
