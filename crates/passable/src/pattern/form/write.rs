//! The writer of forms: from a value to the pairs of a form in which a user has filled in the value.

use std::collections::HashMap;

use super::read;
use super::tree::{ROOT, escape};
use crate::codec::exact::is_big_beyond_safe;
use crate::codec::plain;
use crate::pattern::choice_text::{choice_texts, is_plain};
use crate::pattern::layout::{Absent, Layout, Part, layout};
use crate::pattern::{Matcher, Pattern, Widget, number_text};
use crate::text::Text;
use crate::value::{Reference, Value};
use serde_json::Value as Json;

pub(super) fn write<C: Reference>(
    pattern: &Pattern<C>,
    value: &Value<C>,
    refer: &mut dyn FnMut(&C) -> String,
) -> Vec<(String, String)> {
    let mut writer = Writer { refer, pairs: Vec::new() };
    writer.write(pattern, value, ROOT, false);
    writer.pairs
}

/// Returns whether a tagged value, such as a set, bag or map, holds a record with a field that is `undefined`. Forms
/// leave such fields out, and then two keys could become one. A value with references does not count.
fn could_collapse<C: Reference>(value: &Value<C>) -> bool {
    matches!(value, Value::Tagged(tagged) if has_undefined_field(tagged.payload()))
        && value.references().is_empty()
}

fn has_undefined_field<C: Reference>(value: &Value<C>) -> bool {
    match value {
        Value::Record(record) => {
            record.iter().any(|(_, value)| matches!(value, Value::Undefined) || has_undefined_field(value))
        }
        Value::Array(array) => array.iter().any(has_undefined_field),
        Value::Tagged(tagged) => has_undefined_field(tagged.payload()),
        _ => false,
    }
}

struct Writer<'a, C> {
    refer: &'a mut dyn FnMut(&C) -> String,
    pairs: Vec<(String, String)>,
}

