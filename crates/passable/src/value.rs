//! Passable values: immutable, acyclic, cheap to clone, never deeper than [`MAX_DEPTH`].

use std::convert::Infallible;
use std::hash::Hash;
use std::sync::Arc;

use num_bigint::BigInt;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use triomphe::ThinArc;

use crate::text::Text;

mod build;
mod traits;

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

/// A type that a context may use for references: its values can be cloned and compared.
///
/// Examples are formula ids in storage, slot names on a wire, and live references in a vat. Every fitting type
/// implements it.
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
    /// Text as a value.
    String(Text),
    /// Immutable bytes.
    Bytes(Arc<[u8]>),
    /// A registered or well-known symbol.
    Symbol(Symbol),
    /// An array.
    Array(Array<C>),
    /// A record with text names.
    Record(Record<C>),
    /// A tagged payload: sets, bags, maps, matchers, guards and all other values with a tag.
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
    /// The interface name that the sender gave, such as `Alleged: Alice`; a claim, never a fact.
    pub iface: Option<Text>,
}

impl<C: PartialEq> PartialEq for Remote<C> {
    fn eq(&self, other: &Self) -> bool {
        self.reference == other.reference
    }
}

/// The parts of an error that are passed on.
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
pub struct Symbol(Arc<Text>);

impl Symbol {
    /// The names of those that every engine knows, without the `@@`.
    pub const WELL_KNOWN: &[&str] = &[
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

    /// Makes a symbol from its passable name; refuses `@@` names that stand for no known symbol.
    pub fn from_passable_name(name: impl Into<Text>) -> Result<Symbol, ValueError> {
        let name = name.into();
        let known = match name.as_bytes().strip_prefix(b"@@") {
            None => true,
            Some(rest) => {
                rest.starts_with(b"@@") || Self::WELL_KNOWN.iter().any(|known| known.as_bytes() == rest)
            }
        };
        if known { Ok(Symbol(Arc::new(name))) } else { Err(ValueError::UnknownSymbol(name)) }
    }

    /// Returns the passable name.
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

// Depth and parts lie in one allocation behind a thin pointer: most values are small, and most of the time that
// it takes to make one goes into allocating.

/// An immutable array that knows its depth.
pub struct Array<C = NoRef>(ThinArc<u32, Value<C>>);

/// An immutable record: names unique and in UTF-16 order.
pub struct Record<C = NoRef>(ThinArc<u32, (Text, Value<C>)>);

/// An immutable tagged payload.
pub struct Tagged<C = NoRef>(Arc<(u32, Text, Value<C>)>);

// Derived impls would ask for `C: Clone`, which sharing does not need.
impl<C> Clone for Array<C> {
    fn clone(&self) -> Self {
        Array(self.0.clone())
    }
}

impl<C> Clone for Record<C> {
    fn clone(&self) -> Self {
        Record(self.0.clone())
    }
}

impl<C> Clone for Tagged<C> {
    fn clone(&self) -> Self {
        Tagged(Arc::clone(&self.0))
    }
}

pub(crate) fn depth_above<'a, C: 'a>(
    children: impl IntoIterator<Item = &'a Value<C>>,
) -> Result<u32, ValueError> {
    let depth = 1 + children.into_iter().map(Value::depth).max().unwrap_or(0);
    if depth > MAX_DEPTH { Err(ValueError::TooDeep) } else { Ok(depth) }
}

impl<C> Array<C> {
    /// Returns the elements.
    pub fn as_slice(&self) -> &[Value<C>] {
        &self.0.slice
    }

    fn depth(&self) -> u32 {
        self.0.header.header
    }
}

impl<C> std::ops::Deref for Array<C> {
    type Target = [Value<C>];

    fn deref(&self) -> &[Value<C>] {
        self.as_slice()
    }
}

impl<C> Record<C> {
    /// Returns the value under a name.
    pub fn get(&self, name: &str) -> Option<&Value<C>> {
        // Names are in UTF-16 order, in which a `str` can be compared without making a `Text` only slowly;
        // records are small and their names short, so the text is made.
        match self.len() {
            0..=8 => self.iter().find(|(own, _)| own == name).map(|(_, value)| value),
            _ => self.get_text(&Text::from(name)),
        }
    }

    /// Returns the value under a name that may hold lone surrogates.
    pub fn get_text(&self, name: &Text) -> Option<&Value<C>> {
        let fields = self.fields();
        let at = fields.binary_search_by(|(own, _)| own.cmp(name)).ok()?;
        fields.get(at).map(|(_, value)| value)
    }

    /// Returns the fields in UTF-16 order of their names.
    pub fn fields(&self) -> &[(Text, Value<C>)] {
        &self.0.slice
    }

    fn depth(&self) -> u32 {
        self.0.header.header
    }

    /// Returns the fields in order.
    pub fn iter(&self) -> std::slice::Iter<'_, (Text, Value<C>)> {
        self.fields().iter()
    }

    /// Returns the names in order.
    pub fn names(&self) -> impl Iterator<Item = &Text> {
        self.fields().iter().map(|(name, _)| name)
    }

    /// Returns how many fields there are.
    pub fn len(&self) -> usize {
        self.fields().len()
    }

    /// Returns whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.fields().is_empty()
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
    /// Returns the tag.
    pub fn tag(&self) -> &Text {
        &self.0.1
    }

    /// Returns the payload.
    pub fn payload(&self) -> &Value<C> {
        &self.0.2
    }
}

impl<C> Value<C> {
    /// Returns how deep the value nests: 0 for a value that holds no other value.
    pub fn depth(&self) -> u32 {
        match self {
            Value::Array(array) => array.depth(),
            Value::Record(record) => record.depth(),
            Value::Tagged(tagged) => tagged.0.0,
            _ => 0,
        }
    }

