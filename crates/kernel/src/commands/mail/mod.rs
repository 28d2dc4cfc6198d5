//! Mail: the messages between agents, and their results.

mod define;
mod evaluate;
mod form;
mod request;
mod send;
mod share;
mod withdraw;

use crate::command::{Fault, MailAct, Reply};
use crate::id::{BlobHash, FormulaId, MessageNumber, Number};
use crate::message::Body;
use crate::name::NamePath;
use crate::state::State;

pub(super) use define::{check_slots, pattern};
pub(super) use evaluate::{evaluated, park_cancelled};
pub(super) use form::settle_fields;
pub(super) use request::asked_by;
pub(super) use share::{release, share};
pub(super) use withdraw::withdraw;

pub(super) fn mail(state: &mut State<'_>, act: MailAct) -> Result<Reply, Fault> {
    match act {
        MailAct::Send(act) => send::send(state, act),
        MailAct::Reply { number, strings, names, paths } => send::reply(state, number, strings, names, paths),
        MailAct::SendValue { number, path } => send::send_value(state, number, &path),
        MailAct::Adopt { number, edge, path } => send::adopt(state, number, &edge, &path),
        MailAct::Dismiss { number } => send::dismiss(state, number),
        MailAct::DismissAll => send::dismiss_all(state),
        MailAct::Request { to, description, result_name } => {
            request::request(state, &to, description, result_name.as_ref())
        }
        MailAct::Resolve { number, path } => request::resolve(state, number, &path),
        MailAct::ResolveWith { resolver, id } => request::resolve_with(state, &resolver, &id),
        MailAct::Give { number, handed } => request::give(state, number, handed),
        MailAct::Reject { number, reason } => request::reject(state, number, reason),
        MailAct::Define(act) => define::define(state, act),
        MailAct::Edit { number, program } => define::edit(state, number, program),
        MailAct::EndowCode { number, bindings, vat, goes_to, result_name } => {
            define::endow_code(state, number, bindings, vat.as_ref(), goes_to, result_name.as_ref())
        }
        MailAct::EndowWorker { number, start, goes_to, result_name } => {
            define::endow_worker(state, number, *start, goes_to, result_name.as_ref())
        }
        MailAct::IfUnchanged { seen, done, act } => {
            for (path, id) in &seen {
                expect_as_seen(state, path, id.as_ref())?;
            }
            let number = match &*act {
                MailAct::IfUnchanged { .. } => {
                    return Err(Fault::Misfit { what: "what was seen is said once".to_owned() });
                }
                MailAct::Edit { number, .. }
                | MailAct::EndowCode { number, .. }
                | MailAct::EndowWorker { number, .. } => Some(*number),
                _ => None,
            };
            match (number, done) {
                (Some(number), Some(done)) if state.letter(number)?.mail.done != done => {
                    Err(Fault::DoneMeanwhile(number))
                }
                _ => mail(state, *act),
            }
        }
        MailAct::Form(act) => form::form(state, act),
        MailAct::Submit { number, values } => form::submit(state, number, values),
        MailAct::RequestEvaluation { source, names, paths, result_name } => {
            evaluate::request_evaluation(state, source, names, paths, result_name.as_ref())
        }
        MailAct::Grant { number, goes_to } => evaluate::grant(state, number, goes_to),
        MailAct::Evaluate { vat, source, names, paths, result_name } => {
            evaluate::evaluate(state, vat.as_ref(), source, names, paths, result_name.as_ref())
        }
        MailAct::Make { vat, modules, powers, new_guest, result_name } => {
            evaluate::make(state, vat.as_ref(), modules, powers.as_ref(), new_guest, result_name.as_ref())
        }
    }
}

/// Refuses a name that stands for something else than was seen, or for anything if it was free.
fn expect_as_seen(state: &mut State<'_>, path: &NamePath, seen: Option<&FormulaId>) -> Result<(), Fault> {
    let is_so = match seen {
        Some(id) => state.resolve(path)? == *id,
        None => matches!(state.view().identify(state.txn, path), Err(Fault::UnknownName(_))),
    };
    if is_so { Ok(()) } else { Err(Fault::NotAsSeen { path: path.to_string() }) }
}

/// A digest over the parts of a call. The same call under the same result name attaches to the same promise.
struct Call(blake3::Hasher);

impl Call {
    fn of(verb: &str) -> Call {
        let mut call = Call(blake3::Hasher::new_derive_key("almoner call v1"));
        call.part(verb.as_bytes());
        call
    }

    fn part(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a part that is plain data.
    fn data<T: serde::Serialize>(&mut self, data: &T) -> Result<(), Fault> {
        self.part(&crate::txn::encode_row(data)?);
        Ok(())
    }

    fn digest(&self) -> BlobHash {
        BlobHash(*self.0.finalize().as_bytes())
    }
}

/// Returns the promise that the same call made under the same name before, if it did.
fn attach(state: &mut State<'_>, name: Option<&NamePath>, call: &Call) -> Result<Option<Reply>, Fault> {
    let Some(path) = name else { return Ok(None) };
    let id = match state.view().identify(state.txn, path) {
        Ok(id) => id,
        Err(Fault::UnknownName(_)) => {
            // A call whose result cannot be named is refused before it is sent.
            state.own_spot(path)?;
            return Ok(None);
        }
        Err(fault) => return Err(fault),
    };
    match state.formula(&id)? {
        crate::formula::Formula::Promise { asker, call: Some(known), .. }
            if known == call.digest() && asker == state.me() =>
        {
            Ok(Some(Reply::RequestSent { promise: id, number: None }))
        }
        _ => Err(Fault::Taken(format!("{:?}", path.to_string()))),
    }
}

/// Asks somebody for something: a promise, its name, and a message.
fn ask(
    state: &mut State<'_>,
    to: &FormulaId,
    call: &Call,
    name: Option<&NamePath>,
    body: impl FnOnce(FormulaId, FormulaId) -> Body,
) -> Result<Reply, Fault> {
    let me = state.me();
    let (promise, resolver) = state.new_promise(me, name.map(|_| call.digest()))?;
    if let Some(path) = name {
        let spot = state.own_spot(path)?;
        state.name(&spot, &promise)?;
    }
    let said = state.said()?;
    let number = state.send(to, body(promise, resolver), None, true, said)?;
    Ok(Reply::RequestSent { promise, number: Some(number) })
}

/// Returns the agent to whom a path leads.
fn recipient(state: &mut State<'_>, path: &NamePath) -> Result<FormulaId, Fault> {
    let handle = state.find(path)?;
    state.agent_of(&handle)
}

/// Returns the agent who waits for a promise.
fn asker(state: &mut State<'_>, promise: &FormulaId) -> Result<FormulaId, Fault> {
    match state.formula(promise)? {
        crate::formula::Formula::Promise { asker, .. } => Ok(state.id_of(asker)),
        _ => Err(Fault::Dangling(*promise)),
    }
}

fn wrong_kind(number: MessageNumber, body: &Body, what: &'static str) -> Fault {
    Fault::WrongKind { number, kind: body.kind().to_owned(), what }
}

fn number_of(id: &FormulaId) -> Number {
    Number(id.number)
}
