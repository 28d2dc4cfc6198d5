//! The check of a value against a pattern.
//!
//! One walk serves both for a quick answer and for an explanation. The parts of a report are computed only if the
//! report needs them.

use std::cmp::Ordering;

use num_bigint::BigInt;

use super::mismatch::{Label, Mismatch, found};
use super::{Comparison, Limit, Limits, Matcher, Pattern};
use crate::codec::exact::is_big_beyond_safe;
use crate::keys::{
    Complaint, bare, confirm_key, confirm_kind_of, confirm_scalar, is_key, not_a_key, quoted, redacted,
};
use crate::order::{compare_keys, compare_known_keys};
use crate::text::Text;
use crate::value::{Reference, Value};

mod collections;
mod fields;
mod refine;

use collections::{confirm_bag, confirm_container, confirm_entries, confirm_map, every, map_parts};
use fields::{confirm_fields, confirm_split_array, confirm_split_record};

/// A function that checks whether a capability is of the kind that a part of a pattern requires. Its error says why
/// it is not.
pub type Takes<'a, C> = dyn FnMut(&Pattern<C>, &C) -> Result<(), Mismatch> + 'a;

/// The receiver of refusals.
pub(super) trait Report<C: Reference> {
    /// Records the reason why a value is refused. The result is always `false`.
    fn refuse(&mut self, mismatch: impl FnOnce() -> Mismatch) -> bool;

    /// Puts a label before the recorded refusal.
    fn label(&mut self, label: impl FnOnce() -> Label);

    /// Checks the kind of a capability, if the pattern requires one.
    fn takes(&mut self, pattern: &Pattern<C>, reference: &C) -> Result<(), Mismatch>;

    /// Returns a report that checks capabilities as this one does, but records nothing.
    fn silent(&mut self) -> Silent<'_, C>;
}

fn looked<C>(takes: &mut Option<&mut Takes<'_, C>>, pattern: &Pattern<C>, held: &C) -> Result<(), Mismatch> {
    takes.as_mut().map_or(Ok(()), |takes| takes(pattern, held))
}

/// The report that records nothing.
pub(super) struct Silent<'a, C> {
    pub(super) takes: Option<&'a mut Takes<'a, C>>,
}

impl<C: Reference> Report<C> for Silent<'_, C> {
    fn refuse(&mut self, _: impl FnOnce() -> Mismatch) -> bool {
        false
    }

    fn label(&mut self, _: impl FnOnce() -> Label) {}

    fn takes(&mut self, pattern: &Pattern<C>, reference: &C) -> Result<(), Mismatch> {
        looked(&mut self.takes, pattern, reference)
    }

    fn silent(&mut self) -> Silent<'_, C> {
        match &mut self.takes {
            Some(takes) => Silent { takes: Some(&mut **takes) },
            None => Silent { takes: None },
        }
    }
}

/// The report that records everything. Labels are collected from the inside out.
pub(super) struct Explain<'a, C> {
    mismatch: Option<Mismatch>,
    labels: Vec<Label>,
    takes: Option<&'a mut Takes<'a, C>>,
}

impl<'a, C> Explain<'a, C> {
    pub(super) fn new(takes: Option<&'a mut Takes<'a, C>>) -> Self {
        Self { mismatch: None, labels: Vec::new(), takes }
    }

    pub(super) fn mismatch(self) -> Mismatch {
        let mut mismatch = self.mismatch.unwrap_or_else(|| Mismatch::new("no match", "a match", "no match"));
        mismatch.path.extend(self.labels.into_iter().rev());
        mismatch
    }
}

impl<C: Reference> Report<C> for Explain<'_, C> {
    fn refuse(&mut self, mismatch: impl FnOnce() -> Mismatch) -> bool {
        self.mismatch = Some(mismatch());
        self.labels.clear();
        false
    }

    fn label(&mut self, label: impl FnOnce() -> Label) {
        self.labels.push(label());
    }

    fn takes(&mut self, pattern: &Pattern<C>, reference: &C) -> Result<(), Mismatch> {
        looked(&mut self.takes, pattern, reference)
    }

    fn silent(&mut self) -> Silent<'_, C> {
        match &mut self.takes {
            Some(takes) => Silent { takes: Some(&mut **takes) },
            None => Silent { takes: None },
        }
    }
}

