//! The controls that a form is made of, as data.

use serde::Serialize;
use serde_json::Value as Json;

/// One control with its description.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Control {
    /// The description of the pattern, in one line; safe to show.
    pub asks: String,
    /// Checks that the control itself does not make, in words; safe to show.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// How it is asked.
    #[serde(flatten)]
    pub widget: Widget,
}

/// How something is asked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "widget", rename_all = "kebab-case")]
pub enum Widget {
    /// Text. `multiline` asks for an area; `secret` must not be shown or echoed.
    Line {
        /// At most so many UTF-16 units.
        max_length: f64,
        /// Several lines.
        multiline: bool,
        /// Hidden while it is typed, sealed when it is stored.
        secret: bool,
        /// `date`, `date-time`, `email`, `uri`, `symbol` or `error` for the name of one.
        format: Option<&'static str>,
    },
    /// A number. NaN and the infinities are typed as words.
    Spin {
        /// Lower bound and whether it is included.
        min: Option<(f64, bool)>,
        /// Upper bound and whether it is included.
        max: Option<(f64, bool)>,
        /// Only whole numbers.
        whole: bool,
    },
    /// A big integer, typed as digits.
    Digits {
        /// No minus sign.
        natural: bool,
        /// At most so many digits.
        max_digits: f64,
    },
    /// Yes or no.
    Toggle,
    /// One of several literals: buttons up to five, a menu above, a searchable list above twenty.
    Menu {
        /// The choices.
        options: Vec<Choice>,
    },
    /// Several literals of a list: boxes for each at most once, or rows for another order or the same twice.
    Checks {
        /// The choices.
        options: Vec<Choice>,
    },
    /// First which variant, then its own control.
    Variants {
        /// The variants in order.
        variants: Vec<Variant>,
    },
    /// The control inside, or nothing; nothing is not the same as empty text.
    Optional {
        /// The control for the value, unless it is left out.
        inner: Box<Control>,
    },
    /// A capability from the person's own names.
    Pick {
        /// The label of the capability, in the words of the pattern.
        label: Option<String>,
        /// Pending answers are offered too.
        pending: bool,
        /// Whether anything else is offered.
        #[serde(skip_serializing_if = "is_true")]
        settled: bool,
    },
    /// Any number of rows of one control.
    Rows {
        /// The control of each row.
        item: Box<Control>,
        /// At most so many rows.
        max: f64,
        /// The same value may stand only once, and the order does not matter.
        distinct: bool,
    },
    /// Any number of rows of two controls.
    Pairs {
        /// The left side: a name, a key, or a value that is counted.
        key: Box<Control>,
        /// The right side: a value, or a count.
        value: Box<Control>,
        /// At most so many rows.
        max: f64,
        /// `record`, `map` or `bag`.
        of: &'static str,
    },
    /// Named controls together, and perhaps further rows.
    Group {
        /// The controls in order.
        fields: Vec<ControlField>,
        /// The control for further fields or elements, if there may be any.
        rest: Option<Box<Control>>,
        /// `record`, `list`, `tagged` or `error`.
        of: &'static str,
    },
    /// A file or typed bytes.
    File {
        /// At most so many bytes.
        max_bytes: f64,
    },
    /// Nothing to fill in: the value is fixed.
    Note {
        /// The value, as JSON.
        value: Json,
    },
    /// JSON as text, with a picker that inserts capabilities.
    Json {
        /// Promises can be inserted too.
        pending: bool,
    },
    /// A pattern as text, with a preview of the form that it makes.
    PatternText,
}

/// Returns whether the flag has its default, which is not serialized.
fn is_true(value: &bool) -> bool {
    *value
}

/// One literal that can be chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The text that people read; safe to show.
    pub label: String,
    /// The value of the choice, as JSON.
    pub value: Json,
    /// The text by which a form says that it is chosen.
    #[serde(skip)]
    pub sent: String,
}

/// One variant that can be chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variant {
    /// The text that people read; safe to show.
    pub label: String,
    /// The control of the variant.
    pub control: Control,
}

/// One named control of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlField {
    /// The name of the field or the number of the element. Foreign text.
    pub name: String,
    /// Whether it must be filled in.
    pub required: bool,
    /// The control of the variant.
    pub control: Control,
}
