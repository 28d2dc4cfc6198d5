//! The results of endowed work, and their recipients.

use std::collections::BTreeMap;

use crate::command::{Choice, Fault, Reply};
use crate::commands::host_answer;
use crate::event::Change;
use crate::formula::Formula;
use crate::id::FormulaId;
use crate::message::{Answer, Body};
use crate::proposal::{Finding, Value};
use crate::provenance::{Provenance, Source};
use crate::run::{Completion, Delivery, ResultGoesTo, RunOutcome};
use crate::state::{Gift, LoadedMessage, State};
use crate::table::PromiseRow;

use super::call;
use super::withdraw::is_withdrawn;

/// The maximum size, in bytes, of a code result that a run receives.
const LARGEST: usize = 64 << 10;

/// Gives an outcome to the guest that proposed the work, as far as the host has allowed this.
pub(crate) fn share(
    state: &mut State<'_>,
    delivery: &Delivery,
    outcome: &RunOutcome,
    provenance: &Provenance,
) -> Result<(), Fault> {
    let open = !is_withdrawn(state, delivery.message)?;
    if open && host_answer::is_awaited(state, &delivery.promise)? {
        return tell_run(state, delivery, outcome, provenance);
    }
    let value = match outcome {
        _ if delivery.goes_to == ResultGoesTo::Host => return Ok(()),
        // An asker that has withdrawn its request gets nothing: the result stays with the host.
        _ if !open => return Ok(()),
        // The exact error may quote data that only the host may read.
        RunOutcome::Failed(trouble) => {
            let reason = format!("it failed: {}", trouble.code);
            state.settle_with(&delivery.promise, PromiseRow::Rejected { reason })?;
            return Ok(());
        }
        RunOutcome::Done(value) => value,
    };
    let references: Vec<FormulaId> = value.references().into_iter().copied().collect();
    let withheld = delivery.goes_to == ResultGoesTo::GuestData && !references.is_empty();
    if withheld && !planted!(state.env, CapabilityAsData) {
        return withhold(state, delivery, value, &references, provenance);
    }
    hand_over(state, delivery.guest, delivery.promise, value, provenance)
}

/// Tells a run the result of the code that the run proposed: data, or the reason why there is none. Capabilities stay
/// with the host.
fn tell_run(
    state: &mut State<'_>,
    delivery: &Delivery,
    outcome: &RunOutcome,
    provenance: &Provenance,
) -> Result<(), Fault> {
    let refused = |rule: &str, said: &'static str| {
        let completion = Completion::Refused(vec![Finding::new(rule, said)]);
        (completion, PromiseRow::Rejected { reason: said.to_owned() })
    };
    let (completion, row) = match outcome {
        // The exact error may quote data that only the host may read.
        RunOutcome::Failed(trouble) => {
            let said = format!("it was endowed, and failed: {}", trouble.code);
            (
                Completion::Failed(Finding::new("define/failed", said.clone())),
                PromiseRow::Rejected { reason: said },
            )
        }
        RunOutcome::Done(_) if delivery.goes_to == ResultGoesTo::Host => {
            refused("define/kept", "it was endowed and came to its end; the user keeps what came of it")
        }
        RunOutcome::Done(value) if !value.references().is_empty() => refused(
            "define/withheld",
            "it was endowed, and came to something that is no data: capabilities stay with the user",
        ),
        RunOutcome::Done(value) if passable::smallcaps::encode(value).body.len() > LARGEST => refused(
            "define/large",
            "it was endowed, and came to more than 64 KiB: code that comes to less is told",
        ),
        RunOutcome::Done(value) => {
            let mut said = BTreeMap::from([("result".to_owned(), value.clone())]);
            if was_edited(state, delivery)? {
                let told = "the user has changed the code before endowing it";
                said.insert("edited".to_owned(), Value::string(told));
            }
            // The result may depend on every input of the code, and no agent vouches for those inputs.
            let code = Source::Agent(call::number_of(&delivery.promise));
            let provenance = provenance.join(&Provenance::of(code));
            let completion = Completion::Done { value: Value::record_from_map(said), provenance };
            (completion, PromiseRow::Fulfilled { value: value.clone() })
        }
    };
    host_answer::conclude(state, &delivery.promise, completion)?;
    state.settle_with(&delivery.promise, row)?;
    Ok(())
}

/// Returns whether the endowed definition is an edited copy of the proposed one.
fn was_edited(state: &mut State<'_>, delivery: &Delivery) -> Result<bool, Fault> {
    // The message may have been dismissed since.
    let Ok(letter) = state.letter(delivery.message) else { return Ok(false) };
    let Body::Definition { definition, .. } = letter.message.body else { return Ok(false) };
    Ok(matches!(state.formula(&definition)?, Formula::Definition { original: Some(_), .. }))
}

/// Fulfils the guest's promise with a value. If the promise has settled before, the value is sent as a message.
fn hand_over(
    state: &mut State<'_>,
    guest: FormulaId,
    promise: FormulaId,
    value: &Value,
    provenance: &Provenance,
) -> Result<(), Fault> {
    let value = state.give_value(value, &Gift::plain(guest, "result"))?;
    if state.settle_with(&promise, PromiseRow::Fulfilled { value: value.clone() })? {
        return Ok(());
    }
    let marshal = state.make(Formula::Marshal { value }, provenance.clone())?;
    state.send(&guest, Body::Value { value: marshal }, None, false, provenance.clone())?;
    Ok(())
}

/// Keeps a result that carries capabilities until the host says that they may be given away.
fn withhold(
    state: &mut State<'_>,
    delivery: &Delivery,
    value: &Value,
    references: &[FormulaId],
    provenance: &Provenance,
) -> Result<(), Fault> {
    let mut gives = Vec::new();
    for id in references {
        let (_, formula) = state.behind(id)?;
        gives.push(crate::query::describe(&formula));
    }
    let result = state.make(Formula::Marshal { value: value.clone() }, provenance.clone())?;
    let body = Body::Release { result, guest: delivery.guest, promise: delivery.promise, gives };
    // The new message answers the message that carried the program.
    let program = state.message_of(delivery.message)?;
    state.deliver(body, program, true, provenance.clone())?;
    Ok(())
}

/// Applies a person's decision whether a withheld result may be given away.
pub(crate) fn release(
    state: &mut State<'_>,
    mut letter: LoadedMessage,
    choice: Choice,
) -> Result<Reply, Fault> {
    let Body::Release { result, guest, promise, .. } = letter.message.body.clone() else {
        return Err(Fault::NotAnApproval(letter.number));
    };
    let at_ms = state.env.now_ms();
    let answer = match choice {
        Choice::Approve { .. } => {
            let provenance = state.provenance_of(&result)?;
            let Formula::Marshal { value } = state.formula(&result)? else {
                return Err(Fault::Dangling(result));
            };
            hand_over(state, guest, promise, &value, &provenance)?;
            Answer::Approved { for_run: false, at_ms }
        }
        Choice::Deny { reason } => {
            let said = if reason.raw().is_empty() { "the host said no" } else { reason.raw() };
            state.settle_with(&promise, PromiseRow::Rejected { reason: said.to_owned() })?;
            Answer::Denied { reason, at_ms }
        }
        Choice::Happened | Choice::Repeat | Choice::Raise { .. } => {
            return Err(Fault::NotAnApproval(letter.number));
        }
    };
    letter.mail.answers.insert(0, answer);
    letter.mail.needs_you = false;
    state.put_mail(letter.number, &letter.mail)?;
    let over = state.env.surface();
    state.event(Change::Answered { number: letter.number, needs_you: false, over })?;
    Ok(Reply::Done)
}
