//! Endo's two orders. Rank order is a total preorder over all values, made for storage and search. Key order is
//! a partial order over keys, made for meaning.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::keys::{Complaint, confirm_key, redacted};
use crate::value::{Record, Reference, Value};

/// Compares two values by rank. `Equal` means that they tie, not that they are equal: all errors tie, all
/// promises tie, all remotables tie.
pub fn compare_rank<C: Reference>(left: &Value<C>, right: &Value<C>) -> Ordering {
    partial_rank(left, right).unwrap_or(Ordering::Equal)
}

/// Returns the place of a pass style in the order of the prefixes of encoded values.
fn style_rank<C>(value: &Value<C>) -> u8 {
    match value {
        Value::Error(_) => 0,
        Value::Record(_) => 1,
        Value::Tagged(_) => 2,
        Value::Promise(_) => 3,
        Value::Array(_) => 4,
        Value::Bytes(_) => 5,
        Value::Bool(_) => 6,
        Value::Number(_) => 7,
        Value::BigInt(_) => 8,
        Value::Remotable(_) => 9,
        Value::String(_) => 10,
        Value::Null => 11,
        Value::Symbol(_) => 12,
        Value::Undefined => 13,
    }
}

pub(crate) fn rank_numbers(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// Compares two values by rank. Returns `None` if two different remotables decide the comparison, because later parts
/// must not decide it.
pub(crate) fn partial_rank<C: Reference>(left: &Value<C>, right: &Value<C>) -> Option<Ordering> {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => Some(rank_numbers(*left, *right)),
        (Value::BigInt(left), Value::BigInt(right)) => Some(left.cmp(right)),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Symbol(left), Value::Symbol(right)) => Some(left.cmp(right)),
        (Value::Bytes(left), Value::Bytes(right)) => {
            Some(left.len().cmp(&right.len()).then_with(|| left.cmp(right)))
        }
        (Value::Remotable(left), Value::Remotable(right)) => (left == right).then_some(Ordering::Equal),
        (Value::Array(left), Value::Array(right)) => rank_sequences(left.iter(), right.iter()),
        (Value::Record(left), Value::Record(right)) => match descending(left).cmp(descending(right)) {
            Ordering::Equal => rank_sequences(values_descending(left), values_descending(right)),
            unequal => Some(unequal),
        },
        (Value::Tagged(left), Value::Tagged(right)) => match left.tag().cmp(right.tag()) {
            Ordering::Equal => partial_rank(left.payload(), right.payload()),
            unequal => Some(unequal),
        },
        _ => Some(style_rank(left).cmp(&style_rank(right))),
    }
}

fn descending<C>(record: &Record<C>) -> impl Iterator<Item = &crate::Text> {
    record.fields().iter().rev().map(|(name, _)| name)
}

fn values_descending<C>(record: &Record<C>) -> impl Iterator<Item = &Value<C>> {
    record.fields().iter().rev().map(|(_, value)| value)
}

fn rank_sequences<'a, C: Reference + 'a>(
    mut left: impl Iterator<Item = &'a Value<C>>,
    mut right: impl Iterator<Item = &'a Value<C>>,
) -> Option<Ordering> {
    loop {
        match (left.next(), right.next()) {
            (Some(left), Some(right)) => match partial_rank(left, right) {
                Some(Ordering::Equal) => {}
                decided => return decided,
            },
            (left, right) => return Some(left.is_some().cmp(&right.is_some())),
        }
    }
}

/// Compares two keys. `Ok(None)` means that they are incomparable. `Err` means that one of them is not a key, or that
/// they contain maps, whose order upstream has not decided.
pub fn compare_keys<C: Reference>(left: &Value<C>, right: &Value<C>) -> Result<Option<Ordering>, Complaint> {
    confirm_key(left)?;
    confirm_key(right)?;
    compare_known_keys(left, right)
}

/// Compares two values that are known to be keys, as [`compare_keys`] does.
pub(crate) fn compare_known_keys<C: Reference>(
    left: &Value<C>,
    right: &Value<C>,
) -> Result<Option<Ordering>, Complaint> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            let order = rank_numbers(*left, *right);
            Ok((order.is_eq() || !(left.is_nan() || right.is_nan())).then_some(order))
        }
        (Value::Array(left), Value::Array(right)) => {
            for (left, right) in left.iter().zip(right.iter()) {
                match compare_known_keys(left, right)? {
                    Some(Ordering::Equal) => {}
                    decided => return Ok(decided),
                }
            }
            Ok(Some(left.len().cmp(&right.len())))
        }
        (Value::Record(left), Value::Record(right)) => {
            if !left.names().eq(right.names()) {
                return Ok(None);
            }
            let mut order = Some(Ordering::Equal);
            for (left, right) in values_descending(left).zip(values_descending(right)) {
                order = pareto(order, compare_known_keys(left, right)?);
                if order.is_none() {
                    break;
                }
            }
            Ok(order)
        }
        (Value::Tagged(left_tagged), Value::Tagged(right_tagged)) => {
            if left_tagged.tag() != right_tagged.tag() {
                return Ok(None);
            }
            let (one, two) = (left_tagged.payload(), right_tagged.payload());
            match left_tagged.tag().as_bytes() {
                b"copySet" => Ok(compare_counts(set_counts(one), set_counts(two))),
                b"copyBag" => Ok(compare_counts(bag_counts(one), bag_counts(two))),
                _ => Err(Complaint(format!(
                    "Map comparison not yet implemented: {} vs {}",
                    redacted(left),
                    redacted(right)
                ))),
            }
        }
        _ if style_rank(left) == style_rank(right) => Ok(partial_rank(left, right)),
        _ => Ok(None),
    }
}

/// Combines the order of one part with that of the parts before it.
fn pareto(before: Option<Ordering>, part: Option<Ordering>) -> Option<Ordering> {
    match (before?, part?) {
        (Ordering::Equal, part) => Some(part),
        (before, Ordering::Equal) => Some(before),
        (before, part) => (before == part).then_some(before),
    }
}

type Counts<'a, C> = HashMap<&'a Value<C>, Option<&'a num_bigint::BigInt>>;

fn set_counts<C: Reference>(payload: &Value<C>) -> Counts<'_, C> {
    payload.as_array().unwrap_or_default().iter().map(|key| (key, None)).collect()
}

fn bag_counts<C: Reference>(payload: &Value<C>) -> Counts<'_, C> {
    let entries = payload.as_array().unwrap_or_default().iter();
    entries
        .filter_map(|entry| Some((entry.as_array()?.first()?, entry.as_array()?.get(1)?.as_bigint())))
        .collect()
}

/// Returns the order of two collections. A collection is at most another one if each of its keys occurs in the other
/// at least as often.
fn compare_counts<C: Reference>(left: Counts<'_, C>, right: Counts<'_, C>) -> Option<Ordering> {
    let mut order = Some(Ordering::Equal);
    for (key, count) in &left {
        let part = match right.get(key) {
            None => Ordering::Greater,
            Some(other) => count.cmp(other),
        };
        order = pareto(order, Some(part));
    }
    let only_right = right.keys().any(|key| !left.contains_key(key));
    if only_right { pareto(order, Some(Ordering::Less)) } else { order }
}
