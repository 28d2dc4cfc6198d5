//! The assembly of calls from pieces, whatever ids the server uses.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::error::ModelError;
use crate::reply::{MalformedCall, Reply};
use crate::request::Call;

/// The maximum number of calls in one reply.
const MAX_CALLS: usize = 256;

/// A call of which some pieces may still be missing.
#[derive(Debug, Default)]
pub(crate) struct PartialCall {
    /// The number under which the pieces of the call come.
    pub(crate) index: u64,
    /// The id that the server gave to the call, or an empty text.
    pub(crate) id: String,
    /// The name of the tool.
    pub(crate) name: String,
    /// The arguments as text.
    pub(crate) arguments: String,
    /// Opaque data that the server wants back with the call.
    pub(crate) signature: Option<String>,
}

/// The calls of one reply.
#[derive(Debug, Default)]
pub(crate) struct Calls(pub(crate) Vec<PartialCall>);

impl Calls {
    /// Adds a call.
    pub(crate) fn push(&mut self, call: PartialCall) -> Result<(), ModelError> {
        if self.0.len() == MAX_CALLS {
            return Err(ModelError::Malformed { what: format!("more than {MAX_CALLS} calls in one reply") });
        }
        self.0.push(call);
        Ok(())
    }

    /// Returns the call whose pieces come under a number. If the server used the number twice, the last such call is
    /// returned.
    pub(crate) fn at(&mut self, index: u64) -> Option<&mut PartialCall> {
        self.0.iter_mut().rev().find(|call| call.index == index)
    }

    /// Puts the collected calls into the reply. A call without an id gets one, and `turn` makes the id unique within
    /// the conversation.
    pub(crate) fn put(self, turn: usize, reply: &mut Reply) {
        let mut ids = BTreeSet::new();
        for (i, call) in self.0.into_iter().enumerate() {
            // Each call needs an id of its own, so that results are not confused.
            let id = match call.id {
                id if !id.is_empty() && ids.insert(id.clone()) => id,
                _ => format!("call_{turn}_{i}"),
            };
            let name = call.name;
            let text = call.arguments.trim();
            let parsed = if text.is_empty() { Ok(json!({})) } else { serde_json::from_str(text) };
            match parsed {
                Ok(arguments) => reply.calls.push(Call { id, name, arguments, signature: call.signature }),
                Err(e) => {
                    let (arguments, reason) = (call.arguments, e.to_string());
                    reply.malformed.push(MalformedCall { id, name, arguments, reason });
                }
            }
        }
    }
}

/// Returns arguments that came as JSON as a text. A string already is the text, because most servers write arguments
/// like that.
pub(crate) fn as_text(arguments: Value) -> String {
    match arguments {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Returns arguments for protocols in which they are always an object. A model's arguments of another type are
/// wrapped in one.
pub(crate) fn as_object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        other => json!({ "arguments": other }),
    }
}

/// Returns a name or id for protocols that accept only letters, digits, `_` and `-`. Every other character, from a
/// model or another server, becomes `_`, and a long name is cut.
pub(crate) fn plain(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .take(64)
        .collect();
    if plain.is_empty() { "unnamed".to_owned() } else { plain }
}
