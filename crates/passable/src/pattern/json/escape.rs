//! Escapes of plain JSON within JSON that a pattern shapes, and what they say of capabilities.

use serde_json::Value as Json;

use super::{Resolve, is_open, structural};
use crate::codec::error::Problem;
use crate::codec::plain;
use crate::pattern::mismatch::{Mismatch, found};
use crate::pattern::{Matcher, Pattern};
use crate::value::{NoRef, Reference, Value};

/// What is expected where an escape stands for a capability.
pub(super) const PICKED: &str = "the identifier of a capability that can be picked here";

/// The class of an escape.
fn class(json: &Json) -> Option<&Json> {
    json.as_object()?.get("@qclass")
}

/// Whether JSON is an escape.
pub(super) fn is_escape(json: &Json) -> bool {
    class(json).is_some()
}

/// The class and the text of an escape that stands for a capability.
fn reference(json: &Json) -> Option<(&str, &str)> {
    let object = json.as_object()?;
    // What it claims to be called says nothing; anything else is no such escape.
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

/// Whether a capability is said anywhere in JSON.
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

/// Reads plain JSON. What stands for a capability is resolved as one of which nothing more is asked.
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

/// The pattern of a capability of which nothing more is asked than what its escape says of it.
fn anything<C: Reference>(class: &str) -> Pattern<C> {
    if class == plain::PROMISE { Pattern::any_promise() } else { Pattern::any_remotable() }
}

/// What the caller says that a text stands for. A promise may have been kept since it was written down; nothing else
/// becomes one.
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

/// Reads an escape. One that stands for a capability is resolved by what the pattern asks of it there.
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
    // What asks for no capability at all says so when it is checked.
    refused.map_or_else(|| resolved(&anything(class), class, text, resolve), Err)
}
