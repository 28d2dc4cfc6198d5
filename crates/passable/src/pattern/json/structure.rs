//! How much a pattern says about the JSON of its values.

use crate::pattern::{Matcher, Pattern};
use crate::text::Text;
use crate::value::{Reference, Value};

/// Returns the kinds that stand for whole families of values, as the patterns that say more.
fn family<C: Reference>(kind: &Text) -> Option<Pattern<C>> {
    Some(match kind.as_str()? {
        "bigint" => Pattern::bigint(),
        "symbol" => Pattern::symbol(),
        "byteArray" => Pattern::bytes(),
        "copyArray" => Pattern::array(),
        "copyRecord" => Pattern::any_record(),
        "copySet" => Pattern::set_of(Pattern::any()),
        "copyBag" => Pattern::bag_of(Pattern::any(), Pattern::any()),
        "copyMap" => Pattern::map_of(Pattern::any(), Pattern::any()),
        _ => return None,
    })
}

/// Returns the matcher that says how a pattern's values are written as JSON.
pub(crate) fn structural<C: Reference>(pattern: &Pattern<C>) -> Pattern<C> {
    match pattern.matcher() {
        Matcher::Kind(kind) => family(kind).unwrap_or_else(|| pattern.clone()),
        Matcher::Compare(_, Value::BigInt(_)) => Pattern::bigint(),
        _ => pattern.clone(),
    }
}

/// Returns whether a pattern says nothing about how its values are written as JSON.
pub(crate) fn is_open<C: Reference>(pattern: &Pattern<C>) -> bool {
    match pattern.matcher() {
        Matcher::Any | Matcher::Key | Matcher::Scalar | Matcher::Pattern | Matcher::Negation(_) => true,
        Matcher::And(parts) => parts.iter().all(is_open),
        _ => false,
    }
}
