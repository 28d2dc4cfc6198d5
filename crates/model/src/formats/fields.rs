//! The lenient reading of the fields of an answer. A field of an unexpected type is read as well as it can be.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Words that some servers write where others write `null`.
const NO_WORDS: [&str; 3] = ["null", "none", "undefined"];

/// The largest count that is believed. A larger one is no count of tokens.
const MAX_COUNT: f64 = 9e15;

/// Returns a field, or `None` if it is missing or null.
pub(super) fn given<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).filter(|field| !field.is_null())
}

/// Returns the first of several fields that is given. Servers disagree on the spelling of some names.
pub(super) fn first<'a>(value: &'a Value, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| given(value, name))
}

/// Returns the items of a list. A single object stands for a list of one.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    match value.get(name) {
        Some(Value::Array(items)) => items,
        Some(single @ Value::Object(_)) => std::slice::from_ref(single),
        _ => &[],
    }
}

/// Returns a word, such as a reason or a name, or `None` if it is missing, null or empty. An object stands for the
/// word in its `reason` or `type`.
pub(super) fn word<'a>(value: &'a Value, name: &str) -> Option<Cow<'a, str>> {
    match given(value, name)? {
        Value::String(text) => {
            let text = text.trim();
            let is_none = text.is_empty() || NO_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
            (!is_none).then_some(Cow::Borrowed(text))
        }
        object @ Value::Object(_) => word(object, "reason").or_else(|| word(object, "type")),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}

/// Returns a text as it is, blanks included. A number or a truth value is spelt out.
pub(super) fn text(value: &Value, name: &str) -> Option<String> {
    match given(value, name)? {
        Value::String(text) => Some(text.clone()),
        simple @ (Value::Number(_) | Value::Bool(_)) => Some(simple.to_string()),
        _ => None,
    }
}

/// Returns a count of tokens or the number of a call. A value that cannot be read as one is no count.
pub(super) fn count(value: &Value, name: &str) -> Option<u64> {
    let float = |number: f64| (0.0..=MAX_COUNT).contains(&number).then_some(number as u64);
    match given(value, name)? {
        Value::Number(number) => number.as_u64().or_else(|| float(number.as_f64()?)),
        Value::String(text) => {
            let text = text.trim();
            text.parse().ok().or_else(|| float(text.parse().ok()?))
        }
        _ => None,
    }
}

/// Returns whether a field says yes.
pub(super) fn is_true(value: &Value, name: &str) -> bool {
    match value.get(name) {
        Some(Value::Bool(yes)) => *yes,
        Some(Value::String(text)) => text.trim().eq_ignore_ascii_case("true"),
        Some(Value::Number(number)) => number.as_u64() == Some(1),
        _ => false,
    }
}

/// The content of a message: a text, or a list of parts of which some are no text.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// The text of the answer.
    pub(super) text: String,
    /// The words with which the model declines to answer.
    pub(super) refusal: String,
    /// The number of bytes of thinking, which is no part of the answer.
    pub(super) thinking: u64,
}

impl Content {
    /// Reads a content. An object or a list that holds no parts is the answer in the requested form, which the server
    /// has parsed already.
    pub(super) fn of(value: Option<&Value>) -> Self {
        let mut content = Self::default();
        match value {
            None => {}
            Some(whole @ Value::Object(fields)) if !is_part(fields) => content.text = whole.to_string(),
            Some(whole @ Value::Array(items)) if !items.is_empty() && items.iter().all(is_no_part) => {
                content.text = whole.to_string();
            }
            Some(value) => content.add(value),
        }
        content
    }

    /// Reads a part of a content.
    pub(super) fn of_part(part: &Value) -> Self {
        let mut content = Self::default();
        content.add(part);
        content
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Null => {}
            Value::String(text) => self.text.push_str(text),
            Value::Number(_) | Value::Bool(_) => self.text.push_str(&value.to_string()),
            Value::Array(parts) => parts.iter().for_each(|part| self.add(part)),
            Value::Object(_) => self.add_part(value),
        }
    }

    fn add_part(&mut self, part: &Value) {
        let kind = word(part, "type").unwrap_or_default().to_ascii_lowercase();
        let is_thinking = ["thinking", "reasoning", "thought"].iter().any(|word| kind.contains(word));
        if is_thinking || is_true(part, "thought") {
            self.thinking = self.thinking.saturating_add(part.to_string().len() as u64);
        } else if let Some(refusal) = text(part, "refusal") {
            self.refusal.push_str(&refusal);
        } else if let Some(inner) = first(part, &["text", "value", "parts", "content"]) {
            self.add(inner);
        }
    }
}

/// Returns whether an object has a type, or no other fields than a part has.
fn is_part(fields: &Map<String, Value>) -> bool {
    fields.contains_key("type") || fields.keys().all(|key| PART_FIELDS.contains(&key.as_str()))
}

/// Returns whether an item of a list is an object without anything that makes it a part of a content.
fn is_no_part(item: &Value) -> bool {
    item.as_object().is_some_and(|fields| !fields.contains_key("type") && !fields.contains_key("text"))
}

/// The fields of a part of a content.
const PART_FIELDS: [&str; 8] =
    ["text", "value", "parts", "content", "role", "annotations", "logprobs", "thought"];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_are_read_from_any_number() {
        for (given, expected) in [
            (json!(12), Some(12)),
            (json!(12.0), Some(12)),
            (json!("12"), Some(12)),
            (json!(" 12.0 "), Some(12)),
            (json!(-1), None),
            (json!(-1.5), None),
            (json!("many"), None),
            (json!(1e300), None),
            (json!([1]), None),
            (json!(true), None),
            (json!(null), None),
            (json!(u64::MAX), Some(u64::MAX)),
        ] {
            assert_eq!(count(&json!({ "n": given }), "n"), expected, "{given}");
        }
    }

    #[test]
    fn words_that_mean_null_are_none() {
        for given in [json!(""), json!("  "), json!("null"), json!("None"), json!(null), json!([]), json!({})]
        {
            assert_eq!(word(&json!({ "w": given }), "w"), None, "{given}");
        }
        for given in [json!("stop"), json!(" stop "), json!({"type": "stop"}), json!({"reason": "stop"})] {
            assert_eq!(word(&json!({ "w": given }), "w").as_deref(), Some("stop"), "{given}");
        }
    }

    #[test]
    fn content_is_read_in_every_shape() {
        for (given, expected) in [
            (json!("a"), "a"),
            (json!(null), ""),
            (json!(7), "7"),
            (json!(["a", "b"]), "ab"),
            (json!([{"type": "text", "text": "a"}, {"text": "b"}]), "ab"),
            (json!({"type": "text", "text": {"value": "a", "annotations": []}}), "a"),
            (json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, "a"]), "a"),
            (json!([{"type": "reasoning.text", "text": "hm"}, {"thought": true, "text": "hm"}]), ""),
            (json!([{"type": "reference", "reference_ids": [1]}, {"type": "text", "text": "a"}]), "a"),
            (json!({"parts": [{"text": "a"}]}), "a"),
            (json!([{"text": "a", "thoughtSignature": "s"}]), "a"),
            (json!({"text": "a", "pages": 2}), r#"{"text":"a","pages":2}"#),
            (json!([{"pages": 2}, {"pages": 3}]), r#"[{"pages":2},{"pages":3}]"#),
        ] {
            assert_eq!(Content::of(Some(&given)).text, expected, "{given}");
        }
        let refused = json!([{"type": "refusal", "refusal": "No."}]);
        assert_eq!(Content::of(Some(&refused)).refusal, "No.");
    }
}
