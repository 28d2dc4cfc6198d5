//! Calls to promises whose outcome is data. The error messages are those of Endo's `eventual-send`.

use passable::Value;

use crate::call::{Call, Name, Outcome, Ref};

/// Returns the outcome of a call to data.
pub(crate) fn answer(data: &Value<Ref>, call: &Call<Ref>) -> Outcome {
    match call {
        Call::Get(name) => get(data, name),
        Call::Apply(_) => Err(Value::error(
            "TypeError",
            format!("Cannot invoke target as a function; typeof target is {:?}", type_of(data)),
        )),
        Call::Method(name, _) => Err(Value::error("TypeError", no_method(data, name))),
    }
}

fn no_method(data: &Value<Ref>, name: &Name) -> String {
    let shown = name.shown();
    match data {
        Value::Undefined | Value::Null => {
            format!("Cannot deliver {shown} to target; typeof target is {:?}", type_of(data))
        }
        Value::Record(record) if property(record, name).is_some() => {
            let found = property(record, name).map_or("undefined", type_of);
            format!("invoked method {shown} is not a function; it is a {found:?}")
        }
        // Endo lists the methods that every array and text inherits. No caller means those, so the list here is
        // empty.
        _ => format!("target has no method {shown}, has []"),
    }
}

fn property<'a>(record: &'a passable::Record<Ref>, name: &Name) -> Option<&'a Value<Ref>> {
    match name {
        Name::Text(text) => record.get_text(text),
        Name::Symbol(_) => None,
    }
}

fn get(data: &Value<Ref>, name: &Name) -> Outcome {
    let found = match data {
        Value::Undefined | Value::Null => {
            // This is the message of a JavaScript engine.
            let what = type_of_null(data);
            let name = name.shown();
            let message = format!("Cannot read properties of {what} (reading {})", name.replace('"', "'"));
            return Err(Value::error("TypeError", message));
        }
        Value::Record(record) => property(record, name).cloned(),
        Value::Array(elements) => match name.as_str() {
            Some("length") => Some(Value::number(elements.len() as f64)),
            Some(index) => index
                .parse::<usize>()
                .ok()
                .filter(|number| number.to_string() == index)
                .and_then(|number| elements.get(number).cloned()),
            None => None,
        },
        Value::String(text) => match name.as_str() {
            Some("length") => Some(Value::number(text.utf16_len() as f64)),
            _ => None,
        },
        Value::Error(error) => match name.as_str() {
            Some("name") => Some(Value::string(error.name.clone())),
            Some("message") => Some(Value::string(error.message.clone())),
            _ => None,
        },
        Value::Tagged(tagged) => match name.as_str() {
            Some("payload") => Some(tagged.payload().clone()),
            _ => None,
        },
        _ => None,
    };
    Ok(found.unwrap_or(Value::Undefined))
}

fn type_of_null(data: &Value<Ref>) -> &'static str {
    if matches!(data, Value::Null) { "null" } else { "undefined" }
}

/// Returns the result of JavaScript's `typeof`, except that null gives "null".
fn type_of(data: &Value<Ref>) -> &'static str {
    match data {
        Value::Undefined => "undefined",
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::BigInt(_) => "bigint",
        Value::String(_) => "string",
        Value::Symbol(_) => "symbol",
        _ => "object",
    }
}
