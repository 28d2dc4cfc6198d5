//! The reader of forms: from the places of a form to a value.

use std::collections::HashSet;

use super::number as numbers;
use super::tree::{EMPTY_PLACE, Place, number, refuse};
use crate::codec::error::{Fault, Problem};
use crate::codec::exact::keep_integers;
use crate::codec::fields::Fields;
use crate::codec::json::{self, Bounds};
use crate::codec::{from_base64, plain, read_bigint, to_base64};
use crate::pattern::choice_text::{MAX_LISTED_CHOICES, choice_texts};
use crate::pattern::layout::{Absent, Layout, Part, layout};
use crate::pattern::{Label, Mismatch, Pattern, Resolve, Widget};
use crate::text::Text;
use crate::value::{NoRef, Reference, Value, ValueError};

/// The value of a place, or `None` if the place is not filled in.
type Answer<C> = Result<Option<Value<C>>, Mismatch>;

pub(super) fn missing<C: Reference>(pattern: &Pattern<C>) -> Mismatch {
    Mismatch::new("is not filled in", pattern.describe(), "nothing")
}

fn too_deep(error: ValueError) -> Mismatch {
    Mismatch::new(error.to_string(), "something that nests less deep", "a deeply nested form")
}

pub(super) fn read<C: Reference>(
    pattern: &Pattern<C>,
    place: &Place<'_>,
    resolve: &mut Resolve<'_, C>,
) -> Answer<C> {
    if place.is_left_out()? {
        return Ok(None);
    }
    if let Some(json) = place.mark("json") {
        place.allow(0, &["json", "given"])?;
        place.no_parts()?;
        return json.text()?.map(|text| plain_json(pattern, text, resolve)).transpose();
    }
    match layout(pattern) {
        Layout::Single(widget) => single(&widget, pattern, place, resolve),
        Layout::Symbol(_) => {
            let symbol = |text: &str| Value::symbol(text).unwrap_or_else(|_| Value::string(text));
            Ok(place.text()?.filter(|text| !is_blank(text)).map(symbol))
        }
        Layout::Fixed(value) => {
            place.allow(0, &["given"])?;
            place.no_parts()?;
            Ok(Some(value))
        }
        // With many choices, the user types the choice. Blank text then means that the user has not chosen.
        Layout::Menu(values) => {
            match place.text()?.filter(|text| values.len() <= MAX_LISTED_CHOICES || !is_blank(text)) {
                Some(text) => choice(pattern, &values, &choice_texts(&values), text).map(Some),
                None => Ok(None),
            }
        }
        Layout::Checks(values) => {
            let texts = choice_texts(&values);
            let chosen = |(at, text): (usize, Option<&str>)| {
                let value = text.ok_or_else(|| Mismatch::new("is not chosen", pattern.describe(), "nothing"));
                let value = value.and_then(|text| choice(pattern, &values, &texts, text));
                value.map_err(|error| error.within(Label::index(at)))
            };
            if place.parts.is_empty() {
                place.allow(usize::MAX, &["given"])?;
                let all = place.texts.iter().map(|text| Some(text.as_ref())).enumerate();
                return array(all.map(chosen).collect::<Result<_, _>>()?);
            }
            // The choices come in rows, so that the user can order and repeat them.
            let rows = place.rows()?.into_iter().map(Place::text).collect::<Result<Vec<_>, _>>()?;
            array(rows.into_iter().enumerate().map(chosen).collect::<Result<_, _>>()?)
        }
        Layout::Optional(inner) => match place.is_empty() {
            true => Ok(None),
            false => read(&inner, place, resolve),
        },
        Layout::Variants(variants) => {
            place.allow(0, &["kind", "given"])?;
            place.only(|name| number(name).is_some_and(|number| (number as usize) < variants.len()))?;
            let Some(kind) = place.mark("kind") else {
                return match place.is_empty() {
                    true => Ok(None),
                    false => Err(refuse("the number of a variant as `:kind`", "answers without it")),
                };
            };
            let text = kind.text()?.unwrap_or_default();
            let own = place.parts.get(text).unwrap_or(&EMPTY_PLACE);
            match number(text).and_then(|number| variants.get(number as usize)) {
                // The value must match the chosen variant, even if another variant would match the text as well.
                Some((_, Some(part))) => {
                    let value = required(part, own, resolve)?;
                    part.check(&value)?;
                    Ok(Some(value))
                }
                Some((_, None)) => own.text()?.map(|text| shaped(&Pattern::any(), text, resolve)).transpose(),
                None => Err(no_choice(pattern, text)),
            }
        }
        Layout::Rows { item, distinct, .. } => {
            let row = |(at, place): (usize, &Place<'_>)| {
                required(&item, place, resolve).map_err(|error| error.within(Label::index(at)))
            };
            let elements = place.rows()?.into_iter().enumerate().map(row).collect::<Result<Vec<_>, _>>()?;
            if !distinct {
                return array(elements);
            }
            if let Some(at) = repeated(&elements) {
                return Err(twice("each element once").within(Label::index(at)));
            }
            // Elements that are not keys cannot be in a set. They stay a list, which the check then rejects.
            Value::set(elements.clone()).map(Some).or_else(|_| array(elements))
        }
        Layout::Pairs { key, value, of, .. } => pairs(&key, &value, of, place, resolve),
        Layout::Group { parts, rest, of } => group(&parts, rest.as_ref(), of, place, resolve),
    }
}

