//! Request, resolve, reject.

use passable::Untrusted;

use crate::command::{Fault, Reply};
use crate::formula::Formula;
use crate::id::{FormulaId, MessageNumber};
use crate::message::{Answer, Body};
use crate::name::NamePath;
use crate::proposal::Value;
use crate::state::{Gift, State};
use crate::table::PromiseRow;

use super::{Call, ask, asker, attach, recipient, wrong_kind};

pub(super) fn request(
    state: &mut State<'_>,
    to: &NamePath,
    description: Untrusted,
    result_name: Option<&NamePath>,
) -> Result<Reply, Fault> {
    let mut call = Call::of("request");
    call.data(to)?;
    call.part(description.raw().as_bytes());
    if let Some(reply) = attach(state, result_name, &call)? {
        return Ok(reply);
    }
    let to = recipient(state, to)?;
    ask(state, &to, &call, result_name, |promise, resolver| Body::Request { description, promise, resolver })
}

/// What the actor's formula is to `agent`: the value itself if it is one, else a reference.
pub(super) fn as_value(state: &mut State<'_>, id: &FormulaId, gift: &Gift<'_>) -> Result<Value, Fault> {
    let given = state.give(id, gift)?;
    Ok(match state.formula(&given)? {
        Formula::Marshal { value } => value,
        _ => Value::remotable(given),
    })
}

pub(super) fn resolve(state: &mut State<'_>, number: MessageNumber, path: &NamePath) -> Result<Reply, Fault> {
    let mut letter = state.received(number, "only who was asked can answer")?;
    let Body::Request { promise, .. } = letter.message.body else {
        return Err(wrong_kind(number, &letter.message.body, "only a request is resolved"));
    };
    if letter.mail.answers.contains_key(&0) {
        return Ok(Reply::AlreadySettled);
    }
    let id = state.resolve(path)?;
    let to = asker(state, &promise)?;
    let value = as_value(state, &id, &Gift::plain(to, "value").because_of(Some(number)))?;
    let fresh = state.settle_with(&promise, PromiseRow::Fulfilled { value })?;
    let at_ms = state.env.now_ms();
    state.mark_answered(&mut letter, Answer::Approved { for_run: false, at_ms })?;
    Ok(if fresh { Reply::Done } else { Reply::AlreadySettled })
}

pub(super) fn reject(
    state: &mut State<'_>,
    number: MessageNumber,
    reason: Untrusted,
) -> Result<Reply, Fault> {
    let mut letter = state.received(number, "only who was asked can refuse")?;
    let Some((promise, _)) = letter.message.body.asks() else {
        return Err(wrong_kind(number, &letter.message.body, "it asks for nothing that could be refused"));
    };
    if letter.mail.answers.contains_key(&0) {
        return Ok(Reply::AlreadySettled);
    }
    let fresh = state.settle_with(&promise, PromiseRow::Rejected { reason: reason.raw().to_owned() })?;
    let at_ms = state.env.now_ms();
    state.mark_answered(&mut letter, Answer::Denied { reason, at_ms })?;
    Ok(if fresh { Reply::Done } else { Reply::AlreadySettled })
}
