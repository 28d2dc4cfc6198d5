//! The value as which a pattern is written, and how deep that value is.

use super::{Comparison, Limits, Matcher, Pattern, Refinement};
use crate::text::Text;
use crate::value::{Reference, Value};

impl Comparison {
    pub(crate) const ALL: [Comparison; 4] =
        [Comparison::Lt, Comparison::Lte, Comparison::Gte, Comparison::Gt];

    /// Returns its name in `M.` expressions.
    pub fn name(self) -> &'static str {
        match self {
            Comparison::Lt => "lt",
            Comparison::Lte => "lte",
            Comparison::Gte => "gte",
            Comparison::Gt => "gt",
        }
    }

    /// Returns the comparison of a name.
    pub fn from_name(name: &str) -> Option<Comparison> {
        Comparison::ALL.into_iter().find(|comparison| comparison.name() == name)
    }

    /// Returns its mathematical sign, in ASCII.
    pub fn sign(self) -> &'static str {
        match self {
            Comparison::Lt => "<",
            Comparison::Lte => "<=",
            Comparison::Gte => ">=",
            Comparison::Gt => ">",
        }
    }
}

impl Refinement {
    pub(crate) const ALL: [Refinement; 7] = [
        Refinement::Integer,
        Refinement::Date,
        Refinement::DateTime,
        Refinement::Email,
        Refinement::Uri,
        Refinement::Multiline,
        Refinement::Secret,
    ];

    /// Returns its name in `M.refine(name)`; where JSON Schema has a format for it, the same.
    pub fn name(self) -> &'static str {
        match self {
            Refinement::Integer => "integer",
            Refinement::Date => "date",
            Refinement::DateTime => "date-time",
            Refinement::Email => "email",
            Refinement::Uri => "uri",
            Refinement::Multiline => "multiline",
            Refinement::Secret => "secret",
        }
    }

    /// Returns the refinement of a name.
    pub fn from_name(name: &str) -> Option<Refinement> {
        Refinement::ALL.into_iter().find(|refinement| refinement.name() == name)
    }
}

fn deepest<'a, C: 'a>(patterns: impl IntoIterator<Item = &'a Pattern<C>>) -> u32 {
    patterns.into_iter().map(|pattern| pattern.0.depth).max().unwrap_or(0)
}

/// Returns the depth of [`Pattern::to_value`], without making it.
pub(super) fn depth<C>(matcher: &Matcher<C>) -> u32 {
    let limited = |limits: &Limits, parts: u32| 2 + parts.max(u32::from(limits.entries().is_some()));
    match matcher {
        Matcher::Literal(value) => value.depth(),
        Matcher::Array(parts) => 1 + deepest(parts),
        Matcher::Record(fields) => 1 + deepest(fields.iter().map(|(_, pattern)| pattern)),
        Matcher::Map(entries) => {
            let keys = entries.iter().map(|(key, _)| key.depth()).max().unwrap_or(0);
            3 + keys.max(deepest(entries.iter().map(|(_, pattern)| pattern)))
        }
        Matcher::Any | Matcher::Scalar | Matcher::Key | Matcher::Pattern | Matcher::Kind(_) => 1,
        Matcher::Refine(_) => 1,
        Matcher::And(parts) | Matcher::Or(parts) => 2 + deepest(parts),
        Matcher::Negation(part) => 1 + deepest([part]),
        Matcher::Tagged(tag, payload) => 2 + deepest([tag, payload]),
        Matcher::BigInt(limits)
        | Matcher::Nat(limits)
        | Matcher::String(limits)
        | Matcher::Symbol(limits)
        | Matcher::Bytes(limits) => limited(limits, 0),
        Matcher::Remotable(_) | Matcher::Promise(_) => 2,
        Matcher::Compare(_, key) => 1 + key.depth(),
        Matcher::ArrayOf(part, limits) | Matcher::SetOf(part, limits) => limited(limits, deepest([part])),
        Matcher::ContainerHas(part, _, limits) => limited(limits, deepest([part])),
        Matcher::RecordOf(one, two, limits)
        | Matcher::BagOf(one, two, limits)
        | Matcher::MapOf(one, two, limits) => limited(limits, deepest([one, two])),
        Matcher::SplitArray(split) => {
            let parts = deepest(split.required.iter().chain(split.optional.iter().flatten()));
            2 + (1 + parts).max(deepest(&split.rest))
        }
        Matcher::SplitRecord(split) => {
            let fields = split.required.iter().chain(split.optional.iter().flatten());
            2 + (1 + deepest(fields.map(|(_, pattern)| pattern))).max(deepest(&split.rest))
        }
    }
}

impl<C> Pattern<C> {
    /// Returns the patterns that make up this one, in their order.
    pub(super) fn parts(&self) -> Vec<&Pattern<C>> {
        match &self.0.matcher {
            Matcher::Array(parts) | Matcher::And(parts) | Matcher::Or(parts) => parts.iter().collect(),
            Matcher::Record(fields) => fields.iter().map(|(_, part)| part).collect(),
            Matcher::Map(entries) => entries.iter().map(|(_, part)| part).collect(),
            Matcher::Tagged(one, two)
            | Matcher::RecordOf(one, two, _)
            | Matcher::BagOf(one, two, _)
            | Matcher::MapOf(one, two, _) => vec![one, two],
            Matcher::Negation(part)
            | Matcher::ArrayOf(part, _)
            | Matcher::SetOf(part, _)
            | Matcher::ContainerHas(part, ..) => vec![part],
            Matcher::SplitArray(split) => {
                split.required.iter().chain(split.optional.iter().flatten()).chain(&split.rest).collect()
            }
            Matcher::SplitRecord(split) => {
                let fields = split.required.iter().chain(split.optional.iter().flatten());
                fields.map(|(_, part)| part).chain(&split.rest).collect()
            }
            Matcher::Literal(_)
            | Matcher::Any
            | Matcher::Scalar
            | Matcher::Key
            | Matcher::Pattern
            | Matcher::Kind(_)
            | Matcher::BigInt(_)
            | Matcher::Nat(_)
            | Matcher::String(_)
            | Matcher::Symbol(_)
            | Matcher::Bytes(_)
            | Matcher::Remotable(_)
            | Matcher::Promise(_)
            | Matcher::Compare(..)
            | Matcher::Refine(_) => vec![],
        }
    }
}

