//! Limits on the size of values, such as the length of a text. Every matcher for unbounded data has default limits.

use std::sync::Arc;

use crate::text::Text;
use crate::value::{Reference, Value};

/// A limit that Endo knows. Each has a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The number of decimal digits of a big integer. The default is 100.
    DecimalDigits,
    /// The number of UTF-16 units of a string. The default is 100,000.
    StringLength,
    /// The number of UTF-16 units of a symbol's name. The default is 100.
    SymbolNameLength,
    /// The number of fields of a record. The default is 80.
    NumProperties,
    /// The number of UTF-16 units of a field's name. The default is 100.
    PropertyNameLength,
    /// The number of elements of an array. The default is 10,000.
    ArrayLength,
    /// The number of bytes of a byte array. The default is 100,000.
    ByteLength,
    /// The number of elements of a set, which must be less than the limit. The default is 10,000.
    NumSetElements,
    /// The number of different elements of a bag. The default is 10,000.
    NumUniqueBagElements,
    /// The number of entries of a map. The default is 5,000.
    NumMapEntries,
}

impl Limit {
    /// Returns the name of the limit in patterns.
    pub fn name(self) -> &'static str {
        match self {
            Limit::DecimalDigits => "decimalDigitsLimit",
            Limit::StringLength => "stringLengthLimit",
            Limit::SymbolNameLength => "symbolNameLengthLimit",
            Limit::NumProperties => "numPropertiesLimit",
            Limit::PropertyNameLength => "propertyNameLengthLimit",
            Limit::ArrayLength => "arrayLengthLimit",
            Limit::ByteLength => "byteLengthLimit",
            Limit::NumSetElements => "numSetElementsLimit",
            Limit::NumUniqueBagElements => "numUniqueBagElementsLimit",
            Limit::NumMapEntries => "numMapEntriesLimit",
        }
    }

    /// Returns the value of the limit for patterns that do not set it.
    pub fn default_value(self) -> f64 {
        match self {
            Limit::NumProperties => 80.0,
            Limit::DecimalDigits | Limit::SymbolNameLength | Limit::PropertyNameLength => 100.0,
            Limit::StringLength | Limit::ByteLength => 100_000.0,
            Limit::ArrayLength | Limit::NumSetElements | Limit::NumUniqueBagElements => 10_000.0,
            Limit::NumMapEntries => 5_000.0,
        }
    }
}

/// The limits that a pattern sets itself. Each other limit has its default value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits(Option<Arc<[(Text, f64)]>>);

impl Limits {
    /// Returns limits of which none is set, so that all defaults apply.
    pub fn none() -> Self {
        Limits(None)
    }

    /// Returns these limits, with the defaults for all others.
    pub fn from_pairs(limits: impl IntoIterator<Item = (Limit, f64)>) -> Self {
        let mut entries: Vec<(Text, f64)> =
            limits.into_iter().map(|(limit, value)| (Text::from(limit.name()), value)).collect();
        entries.sort_by(|left, right| left.0.cmp(&right.0));
        entries.dedup_by(|later, earlier| later.0 == earlier.0);
        Limits(Some(entries.into()))
    }

    /// Returns the value of one limit.
    pub fn get(&self, limit: Limit) -> f64 {
        self.own(limit).unwrap_or_else(|| limit.default_value())
    }

    /// Returns the value of one limit, if the pattern sets it itself.
    pub fn own(&self, limit: Limit) -> Option<f64> {
        self.0.as_ref()?.iter().find(|(name, _)| name == limit.name()).map(|(_, value)| *value)
    }

    /// Returns all limits that the pattern sets itself, or `None` if the pattern has no record of limits.
    pub fn entries(&self) -> Option<&[(Text, f64)]> {
        self.0.as_deref()
    }

    pub(crate) fn from_entries(entries: Vec<(Text, f64)>) -> Self {
        Limits(Some(entries.into()))
    }

    pub(super) fn to_value<C: Reference>(&self) -> Option<Value<C>> {
        let fields = self.0.as_ref()?.iter().map(|(name, value)| (name.clone(), Value::Number(*value)));
        Some(Value::record(fields).unwrap_or(Value::Undefined))
    }
}
