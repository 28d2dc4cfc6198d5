//! Keys, and the *kind* of a tagged value.
//!
//! A key is a value whose equality means the same forever. It contains no promises, no errors and no unknown tags.

use std::collections::HashSet;
use std::fmt;

use num_bigint::Sign;

use crate::codec::json::property_order;
use crate::order::partial_rank;
use crate::pattern::confirm_well_formed;
use crate::value::{Reference, Value};

/// The reason why a value is refused, in upstream's words.
///
/// Values in the reason are redacted, but tags and names are not. So users see the reason only through
/// [`crate::visible_line`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint(pub String);

impl fmt::Display for Complaint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Complaint {}

/// Returns the words by which upstream's messages mention a value without showing it.
pub(crate) fn redacted<C>(value: &Value<C>) -> String {
    let name = match value {
        Value::Undefined => "undefined",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::BigInt(_) => "bigint",
        Value::String(_) => "string",
        Value::Symbol(_) => "symbol",
        Value::Error(error) => match error.name.as_str() {
            Some(name) if name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_alphanumeric()) => name,
            _ => "Error",
        },
        _ => "object",
    };
    let vowel = name.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']);
    format!("({} {name})", if vowel { "an" } else { "a" })
}

/// Returns a name in quotes, as upstream's messages have it.
pub(crate) fn quoted(text: &crate::Text) -> String {
    let mut out = String::new();
    crate::codec::json::write_string(&mut out, "", text);
    out
}

/// Returns a word as upstream's messages mention it. The word is quoted only if it needs quotes.
pub(crate) fn bare(text: &crate::Text) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-');
    let words =
        |text: &str| text.split(' ').all(|word| !word.is_empty() && word.as_bytes().iter().all(plain));
    match text.as_str() {
        Some(text) if words(text) => text.to_owned(),
        _ => quoted(text),
    }
}

/// Returns whether a value is a key.
pub fn is_key<C: Reference>(value: &Value<C>) -> bool {
    confirm_key(value).is_ok()
}

/// Checks that a value is a key. The error is the reason why it is not.
pub fn confirm_key<C: Reference>(value: &Value<C>) -> Result<(), Complaint> {
    match value {
        Value::Array(array) => array.iter().try_for_each(confirm_key),
        // The order is that of JavaScript's properties, so that the first complaint is the same as upstream's.
        Value::Record(record) => {
            property_order(record.fields()).try_for_each(|(_, value)| confirm_key(value))
        }
        Value::Error(_) | Value::Promise(_) => {
            Err(Complaint(format!("A \"{}\" cannot be a key", value.kind())))
        }
        Value::Tagged(tagged) => match tagged.tag().as_bytes() {
            b"copySet" | b"copyBag" => confirm_collection(value),
            b"copyMap" => {
                confirm_collection(value)?;
                let values = tagged.payload().get("values").and_then(Value::as_array).unwrap_or_default();
                values.iter().try_for_each(confirm_key)
            }
            _ => {
                let tag = quoted(tagged.tag());
                Err(Complaint(format!("A passable tagged {tag} is not a key: {}", redacted(value))))
            }
        },
        _ => Ok(()),
    }
}

/// Returns the first part for which a value is not a key: the value itself, or a part of its lists and records.
pub(crate) fn not_a_key<C: Reference>(value: &Value<C>) -> Option<&Value<C>> {
    match value {
        Value::Array(array) => array.iter().find_map(not_a_key),
        Value::Record(record) => property_order(record.fields()).find_map(|(_, value)| not_a_key(value)),
        _ => (!is_key(value)).then_some(value),
    }
}

/// Checks that a value is a scalar key, which is an atom or a remotable.
pub(crate) fn confirm_scalar<C>(value: &Value<C>) -> Result<(), Complaint> {
    match value {
        Value::Array(_) | Value::Record(_) | Value::Tagged(_) | Value::Error(_) | Value::Promise(_) => {
            Err(Complaint(format!("A \"{}\" cannot be a scalar key: {}", value.kind(), redacted(value))))
        }
        _ => Ok(()),
    }
}

/// Returns the kind of a value: its pass style, or its tag if it is tagged and well formed for that tag. Returns
/// `None` for unknown tags and malformed payloads.
pub fn kind_of<C: Reference>(value: &Value<C>) -> Option<&str> {
    confirm_kind_of(value).ok()
}

/// Returns the kind of a value as [`kind_of`] does, or the reason why it has none.
pub(crate) fn confirm_kind_of<C: Reference>(value: &Value<C>) -> Result<&str, Complaint> {
    let Value::Tagged(tagged) = value else {
        return Ok(value.kind());
    };
    let tag = tagged.tag().as_str().unwrap_or_default();
    match tag {
        "copySet" | "copyBag" | "copyMap" => confirm_collection(value)?,
        _ => confirm_well_formed(value)?,
    }
    Ok(tag)
}

