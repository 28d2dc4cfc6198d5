//! The number of matching elements in a collection of a form, if the pattern bounds that number.

use num_bigint::BigInt;

use super::read;
use super::tree::{EMPTY_PLACE, Place, escape, number};
use crate::pattern::choice_text::choice_texts;
use crate::pattern::describe::literal;
use crate::pattern::layout::{Layout, layout};
use crate::pattern::{Comparison, Matcher, Pattern, Resolve};
use crate::value::{Reference, Value};

/// The number of matching elements of a filled-in collection, and the number that it must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementCount {
    /// The number of matching elements.
    pub matching: BigInt,
    /// The number of all elements, including those that cannot be read yet.
    pub of: BigInt,
    /// The minimum number of matching elements.
    pub least: Option<BigInt>,
    /// The maximum number of matching elements.
    pub most: Option<BigInt>,
    /// The description of the counted elements, from [`Pattern::describe`]. Safe to show.
    pub wants: String,
    /// Whether the description states a bound on one row, such as `3 or more`, rather than a kind of value.
    pub is_bound: bool,
}

impl ElementCount {
    /// Returns the count in one line that is safe to show, such as `1 of 2 needed rows are 3 or more`.
    pub fn summary(&self) -> String {
        let told = |count: &BigInt| match (*count == BigInt::from(1), self.is_bound) {
            (true, true) => format!("row is {}", self.wants),
            (true, false) => format!("row fits: {}", self.wants),
            (false, true) => format!("rows are {}", self.wants),
            (false, false) => format!("rows fit: {}", self.wants),
        };
        let matching = &self.matching;
        match (&self.least, &self.most) {
            (Some(least), _) if matching > least => format!("{matching} {}; {least} needed", told(matching)),
            (Some(least), _) => format!("{matching} of {least} needed {}", told(least)),
            (None, Some(most)) => format!("{matching} {}; at most {most} may", told(matching)),
            (None, None) => format!("{matching} {}", told(matching)),
        }
    }
}

/// A bound on the number of elements that match a part.
struct CountBound<'a, C> {
    part: &'a Pattern<C>,
    least: Option<BigInt>,
    most: Option<BigInt>,
}

/// Collects the bounds that a pattern sets on the number of its elements.
fn counts<'a, C: Reference>(pattern: &'a Pattern<C>, found: &mut Vec<CountBound<'a, C>>) {
    match pattern.matcher() {
        Matcher::ContainerHas(part, least, _) => {
            found.push(CountBound { part, least: Some(least.clone()), most: None });
        }
        Matcher::Negation(inner) => {
            if let Matcher::ContainerHas(part, over, _) = inner.matcher() {
                found.push(CountBound { part, least: None, most: Some(over - 1) });
            }
        }
        Matcher::And(parts) => parts.iter().for_each(|part| counts(part, found)),
        _ => {}
    }
}

/// Returns the description of the counted elements, and whether it can follow the word `is`.
fn wants<C: Reference>(part: &Pattern<C>) -> (String, bool) {
    match part.matcher() {
        Matcher::Compare(Comparison::Gte, key @ (Value::Number(_) | Value::BigInt(_))) => {
            (format!("{} or more", literal(key)), true)
        }
        Matcher::Compare(Comparison::Lte, key @ (Value::Number(_) | Value::BigInt(_))) => {
            (format!("{} or less", literal(key)), true)
        }
        Matcher::Literal(_) | Matcher::Compare(..) => (part.describe(), true),
        _ => (part.describe(), false),
    }
}

/// The elements of a filled-in collection, each with its number of occurrences. Elements that cannot be read are
/// `None`.
type Elements<C> = Vec<(Option<Value<C>>, BigInt)>;

