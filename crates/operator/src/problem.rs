//! A problem in a policy file.

use std::fmt;

use passable::visible_line;

/// A fault in a policy file, or a warning about the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The name of the file, as the user knows it.
    pub file: String,
    /// The line, from 1, or `None` if the problem is about the whole file.
    pub line: Option<usize>,
    /// The description of the problem. It may quote the file, and is made safe to show.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
}

impl Problem {
    pub(crate) fn new(file: &str, line: Option<usize>, message: impl AsRef<str>) -> Problem {
        Problem {
            file: file.to_owned(),
            line,
            message: visible_line(message.as_ref()).into_owned(),
            help: None,
        }
    }

    pub(crate) fn help(mut self, help: impl AsRef<str>) -> Problem {
        self.help = Some(visible_line(help.as_ref()).into_owned());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}
