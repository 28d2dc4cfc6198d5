//! The compiler of patterns from their form as passable values. Its messages for malformed patterns are upstream's.

use num_bigint::BigInt;

use super::{Comparison, Label, Limits, Matcher, Pattern, Refinement, SplitArray, SplitRecord};
use crate::codec::json::property_order;
use crate::keys::{Complaint, confirm_key, confirm_kind_of, quoted, redacted};
use crate::text::Text;
use crate::value::{Reference, Value};

/// Returns whether a value is a pattern.
pub fn is_pattern<C: Reference>(value: &Value<C>) -> bool {
    Pattern::from_value(value).is_ok()
}

/// Checks that a value is a pattern. The error is the reason why it is not.
pub fn confirm_pattern<C: Reference>(value: &Value<C>) -> Result<(), Complaint> {
    Pattern::from_value(value).map(drop)
}

impl<C: Reference> Pattern<C> {
    /// Reads a pattern from its form as a passable value.
    pub fn from_value(value: &Value<C>) -> Result<Self, Complaint> {
        match value {
            Value::Array(parts) => {
                Ok(Self::tuple(parts.iter().map(Self::from_value).collect::<Result<Vec<_>, _>>()?))
            }
            Value::Record(record) => {
                let field = |(name, value): &(Text, Value<C>)| Ok((name.clone(), Self::from_value(value)?));
                let fields = property_order(record.fields()).map(field);
                let mut fields = fields.collect::<Result<Vec<_>, Complaint>>()?;
                fields.sort_by(|(left, _), (right, _)| left.cmp(right));
                Ok(Self::record_of_sorted(fields))
            }
            Value::Error(_) | Value::Promise(_) => {
                Err(Complaint(format!("A \"{}\" cannot be a pattern", value.kind())))
            }
            Value::Tagged(tagged) => match tagged.tag().as_str() {
                Some("copySet" | "copyBag") => {
                    confirm_kind_of(value)?;
                    Ok(Self::new(Matcher::Literal(value.clone())))
                }
                Some("copyMap") => compile_map(value),
                tag => match tag.and_then(|tag| tag.strip_prefix("match:")) {
                    Some(name) => compile_matcher(name, tagged.payload(), value),
                    None => {
                        let kind = confirm_kind_of(value)?;
                        let about = redacted(value);
                        Err(Complaint(format!("A passable of kind \"{kind}\" is not a pattern: {about}")))
                    }
                },
            },
            _ => Ok(Self::new(Matcher::Literal(value.clone()))),
        }
    }
}

/// Checks that a value with a tag of matchers or guards is well formed. An unknown tag is refused.
pub(crate) fn confirm_well_formed<C: Reference>(value: &Value<C>) -> Result<(), Complaint> {
    let Value::Tagged(tagged) = value else {
        return Ok(());
    };
    let tag = tagged.tag().as_str().unwrap_or_default();
    if let Some(name) = tag.strip_prefix("match:") {
        return compile_matcher(name, tagged.payload(), value).map(drop);
    }
    match crate::guard::payload_pattern::<C>(tag) {
        Some(pattern) => check_labelled(&pattern, tagged.payload(), tag),
        None => Err(unrecognized(value)),
    }
}

fn unrecognized<C>(value: &Value<C>) -> Complaint {
    let tag = value.as_tagged().map(|tagged| quoted(tagged.tag())).unwrap_or_default();
    Complaint(format!("cannot check unrecognized tag {tag}: {}", redacted(value)))
}

fn check_labelled<C: Reference>(
    pattern: &Pattern<C>,
    value: &Value<C>,
    label: &str,
) -> Result<(), Complaint> {
    pattern.check(value).map_err(|mismatch| Complaint(mismatch.within(Label::note(label)).raw_message()))
}

fn compile_map<C: Reference>(value: &Value<C>) -> Result<Pattern<C>, Complaint> {
    confirm_kind_of(value)?;
    let payload = value.payload_of("copyMap");
    let part = |name| payload.and_then(|payload| payload.get(name)?.as_array()).unwrap_or_default();
    let patterns = part("values").iter().map(Pattern::from_value).collect::<Result<Vec<_>, _>>()?;
    if patterns.iter().all(|pattern| pattern.as_literal().is_some()) {
        return Ok(Pattern::new(Matcher::Literal(value.clone())));
    }
    Ok(Pattern::new(Matcher::Map(part("keys").iter().cloned().zip(patterns).collect())))
}

