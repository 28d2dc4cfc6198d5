//! The data of a pattern: its matcher, the parts of the matcher, and its depth.

use std::sync::Arc;

use num_bigint::BigInt;

use super::limits::Limits;
use crate::text::Text;
use crate::value::{MAX_DEPTH, NoRef, Reference, Value};

/// A pattern over values with references of type `C`. Immutable and cheap to clone.
///
/// A pattern can be written as a value, whose depth is limited. A constructor that would exceed the limit returns a
/// pattern that no value matches.
pub struct Pattern<C = NoRef>(pub(super) Arc<Inner<C>>);

pub(super) struct Inner<C> {
    /// The depth of the value as which the pattern is written.
    depth: u32,
    matcher: Matcher<C>,
}

impl<C> Clone for Pattern<C> {
    fn clone(&self) -> Self {
        Pattern(Arc::clone(&self.0))
    }
}

/// The matcher of a pattern. All variants except [`Matcher::Refine`] come from Endo.
#[derive(Clone)]
pub enum Matcher<C = NoRef> {
    /// A key that the value must equal.
    Literal(Value<C>),
    /// An array of exactly these parts, not all of them literal.
    Array(Vec<Pattern<C>>),
    /// A record of exactly these fields, not all of them literal. The names are unique and in UTF-16 order.
    Record(Vec<(Text, Pattern<C>)>),
    /// A map of exactly these keys, not all values literal.
    Map(Vec<(Value<C>, Pattern<C>)>),
    /// `M.any()`
    Any,
    /// `M.and(...)`
    And(Vec<Pattern<C>>),
    /// `M.or(...)`
    Or(Vec<Pattern<C>>),
    /// `M.not(p)`
    Negation(Pattern<C>),
    /// `M.scalar()`
    Scalar,
    /// `M.key()`
    Key,
    /// `M.pattern()`
    Pattern,
    /// `M.kind(k)`, which is also `M.boolean()`, `M.number()`, `M.undefined()`, `M.error()` and the bare
    /// `M.remotable()` and `M.promise()`.
    Kind(Text),
    /// `M.tagged(tag, payload)`
    Tagged(Pattern<C>, Pattern<C>),
    /// `M.bigint(limits)`
    BigInt(Limits),
    /// `M.nat(limits)`
    Nat(Limits),
    /// `M.string(limits)`
    String(Limits),
    /// `M.symbol(limits)`
    Symbol(Limits),
    /// `M.byteArray(limits)`
    Bytes(Limits),
    /// `M.remotable(label)`
    Remotable(Text),
    /// `M.promise(label)`
    Promise(Text),
    /// `M.lt(k)`, `M.lte(k)`, `M.gte(k)` and `M.gt(k)`
    Compare(Comparison, Value<C>),
    /// `M.arrayOf(p, limits)`
    ArrayOf(Pattern<C>, Limits),
    /// `M.recordOf(names, values, limits)`
    RecordOf(Pattern<C>, Pattern<C>, Limits),
    /// `M.setOf(p, limits)`
    SetOf(Pattern<C>, Limits),
    /// `M.bagOf(keys, counts, limits)`
    BagOf(Pattern<C>, Pattern<C>, Limits),
    /// `M.containerHas(p, count, limits)`
    ContainerHas(Pattern<C>, BigInt, Limits),
    /// `M.mapOf(keys, values, limits)`
    MapOf(Pattern<C>, Pattern<C>, Limits),
    /// `M.splitArray(required, optional, rest)`
    SplitArray(SplitArray<C>),
    /// `M.splitRecord(required, optional, rest)`
    SplitRecord(SplitRecord<C>),
    /// `M.refine(name)`: the only matcher that Endo lacks, for checks that Endo's matchers cannot express.
    Refine(Refinement),
}

/// The parts of `M.splitArray`.
#[derive(Clone)]
pub struct SplitArray<C = NoRef> {
    /// The patterns of the elements that the array must have.
    pub required: Vec<Pattern<C>>,
    /// The patterns of the elements that may follow. Each may also be `undefined`.
    pub optional: Option<Vec<Pattern<C>>>,
    /// The pattern of the array of all further elements. `None` allows any further elements.
    pub rest: Option<Pattern<C>>,
}

/// The parts of `M.splitRecord`.
#[derive(Clone)]
pub struct SplitRecord<C = NoRef> {
    /// The fields that the record must have, in UTF-16 order.
    pub required: Vec<(Text, Pattern<C>)>,
    /// The fields that the record may have, in UTF-16 order. Each may also be `undefined`.
    pub optional: Option<Vec<(Text, Pattern<C>)>>,
    /// The pattern of the record of all further fields. `None` allows any further fields.
    pub rest: Option<Pattern<C>>,
}

/// One of the four comparisons by key order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Less than.
    Lt,
    /// At most.
    Lte,
    /// At least.
    Gte,
    /// Greater than.
    Gt,
}

/// A check of numbers or strings that Endo's matchers cannot express. Peers that only know Endo reject such patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refinement {
    /// A number without a fraction: a double up to 2^53, or a big integer beyond.
    Integer,
    /// A number that keeps its digits: a double, or a big integer beyond 2^53.
    Exact,
    /// A calendar date, `2026-11-20`.
    Date,
    /// A date and time with an offset, `2026-11-20T17:42:00Z`.
    DateTime,
    /// A mail address: one `@` with something on both sides, no spaces.
    Email,
    /// An absolute URI: a scheme, a colon, no spaces.
    Uri,
    /// Text over several lines. This is a hint for forms; every string matches.
    Multiline,
    /// Text that must not be shown. This is a hint for forms; every string matches.
    Secret,
}

impl<C: Reference> Pattern<C> {
    /// Returns the matcher of this pattern.
    pub fn matcher(&self) -> &Matcher<C> {
        &self.0.matcher
    }

    pub(crate) fn new(matcher: Matcher<C>) -> Self {
        let depth = depth(&matcher);
        let matcher = if depth > MAX_DEPTH { Matcher::Or(Vec::new()) } else { matcher };
        Pattern(Arc::new(Inner { depth: depth.min(MAX_DEPTH), matcher }))
    }
}

impl<C> Pattern<C> {
    /// Returns the patterns inside this one, in their order.
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

fn deepest<'a, C: 'a>(patterns: impl IntoIterator<Item = &'a Pattern<C>>) -> u32 {
    patterns.into_iter().map(|pattern| pattern.0.depth).max().unwrap_or(0)
}

/// Returns the depth of the value from [`Pattern::to_value`], without building that value.
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
