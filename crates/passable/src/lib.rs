//! Values, patterns and interfaces: the pure data on which every check, form, tool and wire message rests.
//!
//! - [`Value`]: data that objects without mutual trust can pass: immutable, acyclic, cheap to clone, never deeper
//!   than [`MAX_DEPTH`]. `C` is the type of references in a context; [`NoRef`] means data only.
//! - [`Pattern`]: Endo's `M.*` matchers with their limits and orders. One pattern checks and describes itself. It
//!   becomes JSON Schema, an elicitation, a tree of form controls, text, and a value that travels.
//! - [`Interface`] and [`InterfaceGuard`]: the methods of a capability, with effect classes. They become LLM tools,
//!   MCP tools, guards, and a table for people. They also turn a tool call's JSON into checked arguments.
//! - Codecs: [`smallcaps`] and [`capdata`] (Endo's wire and storage), `ordered` (sortable keys, behind the feature of
//!   that name), plain JSON ([`Value::to_json`], [`Value::to_json_text`]) and [`plist`] (Emacs). Decoders bound size
//!   and depth, refuse duplicate names, and answer bad input with a typed error that has a path.
//! - [`fingerprint`]: BLAKE3 of canonical bytes. [`Untrusted`] and [`visible`]: foreign text made safe to show;
//!   [`Quoting`]: the position of foreign text in our own sentences.
//!
//! The crate does no I/O, reads no clock, and depends on nothing of Almoner.
//!
//! # The matchers
//!
//! Each with a value that matches and a value that does not:
//!
//! ```
//! use passable::{NoRef, Pattern, Value};
//!
//! for (pattern, good, bad) in [
//!     ("M.any()", "[1, {}]", ""),
//!     ("M.and(M.number(), M.gte(3))", "3", "2"),
//!     ("M.or(M.string(), M.number())", "'x'", "true"),
//!     ("M.not(7)", "8", "7"),
//!     ("M.scalar()", "'x'", "[]"),
//!     ("M.key()", "[{ a: 1 }]", ""),
//!     ("M.pattern()", "{ a: 1 }", ""),
//!     ("M.kind('copySet')", "makeCopySet([1])", "[1]"),
//!     ("M.boolean()", "false", "0"),
//!     ("M.number()", "NaN", "5n"),
//!     ("M.bigint({ decimalDigitsLimit: 2 })", "-99n", "100n"),
//!     ("M.nat()", "0n", "-1n"),
//!     ("M.string({ stringLengthLimit: 2 })", "'ab'", "'abc'"),
//!     ("M.symbol()", "Symbol.for('x')", "'x'"),
//!     ("M.byteArray()", "bytes('AQI=')", "'AQI='"),
//!     ("M.undefined()", "undefined", "null"),
//!     ("M.null()", "null", "undefined"),
//!     ("M.opt(M.string())", "undefined", "1"),
//!     ("M.eref(M.string())", "'x'", "1"),
//!     ("M.lt(3)", "2", "3"),
//!     ("M.lte('b')", "'b'", "'c'"),
//!     ("M.gte(makeCopySet([1]))", "makeCopySet([1, 2])", "makeCopySet([2])"),
//!     ("M.gt({ a: 1, b: 1 })", "{ a: 1, b: 2 }", "{ a: 0, b: 2 }"),
//!     ("M.eq([1])", "[1]", "[1, 1]"),
//!     ("M.neq(1)", "2", "1"),
//!     ("M.arrayOf(M.number(), { arrayLengthLimit: 2 })", "[1, 2]", "[1, 2, 3]"),
//!     ("M.recordOf(M.string(), M.number())", "{ a: 1 }", "{ a: 'x' }"),
//!     ("M.setOf(M.string())", "makeCopySet(['a'])", "makeCopySet([1])"),
//!     ("M.bagOf(M.string(), M.gte(2n))", "makeCopyBag([['a', 2n]])", "makeCopyBag([['a', 1n]])"),
//!     ("M.mapOf(M.string(), M.number())", "makeCopyMap([['a', 1]])", "makeCopyMap([[1, 1]])"),
//!     ("M.containerHas('a', 2n)", "['a', 'b', 'a']", "['a']"),
//!     ("M.splitArray([M.number()], [M.string()], [])", "[1, 'x']", "[1, 'x', 2]"),
//!     ("M.splitRecord({ a: M.number() }, { b: M.number() })", "{ a: 1, c: 3 }", "{ b: 2 }"),
//!     ("M.partial({ a: M.number() })", "{}", "{ a: 'x' }"),
//!     ("{ a: M.number() }", "{ a: 1 }", "{ a: 1, b: 2 }"),
//!     ("[M.number(), 'x']", "[1, 'x']", "[1]"),
//!     ("makeCopyMap([['a', M.number()]])", "makeCopyMap([['a', 1]])", "makeCopyMap([['b', 1]])"),
//!     ("M.refine('date')", "'2024-02-29'", "'2023-02-29'"),
//! ] {
//!     let pattern = Pattern::<NoRef>::parse(pattern)?;
//!     assert!(pattern.matches(&Value::parse(good)?), "{pattern:?}");
//!     assert!(bad.is_empty() || !pattern.matches(&Value::parse(bad)?), "{pattern:?}");
//! }
//!
//! // References, errors and tagged values are no data that text can say.
//! let file: Value<u32> = Value::remotable(1);
//! assert!(Pattern::remotable("file").matches(&file) && !Pattern::promise("answer").matches(&file));
//! assert!(Pattern::error().matches(&Value::<NoRef>::error("TypeError", "no")));
//! let red: Value = Value::tagged("color", Value::string("red"));
//! assert!(Pattern::tagged(Pattern::text("color"), Pattern::string()).matches(&red));
//! # Ok::<(), passable::PatternError>(())
//! ```
//!
//! # Differences from upstream
//!
//! - Depth is bounded by [`MAX_DEPTH`]. Bytes have encodings, which upstream has not yet.
//! - `M.refine(name)` is ours; peers that only know Endo refuse it.
//! - Upstream throws in some checks, for example when it compares a value that is not a key. Here the check is a
//!   mismatch with [`Mismatch::thrown`].
//! - Decoders refuse duplicate names, and big integers in other than decimal digits.

