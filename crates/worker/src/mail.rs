//! Mail from a run to its person: a notice, a request for a capability or a value, or proposed code. A request or
//! proposal is a message in the inbox, and the run waits for the answer without a time limit.

use std::collections::BTreeMap;

use kernel::command::{Move, Writing};
use kernel::proposal::Finding;
use kernel::run::{Completion, Trouble};
use kernel::slot::Slot;
use kernel::started_effect::StartedEffect;
use kernel::{Interface, Method, Param, Pattern, Value};
use passable::{Effect, Limit, Limits, Untrusted, visible_line};
use policy::Facts;

use crate::definition::{self, OWN_TOOLS};
use crate::slot_binding::Slots;
use crate::trouble::internal;

/// The maximum length of a notice or a description, in characters.
const MAX_LEN: f64 = 4_000.0;

/// The maximum length of proposed code, in characters.
const MAX_CODE_LEN: f64 = 65_536.0;

/// Returns the interface of a mail slot.
pub(crate) fn interface() -> Interface {
    let text = |most: f64| Pattern::string_within(Limits::from_pairs([(Limit::StringLength, most)]));
    let send =
        Method::new("send", Effect::Observe, "Tells the user something. It does not wait for a reply.")
            .param(Param::required("text", text(MAX_LEN), "what the user should know, in plain words"))
            .returns(Pattern::string());
    let request = Method::new(
        "request",
        Effect::Observe,
        "Asks the user for a thing that you do not have: a value, or something to work with, such as a directory. Waits \
         for the answer. A value is told as `value`. Anything else becomes a slot of yours with the name that you propose, \
         whose tools you have from your next turn on.",
    )
    .param(Param::required("description", text(MAX_LEN), "what you need and what for"))
    .param(Param::required("name", text(32.0), "the name for it: letters, digits and `_`"))
    .returns(Pattern::any_record());
    let define = Method::new(
        "define",
        Effect::Observe,
        "Proposes code in JavaScript. The user reads it, fills its slots and lets it run, or refuses. Waits, and tells as \
         `result` what the code comes to, if that is data.",
    )
    .param(Param::required(
        "source",
        text(MAX_CODE_LEN),
        "one expression; what fills a slot stands under its name, and is called like `E(slot).method(…)`",
    ))
    .param(Param::optional(
        "slots",
        Pattern::any_record(),
        "by name what each slot takes: `dir`, `string`, `1..5`, or `{ pattern, label }`",
    ))
    .param(Param::optional("description", text(MAX_LEN), "what the code is for"))
    .returns(Pattern::any_record());
    Interface::new("Mail", "mail to the user").with(send).with(request).with(define)
}

/// Returns the facts about a call that the gates check before the call is made.
pub(crate) fn facts(slots: &Slots, method: &str, args: &[Value]) -> Facts {
    let shown = visible_line(text(args, 0));
    let line = match method {
        "send" => format!("tells you: {shown}"),
        "request" => format!("asks you for: {shown}"),
        _ => format!("proposes code to you ({} bytes)", text(args, 0).len()),
    };
    let problems = match writing(slots, method, args) {
        Ok(_) => vec![],
        Err(problem) => vec![*problem],
    };
    Facts { line, problems, ..Facts::default() }
}

/// Returns the move that writes the message of a begun call, or refuses the call.
pub(crate) fn message_move(slots: &Slots, begun: &StartedEffect) -> Result<Move, Trouble> {
    let call = begun.proposal();
    let proposal = begun.step().step;
    if call.args.first().and_then(Value::as_str).is_none() {
        return Err(internal("a message has no text"));
    }
    Ok(match writing(slots, &call.method, &call.args) {
        Ok(writing) => Move::Write { proposal, writing },
        // For example, another call of the same turn may have taken the name.
        Err(problem) => Move::Complete { proposal, completion: Completion::Refused(vec![*problem]) },
    })
}

/// Returns whether a method asks the person for something, and waits for the answer.
pub(crate) fn asks(method: &str) -> bool {
    method != "send"
}

fn text(args: &[Value], index: usize) -> &str {
    args.get(index).and_then(Value::as_str).unwrap_or_default()
}

