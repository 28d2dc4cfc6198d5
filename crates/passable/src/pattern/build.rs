//! The constructors of patterns, named as in `M.`.

use num_bigint::BigInt;

use super::{Comparison, Limits, Matcher, Pattern, Refinement, SplitArray, SplitRecord};
use crate::keys::{Complaint, confirm_key};
use crate::text::Text;
use crate::value::{Reference, Value, ValueError};

/// Returns fields sorted by name. Of two fields with the same name, the later one is dropped.
fn sorted<C: Reference, N: Into<Text>>(
    fields: impl IntoIterator<Item = (N, Pattern<C>)>,
) -> Vec<(Text, Pattern<C>)> {
    let mut fields: Vec<_> = fields.into_iter().map(|(name, pattern)| (name.into(), pattern)).collect();
    fields.sort_by(|(left, _), (right, _)| left.cmp(right));
    fields.dedup_by(|later, earlier| later.0 == earlier.0);
    fields
}

/// Returns the literal values of patterns, if all of them are literals.
fn literals<'a, C: Reference + 'a>(
    patterns: impl IntoIterator<Item = &'a Pattern<C>>,
) -> Option<Vec<Value<C>>> {
    patterns.into_iter().map(|pattern| pattern.as_literal().cloned()).collect()
}

impl<C: Reference> Pattern<C> {
    /// Returns the pattern that every value matches.
    pub fn any() -> Self {
        Self::new(Matcher::Any)
    }

    /// Returns the pattern of values that match every part.
    pub fn and(parts: impl IntoIterator<Item = Pattern<C>>) -> Self {
        Self::new(Matcher::And(parts.into_iter().collect()))
    }

    /// Returns the pattern of values that match some part.
    pub fn or(parts: impl IntoIterator<Item = Pattern<C>>) -> Self {
        Self::new(Matcher::Or(parts.into_iter().collect()))
    }

    /// Returns the pattern of values that do not match the part.
    #[allow(clippy::should_implement_trait, reason = "named as the matcher that it makes")]
    pub fn not(part: Pattern<C>) -> Self {
        Self::new(Matcher::Negation(part))
    }

    /// Returns the pattern of an atom or a remotable.
    pub fn scalar() -> Self {
        Self::new(Matcher::Scalar)
    }

    /// Returns the pattern of a key.
    pub fn key() -> Self {
        Self::new(Matcher::Key)
    }

    /// Returns the pattern of a value that is a pattern itself.
    #[allow(clippy::self_named_constructors, reason = "named as the matcher that it makes")]
    pub fn pattern() -> Self {
        Self::new(Matcher::Pattern)
    }

    /// Returns the pattern of exactly this kind: a pass style, or a known tag such as `copySet`.
    pub fn kind(kind: impl Into<Text>) -> Self {
        Self::new(Matcher::Kind(kind.into()))
    }

    /// Returns the pattern of a boolean.
    pub fn bool() -> Self {
        Self::kind("boolean")
    }

    /// Returns the pattern of a number, including NaN and the infinities.
    pub fn number() -> Self {
        Self::kind("number")
    }

    /// Returns the pattern of a whole number.
    pub fn integer() -> Self {
        Self::and([Self::number(), Self::refine(Refinement::Integer)])
    }

    /// Returns the pattern of an error.
    pub fn error() -> Self {
        Self::kind("error")
    }

    /// Returns the pattern of `undefined`.
    pub fn undefined() -> Self {
        Self::kind("undefined")
    }

    /// Returns the pattern of `null`.
    pub fn null() -> Self {
        Self::new(Matcher::Literal(Value::Null))
    }

    /// Returns the pattern of a big integer of at most 100 digits.
    pub fn bigint() -> Self {
        Self::bigint_within(Limits::none())
    }

    /// Returns the pattern of a big integer within limits.
    pub fn bigint_within(limits: Limits) -> Self {
        Self::new(Matcher::BigInt(limits))
    }

    /// Returns the pattern of a big integer of at most 100 digits that is not negative.
    pub fn nat() -> Self {
        Self::nat_within(Limits::none())
    }

    /// Returns the pattern of a big integer within limits that is not negative.
    pub fn nat_within(limits: Limits) -> Self {
        Self::new(Matcher::Nat(limits))
    }

    /// Returns the pattern of a string of at most 100,000 UTF-16 units.
    pub fn string() -> Self {
        Self::string_within(Limits::none())
    }

    /// Returns the pattern of a string within limits.
    pub fn string_within(limits: Limits) -> Self {
        Self::new(Matcher::String(limits))
    }

    /// Returns the pattern of a symbol.
    pub fn symbol() -> Self {
        Self::symbol_within(Limits::none())
    }

    /// Returns the pattern of a symbol within limits.
    pub fn symbol_within(limits: Limits) -> Self {
        Self::new(Matcher::Symbol(limits))
    }

