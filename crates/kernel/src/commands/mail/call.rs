//! A call by which an agent asks another one for something: its digest, its promise, its message, and the agent that
//! waits.

use crate::command::{Fault, Reply};
use crate::id::{BlobHash, FormulaId, MessageNumber, Number};
use crate::message::Body;
use crate::name::NamePath;
use crate::state::State;

/// A digest over the parts of a call. The same call under the same result name attaches to the same promise.
pub(crate) struct Call(blake3::Hasher);

impl Call {
    pub(super) fn of(verb: &str) -> Call {
        let mut call = Call(blake3::Hasher::new_derive_key("almoner call v1"));
        call.part(verb.as_bytes());
        call
    }

    pub(super) fn part(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a part that is plain data.
    pub(super) fn data<T: serde::Serialize>(&mut self, data: &T) -> Result<(), Fault> {
        self.part(&crate::txn::encode_row(data)?);
        Ok(())
    }

    fn digest(&self) -> BlobHash {
        BlobHash(*self.0.finalize().as_bytes())
    }
}

/// Returns the promise that an identical earlier call made under the same name, if there is one.
pub(crate) fn attach(
    state: &mut State<'_>,
    name: Option<&NamePath>,
    call: &Call,
) -> Result<Option<Reply>, Fault> {
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

/// Asks an agent for something: makes a promise, gives it a name, and sends a message.
pub(crate) fn ask(
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
pub(crate) fn recipient(state: &mut State<'_>, path: &NamePath) -> Result<FormulaId, Fault> {
    let handle = state.find(path)?;
    state.agent_of(&handle)
}

/// Returns the agent that waits for a promise.
pub(crate) fn asker(state: &mut State<'_>, promise: &FormulaId) -> Result<FormulaId, Fault> {
    match state.formula(promise)? {
        crate::formula::Formula::Promise { asker, .. } => Ok(state.id_of(asker)),
        _ => Err(Fault::Dangling(*promise)),
    }
}

pub(crate) fn wrong_kind(number: MessageNumber, body: &Body, what: &'static str) -> Fault {
    Fault::WrongKind { number, kind: body.kind().to_owned(), what }
}

pub(crate) fn number_of(id: &FormulaId) -> Number {
    Number(id.number)
}
