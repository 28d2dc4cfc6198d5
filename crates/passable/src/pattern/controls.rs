//! The tree of form controls that asks for a pattern, the same for web, terminal and editor.
//!
//! [`Pattern::read_form`] reads the body that such a form sends back, and [`Pattern::write_form`] fills a form in.

use serde_json::Value as Json;

use super::choice_text::choice_texts;
use super::describe::distinct_label;
use super::layout::{Layout, Part, layout, unwrap_and};
use super::widget::{Choice, Control, ControlField, Variant, Widget};
use super::{Matcher, Pattern};
use crate::codec::plain;
use crate::value::{Reference, Value};

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
            // If a name must match more than a limit of its length, only the other condition is shown.
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