    /// Returns the pattern of at most 100,000 bytes.
    pub fn bytes() -> Self {
        Self::bytes_within(Limits::none())
    }

    /// Returns the pattern of bytes within limits.
    pub fn bytes_within(limits: Limits) -> Self {
        Self::new(Matcher::Bytes(limits))
    }

    /// Returns the pattern of a tagged value whose tag and payload match.
    pub fn tagged(tag: Pattern<C>, payload: Pattern<C>) -> Self {
        Self::new(Matcher::Tagged(tag, payload))
    }

    /// Returns the pattern of any remotable.
    pub fn any_remotable() -> Self {
        Self::kind("remotable")
    }

    /// Returns the pattern of a remotable, with a label that names its kind. The label is for messages and pickers.
    pub fn remotable(label: impl Into<Text>) -> Self {
        Self::new(Matcher::Remotable(label.into()))
    }

    /// Returns the pattern of any promise.
    pub fn any_promise() -> Self {
        Self::kind("promise")
    }

    /// Returns the pattern of a promise, with a label that names its purpose.
    pub fn promise(label: impl Into<Text>) -> Self {
        Self::new(Matcher::Promise(label.into()))
    }

    /// Returns the pattern of values that stand in an order to a key. Refuses an operand that is not a key.
    pub fn compare(comparison: Comparison, key: Value<C>) -> Result<Self, Complaint> {
        confirm_key(&key)?;
        Ok(Self::new(Matcher::Compare(comparison, key)))
    }

    /// Returns the pattern of a number from `low` to `high`, both included.
    pub fn between(low: f64, high: f64) -> Self {
        Self::and([
            Self::number(),
            Self::new(Matcher::Compare(Comparison::Gte, Value::Number(low))),
            Self::new(Matcher::Compare(Comparison::Lte, Value::Number(high))),
        ])
    }

    /// Returns the pattern of exactly this key. Refuses a value that is not a key.
    pub fn literal(key: Value<C>) -> Result<Self, Complaint> {
        confirm_key(&key)?;
        Ok(Self::new(Matcher::Literal(key)))
    }

