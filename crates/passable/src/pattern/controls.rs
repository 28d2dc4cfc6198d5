//! The tree of form controls that asks for a pattern, the same for web, terminal and editor.
//!
//! [`Pattern::read_form`] reads the body that such a form sends back, and [`Pattern::write_form`] fills a form in.

use serde::Serialize;
use serde_json::Value as Json;

use super::describe::literal;
use super::form::choice_texts;
use super::layout::{Layout, Part, layout, unwrap_and};
use super::{Matcher, Pattern};
use crate::codec::plain;
use crate::value::{Reference, Value};

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

impl<C: Reference> Pattern<C> {
    /// Returns the control that asks for this pattern. Total: a pattern that no other control can ask for gets a JSON
    /// control.
    ///
    /// ```
    /// use passable::{Pattern, Widget};
    /// let pattern: Pattern = Pattern::between(1.0, 5.0);
    /// let widget = Widget::Spin { min: Some((1.0, true)), max: Some((5.0, true)), whole: false };
    /// assert_eq!(pattern.controls().widget, widget);
    /// ```
    pub fn controls(&self) -> Control {
        Control { asks: self.describe(), checks: Vec::new(), widget: widget(self) }.with_checks(self)
    }
}

impl Control {
    fn with_checks<C: Reference>(mut self, pattern: &Pattern<C>) -> Self {
        if let Matcher::And(parts) = pattern.matcher() {
            let asked = |part: &Pattern<C>| match part.matcher() {
                Matcher::Kind(_)
                | Matcher::String(_)
                | Matcher::BigInt(_)
                | Matcher::Nat(_)
                | Matcher::Any => true,
                Matcher::Refine(_) => true,
                Matcher::Compare(_, Value::Number(_)) => matches!(self.widget, Widget::Spin { .. }),
                _ => false,
            };
            let base = unwrap_and(parts);
            let left = parts.iter().filter(|part| !asked(part) && base.as_ref() != Some(*part));
            self.checks = left.map(Pattern::describe).collect();
        }
        self
    }
}

fn boxed<C: Reference>(pattern: &Pattern<C>) -> Box<Control> {
    Box::new(pattern.controls())
}

fn written<C: Reference>(value: &Value<C>) -> Json {
    plain::write(value, &mut |_| Json::Null)
}

/// Returns a literal in words; where a number stands among them, a big integer says that it is one.
pub(super) fn distinct_label<C: Reference>(all: &[Value<C>], value: &Value<C>) -> String {
    let numbers = all.iter().any(|one| matches!(one, Value::Number(_)));
    match value {
        Value::BigInt(number) if numbers => format!("{number} (a big integer)"),
        value => literal(value),
    }
}

fn choices<C: Reference>(values: &[Value<C>]) -> Vec<Choice> {
    let choice = |(value, sent): (&Value<C>, String)| Choice {
        label: distinct_label(values, value),
        value: written(value),
        sent,
    };
    values.iter().zip(choice_texts(values)).map(choice).collect()
}

fn field<C: Reference>(part: &Part<C>) -> ControlField {
    ControlField {
        name: part.name.to_str_lossy().into_owned(),
        required: part.required(),
        control: part.pattern.controls(),
    }
}

fn widget<C: Reference>(pattern: &Pattern<C>) -> Widget {
    match layout(pattern) {
        Layout::Single(widget) | Layout::Symbol(widget) => widget,
        Layout::Fixed(value) => Widget::Note { value: written(&value) },
        Layout::Menu(values) => Widget::Menu { options: choices(&values) },
        Layout::Checks(values) => Widget::Checks { options: choices(&values) },
        Layout::Optional(inner) => Widget::Optional { inner: boxed(&inner) },
        Layout::Variants(variants) => {
            let variant = |(label, part): (String, Option<Pattern<C>>)| Variant {
                label,
                control: part.map_or_else(
                    || Control {
                        asks: Pattern::<C>::any().describe(),
                        checks: Vec::new(),
                        widget: Widget::Json { pending: true },
                    },
                    |part| part.controls(),
                ),
            };
            Widget::Variants { variants: variants.into_iter().map(variant).collect() }
        }
        Layout::Rows { item, max, distinct } => Widget::Rows { item: boxed(&item), max, distinct },
        Layout::Pairs { key, value, max, of } => {
            let mut asks = boxed(&key);
            // That a name is not too long goes without saying where more is asked of it.
            if let ("record", Matcher::And(parts)) = (of, key.matcher())
                && let [name, text] = parts.as_slice()
            {
                let is_line =
                    unwrap_and(parts).as_ref() == Some(text) && !matches!(name.matcher(), Matcher::Refine(_));
                asks.asks = if is_line { text.describe() } else { name.describe() };
            }
            Widget::Pairs { key: asks, value: boxed(&value), max, of }
        }
        Layout::Group { parts, rest, of } => {
            let mut fields: Vec<ControlField> = parts.iter().map(field).collect();
            if let ("error", Some(name)) = (of, fields.first_mut())
                && let Widget::Line { format, .. } = &mut name.control.widget
            {
                *format = Some("error");
            }
            Widget::Group { fields, rest: rest.as_ref().map(boxed), of }
        }
    }
}
