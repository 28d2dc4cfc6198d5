//! Patterns: Endo's `M.*` matchers as data.
//!
//! A pattern checks values and describes itself in one line. It can also become JSON Schema, an elicitation, a tree
//! of form controls, text, or a tagged value for transport.

mod build;
mod check;
mod choice_text;
mod compile;
mod controls;
mod describe;
mod elicitation;
mod form;
mod json;
mod layout;
mod limits;
mod matcher;
mod mismatch;
mod schema;
mod schema_in;
mod secret;
mod shape;
mod widget;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use check::Takes;
pub(crate) use compile::confirm_well_formed;
pub use compile::{confirm_pattern, is_pattern};
pub use elicitation::{Elicitation, is_elicitation_schema};
pub use form::{ElementCount, form_bytes, form_of_bytes};
pub use json::Resolve;
pub use limits::{Limit, Limits};
pub use matcher::{Comparison, Matcher, Pattern, Refinement, SplitArray, SplitRecord};
pub use mismatch::{Label, Mismatch};
pub(crate) use mismatch::{found_json, number_text, quoted_number};

pub use schema_in::SchemaError;
pub use secret::Secrecy;
pub use widget::{Choice, Control, ControlField, Variant, Widget};

use crate::keys::Complaint;
use crate::text::Text;
use crate::value::{Reference, Value};

impl<C: Reference> Pattern<C> {
    /// Returns whether a value matches. Faster than [`Pattern::check`], for callers that do not need the reason.
    pub fn matches(&self, specimen: &Value<C>) -> bool {
        matches!(check::confirm(self, specimen, &mut check::Silent { takes: None }), Ok(true))
    }

    /// Checks a value.
    ///
    /// ```
    /// use passable::{Pattern, Value};
    /// let pattern: Pattern = Pattern::array_of(Pattern::number());
    /// let mismatch = pattern.check(&Value::array([Value::number(1.0), Value::string("two")])).unwrap_err();
    /// assert_eq!(mismatch.to_string(), "[1]: string (a string) - Must be a number");
    /// assert_eq!(mismatch.path_text(), "[1]");
    /// assert_eq!((mismatch.expected.as_str(), mismatch.found.as_str()), ("a number", "the text \"two\""));
    /// ```
    pub fn check(&self, specimen: &Value<C>) -> Result<(), Mismatch> {
        match check::confirm(self, specimen, &mut check::Silent { takes: None }) {
            Ok(true) => return Ok(()),
            // Endo throws here, even if the question was only whether the value matches.
            Err(thrown) => return Err(*thrown),
            Ok(false) => {}
        }
        self.explained(specimen, None)
    }

    /// Checks a value and the kind of each capability in it. A pattern alone only tells capabilities from data.
    /// `takes` gets each capability with the part of the pattern that asks for it, and returns an error if the kind
    /// is wrong.
    ///
    /// ```
    /// use passable::{Mismatch, Pattern, Value};
    /// let pattern = Pattern::<u8>::parse(r#"{ at: M.remotable("clock"), box: M.remotable("mail") }"#)?;
    /// let swapped = Value::record([("at", Value::remotable(2)), ("box", Value::remotable(1))])?;
    /// assert!(pattern.check(&swapped).is_ok());
    /// let mut takes = |part: &Pattern<u8>, id: &u8| match (part.describe().contains("clock"), id) {
    ///     (true, 1) | (false, 2) => Ok(()),
    ///     _ => Err(Mismatch::new("wrong kind", part.describe(), "something else")),
    /// };
    /// assert_eq!(pattern.check_capabilities(&swapped, &mut takes).unwrap_err().to_string(), "box: wrong kind");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a part of the value does not match, or a capability has the wrong kind.
    pub fn check_capabilities(&self, specimen: &Value<C>, takes: &mut Takes<'_, C>) -> Result<(), Mismatch> {
        self.explained(specimen, Some(takes))
    }

    /// Reads the text that a user has typed.
    ///
    /// If the pattern takes text, the value is the text itself. Otherwise it is the data that the text writes, such
    /// as `5`, `true` or `[1, 2]`.
    ///
    /// ```
    /// use passable::{Pattern, Value};
    /// let read = |pattern: &str, text: &str| Pattern::<u8>::parse(pattern).unwrap().read_text(text);
    /// assert_eq!(read("M.string()", "5"), Ok(Value::string("5")));
    /// assert_eq!(read("M.number()", "5"), Ok(Value::number(5.0)));
    /// assert_eq!(read("M.nat()", "5"), read("M.nat()", "5n"));
    /// assert_eq!(read("M.nat()", "-5").unwrap_err().teach(), "expected a whole number, 0 or more, found the number -5");
    /// assert_eq!(read("M.number()", "five").unwrap_err().teach(), "expected a number, found the text \"five\"");
    /// assert_eq!(read("M.arrayOf(M.number())", "[true]").unwrap_err().teach(), "`[0]`: expected a number, found true");
    /// ```
    ///
    /// # Errors
    /// When neither reading matches. The error is that of the data, which explains more.
    pub fn read_text(&self, text: &str) -> Result<Value<C>, Mismatch> {
        let string = Value::string(text.to_owned());
        let Err(mismatch) = self.check(&string) else { return Ok(string) };
        let Ok(value) = Value::parse(text) else { return Err(mismatch) };
        let Err(mismatch) = self.check(&value) else { return Ok(value) };
        // A person also writes `5` for a big integer, which data writes as `5n`.
        match Value::parse(&format!("{text}n")) {
            Ok(whole) if self.check(&whole).is_ok() => Ok(whole),
            _ => Err(mismatch),
        }
    }

    fn explained<'a>(
        &self,
        specimen: &Value<C>,
        takes: Option<&'a mut Takes<'a, C>>,
    ) -> Result<(), Mismatch> {
        let mut explain = check::Explain::new(takes);
        match check::confirm(self, specimen, &mut explain) {
            Err(thrown) => Err(*thrown),
            Ok(true) => Ok(()),
            Ok(false) => Err(explain.mismatch()),
        }
    }

    /// Checks a value that has a name. In a mismatch, the path begins with the name.
    pub fn check_named(&self, name: &str, specimen: &Value<C>) -> Result<(), Mismatch> {
        self.check(specimen).map_err(|mismatch| mismatch.within(Label::name(&Text::from(name))))
    }
}

impl<C: Reference> PartialEq for Pattern<C> {
    /// Returns whether two patterns have the same form as a value.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.to_value() == other.to_value()
    }
}

impl<C: Reference + fmt::Debug> fmt::Debug for Pattern<C> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_value(), out)
    }
}

impl<C: Reference> TryFrom<&Value<C>> for Pattern<C> {
    type Error = Complaint;

    fn try_from(value: &Value<C>) -> Result<Self, Complaint> {
        Pattern::from_value(value)
    }
}

impl<C: Reference + Serialize> Serialize for Pattern<C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de, C: Reference + Deserialize<'de>> Deserialize<'de> for Pattern<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::<C>::deserialize(deserializer)?;
        Pattern::from_value(&value).map_err(serde::de::Error::custom)
    }
}
