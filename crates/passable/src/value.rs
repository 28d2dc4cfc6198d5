//! Passable values: immutable, acyclic, cheap to clone, never deeper than [`MAX_DEPTH`].

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use num_bigint::BigInt;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::text::Text;

/// How deep values (and patterns) may nest. An atom has depth 0, `[]` has depth 1.
///
/// Because no value is ever deeper, walks over values may recurse without a check of their own.
pub const MAX_DEPTH: u32 = 256;

/// The reference type of a context without references: data only. It has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoRef {}

impl AsRef<[u8]> for NoRef {
    fn as_ref(&self) -> &[u8] {
        match *self {}
    }
}

impl Serialize for NoRef {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        match *self {}
    }
}

impl<'de> Deserialize<'de> for NoRef {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("references are not allowed here"))
    }
}

/// What a context may use as references: anything that can be copied and told apart.
///
/// Formula ids in storage, slot names on a wire, live references in a vat. Implemented for every fitting type.
pub trait Reference: Clone + Eq + Hash {}

impl<T: Clone + Eq + Hash> Reference for T {}

/// A passable value with references of type `C`.
pub enum Value<C = NoRef> {
    /// JavaScript's `undefined`.
    Undefined,
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A double; `-0` equals `0` and `NaN` equals itself.
    Number(f64),
    /// An integer of any size.
    BigInt(Arc<BigInt>),
    /// Text.
    String(Text),
    /// Immutable bytes.
    Bytes(Arc<[u8]>),
    /// A registered or well-known symbol.
    Symbol(Symbol),
    /// An array.
    Array(Array<C>),
    /// A record with text names.
    Record(Record<C>),
    /// A tagged payload: sets, bags, maps, matchers, guards and whatever else has a tag.
    Tagged(Tagged<C>),
    /// An error.
    Error(Arc<ErrorData>),
    /// A reference to a remotable object.
    Remotable(Arc<Remote<C>>),
    /// A reference to a promise.
    Promise(Arc<Remote<C>>),
}

/// A reference and the interface name that its sender alleged for it. Identity is the reference alone.
#[derive(Clone, Debug)]
pub struct Remote<C> {
    /// The reference itself.
    pub reference: C,
    /// What the sender called its interface, such as `Alleged: Alice`; a claim, never a fact.
    pub iface: Option<Text>,
}

impl<C: PartialEq> PartialEq for Remote<C> {
    fn eq(&self, other: &Self) -> bool {
        self.reference == other.reference
    }
}

/// What can be known of an error that was passed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ErrorData {
    /// The constructor's name, such as `TypeError`.
    pub name: Text,
    /// The message.
    pub message: Text,
    /// The identifier under which the sender logged it.
    pub id: Option<Text>,
}

/// The passable name of a symbol: `name` if registered, `@@name` if well-known, `@@@@x` for a registered
/// symbol whose own name is `@@x`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(Text);

const WELL_KNOWN: &[&str] = &[
    "asyncIterator",
    "hasInstance",
    "isConcatSpreadable",
    "iterator",
    "match",
    "matchAll",
    "replace",
    "search",
    "species",
    "split",
    "toPrimitive",
    "toStringTag",
    "unscopables",
];

impl Symbol {
    /// Makes a symbol from its passable name; refuses `@@` names that stand for no known symbol.
    pub fn from_passable_name(name: impl Into<Text>) -> Result<Symbol, ValueError> {
        let name = name.into();
        let known = match name.as_bytes().strip_prefix(b"@@") {
            None => true,
            Some(rest) => rest.starts_with(b"@@") || WELL_KNOWN.iter().any(|known| known.as_bytes() == rest),
        };
        if known { Ok(Symbol(name)) } else { Err(ValueError::UnknownSymbol(name)) }
    }

    /// The passable name.
    pub fn name(&self) -> &Text {
        &self.0
    }
}

/// Why a value cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A record was given the same name twice.
    #[error("the name {0:?} occurs twice in one record")]
    DuplicateName(Text),
    /// The result would nest deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A symbol name that begins with `@@` and is neither well-known nor escaped.
    #[error("there is no well-known symbol {0:?}")]
    UnknownSymbol(Text),
}

/// An immutable array that knows its depth.
pub struct Array<C = NoRef>(Arc<(u32, Vec<Value<C>>)>);

/// An immutable record: names unique and in UTF-16 order.
pub struct Record<C = NoRef>(Arc<(u32, Vec<(Text, Value<C>)>)>);

