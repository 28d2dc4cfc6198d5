//! Send, reply, adopt, dismiss: the messages that carry text and values.

use passable::Untrusted;

use crate::command::{Fault, Reply, Send};
use crate::id::{FormulaId, MessageNumber, Number};
use crate::message::Body;
use crate::name::NamePath;
use crate::name_lookup::{NameContainer, PathTarget};
use crate::query;
use crate::state::{Gift, State};

use super::call::{number_of, recipient};
use super::edge_names::check_edges;

pub(super) fn send(state: &mut State<'_>, act: Send) -> Result<Reply, Fault> {
    let to = recipient(state, &act.to)?;
    let reply_to = act.reply_to.map(|number| state.letter(number).map(|letter| number_of(&letter.id)));
    package(state, &to, act.strings, act.names, act.paths, reply_to.transpose()?)
}

pub(super) fn reply(
    state: &mut State<'_>,
    number: MessageNumber,
    strings: Vec<Untrusted>,
    names: Vec<String>,
    paths: Vec<NamePath>,
) -> Result<Reply, Fault> {
    let letter = state.letter(number)?;
    let to = state.other_party(&letter)?;
    let said_by = match &letter.message.body {
        Body::Package { run, .. } => *run,
        _ => None,
    };
    let Some(run) = said_by else {
        return package(state, &to, strings, names, paths, Some(number_of(&letter.id)));
    };
    if !names.is_empty() {
        let what = "a run is told words and nothing else: what it asks for is given by `resolve`".to_owned();
        return Err(Fault::Misfit { what });
    }
    let text: String = strings.iter().map(Untrusted::raw).collect();
    let reply = package(state, &to, strings, names, paths, Some(number_of(&letter.id)))?;
    if let Reply::Sent { number } = reply {
        crate::commands::told(state, run, Untrusted::new(text), number)?;
    }
    Ok(reply)
}

fn package(
    state: &mut State<'_>,
    to: &FormulaId,
    strings: Vec<Untrusted>,
    names: Vec<String>,
    paths: Vec<NamePath>,
    reply_to: Option<Number>,
) -> Result<Reply, Fault> {
    check_edges(&names, paths.len())?;
    if strings.len() < names.len() {
        let what = format!(
            "Message must have at least as many strings as edge names, not {} and {}",
            strings.len(),
            names.len()
        );
        return Err(Fault::Misfit { what });
    }
    let source = Some(query::next_number(state.txn, &state.actor)?);
    let mut ids = Vec::new();
    for (name, path) in names.iter().zip(&paths) {
        let id = state.resolve(path)?;
        ids.push(state.give(&id, &Gift::plain(*to, name).because_of(source))?);
    }
    let mut provenance = state.said()?;
    for id in &ids {
        provenance = provenance.join(&state.provenance_of(id)?);
    }
    let number =
        state.send(to, Body::Package { strings, names, ids, run: None }, reply_to, false, provenance)?;
    Ok(Reply::Sent { number })
}

pub(super) fn send_value(
    state: &mut State<'_>,
    number: MessageNumber,
    path: &NamePath,
) -> Result<Reply, Fault> {
    let letter = state.letter(number)?;
    let to = state.other_party(&letter)?;
    let id = state.resolve(path)?;
    let source = Some(query::next_number(state.txn, &state.actor)?);
    let value = state.give(&id, &Gift::plain(to, "value").because_of(source))?;
    let provenance = state.said()?.join(&state.provenance_of(&value)?);
    let reply_to = Some(number_of(&letter.id));
    let number = state.send(&to, Body::Value { value }, reply_to, false, provenance)?;
    Ok(Reply::Sent { number })
}

pub(super) fn adopt(
    state: &mut State<'_>,
    number: MessageNumber,
    edge: &str,
    path: &NamePath,
) -> Result<Reply, Fault> {
    let letter = state.letter(number)?;
    let received = letter.message.to == state.self_agent()?.handle;
    let name = match (&letter.message.body, edge) {
        (Body::Value { .. }, "value") => "@value",
        (Body::Definition { .. }, "definition") => "@definition",
        _ => edge,
    };
    let hub = NameContainer::Message { number, id: letter.id, received };
    let unknown = || Fault::NoReference { number, edge: format!("{edge:?}") };
    let id = match state.view().entry(state.txn, &hub, name)?.ok_or_else(unknown)? {
        PathTarget::Formula(id) => id,
        PathTarget::Data(_) => return Err(unknown()),
    };
    let spot = state.spot(path, "storeIdentifier")?;
    let id = state.put(&spot, &id)?;
    Ok(Reply::Made { id })
}

pub(super) fn dismiss(state: &mut State<'_>, number: MessageNumber) -> Result<Reply, Fault> {
    let letter = state.letter(number)?;
    if letter.mail.needs_you {
        if let Body::Approval { .. }
        | Body::Release { .. }
        | Body::OutcomeUnknown { .. }
        | Body::MailQuota { .. }
        | Body::Budget { .. } = letter.message.body
        {
            let what = "answer it first: somebody waits for the answer";
            return Err(Fault::WrongKind { number, kind: "approval that is open".to_owned(), what });
        }
        // The asker is told that no answer will come.
        super::request::reject(state, number, Untrusted::new("dismissed without an answer"))?;
    }
    if let Body::MailQuota { sender, .. } = &letter.message.body {
        state.reopen_mail_quota(sender)?;
    }
    state.dismiss(number)?;
    Ok(Reply::Done)
}

pub(super) fn dismiss_all(state: &mut State<'_>) -> Result<Reply, Fault> {
    let actor = state.actor;
    let all = query::mailbox_entries(state.txn, &actor, None, usize::MAX)?;
    let mut count = 0;
    for letter in all.iter().filter(|letter| !letter.mail.needs_you) {
        state.dismiss(letter.number)?;
        count += 1;
    }
    Ok(Reply::Dismissed { count })
}
