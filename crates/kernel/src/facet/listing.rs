//! Messages as `listMessages` shows them.

use std::collections::BTreeMap;

use super::live::Live;
use super::locator::Locator;
use super::refusal::Refusal;
use crate::command::Fault;
use crate::formula::Formula;
use crate::id::{FormulaId, Number};
use crate::message::{Body, Field, Message};
use crate::proposal::Value;
use crate::query::{self, MailboxEntry};
use crate::table;
use crate::txn::ReadTxn;

/// Returns all messages of an agent's that were not dismissed, oldest first.
pub(super) fn messages(txn: &mut dyn ReadTxn, agent: &FormulaId) -> Result<passable::Value<Live>, Refusal> {
    let row = table::formula(txn, agent)?.ok_or(Fault::Dangling(*agent))?;
    let own = row.formula.agent().ok_or(Fault::Dangling(*agent))?.handle;
    let letters = query::mailbox_entries(txn, agent, None, usize::MAX)?;
    let all =
        letters.iter().map(|letter| message(txn, agent, &own, letter)).collect::<Result<Vec<_>, _>>()?;
    Ok(passable::Value::array(all))
}

/// The fields of one listed message.
struct Listed<'t> {
    txn: &'t mut dyn ReadTxn,
    fields: BTreeMap<String, passable::Value<Live>>,
}

impl Listed<'_> {
    fn put(&mut self, name: &str, value: Value) {
        self.fields.insert(name.to_owned(), value.map_references(&mut |id| Live::Formula(*id)));
    }

    /// Adds a field for a value that is still pending.
    fn promise(&mut self, name: &str, live: Live) {
        self.fields.insert(name.to_owned(), passable::Value::promise(live));
    }

    fn text(&mut self, name: &str, text: impl Into<String>) {
        self.put(name, Value::string(text.into()));
    }

    fn texts<'a>(&mut self, name: &str, texts: impl Iterator<Item = &'a str>) {
        self.put(name, Value::array(texts.map(|text| Value::string(text.to_owned()))));
    }

    fn locator(&mut self, id: &FormulaId) -> Result<Value, Refusal> {
        Ok(Value::string(Locator::from_formula(self.txn, id)?.to_string()))
    }

    fn locate(&mut self, name: &str, id: &FormulaId) -> Result<(), Refusal> {
        let locator = self.locator(id)?;
        self.put(name, locator);
        Ok(())
    }
}

pub(super) fn message(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    own: &FormulaId,
    letter: &MailboxEntry,
) -> Result<passable::Value<Live>, Refusal> {
    let (Some(message), Some(id)) = (&letter.message, letter.mail.message) else {
        return Ok(passable::Value::undefined());
    };
    let received = message.to == *own;
    let mut listed = Listed { txn, fields: BTreeMap::new() };
    listed.text("type", message.body.kind());
    listed.put("number", Value::bigint(letter.number.0));
    listed.text("date", crate::time::iso(message.sent_ms));
    listed.locate("from", &message.from)?;
    listed.locate("to", &message.to)?;
    listed.text("messageId", Number(id.number).to_string());
    if let Some(reply_to) = &message.reply_to {
        listed.text("replyTo", reply_to.to_string());
    }
    listed.promise("dismissed", Live::Dismissed { agent: *agent, number: letter.number });
    // A message can dismiss itself from the caller's mailbox.
    listed.put("dismisser", Value::remotable_alleged(id, "Alleged: EndoDismisser"));
    if let Some((promise, resolver)) = message.body.asks() {
        listed.locate("promiseId", &promise)?;
        listed.promise("settled", Live::Settled(promise));
        if received {
            listed.text("resolverId", resolver.to_string());
        }
    }
    body(&mut listed, message, received)?;
    Ok(passable::Value::record_from_map(listed.fields))
}

fn body(listed: &mut Listed<'_>, message: &Message, received: bool) -> Result<(), Refusal> {
    match &message.body {
        Body::Request { description, .. } => listed.text("description", description.raw()),
        Body::Package { strings, names, ids, .. } => {
            listed.texts("strings", strings.iter().map(|text| text.raw()));
            listed.texts("names", names.iter().map(String::as_str));
            let ids = ids.iter().map(|id| {
                // The sender sees the formulas that it held, not the grants that it gave.
                let sent = if received { None } else { table::grant(listed.txn, id)? };
                let id = sent.map_or(*id, |grant| grant.target);
                listed.locator(&id)
            });
            let ids = ids.collect::<Result<Vec<_>, Refusal>>()?;
            listed.put("ids", Value::array(ids));
        }
        Body::Definition { definition, .. } => {
            let formula = table::formula(listed.txn, definition)?.map(|row| row.formula);
            let Some(Formula::Definition { source, slots, worker, .. }) = formula else {
                return Err(Fault::Dangling(*definition).into());
            };
            listed.text("source", source.raw());
            if let Some(worker) = worker {
                listed.text("worker", worker.name);
            }
            let slots = slots.into_iter().map(|(name, slot)| {
                let label = Value::string(slot.label.raw().to_owned());
                let slot = [("label".to_owned(), label), ("pattern".to_owned(), slot.pattern)];
                (name, Value::record_from_map(slot.into()))
            });
            listed.put("slots", Value::record_from_map(slots.collect()));
        }
        Body::EvalRequest { source, names, ids, .. } => {
            listed.text("source", source.raw());
            listed.texts("codeNames", names.iter().map(String::as_str));
            let ids = ids.iter().map(|id| listed.locator(id)).collect::<Result<Vec<_>, _>>()?;
            listed.put("ids", Value::array(ids));
        }
        Body::Form { description, fields, repeatable, .. } => {
            listed.text("description", description.raw());
            listed.put("fields", Value::array(fields.iter().map(Field::to_value)));
            if *repeatable {
                listed.put("repeatable", Value::bool(true));
            }
        }
        Body::Value { value } => listed.text("valueId", value.to_string()),
        Body::Approval { run, .. } | Body::OutcomeUnknown { run, .. } | Body::Budget { run, .. } => {
            listed.text("run", run.to_string())
        }
        Body::MailQuota { sent, .. } => listed.text("messages", sent.messages.to_string()),
        Body::Release { gives, .. } => listed.texts("gives", gives.iter().map(String::as_str)),
        Body::Command { verb, text, .. } => {
            listed.text("verb", verb.clone());
            listed.text("description", text.raw());
        }
    }
    Ok(())
}