/// Returns whether an empty place stands for `undefined`.
pub(super) fn may_be_left_out<C: Reference>(pattern: &Pattern<C>) -> bool {
    matches!(layout(pattern), Layout::Optional(_))
}

/// Reads a place that must be filled in, unless an empty place stands for `undefined`.
pub(super) fn required<C: Reference>(
    pattern: &Pattern<C>,
    place: &Place<'_>,
    resolve: &mut Resolve<'_, C>,
) -> Result<Value<C>, Mismatch> {
    match read(pattern, place, resolve)? {
        Some(value) => Ok(value),
        // A user who marks the value as given must fill it in.
        None if may_be_left_out(pattern) && !place.is_given() => Ok(Value::Undefined),
        None => Err(missing(pattern)),
    }
}

fn array<C: Reference>(elements: Vec<Value<C>>) -> Answer<C> {
    Value::try_array(elements).map(Some).map_err(too_deep)
}

fn single<C: Reference>(
    widget: &Widget,
    pattern: &Pattern<C>,
    place: &Place<'_>,
    resolve: &mut Resolve<'_, C>,
) -> Answer<C> {
    if *widget == Widget::Toggle {
        place.allow(usize::MAX, &["given"])?;
        place.no_parts()?;
        return Ok(place.texts.last().map(|text| match text.as_ref() {
            "true" | "on" => Value::Bool(true),
            "false" => Value::Bool(false),
            other => Value::string(other),
        }));
    }
    let Some(text) = place.text()? else { return Ok(None) };
    if matches!(widget, Widget::File { .. }) && is_blank(text) {
        return Ok(None);
    }
    // A text of the wrong form stays text. The check then rejects it and names the expectation.
    let value = match widget {
        Widget::Spin { .. } => {
            match (numbers::read(text.trim()), numbers::long_integer(text.trim(), pattern)) {
                (_, Some(whole)) => Some(whole),
                (Some(number), None) => {
                    numbers::confirm_kept(text.trim(), number)?;
                    Some(Value::Number(number))
                }
                (None, None) => None,
            }
        }
        Widget::Digits { .. } => read_bigint(&Text::from(text.trim())).ok().map(Value::bigint),
        Widget::File { .. } => form_bytes(text).map(Value::bytes),
        Widget::Pick { .. } => resolve(pattern, text),
        Widget::Json { .. } => Some(shaped(pattern, text, resolve)?),
        Widget::PatternText => {
            let parsed = Pattern::<C>::parse(text);
            Some(parsed.map_err(|error| bad("a pattern", &error.to_string()))?.to_value())
        }
        _ => None,
    };
    Ok(Some(value.unwrap_or_else(|| Value::string(text))))
}