fn writing(slots: &Slots, method: &str, args: &[Value]) -> Result<Writing, Box<Finding>> {
    if text(args, 0).trim().is_empty() {
        let finding = Finding::new("mail/empty", "there is nothing to read in it");
        return Err(Box::new(finding.allowed("words for the user")));
    }
    let first = Untrusted::new(text(args, 0));
    Ok(match method {
        "send" => Writing::Say { text: first },
        "request" => {
            let slot = text(args, 1).to_owned();
            check_name(slots, &slot)?;
            Writing::Request { description: first, slot }
        }
        _ => {
            if text(args, 0).trim_start().starts_with("---") {
                let message = "this is the file of a worker, and no code";
                let finding = Finding::new("define/source", message).at("source");
                return Err(Box::new(finding.allowed("an expression in JavaScript")));
            }
            Writing::Define {
                source: first,
                slots: code_slots(args.get(1))?,
                description: Untrusted::new(text(args, 2)),
            }
        }
    })
}

/// Refuses a text that cannot be a slot's name, and a name that would give the model two tools with the same name.
fn check_name(slots: &Slots, name: &str) -> Result<(), Box<Finding>> {
    let refuse = |message: String, allowed: &str| {
        Err(Box::new(Finding::new("mail/name", message).at("name").allowed(allowed.to_owned())))
    };
    if !definition::is_identifier(name) || OWN_TOOLS.contains(&name) {
        let message = format!("`{}` cannot be the name of a slot", visible_line(name));
        return refuse(message, "a letter, then at most 31 letters, digits and `_`");
    }
    let meets = |one: &str, other: &str| {
        one == other || one.strip_prefix(other).is_some_and(|rest| rest.starts_with('_'))
    };
    let tools = slots.tools();
    let mut taken = slots.all().map(|(slot, _)| slot).chain(tools.iter().map(|tool| tool.name.as_str()));
    if taken.any(|taken| meets(taken, name) || meets(name, taken)) {
        return refuse(format!("there is a slot or a tool `{name}` already, or one like it"), "another name");
    }
    Ok(())
}

/// Returns the slots of proposed code, by name.
fn code_slots(given: Option<&Value>) -> Result<BTreeMap<String, Slot>, Box<Finding>> {
    let wrong = |message: String, allowed: &str| {
        Box::new(Finding::new("define/slots", message).at("slots").allowed(allowed.to_owned()))
    };
    let Some(record) = given.filter(|given| given.as_record().is_some_and(|all| all.iter().next().is_some()))
    else {
        return Ok(BTreeMap::new());
    };
    let (fields, problems) = definition::parse_fields(&record.to_json().to_string());
    if let Some(problem) = problems.first() {
        let help = problem.help.clone().unwrap_or_else(|| "a record of patterns by name".to_owned());
        return Err(wrong(problem.message.clone(), &help));
    }
    let mut all = BTreeMap::new();
    for field in fields {
        if !definition::is_identifier(&field.name) {
            let message = format!("`{}` cannot be the name of a slot", visible_line(&field.name));
            return Err(wrong(message, "a letter, then at most 31 letters, digits and `_`"));
        }
        if field.secret || field.default.is_some() || field.example.is_some() {
            let message = format!("the slot `{}` has more than a pattern and a label", field.name);
            return Err(wrong(message, "`{ pattern, label }`"));
        }
        let label = Untrusted::new(field.label.unwrap_or_default());
        all.insert(field.name, Slot { label, pattern: field.pattern.to_value() });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_slots_accept_patterns_and_refuse_other_values() {
        let of = |json: &str| {
            let record = Value::from_json(&serde_json::from_str(json).unwrap()).unwrap();
            code_slots(Some(&record))
                .map(|slots| slots.into_keys().collect::<Vec<_>>())
                .map_err(|f| f.message)
        };
        assert_eq!(of("{}"), Ok(vec![]));
        assert_eq!(
            of(r#"{"out": "dir rw", "n": {"pattern": "1..5", "label": "How many"}}"#),
            Ok(vec!["n".to_owned(), "out".to_owned()])
        );
        for wrong in [
            r#"{"a": "strin g("}"#,
            r#"{"a b": "string"}"#,
            r#"{"k": {"pattern": "string", "secret": true}}"#,
            r#"{"k": {"pattern": "string", "default": "x"}}"#,
        ] {
            assert!(of(wrong).is_err(), "{wrong}: {:?}", of(wrong));
        }
    }
}