/// Whether the value matches. An `Err` stands for a case in which upstream throws instead of answering.
pub(super) type Verdict = Result<bool, Box<Mismatch>>;

/// Checks a part, and labels a refusal with the place of the part.
fn nested<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    specimen: &Value<C>,
    report: &mut R,
    label: impl FnOnce() -> Label,
) -> Verdict {
    match confirm(pattern, specimen, report) {
        Ok(true) => Ok(true),
        Ok(false) => {
            report.label(label);
            Ok(false)
        }
        Err(thrown) => Err(Box::new(thrown.within(label()))),
    }
}

/// Checks the kind of a capability, and refuses one of another kind than the pattern requires.
fn check_capability<C: Reference, R: Report<C>>(pattern: &Pattern<C>, reference: &C, report: &mut R) -> bool {
    match report.takes(pattern, reference) {
        Ok(()) => true,
        Err(mismatch) => report.refuse(|| mismatch),
    }
}

/// Refuses a specimen with upstream's message.
fn refuse<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    specimen: &Value<C>,
    report: &mut R,
    message: impl FnOnce() -> String,
) -> Verdict {
    Ok(report.refuse(|| Mismatch::new(message(), pattern.describe(), found(specimen))))
}

/// Refuses a value that exceeds a limit, with upstream's message and the size found.
///
/// The expectation names the limit, even if the pattern does not set the limit itself.
fn refuse_excess<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    limits: &Limits,
    limit: Limit,
    report: &mut R,
    told: impl FnOnce() -> (String, String),
) -> Verdict {
    Ok(report.refuse(|| {
        let (message, found) = told();
        Mismatch::new(message, pattern.describe_within(limits, limit), found)
    }))
}

fn thrown<C: Reference>(pattern: &Pattern<C>, specimen: &Value<C>, complaint: Complaint) -> Box<Mismatch> {
    let mismatch = Mismatch::new(complaint.0, pattern.describe(), found(specimen));
    Box::new(Mismatch { thrown: true, ..mismatch })
}

