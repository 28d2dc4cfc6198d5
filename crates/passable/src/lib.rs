//! Values, patterns and interfaces: the pure data on which every check, form, tool and wire message rests.

#![forbid(unsafe_code)]

mod codec;
mod fingerprint;
mod text;
mod value;
mod visible;

pub use codec::error::{DecodeError, Problem, Segment};
pub use codec::json::Bounds;
pub use codec::{CapData, MAX_DIGITS, capdata, smallcaps};
pub use fingerprint::{Hash, canonical_bytes, fingerprint, push_prefixed};
pub use text::{Text, TextBuilder};
pub use value::{
    Array, ErrorData, MAX_DEPTH, NoRef, Record, Reference, Remote, Symbol, Tagged, Value, ValueError,
};
pub use visible::{Untrusted, visible, visible_line};
