//! The kind of control that asks for a pattern, one level deep.
//!
//! The tree of controls is built from layouts. Forms are also read and written along layouts, so that forms and
//! controls cannot differ.

use super::json::structure::{is_open, structural};
use super::secret::is_secret;
use super::widget::Widget;
use super::{Comparison, Limit, Limits, Matcher, Pattern, Refinement};
use crate::text::Text;
use crate::value::{Reference, Value};

/// The kind of control that asks for a pattern, with the patterns of the parts.
pub(super) enum Layout<C> {
    /// One control for the whole value.
    Single(Widget),
    /// A text control for the name of a symbol.
    Symbol(Widget),
    /// A fixed value, with nothing to fill in.
    Fixed(Value<C>),
    /// One of several literals.
    Menu(Vec<Value<C>>),
    /// A list of values from several literals.
    Checks(Vec<Value<C>>),
    /// The control of the inner pattern, which may stay empty.
    Optional(Pattern<C>),
    /// A choice of a variant, and then the control of that variant. A variant without a pattern is JSON as text.
    Variants(Vec<(String, Option<Pattern<C>>)>),
    /// Any number of rows with the same pattern.
    Rows { item: Pattern<C>, max: f64, distinct: bool },
    /// Any number of rows with two sides, each with a pattern.
    Pairs { key: Pattern<C>, value: Pattern<C>, max: f64, of: &'static str },
    /// Named parts, and perhaps further parts.
    Group { parts: Vec<Part<C>>, rest: Option<Pattern<C>>, of: &'static str },
}

/// One part of a group.
pub(super) struct Part<C> {
    /// The name of the field or the number of the element.
    pub(super) name: Text,
    /// The pattern of the part, without its optional wrapper.
    pub(super) pattern: Pattern<C>,
    /// The meaning of an empty part.
    pub(super) absent: Absent,
}

/// The meaning of a part that is not filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    /// An error: the part is missing.
    Missing,
    /// The value `undefined`.
    Undefined,
    /// A value without this part.
    LeftOut,
}

impl<C: Reference> Part<C> {
    fn new(name: Text, pattern: &Pattern<C>, required: bool) -> Self {
        match pattern.as_optional() {
            Some(inner) => {
                let absent = if required { Absent::Undefined } else { Absent::LeftOut };
                Part { name, pattern: inner.clone(), absent }
            }
            None => {
                let absent = if required { Absent::Missing } else { Absent::LeftOut };
                Part { name, pattern: pattern.clone(), absent }
            }
        }
    }

