//! Request, resolve, reject: an agent asks another one for a value, and gets an answer or a refusal.

use passable::Untrusted;

use crate::command::{Fault, Reply, RequestAnswer, Target};
use crate::commands::host_answer;
use crate::formula::Formula;
use crate::id::{FormulaId, MessageNumber, Number, RunNumber};
use crate::message::{Answer, Body};
use crate::name::NamePath;
use crate::proposal::Value;
use crate::provenance::Provenance;
use crate::run::Completion;
use crate::state::{Gift, LoadedMessage, State};
use crate::table::{self, EdgeRow, PromiseRow};
use crate::txn::{NO_OWNER, Table};

use super::call::{Call, ask, asker, attach, recipient, wrong_kind};

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
    ask(state, &to, &call, result_name, |promise, resolver| Body::Request {
        description,
        promise,
        resolver,
        by: None,
    })
}

/// Returns the actor's formula in the form in which the recipient gets it. Data becomes the value itself, and any
/// other formula becomes a reference.
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

/// Answers the request to which a resolver belongs. Only the recipient of the request can use the resolver, which is
/// in the message.
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

/// Returns the number, in the actor's mailbox, of the message with which the resolver came.
pub(crate) fn asked_by(state: &mut State<'_>, resolver: &FormulaId) -> Result<Option<MessageNumber>, Fault> {
    /// The maximum number of references to look at. Each copy of an edited definition adds one.
    const MAX_ITEMS: usize = 1000;
    let end = table::prefix_end(&resolver.number);
    let edges: Vec<(Vec<u8>, EdgeRow)> =
        table::scan(state.txn, Table::Edge, &NO_OWNER, &resolver.number, &end, MAX_ITEMS, false)?;
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

/// Answers the request of a run, if the answer is data. Any other answer needs a slot, and a person's decision on the
/// methods that the run may call there.
fn answer_run(
    state: &mut State<'_>,
    mut letter: LoadedMessage,
    run: RunNumber,
    promise: &FormulaId,
    id: &FormulaId,
) -> Result<Reply, Fault> {
    let (end, formula) = state.behind(id)?;
    let found = match formula {
        Formula::Marshal { value } => Some(value),
        Formula::Promise { .. } => match table::promise(state.txn, &end)? {
            Some(PromiseRow::Fulfilled { value }) => Some(value),
            _ => None,
        },
        _ => None,
    };
    let Some(value) = found.filter(|value| value.references().is_empty()) else {
        let what =
            format!("{run} asks for it: it takes a value, or what can fill a slot, bound by `resolve`");
        return Err(Fault::Misfit { what });
    };
    let provenance = state.provenance_of(&end)?;
    tell_run(state, &mut letter, promise, value, provenance)
}

fn tell_run(
    state: &mut State<'_>,
    letter: &mut LoadedMessage,
    promise: &FormulaId,
    value: Value,
    provenance: Provenance,
) -> Result<Reply, Fault> {
    let told = Value::record_from_map([("value".to_owned(), value.clone())].into());
    let completion = Completion::Done { value: told, provenance };
    host_answer::conclude(state, promise, completion)?;
    let fresh = state.settle_with(promise, PromiseRow::Fulfilled { value })?;
    let at_ms = state.env.now_ms();
    state.mark_answered(letter, Answer::Approved { for_run: false, at_ms })?;
    Ok(if fresh { Reply::Done } else { Reply::AlreadySettled })
}

/// Answers the request of a run with data that the person supplies, or with a binding for the slot that the run
/// named.
pub(super) fn give(
    state: &mut State<'_>,
    number: MessageNumber,
    handed: RequestAnswer,
) -> Result<Reply, Fault> {
    state.hosts_only("give runs what they ask for")?;
    let mut letter = state.received(number, "only who was asked can answer")?;
    let Body::Request { promise, by: Some(wish), .. } = letter.message.body.clone() else {
        return Err(wrong_kind(number, &letter.message.body, "no run asks for it: `resolve` it with a name"));
    };
    if letter.mail.answers.contains_key(&0) {
        return Ok(Reply::AlreadySettled);
    }
    let binding = match handed {
        RequestAnswer::Value { value } if value.references().is_empty() => {
            return tell_run(state, &mut letter, &promise, value, Provenance::host());
        }
        RequestAnswer::Value { .. } => {
            return Err(Fault::Misfit { what: "what holds references is no data".to_owned() });
        }
        RequestAnswer::Slot { binding } => *binding,
    };
    if binding.slot != wish.slot {
        let what = format!("{} asks for the slot {:?}, not {:?}", wish.run, wish.slot, binding.slot);
        return Err(Fault::Misfit { what });
    }
    if let Some(words) = fills_no_slot(state, &binding.target)? {
        return Err(Fault::Misfit { what: format!("{words} can fill no slot of a run that is at work") });
    }
    let value = crate::commands::question::fill(state, &promise, wish.run, number, binding)?;
    state.settle_with(&promise, PromiseRow::Fulfilled { value })?;
    let at_ms = state.env.now_ms();
    state.mark_answered(&mut letter, Answer::Approved { for_run: false, at_ms })?;
    Ok(Reply::Done)
}

/// Returns the description of a target that no slot of a run accepts. Such targets are the powers of agents, and
/// everything that a run has from its start or not at all.
fn fills_no_slot(state: &mut State<'_>, target: &Target) -> Result<Option<String>, Fault> {
    let formula = match target {
        Target::Workshop => Formula::Workshop,
        Target::Resource(resource) if !resource.kind().row().is_typed() => {
            Formula::Resource(resource.clone())
        }
        Target::Myself => Formula::Myself,
        Target::Named { path } => {
            let id = state.find(path)?;
            state.behind(&id)?.1
        }
        _ => return Ok(None),
    };
    let fills = match &formula {
        Formula::Resource(resource) => resource.kind().row().by_name,
        Formula::Scratch { .. } | Formula::Worker { .. } => true,
        _ => false,
    };
    Ok((!fills).then(|| crate::query::describe(&formula)))
}

fn answer(
    state: &mut State<'_>,
    mut letter: LoadedMessage,
    number: MessageNumber,
    promise: &FormulaId,
    id: &FormulaId,
) -> Result<Reply, Fault> {
    if let Body::Request { by: Some(wish), .. } = &letter.message.body {
        let run = wish.run;
        return answer_run(state, letter, run, promise, id);
    }
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
