//! Values as text for a terminal.

use kernel::{FormulaId, Value};
use passable::{ExactJson, Text};

use super::json;
use super::object_view::Reader;

/// Returns the result of a run in its own characters. Text is unchanged, and any other value is indented JSON. The
/// result is not escaped.
pub fn exact(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => format!("{:#}\n", ExactJson(&value.to_json())),
    }
}

/// Returns the result of a run for standard output. Text is unchanged, and must be escaped by the caller. Any other
/// value is indented JSON, escaped without loss: for a user all that is not plainly visible, and for a program only
/// characters that act on a terminal.
pub fn result(value: &Value, reader: Reader) -> String {
    match (value.as_str(), reader) {
        (Some(text), _) => text.to_owned(),
        (None, Reader::Person) => json::escaped(&exact(value)).into_owned(),
        (None, Reader::Program) => json::without_controls(&exact(value)).into_owned(),
    }
}

/// Returns a value as text for a list. Text is unchanged, a record with one field of text is that text, and any other
/// value is JSON in one line.
pub fn brief(value: &Value) -> String {
    if let Some(text) = value.as_str() {
        return text.to_owned();
    }
    let json = value.to_json();
    let fields = json.as_object().filter(|fields| fields.len() == 1);
    match fields.and_then(|fields| fields.values().next()?.as_str()) {
        Some(text) => text.to_owned(),
        None => ExactJson(&json).to_string(),
    }
}

/// Returns an argument as text for a card. Text is unchanged, and any other value is JSON.
pub fn argument(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => format!("{:#}", ExactJson(&value.to_json())),
    }
}

/// Returns a complete value in the syntax of code, over several lines if it has parts. A capability appears as the
/// text of `called` in special quotation marks. No text in the value can imitate them, since texts appear in quotes.
/// The result is not escaped for a terminal.
pub fn named(value: &Value, called: &dyn Fn(&FormulaId) -> String) -> String {
    let mut out = String::new();
    write(value, called, 0, &mut out);
    out
}

fn quoted(text: &Text) -> String {
    serde_json::to_string(&text.to_str_lossy()).unwrap_or_default()
}

fn write(value: &Value, called: &dyn Fn(&FormulaId) -> String, depth: usize, out: &mut String) {
    let mut parts = |open: &str, all: Vec<(Option<&Text>, &Value)>, close: &str| {
        out.push_str(open);
        for (at, (name, part)) in all.iter().enumerate() {
            out.push_str(if at == 0 { "\n" } else { ",\n" });
            out.push_str(&"  ".repeat(depth + 1));
            if let Some(name) = name {
                out.push_str(&quoted(name));
                out.push_str(": ");
            }
            write(part, called, depth + 1, out);
        }
        if !all.is_empty() {
            out.push('\n');
            out.push_str(&"  ".repeat(depth));
        }
        out.push_str(close);
    };
    match value {
        Value::Array(array) => parts("[", array.iter().map(|part| (None, part)).collect(), "]"),
        Value::Record(record) => {
            parts("{", record.iter().map(|(name, part)| (Some(name), part)).collect(), "}");
        }
        Value::Tagged(tagged) => {
            parts(&format!("tagged {} (", quoted(tagged.tag())), vec![(None, tagged.payload())], ")");
        }
        Value::Remotable(remote) => out.push_str(&format!("‹{}›", called(&remote.reference))),
        Value::Promise(remote) => out.push_str(&format!("‹promise {}›", called(&remote.reference))),
        Value::Undefined => out.push_str("undefined"),
        Value::BigInt(number) => out.push_str(&format!("{number}n")),
        Value::Number(number) if !number.is_finite() => {
            out.push_str(&number.to_string().replace("inf", "Infinity"))
        }
        Value::String(text) => out.push_str(&quoted(text)),
        Value::Error(error) => out.push_str(&format!("error {}", quoted(&error.message))),
        other => out.push_str(&serde_json::to_string(&other.to_json()).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_value_cannot_forge_capability_marks() {
        let id = FormulaId { number: [7; 32], node: [0; 32] };
        let record = |fields: Vec<(&str, Value)>| Value::record(fields).unwrap();
        for (value, expected) in [
            (Value::string("‹1: counter›"), "\"‹1: counter›\""),
            (Value::remotable(id), "‹1: counter›"),
            (Value::promise(id), "‹promise 1: counter›"),
            (
                record(vec![("c", Value::remotable(id)), ("n", Value::from_json(&1.into()).unwrap())]),
                "{\n  \"c\": ‹1: counter›,\n  \"n\": 1\n}",
            ),
            (record(vec![("\",\n‹2›", Value::Undefined)]), "{\n  \"\\\",\\n‹2›\": undefined\n}"),
            (Value::array([Value::Null, Value::array([])]), "[\n  null,\n  []\n]"),
            (Value::from_json(&serde_json::json!({ "@qclass": "bigint", "digits": "3" })).unwrap(), "3n"),
        ] {
            assert_eq!(named(&value, &|_| "1: counter".to_owned()), expected);
        }
    }
}
