//! The error for text that is not a pattern, with its place.

use std::fmt;
use std::ops::Range;

/// A range of bytes in the text from which something was read.
pub type Span = Range<usize>;

/// The error for text that is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PatternError {
    /// The place of the problem in the text.
    pub span: Span,
    /// The problem, in one sentence without a full stop. Safe to show.
    pub message: String,
    /// Advice on the text to write instead, if there is any. Safe to show.
    pub help: Option<String>,
}

impl PatternError {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        let message = crate::visible_line(&message.into()).into_owned();
        PatternError { span, message, help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(out, " ({help})"),
            None => Ok(()),
        }
    }
}
