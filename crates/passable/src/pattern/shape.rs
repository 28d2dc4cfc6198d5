//! The form of a pattern as a tagged value.

use super::{Comparison, Limits, Matcher, Pattern, Refinement};
use crate::text::Text;
use crate::value::{Reference, Value};

impl Comparison {
    pub(crate) const ALL: [Comparison; 4] =
        [Comparison::Lt, Comparison::Lte, Comparison::Gte, Comparison::Gt];

    /// Returns the name of the comparison in `M.` expressions.
    pub fn name(self) -> &'static str {
        match self {
            Comparison::Lt => "lt",
            Comparison::Lte => "lte",
            Comparison::Gte => "gte",
            Comparison::Gt => "gt",
        }
    }

    /// Returns the comparison with a name, or `None` if the name is unknown.
    pub fn from_name(name: &str) -> Option<Comparison> {
        Comparison::ALL.into_iter().find(|comparison| comparison.name() == name)
    }

    /// Returns the mathematical sign of the comparison, in ASCII.
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
    pub(crate) const ALL: [Refinement; 8] = [
        Refinement::Integer,
        Refinement::Exact,
        Refinement::Date,
        Refinement::DateTime,
        Refinement::Email,
        Refinement::Uri,
        Refinement::Multiline,
        Refinement::Secret,
    ];

    /// Returns the name of the refinement in `M.refine(name)`. If JSON Schema has a format for it, the name is that
    /// of the format.
    pub fn name(self) -> &'static str {
        match self {
            Refinement::Integer => "integer",
            Refinement::Exact => "exact",
            Refinement::Date => "date",
            Refinement::DateTime => "date-time",
            Refinement::Email => "email",
            Refinement::Uri => "uri",
            Refinement::Multiline => "multiline",
            Refinement::Secret => "secret",
        }
    }

    /// Returns the refinement with a name, or `None` if the name is unknown.
    pub fn from_name(name: &str) -> Option<Refinement> {
        Refinement::ALL.into_iter().find(|refinement| refinement.name() == name)
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

/// Returns the array `[...parts, limits]`, or only the parts if no limits are set.
fn with_limits<C: Reference>(parts: impl IntoIterator<Item = Value<C>>, limits: &Limits) -> Value<C> {
    Value::array(parts.into_iter().chain(limits.to_value()))
}

impl<C: Reference> Pattern<C> {
    /// Returns the pattern as a value, for transport and storage.
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
