//! Checks of collections: lists, records of any names, sets, bags and maps.

use num_bigint::BigInt;

use super::{
    Report, Verdict, confirm, confirm_style, digits, nested, refuse, refuse_excess, too_many_digits, within,
};
use crate::codec::error::Segment;
use crate::keys::{confirm_kind_of, kind_of, redacted};
use crate::pattern::{Label, Limit, Limits, Matcher, Mismatch, Pattern};
use crate::value::{Record, Reference, Value};

pub(super) fn every<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    elements: &[Value<C>],
    prefix: &str,
    report: &mut R,
) -> Verdict {
    if matches!(pattern.matcher(), Matcher::Any) {
        return Ok(true);
    }
    for (index, element) in elements.iter().enumerate() {
        let label = || Label::step(format!("{prefix}[{index}]"), Segment::Index(index));
        if !nested(pattern, element, report, label)? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn confirm_entries<C: Reference, R: Report<C>>(
    name_pattern: &Pattern<C>,
    value_pattern: &Pattern<C>,
    name_limit: f64,
    record: &Record<C>,
    report: &mut R,
) -> Verdict {
    // A pair of two literal keys is a key too, and upstream compares it as one.
    let literal = name_pattern.as_literal().is_some() && value_pattern.as_literal().is_some();
    let pair = literal.then(|| Pattern::tuple([name_pattern.clone(), value_pattern.clone()]));
    for (name, value) in crate::codec::json::property_order(record.fields()) {
        if !within(name.utf16_len(), name_limit) {
            report.refuse(|| {
                let limit = crate::pattern::quoted_number(name_limit);
                let message = format!("Property name must not be longer than {limit}");
                let expected = format!("a name (at most {limit} characters)");
                let found = format!("a name of {} characters", name.utf16_len());
                Mismatch::new(message, expected, found)
            });
            report.label(|| Label::name(name));
            return Ok(false);
        }
        let field = |report: &mut R| {
            if let Some(pair) = &pair {
                let own = Value::array([Value::String(name.clone()), value.clone()]);
                return confirm(pair, &own, report);
            }
            let named = Value::String(name.clone());
            let name_matches = matches!(name_pattern.matcher(), Matcher::Any)
                || nested(name_pattern, &named, report, Label::of_name)?;
            Ok(name_matches && nested(value_pattern, value, report, || Label::note("[1]"))?)
        };
        match field(report) {
            Ok(true) => {}
            Ok(false) => {
                report.label(|| Label::name(name));
                return Ok(false);
            }
            Err(thrown) => {
                let thrown: Box<Mismatch> = thrown;
                return Err(Box::new(thrown.within(Label::name(name))));
            }
        }
    }
    Ok(true)
}

pub(super) fn map_parts<C: Reference>(map: &Value<C>) -> (&[Value<C>], &[Value<C>]) {
    let payload = map.payload_of("copyMap");
    let part = |name| payload.and_then(|payload| payload.get(name)?.as_array()).unwrap_or_default();
    (part("keys"), part("values"))
}

pub(super) fn confirm_map<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    entries: &[(Value<C>, Pattern<C>)],
    specimen: &Value<C>,
    report: &mut R,
) -> Verdict {
    if kind_of(specimen) != Some("copyMap") {
        return refuse(pattern, specimen, report, || {
            format!("{} - Must be a copyMap to match a copyMap pattern: (a string)", redacted(specimen))
        });
    }
    let (keys, values) = map_parts(specimen);
    let places: std::collections::HashMap<&Value<C>, &Value<C>> = keys.iter().zip(values).collect();
    let found: Option<Vec<_>> = entries.iter().map(|(key, part)| Some((part, *places.get(key)?))).collect();
    let Some(found) = found.filter(|found| found.len() == keys.len()) else {
        return refuse(pattern, specimen, report, || "(an object) - Must be: (an object)".to_owned());
    };
    for (index, (part, value)) in found.into_iter().enumerate() {
        if !nested(part, value, report, || Label::index(index))? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn confirm_bag<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    key_pattern: &Pattern<C>,
    count_pattern: &Pattern<C>,
    limits: &Limits,
    specimen: &Value<C>,
    report: &mut R,
) -> Verdict {
    if !confirm_style(pattern, "copyBag", specimen, report)? {
        return Ok(false);
    }
    let entries = specimen.payload_of("copyBag").and_then(Value::as_array).unwrap_or_default();
    let most = limits.get(Limit::NumUniqueBagElements);
    if !within(entries.len(), most) {
        return refuse_excess(pattern, limits, Limit::NumUniqueBagElements, report, || {
            let most = crate::pattern::quoted_number(most);
            let message =
                format!("Bag must not have more than {most} unique elements: {}", redacted(specimen));
            (message, format!("a bag of {} elements", entries.len()))
        });
    }
    for (index, entry) in entries.iter().enumerate() {
        let Some([key, count]) = entry.as_array() else { continue };
        if !nested(key_pattern, key, report, || {
            Label::step(format!("bag keys[{index}]"), Segment::Index(index))
        })? {
            return Ok(false);
        }
        let label = || Label::step(format!("bag counts[{index}]"), Segment::Index(index));
        if !digits(pattern, count, limits, report)? {
            report.label(label);
            return Ok(false);
        }
        if !nested(count_pattern, count, report, label)? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn confirm_container<'a, C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    part: &Pattern<C>,
    bound: &BigInt,
    digit_limit: f64,
    specimen: &'a Value<C>,
    report: &mut R,
) -> Verdict {
    let kind = match confirm_kind_of(specimen) {
        Ok(kind) => kind,
        Err(complaint) => return refuse(pattern, specimen, report, || complaint.0),
    };
    if too_many_digits(bound, digit_limit) {
        return refuse(pattern, specimen, report, || {
            "bigint (a bigint) must not have more than (a number) digits".to_owned()
        });
    }
    let one = BigInt::from(1);
    let elements: Vec<(&Value<C>, &BigInt)> = match (kind, specimen) {
        ("copyArray", Value::Array(array)) => array.iter().map(|element| (element, &one)).collect(),
        // Collections are sorted in descending order, but upstream walks them in ascending order.
        ("copySet", Value::Tagged(set)) => {
            set.payload().as_array().unwrap_or_default().iter().rev().map(|element| (element, &one)).collect()
        }
        ("copyBag", Value::Tagged(bag)) => {
            let entries = bag.payload().as_array().unwrap_or_default().iter().rev();
            let pair = |entry: &'a Value<C>| match entry.as_array() {
                Some([key, Value::BigInt(count)]) => Some((key, count.as_ref())),
                _ => None,
            };
            entries.filter_map(pair).collect()
        }
        _ => return refuse(pattern, specimen, report, || format!("unexpected \"{kind}\"")),
    };
    let mut count = BigInt::from(0);
    for (element, times) in elements {
        if count >= *bound {
            break;
        }
        if confirm(part, element, &mut report.silent())? {
            count += times.min(&(bound - &count));
        }
    }
    if count >= *bound {
        return Ok(true);
    }
    refuse(pattern, specimen, report, || format!("Has only \"[{count}n]\" matches, but needs \"[{bound}n]\""))
}
