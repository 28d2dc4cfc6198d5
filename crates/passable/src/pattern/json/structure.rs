//! The part of a pattern that decides how its values are written as JSON.

use crate::pattern::{Matcher, Pattern};
use crate::text::Text;
use crate::value::{Reference, Value};

/// Returns the more specific pattern for a kind of value, such as a set of anything for `copySet`, or `None`.
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

/// Returns the pattern that decides how the values of a pattern are written as JSON.
pub(crate) fn structural<C: Reference>(pattern: &Pattern<C>) -> Pattern<C> {
    match pattern.matcher() {
        Matcher::Kind(kind) => family(kind).unwrap_or_else(|| pattern.clone()),
        Matcher::Compare(_, Value::BigInt(_)) => Pattern::bigint(),
        _ => pattern.clone(),
    }
}

/// Returns whether a pattern leaves open how its values are written as JSON.
pub(crate) fn is_open<C: Reference>(pattern: &Pattern<C>) -> bool {
    match pattern.matcher() {
        Matcher::Any | Matcher::Key | Matcher::Scalar | Matcher::Pattern | Matcher::Negation(_) => true,
        Matcher::And(parts) => parts.iter().all(is_open),
        _ => false,
    }
}
