//! Form and submit: an agent asks for a record, and another agent fills in the form.

use std::collections::BTreeMap;

use passable::{Label, Mismatch, Text};

use crate::command::{Fault, FieldValue, Form, Reply};
use crate::formula::Formula;
use crate::id::{FormulaId, MessageNumber};
use crate::message::{Answer, Body, Field};
use crate::proposal::Value;
use crate::slot::Requirement;
use crate::state::{Gift, State};
use crate::table::PromiseRow;

use super::call::{Call, ask, asker, attach, number_of, recipient, wrong_kind};
use super::field_check::settle_fields;
use super::request::as_value;
use super::slot_check::{expect_kind, kind_misfit, pattern};

pub(super) fn form(state: &mut State<'_>, mut act: Form) -> Result<Reply, Fault> {
    let mut call = Call::of("form");
    call.data(&(&act.to, &act.fields, act.repeatable))?;
    call.part(act.description.raw().as_bytes());
    if let Some(reply) = attach(state, act.result_name.as_ref(), &call)? {
        return Ok(reply);
    }
    settle_fields(&mut act.fields)?;
    let to = recipient(state, &act.to)?;
    let Form { description, fields, repeatable, result_name, .. } = act;
    ask(state, &to, &call, result_name.as_ref(), |promise, resolver| Body::Form {
        description,
        fields,
        promise,
        resolver,
        repeatable,
        run: None,
    })
}

pub(super) fn submit(
    state: &mut State<'_>,
    number: MessageNumber,
    mut values: BTreeMap<String, FieldValue>,
) -> Result<Reply, Fault> {
    let mut letter = state.received(number, "only who was asked can fill it in")?;
    let Body::Form { fields, promise, repeatable, .. } = letter.message.body.clone() else {
        return Err(wrong_kind(number, &letter.message.body, "only a form is filled in"));
    };
    match letter.mail.answers.get(&0) {
        Some(Answer::Denied { .. }) => return Ok(Reply::AlreadySettled),
        Some(_) if !repeatable && !planted!(state.env, SecondSubmit) => return Ok(Reply::AlreadySettled),
        _ => {}
    }
    if let Some(unknown) = values.keys().find(|name| !fields.iter().any(|field| field.name == **name)) {
        return Err(Fault::Misfit { what: format!("there is no field {unknown:?}") });
    }
    let to = asker(state, &promise)?;
    let mut record = BTreeMap::new();
    for field in &fields {
        let value = fill(state, field, values.remove(&field.name), to, number)?;
        record.insert(field.name.clone(), value);
    }
    let record = Value::record_from_map(record);
    let provenance = state.said()?;
    state.settle_with(&promise, PromiseRow::Fulfilled { value: record.clone() })?;
    let value = state.make(Formula::Marshal { value: record }, provenance.clone())?;
    let reply_to = Some(number_of(&letter.id));
    let sent = state.send(&to, Body::Value { value }, reply_to, false, provenance)?;
    let at_ms = state.env.now_ms();
    state.mark_answered(&mut letter, Answer::Approved { for_run: false, at_ms })?;
    Ok(Reply::Sent { number: sent })
}

/// Returns the value of one field, in the form in which the asker receives it.
fn fill(
    state: &mut State<'_>,
    field: &Field,
    filled: Option<FieldValue>,
    to: FormulaId,
    number: MessageNumber,
) -> Result<Value, Fault> {
    let named = format!("field {:?}", field.name);
    let pattern = pattern(&field.pattern, &field.name)?;
    let gift = Gift::plain(to, &field.name).because_of(Some(number));
    let filled = match (filled, &field.default) {
        (Some(filled), _) => filled,
        (None, Some(default)) => FieldValue::Value { value: default.clone() },
        // A field that may be absent is left out if no value is given.
        (None, None) if pattern.matches(&Value::Undefined) => return Ok(Value::Undefined),
        (None, None) => return Err(Fault::Misfit { what: format!("{named} is missing") }),
    };
    match filled {
        FieldValue::Sealed { sealed } if field.secret => {
            let said = state.said()?;
            let secret = state.make(Formula::Secret { sealed }, said)?;
            Ok(Value::remotable(state.give(&secret, &gift)?))
        }
        FieldValue::Sealed { .. } => {
            Err(Fault::Misfit { what: format!("{named} is not secret, and was sealed") })
        }
        _ if field.secret => Err(Fault::Misfit { what: format!("{named} is secret, and was not sealed") }),
        FieldValue::Value { value } => {
            for id in value.references() {
                state.expect_held(id)?;
            }
            check_capabilities(state, &pattern, &named, &value)?;
            state.give_value(&value, &gift)
        }
        FieldValue::Name { path } => {
            let id = state.resolve(&path)?;
            let want = Requirement::from_pattern(&pattern);
            if want != Requirement::Pattern {
                expect_kind(state, &named, &want, &id)?;
            }
            let value = as_value(state, &id, &gift)?;
            check(&pattern, &named, value)
        }
    }
}

/// Checks a value against a pattern. Each capability in the value must lead to a formula of the kind that the pattern
/// wants there.
fn check_capabilities(
    state: &mut State<'_>,
    pattern: &crate::Pattern,
    named: &str,
    value: &Value,
) -> Result<(), Fault> {
    let mut fault = None;
    let mut takes = |part: &crate::Pattern, id: &FormulaId| {
        let want = Requirement::from_pattern(part);
        let found = match kind_misfit(state, &want, id) {
            Ok(found) => found,
            Err(error) => {
                fault = Some(error);
                return Err(Mismatch::new("cannot be read", want.describe(), "nothing"));
            }
        };
        match found {
            None => Ok(()),
            Some(found) => {
                Err(Mismatch::new(format!("wants {}, not {found}", want.describe()), want.describe(), found))
            }
        }
    };
    let checked = pattern.check_capabilities(value, &mut takes);
    match (fault, checked) {
        (Some(fault), _) => Err(fault),
        (None, Ok(())) => Ok(()),
        (None, Err(mismatch)) => {
            let mismatch = mismatch.within(Label::name(&Text::from(named)));
            Err(Fault::Misfit { what: mismatch.to_string() })
        }
    }
}

fn check(pattern: &crate::Pattern, named: &str, value: Value) -> Result<Value, Fault> {
    match pattern.check_named(named, &value) {
        Ok(()) => Ok(value),
        Err(mismatch) => Err(Fault::Misfit { what: mismatch.to_string() }),
    }
}
