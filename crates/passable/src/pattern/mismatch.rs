//! Why a value does not match: upstream's message, and the parts of a message that teaches.

use std::fmt;

use crate::codec::error::Segment;
use crate::text::Text;
use crate::value::Value;
use crate::visible::visible_line;

/// Where in a value a pattern was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    text: String,
    step: Option<Segment>,
}

impl Label {
    /// Returns a field of a record.
    pub fn name(name: &Text) -> Label {
        Label { text: name.to_str_lossy().into_owned(), step: Some(Segment::Name(name.clone())) }
    }

    /// Returns an element of an array.
    pub fn index(index: usize) -> Label {
        Label { text: format!("[{index}]"), step: Some(Segment::Index(index)) }
    }

    /// Returns a label that is no step into the value.
    pub fn note(text: impl Into<String>) -> Label {
        Label { text: text.into(), step: None }
    }

    /// The label of everything after the parts that have fields of their own.
    pub(crate) const REST: &'static str = "...rest";

    /// Returns the label of a field's name, as opposed to its value.
    pub(crate) fn of_name() -> Label {
        Label::note("[0]")
    }

    /// Returns the step into the value, unless it is a label alone.
    pub fn segment(&self) -> Option<&Segment> {
        self.step.as_ref()
    }

    /// Returns whether the label marks the name of the field before it.
    pub fn is_of_name(&self) -> bool {
        *self == Label::of_name()
    }

    /// Returns whether the label marks the part after the parts that have fields of their own.
    pub fn is_rest(&self) -> bool {
        *self == Label::note(Label::REST)
    }

    /// Returns a step with upstream's own words for it.
    pub(crate) fn step(text: impl Into<String>, step: Segment) -> Label {
        Label { text: text.into(), step: Some(step) }
    }

    /// Returns the words for it in messages. May be foreign text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A value that does not match.
///
/// `Display` writes upstream's message: labels from the outside in, then the reason, with values redacted. All
/// foreign text in it is made visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Labels from the outside in.
    pub path: Vec<Label>,
    /// Upstream's message about the part at the path.
    pub message: String,
    /// The pattern that would match there, as [`crate::Pattern::describe`] writes it.
    pub expected: String,
    /// The value found there, in a few words, safe to show.
    pub found: String,
    /// Whether upstream throws instead of answering, as it does when something that is not a key is compared.
    pub thrown: bool,
}

impl Mismatch {
    /// Returns a mismatch of our own making.
    pub fn new(message: impl Into<String>, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Mismatch {
            path: Vec::new(),
            message: message.into(),
            expected: expected.into(),
            found: found.into(),
            thrown: false,
        }
    }

    /// Returns the same mismatch, seen from outside.
    pub fn within(mut self, label: Label) -> Self {
        self.path.insert(0, label);
        self
    }

    /// Returns the mismatch of a rest as one of the whole.
    ///
    /// An index within the rest of a list is moved by the number of elements before it. Any other mismatch gets the
    /// label of the rest.
    pub(crate) fn following(mut self, elements: Option<usize>) -> Self {
        match (elements, self.path.first_mut()) {
            (Some(before), Some(label)) if matches!(label.step, Some(Segment::Index(_))) => {
                if let Some(Segment::Index(at)) = label.step {
                    *label = Label::index(before.saturating_add(at));
                }
                self
            }
            _ => self.within(Label::note(Label::REST)),
        }
    }

    /// Returns the steps into the value, without labels that are no steps.
    pub fn steps(&self) -> impl Iterator<Item = &Segment> {
        self.path.iter().filter_map(|label| label.step.as_ref())
    }

    /// Returns the path as people write it: `scores.team`, `files[2].name`. Empty for the value itself. Safe to show.
    pub fn path_text(&self) -> String {
        let mut out = String::new();
        for step in self.steps() {
            match step {
                Segment::Index(index) => out.push_str(&format!("[{index}]")),
                Segment::Name(name) => {
                    if !out.is_empty() {
                        out.push('.');
                    }
                    out.push_str(&visible_line(&name.to_str_lossy()));
                }
            }
        }
        out
    }

    /// Returns one sentence that names the place, the expectation and the value found. For people and models.
    pub fn teach(&self) -> String {
        let path = self.path_text();
        if path.is_empty() {
            format!("expected {}, found {}", self.expected, self.found)
        } else {
            format!("`{path}`: expected {}, found {}", self.expected, self.found)
        }
    }

    /// Returns upstream's message, byte for byte, foreign text included. For comparison and machines.
    pub fn raw_message(&self) -> String {
        let labels = self.path.iter().map(|label| format!("{}: ", label.text));
        labels.chain([self.message.clone()]).collect()
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&visible_line(&self.raw_message()))
    }
}

impl std::error::Error for Mismatch {}

/// Returns a value in a few words: `the number 3`, `the text "abc…"`, `a record with a, b`. Safe to show.
pub(crate) fn found<C>(value: &Value<C>) -> String {
    let short = |text: &Text| {
        let text = text.to_str_lossy();
        let cut: String = text.chars().take(40).collect();
        let dots = if cut.len() < text.len() { "…" } else { "" };
        format!("{}{dots}", visible_line(&cut))
    };
    match value {
        Value::Undefined => "nothing (undefined)".to_owned(),
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("{value}"),
        Value::Number(number) => format!("the number {}", number_text(*number)),
        Value::BigInt(number) => {
            let digits = number.to_string();
            match digits.len() {
                0..=40 => format!("the big integer {digits}"),
                count => format!("a big integer of {count} digits"),
            }
        }
        Value::String(text) => format!("the text \"{}\"", short(text)),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Value::Symbol(symbol) => format!("the symbol {}", short(symbol.name())),
        Value::Array(array) => match array.len() {
            0 => "an empty list".to_owned(),
            1 => "a list of 1 element".to_owned(),
            count => format!("a list of {count} elements"),
        },
        Value::Record(record) => {
            let names: Vec<String> = record.names().take(6).map(&short).collect();
            match (names.is_empty(), record.len() > names.len()) {
                (true, _) => "an empty record".to_owned(),
                (_, false) => format!("a record with {}", names.join(", ")),
                (_, true) => format!("a record with {}, …", names.join(", ")),
            }
        }
        Value::Tagged(tagged) => match tagged.tag().as_str() {
            Some("copySet") => "a set".to_owned(),
            Some("copyBag") => "a bag".to_owned(),
            Some("copyMap") => "a map".to_owned(),
            _ => format!("something tagged \"{}\"", short(tagged.tag())),
        },
        Value::Error(error) => format!("an error ({}: {})", short(&error.name), short(&error.message)),
        Value::Remotable(_) => "a capability".to_owned(),
        Value::Promise(_) => "a promise".to_owned(),
    }
}

/// Returns a number as JavaScript writes it.
pub(crate) fn number_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let mut out = String::new();
    crate::codec::json::write_number(&mut out, number);
    out
}

/// Returns a limit as upstream quotes it in messages: numbers that JSON lacks stand in brackets.
pub(crate) fn quoted_number(number: f64) -> String {
    let text = number_text(number);
    if number.is_finite() { text } else { format!("\"[{text}]\"") }
}

/// Describes plain JSON in a few words. Safe to show.
pub(crate) fn found_json(json: &serde_json::Value) -> String {
    match Value::<crate::NoRef>::from_json(json) {
        Ok(value) => found(&value),
        Err(_) => "JSON that cannot be read".to_owned(),
    }
}