/// An immutable tagged payload.
pub struct Tagged<C = NoRef>(Arc<(u32, Text, Value<C>)>);

// Derived impls would ask for `C: Clone`, which sharing does not need.
impl<C> Clone for Array<C> {
    fn clone(&self) -> Self {
        Array(Arc::clone(&self.0))
    }
}

impl<C> Clone for Record<C> {
    fn clone(&self) -> Self {
        Record(Arc::clone(&self.0))
    }
}

impl<C> Clone for Tagged<C> {
    fn clone(&self) -> Self {
        Tagged(Arc::clone(&self.0))
    }
}

impl<C> Clone for Value<C> {
    fn clone(&self) -> Self {
        match self {
            Value::Undefined => Value::Undefined,
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(*value),
            Value::Number(value) => Value::Number(*value),
            Value::BigInt(value) => Value::BigInt(Arc::clone(value)),
            Value::String(value) => Value::String(value.clone()),
            Value::Bytes(value) => Value::Bytes(Arc::clone(value)),
            Value::Symbol(value) => Value::Symbol(value.clone()),
            Value::Array(value) => Value::Array(value.clone()),
            Value::Record(value) => Value::Record(value.clone()),
            Value::Tagged(value) => Value::Tagged(value.clone()),
            Value::Error(value) => Value::Error(Arc::clone(value)),
            Value::Remotable(value) => Value::Remotable(Arc::clone(value)),
            Value::Promise(value) => Value::Promise(Arc::clone(value)),
        }
    }
}

fn depth_above<'a, C: 'a>(children: impl IntoIterator<Item = &'a Value<C>>) -> Result<u32, ValueError> {
    let depth = 1 + children.into_iter().map(Value::depth).max().unwrap_or(0);
    if depth > MAX_DEPTH { Err(ValueError::TooDeep) } else { Ok(depth) }
}

impl<C> Array<C> {
    /// The elements.
    pub fn as_slice(&self) -> &[Value<C>] {
        &self.0.1
    }
}

impl<C> std::ops::Deref for Array<C> {
    type Target = [Value<C>];

    fn deref(&self) -> &[Value<C>] {
        self.as_slice()
    }
}

impl<C> Record<C> {
    /// The value under a name.
    pub fn get(&self, name: &str) -> Option<&Value<C>> {
        // Names are in UTF-16 order, in which a `str` can be compared without making a `Text` only slowly;
        // records are small and their names short, so the text is made.
        match self.0.1.len() {
            0..=8 => self.0.1.iter().find(|(own, _)| own == name).map(|(_, value)| value),
            _ => self.get_text(&Text::from(name)),
        }
    }

    /// The value under a name that may hold lone surrogates.
    pub fn get_text(&self, name: &Text) -> Option<&Value<C>> {
        let fields = &self.0.1;
        let at = fields.binary_search_by(|(own, _)| own.cmp(name)).ok()?;
        fields.get(at).map(|(_, value)| value)
    }

    /// The fields in UTF-16 order of their names.
    pub fn fields(&self) -> &[(Text, Value<C>)] {
        &self.0.1
    }

    /// The fields in order.
    pub fn iter(&self) -> std::slice::Iter<'_, (Text, Value<C>)> {
        self.0.1.iter()
    }

    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &Text> {
        self.0.1.iter().map(|(name, _)| name)
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.0.1.len()
    }

    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.1.is_empty()
    }
}

impl<'a, C> IntoIterator for &'a Record<C> {
    type Item = &'a (Text, Value<C>);
    type IntoIter = std::slice::Iter<'a, (Text, Value<C>)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<C> Tagged<C> {
    /// The tag.
    pub fn tag(&self) -> &Text {
        &self.0.1
    }

    /// The payload.
    pub fn payload(&self) -> &Value<C> {
        &self.0.2
    }
}

impl<C> Value<C> {
    /// `undefined`.
    pub fn undefined() -> Self {
        Value::Undefined
    }

    /// `null`.
    pub fn null() -> Self {
        Value::Null
    }

    /// A boolean.
    pub fn bool(value: bool) -> Self {
        Value::Bool(value)
    }

    /// A number.
    pub fn number(value: f64) -> Self {
        Value::Number(value)
    }

    /// A big integer.
    pub fn bigint(value: impl Into<BigInt>) -> Self {
        Value::BigInt(Arc::new(value.into()))
    }

