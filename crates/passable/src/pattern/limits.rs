//! Limits: how long, how many. Every matcher that can meet unbounded data has defaults.

use std::sync::Arc;

use crate::text::Text;
use crate::value::{Reference, Value};

/// The limits that upstream knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Decimal digits of a big integer; 100.
    DecimalDigits,
    /// UTF-16 units of a string; 100,000.
    StringLength,
    /// UTF-16 units of a symbol's name; 100.
    SymbolNameLength,
    /// Fields of a record; 80.
    NumProperties,
    /// UTF-16 units of a field's name; 100.
    PropertyNameLength,
    /// Elements of an array; 10,000.
    ArrayLength,
    /// Bytes; 100,000.
    ByteLength,
    /// Elements of a set; 10,000.
    NumSetElements,
    /// Different elements of a bag; 10,000.
    NumUniqueBagElements,
    /// Entries of a map; 5,000.
    NumMapEntries,
}

impl Limit {
    /// Returns its name in patterns.
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

    /// Returns the value of the limit where a pattern does not set it.
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

/// The limits that a pattern sets itself; the defaults hold for all others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits(Option<Arc<[(Text, f64)]>>);

impl Limits {
    /// Returns the default limits.
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

    /// Returns all limits that the pattern sets itself, if it has a record of limits at all.
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
