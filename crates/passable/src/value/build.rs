//! Constructors of values.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::vec::Drain;

use num_bigint::BigInt;
use triomphe::ThinArc;

use super::{Array, ErrorData, Record, Remote, Symbol, Tagged, Value, ValueError, depth_above};
use crate::text::Text;

impl<C> Value<C> {
    /// Returns `undefined`.
    pub fn undefined() -> Self {
        Value::Undefined
    }

    /// Returns `null`.
    pub fn null() -> Self {
        Value::Null
    }

    /// Returns a boolean.
    pub fn bool(value: bool) -> Self {
        Value::Bool(value)
    }

    /// Returns a number.
    pub fn number(value: f64) -> Self {
        Value::Number(value)
    }

    /// Returns a big integer.
    pub fn bigint(value: impl Into<BigInt>) -> Self {
        Value::BigInt(Arc::new(value.into()))
    }

    /// Returns a text.
    pub fn string(text: impl Into<Text>) -> Self {
        Value::String(text.into())
    }

    /// Returns a value that holds bytes.
    pub fn bytes(bytes: impl Into<Arc<[u8]>>) -> Self {
        Value::Bytes(bytes.into())
    }

    /// Returns the symbol with a passable name.
    ///
    /// # Errors
    /// When the name begins with `@@` and stands for no known symbol.
    pub fn symbol(name: impl Into<Text>) -> Result<Self, ValueError> {
        Symbol::from_passable_name(name).map(Value::Symbol)
    }

    /// Returns an array, or the error value of [`Value::too_deep`] if an element is [`MAX_DEPTH`](crate::MAX_DEPTH)
    /// deep. Decoders can meet such elements, and use [`Value::try_array`].
    pub fn array(elements: impl IntoIterator<Item = Value<C>>) -> Self {
        Self::try_array(elements.into_iter().collect()).unwrap_or_else(|_| Self::too_deep())
    }

    /// Returns an array.
    ///
    /// # Errors
    /// When the array would nest too deep.
    pub fn try_array(elements: Vec<Value<C>>) -> Result<Self, ValueError> {
        let depth = depth_above(&elements)?;
        Ok(Value::Array(Array(ThinArc::from_header_and_iter(depth, elements.into_iter()))))
    }

    /// Returns an array of the values that a decoder has pushed on its stack.
    ///
    /// # Errors
    /// When the array would nest too deep.
    pub(crate) fn array_of(elements: Drain<'_, Value<C>>) -> Result<Self, ValueError> {
        let depth = depth_above(elements.as_slice())?;
        Ok(Value::Array(Array(ThinArc::from_header_and_iter(depth, elements))))
    }

    /// Returns a record.
    ///
    /// # Errors
    /// When a name occurs twice, or the record would nest too deep.
    pub fn record<N: Into<Text>>(
        fields: impl IntoIterator<Item = (N, Value<C>)>,
    ) -> Result<Self, ValueError> {
        Self::try_record(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// Returns a record from a map, whose names cannot repeat. A value that is too deep is handled as in
    /// [`Value::array`].
    pub fn record_from_map(fields: BTreeMap<String, Value<C>>) -> Self {
        Self::record(fields).unwrap_or_else(|_| Self::too_deep())
    }

    /// Returns a record from fields in any order.
    ///
    /// # Errors
    /// When a name occurs twice, or the record would nest too deep.
    pub fn try_record(mut fields: Vec<(Text, Value<C>)>) -> Result<Self, ValueError> {
        if !fields.is_sorted_by(|(left, _), (right, _)| left < right) {
            fields.sort_by(|(left, _), (right, _)| left.cmp(right));
            if let Some([(name, _), _]) = fields.array_windows().find(|[(left, _), (right, _)]| left == right)
            {
                return Err(ValueError::DuplicateName(name.clone()));
            }
        }
        let depth = depth_above(fields.iter().map(|(_, value)| value))?;
        Ok(Self::sorted_record(depth, fields.into_iter()))
    }

    /// Returns a record from sorted fields and the depth that [`depth_above`] has returned for them.
    pub(crate) fn sorted_record(depth: u32, fields: impl ExactSizeIterator<Item = (Text, Value<C>)>) -> Self {
        Value::Record(Record(ThinArc::from_header_and_iter(depth, fields)))
    }

    /// Returns a tagged payload. A value that is too deep is handled as in [`Value::array`].
    pub fn tagged(tag: impl Into<Text>, payload: Value<C>) -> Self {
        Self::try_tagged(tag, payload).unwrap_or_else(|_| Self::too_deep())
    }

    /// Returns a tagged payload.
    ///
    /// # Errors
    /// When the value would nest too deep.
    pub fn try_tagged(tag: impl Into<Text>, payload: Value<C>) -> Result<Self, ValueError> {
        let depth = depth_above([&payload])?;
        Ok(Value::Tagged(Tagged(Arc::new((depth, tag.into(), payload)))))
    }

    /// Returns an error with a name and a message.
    pub fn error(name: impl Into<Text>, message: impl Into<Text>) -> Self {
        Value::Error(Arc::new(ErrorData { name: name.into(), message: message.into(), id: None }))
    }

    /// Returns the error value that an infallible constructor returns for input that would nest too deep.
    pub fn too_deep() -> Self {
        Self::error("RangeError", ValueError::TooDeep.to_string())
    }

    /// Returns a reference to an object.
    pub fn remotable(reference: C) -> Self {
        Value::Remotable(Arc::new(Remote { reference, iface: None }))
    }

    /// Returns a reference to an object, with the interface name that was alleged for the object.
    pub fn remotable_alleged(reference: C, iface: impl Into<Text>) -> Self {
        Value::Remotable(Arc::new(Remote { reference, iface: Some(iface.into()) }))
    }

    /// Returns a reference to a promise.
    pub fn promise(reference: C) -> Self {
        Value::Promise(Arc::new(Remote { reference, iface: None }))
    }
}
