//! The description of a pattern in one plain line of English.

use super::mismatch::{found, number_text};
use super::{Comparison, Limit, Limits, Matcher, Pattern, Refinement};
use crate::keys::kind_of;
use crate::text::Text;
use crate::value::{Reference, Value};
use crate::visible::visible_line;

/// The maximum depth of a description. Deeper parts are described as "…".
const MAX_DEPTH: usize = 4;

/// The maximum number of choices that are all described.
const MAX_CHOICES: usize = 50;

/// The number of choices that are described if there are more.
const PREVIEW_CHOICES: usize = 20;

impl<C: Reference> Pattern<C> {
    /// Describes the pattern in one line that is safe to show, the same on all surfaces.
    ///
    /// ```
    /// use passable::Pattern;
    /// let pattern: Pattern = Pattern::array_of(Pattern::between(1.0, 5.0));
    /// assert_eq!(pattern.describe(), "a list of numbers from 1 to 5");
    /// ```
    pub fn describe(&self) -> String {
        describe(self, 0)
    }
}

impl<C: Reference> Value<C> {
    /// Describes the kind of the value, in the words in which patterns are described.
    ///
    /// ```
    /// use passable::{NoRef, Value};
    /// assert_eq!(Value::<NoRef>::array([]).in_words(), "a list");
    /// ```
    pub fn in_words(&self) -> String {
        kind(kind_of(self).unwrap_or(self.kind()))
    }
}

impl<C: Reference> Pattern<C> {
    /// Describes the pattern together with one of its limits, even if that limit is the default.
    pub(super) fn describe_within(&self, limits: &Limits, of: Limit) -> String {
        let said = self.describe();
        match limits.own(of) {
            Some(_) => said,
            None => format!("{said}{}", at_most(of, limits.get(of))),
        }
    }
}

impl<C: Reference> Value<C> {
    /// Returns the value as people read it, all of it in one line that is safe to show.
    ///
    /// ```
    /// use passable::{NoRef, Value};
    /// let value = Value::<NoRef>::parse("{ a: [3n, 'x', undefined, null, true], b: makeCopySet([1]) }")?;
    /// assert_eq!(value.in_line(), r#"{a: [3, "x", nothing, null, true], b: a set of [1]}"#);
    /// # Ok::<(), passable::PatternError>(())
    /// ```
    pub fn in_line(&self) -> String {
        let list = |elements: &[Value<C>]| {
            format!("[{}]", elements.iter().map(Value::in_line).collect::<Vec<_>>().join(", "))
        };
        match self {
            Value::Undefined => "nothing".to_owned(),
            Value::Array(array) => list(array),
            Value::Record(record) => {
                let field =
                    |(name, value): &(Text, Value<C>)| format!("{}: {}", shown(name), value.in_line());
                format!("{{{}}}", record.iter().map(field).collect::<Vec<_>>().join(", "))
            }
            Value::Tagged(tagged) => match (tagged.tag().as_str(), tagged.payload()) {
                (Some("copySet"), Value::Array(elements)) => format!("a set of {}", list(elements)),
                (_, payload) => format!("{} of {}", found(self), payload.in_line()),
            },
            other => literal(other),
        }
    }
}

