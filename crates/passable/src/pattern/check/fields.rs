//! Checks of values with parts of their own: records with given fields, and split arrays and records.

use super::{Report, Verdict, confirm_style, equals, nested, refuse, thrown};
use crate::codec::error::Segment;
use crate::keys::{quoted, redacted};
use crate::pattern::mismatch::found;
use crate::pattern::{Label, Matcher, Mismatch, Pattern, SplitArray, SplitRecord};
use crate::text::Text;
use crate::value::{Record, Reference, Value};

pub(super) fn name_list<'a>(names: impl Iterator<Item = &'a Text>) -> Option<String> {
    let names: Vec<String> = names.map(quoted).collect();
    (!names.is_empty()).then(|| format!("[{}]", names.join(",")))
}

/// Checks that a record, or a part of one, has exactly these fields. Both lists are in UTF-16 order.
pub(super) fn confirm_fields<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    fields: &[(Text, Pattern<C>)],
    own: &[&(Text, Value<C>)],
    specimen: &Value<C>,
    report: &mut R,
) -> Verdict {
    let same = fields.len() == own.len() && fields.iter().zip(own).all(|(field, own)| field.0 == own.0);
    if !same {
        // Upstream lists names in descending order, as the order of records does.
        let has = |name: &Text| own.iter().any(|(own, _)| own == name);
        let wants = |name: &Text| fields.iter().any(|(field, _)| field == name);
        let missing = name_list(fields.iter().rev().map(|(name, _)| name).filter(|name| !has(name)));
        let unexpected = name_list(own.iter().rev().map(|(name, _)| name).filter(|name| !wants(name)));
        return Ok(report.refuse(|| {
            let about = redacted(specimen);
            let (message, found) = match (missing, unexpected) {
                (Some(missing), _) => {
                    let found = format!("{} without {missing}", found(specimen));
                    (format!("{about} - Must have missing properties {missing}"), found)
                }
                (None, unexpected) => {
                    let unexpected = unexpected.unwrap_or_default();
                    let found = format!("a record that also has {unexpected}");
                    (format!("{about} - Must not have unexpected properties: {unexpected}"), found)
                }
            };
            Mismatch::new(message, pattern.describe(), crate::visible_line(&found))
        }));
    }
    // Upstream looks at the fields in descending order of their names.
    for ((name, part), (_, value)) in fields.iter().zip(own).rev() {
        if !nested(part, value, report, || Label::name(name))? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn confirm_split_array<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    split: &SplitArray<C>,
    specimen: &Value<C>,
    report: &mut R,
) -> Verdict {
    let Value::Array(array) = specimen else {
        return confirm_style(pattern, "copyArray", specimen, report);
    };
    let required = split.required.len();
    let Some((first, others)) = array.split_at_checked(required) else {
        return refuse(pattern, specimen, report, || {
            format!("Expected at least {required} arguments: {}", redacted(specimen))
        });
    };
    for (index, (part, element)) in split.required.iter().zip(first).enumerate() {
        let label = || Label::step(format!("arg {index}"), Segment::Index(index));
        if !nested(part, element, report, label)? {
            return Ok(false);
        }
    }
    let optional = split.optional.as_deref().unwrap_or_default();
    for (index, (part, element)) in optional.iter().zip(others).enumerate() {
        let index = required + index;
        let label = || Label::step(format!("arg {index}?"), Segment::Index(index));
        if !matches!(element, Value::Undefined) && !nested(part, element, report, label)? {
            return Ok(false);
        }
    }
    let Some(rest) = &split.rest else { return Ok(true) };
    let further = others.get(optional.len()..).unwrap_or_default();
    // The most frequent rest patterns are handled without building an array.
    let literal_empty = rest.as_literal().and_then(Value::as_array).is_some_and(<[Value<C>]>::is_empty);
    if matches!(rest.matcher(), Matcher::Any) || (literal_empty && further.is_empty()) {
        return Ok(true);
    }
    let further = Value::array(further.iter().cloned());
    nested(rest, &further, report, || Label::note(Label::REST))
}

pub(super) fn confirm_split_record<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    split: &SplitRecord<C>,
    specimen: &Value<C>,
    report: &mut R,
) -> Verdict {
    let Value::Record(record) = specimen else {
        return confirm_style(pattern, "copyRecord", specimen, report);
    };
    let optional = split.optional.as_deref().unwrap_or_default();
    let among = |fields: &[(Text, Pattern<C>)], name: &Text| {
        fields.binary_search_by(|(field, _)| field.cmp(name)).ok()
    };
    let (mut own, mut maybe, mut further) = (Vec::new(), Vec::new(), Vec::new());
    for field in crate::codec::json::property_order(record.fields()) {
        if among(&split.required, &field.0).is_some() {
            own.push(field);
        } else if let Some(at) = among(optional, &field.0) {
            maybe.push((at, field));
        } else {
            further.push(field);
        }
    }
    own.sort_by(|left, right| left.0.cmp(&right.0));
    let all_literal = split.required.iter().all(|(_, part)| part.as_literal().is_some());
    if split.required.is_empty() {
        // Most partial patterns require no field.
    } else if all_literal {
        // In this case the required part is itself a key, and upstream compares it as a whole.
        let literal = |(name, part): &(Text, Pattern<C>)| Some((name.clone(), part.as_literal()?.clone()));
        let whole = |fields| Value::try_record(fields).unwrap_or_else(|_| Value::too_deep());
        let key = whole(split.required.iter().filter_map(literal).collect());
        let own = whole(own.into_iter().cloned().collect());
        if !equals(&key, &own).map_err(|complaint| thrown(pattern, specimen, complaint))? {
            return refuse(pattern, specimen, report, || "(an object) - Must be: (an object)".to_owned());
        }
    } else if !confirm_fields(pattern, &split.required, &own, specimen, report)? {
        return Ok(false);
    }
    for (at, (name, value)) in maybe {
        let Some((_, part)) = optional.get(at) else { continue };
        let label = || Label::step(format!("{}?", name.to_str_lossy()), Segment::Name(name.clone()));
        if !matches!(value, Value::Undefined) && !nested(part, value, report, label)? {
            return Ok(false);
        }
    }
    let Some(rest) = &split.rest else { return Ok(true) };
    let literal_empty = rest.as_literal().and_then(Value::as_record).is_some_and(Record::is_empty);
    if matches!(rest.matcher(), Matcher::Any) || (literal_empty && further.is_empty()) {
        return Ok(true);
    }
    let names = name_list(further.iter().map(|(name, _)| name)).unwrap_or_default();
    let further =
        Value::try_record(further.into_iter().cloned().collect()).unwrap_or_else(|_| Value::too_deep());
    if literal_empty {
        report.refuse(|| {
            let found = format!("a record that also has {names}");
            let message = "(an object) - Must be: (an object)";
            Mismatch::new(message, pattern.describe(), crate::visible_line(&found))
        });
        report.label(|| Label::note(Label::REST));
        return Ok(false);
    }
    nested(rest, &further, report, || Label::note(Label::REST))
}