fn array<C: Reference>(parts: &[Pattern<C>]) -> Value<C> {
    Value::array(parts.iter().map(Pattern::to_value))
}

fn record<C: Reference>(fields: &[(Text, Pattern<C>)]) -> Value<C> {
    let fields = fields.iter().map(|(name, pattern)| (name.clone(), pattern.to_value()));
    // Names are unique in every pattern, and the depth of every pattern is bounded.
    Value::record(fields).unwrap_or_else(|_| Value::too_deep())
}

/// `[...parts, limits?]`
fn with_limits<C: Reference>(parts: impl IntoIterator<Item = Value<C>>, limits: &Limits) -> Value<C> {
    Value::array(parts.into_iter().chain(limits.to_value()))
}

impl<C: Reference> Pattern<C> {
    /// Returns the value as which the pattern travels and is stored.
    pub fn to_value(&self) -> Value<C> {
        let tagged = |name: &str, payload| Value::tagged(format!("match:{name}"), payload);
        let labelled = |label: &Text| record_of("label", Value::String(label.clone()));
        match self.matcher() {
            Matcher::Literal(value) => value.clone(),
            Matcher::Array(parts) => array(parts),
            Matcher::Record(fields) => record(fields),
            Matcher::Map(entries) => {
                let keys = Value::array(entries.iter().map(|(key, _)| key.clone()));
                let values = Value::array(entries.iter().map(|(_, pattern)| pattern.to_value()));
                let payload = Value::record([("keys", keys), ("values", values)]);
                Value::tagged("copyMap", payload.unwrap_or_else(|_| Value::too_deep()))
            }
            Matcher::Any => tagged("any", Value::Undefined),
            Matcher::Scalar => tagged("scalar", Value::Undefined),
            Matcher::Key => tagged("key", Value::Undefined),
            Matcher::Pattern => tagged("pattern", Value::Undefined),
            Matcher::And(parts) => tagged("and", array(parts)),
            Matcher::Or(parts) => tagged("or", array(parts)),
            Matcher::Negation(part) => tagged("not", part.to_value()),
            Matcher::Kind(kind) => tagged("kind", Value::String(kind.clone())),
            Matcher::Tagged(tag, payload) => {
                tagged("tagged", Value::array([tag.to_value(), payload.to_value()]))
            }
            Matcher::BigInt(limits) => tagged("bigint", with_limits([], limits)),
            Matcher::Nat(limits) => tagged("nat", with_limits([], limits)),
            Matcher::String(limits) => tagged("string", with_limits([], limits)),
            Matcher::Symbol(limits) => tagged("symbol", with_limits([], limits)),
            Matcher::Bytes(limits) => tagged("byteArray", with_limits([], limits)),
            Matcher::Remotable(label) => tagged("remotable", labelled(label)),
            Matcher::Promise(label) => tagged("promise", labelled(label)),
            Matcher::Compare(comparison, key) => tagged(comparison.name(), key.clone()),
            Matcher::ArrayOf(part, limits) => tagged("arrayOf", with_limits([part.to_value()], limits)),
            Matcher::SetOf(part, limits) => tagged("setOf", with_limits([part.to_value()], limits)),
            Matcher::RecordOf(one, two, limits) => {
                tagged("recordOf", with_limits([one.to_value(), two.to_value()], limits))
            }
            Matcher::BagOf(one, two, limits) => {
                tagged("bagOf", with_limits([one.to_value(), two.to_value()], limits))
            }
            Matcher::MapOf(one, two, limits) => {
                tagged("mapOf", with_limits([one.to_value(), two.to_value()], limits))
            }
            Matcher::ContainerHas(part, count, limits) => {
                tagged("containerHas", with_limits([part.to_value(), Value::bigint(count.clone())], limits))
            }
            Matcher::SplitArray(split) => {
                let optional = split.optional.as_deref().or(split.rest.as_ref().map(|_| &[][..])).map(array);
                let rest = split.rest.as_ref().map(Pattern::to_value);
                tagged(
                    "splitArray",
                    Value::array([array(&split.required)].into_iter().chain(optional).chain(rest)),
                )
            }
            Matcher::SplitRecord(split) => {
                let optional = split.optional.as_deref().or(split.rest.as_ref().map(|_| &[][..])).map(record);
                let rest = split.rest.as_ref().map(Pattern::to_value);
                tagged(
                    "splitRecord",
                    Value::array([record(&split.required)].into_iter().chain(optional).chain(rest)),
                )
            }
            Matcher::Refine(refinement) => tagged("refine", Value::string(refinement.name())),
        }
    }
}

/// Returns a record of one field.
fn record_of<C>(name: &str, value: Value<C>) -> Value<C> {
    Value::record([(name, value)]).unwrap_or_else(|_| Value::too_deep())
}