/// Returns the bytes of a text in a form, or `None` if the text is in neither of the two forms. The text is base64,
/// or hexadecimal digits after `hex:`. Spaces and line ends are ignored, and `hex:` alone is a file of 0 bytes.
///
/// ```
/// assert_eq!(passable::form_bytes("AQI=\n"), Some(vec![1, 2]));
/// assert_eq!(passable::form_bytes("hex: 01 ff"), Some(vec![1, 255]));
/// assert_eq!(passable::form_bytes("hex:1"), None);
/// ```
pub fn form_bytes(text: &str) -> Option<Vec<u8>> {
    let dense: String = text.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    let Some(digits) = dense.strip_prefix("hex:") else { return from_base64(&dense).ok() };
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        pair.bytes()
            .all(|digit| digit.is_ascii_hexdigit())
            .then(|| u8::from_str_radix(pair, 16).ok())
            .flatten()
    });
    pairs.collect()
}

/// Returns bytes in the text form that [`form_bytes`] reads.
///
/// ```
/// assert_eq!(passable::form_of_bytes(&[1, 2]), "AQI=");
/// assert_eq!(passable::form_bytes(&passable::form_of_bytes(&[])), Some(vec![]));
/// ```
pub fn form_of_bytes(bytes: &[u8]) -> String {
    if bytes.is_empty() { "hex:".to_owned() } else { to_base64(bytes) }
}

/// Returns whether a text is blank. A control sends its text even if the user has not touched it.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn bad(expected: &str, error: &str) -> Mismatch {
    let error = crate::visible_line(error);
    Mismatch::new(format!("cannot be read: {error}"), expected, format!("text that cannot be read ({error})"))
}

/// A reader of JSON that only checks for repeated names of fields and reads no escapes.
struct Names;

impl json::Shape<NoRef> for Names {
    fn string(&mut self, text: Text) -> Result<Value<NoRef>, Problem> {
        Ok(Value::String(text))
    }

    fn object(&mut self, fields: Fields<'_, NoRef>) -> Result<Value<NoRef>, Fault> {
        Ok(fields.into_record()?)
    }
}

/// Returns the value of a text that is plain JSON, or `None` if the text names a capability.
fn data_json(text: &str, expected: &str) -> Result<Option<Value<NoRef>>, Mismatch> {
    match Value::<NoRef>::from_json_text(text) {
        Ok(value) => Ok(Some(value)),
        Err(error) => match &error.problem {
            Problem::Class(class) if class == plain::REMOTABLE || class == plain::PROMISE => {
                // The reader stopped at the first capability. The rest of the text must be checked as well.
                json::read(text, Bounds::default(), &mut Names)
                    .map_err(|error| bad(expected, &error.to_string()))?;
                Ok(None)
            }
            _ => Err(bad(expected, &error.to_string())),
        },
    }
}

fn plain_json<C: Reference>(
    pattern: &Pattern<C>,
    text: &str,
    resolve: &mut Resolve<'_, C>,
) -> Result<Value<C>, Mismatch> {
    let value = match data_json(text, "plain JSON")? {
        Some(value) => value.widen(),
        None => {
            let json = serde_json::from_str(text).map_err(|error| bad("plain JSON", &error.to_string()))?;
            crate::pattern::json::pick_checker::read_plain_checked(pattern, &json, resolve)?
        }
    };
    numbers::confirm_json(text, &value)?;
    Ok(value)
}

