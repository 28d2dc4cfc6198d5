//! Request, resolve, reject.

use passable::Untrusted;

use crate::command::{Fault, Reply};
use crate::formula::Formula;
use crate::id::{FormulaId, MessageNumber, Number};
use crate::message::{Answer, Body};
use crate::name::NamePath;
use crate::proposal::Value;
use crate::state::{Gift, Letter, State};
use crate::table::{self, EdgeRow, PromiseRow};
use crate::txn::{NOBODY, Table};

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
    let letter = state.received(number, "only who was asked can answer")?;
    let Body::Request { promise, .. } = letter.message.body else {
        return Err(wrong_kind(number, &letter.message.body, "only a request is resolved"));
    };
    if letter.mail.answers.contains_key(&0) {
        return Ok(Reply::AlreadySettled);
    }
    let id = state.resolve(path)?;
    answer(state, letter, number, &promise, &id)
}

/// Answers the request of which this is the resolver: whoever was asked finds it in the message, and nobody else uses
/// it.
pub(super) fn resolve_with(
    state: &mut State<'_>,
    resolver: &FormulaId,
    id: &FormulaId,
) -> Result<Reply, Fault> {
    let Formula::Resolver { .. } = state.formula(resolver)? else { return Err(Fault::Dangling(*resolver)) };
    let number = asked_by(state, resolver)?;
    let number = number.ok_or_else(|| Fault::NotAllowed("only who was asked can answer".to_owned()))?;
    let letter = state.received(number, "only who was asked can answer")?;
    let Body::Request { promise, .. } = letter.message.body else {
        return Err(wrong_kind(number, &letter.message.body, "only a request is resolved"));
    };
    state.expect_held(id)?;
    if letter.mail.answers.contains_key(&0) {
        return Ok(Reply::AlreadySettled);
    }
    answer(state, letter, number, &promise, id)
}

/// The number, in the actor's mailbox, of the message with which the resolver came.
fn asked_by(state: &mut State<'_>, resolver: &FormulaId) -> Result<Option<MessageNumber>, Fault> {
    /// How many references are looked at: a copy of an edited definition is one more.
    const MOST: usize = 1000;
    let end = table::behind(&resolver.number);
    let edges: Vec<(Vec<u8>, EdgeRow)> =
        table::scan(state.txn, Table::Edge, &NOBODY, &resolver.number, &end, MOST, false)?;
    let (own, owner) = (state.self_agent()?, state.owner());
    for (_, edge) in edges {
        let Formula::Message { message } = state.formula(&edge.from)? else { continue };
        if message.to != own.handle {
            continue;
        }
        let number = table::mail_number(state.txn, &owner, &own.mailbox, &Number(edge.from.number))?;
        if number.is_some() {
            return Ok(number);
        }
    }
    Ok(None)
}

fn answer(
    state: &mut State<'_>,
    mut letter: Letter,
    number: MessageNumber,
    promise: &FormulaId,
    id: &FormulaId,
) -> Result<Reply, Fault> {
    let to = asker(state, promise)?;
    let value = as_value(state, id, &Gift::plain(to, "value").because_of(Some(number)))?;
    let fresh = state.settle_with(promise, PromiseRow::Fulfilled { value })?;
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
