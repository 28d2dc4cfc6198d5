//! Values, patterns and interfaces: the pure data on which every check, form, tool and wire message rests.

#![forbid(unsafe_code)]

mod codec;
mod explain;
mod fingerprint;
mod guard;
mod interface;
mod keys;
mod order;
mod pattern;
mod syntax;
mod text;
mod value;
mod visible;

pub use codec::error::{DecodeError, Problem, Segment};
pub use codec::json::Bounds;
pub use codec::{CapData, MAX_DIGITS, capdata, ordered, plist, smallcaps};
pub use explain::{
    Explanation, PatternCheckError, decode, pattern_check, pattern_check_line, pattern_from_argument,
};
pub use fingerprint::{Hash, canonical_bytes, fingerprint, push_prefixed};
pub use guard::{ArgGuard, CallKind, DefaultGuards, InterfaceGuard, MethodGuard};
pub use interface::{Effect, Interface, Method, MethodRow, Param, ToolSchema};
pub use keys::{Complaint, confirm_key, is_key, kind_of};
pub use order::{compare_keys, compare_rank};
pub use pattern::{
    Choice, Comparison, Control, ControlField, Elicitation, Label, Limit, Limits, Matcher, Mismatch, Pattern,
    Refinement, Resolve, SchemaError, SplitArray, SplitRecord, Variant, Widget, confirm_pattern,
    is_elicitation_schema, is_pattern,
};
pub use syntax::{CAPABILITY_WORDS, Node, PatternError, Span};
pub use text::{Text, TextBuilder};
pub use value::{
    Array, ErrorData, MAX_DEPTH, NoRef, Record, Reference, Remote, Symbol, Tagged, Value, ValueError,
};
pub use visible::{Untrusted, visible, visible_line};