/// Returns the elements that were filled in at a place, or `None` if its control lists no elements.
fn elements<C: Reference>(
    pattern: &Pattern<C>,
    place: &Place<'_>,
    resolve: &mut Resolve<'_, C>,
) -> Option<Elements<C>> {
    let one = || BigInt::from(1);
    if place.mark("json").is_some() {
        return listed(&read::read(pattern, place, resolve).ok()??);
    }
    let mut own = |pattern: &Pattern<C>, place: &Place<'_>| read::required(pattern, place, resolve).ok();
    Some(match layout(pattern) {
        Layout::Rows { item, .. } => rows(place).map(|(_, row)| (own(&item, row), one())).collect(),
        Layout::Checks(values) => {
            let texts = choice_texts(&values);
            let chosen = |text: &str| values.get(texts.iter().position(|own| own == text)?).cloned();
            let in_rows = rows(place).map(|(_, row)| row.texts.first());
            let all = place.texts.iter().map(Some).chain(in_rows);
            all.map(|text| (text.and_then(|text| chosen(text)), one())).collect()
        }
        Layout::Pairs { key, value, of: "bag", .. } => {
            let row = |(_, row): (u32, &Place<'_>)| {
                let count = own(&value, row.parts.get("value").unwrap_or(&EMPTY_PLACE));
                let count = count.and_then(|count| count.as_bigint().cloned()).unwrap_or_else(one);
                (own(&key, row.parts.get("key").unwrap_or(&EMPTY_PLACE)), count)
            };
            rows(place).map(row).collect()
        }
        Layout::Group { parts, rest, of: "list" } => {
            let given = |name: &str| place.parts.get(name).filter(|own| !own.is_empty());
            let part = |part: &crate::pattern::layout::Part<C>| {
                let place = part.name.as_str().and_then(given);
                (part.required() || place.is_some())
                    .then(|| (own(&part.pattern, place.unwrap_or(&EMPTY_PLACE)), one()))
            };
            let mut all: Elements<C> = parts.iter().filter_map(part).collect();
            if let (Some(rest), Some(place)) = (rest, place.mark("rest")) {
                all.extend(elements(&rest, place, resolve).unwrap_or_default());
            }
            all
        }
        Layout::Optional(inner) => elements(&inner, place, resolve)?,
        Layout::Variants(variants) => {
            let kind = place.mark("kind")?.texts.first()?;
            let own = place.parts.get(kind.as_ref()).unwrap_or(&EMPTY_PLACE);
            match variants.into_iter().nth(number(kind)? as usize)? {
                (_, Some(part)) => elements(&part, own, resolve)?,
                (_, None) => listed(&read::shaped(&Pattern::any(), own.texts.first()?, resolve).ok()?)?,
            }
        }
        _ => return None,
    })
}

/// Returns the elements of a list, a set or a bag, or `None` for any other value.
fn listed<C: Reference>(value: &Value<C>) -> Option<Elements<C>> {
    let one = |element: &Value<C>| (Some(element.clone()), BigInt::from(1));
    if let Some(array) = value.as_array().or_else(|| value.payload_of("copySet")?.as_array()) {
        return Some(array.iter().map(one).collect());
    }
    let entry = |entry: &Value<C>| match entry.as_array() {
        Some([key, Value::BigInt(count)]) => Some((Some(key.clone()), count.as_ref().clone())),
        _ => None,
    };
    value.payload_of("copyBag")?.as_array()?.iter().map(entry).collect()
}

/// Returns the rows at a place in the order of their numbers, each with its number.
fn rows<'a>(place: &'a Place<'_>) -> impl Iterator<Item = (u32, &'a Place<'a>)> {
    let mut rows: Vec<(u32, &Place<'_>)> =
        place.parts.iter().filter_map(|(name, place)| Some((number(name)?, place))).collect();
    rows.sort_by_key(|(number, _)| *number);
    rows.into_iter()
}

/// Counts the matching elements at a place and at all places within it.
pub(super) fn count_elements<C: Reference>(
    pattern: &Pattern<C>,
    name: &str,
    place: &Place<'_>,
    resolve: &mut Resolve<'_, C>,
    out: &mut Vec<(String, ElementCount)>,
) {
    let mut asked = Vec::new();
    counts(pattern, &mut asked);
    if !asked.is_empty()
        && let Some(elements) = elements(pattern, place, resolve)
    {
        for CountBound { part, least, most } in asked {
            let matches = |(value, _): &&(Option<Value<C>>, BigInt)| {
                value.as_ref().is_some_and(|value| part.matches(value))
            };
            let matching = elements.iter().filter(matches).map(|(_, times)| times).sum();
            let of = elements.iter().map(|(_, times)| times).sum();
            let (wants, is_bound) = wants(part);
            out.push((name.to_owned(), ElementCount { matching, of, least, most, wants, is_bound }));
        }
    }
    if place.mark("json").is_some() {
        return;
    }
    let part = |step: &str| place.parts.get(step).unwrap_or(&EMPTY_PLACE);
    match layout(pattern) {
        Layout::Optional(inner) => count_elements(&inner, name, place, resolve, out),
        Layout::Variants(variants) => {
            for (at, (_, inner)) in variants.iter().enumerate() {
                if let Some(inner) = inner {
                    count_elements(inner, &format!("{name}/{at}"), part(&at.to_string()), resolve, out);
                }
            }
        }
        Layout::Rows { item, .. } => {
            for (at, row) in rows(place) {
                count_elements(&item, &format!("{name}/{at}"), row, resolve, out);
            }
        }
        Layout::Pairs { key, value, .. } => {
            for (at, row) in rows(place) {
                for (side, inner) in [("key", &key), ("value", &value)] {
                    let place = row.parts.get(side).unwrap_or(&EMPTY_PLACE);
                    count_elements(inner, &format!("{name}/{at}/{side}"), place, resolve, out);
                }
            }
        }
        Layout::Group { parts, rest, .. } => {
            for field in &parts {
                let step = field.name.to_str_lossy();
                count_elements(
                    &field.pattern,
                    &format!("{name}/{}", escape(&step)),
                    part(&step),
                    resolve,
                    out,
                );
            }
            if let Some(rest) = rest {
                let place = place.mark("rest").unwrap_or(&EMPTY_PLACE);
                count_elements(&rest, &format!("{name}:rest"), place, resolve, out);
            }
        }
        _ => {}
    }
}