#![forbid(unsafe_code)]

mod binding;
mod character;
mod codec;
mod decimal;
mod explain;
mod fingerprint;
mod guard;
mod interface;
mod keys;
mod legible;
mod order;
mod pattern;
mod quoting;
#[cfg(feature = "schema")]
mod schema;
mod shell_word;
mod syntax;
mod text;
mod value;
mod visible;

pub use binding::is_binding;
pub use codec::error::{DecodeError, Problem, Segment};
pub use codec::exact::{
    ExactJson, ExactJsonError, big_digits, keep_digits, keep_integers, read_exact_json, without_escapes,
};
pub use codec::json::Bounds;
#[cfg(feature = "ordered")]
pub use codec::ordered;
pub use codec::{CapData, MAX_DIGITS, capdata, from_base64, plist, smallcaps, to_base64};
pub use explain::{
    Explanation, PatternCheckError, decode, pattern_check, pattern_check_line, pattern_from_argument,
};
pub use fingerprint::{Hash, canonical_bytes, fingerprint, push_prefixed};
pub use guard::{ArgGuard, CallKind, DefaultGuards, InterfaceGuard, MethodGuard};
pub use interface::{Effect, Interface, Method, MethodRow, Param, ToolSchema};
pub use keys::{Complaint, confirm_key, is_key, kind_of};
pub use legible::{LegibleText, file_text, is_terminal_control, legible};
pub use order::{compare_keys, compare_rank};
pub use pattern::{
    Choice, Comparison, Control, ControlField, ElementCount, Elicitation, Label, Limit, Limits, Matcher,
    Mismatch, Pattern, Refinement, Resolve, SchemaError, Secrecy, SplitArray, SplitRecord, Takes, Variant,
    Widget, confirm_pattern, form_bytes, form_of_bytes, is_elicitation_schema, is_pattern,
};
pub use quoting::{Quoted, Quoting, QuotingPart, parts};
pub use shell_word::shell_word;
pub use syntax::{CAPABILITY_WORDS, Node, PatternError, Span, nearest};
pub use text::{Text, TextBuilder};
pub use value::{
    Array, ErrorData, MAX_DEPTH, NoRef, Record, Reference, Remote, Symbol, Tagged, Value, ValueError,
};
pub use visible::{
    Untrusted, VisiblePart, stored_order, visible, visible_line, visible_name, visible_parts, with_article,
};
