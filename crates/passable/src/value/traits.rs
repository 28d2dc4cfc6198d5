//! Equality, hashing, cloning and debugging of values.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::Value;

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

/// Returns whether two numbers are equal by JavaScript's SameValueZero: `-0` equals `0`, and `NaN` equals `NaN`.
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
                left.0.ptr() == right.0.ptr() || left.as_slice() == right.as_slice()
            }
            (Value::Record(left), Value::Record(right)) => {
                left.0.ptr() == right.0.ptr() || left.fields() == right.fields()
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
            // Equal numbers must have equal hashes, so there is one hash for both zeros and one for `NaN`.
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