    pub(super) fn required(&self) -> bool {
        self.absent == Absent::Missing
    }
}

fn line(max_length: f64) -> Widget {
    Widget::Line { max_length, multiline: false, secret: false, format: None }
}

fn text(limits: &Limits) -> Widget {
    line(limits.get(Limit::StringLength))
}

fn refined_line(refinement: Refinement, limits: &Limits) -> Widget {
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

fn pick(label: Option<&Text>, pending: bool, settled: bool) -> Widget {
    let label = label.map(|label| crate::visible_line(&label.to_str_lossy()).into_owned());
    Widget::Pick { label, pending, settled }
}

/// Returns the one picker for `M.eref`, which asks for a capability or a promise of one. Returns `None` for other
/// alternatives.
fn either<C: Reference>(parts: &[Pattern<C>]) -> Option<Widget> {
    let is_promise = |part: &Pattern<C>| match part.matcher() {
        Matcher::Promise(_) => true,
        Matcher::Kind(kind) => kind == "promise",
        _ => false,
    };
    let other = match parts {
        [one, two] if is_promise(two) => one,
        [one, two] if is_promise(one) => two,
        _ => return None,
    };
    match other.matcher() {
        Matcher::Remotable(label) => Some(pick(Some(label), true, true)),
        Matcher::Kind(kind) if kind == "remotable" => Some(pick(None, true, true)),
        _ => None,
    }
}

fn digits(natural: bool, limits: &Limits) -> Widget {
    Widget::Digits { natural, max_digits: limits.get(Limit::DecimalDigits) }
}

/// Returns the values of patterns that are all literals. Returns `None` if one is no literal, or there are no
/// patterns.
fn literals<C: Reference>(parts: &[Pattern<C>]) -> Option<Vec<Value<C>>> {
    let values: Option<Vec<_>> = parts.iter().map(|part| part.as_literal().cloned()).collect();
    values.filter(|values| !values.is_empty())
}

/// Returns the pattern of further fields or elements, or `None` if the pattern allows none.
fn rest<C: Reference>(rest: Option<&Pattern<C>>, open: Pattern<C>) -> Option<Pattern<C>> {
    match rest {
        None => Some(open),
        Some(rest) if rest.as_literal().is_some() => None,
        Some(rest) if matches!(rest.matcher(), Matcher::Any) => Some(open),
        Some(rest) => Some(rest.clone()),
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

/// Returns the part of a conjunction that decides how its values are built, or `None` if no part does.
pub(super) fn unwrap_and<C: Reference>(parts: &[Pattern<C>]) -> Option<Pattern<C>> {
    let bare = |part: &&Pattern<C>| {
        !is_open(part) && !matches!(part.matcher(), Matcher::Compare(..) | Matcher::Refine(_))
    };
    // A count of elements says less than the pattern of each element.
    let counts = |part: &Pattern<C>| matches!(part.matcher(), Matcher::ContainerHas(..));
    let each = parts.iter().filter(bare).find(|part| !counts(part));
    each.or_else(|| parts.iter().find(bare)).cloned()
}

/// Returns a control for JSON as text. It allows promises unless a part needs comparable values.
fn json<C: Reference>(parts: &[Pattern<C>]) -> Widget {
    let compares = |part: &Pattern<C>| matches!(part.matcher(), Matcher::Key | Matcher::Compare(..));
    Widget::Json { pending: !parts.iter().any(compares) }
}

/// Returns the pattern of a row in a collection in which only some rows must match: the part, or anything else.
fn optional_row<C: Reference>(part: &Pattern<C>) -> Pattern<C> {
    match part.matcher() {
        Matcher::Any | Matcher::Scalar => Pattern::any(),
        _ => Pattern::or([part.clone(), Pattern::any()]),
    }
}

fn conjunction<C: Reference>(parts: &[Pattern<C>]) -> Layout<C> {
    let limits = parts.iter().find_map(|part| match part.matcher() {
        Matcher::String(limits) => Some(limits.clone()),
        _ => None,
    });
    // A secret with other parts is still a secret.
    if parts.iter().any(is_secret) {
        return Layout::Single(refined_line(Refinement::Secret, &limits.unwrap_or_default()));
    }
    let refinement = parts.iter().find_map(|part| match part.matcher() {
        Matcher::Refine(refinement) => Some(*refinement),
        _ => None,
    });
    let number = parts.iter().any(|part| match part.matcher() {
        Matcher::Kind(kind) => kind == "number",
        Matcher::Compare(_, Value::Number(_)) | Matcher::Refine(Refinement::Integer | Refinement::Exact) => {
            true
        }
        _ => false,
    });
    match (number, refinement, unwrap_and(parts)) {
        (true, ..) => Layout::Single(spin(parts)),
        (_, Some(refinement), _) => Layout::Single(refined_line(refinement, &limits.unwrap_or_default())),
        (_, None, Some(part)) => layout(&part),
        (_, None, None) => Layout::Single(json(parts)),
    }
}

fn elements<'a, C: Reference + 'a>(parts: impl IntoIterator<Item = (&'a Pattern<C>, bool)>) -> Vec<Part<C>> {
    let part = |(at, (pattern, required)): (usize, (&Pattern<C>, bool))| {
        Part::new(Text::from(at.to_string()), pattern, required)
    };
    parts.into_iter().enumerate().map(part).collect()
}

fn fields<'a, C: Reference + 'a>(
    fields: impl IntoIterator<Item = &'a (Text, Pattern<C>)>,
    required: bool,
) -> impl Iterator<Item = Part<C>> {
    fields.into_iter().map(move |(name, pattern)| Part::new(name.clone(), pattern, required))
}

/// Returns the layout of a pattern.
pub(super) fn layout<C: Reference>(pattern: &Pattern<C>) -> Layout<C> {
    let single = Layout::Single;
    match pattern.matcher() {
        Matcher::Any | Matcher::Scalar => Layout::Variants(anything(pattern)),
        Matcher::Key | Matcher::Negation(_) | Matcher::Map(_) => single(json(std::slice::from_ref(pattern))),
        Matcher::Pattern => single(Widget::PatternText),
        Matcher::Literal(value) => Layout::Fixed(value.clone()),
        Matcher::Kind(kind) => match kind.as_str() {
            Some("undefined") => Layout::Fixed(Value::Undefined),
            Some("null") => Layout::Fixed(Value::Null),
            Some("boolean") => single(Widget::Toggle),
            Some("number") => single(Widget::Spin { min: None, max: None, whole: false }),
            Some("string") => single(text(&Limits::none())),
            Some("remotable") => single(pick(None, false, true)),
            Some("promise") => single(pick(None, true, false)),
            Some("tagged") => {
                let part = |name: &str, pattern: Pattern<C>| Part::new(Text::from(name), &pattern, true);
                let parts = vec![part("tag", Pattern::string()), part("payload", Pattern::any())];
                Layout::Group { parts, rest: None, of: "tagged" }
            }
            Some("error") => {
                let part = |name: &str| Part::new(Text::from(name), &Pattern::string(), true);
                Layout::Group { parts: vec![part("name"), part("message")], rest: None, of: "error" }
            }
            _ => {
                let family = structural(pattern);
                match family.matcher() {
                    Matcher::Kind(_) => single(json(std::slice::from_ref(pattern))),
                    _ => layout(&family),
                }
            }
        },
        Matcher::And(parts) => conjunction(parts),
        Matcher::Or(parts) => {
            if let Some(inner) = pattern.as_optional() {
                return Layout::Optional(inner.clone());
            }
            if let Some(options) = literals(parts) {
                return Layout::Menu(options);
            }
            if let Some(picker) = either(parts) {
                return single(picker);
            }
            let variant = |part: &Pattern<C>| (super::describe::among(parts, part, 0), Some(part.clone()));
            // An alternative that matches anything is replaced by one alternative for each type.
            if let Some((last, first)) = parts.split_last().filter(|(last, _)| is_any(last)) {
                let said = |part: &Option<Pattern<C>>| part.as_ref().is_some_and(|part| first.contains(part));
                let further = anything(last).into_iter().filter(|(_, part)| !said(part));
                return Layout::Variants(first.iter().map(variant).chain(further).collect());
            }
            Layout::Variants(parts.iter().map(variant).collect())
        }
        Matcher::Compare(_, Value::Number(_)) => single(spin(std::slice::from_ref(pattern))),
        Matcher::Compare(_, Value::String(_)) => single(text(&Limits::none())),
        Matcher::Compare(_, Value::BigInt(_)) => single(digits(false, &Limits::none())),
        Matcher::Compare(..) => single(json(std::slice::from_ref(pattern))),
        Matcher::BigInt(limits) => single(digits(false, limits)),
        Matcher::Nat(limits) => single(digits(true, limits)),
        Matcher::String(limits) => single(text(limits)),
        Matcher::Symbol(limits) => Layout::Symbol(Widget::Line {
            max_length: limits.get(Limit::SymbolNameLength),
            multiline: false,
            secret: false,
            format: Some("symbol"),
        }),
        Matcher::Bytes(limits) => single(Widget::File { max_bytes: limits.get(Limit::ByteLength) }),
        Matcher::Remotable(label) => single(pick(Some(label), false, true)),
        Matcher::Promise(label) => single(pick(Some(label), true, false)),
        Matcher::Tagged(tag, payload) => {
            let part = |name: &str, pattern| Part::new(Text::from(name), pattern, true);
            let parts = vec![part("tag", tag), part("payload", payload)];
            Layout::Group { parts, rest: None, of: "tagged" }
        }
        Matcher::ArrayOf(part, limits) => {
            if let (Matcher::Or(parts), None) = (part.matcher(), part.as_optional())
                && let Some(options) = literals(parts)
            {
                return Layout::Checks(options);
            }
            Layout::Rows { item: part.clone(), max: limits.get(Limit::ArrayLength), distinct: false }
        }
        Matcher::SetOf(part, limits) => {
            let max = limits.get(Limit::NumSetElements) - 1.0;
            Layout::Rows { item: part.clone(), max, distinct: true }
        }
        Matcher::ContainerHas(part, ..) => {
            let max = Limit::ArrayLength.default_value();
            Layout::Rows { item: optional_row(part), max, distinct: false }
        }
        Matcher::BagOf(key, count, limits) => {
            let own = Limits::from_pairs([(Limit::DecimalDigits, limits.get(Limit::DecimalDigits))]);
            let natural = match limits.own(Limit::DecimalDigits) {
                Some(_) => Pattern::nat_within(own),
                None => Pattern::nat(),
            };
            let value = match count.matcher() {
                Matcher::Any => natural,
                _ => Pattern::and([natural, count.clone()]),
            };
            let max = limits.get(Limit::NumUniqueBagElements);
            Layout::Pairs { key: key.clone(), value, max, of: "bag" }
        }
        Matcher::MapOf(key, value, limits) => {
            let max = limits.get(Limit::NumMapEntries);
            Layout::Pairs { key: key.clone(), value: value.clone(), max, of: "map" }
        }
        Matcher::RecordOf(name, value, limits) => {
            let max = limits.get(Limit::NumProperties);
            Layout::Pairs { key: named(name, limits), value: value.clone(), max, of: "record" }
        }
        Matcher::Array(parts) => {
            Layout::Group { parts: elements(parts.iter().map(|part| (part, true))), rest: None, of: "list" }
        }
        Matcher::SplitArray(split) => {
            let required = split.required.iter().map(|part| (part, true));
            let optional = split.optional.iter().flatten().map(|part| (part, false));
            let rest = rest(split.rest.as_ref(), Pattern::array());
            Layout::Group { parts: elements(required.chain(optional)), rest, of: "list" }
        }
        Matcher::Record(own) => {
            Layout::Group { parts: fields(own, true).collect(), rest: None, of: "record" }
        }
        Matcher::SplitRecord(split) => {
            let required = fields(&split.required, true);
            let parts = required.chain(fields(split.optional.iter().flatten(), false)).collect();
            let rest = rest(split.rest.as_ref(), Pattern::any_record());
            Layout::Group { parts, rest, of: "record" }
        }
        Matcher::Refine(Refinement::Integer) => single(Widget::Spin { min: None, max: None, whole: true }),
        Matcher::Refine(Refinement::Exact) => single(Widget::Spin { min: None, max: None, whole: false }),
        Matcher::Refine(refinement) => single(refined_line(*refinement, &Limits::none())),
    }
}

/// Returns the pattern of a field name of a record: text of a bounded length that also matches the given pattern.
fn named<C: Reference>(name: &Pattern<C>, limits: &Limits) -> Pattern<C> {
    let text = Pattern::string_within(Limits::from_pairs([(
        Limit::StringLength,
        limits.get(Limit::PropertyNameLength),
    )]));
    // A field always has a name, so the name's pattern must not be optional.
    let name = std::iter::successors(Some(name), |name| name.as_optional()).last().unwrap_or(name);
    match name.matcher() {
        Matcher::Any | Matcher::Key | Matcher::Scalar => text,
        Matcher::String(own) if own.entries().is_none() => text,
        _ => Pattern::and([name.clone(), text]),
    }
}

fn is_any<C: Reference>(pattern: &Pattern<C>) -> bool {
    matches!(pattern.matcher(), Matcher::Any)
}

/// Returns the types from which a user can choose if the pattern asks for anything, or for any scalar.
fn anything<C: Reference>(pattern: &Pattern<C>) -> Vec<(String, Option<Pattern<C>>)> {
    let simple = [
        ("text", Pattern::string()),
        ("number", Pattern::number()),
        ("yes or no", Pattern::bool()),
        ("nothing", Pattern::null()),
        ("big integer", Pattern::bigint()),
        ("capability", Pattern::any_remotable()),
    ];
    let mut variants: Vec<_> =
        simple.into_iter().map(|(label, part)| (label.to_owned(), Some(part))).collect();
    if matches!(pattern.matcher(), Matcher::Any) {
        variants.push(("JSON".to_owned(), None));
    }
    variants
}