/// Splits `[...parts, limits?]` into exactly `N` parts and the value at the place of the limits.
fn with_limits<'a, C: Reference, const N: usize>(
    payload: &'a Value<C>,
    prefix: &str,
) -> Result<([&'a Value<C>; N], &'a Value<C>), Complaint> {
    let complain = |what| Err(Complaint(format!("\"{prefix}\" payload {what}: {}", redacted(payload))));
    let Some(elements) = payload.as_array() else {
        return complain("must be an array");
    };
    if !(N..=N + 1).contains(&elements.len()) {
        return complain("unexpected size");
    }
    let mut parts = elements.iter();
    let main = std::array::from_fn(|_| parts.next().unwrap_or(&Value::Undefined));
    Ok((main, parts.next().unwrap_or(&Value::Undefined)))
}

fn compile_limits<C: Reference>(limits: &Value<C>) -> Result<Limits, Complaint> {
    match limits {
        Value::Undefined => Ok(Limits::none()),
        Value::Record(record) => {
            let limit = |(name, value): &(Text, Value<C>)| match value {
                Value::Number(limit) => Ok((name.clone(), *limit)),
                _ => {
                    let name = quoted(name);
                    Err(Complaint(format!("Value of limit {name} but be a number: {}", json_like(value))))
                }
            };
            let mut entries =
                property_order(record.fields()).map(limit).collect::<Result<Vec<_>, Complaint>>()?;
            entries.sort_by(|(left, _), (right, _)| left.cmp(right));
            Ok(Limits::from_entries(entries))
        }
        other => Err(Complaint(format!("Limits must be a record: {}", json_like(other)))),
    }
}

/// Returns a value as upstream quotes it in messages, if it is not redacted.
pub(super) fn json_like<C: Reference>(value: &Value<C>) -> String {
    match value {
        Value::BigInt(number) => format!("\"[{number}n]\""),
        Value::Undefined => "\"[undefined]\"".to_owned(),
        Value::String(text) => quoted(text),
        Value::Array(array) => format!("[{}]", array.iter().map(json_like).collect::<Vec<_>>().join(",")),
        Value::Record(record) => {
            let field = |(name, value)| format!("{}:{}", quoted(name), json_like(value));
            let fields = property_order(record.fields()).map(|(name, value)| field((name, value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Number(number) => super::quoted_number(*number),
        Value::Bool(_) | Value::Null => crate::smallcaps::encode(value).body.split_off(1),
        Value::Tagged(tagged) => quoted(&Text::from(format!("[{}]", tagged.tag().to_str_lossy()))),
        Value::Remotable(remote) => {
            let iface = remote.iface.as_ref().map_or("Remotable".into(), Text::to_str_lossy);
            quoted(&Text::from(format!("[{iface}]")))
        }
        Value::Promise(_) => "\"[Promise]\"".to_owned(),
        Value::Symbol(symbol) => quoted(&Text::from(symbol.label())),
        Value::Error(error) => {
            let (name, message) = (error.name.to_str_lossy(), error.message.to_str_lossy());
            quoted(&Text::from(format!("[{name}: {message}]")))
        }
        other => format!("\"[{}]\"", other.kind()),
    }
}

/// Compiles one part of a payload. A complaint about it has upstream's labels.
fn part<C: Reference>(value: &Value<C>, prefix: &str, index: usize) -> Result<Pattern<C>, Complaint> {
    Pattern::from_value(value).map_err(|complaint| Complaint(format!("{prefix}: [{index}]: {complaint}")))
}

fn compile_matcher<C: Reference>(
    name: &str,
    payload: &Value<C>,
    whole: &Value<C>,
) -> Result<Pattern<C>, Complaint> {
    let prefix = format!("match:{name} payload");
    let bare = |matcher| match payload {
        Value::Undefined => Ok(matcher),
        _ => Err(Complaint(format!("match:any payload: {} - Must be undefined", redacted(payload)))),
    };
    let parts = || match payload.as_array() {
        Some(parts) => parts.iter().map(Pattern::from_value).collect::<Result<Vec<_>, _>>(),
        None => Err(Complaint("Needs array of sub-patterns: (a string)".to_owned())),
    };
    let one = || {
        let ([a], limits) = with_limits::<C, 1>(payload, &prefix)?;
        Ok((part(a, &prefix, 0)?, compile_limits(limits)?))
    };
    let two = || {
        let ([a, b], limits) = with_limits::<C, 2>(payload, &prefix)?;
        Ok((part(a, &prefix, 0)?, part(b, &prefix, 1)?, compile_limits(limits)?))
    };
    let none = || with_limits::<C, 0>(payload, &prefix).and_then(|([], limits)| compile_limits(limits));
    let label = || {
        let shape = Pattern::record([("label", Pattern::string())]).unwrap_or_else(|_| Pattern::any());
        check_labelled(&shape, payload, &prefix)?;
        Ok(payload.get("label").and_then(Value::as_text).cloned().unwrap_or_else(|| Text::from("")))
    };
    let matcher = match name {
        "any" => bare(Matcher::Any)?,
        "scalar" => bare(Matcher::Scalar)?,
        "key" => bare(Matcher::Key)?,
        "pattern" => bare(Matcher::Pattern)?,
        "and" => Matcher::And(parts()?),
        "or" => Matcher::Or(parts()?),
        "not" => Matcher::Negation(Pattern::from_value(payload)?),
        "kind" => match payload {
            Value::String(kind) => Matcher::Kind(kind.clone()),
            _ => {
                let about = redacted(payload);
                return Err(Complaint(format!(
                    "match:kind: payload: {about} - A kind name must be a string"
                )));
            }
        },
        "tagged" => match payload.as_array() {
            // No pattern of patterns is used here, because it would compile the parts twice at every level.
            Some([tag, payload]) => Matcher::Tagged(part(tag, &prefix, 0)?, part(payload, &prefix, 1)?),
            shape => {
                let about = redacted(payload);
                let told = match shape {
                    Some(_) => format!("Array {about} - Must be as long as copyArray pattern: (a string)"),
                    None => format!("{about} - Must be a copyArray to match a copyArray pattern: (a string)"),
                };
                return Err(Complaint(format!("{prefix}: {told}")));
            }
        },
        "bigint" => Matcher::BigInt(none()?),
        "nat" => Matcher::Nat(none()?),
        "string" => Matcher::String(none()?),
        "symbol" => Matcher::Symbol(none()?),
        "byteArray" => Matcher::Bytes(none()?),
        "remotable" => Matcher::Remotable(label()?),
        "promise" => Matcher::Promise(label()?),
        "arrayOf" => one().map(|(part, limits)| Matcher::ArrayOf(part, limits))?,
        "setOf" => one().map(|(part, limits)| Matcher::SetOf(part, limits))?,
        "recordOf" => two().map(|(a, b, limits)| Matcher::RecordOf(a, b, limits))?,
        "bagOf" => two().map(|(a, b, limits)| Matcher::BagOf(a, b, limits))?,
        "mapOf" => two().map(|(a, b, limits)| Matcher::MapOf(a, b, limits))?,
        "containerHas" => compile_container_has(payload)?,
        "splitArray" => compile_split_array(payload)?,
        "splitRecord" => compile_split_record(payload)?,
        "refine" => {
            let refinement = payload.as_str().and_then(Refinement::from_name);
            Matcher::Refine(refinement.ok_or_else(|| Complaint("unknown refinement".to_owned()))?)
        }
        _ => match Comparison::ALL.into_iter().find(|comparison| comparison.name() == name) {
            Some(comparison) => {
                confirm_key(payload)?;
                Matcher::Compare(comparison, payload.clone())
            }
            None => return Err(unrecognized(whole)),
        },
    };
    Ok(Pattern::new(matcher))
}

fn compile_container_has<C: Reference>(payload: &Value<C>) -> Result<Matcher<C>, Complaint> {
    let prefix = "M.containerHas payload";
    let ([element, count], limits) = with_limits(payload, prefix)?;
    let element = part(element, prefix, 0)?;
    let at_least_one = Pattern::new(Matcher::Compare(Comparison::Gte, Value::bigint(1)));
    check_labelled(&at_least_one, count, &format!("{prefix}: [1]"))?;
    let count = count.as_bigint().cloned().unwrap_or_else(|| BigInt::from(1));
    Ok(Matcher::ContainerHas(element, count, compile_limits(limits)?))
}

/// The parts of a split payload: `[required, optional?, rest?]`.
type SplitParts<'a, C> = (&'a Value<C>, Option<&'a Value<C>>, Option<Pattern<C>>);

fn split_parts<C: Reference>(payload: &Value<C>) -> Option<SplitParts<'_, C>> {
    let present = |part: Option<&'_ Value<C>>| part.is_some_and(|part| !matches!(part, Value::Undefined));
    match payload.as_array()? {
        [required, others @ ..] if others.len() <= 2 => {
            let optional = others.first().filter(|part| present(Some(part)));
            let rest = match others.get(1).filter(|part| present(Some(part))) {
                None => None,
                Some(rest) => Some(Pattern::from_value(rest).ok()?),
            };
            Some((required, optional, rest))
        }
        _ => None,
    }
}

fn split_complaint<C: Reference>(shape: &str, payload: &Value<C>) -> Complaint {
    Complaint(format!(
        "Must be an array of a requiredPatt {shape}, an optional optionalPatt {shape}, and an optional \
         restPatt: {}",
        json_like(payload)
    ))
}

fn compile_split_array<C: Reference>(payload: &Value<C>) -> Result<Matcher<C>, Complaint> {
    let parts = |value: &Value<C>| {
        value.as_array()?.iter().map(|part| Pattern::from_value(part).ok()).collect::<Option<Vec<_>>>()
    };
    let split = split_parts(payload).and_then(|(required, optional, rest)| {
        let optional = match optional {
            None => None,
            Some(optional) => Some(parts(optional)?),
        };
        Some(SplitArray { required: parts(required)?, optional, rest })
    });
    split.map(Matcher::SplitArray).ok_or_else(|| split_complaint("array", payload))
}

fn compile_split_record<C: Reference>(payload: &Value<C>) -> Result<Matcher<C>, Complaint> {
    let fields = |value: &Value<C>| {
        let field = |(name, part): &(Text, Value<C>)| Some((name.clone(), Pattern::from_value(part).ok()?));
        value.as_record()?.iter().map(field).collect::<Option<Vec<_>>>()
    };
    let split = split_parts(payload).and_then(|(required, optional, rest)| {
        let optional = match optional {
            None => None,
            Some(optional) => Some(fields(optional)?),
        };
        Some(SplitRecord { required: fields(required)?, optional, rest })
    });
    split.map(Matcher::SplitRecord).ok_or_else(|| split_complaint("record", payload))
}
