//! The functions by which the command line explains a pattern: one call per verb, text in and text out.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::codec::error::DecodeError;
use crate::codec::json::Bounds;
use crate::codec::{CapData, capdata, smallcaps};
use crate::keys::redacted;
use crate::pattern::Pattern;
use crate::syntax::{Node, PatternError};
use crate::value::{NoRef, Reference, Value};

/// Decodes a body in either encoding. Smallcaps begins with `#`, which no JSON text does.
pub fn decode<C: Reference>(data: &CapData<C>) -> Result<Value<C>, DecodeError> {
    match data.body.starts_with('#') {
        true => smallcaps::decode_within(&data.body, &data.slots, Bounds::default()),
        false => capdata::decode(data),
    }
}

/// The explanation of whether a value matches a pattern. All texts are safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Whether the value matches.
    pub matches: bool,
    /// The description of the pattern, in one line.
    pub asks: String,
    /// The pattern as an `M.` expression.
    pub pattern: String,
    /// The first difference of the value: the path, the expectation there, and the part found there.
    pub mismatch: Option<(String, String, String)>,
    /// Upstream's message about the mismatch.
    pub message: Option<String>,
}

/// Explains whether a value matches: `almoner pattern check PATTERN VALUE`.
///
/// The pattern is an `M.` expression or a word of the shorthand, the value JSON or data as in `M.` expressions.
///
/// ```
/// let told = passable::pattern_check("{ n: M.gte(0) }", r#"{"n": -1}"#)?;
/// assert!(!told.matches);
/// let (path, expected, found) = told.mismatch.unwrap();
/// assert_eq!((&*path, &*expected, &*found), ("n", "at least 0", "the number -1"));
/// # Ok::<(), passable::PatternCheckError>(())
/// ```
pub fn pattern_check(pattern: &str, value: &str) -> Result<Explanation, PatternCheckError> {
    let pattern = pattern_from_argument(pattern).map_err(PatternCheckError::Pattern)?;
    let value = Value::<NoRef>::parse(value).map_err(PatternCheckError::Value)?;
    let outcome = pattern.check(&value).err();
    Ok(Explanation {
        matches: outcome.is_none(),
        asks: pattern.describe(),
        pattern: pattern.to_text(),
        message: outcome.as_ref().map(ToString::to_string),
        mismatch: outcome.map(|found| (found.path_text(), found.expected, found.found)),
    })
}

/// The reason why a pattern check cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternCheckError {
    /// The first argument is not a pattern.
    #[error("the pattern cannot be read: {0}")]
    Pattern(#[source] PatternError),
    /// The second argument is not data.
    #[error("the value cannot be read: {0}")]
    Value(#[source] PatternError),
}

/// Reads a pattern as people give it on a command line: an `M.` expression, or else a line of shorthand.
pub fn pattern_from_argument(text: &str) -> Result<Pattern, PatternError> {
    let word = || Pattern::from_shorthand(&Node::Text(text.to_owned(), 0..text.len()));
    let expression = text.contains("M.") || text.trim_start().starts_with(['{', '[', '"', '\'']);
    if expression { Pattern::parse(text) } else { word() }
}

#[derive(Deserialize)]
struct CheckLine {
    pattern: CapData<Json>,
    specimen: CapData<Json>,
    /// The label of the specimen in messages. The label in upstream's vectors is `L`.
    #[serde(default = "default_label")]
    label: Option<String>,
}

fn default_label() -> Option<String> {
    Some("L".to_owned())
}

/// Answers one line of `almoner pattern check --ndjson`.
///
/// The line is `{"pattern": {body, slots}, "specimen": {body, slots}}`, the answer
/// `{"matches": bool, "message": string|null}`; the message is upstream's, with the label `L` for the specimen
/// unless the line says `"label": …`. A line that cannot be read is answered with `matches: false` and the reason.
///
/// ```
/// let line = r##"{"pattern":{"body":"#{\"#tag\":\"match:string\",\"payload\":[]}","slots":[]},
///                 "specimen":{"body":"#7","slots":[]}}"##;
/// let answer = r#"{"matches":false,"message":"L: number (a number) - Must be a string"}"#;
/// assert_eq!(passable::pattern_check_line(line), answer);
/// ```
pub fn pattern_check_line(line: &str) -> String {
    let (matches, message) = match check_line(line) {
        Ok(()) => (true, None),
        Err(message) => (false, Some(message)),
    };
    json!({ "matches": matches, "message": message }).to_string()
}

fn check_line(line: &str) -> Result<(), String> {
    let line: CheckLine =
        serde_json::from_str(line).map_err(|error| format!("cannot read the line: {error}"))?;
    // Slots can be any JSON; they only need to be told apart.
    let decoded = |data: CapData<Json>| {
        let slots = data.slots.iter().map(Json::to_string).collect();
        decode(&CapData { body: data.body, slots }).map_err(|error| format!("cannot decode: {error}"))
    };
    let (pattern, specimen) = (decoded(line.pattern)?, decoded(line.specimen)?);
    let label = line.label.map(|label| format!("{label}: ")).unwrap_or_default();
    let compiled = Pattern::from_value(&pattern).map_err(|complaint| match &pattern {
        Value::Promise(_) => format!("{label}promises cannot be patterns: {}", redacted(&pattern)),
        Value::Error(_) => format!("{label}errors cannot be patterns: {}", redacted(&pattern)),
        _ => complaint.to_string(),
    })?;
    compiled.check(&specimen).map_err(|mismatch| match mismatch.thrown {
        true => mismatch.raw_message(),
        false => format!("{label}{}", mismatch.raw_message()),
    })
}