/// Reads JSON of the shape that the pattern's JSON Schema describes.
pub(super) fn shaped<C: Reference>(
    pattern: &Pattern<C>,
    text: &str,
    resolve: &mut Resolve<'_, C>,
) -> Result<Value<C>, Mismatch> {
    // The first reader finds repeated names, and the second one keeps all digits of numbers.
    data_json(text, "JSON")?;
    let json = serde_json::from_str(&keep_integers(text)).map_err(|error| bad("JSON", &error.to_string()))?;
    let value = crate::pattern::json::pick_checker::read_shaped(pattern, &json, resolve)?;
    numbers::confirm_json(text, &value)?;
    Ok(value)
}

fn no_choice<C: Reference>(pattern: &Pattern<C>, text: &str) -> Mismatch {
    let found = crate::pattern::mismatch::found::<C>(&Value::string(text));
    Mismatch::new("no such choice", pattern.describe(), found)
}

fn choice<C: Reference>(
    pattern: &Pattern<C>,
    values: &[Value<C>],
    texts: &[String],
    text: &str,
) -> Result<Value<C>, Mismatch> {
    let at = texts.iter().position(|own| own == text);
    at.and_then(|at| values.get(at)).cloned().ok_or_else(|| no_choice(pattern, text))
}

/// Returns the index of the first value that equals an earlier one.
fn repeated<C: Reference>(values: &[Value<C>]) -> Option<usize> {
    let mut seen = HashSet::new();
    values.iter().position(|value| !seen.insert(value))
}

fn twice(expected: &str) -> Mismatch {
    Mismatch::new("occurs twice", expected, "the same once more")
}

fn pairs<C: Reference>(
    key: &Pattern<C>,
    value: &Pattern<C>,
    of: &str,
    place: &Place<'_>,
    resolve: &mut Resolve<'_, C>,
) -> Answer<C> {
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for (at, row) in place.rows()?.into_iter().enumerate() {
        let outside = |error: Mismatch| error.within(Label::index(at));
        row.allow(0, &["given"]).map_err(outside)?;
        row.only(|name| name == "key" || name == "value").map_err(outside)?;
        let mut side = |name: &str, pattern: &Pattern<C>| {
            let place = row.parts.get(name).unwrap_or(&EMPTY_PLACE);
            required(pattern, place, resolve)
                .map_err(|error| error.within(Label::name(&Text::from(name))).within(Label::index(at)))
        };
        keys.push(side("key", key)?);
        let value = side("value", value)?;
        let is_none = value.as_bigint().is_some_and(|count| count.sign() != num_bigint::Sign::Plus);
        if of == "bag" && is_none {
            let few = Mismatch::new("must be at least 1", "a count of at least 1", "less");
            return Err(few.within(Label::name(&Text::from("value"))).within(Label::index(at)));
        }
        values.push(value);
    }
    if let Some(at) = repeated(&keys) {
        return Err(twice("each key once").within(Label::index(at)));
    }
    let told = |complaint: crate::Complaint| {
        Mismatch::new(complaint.to_string(), format!("a {of}"), "rows that make none")
    };
    let entries = keys.into_iter().zip(values);
    match of {
        "map" => Value::map(entries).map(Some).map_err(told),
        "bag" => {
            let count = |(key, count): (Value<C>, Value<C>)| match count {
                Value::BigInt(count) => Ok((key, (*count).clone())),
                other => Err(Mismatch::new(
                    "must be a count",
                    "a big integer",
                    crate::pattern::mismatch::found(&other),
                )),
            };
            Value::bag(entries.map(count).collect::<Result<Vec<_>, _>>()?).map(Some).map_err(told)
        }
        _ => {
            let field = |(at, (name, value)): (usize, (Value<C>, Value<C>))| match name {
                Value::String(name) => Ok((name, value)),
                other => {
                    let odd = Mismatch::new("must be text", "text", crate::pattern::mismatch::found(&other));
                    Err(odd.within(Label::name(&Text::from("key"))).within(Label::index(at)))
                }
            };
            let fields = entries.enumerate().map(field).collect::<Result<Vec<_>, _>>()?;
            Value::try_record(fields).map(Some).map_err(too_deep)
        }
    }
}