    /// Returns the pattern of exactly this text.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::new(Matcher::Literal(Value::String(text.into())))
    }

    /// Returns the pattern of any of these texts.
    pub fn one_of<T: Into<Text>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::or(texts.into_iter().map(Self::text))
    }

    /// Returns the pattern of `undefined` or a value that matches.
    pub fn opt(part: Pattern<C>) -> Self {
        Self::or([Self::undefined(), part])
    }

    /// Returns the pattern of a value that matches, or a promise.
    pub fn eref(part: Pattern<C>) -> Self {
        Self::or([part, Self::any_promise()])
    }

    /// Returns the pattern of any array.
    pub fn array() -> Self {
        Self::array_of(Self::any())
    }

    /// Returns the pattern of an array of at most 10,000 elements that all match.
    pub fn array_of(part: Pattern<C>) -> Self {
        Self::array_of_within(part, Limits::none())
    }

    /// Returns the pattern of an array within limits whose elements all match.
    pub fn array_of_within(part: Pattern<C>, limits: Limits) -> Self {
        Self::new(Matcher::ArrayOf(part, limits))
    }

    /// Returns the pattern of an array of exactly these elements.
    pub fn tuple(parts: impl IntoIterator<Item = Pattern<C>>) -> Self {
        let parts: Vec<_> = parts.into_iter().collect();
        match literals(&parts).map(Value::try_array) {
            Some(Ok(literal)) => Self::new(Matcher::Literal(literal)),
            _ => Self::new(Matcher::Array(parts)),
        }
    }

    /// Returns the pattern of any record of at most 80 fields.
    pub fn any_record() -> Self {
        Self::record_of(Self::any(), Self::any())
    }

    /// Returns the pattern of a record of at most 80 fields whose names and values all match.
    pub fn record_of(name: Pattern<C>, value: Pattern<C>) -> Self {
        Self::record_of_within(name, value, Limits::none())
    }

    /// Returns the pattern of a record within limits whose names and values all match.
    pub fn record_of_within(name: Pattern<C>, value: Pattern<C>, limits: Limits) -> Self {
        Self::new(Matcher::RecordOf(name, value, limits))
    }

    /// Returns the pattern of a record of exactly these fields. Refuses a name that occurs twice.
    pub fn record<N: Into<Text>>(
        fields: impl IntoIterator<Item = (N, Pattern<C>)>,
    ) -> Result<Self, ValueError> {
        let mut fields: Vec<(Text, Pattern<C>)> =
            fields.into_iter().map(|(name, pattern)| (name.into(), pattern)).collect();
        fields.sort_by(|(left, _), (right, _)| left.cmp(right));
        if let Some([(name, _), _]) = fields.array_windows().find(|[left, right]| left.0 == right.0) {
            return Err(ValueError::DuplicateName(name.clone()));
        }
        Ok(Self::record_of_sorted(fields))
    }

    pub(super) fn record_of_sorted(fields: Vec<(Text, Pattern<C>)>) -> Self {
        match literals(fields.iter().map(|(_, pattern)| pattern)) {
            Some(values) => {
                let names = fields.into_iter().map(|(name, _)| name);
                let record = Value::try_record(names.zip(values).collect());
                Self::new(Matcher::Literal(record.unwrap_or_else(|_| Value::too_deep())))
            }
            None => Self::new(Matcher::Record(fields)),
        }
    }

    /// Returns the pattern of a set of keys that all match.
    pub fn set_of(part: Pattern<C>) -> Self {
        Self::set_of_within(part, Limits::none())
    }

    /// Returns the pattern of a set within limits.
    pub fn set_of_within(part: Pattern<C>, limits: Limits) -> Self {
        Self::new(Matcher::SetOf(part, limits))
    }

    /// Returns the pattern of a bag whose keys and counts all match.
    pub fn bag_of(key: Pattern<C>, count: Pattern<C>) -> Self {
        Self::bag_of_within(key, count, Limits::none())
    }

    /// Returns the pattern of a bag within limits.
    pub fn bag_of_within(key: Pattern<C>, count: Pattern<C>, limits: Limits) -> Self {
        Self::new(Matcher::BagOf(key, count, limits))
    }

    /// Returns the pattern of a map whose keys and values all match.
    pub fn map_of(key: Pattern<C>, value: Pattern<C>) -> Self {
        Self::map_of_within(key, value, Limits::none())
    }

    /// Returns the pattern of a map within limits.
    pub fn map_of_within(key: Pattern<C>, value: Pattern<C>, limits: Limits) -> Self {
        Self::new(Matcher::MapOf(key, value, limits))
    }

    /// Returns the pattern of an array, set or bag with at least `count` elements that match. A count below one
    /// counts as one.
    pub fn container_has(part: Pattern<C>, count: impl Into<BigInt>) -> Self {
        let count = count.into().max(BigInt::from(1));
        Self::new(Matcher::ContainerHas(part, count, Limits::none()))
    }

    /// Returns the pattern of an array of required elements, then optional ones, then a rest.
    pub fn split_array(
        required: impl IntoIterator<Item = Pattern<C>>,
        optional: impl IntoIterator<Item = Pattern<C>>,
        rest: Option<Pattern<C>>,
    ) -> Self {
        let optional = Some(optional.into_iter().collect::<Vec<_>>()).filter(|parts| !parts.is_empty());
        Self::new(Matcher::SplitArray(SplitArray {
            required: required.into_iter().collect(),
            optional,
            rest,
        }))
    }

    /// Returns the pattern of a record of required fields, optional fields and a rest. If the rest is `None`, any
    /// further field is allowed.
    pub fn split_record<N: Into<Text>, O: Into<Text>>(
        required: impl IntoIterator<Item = (N, Pattern<C>)>,
        optional: impl IntoIterator<Item = (O, Pattern<C>)>,
        rest: Option<Pattern<C>>,
    ) -> Self {
        let optional = Some(sorted(optional)).filter(|fields| !fields.is_empty());
        Self::new(Matcher::SplitRecord(SplitRecord { required: sorted(required), optional, rest }))
    }

    /// Returns the pattern of a record of required and optional fields, and no others.
    pub fn exact_record<N: Into<Text>, O: Into<Text>>(
        required: impl IntoIterator<Item = (N, Pattern<C>)>,
        optional: impl IntoIterator<Item = (O, Pattern<C>)>,
    ) -> Self {
        let (required, optional) = (sorted(required), sorted(optional));
        if optional.is_empty() {
            return Self::record_of_sorted(required);
        }
        Self::split_record(required, optional, Some(Self::empty_record()))
    }

    /// Returns the pattern `{}`. As the pattern of a rest, it allows no further field.
    pub fn empty_record() -> Self {
        Self::record_of_sorted(Vec::new())
    }

    /// Returns the pattern of a refinement, which Endo's matchers cannot express.
    pub fn refine(refinement: Refinement) -> Self {
        Self::new(Matcher::Refine(refinement))
    }

    /// Returns the key for which this pattern stands, if the pattern is a literal.
    pub fn as_literal(&self) -> Option<&Value<C>> {
        match self.matcher() {
            Matcher::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Returns whether only `undefined` matches.
    pub fn is_undefined(&self) -> bool {
        match self.matcher() {
            Matcher::Literal(value) => matches!(value, Value::Undefined),
            Matcher::Kind(kind) => kind == "undefined",
            _ => false,
        }
    }

    /// Returns the other arm of `M.or(undefined, p)`, in either order.
    pub fn as_optional(&self) -> Option<&Pattern<C>> {
        match self.matcher() {
            Matcher::Or(parts) => match parts.as_slice() {
                [one, other] if one.is_undefined() => Some(other),
                [one, other] if other.is_undefined() => Some(one),
                _ => None,
            },
            _ => None,
        }
    }
}
