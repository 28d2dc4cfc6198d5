//! Tests of whether two patterns can match the same value, for the cases that are easily seen.

use crate::pattern::{Matcher, Pattern};
use crate::value::Reference;

/// Returns whether the first pattern consists of literals that all match the second pattern.
pub(super) fn implies<C: Reference>(first: &Pattern<C>, second: &Pattern<C>) -> bool {
    match first.matcher() {
        Matcher::Literal(value) => second.matches(value),
        Matcher::Or(parts) => !parts.is_empty() && parts.iter().all(|part| implies(part, second)),
        _ => false,
    }
}

/// Returns the JSON type of all values that match. Returns `None` if they have several types, or are read as
/// something else than the JSON.
fn json_type<C: Reference>(pattern: &Pattern<C>) -> Option<&'static str> {
    Some(match pattern.matcher() {
        Matcher::Kind(kind) => match kind.as_str()? {
            "boolean" => "boolean",
            "number" => "number",
            "undefined" => "undefined",
            _ => return None,
        },
        Matcher::String(_) => "string",
        Matcher::Array(_) | Matcher::ArrayOf(..) | Matcher::SplitArray(_) => "array",
        Matcher::Record(_) | Matcher::RecordOf(..) | Matcher::SplitRecord(_) => "object",
        Matcher::And(parts) => return parts.iter().find_map(json_type),
        _ => return None,
    })
}

/// Returns the pattern of a required field, or `None` if the field is not required.
fn required<'a, C: Reference>(pattern: &'a Pattern<C>, at: &crate::Text) -> Option<&'a Pattern<C>> {
    let fields = match pattern.matcher() {
        Matcher::Record(fields) => fields,
        Matcher::SplitRecord(split) => &split.required,
        _ => return None,
    };
    fields.iter().find(|(name, _)| name == at).map(|(_, part)| part)
}

/// Returns whether surely no value matches both patterns.
pub(super) fn apart<C: Reference>(one: &Pattern<C>, other: &Pattern<C>) -> bool {
    match (one.matcher(), other.matcher()) {
        (Matcher::Or(parts), _) => return parts.iter().all(|part| apart(part, other)),
        (_, Matcher::Or(parts)) => return parts.iter().all(|part| apart(one, part)),
        (Matcher::Literal(one), Matcher::Literal(other)) => return one != other,
        (Matcher::Literal(value), _) => return json_type(other).is_some() && !other.matches(value),
        (_, Matcher::Literal(value)) => return json_type(one).is_some() && !one.matches(value),
        _ => {}
    }
    if let (Some(one), Some(other)) = (json_type(one), json_type(other))
        && one != other
    {
        return true;
    }
    let fields = match one.matcher() {
        Matcher::Record(fields) => fields,
        Matcher::SplitRecord(split) => &split.required,
        _ => return false,
    };
    fields.iter().any(|(name, part)| required(other, name).is_some_and(|other| apart(part, other)))
}
