//! Escapes of plain JSON inside the JSON of a pattern, and the capabilities that they name.

use serde_json::Value as Json;

use super::structure::{is_open, structural};
use crate::codec::error::Problem;
use crate::codec::plain;
use crate::pattern::mismatch::{Mismatch, found};
use crate::pattern::{Matcher, Pattern};
use crate::value::{NoRef, Reference, Value};

/// A function of the caller that resolves the text of a capability. The text stands where the pattern asks for a
/// capability, or in an escape of plain JSON.
///
/// If the function returns `None`, a text stays text and does not match, and an escape is rejected.
pub type Resolve<'a, C> = dyn FnMut(&Pattern<C>, &str) -> Option<Value<C>> + 'a;

/// The expectation that a mismatch names for an escape of a capability.
pub(super) const PICKED: &str = "the identifier of a capability that can be picked here";

/// Returns the class of an escape, or `None` if the JSON is no escape.
fn class(json: &Json) -> Option<&Json> {
    json.as_object()?.get("@qclass")
}

/// Returns whether JSON is an escape.
pub(super) fn is_escape(json: &Json) -> bool {
    class(json).is_some()
}

/// Returns the class and the text of an escape that stands for a capability, or `None` for any other JSON.
fn reference(json: &Json) -> Option<(&str, &str)> {
    let object = json.as_object()?;
    // The interface name is ignored, because it is only a claim. An object with any other field is no such escape.
    let odd = |(name, value): (&String, &Json)| match name.as_str() {
        "@qclass" | "ref" => false,
        "iface" => !value.is_string(),
        _ => true,
    };
    if object.iter().any(odd) {
        return None;
    }
    let class = object.get("@qclass")?.as_str().filter(|class| is_reference(class))?;
    Some((class, object.get("ref")?.as_str()?))
}

fn is_reference(class: &str) -> bool {
    class == plain::REMOTABLE || class == plain::PROMISE
}

/// Returns whether an escape of a capability occurs anywhere in JSON.
pub(super) fn has_references(json: &Json) -> bool {
    match json {
        Json::Array(elements) => elements.iter().any(has_references),
        Json::Object(fields) => {
            class(json).and_then(Json::as_str).is_some_and(is_reference)
                || fields.values().any(has_references)
        }
        _ => false,
    }
}

/// Reads plain JSON. Each capability is resolved with the pattern of any capability of its class.
pub(super) fn read_plain<C: Reference>(
    json: &Json,
    resolve: &mut Resolve<'_, C>,
) -> Result<Value<C>, Mismatch> {
    let mut refused = None;
    let read = plain::read_with(json, &mut |class, text, _| {
        let text = text.and_then(Json::as_str).unwrap_or_default();
        resolved(&anything(class), class, text, resolve).map_err(|mismatch| {
            refused = Some(mismatch);
            Problem::Reference("it stands for nothing that can be picked here".to_owned())
        })
    });
    read.map_err(|error| match refused {
        Some(mismatch) => mismatch,
        None => Mismatch::new(
            format!("cannot be read: {error}"),
            "plain JSON",
            format!("JSON that cannot be read ({})", error.problem),
        ),
    })
}

/// Returns the pattern of any capability of a class.
fn anything<C: Reference>(class: &str) -> Pattern<C> {
    if class == plain::PROMISE { Pattern::any_promise() } else { Pattern::any_remotable() }
}

/// Resolves the text of a capability. The text of a promise may now stand for the promise's result. The text of
/// anything else must not stand for a promise.
fn resolved<C: Reference>(
    pattern: &Pattern<C>,
    class: &str,
    text: &str,
    resolve: &mut Resolve<'_, C>,
) -> Result<Value<C>, Mismatch> {
    match resolve(pattern, text) {
        Some(value) if class == plain::PROMISE || !matches!(value, Value::Promise(_)) => Ok(value),
        _ => {
            let found = found(&Value::<NoRef>::string(text));
            Err(Mismatch::new("stands for nothing that can be picked here", PICKED, found))
        }
    }
}

/// Reads an escape. A capability is resolved with the part of the pattern that asks for a capability.
pub(super) fn read_escape<C: Reference>(
    pattern: &Pattern<C>,
    json: &Json,
    resolve: &mut Resolve<'_, C>,
) -> Result<Value<C>, Mismatch> {
    match reference(json) {
        Some((class, text)) => refer(pattern, class, text, resolve),
        None => read_plain(json, resolve),
    }
}

fn refer<C: Reference>(
    pattern: &Pattern<C>,
    class: &str,
    text: &str,
    resolve: &mut Resolve<'_, C>,
) -> Result<Value<C>, Mismatch> {
    let shape = structural(pattern);
    let parts: Vec<&Pattern<C>> = match shape.matcher() {
        Matcher::Remotable(_) | Matcher::Promise(_) => return resolved(&shape, class, text, resolve),
        Matcher::Kind(kind) if kind == "remotable" || kind == "promise" => {
            return resolved(&shape, class, text, resolve);
        }
        Matcher::Or(parts) => parts.iter().collect(),
        Matcher::And(parts) => parts.iter().filter(|part| !is_open(part)).collect(),
        _ => vec![],
    };
    let mut refused = None;
    let is_choice = matches!(shape.matcher(), Matcher::Or(_));
    for part in parts {
        match refer(part, class, text, resolve) {
            Ok(value) if if is_choice { part.matches(&value) } else { pattern.matches(&value) } => {
                return Ok(value);
            }
            Ok(_) => {}
            Err(mismatch) => refused = refused.or(Some(mismatch)),
        }
    }
    // If no part of the pattern asks for a capability, the check rejects the value later.
    refused.map_or_else(|| resolved(&anything(class), class, text, resolve), Err)
}