pub(super) fn confirm<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    specimen: &Value<C>,
    report: &mut R,
) -> Verdict {
    let about = || redacted(specimen);
    match pattern.matcher() {
        Matcher::Any => Ok(true),
        Matcher::Literal(key) => confirm_literal(pattern, key, specimen, report),
        Matcher::Kind(kind) => match kind.as_bytes() {
            b"undefined" => confirm_literal(pattern, &Value::Undefined, specimen, report),
            b"null" => confirm_literal(pattern, &Value::Null, specimen, report),
            _ => confirm_kind(pattern, kind, specimen, report),
        },
        Matcher::And(parts) => {
            if let Some(number) = specimen.as_bigint().filter(|number| is_big_beyond_safe(number))
                && refine::is_exact_number(parts)
            {
                return match refine::refusing_part(parts, number) {
                    Some(part) => refuse(pattern, specimen, report, || {
                        format!("{} - Must be {}", about(), part.describe())
                    }),
                    None => Ok(true),
                };
            }
            for part in parts {
                if !confirm(part, specimen, report)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Matcher::Or(parts) => confirm_or(pattern, parts, specimen, report),
        // A negated part does not check the kind of capabilities, because their kind says nothing here.
        Matcher::Negation(part) => match confirm(part, specimen, &mut Silent { takes: None })? {
            false => Ok(true),
            true => refuse(pattern, specimen, report, || {
                format!("{} - Must fail negated pattern: (a string)", about())
            }),
        },
        Matcher::Scalar => by_complaint(pattern, specimen, report, confirm_scalar(specimen)),
        Matcher::Key => match confirm_key(specimen) {
            Ok(()) => Ok(true),
            Err(complaint) => {
                Ok(report.refuse(|| Mismatch::new(complaint.0, pattern.describe(), unlike_a_key(specimen))))
            }
        },
        Matcher::Pattern => by_complaint(pattern, specimen, report, super::confirm_pattern(specimen)),
        Matcher::Tagged(tag, payload) => match specimen {
            Value::Tagged(tagged) => {
                Ok(nested(tag, &Value::String(tagged.tag().clone()), report, || Label::note("tag"))?
                    && nested(payload, tagged.payload(), report, || Label::note("payload"))?)
            }
            _ => refuse(pattern, specimen, report, || {
                format!("Expected tagged object, not \"{}\": {}", specimen.kind(), about())
            }),
        },
        Matcher::BigInt(limits) => {
            Ok(confirm_style(pattern, "bigint", specimen, report)?
                && digits(pattern, specimen, limits, report)?)
        }
        Matcher::Nat(limits) => {
            if !confirm_style(pattern, "bigint", specimen, report)? {
                return Ok(false);
            }
            if specimen.as_bigint().is_some_and(|number| number.sign() == num_bigint::Sign::Minus) {
                return refuse(pattern, specimen, report, || format!("{} - Must be non-negative", about()));
            }
            digits(pattern, specimen, limits, report)
        }
        Matcher::String(limits) => match specimen {
            Value::String(text) if within(text.utf16_len(), limits.get(Limit::StringLength)) => Ok(true),
            Value::String(text) => refuse_excess(pattern, limits, Limit::StringLength, report, || {
                let message = format!("string {} must not be bigger than (a number)", about());
                (message, format!("a text of {} characters", text.utf16_len()))
            }),
            _ => confirm_style(pattern, "string", specimen, report),
        },
        Matcher::Symbol(limits) => match specimen {
            Value::Symbol(symbol) => {
                let limit = limits.get(Limit::SymbolNameLength);
                if within(symbol.name().utf16_len(), limit) {
                    return Ok(true);
                }
                refuse_excess(pattern, limits, Limit::SymbolNameLength, report, || {
                    let name = symbol.name();
                    let message = format!("Symbol name {} must not be bigger than (a number)", quoted(name));
                    (message, format!("a symbol of {} characters", name.utf16_len()))
                })
            }
            _ => confirm_style(pattern, "symbol", specimen, report),
        },
        Matcher::Bytes(limits) => match specimen {
            Value::Bytes(bytes) if within(bytes.len(), limits.get(Limit::ByteLength)) => Ok(true),
            Value::Bytes(_) => refuse_excess(pattern, limits, Limit::ByteLength, report, || {
                (format!("byteArray {} must not be bigger than (a number)", about()), found(specimen))
            }),
            _ => confirm_style(pattern, "byteArray", specimen, report),
        },
        Matcher::Remotable(label) => match specimen {
            Value::Remotable(remote) => Ok(check_capability(pattern, &remote.reference, report)),
            _ => not_a(pattern, "remotable", label, specimen, report),
        },
        Matcher::Promise(label) => match specimen {
            Value::Promise(_) => Ok(true),
            _ => not_a(pattern, "promise", label, specimen, report),
        },
        Matcher::Compare(comparison, key) => confirm_compare(pattern, *comparison, key, specimen, report),
        Matcher::Array(parts) => match specimen {
            Value::Array(array) if array.len() == parts.len() => {
                for (index, (part, element)) in parts.iter().zip(array.iter()).enumerate() {
                    if !nested(part, element, report, || Label::index(index))? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Value::Array(_) => refuse(pattern, specimen, report, || {
                format!("Array {} - Must be as long as copyArray pattern: (a string)", about())
            }),
            _ => refuse(pattern, specimen, report, || {
                format!("{} - Must be a copyArray to match a copyArray pattern: (a string)", about())
            }),
        },
        Matcher::Record(fields) => match specimen {
            Value::Record(record) => {
                confirm_fields(pattern, fields, &record.iter().collect::<Vec<_>>(), specimen, report)
            }
            _ => refuse(pattern, specimen, report, || {
                format!("{} - Must be a copyRecord to match a copyRecord pattern: (a string)", about())
            }),
        },
        Matcher::Map(entries) => confirm_map(pattern, entries, specimen, report),
        Matcher::ArrayOf(part, limits) => {
            let Value::Array(array) = specimen else {
                return confirm_style(pattern, "copyArray", specimen, report);
            };
            if !within(array.len(), limits.get(Limit::ArrayLength)) {
                return refuse_excess(pattern, limits, Limit::ArrayLength, report, || {
                    ("Array length (a number) must be <= limit (a number)".to_owned(), found(specimen))
                });
            }
            every(part, array, "", report)
        }
        Matcher::RecordOf(name, value, limits) => {
            let Value::Record(record) = specimen else {
                return confirm_style(pattern, "copyRecord", specimen, report);
            };
            let most = limits.get(Limit::NumProperties);
            if !within(record.len(), most) {
                return refuse_excess(pattern, limits, Limit::NumProperties, report, || {
                    let most = super::mismatch::quoted_number(most);
                    let message = format!("Must not have more than {most} properties: {}", about());
                    (message, format!("a record of {} fields", record.len()))
                });
            }
            confirm_entries(name, value, limits.get(Limit::PropertyNameLength), record, report)
        }
        Matcher::SetOf(part, limits) => {
            if !confirm_style(pattern, "copySet", specimen, report)? {
                return Ok(false);
            }
            let elements = specimen.payload_of("copySet").and_then(Value::as_array).unwrap_or_default();
            let most = limits.get(Limit::NumSetElements);
            // Here upstream requires fewer elements than the limit. Everywhere else, the limit itself is allowed.
            if !within(elements.len() + 1, most) {
                return refuse_excess(pattern, limits, Limit::NumSetElements, report, || {
                    let most = super::mismatch::quoted_number(most);
                    let message = format!("Set must not have more than {most} elements: (a number)");
                    (message, format!("a set of {} elements", elements.len()))
                });
            }
            every(part, elements, "set elements", report)
        }
        Matcher::BagOf(key, count, limits) => confirm_bag(pattern, key, count, limits, specimen, report),
        Matcher::MapOf(key, value, limits) => {
            if !confirm_style(pattern, "copyMap", specimen, report)? {
                return Ok(false);
            }
            let most = limits.get(Limit::NumMapEntries);
            let (keys, values) = map_parts(specimen);
            if !within(keys.len(), most) {
                return refuse_excess(pattern, limits, Limit::NumMapEntries, report, || {
                    let most = super::mismatch::quoted_number(most);
                    let message = format!("CopyMap must have no more than {most} entries: {}", about());
                    (message, format!("a map of {} entries", keys.len()))
                });
            }
            Ok(every(key, keys, "map keys", report)? && every(value, values, "map values", report)?)
        }
        Matcher::ContainerHas(part, count, limits) => {
            confirm_container(pattern, part, count, limits.get(Limit::DecimalDigits), specimen, report)
        }
        Matcher::SplitArray(split) => confirm_split_array(pattern, split, specimen, report),
        Matcher::SplitRecord(split) => confirm_split_record(pattern, split, specimen, report),
        Matcher::Refine(refinement) => match refine::holds(*refinement, specimen) {
            true => Ok(true),
            false => Ok(report.refuse(|| {
                let message = format!("{} - Must be {}", about(), pattern.describe());
                Mismatch::new(message, refine::expected(*refinement, specimen), found(specimen))
            })),
        },
    }
}

/// Returns whether a length is within a limit. Limits are JavaScript numbers, so lengths are compared as such.
fn within(length: usize, limit: f64) -> bool {
    length as f64 <= limit
}

fn by_complaint<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    specimen: &Value<C>,
    report: &mut R,
    outcome: Result<(), Complaint>,
) -> Verdict {
    match outcome {
        Ok(()) => Ok(true),
        Err(complaint) => refuse(pattern, specimen, report, || complaint.0),
    }
}

/// Describes a value that is not a key, with the part that is the reason.
fn unlike_a_key<C: Reference>(specimen: &Value<C>) -> String {
    match not_a_key(specimen) {
        Some(part) if !std::ptr::eq(part, specimen) => {
            format!("{} with {} in it", found(specimen), found(part))
        }
        _ => found(specimen),
    }
}

fn confirm_literal<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    key: &Value<C>,
    specimen: &Value<C>,
    report: &mut R,
) -> Verdict {
    let equal = equals(key, specimen).map_err(|complaint| thrown(pattern, specimen, complaint))?;
    if equal {
        return Ok(true);
    }
    refuse(pattern, specimen, report, || format!("{} - Must be: {}", redacted(specimen), redacted(key)))
}

/// Returns whether a specimen is the same key. The key order decides, because sets may list remotables in any order,
/// and upstream throws on maps.
pub(super) fn equals<C: Reference>(key: &Value<C>, specimen: &Value<C>) -> Result<bool, Complaint> {
    match (key, specimen) {
        (Value::Array(_), Value::Array(_))
        | (Value::Record(_), Value::Record(_))
        | (Value::Tagged(_), Value::Tagged(_)) => {
            Ok(is_key(specimen) && compare_known_keys(specimen, key)? == Some(Ordering::Equal))
        }
        _ => Ok(key == specimen),
    }
}

fn confirm_kind<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    kind: &Text,
    specimen: &Value<C>,
    report: &mut R,
) -> Verdict {
    match confirm_kind_of(specimen) {
        Ok(real) if kind == real => Ok(match specimen {
            Value::Remotable(remote) => check_capability(pattern, &remote.reference, report),
            _ => true,
        }),
        Ok(real) => Ok(report.refuse(|| {
            let message = format!("{real} {} - Must be a {}", redacted(specimen), bare(kind));
            let is_long = specimen.as_bigint().is_some_and(is_big_beyond_safe);
            let expected = match is_long && kind == "number" {
                true => "a number of at most 15 digits (`int` takes whole numbers of any size)".to_owned(),
                false => pattern.describe(),
            };
            Mismatch::new(message, expected, found(specimen))
        })),
        Err(complaint) => refuse(pattern, specimen, report, || complaint.0),
    }
}

/// Checks a kind that this crate names, as [`confirm_kind`] does. A pass style is compared first, without a look at
/// tags.
fn confirm_style<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    kind: &'static str,
    specimen: &Value<C>,
    report: &mut R,
) -> Verdict {
    if specimen.kind() == kind {
        return Ok(true);
    }
    confirm_kind(pattern, &Text::from(kind), specimen, report)
}

