//! The refusal of calls whose arguments nest too deep to be stored.

use model::{MalformedCall, Reply};
use serde_json::Value as Json;

/// The maximum nesting depth of a call's arguments. Deeper arguments could not be read back from the store.
const MAX_DEPTH: usize = 64;

/// Turns calls whose arguments nest too deep into malformed calls, which are reported to the model.
pub(crate) fn reject_deep_calls(reply: &mut Reply) {
    let calls = std::mem::take(&mut reply.calls);
    let (deep, fine): (Vec<_>, Vec<_>) =
        calls.into_iter().partition(|call| is_deeper(&call.arguments, MAX_DEPTH));
    reply.calls = fine;
    reply.malformed.extend(deep.into_iter().map(|call| MalformedCall {
        id: call.id,
        name: call.name,
        arguments: "(nested too deep to be kept)".to_owned(),
        reason: format!("the arguments nest deeper than {MAX_DEPTH}"),
    }));
}

fn is_deeper(json: &Json, limit: usize) -> bool {
    match (json, limit.checked_sub(1)) {
        (Json::Array(items), Some(left)) => items.iter().any(|item| is_deeper(item, left)),
        (Json::Object(fields), Some(left)) => fields.values().any(|value| is_deeper(value, left)),
        (Json::Array(_) | Json::Object(_), None) => true,
        _ => false,
    }
}
