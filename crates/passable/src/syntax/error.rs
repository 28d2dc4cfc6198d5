//! Text that is not a pattern, and where.

use std::fmt;
use std::ops::Range;

/// A range of bytes in the text from which something was read.
pub type Span = Range<usize>;

/// Text that is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PatternError {
    /// Where in the text.
    pub span: Span,
    /// The problem, in one sentence without a full stop. Safe to show.
    pub message: String,
    /// The text to write instead, if that is known. Safe to show.
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
