//! The controls of a form, as data.

use serde::Serialize;
use serde_json::Value as Json;

/// One control with its description.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Control {
    /// The description of the pattern, in one line. Safe to show.
    pub asks: String,
    /// The checks that the control itself does not make, in words. Safe to show.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// The kind of the control.
    #[serde(flatten)]
    pub widget: Widget,
}

/// The kind of a control, with its settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "widget", rename_all = "kebab-case")]
pub enum Widget {
    /// Text on one line or several lines.
    Line {
        /// The maximum number of UTF-16 units.
        max_length: f64,
        /// Whether the text may have several lines.
        multiline: bool,
        /// Whether the text is a secret, which is hidden while it is typed and sealed when it is stored.
        secret: bool,
        /// The format of the text: `date`, `date-time`, `email`, `uri`, `symbol` for the name of a symbol, or `error`
        /// for the name of an error.
        format: Option<&'static str>,
    },
    /// A number. NaN and the infinities are typed as words.
    Spin {
        /// The lower bound, and whether it is included.
        min: Option<(f64, bool)>,
        /// The upper bound, and whether it is included.
        max: Option<(f64, bool)>,
        /// Whether the number must be whole.
        whole: bool,
    },
    /// A big integer, typed as digits.
    Digits {
        /// Whether a minus sign is forbidden.
        natural: bool,
        /// The maximum number of digits.
        max_digits: f64,
    },
    /// A choice of yes or no.
    Toggle,
    /// One of several literals. Up to five are buttons, up to twenty are a menu, and more are a searchable list.
    Menu {
        /// The choices.
        options: Vec<Choice>,
    },
    /// A list of literals. Check boxes give each literal at most once. Rows allow another order and repetitions.
    Checks {
        /// The choices.
        options: Vec<Choice>,
    },
    /// A choice of a variant, and then the control of that variant.
    Variants {
        /// The variants, in order.
        variants: Vec<Variant>,
    },
    /// An inner control that may be left out. A value that is left out differs from empty text.
    Optional {
        /// The control for a value that is not left out.
        inner: Box<Control>,
    },
    /// A picker for a capability among the user's own names.
    Pick {
        /// The label of the capability, in the words of the pattern.
        label: Option<String>,
        /// Whether pending answers (promises) are offered.
        pending: bool,
        /// Whether capabilities other than pending answers are offered.
        #[serde(skip_serializing_if = "is_true")]
        settled: bool,
    },
    /// Any number of rows with the same control.
    Rows {
        /// The control of each row.
        item: Box<Control>,
        /// The maximum number of rows.
        max: f64,
        /// Whether a value may occur only once and the order does not matter.
        distinct: bool,
    },
    /// Any number of rows with two controls.
    Pairs {
        /// The left side: a name, a key, or a value that is counted.
        key: Box<Control>,
        /// The right side: a value, or a count.
        value: Box<Control>,
        /// The maximum number of rows.
        max: f64,
        /// The kind of the value: `record`, `map` or `bag`.
        of: &'static str,
    },
    /// Several named controls, and perhaps further rows.
    Group {
        /// The controls, in order.
        fields: Vec<ControlField>,
        /// The control for further fields or elements, if the value may have any.
        rest: Option<Box<Control>>,
        /// The kind of the value: `record`, `list`, `tagged` or `error`.
        of: &'static str,
    },
    /// A file or typed bytes.
    File {
        /// The maximum number of bytes.
        max_bytes: f64,
    },
    /// A fixed value, with nothing to fill in.
    Note {
        /// The value, as JSON.
        value: Json,
    },
    /// JSON as text, with a picker that inserts capabilities.
    Json {
        /// Whether promises can be inserted too.
        pending: bool,
    },
    /// A pattern as text, with a preview of the form that it makes.
    PatternText,
}

/// Returns whether a flag is true, which is its default and is then not serialized.
fn is_true(value: &bool) -> bool {
    *value
}

/// A literal that a user can choose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The text that the user reads. Safe to show.
    pub label: String,
    /// The value of the choice, as JSON.
    pub value: Json,
    /// The text that a form sends for this choice.
    #[serde(skip)]
    pub sent: String,
}

/// A variant that a user can choose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variant {
    /// The text that the user reads. Safe to show.
    pub label: String,
    /// The control of the variant.
    pub control: Control,
}

/// A named control of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlField {
    /// The name of the field or the number of the element. Foreign text.
    pub name: String,
    /// Whether the control must be filled in.
    pub required: bool,
    /// The control of the field or element.
    pub control: Control,
}
