//! The second resolution of the capabilities in JSON. The first one happens before the place of a capability is
//! known. This one uses the pattern of that place.

use std::collections::HashMap;

use super::escape::{PICKED, Resolve, read_plain};
use crate::pattern::mismatch::{Label, Mismatch, found};
use crate::pattern::{Matcher, Pattern};
use crate::value::{NoRef, Reference, Value};
use serde_json::Value as Json;

/// Reads plain JSON, and resolves each capability in it with the pattern of its place.
///
/// A capability in a place without a pattern is resolved only with the pattern of its class.
pub(crate) fn read_plain_checked<C: Reference>(
    pattern: &Pattern<C>,
    json: &Json,
    resolve: &mut Resolve<'_, C>,
) -> Result<Value<C>, Mismatch> {
    let mut texts = HashMap::new();
    let value = read_plain(json, &mut |part, text| noted(part, text, resolve, &mut texts))?;
    confirm(pattern, &value, &mut PickChecker { texts, resolve })?;
    Ok(value)
}

/// Reads JSON of the shape of the pattern's schema, and checks that each capability in it can be picked at its place.
///
/// The check is needed because an escape may name a capability in a place that the schema does not describe.
pub(crate) fn read_shaped<C: Reference>(
    pattern: &Pattern<C>,
    json: &Json,
    resolve: &mut Resolve<'_, C>,
) -> Result<Value<C>, Mismatch> {
    let mut texts = HashMap::new();
    let value = super::read(pattern, json, &mut |part, text| noted(part, text, resolve, &mut texts))?;
    confirm(pattern, &value, &mut PickChecker { texts, resolve })?;
    Ok(value)
}

/// The text that stood for each reference in the JSON.
type Texts<C> = HashMap<C, String>;

fn noted<C: Reference>(
    pattern: &Pattern<C>,
    text: &str,
    resolve: &mut Resolve<'_, C>,
    texts: &mut Texts<C>,
) -> Option<Value<C>> {
    let value = resolve(pattern, text)?;
    if let Some(reference) = value.as_reference() {
        texts.insert(reference.clone(), text.to_owned());
    }
    Some(value)
}

struct PickChecker<'a, 'r, C> {
    texts: Texts<C>,
    resolve: &'a mut Resolve<'r, C>,
}

/// Success if each capability can be picked at its place, or a mismatch for one that cannot.
type Confirmed = Result<(), Mismatch>;

fn confirm<C: Reference>(
    pattern: &Pattern<C>,
    value: &Value<C>,
    held: &mut PickChecker<'_, '_, C>,
) -> Confirmed {
    match pattern.matcher() {
        Matcher::And(parts) => return parts.iter().try_for_each(|part| confirm(part, value, held)),
        Matcher::Or(parts) => {
            let mut first = None;
            for part in parts.iter().filter(|part| part.matches(value)) {
                match confirm(part, value, held) {
                    Ok(()) => return Ok(()),
                    Err(mismatch) => first = first.or(Some(mismatch)),
                }
            }
            return first.map_or(Ok(()), Err);
        }
        _ => {}
    }
    match value {
        Value::Remotable(_) | Value::Promise(_) => reference(pattern, value, held),
        Value::Array(array) => elements(pattern, array, held),
        Value::Record(record) => {
            let part_of = |name: &crate::Text| match pattern.matcher() {
                Matcher::Record(fields) => field(fields, name),
                Matcher::RecordOf(_, part, _) => Some(part.clone()),
                Matcher::SplitRecord(split) => field(&split.required, name)
                    .or_else(|| field(split.optional.as_deref().unwrap_or_default(), name))
                    .or_else(|| match split.rest.as_ref()?.matcher() {
                        Matcher::RecordOf(_, part, _) => Some(part.clone()),
                        _ => None,
                    }),
                _ => None,
            };
            for (name, value) in record {
                if let Some(part) = part_of(name) {
                    confirm(&part, value, held).map_err(|error| error.within(Label::name(name)))?;
                }
            }
            Ok(())
        }
        Value::Tagged(tagged) => collection(pattern, value, tagged.payload(), held),
        _ => Ok(()),
    }
}

