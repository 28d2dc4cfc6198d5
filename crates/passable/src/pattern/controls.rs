//! The tree of form controls that asks for a pattern, the same for web, terminal and editor.
//!
//! What a form sends back is JSON of the shape of [`Pattern::to_json_schema`], read by [`Pattern::read_json`]:
//! a control says which part of it a person fills in, and how.

use serde::Serialize;
use serde_json::Value as Json;

use super::describe::literal;
use super::schema::unwrap_and;
use super::{Comparison, Limit, Limits, Matcher, Pattern, Refinement};
use crate::text::Text;
use crate::value::{Reference, Value};

/// One control and what it asks for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Control {
    /// What the pattern asks for, in one line; safe to show.
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
        /// `date`, `date-time`, `email` or `uri`.
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
        /// What can be chosen.
        options: Vec<Choice>,
    },
    /// Several literals of a list, each at most once or in order.
    Checks {
        /// What can be chosen.
        options: Vec<Choice>,
    },
    /// First which variant, then its own control.
    Variants {
        /// The variants in order.
        variants: Vec<Variant>,
    },
    /// The control inside, or nothing; nothing is not the same as empty text.
    Optional {
        /// What is asked if it is not left out.
        inner: Box<Control>,
    },
    /// A capability from the person's own names.
    Pick {
        /// What it should be, in the words of the pattern.
        label: Option<String>,
        /// Pending answers are offered too.
        pending: bool,
    },
    /// Any number of rows of one control.
    Rows {
        /// What each row asks.
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
        /// What further fields or elements ask, if there may be any.
        rest: Option<Box<Control>>,
        /// `record`, `list` or `tagged`.
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
    Json,
    /// A pattern as text, with a preview of the form that it makes.
    PatternText,
}

/// One literal that can be chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// What people read; safe to show.
    pub label: String,
    /// What is sent, as JSON.
    pub value: Json,
}

/// One variant that can be chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variant {
    /// What people read; safe to show.
    pub label: String,
    /// What it asks.
    pub control: Control,
}

/// One named control of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlField {
    /// The name of the field or the number of the element. Foreign text.
    pub name: String,
    /// Whether it must be filled in.
    pub required: bool,
    /// What it asks.
    pub control: Control,
}

