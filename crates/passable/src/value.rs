//! Passable values: immutable, without cycles, cheap to clone, never deeper than [`MAX_DEPTH`].

use std::convert::Infallible;
use std::hash::Hash;
use std::sync::Arc;

use num_bigint::BigInt;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use triomphe::ThinArc;

use crate::text::Text;

mod build;
mod traits;

/// The maximum depth of nested values and patterns. An atom has depth 0, and `[]` has depth 1.
///
/// Because no value is ever deeper, walks over values may recurse without a check of their own.
pub const MAX_DEPTH: u32 = 256;

/// The reference type of a context with data only. It has no values, so there are no references.
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

/// A type that a context may use for references. Its values can be cloned and compared.
///
/// Examples are formula ids in storage, slot names in a wire protocol, and live references in a vat. Every suitable
/// type implements this trait.
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
    /// A text.
    String(Text),
    /// Immutable bytes.
    Bytes(Arc<[u8]>),
    /// A registered or well-known symbol.
    Symbol(Symbol),
    /// An array.
    Array(Array<C>),
    /// A record with text names.
    Record(Record<C>),
    /// A tagged payload: a set, bag, map, matcher, guard, or any other value with a tag.
    Tagged(Tagged<C>),
    /// An error.
    Error(Arc<ErrorData>),
    /// A reference to a remotable object.
    Remotable(Arc<Remote<C>>),
    /// A reference to a promise.
    Promise(Arc<Remote<C>>),
}

/// A reference, and the interface name that its sender alleged for it. Two remotes are equal if their references are.
#[derive(Clone, Debug)]
pub struct Remote<C> {
    /// The reference itself.
    pub reference: C,
    /// The interface name that the sender gave, such as `Alleged: Alice`. It is a claim, never a fact.
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
    /// The identifier under which the sender logged the error.
    pub id: Option<Text>,
}

/// A symbol, kept by its passable name. The passable name is `name` for a registered symbol and `@@name` for a
/// well-known one. It is `@@@@x` for a registered symbol whose own name is `@@x`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(Arc<Text>);

impl Symbol {
    /// The names of the symbols that every JavaScript engine knows, without the `@@`.
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

    /// Returns the symbol with a passable name.
    ///
    /// # Errors
    /// When the name begins with `@@` and stands for no known symbol.
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

/// The reason why a value cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// The same name twice in one record.
    #[error("the name {0:?} occurs twice in one record")]
    DuplicateName(Text),
    /// A value that would nest deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A symbol name that begins with `@@` and is neither well-known nor escaped.
    #[error("there is no well-known symbol {0:?}")]
    UnknownSymbol(Text),
}

// Depth and parts are in one allocation behind a thin pointer. Most values are small, and most of the time to make
// one goes into the allocation.

/// An immutable array that stores its depth.
pub struct Array<C = NoRef>(ThinArc<u32, Value<C>>);

/// An immutable record. Its names are unique and in UTF-16 order.
pub struct Record<C = NoRef>(ThinArc<u32, (Text, Value<C>)>);

/// An immutable tagged payload.
pub struct Tagged<C = NoRef>(Arc<(u32, Text, Value<C>)>);

// Derived implementations would require `C: Clone`, which a shared value does not need.
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
    /// Returns the value with a name, or `None` if there is no such field.
    pub fn get(&self, name: &str) -> Option<&Value<C>> {
        // The names are in UTF-16 order, in which a `str` compares with a `Text` only slowly. Records are small and
        // names short, so the search makes a `Text`.
        match self.len() {
            0..=8 => self.iter().find(|(own, _)| own == name).map(|(_, value)| value),
            _ => self.get_text(&Text::from(name)),
        }
    }

    /// Returns the value with a name that may hold lone surrogates, or `None` if there is no such field.
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

    /// Returns the fields in UTF-16 order of their names.
    pub fn iter(&self) -> std::slice::Iter<'_, (Text, Value<C>)> {
        self.fields().iter()
    }

    /// Returns the names in UTF-16 order.
    pub fn names(&self) -> impl Iterator<Item = &Text> {
        self.fields().iter().map(|(name, _)| name)
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.fields().len()
    }

    /// Returns whether the record has no fields.
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
    /// Returns the depth of the value: 0 for a value that holds no other value.
    pub fn depth(&self) -> u32 {
        match self {
            Value::Array(array) => array.depth(),
            Value::Record(record) => record.depth(),
            Value::Tagged(tagged) => tagged.0.0,
            _ => 0,
        }
    }

    /// Returns the text as a string slice, or `None` if the value is no text or the text is not well formed.
    pub fn as_str(&self) -> Option<&str> {
        self.as_text().and_then(Text::as_str)
    }

    /// Returns the text, or `None` if the value is no text.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number, or `None` if the value is no number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the boolean, or `None` if the value is no boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the big integer, or `None` if the value is no big integer.
    pub fn as_bigint(&self) -> Option<&BigInt> {
        match self {
            Value::BigInt(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the bytes, or `None` if the value holds no bytes.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the elements, or `None` if the value is no array.
    pub fn as_array(&self) -> Option<&[Value<C>]> {
        match self {
            Value::Array(array) => Some(array),
            _ => None,
        }
    }

    /// Returns the record, or `None` if the value is no record.
    pub fn as_record(&self) -> Option<&Record<C>> {
        match self {
            Value::Record(record) => Some(record),
            _ => None,
        }
    }

    /// Returns the tag and the payload, or `None` if the value is not tagged.
    pub fn as_tagged(&self) -> Option<&Tagged<C>> {
        match self {
            Value::Tagged(tagged) => Some(tagged),
            _ => None,
        }
    }

    /// Returns the payload, or `None` if the value does not have exactly this tag.
    pub fn payload_of(&self, tag: &str) -> Option<&Value<C>> {
        self.as_tagged().filter(|tagged| tagged.tag() == tag).map(Tagged::payload)
    }

    /// Returns the reference, or `None` if the value is neither a remotable nor a promise.
    pub fn as_reference(&self) -> Option<&C> {
        match self {
            Value::Remotable(remote) | Value::Promise(remote) => Some(&remote.reference),
            _ => None,
        }
    }

    /// Returns a field of a record, or `None` if the value is no record with this field.
    pub fn get(&self, name: &str) -> Option<&Value<C>> {
        self.as_record().and_then(|record| record.get(name))
    }

    /// Returns Endo's pass style: `undefined`, `null`, `boolean`, `number`, `bigint`, `string`, `symbol`,
    /// `byteArray`, `copyArray`, `copyRecord`, `tagged`, `error`, `remotable` or `promise`.
    ///
    /// [`crate::kind_of`] returns the finer *kind*, which also depends on tags.
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

    /// Returns all references in the value in order of occurrence, with repetitions.
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

    /// Returns the same value with every reference exchanged, or the first error of `exchange`.
    pub fn try_map_references<D, E>(
        &self,
        exchange: &mut impl FnMut(&C) -> Result<D, E>,
    ) -> Result<Value<D>, E> {
        self.try_map_capabilities(&mut |is_promise, remote| {
            let reference = exchange(&remote.reference)?;
            Ok((is_promise, Remote { reference, iface: remote.iface.clone() }))
        })
    }

    /// Returns the same value with every capability exchanged, or the first error of `exchange`.
    ///
    /// The flag that `exchange` receives says whether the capability is a promise. The flag that it returns says the
    /// same of the new capability.
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
            // The shape of the value stays the same, and so does its depth.
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
    /// Returns the same value for a context with references. Data is the same in every context.
    pub fn widen<C>(&self) -> Value<C> {
        self.map_references(&mut |never| match *never {})
    }
}
