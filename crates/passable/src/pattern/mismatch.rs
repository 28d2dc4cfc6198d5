//! The reason why a value does not match: Endo's message, and the parts of a message that teaches.

use std::fmt;

use crate::codec::error::Segment;
use crate::text::Text;
use crate::value::Value;
use crate::visible::visible_line;

/// A label for the part of a value at which a pattern was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    text: String,
    step: Option<Segment>,
}

impl Label {
    /// Returns the label of a field of a record.
    pub fn name(name: &Text) -> Label {
        Label { text: name.to_str_lossy().into_owned(), step: Some(Segment::Name(name.clone())) }
    }

    /// Returns the label of an element of an array.
    pub fn index(index: usize) -> Label {
        Label { text: format!("[{index}]"), step: Some(Segment::Index(index)) }
    }

    /// Returns a label that is no step into the value.
    pub fn note(text: impl Into<String>) -> Label {
        Label { text: text.into(), step: None }
    }

    /// The label of all parts after those that the pattern names.
    pub(crate) const REST: &'static str = "...rest";

    /// Returns the label of a field's name, as opposed to its value.
    pub(crate) fn of_name() -> Label {
        Label::note("[0]")
    }

    /// Returns the step into the value, or `None` for a label that is no step.
    pub fn segment(&self) -> Option<&Segment> {
        self.step.as_ref()
    }

    /// Returns whether the label marks the name of the field before it.
    pub fn is_of_name(&self) -> bool {
        *self == Label::of_name()
    }

    /// Returns whether the label marks the parts after those that the pattern names.
    pub fn is_rest(&self) -> bool {
        *self == Label::note(Label::REST)
    }

    /// Returns the label of a step, with Endo's own words for it.
    pub(crate) fn step(text: impl Into<String>, step: Segment) -> Label {
        Label { text: text.into(), step: Some(step) }
    }

    /// Returns the words for the label in messages. They may contain foreign text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The mismatch of a value and a pattern.
///
/// `Display` writes Endo's message: the labels from the outside in, then the reason, with values redacted. All
/// foreign text in it is made visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The labels of the path, from the outside in.
    pub path: Vec<Label>,
    /// Endo's message about the part at the path.
    pub message: String,
    /// The description of the pattern at the path, from [`crate::Pattern::describe`].
    pub expected: String,
    /// A short description of the value at the path. Safe to show.
    pub found: String,
    /// Whether Endo throws here instead of answering `false`, for example when it compares a value that is not a key.
    pub thrown: bool,
}

impl Mismatch {
    /// Returns a mismatch with a message that is not Endo's.
    pub fn new(message: impl Into<String>, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Mismatch {
            path: Vec::new(),
            message: message.into(),
            expected: expected.into(),
            found: found.into(),
            thrown: false,
        }
    }

    /// Returns the same mismatch with a label in front of its path.
    pub fn within(mut self, label: Label) -> Self {
        self.path.insert(0, label);
        self
    }

    /// Returns the mismatch of the rest of a collection as a mismatch of the whole collection.
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

    /// Returns the path as people write it, such as `scores.team` or `files[2].name`. The path of the value itself is
    /// empty. Safe to show.
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

    /// Returns Endo's message, byte for byte, foreign text included. For comparison and machines.
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

/// Returns a short description of a value, such as `the number 3`, `the text "abc…"` or `a record with a, b`. Safe to
/// show.
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

/// Returns a limit as Endo quotes it in messages. Numbers that JSON lacks stand in brackets.
pub(crate) fn quoted_number(number: f64) -> String {
    let text = number_text(number);
    if number.is_finite() { text } else { format!("\"[{text}]\"") }
}

/// Returns a short description of a value in plain JSON. Safe to show.
pub(crate) fn found_json(json: &serde_json::Value) -> String {
    match Value::<crate::NoRef>::from_json(json) {
        Ok(value) => found(&value),
        Err(_) => "JSON that cannot be read".to_owned(),
    }
}