impl<C: Reference> Writer<'_, C> {
    fn push(&mut self, name: &str, text: impl Into<String>) {
        self.pairs.push((name.to_owned(), text.into()));
    }

    /// Writes the pairs of a value. `shown` says that at least one pair must show that the value is there.
    fn write(&mut self, pattern: &Pattern<C>, value: &Value<C>, name: &str, shown: bool) {
        let before = self.pairs.len();
        if could_collapse(value) || !self.fill(pattern, value, name) {
            let json = self.plain(value);
            self.push(&format!("{name}:json"), json);
        }
        if shown && self.pairs.len() == before {
            let left_out = matches!(value, Value::Undefined) && read::may_be_left_out(pattern);
            let given = if left_out { "no" } else { "yes" };
            self.push(&format!("{name}:given"), given);
        }
    }

    /// Fills in the control of a pattern. Returns `false` if the control cannot hold the value, which is then written
    /// as JSON.
    fn fill(&mut self, pattern: &Pattern<C>, value: &Value<C>, name: &str) -> bool {
        match (layout(pattern), value) {
            (Layout::Single(widget), _) => match self.single(&widget, pattern, value) {
                Some(text) => self.push(name, text),
                None => return false,
            },
            (Layout::Symbol(_), Value::Symbol(symbol)) => {
                match symbol.name().as_str().filter(|text| is_plain(text) && !text.trim().is_empty()) {
                    Some(text) => self.push(name, text),
                    None => return false,
                }
            }
            (Layout::Fixed(own), value) => return own == *value,
            (Layout::Menu(values), value) => match values.iter().position(|own| own == value) {
                Some(at) => self
                    .pairs
                    .extend(choice_texts(&values).into_iter().nth(at).map(|text| (name.to_owned(), text))),
                None => return false,
            },
            (Layout::Checks(values), Value::Array(array)) => {
                let place = |element| values.iter().position(|own| own == element);
                let Some(places) = array.iter().map(place).collect::<Option<Vec<_>>>() else { return false };
                let texts = choice_texts(&values);
                // Check boxes have a fixed order, and each can be ticked only once.
                let in_boxes = places.is_sorted_by(|one, next| one < next);
                let own = |row: usize| if in_boxes { name.to_owned() } else { format!("{name}/{row}") };
                let chosen = places.into_iter().filter_map(|at| texts.get(at)).enumerate();
                self.pairs.extend(chosen.map(|(row, text)| (own(row), text.clone())));
            }
            (Layout::Optional(_), Value::Undefined) => {}
            (Layout::Optional(inner), value) => self.write(&inner, value, name, true),
            (Layout::Variants(variants), value) => {
                let fits = |part: &Option<Pattern<C>>| part.as_ref().is_none_or(|part| part.matches(value));
                let Some(at) = variants.iter().position(|(_, part)| fits(part)) else { return false };
                self.push(&format!("{name}:kind"), at.to_string());
                let own = format!("{name}/{at}");
                match variants.into_iter().nth(at) {
                    Some((_, Some(part))) => self.write(&part, value, &own, false),
                    _ => {
                        let json = self.plain(value);
                        self.push(&own, json);
                    }
                }
            }
            (Layout::Rows { item, distinct, .. }, value) => {
                let elements = match distinct {
                    true => value.payload_of("copySet").and_then(Value::as_array),
                    false => value.as_array(),
                };
                let Some(elements) = elements else { return false };
                for (at, element) in elements.iter().enumerate() {
                    self.write(&item, element, &format!("{name}/{at}"), true);
                }
            }
            (Layout::Pairs { key, value: part, of, .. }, value) => {
                let Some(entries) = entries(of, value) else { return false };
                for (at, (own, value)) in entries.iter().enumerate() {
                    self.write(&key, own, &format!("{name}/{at}/key"), true);
                    self.write(&part, value, &format!("{name}/{at}/value"), true);
                }
            }
            (Layout::Group { parts, rest, of }, value) => {
                let filled = match (of, value) {
                    ("list", Value::Array(array)) => self.list(&parts, rest.as_ref(), array, name),
                    ("record", Value::Record(_)) => self.record(&parts, rest.as_ref(), value, name),
                    ("tagged", Value::Tagged(tagged)) => {
                        let tag = Value::String(tagged.tag().clone());
                        self.both(&parts, &tag, tagged.payload(), name)
                    }
                    ("error", Value::Error(error)) if error.id.is_none() => {
                        let text = |text: &Text| Value::String(text.clone());
                        self.both(&parts, &text(&error.name), &text(&error.message), name)
                    }
                    _ => false,
                };
                return filled;
            }
            _ => return false,
        }
        true
    }

    /// Returns a value as plain JSON.
    fn plain(&mut self, value: &Value<C>) -> String {
        plain::write(value, &mut |reference| Json::from((self.refer)(reference))).to_string()
    }

    fn single(&mut self, widget: &Widget, pattern: &Pattern<C>, value: &Value<C>) -> Option<String> {
        match (widget, value) {
            (Widget::Line { .. }, Value::String(text)) => {
                text.as_str().filter(|text| is_plain(text)).map(str::to_owned)
            }
            (Widget::Spin { .. }, Value::Number(number)) => Some(number_text(*number)),
            (Widget::Digits { .. }, Value::BigInt(number)) => Some(number.to_string()),
            (Widget::Spin { .. }, Value::BigInt(number)) if is_big_beyond_safe(number) => {
                Some(number.to_string())
            }
            (Widget::Toggle, Value::Bool(value)) => Some(value.to_string()),
            (Widget::Pick { pending, settled, .. }, Value::Remotable(remote) | Value::Promise(remote)) => {
                let fits = if matches!(value, Value::Promise(_)) { *pending } else { *settled };
                fits.then(|| (self.refer)(&remote.reference))
            }
            (Widget::File { .. }, Value::Bytes(bytes)) => Some(read::form_of_bytes(bytes)),
            (Widget::Json { .. }, _) => {
                let mut named: HashMap<String, C> = HashMap::new();
                let json = pattern.write_json_with(value, &mut |reference| {
                    let name = (self.refer)(reference);
                    named.insert(name.clone(), reference.clone());
                    Json::from(name)
                });
                let text = json.to_string();
                let mut resolve = |part: &Pattern<C>, name: &str| {
                    let reference = named.get(name)?.clone();
                    Some(if is_promise(part) {
                        Value::promise(reference)
                    } else {
                        Value::remotable(reference)
                    })
                };
                // The text of a value that does not match may read back as another value.
                let same = read::shaped(pattern, &text, &mut resolve).is_ok_and(|read| read == *value);
                same.then_some(text)
            }
            (Widget::PatternText, _) => {
                let text = Pattern::from_value(value).ok()?.to_text();
                let same = Pattern::<C>::parse(&text).is_ok_and(|read| read.to_value() == *value);
                same.then_some(text)
            }
            _ => None,
        }
    }

    fn both(&mut self, parts: &[Part<C>], first: &Value<C>, second: &Value<C>, name: &str) -> bool {
        for (part, value) in parts.iter().zip([first, second]) {
            let own = part.name.to_str_lossy();
            self.write(&part.pattern, value, &format!("{name}/{own}"), part.absent != Absent::Missing);
        }
        true
    }

    fn record(&mut self, parts: &[Part<C>], rest: Option<&Pattern<C>>, value: &Value<C>, name: &str) -> bool {
        let Some(record) = value.as_record() else { return false };
        let known: HashMap<&Text, &Part<C>> = parts.iter().map(|part| (&part.name, part)).collect();
        let named = |part: &Part<C>| part.name.as_str().is_some_and(is_plain);
        // The record must have the parts that may not be left out. The form would add them by itself.
        let kept = |part: &Part<C>| part.absent == Absent::LeftOut || record.get_text(&part.name).is_some();
        let (own, further): (Vec<_>, Vec<_>) = record.iter().partition(|(name, _)| known.contains_key(name));
        if !parts.iter().all(|part| named(part) && kept(part)) || (!further.is_empty() && rest.is_none()) {
            return false;
        }
        for (field, value) in own {
            let Some(part) = known.get(field) else { continue };
            let absent = matches!(value, Value::Undefined) && part.absent != Absent::Missing;
            if !absent {
                let own = format!("{name}/{}", escape(&field.to_str_lossy()));
                self.write(&part.pattern, value, &own, part.absent != Absent::Missing);
            }
        }
        if let (Some(rest), false) = (rest, further.is_empty()) {
            let further = further.into_iter().cloned();
            let further = Value::try_record(further.collect()).unwrap_or_else(|_| Value::too_deep());
            self.write(rest, &further, &format!("{name}:rest"), true);
        }
        true
    }

    fn list(&mut self, parts: &[Part<C>], rest: Option<&Pattern<C>>, array: &[Value<C>], name: &str) -> bool {
        let least = parts.iter().filter(|part| part.absent != Absent::LeftOut).count();
        if array.len() < least || (array.len() > parts.len() && rest.is_none()) {
            return false;
        }
        for (at, (part, value)) in parts.iter().zip(array).enumerate() {
            let own = format!("{name}/{at}");
            match (value, part.absent) {
                (Value::Undefined, Absent::Undefined) => {}
                // If it were left out, the element would be missing instead of `undefined`.
                (Value::Undefined, Absent::LeftOut) => {
                    let json = self.plain(value);
                    self.push(&format!("{own}:json"), json);
                }
                _ => self.write(&part.pattern, value, &own, part.absent != Absent::Missing),
            }
        }
        if let (Some(rest), Some(further)) =
            (rest, array.get(parts.len()..).filter(|further| !further.is_empty()))
        {
            let further = Value::array(further.iter().cloned());
            self.write(rest, &further, &format!("{name}:rest"), true);
        }
        true
    }
}

/// Returns whether a pattern asks for a promise.
fn is_promise<C: Reference>(pattern: &Pattern<C>) -> bool {
    match pattern.matcher() {
        Matcher::Promise(_) => true,
        Matcher::Kind(kind) => kind == "promise",
        _ => false,
    }
}

/// Returns the rows of a record, a map or a bag.
fn entries<C: Reference>(of: &str, value: &Value<C>) -> Option<Vec<(Value<C>, Value<C>)>> {
    match of {
        "record" => {
            let row = |(name, value): &(Text, Value<C>)| (Value::String(name.clone()), value.clone());
            Some(value.as_record()?.iter().map(row).collect())
        }
        "map" => {
            let payload = value.payload_of("copyMap")?;
            let (keys, values) = (payload.get("keys")?.as_array()?, payload.get("values")?.as_array()?);
            (keys.len() == values.len()).then(|| keys.iter().cloned().zip(values.iter().cloned()).collect())
        }
        _ => {
            let row = |entry: &Value<C>| match entry.as_array()? {
                [key, count] => Some((key.clone(), count.clone())),
                _ => None,
            };
            value.payload_of("copyBag")?.as_array()?.iter().map(row).collect()
        }
    }
}
