//! The errors of the codecs.

use std::fmt;

use crate::text::Text;
use crate::value::{MAX_DEPTH, ValueError};

/// One step from a value into a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// The index of an element in an array.
    Index(usize),
    /// The name of a field in a record.
    Name(Text),
}

/// The error of a body that is no valid encoding, with the place of the fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DecodeError {
    /// The steps from the root of the body to the faulty part.
    pub path: Vec<Segment>,
    /// The problem of that part.
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

/// An error on its way up through the levels of a codec. It is boxed, so that no result is larger than a value.
pub(crate) type Fault = Box<DecodeError>;

/// Returns the fault of a part as a fault of the whole, whose path begins with the step to the part.
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

/// The reason why a body cannot be decoded, or a value cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The body does not follow the grammar of the codec.
    #[error("expected {expected} at byte {offset}")]
    Syntax {
        /// The byte offset into the body. In smallcaps, it is counted from after the `#`.
        offset: usize,
        /// The parts that may stand at this offset.
        expected: &'static str,
    },
    /// The body is longer than the bounds allow.
    #[error("the body has {bytes} bytes, but {limit} is the limit")]
    TooLarge {
        /// The length of the body, in bytes.
        bytes: usize,
        /// The maximum length, in bytes.
        limit: usize,
    },
    /// This pass style or this reference has no encoding.
    #[error("a value of kind {0} cannot be encoded here")]
    Unencodable(&'static str),
    /// The value nests too deep.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// An object has the same name twice.
    #[error("the name {0:?} occurs twice in one record")]
    DuplicateName(Text),
    /// No well-known symbol has this name.
    #[error("there is no well-known symbol {0:?}")]
    Symbol(Text),
    /// A big integer is not written in decimal digits, or has too many of them.
    #[error("not a big integer in at most 20000 decimal digits: {0:?}")]
    BigInt(Text),
    /// The text is a `#` constant that does not exist.
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
    /// An object has an unknown marker, or a marker with wrong parts.
    #[error("malformed {0}")]
    Malformed(&'static str),
    /// A special object has an unknown class.
    #[error("unknown class {0:?}")]
    Class(Text),
    /// The slots of a reference-free context are not empty, or a reference cannot be read.
    #[error("cannot read a reference: {0:?}")]
    Reference(String),
}
