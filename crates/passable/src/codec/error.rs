//! The errors of decoders.

use std::fmt;

use crate::text::Text;
use crate::value::{MAX_DEPTH, ValueError};

/// One step from a value into a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Into an array.
    Index(usize),
    /// Into a record.
    Name(Text),
}

/// A body that is not an encoding, and where in it the trouble lies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DecodeError {
    /// Steps from the root of the body to the offending part.
    pub path: Vec<Segment>,
    /// The problem there.
    #[source]
    pub problem: Problem,
}

impl DecodeError {
    pub(crate) fn within(mut self, segment: Segment) -> Self {
        self.path.insert(0, segment);
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            out.write_str("at ")?;
            for (depth, segment) in self.path.iter().enumerate() {
                match segment {
                    Segment::Index(index) => write!(out, "[{index}]")?,
                    Segment::Name(name) => {
                        let dot = if depth > 0 { "." } else { "" };
                        write!(out, "{dot}{}", crate::visible::visible_line(&name.to_str_lossy()))?;
                    }
                }
            }
            out.write_str(": ")?;
        }
        fmt::Display::fmt(&self.problem, out)
    }
}

impl From<Problem> for DecodeError {
    fn from(problem: Problem) -> Self {
        DecodeError { path: Vec::new(), problem }
    }
}

impl From<ValueError> for DecodeError {
    fn from(error: ValueError) -> Self {
        Problem::from(error).into()
    }
}

/// An error on its way up through the levels of a codec: boxed, so that no result is larger than a value.
pub(crate) type Fault = Box<DecodeError>;

/// Returns the fault of a part, seen from the whole.
#[cold]
pub(crate) fn within(mut fault: Fault, segment: Segment) -> Fault {
    fault.path.insert(0, segment);
    fault
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Box::new(problem.into())
    }
}

impl From<ValueError> for Fault {
    fn from(error: ValueError) -> Self {
        Box::new(error.into())
    }
}

impl From<ValueError> for Problem {
    fn from(error: ValueError) -> Self {
        match error {
            ValueError::DuplicateName(name) => Problem::DuplicateName(name),
            ValueError::TooDeep => Problem::TooDeep,
            ValueError::UnknownSymbol(name) => Problem::Symbol(name),
        }
    }
}

/// Why a body cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is not of the codec's grammar.
    #[error("expected {expected} at byte {offset}")]
    Syntax {
        /// Byte offset into the body (for capdata and smallcaps: after the `#`).
        offset: usize,
        /// The parts that may stand there.
        expected: &'static str,
    },
    /// It is longer than the bounds allow.
    #[error("the body has {bytes} bytes, but {limit} is the limit")]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// There is no encoding for this pass style, or for this reference.
    #[error("a value of kind {0} cannot be encoded here")]
    Unencodable(&'static str),
    /// It nests too deep.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// An object has the same name twice.
    #[error("the name {0:?} occurs twice in one record")]
    DuplicateName(Text),
    /// There is no well-known symbol of this name.
    #[error("there is no well-known symbol {0:?}")]
    Symbol(Text),
    /// A big integer is not written in decimal digits, or has too many of them.
    #[error("not a big integer in at most 20000 decimal digits: {0:?}")]
    BigInt(Text),
    /// A `#` constant that does not exist.
    #[error("unknown constant {0:?}")]
    Constant(Text),
    /// A string begins with a character that is reserved for later.
    #[error("strings that begin with {0:?} are reserved")]
    Reserved(char),
    /// Bytes are not in base64.
    #[error("not base64")]
    Base64,
    /// A slot reference names no slot.
    #[error("no slot {0:?}")]
    Slot(Text),
    /// An object with a marker that is unknown or has wrong parts.
    #[error("malformed {0}")]
    Malformed(&'static str),
    /// A special object of an unknown class.
    #[error("unknown class {0:?}")]
    Class(Text),
    /// The slots of a reference-free context are not empty, or a reference cannot be read.
    #[error("cannot read a reference: {0:?}")]
    Reference(String),
}
