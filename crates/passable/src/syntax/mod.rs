//! Patterns and guards as text: `M.` expressions, and the shorthand of worker files.

mod call;
mod error;
mod lexer;
mod nearest;
mod parser;
mod print;
mod shorthand;
mod wrap;

pub use error::{PatternError, Span};
pub use nearest::nearest;
pub use shorthand::{CAPABILITY_WORDS, Node};

use crate::guard::{InterfaceGuard, MethodGuard};
use crate::pattern::Pattern;
use crate::value::{Reference, Value};

impl<C: Reference> Pattern<C> {
    /// Reads an `M.` expression. Data outside of `M.` is written as in JavaScript.
    ///
    /// ```
    /// use passable::{Pattern, Value};
    /// let pattern: Pattern = Pattern::parse("M.splitRecord({ name: M.string() }, { age: M.nat() })")?;
    /// assert!(pattern.matches(&Value::record([("name", Value::string("Ada"))])?));
    /// assert_eq!(Pattern::parse(&pattern.to_text())?, pattern);
    ///
    /// let error = Pattern::<passable::NoRef>::parse("M.arrayOf(M.strng())").unwrap_err();
    /// assert_eq!(error.to_string(), "there is no matcher M.strng (did you mean M.string?)");
    /// assert_eq!(error.span, 12..17);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        Self::parse_with_slots(text, &[])
    }

    /// Reads a pattern as [`Pattern::parse`] does; `slot(0)` stands for the first of the given references, and so on.
    pub fn parse_with_slots(text: &str, slots: &[C]) -> Result<Self, PatternError> {
        let (item, span) = parser::parse(text, slots)?;
        item.into_pattern(&span)
    }

    /// Returns the pattern as an `M.` expression.
    ///
    /// References are written as `slot(0)`, `slot(1)`, … in order of first occurrence. Safe to show: invisible
    /// characters are escaped.
    pub fn to_text(&self) -> String {
        print::pattern(self)
    }

    /// Returns the text of [`Pattern::to_text`], with line breaks in parts that would be longer than `width`
    /// characters.
    ///
    /// `almoner check --expand` shows this long form.
    ///
    /// ```
    /// use passable::Pattern;
    /// let pattern: Pattern = Pattern::parse(r#"{ verdict: M.or("pass", "fail"), flags: M.arrayOf(M.string()) }"#)?;
    /// assert_eq!(
    ///     pattern.to_text_wrapped(40),
    ///     "{\n  flags: M.arrayOf(M.string()),\n  verdict: M.or(\"pass\", \"fail\"),\n}",
    /// );
    /// # Ok::<(), passable::PatternError>(())
    /// ```
    pub fn to_text_wrapped(&self, width: usize) -> String {
        wrap::wrap(&self.to_text(), width)
    }
}

impl<C: Reference> Value<C> {
    /// Reads data in the syntax of `M.` expressions, which includes JSON.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let (item, span) = parser::parse(text, &[])?;
        item.into_value(&span)
    }
}

impl<C: Reference> MethodGuard<C> {
    /// Reads `M.call(…)…returns(…)` or `M.callWhen(…)…returns(…)`.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let (item, span) = parser::parse(text, &[])?;
        item.into_method(&span)
    }

    /// Returns the guard as an `M.` expression.
    pub fn to_text(&self) -> String {
        print::method(self)
    }
}

impl<C: Reference> InterfaceGuard<C> {
    /// Reads `M.interface("Name", { method: M.call(…).returns(…) })`.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        match parser::parse(text, &[])? {
            (parser::Item::Interface(guard), _) => Ok(guard),
            (other, span) => {
                Err(PatternError::new(span, format!("expected an interface, not {}", other.what()))
                    .help("write M.interface(\"Name\", { method: M.call().returns() })"))
            }
        }
    }

    /// Returns the guard as an `M.` expression.
    pub fn to_text(&self) -> String {
        print::interface(self)
    }
}