    /// Text.
    pub fn string(text: impl Into<Text>) -> Self {
        Value::String(text.into())
    }

    /// Bytes.
    pub fn bytes(bytes: impl Into<Arc<[u8]>>) -> Self {
        Value::Bytes(bytes.into())
    }

    /// A symbol by its passable name.
    pub fn symbol(name: impl Into<Text>) -> Result<Self, ValueError> {
        Symbol::from_passable_name(name).map(Value::Symbol)
    }

    /// An array. Elements nested [`MAX_DEPTH`] deep make it the error value of [`Value::too_deep`];
    /// decoders, which meet such input, use [`Value::try_array`].
    pub fn array(elements: impl IntoIterator<Item = Value<C>>) -> Self {
        Self::try_array(elements.into_iter().collect()).unwrap_or_else(|_| Self::too_deep())
    }

    /// An array, or the reason why there can be none.
    pub fn try_array(elements: Vec<Value<C>>) -> Result<Self, ValueError> {
        let depth = depth_above(&elements)?;
        Ok(Value::Array(Array(Arc::new((depth, elements)))))
    }

    /// A record. Refuses a name that occurs twice.
    pub fn record<N: Into<Text>>(
        fields: impl IntoIterator<Item = (N, Value<C>)>,
    ) -> Result<Self, ValueError> {
        Self::try_record(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// A record from a map, whose names cannot repeat. As to depth see [`Value::array`].
    pub fn record_from_map(fields: BTreeMap<String, Value<C>>) -> Self {
        Self::record(fields).unwrap_or_else(|_| Self::too_deep())
    }

    /// A record from fields in any order, or the reason why there can be none.
    pub fn try_record(mut fields: Vec<(Text, Value<C>)>) -> Result<Self, ValueError> {
        if !fields.is_sorted_by(|(left, _), (right, _)| left < right) {
            fields.sort_by(|(left, _), (right, _)| left.cmp(right));
        }
        if let Some([(name, _), _]) = fields.array_windows().find(|[(left, _), (right, _)]| left == right) {
            return Err(ValueError::DuplicateName(name.clone()));
        }
        let depth = depth_above(fields.iter().map(|(_, value)| value))?;
        Ok(Value::Record(Record(Arc::new((depth, fields)))))
    }

    /// A tagged payload. As to depth see [`Value::array`].
    pub fn tagged(tag: impl Into<Text>, payload: Value<C>) -> Self {
        Self::try_tagged(tag, payload).unwrap_or_else(|_| Self::too_deep())
    }

    /// A tagged payload, or the reason why there can be none.
    pub fn try_tagged(tag: impl Into<Text>, payload: Value<C>) -> Result<Self, ValueError> {
        let depth = depth_above([&payload])?;
        Ok(Value::Tagged(Tagged(Arc::new((depth, tag.into(), payload)))))
    }

    /// An error with a name and a message.
    pub fn error(name: impl Into<Text>, message: impl Into<Text>) -> Self {
        Value::Error(Arc::new(ErrorData { name: name.into(), message: message.into(), id: None }))
    }

    /// What an infallible constructor makes of input that would nest too deep.
    pub fn too_deep() -> Self {
        Self::error("RangeError", ValueError::TooDeep.to_string())
    }

    /// A reference to an object.
    pub fn remotable(reference: C) -> Self {
        Value::Remotable(Arc::new(Remote { reference, iface: None }))
    }

    /// A reference to an object with the interface name that was alleged for it.
    pub fn remotable_alleged(reference: C, iface: impl Into<Text>) -> Self {
        Value::Remotable(Arc::new(Remote { reference, iface: Some(iface.into()) }))
    }

    /// A reference to a promise.
    pub fn promise(reference: C) -> Self {
        Value::Promise(Arc::new(Remote { reference, iface: None }))
    }

    /// How deep the value nests: 0 for what holds no other value.
    pub fn depth(&self) -> u32 {
        match self {
            Value::Array(array) => array.0.0,
            Value::Record(record) => record.0.0,
            Value::Tagged(tagged) => tagged.0.0,
            _ => 0,
        }
    }

    /// The well-formed text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        self.as_text().and_then(Text::as_str)
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The big integer, if it is one.
    pub fn as_bigint(&self) -> Option<&BigInt> {
        match self {
            Value::BigInt(value) => Some(value),
            _ => None,
        }
    }

    /// The bytes, if it is bytes.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The elements, if it is an array.
    pub fn as_array(&self) -> Option<&[Value<C>]> {
        match self {
            Value::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The record, if it is one.
    pub fn as_record(&self) -> Option<&Record<C>> {
        match self {
            Value::Record(record) => Some(record),
            _ => None,
        }
    }

    /// The tagged payload, if it is one.
    pub fn as_tagged(&self) -> Option<&Tagged<C>> {
        match self {
            Value::Tagged(tagged) => Some(tagged),
            _ => None,
        }
    }

    /// The payload, if it has exactly this tag.
    pub fn payload_of(&self, tag: &str) -> Option<&Value<C>> {
        self.as_tagged().filter(|tagged| tagged.tag() == tag).map(Tagged::payload)
    }

    /// The reference, if it is a remotable or a promise.
    pub fn as_reference(&self) -> Option<&C> {
        match self {
            Value::Remotable(remote) | Value::Promise(remote) => Some(&remote.reference),
            _ => None,
        }
    }

    /// The field of a record.
    pub fn get(&self, name: &str) -> Option<&Value<C>> {
        self.as_record().and_then(|record| record.get(name))
    }

    /// Endo's pass style: `undefined`, `null`, `boolean`, `number`, `bigint`, `string`, `symbol`, `byteArray`,
    /// `copyArray`, `copyRecord`, `tagged`, `error`, `remotable` or `promise`.
    ///
    /// The finer *kind*, which looks at tags, is [`crate::kind_of`].
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Undefined => "undefined",
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::BigInt(_) => "bigint",
            Value::String(_) => "string",
            Value::Bytes(_) => "byteArray",
            Value::Symbol(_) => "symbol",
            Value::Array(_) => "copyArray",
            Value::Record(_) => "copyRecord",
            Value::Tagged(_) => "tagged",
            Value::Error(_) => "error",
            Value::Remotable(_) => "remotable",
            Value::Promise(_) => "promise",
        }
    }

    /// Every reference in the value, in order of occurrence, repeats included.
    pub fn references(&self) -> Vec<&C> {
        let mut found = Vec::new();
        self.collect_references(&mut found);
        found
    }

    fn collect_references<'a>(&'a self, found: &mut Vec<&'a C>) {
        match self {
            Value::Remotable(remote) | Value::Promise(remote) => found.push(&remote.reference),
            Value::Array(array) => array.iter().for_each(|value| value.collect_references(found)),
            Value::Record(record) => record.iter().for_each(|(_, value)| value.collect_references(found)),
            Value::Tagged(tagged) => tagged.payload().collect_references(found),
            _ => {}
        }
    }

    /// The same value with every reference exchanged, or the first error in doing so.
    pub fn try_map_references<D, E>(
        &self,
        exchange: &mut impl FnMut(&C) -> Result<D, E>,
    ) -> Result<Value<D>, E> {
        let mut remote = |remote: &Remote<C>| {
            let reference = exchange(&remote.reference)?;
            Ok(Arc::new(Remote { reference, iface: remote.iface.clone() }))
        };
        Ok(match self {
            Value::Undefined => Value::Undefined,
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(*value),
            Value::Number(value) => Value::Number(*value),
            Value::BigInt(value) => Value::BigInt(value.clone()),
            Value::String(value) => Value::String(value.clone()),
            Value::Bytes(value) => Value::Bytes(value.clone()),
            Value::Symbol(value) => Value::Symbol(value.clone()),
            Value::Error(value) => Value::Error(value.clone()),
            Value::Remotable(found) => Value::Remotable(remote(found)?),
            Value::Promise(found) => Value::Promise(remote(found)?),
            // The shape stays, so the depth does too.
            Value::Array(array) => {
                let elements =
                    array.iter().map(|value| value.try_map_references(exchange)).collect::<Result<_, E>>()?;
                Value::Array(Array(Arc::new((array.0.0, elements))))
            }
            Value::Record(record) => {
                let fields = record
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), value.try_map_references(exchange)?)))
                    .collect::<Result<_, E>>()?;
                Value::Record(Record(Arc::new((record.0.0, fields))))
            }
            Value::Tagged(tagged) => {
                let payload = tagged.payload().try_map_references(exchange)?;
                Value::Tagged(Tagged(Arc::new((tagged.0.0, tagged.tag().clone(), payload))))
            }
        })
    }

    /// The same value with every reference exchanged.
    pub fn map_references<D>(&self, exchange: &mut impl FnMut(&C) -> D) -> Value<D> {
        match self.try_map_references(&mut |reference| Ok::<D, Infallible>(exchange(reference))) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }
}

