//! Patterns: Endo's `M.*` matchers as data.
//!
//! A pattern is one value with several projections: it checks, it describes itself in a line, it becomes JSON
//! Schema, an elicitation, a tree of form controls, text, and the tagged value that travels.

mod build;
mod check;
mod compile;
mod controls;
mod describe;
mod elicitation;
mod form;
mod json;
mod layout;
mod limits;
mod mismatch;
mod schema;
mod schema_in;
mod secret;
mod shape;

use std::fmt;
use std::sync::Arc;

use num_bigint::BigInt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) use compile::confirm_well_formed;
pub use compile::{confirm_pattern, is_pattern};
pub use controls::{Choice, Control, ControlField, Variant, Widget};
pub use elicitation::{Elicitation, is_elicitation_schema};
pub use form::{ElementCount, form_bytes, form_of_bytes};
pub use json::Resolve;
pub use limits::{Limit, Limits};
pub use mismatch::{Label, Mismatch};
pub(crate) use mismatch::{found_json, number_text, quoted_number};

pub use schema_in::SchemaError;
pub use secret::Secrecy;

use crate::keys::Complaint;
use crate::text::Text;
use crate::value::{MAX_DEPTH, NoRef, Reference, Value};

/// A pattern over values with references of type `C`. Immutable and cheap to clone.
///
/// No pattern nests deeper than the value it is written as may; a constructor that would exceed that gives the
/// pattern that nothing matches.
pub struct Pattern<C = NoRef>(Arc<Inner<C>>);

struct Inner<C> {
    /// Depth of the value that the pattern is written as.
    depth: u32,
    matcher: Matcher<C>,
}

impl<C> Clone for Pattern<C> {
    fn clone(&self) -> Self {
        Pattern(Arc::clone(&self.0))
    }
}

/// The matcher of a pattern. Everything but [`Matcher::Refine`] is Endo's.
#[derive(Clone)]
pub enum Matcher<C = NoRef> {
    /// A key that the specimen must equal.
    Literal(Value<C>),
    /// An array of exactly these parts, not all of them literal.
    Array(Vec<Pattern<C>>),
    /// A record of exactly these fields, not all of them literal; names unique and in UTF-16 order.
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
    /// `M.refine(name)`: our one addition, for checks that Endo's matchers cannot express.
    Refine(Refinement),
}

/// The parts of `M.splitArray`.
#[derive(Clone)]
pub struct SplitArray<C = NoRef> {
    /// The elements that must be there.
    pub required: Vec<Pattern<C>>,
    /// The elements that may follow. Each may also be `undefined`.
    pub optional: Option<Vec<Pattern<C>>>,
    /// The pattern of the array of all further elements; anything matches if `None`.
    pub rest: Option<Pattern<C>>,
}

/// The parts of `M.splitRecord`.
#[derive(Clone)]
pub struct SplitRecord<C = NoRef> {
    /// The fields that must be there, in UTF-16 order.
    pub required: Vec<(Text, Pattern<C>)>,
    /// The fields that may be there, in UTF-16 order. Each may also be `undefined`.
    pub optional: Option<Vec<(Text, Pattern<C>)>>,
    /// The pattern of the record of all further fields; anything matches if `None`.
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

/// A check of numbers or strings that Endo's matchers cannot express. Peers that only know Endo refuse such patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refinement {
    /// A number without a fraction, exactly representable as an integer.
    Integer,
    /// A calendar date, `2026-11-20`.
    Date,
    /// A date and time with an offset, `2026-11-20T17:42:00Z`.
    DateTime,
    /// A mail address: one `@` with something on both sides, no spaces.
    Email,
    /// An absolute URI: a scheme, a colon, no spaces.
    Uri,
    /// Text over several lines. A hint for forms; every string matches.
    Multiline,
    /// Text that must not be shown. A hint for forms; every string matches.
    Secret,
}

/// Says whether a capability is of the kind that a part of a pattern asks for, or why not.
pub type Takes<'a, C> = dyn FnMut(&Pattern<C>, &C) -> Result<(), Mismatch> + 'a;

impl<C: Reference> Pattern<C> {
    /// Returns the matcher of this pattern.
    pub fn matcher(&self) -> &Matcher<C> {
        &self.0.matcher
    }

    /// Returns whether a value matches. Faster than [`Pattern::check`] where the reason does not matter.
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
            // Upstream throws here even when it was only asked whether the value matches.
            Err(thrown) => return Err(*thrown),
            Ok(false) => {}
        }
        self.explained(specimen, None)
    }

    /// Checks a value and looks behind each capability in it: `takes` gets the part of the pattern that asks for one, and
    /// says why the capability is of another kind. A pattern alone only tells capabilities from data.
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
    /// Says which part does not match.
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
        // A person writes `5` for a whole number too, which data writes as `5n`.
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

    /// Checks a value that has a name; the name stands first in the path.
    pub fn check_named(&self, name: &str, specimen: &Value<C>) -> Result<(), Mismatch> {
        self.check(specimen).map_err(|mismatch| mismatch.within(Label::name(&Text::from(name))))
    }

    pub(crate) fn new(matcher: Matcher<C>) -> Self {
        let depth = shape::depth(&matcher);
        let matcher = if depth > MAX_DEPTH { Matcher::Or(Vec::new()) } else { matcher };
        Pattern(Arc::new(Inner { depth: depth.min(MAX_DEPTH), matcher }))
    }
}

impl<C: Reference> PartialEq for Pattern<C> {
    /// Returns whether two patterns are written as the same value.
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