/// Checks that a value tagged as a set, bag or map is well formed.
fn confirm_collection<C: Reference>(value: &Value<C>) -> Result<(), Complaint> {
    let complain = |what: &str, about: &Value<C>| Err(Complaint(format!("{what}: {}", redacted(about))));
    let Value::Tagged(tagged) = value else {
        return complain("Not a collection", value);
    };
    let payload = tagged.payload();
    match tagged.tag().as_bytes() {
        b"copySet" => confirm_elements(payload),
        b"copyBag" => confirm_bag_entries(payload),
        _ => {
            let Value::Record(record) = payload else {
                return complain("A copyMap's payload must be a record", value);
            };
            if record.names().any(|name| name != "keys" && name != "values") {
                return complain("A copyMap's payload must only have .keys and .values", value);
            }
            let keys = record.get("keys").unwrap_or(&Value::Undefined);
            confirm_elements(keys)?;
            let Some(values) = record.get("values").and_then(Value::as_array) else {
                return complain("A copyMap's .values must be a copyArray", value);
            };
            if keys.as_array().unwrap_or_default().len() != values.len() {
                return complain("A copyMap must have the same number of keys and values", value);
            }
            Ok(())
        }
    }
}

/// Returns whether elements are in reverse rank order, with ties allowed. Also returns whether the order alone proves
/// that they are distinct.
fn reverse_sorted<C: Reference>(elements: &[Value<C>]) -> (bool, bool) {
    let mut strict = true;
    for [before, after] in elements.array_windows() {
        match partial_rank(after, before) {
            Some(std::cmp::Ordering::Less) => {}
            Some(std::cmp::Ordering::Greater) => return (false, false),
            _ => strict = false,
        }
    }
    (true, strict)
}

fn confirm_distinct<'a, C: Reference + 'a>(
    mut keys: impl Iterator<Item = &'a Value<C>>,
) -> Result<(), Complaint> {
    let mut seen = HashSet::new();
    match keys.find(|key| !seen.insert(*key)) {
        None => Ok(()),
        Some(key) => Err(Complaint(format!("value has duplicate keys: {}", redacted(key)))),
    }
}

fn confirm_elements<C: Reference>(elements: &Value<C>) -> Result<(), Complaint> {
    let complain = |what: &str| Err(Complaint(format!("{what}: {}", redacted(elements))));
    let Value::Array(array) = elements else {
        return complain("The keys of a copySet or copyMap must be a copyArray");
    };
    let (sorted, strict) = reverse_sorted(array);
    if !sorted {
        return complain("The keys of a copySet or copyMap must be sorted in reverse rank order");
    }
    if !strict {
        confirm_distinct(array.iter())?;
    }
    confirm_key(elements)
}

fn confirm_bag_entries<C: Reference>(entries: &Value<C>) -> Result<(), Complaint> {
    let complain = |what: &str, about: &Value<C>| Err(Complaint(format!("{what}: {}", redacted(about))));
    let Value::Array(array) = entries else {
        return complain("The entries of a copyBag must be a copyArray", entries);
    };
    if !reverse_sorted(array).0 {
        return complain("The entries of a copyBag must be sorted in reverse rank order", entries);
    }
    for entry in array.iter() {
        let Some([_, Value::BigInt(count)]) = entry.as_array() else {
            let what = "Each entry of a copyBag must be pair of a key and a bigint representing a count";
            return complain(what, entry);
        };
        if count.sign() != Sign::Plus {
            return complain("Each entry of a copyBag must have a positive count", entry);
        }
    }
    confirm_distinct(array.iter().filter_map(|entry| entry.as_array()?.first()))?;
    confirm_key(entries)
}

impl<C: Reference> Value<C> {
    /// Returns a sorted set of keys. Refuses elements that are not keys, and elements that occur twice.
    pub fn set(elements: impl IntoIterator<Item = Value<C>>) -> Result<Self, Complaint> {
        let mut elements: Vec<_> = elements.into_iter().collect();
        elements.sort_by(|left, right| crate::compare_rank(right, left));
        let set = Value::tagged("copySet", Value::array(elements));
        confirm_collection(&set).map(|()| set)
    }

    /// Returns a bag of keys, each with the number of its occurrences.
    pub fn bag(counts: impl IntoIterator<Item = (Value<C>, num_bigint::BigInt)>) -> Result<Self, Complaint> {
        let entry = |(key, count): (Value<C>, num_bigint::BigInt)| Value::array([key, Value::bigint(count)]);
        let mut entries: Vec<_> = counts.into_iter().map(entry).collect();
        entries.sort_by(|left, right| crate::compare_rank(right, left));
        let bag = Value::tagged("copyBag", Value::array(entries));
        confirm_collection(&bag).map(|()| bag)
    }

    /// Returns a map from keys to values.
    pub fn map(entries: impl IntoIterator<Item = (Value<C>, Value<C>)>) -> Result<Self, Complaint> {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by(|(left, one), (right, two)| {
            crate::compare_rank(right, left).then_with(|| crate::compare_rank(two, one))
        });
        let (keys, values): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        let payload = [("keys", Value::array(keys)), ("values", Value::array(values))];
        let payload = Value::record(payload).map_err(|error| Complaint(error.to_string()))?;
        let map = Value::tagged("copyMap", payload);
        confirm_collection(&map).map(|()| map)
    }
}