impl Value<NoRef> {
    /// The value in a context with references; data is data everywhere.
    pub fn widen<C>(&self) -> Value<C> {
        self.map_references(&mut |never| match *never {})
    }
}

/// Numbers as JavaScript's SameValueZero: `-0` is `0`, `NaN` is `NaN`.
pub(crate) fn same_number(left: f64, right: f64) -> bool {
    left == right || (left.is_nan() && right.is_nan())
}

impl<C: PartialEq> PartialEq for Value<C> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Undefined, Value::Undefined) | (Value::Null, Value::Null) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Number(left), Value::Number(right)) => same_number(*left, *right),
            (Value::BigInt(left), Value::BigInt(right)) => left == right,
            (Value::String(left), Value::String(right)) => left == right,
            (Value::Bytes(left), Value::Bytes(right)) => left == right,
            (Value::Symbol(left), Value::Symbol(right)) => left == right,
            (Value::Error(left), Value::Error(right)) => left == right,
            (Value::Array(left), Value::Array(right)) => {
                Arc::ptr_eq(&left.0, &right.0) || left.as_slice() == right.as_slice()
            }
            (Value::Record(left), Value::Record(right)) => {
                Arc::ptr_eq(&left.0, &right.0) || left.fields() == right.fields()
            }
            (Value::Tagged(left), Value::Tagged(right)) => {
                Arc::ptr_eq(&left.0, &right.0)
                    || (left.tag() == right.tag() && left.payload() == right.payload())
            }
            (Value::Remotable(left), Value::Remotable(right)) => left == right,
            (Value::Promise(left), Value::Promise(right)) => left == right,
            _ => false,
        }
    }
}