fn not_a<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    what: &str,
    label: &Text,
    specimen: &Value<C>,
    report: &mut R,
) -> Verdict {
    refuse(pattern, specimen, report, || {
        let kind = match specimen {
            Value::Tagged(tagged) => quoted(tagged.tag()),
            _ => specimen.kind().to_owned(),
        };
        format!("{} - Must be a {what} {}, not {kind}", redacted(specimen), bare(label))
    })
}

fn confirm_or<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    parts: &[Pattern<C>],
    specimen: &Value<C>,
    report: &mut R,
) -> Verdict {
    if parts.is_empty() {
        return refuse(pattern, specimen, report, || {
            format!("{} - no pattern disjuncts to match: (a string)", redacted(specimen))
        });
    }
    if let Some(other) = pattern.as_optional() {
        return if matches!(specimen, Value::Undefined) {
            Ok(true)
        } else {
            confirm(other, specimen, report)
        };
    }
    for part in parts {
        if confirm(part, specimen, &mut report.silent())? {
            return Ok(true);
        }
    }
    refuse(pattern, specimen, report, || format!("{} - Must match one of (a string)", redacted(specimen)))
}

/// Returns whether a number has more digits than a limit. Digits are counted as upstream does, through a double. From
/// about 10^15 on, the count may be one too high.
fn too_many_digits(number: &BigInt, limit: f64) -> bool {
    let magnitude = number.magnitude();
    let approximate = if magnitude.bits() > 1024 {
        f64::INFINITY
    } else {
        magnitude.to_string().parse::<f64>().unwrap_or(f64::INFINITY)
    };
    // A limit that is not a number lets nothing pass, as in JavaScript.
    !matches!((approximate.log10().floor() + 1.0).partial_cmp(&limit), Some(Ordering::Less | Ordering::Equal))
}