fn group<C: Reference>(
    parts: &[Part<C>],
    rest: Option<&Pattern<C>>,
    of: &str,
    place: &Place<'_>,
    resolve: &mut Resolve<'_, C>,
) -> Answer<C> {
    place.allow(0, &["given", if rest.is_some() { "rest" } else { "given" }])?;
    let names: HashSet<&str> = parts.iter().filter_map(|part| part.name.as_str()).collect();
    place.only(|name| names.contains(name))?;
    let mut values = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let label = || if of == "list" { Label::index(at) } else { Label::name(&part.name) };
        let own = part.name.as_str().and_then(|name| place.parts.get(name));
        let value = match (own, part.absent) {
            // In a required part, a list may be empty and a note needs no answer.
            (Some(_), _) | (None, Absent::Missing) => {
                let own = own.unwrap_or(&EMPTY_PLACE);
                read(&part.pattern, own, resolve).map_err(|error| error.within(label()))?
            }
            (None, _) => None,
        };
        let is_given = own.is_some_and(Place::is_given);
        values.push(match (value, part.absent) {
            (None, _) if is_given => return Err(missing(&part.pattern).within(label())),
            (None, Absent::Missing) if may_be_left_out(&part.pattern) => Some(Value::Undefined),
            (None, Absent::Missing) => return Err(missing(&part.pattern).within(label())),
            (None, Absent::Undefined) => Some(Value::Undefined),
            (value, _) => value,
        });
    }
    let further = match (rest, place.mark("rest")) {
        (Some(rest), Some(place)) => {
            let before = (of == "list").then_some(parts.len());
            read(rest, place, resolve).map_err(|error| error.following(before))?
        }
        _ => None,
    };
    match of {
        "list" => {
            let further = match &further {
                None => &[],
                Some(further) => further.as_array().ok_or_else(|| odd_rest("a list", further))?,
            };
            // A left-out element with given elements after it becomes `undefined`.
            let given = match further.is_empty() {
                true => values.iter().rposition(Option::is_some).map_or(0, |last| last + 1),
                false => values.len(),
            };
            let first = values.into_iter().take(given).map(|value| value.unwrap_or(Value::Undefined));
            array(first.chain(further.iter().cloned()).collect())
        }
        "record" => {
            let further = match &further {
                None => &[],
                Some(further) => further.as_record().ok_or_else(|| odd_rest("a record", further))?.fields(),
            };
            if let Some((name, _)) =
                further.iter().find(|(name, _)| parts.iter().any(|part| part.name == *name))
            {
                let expected = "a name that has no field of its own";
                let twice = Mismatch::new("is asked for already", expected, "one that has");
                let at = twice.within(Label::of_name()).within(Label::name(name));
                return Err(at.within(Label::note(Label::REST)));
            }
            let own = parts.iter().zip(values).filter_map(|(part, value)| Some((part.name.clone(), value?)));
            Value::try_record(own.chain(further.iter().cloned()).collect()).map(Some).map_err(too_deep)
        }
        _ => {
            let mut values = values.into_iter().flatten();
            match (of, values.next(), values.next()) {
                ("tagged", Some(Value::String(tag)), Some(payload)) => {
                    Value::try_tagged(tag, payload).map(Some).map_err(too_deep)
                }
                ("error", Some(Value::String(name)), Some(Value::String(message))) => {
                    Ok(Some(Value::error(name, message)))
                }
                _ => Err(Mismatch::new("must be text", "text", "something else")),
            }
        }
    }
}

fn odd_rest<C: Reference>(expected: &str, found: &Value<C>) -> Mismatch {
    let found = crate::pattern::mismatch::found(found);
    Mismatch::new("cannot follow", expected, found).within(Label::note(Label::REST))
}