    /// Returns the well-formed text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        self.as_text().and_then(Text::as_str)
    }

    /// Returns the text, if it is one.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the big integer, if it is one.
    pub fn as_bigint(&self) -> Option<&BigInt> {
        match self {
            Value::BigInt(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the bytes, if it is bytes.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the elements, if it is an array.
    pub fn as_array(&self) -> Option<&[Value<C>]> {
        match self {
            Value::Array(array) => Some(array),
            _ => None,
        }
    }

    /// Returns the record, if it is one.
    pub fn as_record(&self) -> Option<&Record<C>> {
        match self {
            Value::Record(record) => Some(record),
            _ => None,
        }
    }

    /// Returns the tagged payload, if it is one.
    pub fn as_tagged(&self) -> Option<&Tagged<C>> {
        match self {
            Value::Tagged(tagged) => Some(tagged),
            _ => None,
        }
    }

    /// Returns the payload, if it has exactly this tag.
    pub fn payload_of(&self, tag: &str) -> Option<&Value<C>> {
        self.as_tagged().filter(|tagged| tagged.tag() == tag).map(Tagged::payload)
    }

    /// Returns the reference, if it is a remotable or a promise.
    pub fn as_reference(&self) -> Option<&C> {
        match self {
            Value::Remotable(remote) | Value::Promise(remote) => Some(&remote.reference),
            _ => None,
        }
    }

    /// Returns the field of a record.
    pub fn get(&self, name: &str) -> Option<&Value<C>> {
        self.as_record().and_then(|record| record.get(name))
    }

    /// Returns Endo's pass style: `undefined`, `null`, `boolean`, `number`, `bigint`, `string`, `symbol`,
    /// `byteArray`, `copyArray`, `copyRecord`, `tagged`, `error`, `remotable` or `promise`.
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

    /// Returns every reference in the value, in order of occurrence, repeats included.
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

    /// Returns the same value with every reference exchanged, or the first error in doing so.
    pub fn try_map_references<D, E>(
        &self,
        exchange: &mut impl FnMut(&C) -> Result<D, E>,
    ) -> Result<Value<D>, E> {
        self.try_map_capabilities(&mut |is_promise, remote| {
            let reference = exchange(&remote.reference)?;
            Ok((is_promise, Remote { reference, iface: remote.iface.clone() }))
        })
    }

    /// Returns the same value with every capability exchanged, or the first error in doing so.
    ///
    /// The flag that `exchange` receives says whether the capability is a promise. The flag that it returns says the
    /// same of the new one.
    pub fn try_map_capabilities<D, E>(
        &self,
        exchange: &mut impl FnMut(bool, &Remote<C>) -> Result<(bool, Remote<D>), E>,
    ) -> Result<Value<D>, E> {
        let mut capability = |is_promise: bool, remote: &Remote<C>| {
            let (is_promise, remote) = exchange(is_promise, remote)?;
            let remote = Arc::new(remote);
            Ok(if is_promise { Value::Promise(remote) } else { Value::Remotable(remote) })
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
            Value::Remotable(found) => capability(false, found)?,
            Value::Promise(found) => capability(true, found)?,
            // The shape stays, so the depth does too.
            Value::Array(array) => {
                let elements = array
                    .iter()
                    .map(|value| value.try_map_capabilities(exchange))
                    .collect::<Result<Vec<_>, E>>()?;
                Value::Array(Array(ThinArc::from_header_and_iter(array.depth(), elements.into_iter())))
            }
            Value::Record(record) => {
                let fields = record
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), value.try_map_capabilities(exchange)?)))
                    .collect::<Result<Vec<_>, E>>()?;
                Value::Record(Record(ThinArc::from_header_and_iter(record.depth(), fields.into_iter())))
            }
            Value::Tagged(tagged) => {
                let payload = tagged.payload().try_map_capabilities(exchange)?;
                Value::Tagged(Tagged(Arc::new((tagged.0.0, tagged.tag().clone(), payload))))
            }
        })
    }

    /// Returns the same value with every reference exchanged.
    pub fn map_references<D>(&self, exchange: &mut impl FnMut(&C) -> D) -> Value<D> {
        match self.try_map_references(&mut |reference| Ok::<D, Infallible>(exchange(reference))) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }
}

impl Value<NoRef> {
    /// Returns the value in a context with references; data is data everywhere.
    pub fn widen<C>(&self) -> Value<C> {
        self.map_references(&mut |never| match *never {})
    }
}