fn field<C: Reference>(fields: &[(crate::Text, Pattern<C>)], name: &crate::Text) -> Option<Pattern<C>> {
    let at = fields.binary_search_by(|(own, _)| own.cmp(name)).ok()?;
    fields.get(at).map(|(_, part)| part.clone())
}

fn reference<C: Reference>(
    pattern: &Pattern<C>,
    value: &Value<C>,
    held: &mut PickChecker<'_, '_, C>,
) -> Confirmed {
    let asks = match pattern.matcher() {
        Matcher::Remotable(_) | Matcher::Promise(_) => true,
        Matcher::Kind(kind) => kind == "remotable" || kind == "promise",
        _ => false,
    };
    // A pattern that asks for another kind of value refuses it in the check.
    if !asks || !pattern.matches(value) {
        return Ok(());
    }
    let text = value.as_reference().and_then(|reference| held.texts.get(reference)).cloned();
    let text = text.unwrap_or_default();
    match (held.resolve)(pattern, &text) {
        Some(_) => Ok(()),
        None => {
            let found = found(&Value::<NoRef>::string(text));
            Err(Mismatch::new("stands for nothing that can be picked here", PICKED, found))
        }
    }
}

fn elements<C: Reference>(
    pattern: &Pattern<C>,
    array: &[Value<C>],
    held: &mut PickChecker<'_, '_, C>,
) -> Confirmed {
    let further = |rest: &Option<Pattern<C>>| match rest.as_ref().map(Pattern::matcher) {
        Some(Matcher::ArrayOf(part, _)) => Some(part.clone()),
        _ => None,
    };
    let (first, rest): (Vec<&Pattern<C>>, Option<Pattern<C>>) = match pattern.matcher() {
        Matcher::Array(parts) => (parts.iter().collect(), None),
        Matcher::ArrayOf(part, _) => (vec![], Some(part.clone())),
        Matcher::SplitArray(split) => {
            (split.required.iter().chain(split.optional.iter().flatten()).collect(), further(&split.rest))
        }
        _ => return Ok(()),
    };
    for (at, value) in array.iter().enumerate() {
        if let Some(part) = first.get(at).copied().or(rest.as_ref()) {
            confirm(part, value, held).map_err(|error| error.within(Label::index(at)))?;
        }
    }
    Ok(())
}

fn collection<C: Reference>(
    pattern: &Pattern<C>,
    value: &Value<C>,
    payload: &Value<C>,
    held: &mut PickChecker<'_, '_, C>,
) -> Confirmed {
    let part = |name| payload.get(name).and_then(Value::as_array).unwrap_or_default();
    match pattern.matcher() {
        Matcher::SetOf(element, _) => {
            let all = value.payload_of("copySet").and_then(Value::as_array).unwrap_or_default();
            all.iter().try_for_each(|one| confirm(element, one, held))
        }
        Matcher::BagOf(key, ..) => {
            let all = value.payload_of("copyBag").and_then(Value::as_array).unwrap_or_default();
            let keys = all.iter().filter_map(|entry| entry.as_array()?.first());
            keys.into_iter().try_for_each(|own| confirm(key, own, held))
        }
        Matcher::MapOf(key, each, _) => {
            part("keys").iter().try_for_each(|own| confirm(key, own, held))?;
            part("values").iter().try_for_each(|own| confirm(each, own, held))
        }
        Matcher::Map(own) => {
            let part_of = |key: &Value<C>| own.iter().find(|(known, _)| known == key);
            for (key, value) in part("keys").iter().zip(part("values")) {
                if let Some((_, part)) = part_of(key) {
                    confirm(part, value, held)?;
                }
            }
            Ok(())
        }
        Matcher::Tagged(_, inner) => confirm(inner, payload, held),
        _ => Ok(()),
    }
}