impl<C: Eq> Eq for Value<C> {}

impl<C: Hash> Hash for Value<C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Value::Undefined | Value::Null => {}
            Value::Bool(value) => value.hash(state),
            // Equal numbers must hash equally: one zero, one NaN.
            Value::Number(value) if value.is_nan() => f64::NAN.to_bits().hash(state),
            Value::Number(value) => (value + 0.0).to_bits().hash(state),
            Value::BigInt(value) => value.hash(state),
            Value::String(value) => value.hash(state),
            Value::Bytes(value) => value.hash(state),
            Value::Symbol(value) => value.hash(state),
            Value::Error(value) => value.hash(state),
            Value::Array(value) => value.as_slice().hash(state),
            Value::Record(value) => value.fields().hash(state),
            Value::Tagged(value) => {
                value.tag().hash(state);
                value.payload().hash(state);
            }
            Value::Remotable(value) | Value::Promise(value) => value.reference.hash(state),
        }
    }
}

impl<C: fmt::Debug> fmt::Debug for Value<C> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Undefined => out.write_str("undefined"),
            Value::Null => out.write_str("null"),
            Value::Bool(value) => write!(out, "{value}"),
            Value::Number(value) => write!(out, "{value}"),
            Value::BigInt(value) => write!(out, "{value}n"),
            Value::String(value) => fmt::Debug::fmt(value, out),
            Value::Bytes(value) => write!(out, "bytes({value:02x?})"),
            Value::Symbol(value) => write!(out, "symbol({:?})", value.name()),
            Value::Array(value) => out.debug_list().entries(value.iter()).finish(),
            Value::Record(value) => {
                out.debug_map().entries(value.iter().map(|(name, value)| (name, value))).finish()
            }
            Value::Tagged(value) => write!(out, "{:?}({:?})", value.tag(), value.payload()),
            Value::Error(value) => write!(out, "error({:?}, {:?})", value.name, value.message),
            Value::Remotable(value) => write!(out, "remotable({:?})", value.reference),
            Value::Promise(value) => write!(out, "promise({:?})", value.reference),
        }
    }
}

impl<C> From<bool> for Value<C> {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl<C> From<f64> for Value<C> {
    fn from(value: f64) -> Self {
        Value::Number(value)
    }
}

impl<C> From<&str> for Value<C> {
    fn from(value: &str) -> Self {
        Value::string(value)
    }
}

impl<C> From<String> for Value<C> {
    fn from(value: String) -> Self {
        Value::string(value)
    }
}

impl<C> From<BTreeMap<String, Value<C>>> for Value<C> {
    fn from(fields: BTreeMap<String, Value<C>>) -> Self {
        Value::record_from_map(fields)
    }
}