/// Returns a literal as users read it.
pub(crate) fn literal<C: Reference>(value: &Value<C>) -> String {
    match value {
        Value::String(text) => format!("\"{}\"", visible_line(&text.to_str_lossy())),
        Value::Number(number) => number_text(*number),
        Value::BigInt(number) => number.to_string(),
        Value::Array(array) if array.len() <= 4 => {
            format!("[{}]", array.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Record(record) if record.len() <= 4 => {
            let field = |(name, value): &(Text, Value<C>)| format!("{}: {}", shown(name), literal(value));
            format!("{{{}}}", record.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        other => found(other),
    }
}

/// Returns a literal in words. If a number is among all literals, a big integer is named as such.
pub(super) fn distinct_label<C: Reference>(all: &[Value<C>], value: &Value<C>) -> String {
    let numbers = all.iter().any(|one| matches!(one, Value::Number(_)));
    match value {
        Value::BigInt(number) if numbers => format!("{number} (a big integer)"),
        value => literal(value),
    }
}

/// Returns a description with the label of the capability behind it, if it has one.
fn labelled(what: &str, label: &Text) -> String {
    match shown(label) {
        label if label.is_empty() => what.to_owned(),
        label => format!("{what} ({label})"),
    }
}

fn shown(name: &Text) -> String {
    visible_line(&name.to_str_lossy()).into_owned()
}

fn join(parts: &[String], last: &str) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., final_part] => format!("{} {last} {final_part}", others.join(", ")),
    }
}

/// Returns the plural of a description, for lists: "a number" becomes "numbers", and "text" becomes "texts".
fn plural<C: Reference>(pattern: &Pattern<C>, level: usize) -> String {
    let one = describe(pattern, level);
    let ends = [", 0 or more", " (", " from "];
    let (head, tail) = match ends.iter().find_map(|end| one.split_once(end)) {
        Some((head, _)) => one.split_at(head.len()),
        None => (one.as_str(), ""),
    };
    match head.strip_prefix("a ").or(head.strip_prefix("an ")) {
        Some("capability") => format!("capabilities{tail}"),
        Some(noun) if !noun.contains(' ') || noun == "whole number" => format!("{noun}s{tail}"),
        _ if head == "text" => format!("texts{tail}"),
        _ if head == "anything" => "anything".to_owned(),
        _ => format!("elements that are each {one}"),
    }
}

fn fields<C: Reference>(fields: &[(Text, Pattern<C>)], mark: &str, level: usize) -> Vec<String> {
    let part = |(name, pattern): &(Text, Pattern<C>)| {
        let (optional, pattern) = match pattern.as_optional() {
            Some(inner) => ("?", inner),
            None => (mark, pattern),
        };
        format!("{}{optional}: {}", shown(name), describe(pattern, level + 1))
    };
    fields.iter().map(part).collect()
}

fn limit(limits: &Limits, limit: Limit) -> String {
    limits.own(limit).map(|most| at_most(limit, most)).unwrap_or_default()
}

fn at_most(limit: Limit, most: f64) -> String {
    let unit = match limit {
        Limit::DecimalDigits => "digits",
        Limit::StringLength | Limit::SymbolNameLength | Limit::PropertyNameLength => "characters",
        Limit::NumProperties => "fields",
        Limit::ByteLength => "bytes",
        Limit::ArrayLength | Limit::NumSetElements | Limit::NumUniqueBagElements => "elements",
        Limit::NumMapEntries => "entries",
    };
    format!(" (at most {} {unit})", number_text(most))
}

/// Returns the description of one of several patterns, told apart from the others.
pub(super) fn among<C: Reference>(all: &[Pattern<C>], part: &Pattern<C>, level: usize) -> String {
    let is_kind =
        |part: &Pattern<C>, name: &str| matches!(part.matcher(), Matcher::Kind(kind) if kind == name);
    let is_big = is_kind(part, "bigint") || matches!(part.matcher(), Matcher::BigInt(_) | Matcher::Nat(_));
    let is_number = |part: &Pattern<C>| match part.matcher() {
        Matcher::And(parts) => bounds(parts).is_some(),
        Matcher::Refine(Refinement::Integer | Refinement::Exact) => true,
        _ => is_kind(part, "number"),
    };
    let said = describe(part, level);
    match is_big && all.iter().any(is_number) {
        true => said.replacen("whole number", "big integer", 1),
        false => said,
    }
}

fn kind(name: &str) -> String {
    match name {
        "undefined" => "nothing",
        "null" => "null",
        "boolean" => "true or false",
        "number" => "a number",
        "bigint" => "a whole number",
        "string" => "text",
        "symbol" => "a symbol",
        "byteArray" => "bytes",
        "copyArray" => "a list",
        "copyRecord" => "a record",
        "copySet" => "a set",
        "copyBag" => "a bag",
        "copyMap" => "a map",
        "tagged" => "a tagged value",
        "error" => "an error",
        "remotable" => "a capability",
        "promise" => "a promise",
        other => return format!("a value of kind {}", visible_line(other)),
    }
    .to_owned()
}

/// The bounds of a pattern such as `M.and(M.number(), M.gte(a), M.lte(b))`.
struct Bounds {
    base: Option<&'static str>,
    low: Option<(f64, bool)>,
    high: Option<(f64, bool)>,
}

fn bounds<C: Reference>(parts: &[Pattern<C>]) -> Option<Bounds> {
    let mut bounds = Bounds { base: None, low: None, high: None };
    for part in parts {
        match part.matcher() {
            Matcher::Refine(Refinement::Exact) => bounds.base = bounds.base.or(Some("a number")),
            Matcher::Kind(kind) if kind == "number" => {
                bounds.base = bounds.base.or(Some("a number"));
            }
            Matcher::Refine(Refinement::Integer) => bounds.base = Some("a whole number"),
            Matcher::Compare(comparison, Value::Number(bound)) => match comparison {
                Comparison::Gte if bounds.low.is_none() => bounds.low = Some((*bound, true)),
                Comparison::Gt if bounds.low.is_none() => bounds.low = Some((*bound, false)),
                Comparison::Lte if bounds.high.is_none() => bounds.high = Some((*bound, true)),
                Comparison::Lt if bounds.high.is_none() => bounds.high = Some((*bound, false)),
                _ => return None,
            },
            _ => return None,
        }
    }
    bounds.base.is_some().then_some(bounds)
}

fn describe_and<C: Reference>(parts: &[Pattern<C>], level: usize) -> String {
    if let Some(Bounds { base: Some(base), low, high }) = bounds(parts) {
        let least = |(bound, included)| {
            let sign = if included { "at least" } else { "more than" };
            format!("{sign} {}", number_text(bound))
        };
        let most = |(bound, included)| {
            let sign = if included { "at most" } else { "less than" };
            format!("{sign} {}", number_text(bound))
        };
        return match (low, high) {
            (None, None) => base.to_owned(),
            (Some((low, true)), Some((high, true))) => {
                format!("{base} from {} to {}", number_text(low), number_text(high))
            }
            (Some(low), None) => format!("{base} ({})", least(low)),
            (None, Some(high)) => format!("{base} ({})", most(high)),
            (Some(low), Some(high)) => format!("{base} ({}, {})", least(low), most(high)),
        };
    }
    let refined: Vec<Refinement> = parts
        .iter()
        .filter_map(|part| match part.matcher() {
            Matcher::Refine(refinement) => Some(*refinement),
            _ => None,
        })
        .collect();
    // A refinement says more than the plain string or number that stands beside it.
    let plain = |part: &Pattern<C>| match part.matcher() {
        Matcher::String(limits) => limits.entries().is_none(),
        Matcher::Kind(kind) => kind == "number" || kind == "string",
        _ => false,
    };
    let mut told: Vec<String> = Vec::new();
    for part in parts.iter().filter(|part| refined.is_empty() || !plain(part)) {
        let said = describe(part, level + 1);
        if !told.contains(&said) {
            told.push(said);
        }
    }
    match told.as_slice() {
        [] => "anything".to_owned(),
        told => join(told, "and"),
    }
}

fn describe<C: Reference>(pattern: &Pattern<C>, level: usize) -> String {
    if level > MAX_DEPTH {
        return "…".to_owned();
    }
    let inner = |part: &Pattern<C>| describe(part, level + 1);
    match pattern.matcher() {
        Matcher::Literal(value) => match value {
            Value::Undefined => "nothing".to_owned(),
            Value::Record(record) if record.is_empty() => "an empty record".to_owned(),
            Value::Array(array) if array.is_empty() => "an empty list".to_owned(),
            value => literal(value),
        },
        Matcher::Array(parts) => {
            format!("a list of exactly {}", join(&parts.iter().map(inner).collect::<Vec<_>>(), "then"))
        }
        Matcher::Record(own) => format!("a record of {}", join(&fields(own, "", level), "and")),
        Matcher::Map(entries) => {
            let entry = |(key, part): &(Value<C>, Pattern<C>)| format!("{} → {}", literal(key), inner(part));
            format!("a map of {}", join(&entries.iter().map(entry).collect::<Vec<_>>(), "and"))
        }
        Matcher::Any => "anything".to_owned(),
        Matcher::And(parts) => describe_and(parts, level),
        Matcher::Or(parts) => match (pattern.as_optional(), parts.as_slice()) {
            (Some(other), _) => format!("{} (may be left out)", inner(other)),
            (None, []) => "nothing that exists".to_owned(),
            (None, parts) => {
                let all_literal = parts.iter().all(|part| part.as_literal().is_some());
                // A user with a thousand choices searches them, and does not read this line.
                let more = if parts.len() > MAX_CHOICES { parts.len() - PREVIEW_CHOICES } else { 0 };
                let values: Vec<Value<C>> =
                    parts.iter().filter_map(|part| part.as_literal().cloned()).collect();
                let one = |part: &Pattern<C>| match part.as_literal() {
                    Some(value @ Value::BigInt(_)) => distinct_label(&values, value),
                    _ => among(parts, part, level + 1),
                };
                let mut told: Vec<String> = parts.iter().take(parts.len() - more).map(one).collect();
                if more > 0 {
                    told.push(format!("{more} others"));
                }
                let told = join(&told, "or");
                if all_literal { format!("one of {told}") } else { told }
            }
        },
        Matcher::Negation(part) => format!("anything but {}", inner(part)),
        Matcher::Scalar => "a single value (not a list or record)".to_owned(),
        Matcher::Key => "a key (comparable, no promises or errors)".to_owned(),
        Matcher::Pattern => "a pattern".to_owned(),
        Matcher::Kind(name) => kind(&name.to_str_lossy()),
        Matcher::Tagged(tag, payload) => {
            format!("something tagged {} with a payload of {}", inner(tag), inner(payload))
        }
        Matcher::BigInt(limits) => format!("a whole number{}", limit(limits, Limit::DecimalDigits)),
        Matcher::Nat(limits) => format!("a whole number, 0 or more{}", limit(limits, Limit::DecimalDigits)),
        Matcher::String(limits) => format!("text{}", limit(limits, Limit::StringLength)),
        Matcher::Symbol(limits) => format!("a symbol{}", limit(limits, Limit::SymbolNameLength)),
        Matcher::Bytes(limits) => format!("bytes{}", limit(limits, Limit::ByteLength)),
        Matcher::Remotable(label) => labelled("a capability", label),
        Matcher::Promise(label) => labelled("a promise", label),
        Matcher::Compare(comparison, key) => match key {
            Value::String(_) => {
                let words = match comparison {
                    Comparison::Lt => "text that sorts before",
                    Comparison::Lte => "text that sorts up to",
                    Comparison::Gte => "text that sorts from",
                    Comparison::Gt => "text that sorts after",
                };
                format!("{words} {}", literal(key))
            }
            _ => {
                let words = match comparison {
                    Comparison::Lt => "less than",
                    Comparison::Lte => "at most",
                    Comparison::Gte => "at least",
                    Comparison::Gt => "more than",
                };
                format!("{words} {}", literal(key))
            }
        },
        Matcher::ArrayOf(part, limits) => {
            format!("a list of {}{}", plural(part, level + 1), limit(limits, Limit::ArrayLength))
        }
        Matcher::SetOf(part, limits) => {
            format!("a set of {}{}", plural(part, level + 1), limit(limits, Limit::NumSetElements))
        }
        Matcher::BagOf(key, count, limits) => {
            let counted = match count.matcher() {
                Matcher::Any => ", each counted".to_owned(),
                _ => format!(", each counted ({})", inner(count)),
            };
            format!(
                "a bag of {}{counted}{}",
                plural(key, level + 1),
                limit(limits, Limit::NumUniqueBagElements)
            )
        }
        Matcher::RecordOf(name, value, limits) => {
            let names = match name.matcher() {
                Matcher::Any => String::new(),
                Matcher::String(limits) if limits.entries().is_none() => String::new(),
                _ => format!(" with names that are {}", inner(name)),
            };
            let most = limit(limits, Limit::NumProperties);
            match value.matcher() {
                Matcher::Any => format!("a record{names}{most}"),
                _ => format!("a record{names} whose values are {}{most}", plural(value, level + 1)),
            }
        }
        Matcher::MapOf(key, value, limits) => format!(
            "a map from {} to {}{}",
            plural(key, level + 1),
            plural(value, level + 1),
            limit(limits, Limit::NumMapEntries)
        ),
        Matcher::ContainerHas(part, count, _) => {
            format!("a collection with at least {count} of: {}", inner(part))
        }
        Matcher::SplitArray(split) => {
            let mut parts: Vec<String> = split.required.iter().map(inner).collect();
            let optional = split.optional.iter().flatten();
            parts.extend(optional.map(|part| format!("optionally {}", inner(part))));
            match &split.rest {
                None => parts.push("any others".to_owned()),
                Some(rest) if rest.as_literal().is_some() => {}
                Some(rest) => parts.push(format!("others ({})", inner(rest))),
            }
            format!("a list of {}", join(&parts, "then"))
        }
        Matcher::SplitRecord(split) => {
            let mut parts = fields(&split.required, "", level);
            parts.extend(split.optional.iter().flat_map(|optional| fields(optional, "?", level)));
            match &split.rest {
                None => parts.push("any others".to_owned()),
                Some(rest) if rest.as_literal().is_some() => {}
                Some(rest) => parts.push(format!("others ({})", inner(rest))),
            }
            format!("a record of {}", join(&parts, "and"))
        }
        Matcher::Refine(refinement) => match refinement {
            Refinement::Integer => "a whole number",
            Refinement::Exact => "a number",
            Refinement::Date => "a date (YYYY-MM-DD)",
            Refinement::DateTime => "a date and time (RFC 3339)",
            Refinement::Email => "a mail address",
            Refinement::Uri => "an absolute URI",
            Refinement::Multiline => "text of several lines",
            Refinement::Secret => "a secret",
        }
        .to_owned(),
    }
}