impl<C: Reference> Pattern<C> {
    /// The control that asks for this pattern. Total: what no control can ask for is asked for as JSON.
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

fn line(limits: &Limits) -> Widget {
    Widget::Line {
        max_length: limits.get(Limit::StringLength),
        multiline: false,
        secret: false,
        format: None,
    }
}

fn refined(refinement: Refinement, limits: &Limits) -> Widget {
    let format = match refinement {
        Refinement::Date | Refinement::DateTime | Refinement::Email | Refinement::Uri => {
            Some(refinement.name())
        }
        _ => None,
    };
    Widget::Line {
        max_length: limits.get(Limit::StringLength),
        multiline: refinement == Refinement::Multiline,
        secret: refinement == Refinement::Secret,
        format,
    }
}

fn choices<C: Reference>(parts: &[Pattern<C>]) -> Option<Vec<Choice>> {
    let choice = |part: &Pattern<C>| {
        let value = part.as_literal()?;
        Some(Choice { label: literal(value), value: part.write_json(value) })
    };
    parts.iter().map(choice).collect::<Option<Vec<_>>>().filter(|options| !options.is_empty())
}

fn boxed<C: Reference>(pattern: &Pattern<C>) -> Box<Control> {
    Box::new(pattern.controls())
}

fn pick(label: Option<&Text>, pending: bool) -> Widget {
    Widget::Pick {
        label: label.map(|label| crate::visible_line(&label.to_str_lossy()).into_owned()),
        pending,
    }
}

fn field<C: Reference>(name: String, pattern: &Pattern<C>, required: bool) -> ControlField {
    match pattern.as_optional() {
        Some(inner) => ControlField { name, required: false, control: inner.controls() },
        None => ControlField { name, required, control: pattern.controls() },
    }
}

fn group<C: Reference>(
    required: &[(Text, Pattern<C>)],
    optional: &[(Text, Pattern<C>)],
    rest: Option<Box<Control>>,
) -> Widget {
    let named = |(name, pattern): &(Text, Pattern<C>), required| {
        field(name.to_str_lossy().into_owned(), pattern, required)
    };
    let required = required.iter().map(|own| named(own, true));
    let fields = required.chain(optional.iter().map(|own| named(own, false))).collect();
    Widget::Group { fields, rest, of: "record" }
}

/// What a rest pattern asks of further fields or elements: nothing if there may be none.
fn rest<C: Reference>(rest: Option<&Pattern<C>>, open: Pattern<C>) -> Option<Box<Control>> {
    match rest {
        None => Some(boxed(&open)),
        Some(rest) if rest.as_literal().is_some() => None,
        Some(rest) if matches!(rest.matcher(), Matcher::Any) => Some(boxed(&open)),
        Some(rest) => Some(boxed(rest)),
    }
}

fn spin<C: Reference>(parts: &[Pattern<C>]) -> Widget {
    let (mut min, mut max, mut whole) = (None, None, false);
    for part in parts {
        match part.matcher() {
            Matcher::Refine(Refinement::Integer) => whole = true,
            Matcher::Compare(Comparison::Gte, Value::Number(bound)) => min = Some((*bound, true)),
            Matcher::Compare(Comparison::Gt, Value::Number(bound)) => min = Some((*bound, false)),
            Matcher::Compare(Comparison::Lte, Value::Number(bound)) => max = Some((*bound, true)),
            Matcher::Compare(Comparison::Lt, Value::Number(bound)) => max = Some((*bound, false)),
            _ => {}
        }
    }
    Widget::Spin { min, max, whole }
}

fn conjunction<C: Reference>(parts: &[Pattern<C>]) -> Widget {
    let limits = parts.iter().find_map(|part| match part.matcher() {
        Matcher::String(limits) => Some(limits.clone()),
        _ => None,
    });
    let refinement = parts.iter().find_map(|part| match part.matcher() {
        Matcher::Refine(refinement) => Some(*refinement),
        _ => None,
    });
    let number = parts.iter().any(|part| match part.matcher() {
        Matcher::Kind(kind) => kind == "number",
        Matcher::Compare(_, Value::Number(_)) | Matcher::Refine(Refinement::Integer) => true,
        _ => false,
    });
    match (number, refinement, unwrap_and(parts)) {
        (true, ..) => spin(parts),
        (_, Some(refinement), _) => refined(refinement, &limits.unwrap_or_default()),
        (_, None, Some(part)) => widget(&part),
        (_, None, None) => Widget::Json,
    }
}

fn widget<C: Reference>(pattern: &Pattern<C>) -> Widget {
    let note = |value: &Value<C>| Widget::Note { value: pattern.write_json(value) };
    match pattern.matcher() {
        Matcher::Any | Matcher::Scalar => Widget::Variants { variants: anything(pattern) },
        Matcher::Key | Matcher::Not(_) | Matcher::Map(_) => Widget::Json,
        Matcher::Pattern => Widget::PatternText,
        Matcher::Literal(value) => note(value),
        Matcher::Kind(kind) => match kind.as_str() {
            Some("undefined") => note(&Value::Undefined),
            Some("null") => note(&Value::Null),
            Some("boolean") => Widget::Toggle,
            Some("number") => Widget::Spin { min: None, max: None, whole: false },
            Some("string") => line(&Limits::none()),
            Some("remotable") => pick(None, false),
            Some("promise") => pick(None, true),
            Some("error") => {
                let text = || ("", Pattern::<C>::string());
                let fields = [("name", text()), ("message", text())];
                let field =
                    |(name, (_, pattern)): (&str, (_, Pattern<C>))| field(name.to_owned(), &pattern, true);
                Widget::Group { fields: fields.map(field).to_vec(), rest: None, of: "record" }
            }
            _ => {
                let family = super::json::structural(pattern);
                match family.matcher() {
                    Matcher::Kind(_) => Widget::Json,
                    _ => widget(&family),
                }
            }
        },
        Matcher::And(parts) => conjunction(parts),
        Matcher::Or(parts) => {
            if let Some(inner) = pattern.as_optional() {
                return Widget::Optional { inner: boxed(inner) };
            }
            if let Some(options) = choices(parts) {
                return Widget::Menu { options };
            }
            let variant = |part: &Pattern<C>| Variant { label: part.describe(), control: part.controls() };
            Widget::Variants { variants: parts.iter().map(variant).collect() }
        }
        Matcher::Compare(_, Value::Number(_)) => spin(std::slice::from_ref(pattern)),
        Matcher::Compare(_, Value::String(_)) => line(&Limits::none()),
        Matcher::Compare(_, Value::BigInt(_)) => {
            Widget::Digits { natural: false, max_digits: Limit::DecimalDigits.default_value() }
        }
        Matcher::Compare(..) => Widget::Json,
        Matcher::BigInt(limits) => {
            Widget::Digits { natural: false, max_digits: limits.get(Limit::DecimalDigits) }
        }
        Matcher::Nat(limits) => {
            Widget::Digits { natural: true, max_digits: limits.get(Limit::DecimalDigits) }
        }
        Matcher::String(limits) => line(limits),
        Matcher::Symbol(limits) => Widget::Line {
            max_length: limits.get(Limit::SymbolNameLength),
            multiline: false,
            secret: false,
            format: None,
        },
        Matcher::Bytes(limits) => Widget::File { max_bytes: limits.get(Limit::ByteLength) },
        Matcher::Remotable(label) => pick(Some(label), false),
        Matcher::Promise(label) => pick(Some(label), true),
        Matcher::Tagged(tag, payload) => {
            let fields = vec![field("tag".to_owned(), tag, true), field("payload".to_owned(), payload, true)];
            Widget::Group { fields, rest: None, of: "tagged" }
        }
        Matcher::ArrayOf(part, limits) => {
            if let (Matcher::Or(parts), None) = (part.matcher(), part.as_optional())
                && let Some(options) = choices(parts)
            {
                return Widget::Checks { options };
            }
            Widget::Rows { item: boxed(part), max: limits.get(Limit::ArrayLength), distinct: false }
        }
        Matcher::SetOf(part, limits) => {
            Widget::Rows { item: boxed(part), max: limits.get(Limit::NumSetElements) - 1.0, distinct: true }
        }
        Matcher::ContainerHas(part, ..) => {
            Widget::Rows { item: boxed(part), max: Limit::ArrayLength.default_value(), distinct: false }
        }
        Matcher::BagOf(key, count, limits) => Widget::Pairs {
            key: boxed(key),
            value: Box::new(Control {
                asks: count.describe(),
                checks: Vec::new(),
                widget: Widget::Digits { natural: true, max_digits: limits.get(Limit::DecimalDigits) },
            }),
            max: limits.get(Limit::NumUniqueBagElements),
            of: "bag",
        },
        Matcher::MapOf(key, value, limits) => {
            let max = limits.get(Limit::NumMapEntries);
            Widget::Pairs { key: boxed(key), value: boxed(value), max, of: "map" }
        }
        Matcher::RecordOf(name, value, limits) => {
            let name_limit = Limits::of([(Limit::StringLength, limits.get(Limit::PropertyNameLength))]);
            let key = Pattern::<C>::string_within(name_limit);
            let mut key = key.controls();
            if !matches!(name.matcher(), Matcher::Any) {
                key.checks.push(name.describe());
            }
            let max = limits.get(Limit::NumProperties);
            Widget::Pairs { key: Box::new(key), value: boxed(value), max, of: "record" }
        }
        Matcher::Array(parts) => {
            let element = |(at, part): (usize, &Pattern<C>)| field(at.to_string(), part, true);
            Widget::Group { fields: parts.iter().enumerate().map(element).collect(), rest: None, of: "list" }
        }
        Matcher::SplitArray(split) => {
            let optional = split.optional.as_deref().unwrap_or_default();
            let required = split.required.iter().map(|part| (part, true));
            let parts = required.chain(optional.iter().map(|part| (part, false))).enumerate();
            let fields = parts.map(|(at, (part, required))| field(at.to_string(), part, required)).collect();
            Widget::Group { fields, rest: rest(split.rest.as_ref(), Pattern::array()), of: "list" }
        }
        Matcher::Record(fields) => group(fields, &[], None),
        Matcher::SplitRecord(split) => {
            let optional = split.optional.as_deref().unwrap_or_default();
            group(&split.required, optional, rest(split.rest.as_ref(), Pattern::any_record()))
        }
        Matcher::Refine(Refinement::Integer) => Widget::Spin { min: None, max: None, whole: true },
        Matcher::Refine(refinement) => refined(*refinement, &Limits::none()),
    }
}

/// The types that a person can choose from where anything, or any scalar, is asked for.
fn anything<C: Reference>(pattern: &Pattern<C>) -> Vec<Variant> {
    let simple = [
        ("text", Pattern::string()),
        ("number", Pattern::number()),
        ("yes or no", Pattern::bool()),
        ("nothing", Pattern::null()),
        ("big integer", Pattern::bigint()),
        ("capability", Pattern::<C>::any_remotable()),
    ];
    let variant =
        |(label, part): (&str, Pattern<C>)| Variant { label: label.to_owned(), control: part.controls() };
    let mut variants: Vec<Variant> = simple.map(variant).to_vec();
    if matches!(pattern.matcher(), Matcher::Any) {
        let control = Control { asks: pattern.describe(), checks: Vec::new(), widget: Widget::Json };
        variants.push(Variant { label: "JSON".to_owned(), control });
    }
    variants
}
