//! The parts of a message, by name.

use crate::command::Fault;
use crate::formula::Formula;
use crate::id::FormulaId;
use crate::message::{Body, Message};
use crate::proposal::Value;
use crate::table;
use crate::txn::ReadTxn;

use super::PathTarget;

/// Returns the names of the parts of a message. The names that begin with `@` come first.
pub(super) fn parts(message: &Message, received: bool) -> Vec<String> {
    let mut names = vec!["@date", "@from", "@message", "@to", "@type"];
    if message.reply_to.is_some() {
        names.push("@reply");
    }
    match &message.body {
        Body::Request { .. } => names.extend(["@description", "@promise", "@response"]),
        Body::Package { .. } => names.push("@strings"),
        Body::Definition { .. } => {
            names.extend(["@definition", "@promise", "@response", "@slots", "@source"]);
        }
        Body::EvalRequest { .. } => names.extend(["@promise", "@response", "@source"]),
        Body::Form { .. } => names.extend(["@description", "@fields", "@promise", "@response"]),
        Body::Value { .. } => names.push("@value"),
        Body::Approval { .. } | Body::OutcomeUnknown { .. } | Body::Budget { .. } => names.push("@run"),
        Body::MailQuota { .. } => {}
        Body::Release { .. } => names.extend(["@promise", "@value"]),
        Body::Command { made, .. } => {
            names.push("@description");
            if made.is_some() {
                names.push("@value");
            }
        }
    }
    // Only the recipient that was asked may answer.
    if received && message.body.asks().is_some() {
        names.push("@resolver");
    }
    let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    names.sort_unstable();
    match &message.body {
        Body::Package { names: edges, .. } => names.extend(edges.iter().cloned()),
        // The recipient only agrees to the use of these values; it gets none of them.
        Body::EvalRequest { names: edges, .. } if !received => names.extend(edges.iter().cloned()),
        _ => {}
    }
    names
}

/// Returns the formula that the sender held: the target, if the recipient got a grant.
fn held(txn: &mut dyn ReadTxn, given: &FormulaId) -> Result<FormulaId, Fault> {
    Ok(table::grant(txn, given)?.map_or(*given, |grant| grant.target))
}

pub(super) fn part(
    txn: &mut dyn ReadTxn,
    id: &FormulaId,
    message: &Message,
    received: bool,
    name: &str,
) -> Result<Option<PathTarget>, Fault> {
    if !parts(message, received).iter().any(|known| known == name) {
        return Ok(None);
    }
    let text = |text: &str| Some(PathTarget::Data(Value::string(text.to_owned())));
    let formula = |id: &FormulaId| Some(PathTarget::Formula(*id));
    let common = match name {
        "@from" => formula(&message.from),
        "@to" => formula(&message.to),
        "@date" => text(&crate::time::iso(message.sent_ms)),
        "@type" => text(message.body.kind()),
        "@message" => formula(id),
        "@reply" => message.reply_to.and_then(|number| text(&number.to_string())),
        "@promise" | "@response" => message.body.asks().and_then(|(promise, _)| formula(&promise)),
        "@resolver" => message.body.asks().and_then(|(_, resolver)| formula(&resolver)),
        _ => None,
    };
    if common.is_some() {
        return Ok(common);
    }
    Ok(match (&message.body, name) {
        (Body::Request { description, .. } | Body::Form { description, .. }, "@description") => {
            text(description.raw())
        }
        (Body::Command { text: said, .. }, "@description") => text(said.raw()),
        (Body::Package { strings, .. }, "@strings") => {
            Some(PathTarget::Data(Value::array(strings.iter().map(|s| Value::string(s.raw().to_owned())))))
        }
        (Body::Package { names, ids, .. } | Body::EvalRequest { names, ids, .. }, _) => {
            match names.iter().position(|edge| edge == name).and_then(|i| ids.get(i)) {
                Some(edge) if received => formula(edge),
                Some(edge) if matches!(message.body, Body::EvalRequest { .. }) => formula(edge),
                Some(edge) => Some(PathTarget::Formula(held(txn, edge)?)),
                None => match (&message.body, name) {
                    (Body::EvalRequest { source, .. }, "@source") => text(source.raw()),
                    _ => None,
                },
            }
        }
        (Body::Definition { definition, .. }, "@definition") => formula(definition),
        (Body::Definition { definition, .. }, "@source" | "@slots") => {
            let Some(Formula::Definition { source, slots, .. }) =
                table::formula(txn, definition)?.map(|row| row.formula)
            else {
                return Err(Fault::Dangling(*definition));
            };
            if name == "@source" {
                return Ok(text(source.raw()));
            }
            let record = slots.into_iter().map(|(name, slot)| {
                let label = Value::string(slot.label.raw().to_owned());
                let slot = [("label".to_owned(), label), ("pattern".to_owned(), slot.pattern)];
                (name, Value::record_from_map(slot.into()))
            });
            Some(PathTarget::Data(Value::record_from_map(record.collect())))
        }
        (Body::Form { fields, .. }, "@fields") => {
            Some(PathTarget::Data(Value::array(fields.iter().map(crate::message::Field::to_value))))
        }
        (Body::Value { value }, "@value") if received => formula(value),
        (Body::Value { value }, "@value") => Some(PathTarget::Formula(held(txn, value)?)),
        (Body::Release { result, promise, .. }, _) => match name {
            "@value" => formula(result),
            "@promise" => formula(promise),
            _ => None,
        },
        (
            Body::Approval { run, .. } | Body::OutcomeUnknown { run, .. } | Body::Budget { run, .. },
            "@run",
        ) => text(&run.to_string()),
        (Body::Command { made: Some(made), .. }, "@value") => formula(made),
        _ => None,
    })
}