fn digits<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    specimen: &Value<C>,
    limits: &Limits,
    report: &mut R,
) -> Verdict {
    let limit = limits.get(Limit::DecimalDigits);
    match specimen.as_bigint().is_some_and(|number| too_many_digits(number, limit)) {
        false => Ok(true),
        true => refuse_excess(pattern, limits, Limit::DecimalDigits, report, || {
            let message = format!("bigint {} must not have more than (a number) digits", redacted(specimen));
            (message, found(specimen))
        }),
    }
}

fn confirm_compare<C: Reference, R: Report<C>>(
    pattern: &Pattern<C>,
    comparison: Comparison,
    key: &Value<C>,
    specimen: &Value<C>,
    report: &mut R,
) -> Verdict {
    let order = compare_keys(specimen, key).map_err(|complaint| thrown(pattern, specimen, complaint))?;
    let holds = order.is_some_and(|order| match comparison {
        Comparison::Lt => order.is_lt(),
        Comparison::Lte => order.is_le(),
        Comparison::Gte => order.is_ge(),
        Comparison::Gt => order.is_gt(),
    });
    if holds {
        return Ok(true);
    }
    refuse(pattern, specimen, report, || {
        format!("{} - Must be {} {}", redacted(specimen), comparison.sign(), redacted(key))
    })
}
