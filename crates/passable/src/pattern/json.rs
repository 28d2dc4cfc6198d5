//! Values as JSON of the shape that the pattern's JSON Schema describes. The JSON is natural if the pattern is
//! specific, and plain JSON with escapes otherwise.
//!
//! For example, `"12"` is a big integer if the pattern asks for one, and `["a"]` is a set if the pattern asks for
//! one.

mod escape;
pub(super) mod pick_checker;
pub(super) mod structure;

use serde_json::{Map, Value as Json, json};

use super::mismatch::{Label, Mismatch};
use super::{Matcher, Pattern};
use crate::codec::{plain, read_bigint, to_base64};
use crate::text::Text;
use crate::value::{Record, Reference, Value};
pub use escape::Resolve;
use escape::{has_references, is_escape, read_escape, read_plain};
use structure::{is_open, structural};

impl<C: Reference> Pattern<C> {
    /// Reads JSON of the shape of [`Pattern::to_json_schema`] and checks it. Escapes of plain JSON are
    /// understood everywhere. Capabilities are refused; see [`Pattern::read_json_with`].
    ///
    /// ```
    /// use passable::{Pattern, Value};
    /// let pattern: Pattern = Pattern::set_of(Pattern::bigint());
    /// let value = pattern.read_json(&serde_json::json!(["1", "22"]))?;
    /// assert_eq!(value, Value::set([Value::bigint(1), Value::bigint(22)])?);
    /// assert_eq!(pattern.write_json(&value), serde_json::json!(["22", "1"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_json(&self, json: &Json) -> Result<Value<C>, Mismatch> {
        self.read_json_with(json, &mut |_, _| None)
    }

    /// Reads JSON as [`Pattern::read_json`] does; the caller resolves the strings that name capabilities.
    pub fn read_json_with(&self, json: &Json, resolve: &mut Resolve<'_, C>) -> Result<Value<C>, Mismatch> {
        let value = read(self, json, resolve)?;
        self.check(&value)?;
        Ok(value)
    }

    /// Returns a matching value as JSON of the shape of [`Pattern::to_json_schema`]. References become null.
    /// [`Pattern::read_json`] reads an equal value back, except that optional fields that are `undefined` are left
    /// out.
    pub fn write_json(&self, value: &Value<C>) -> Json {
        self.write_json_with(value, &mut |_| Json::Null)
    }

    /// Returns a value as JSON, as [`Pattern::write_json`] does; the caller writes the references.
    pub fn write_json_with(&self, value: &Value<C>, refer: &mut dyn FnMut(&C) -> Json) -> Json {
        write(self, value, refer)
    }
}

pub(super) fn read<C: Reference>(
    pattern: &Pattern<C>,
    json: &Json,
    resolve: &mut Resolve<'_, C>,
) -> Result<Value<C>, Mismatch> {
    if is_escape(json) {
        return read_escape(pattern, json, resolve);
    }
    let shape = structural(pattern);
    let mut each = |part: &Pattern<C>, elements: &[Json]| {
        let read = |(at, json)| read(part, json, resolve).map_err(|error| error.within(Label::index(at)));
        elements.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()
    };
    let array = |elements| Value::try_array(elements).map_err(too_deep);
    match (shape.matcher(), json) {
        (Matcher::BigInt(_) | Matcher::Nat(_), Json::String(digits)) => {
            read_bigint(&Text::from(digits)).map(Value::bigint).or_else(|_| read_plain(json, resolve))
        }
        (Matcher::BigInt(_) | Matcher::Nat(_), Json::Number(number)) => {
            let whole = number.as_i64().map(Value::bigint).or(number.as_u64().map(Value::bigint));
            whole.map_or_else(|| read_plain(json, resolve), Ok)
        }
        (Matcher::Symbol(_), Json::String(name)) => {
            Value::symbol(name).or_else(|_| read_plain(json, resolve))
        }
        (Matcher::Bytes(_), Json::String(text)) => {
            crate::codec::from_base64(text).map(Value::bytes).or_else(|_| read_plain(json, resolve))
        }
        (Matcher::Remotable(_) | Matcher::Promise(_), Json::String(text)) => {
            resolve(&shape, text).map_or_else(|| read_plain(json, resolve), Ok)
        }
        (Matcher::Kind(kind), Json::String(text)) if kind == "remotable" || kind == "promise" => {
            resolve(&shape, text).map_or_else(|| read_plain(json, resolve), Ok)
        }
        (Matcher::Kind(kind), Json::Object(object)) if kind == "error" => {
            match (object.get("name"), object.get("message"), object.len()) {
                (Some(Json::String(name)), Some(Json::String(message)), 2) => Ok(Value::error(name, message)),
                _ => read_plain(json, resolve),
            }
        }
        (Matcher::ArrayOf(part, _), Json::Array(elements)) => array(each(part, elements)?),
        (Matcher::SetOf(part, _), Json::Array(elements)) => {
            let elements = each(part, elements)?;
            Value::set(elements.clone()).or_else(|_| array(elements))
        }
        (Matcher::MapOf(key, value, _), Json::Array(entries)) => {
            read_pairs(entries, json, resolve, |at, pair, resolve| {
                let key = read(key, &pair[0], resolve).map_err(|error| error.within(Label::index(at)))?;
                let value = read(value, &pair[1], resolve).map_err(|error| error.within(Label::index(at)))?;
                Ok((key, value))
            })
        }
        (Matcher::Map(own), Json::Array(entries)) => {
            read_pairs(entries, json, resolve, |at, pair, resolve| {
                let key = read_plain(&pair[0], resolve)?;
                let part = own.iter().find(|(known, _)| *known == key).map(|(_, part)| part.clone());
                let value = read(&part.unwrap_or_else(Pattern::any), &pair[1], resolve);
                Ok((key, value.map_err(|error| error.within(Label::index(at)))?))
            })
        }
        (Matcher::BagOf(key, _, _), Json::Array(entries)) => {
            let mut counts = Vec::new();
            for (at, entry) in entries.iter().enumerate() {
                let count = match (entry.get("count"), entry.as_object().map(Map::len)) {
                    (Some(Json::String(digits)), Some(2)) => read_bigint(&Text::from(digits)).ok(),
                    (Some(Json::Number(count)), Some(2)) => count.as_u64().map(Into::into),
                    _ => None,
                };
                let (Some(count), Some(value)) = (count, entry.get("value")) else {
                    return read_plain(json, resolve);
                };
                let value = read(key, value, resolve).map_err(|error| error.within(Label::index(at)))?;
                counts.push((value, count));
            }
            Value::bag(counts).or_else(|_| read_plain(json, resolve))
        }
        (Matcher::Array(parts), Json::Array(elements)) if parts.len() == elements.len() => {
            let pairs = parts.iter().zip(elements).enumerate();
            let read = |(at, (part, json))| read(part, json, resolve).map_err(|e| e.within(Label::index(at)));
            array(pairs.map(read).collect::<Result<Vec<_>, _>>()?)
        }
        (Matcher::SplitArray(split), Json::Array(elements)) => {
            let fixed: Vec<_> = split.required.iter().chain(split.optional.iter().flatten()).collect();
            let (first, further) = elements.split_at_checked(fixed.len()).unwrap_or((elements, &[]));
            let mut values = Vec::new();
            for (at, (part, json)) in fixed.iter().zip(first).enumerate() {
                values.push(read(part, json, resolve).map_err(|error| error.within(Label::index(at)))?);
            }
            let rest = match &split.rest {
                Some(rest) => read(rest, &Json::Array(further.to_vec()), resolve)?,
                None => read_plain(&Json::Array(further.to_vec()), resolve)?,
            };
            values.extend(rest.as_array().unwrap_or_default().iter().cloned());
            array(values)
        }
        (Matcher::Record(fields), Json::Object(object)) => {
            read_fields(&[fields], None, object, left_out(fields, object), resolve)
        }
        (Matcher::SplitRecord(split), Json::Object(object)) => {
            let optional = split.optional.as_deref().unwrap_or_default();
            let values = left_out(&split.required, object);
            read_fields(&[&split.required, optional], split.rest.as_ref(), object, values, resolve)
        }
        (Matcher::RecordOf(_, part, _), Json::Object(object)) => {
            let rest = Pattern::record_of(Pattern::any(), part.clone());
            match part.matcher() {
                Matcher::Any => read_plain(json, resolve),
                _ => read_rest_values(&rest, part, object, resolve),
            }
        }
        (Matcher::Tagged(tag, payload), Json::Object(object)) => {
            match (object.get("tag"), object.get("payload")) {
                (Some(tag_json), Some(payload_json)) if object.len() == 2 => {
                    let Value::String(tag) = read(tag, tag_json, resolve)? else {
                        return read_plain(json, resolve);
                    };
                    let payload = read(payload, payload_json, resolve)
                        .map_err(|error| error.within(Label::name(&Text::from("payload"))))?;
                    Value::try_tagged(tag, payload).map_err(too_deep)
                }
                _ => read_plain(json, resolve),
            }
        }
        (Matcher::Or(parts), _) => {
            if let Some(other) = pattern.as_optional() {
                return read(other, json, resolve);
            }
            // Plain JSON does not say which kind of capability the pattern asks for, so it is not tried for
            // capabilities.
            let refers = has_references(json);
            // Plain JSON is tried first, because its values cannot be written in another way.
            if !refers
                && let Ok(value) = read_plain(json, resolve)
                && pattern.matches(&value)
            {
                return Ok(value);
            }
            let mut refused = None;
            for part in parts {
                match read(part, json, resolve) {
                    Ok(value) if part.matches(&value) => return Ok(value),
                    Ok(_) => {}
                    Err(mismatch) => refused = refused.or(Some(mismatch)),
                }
            }
            refused.filter(|_| refers).map_or_else(|| read_plain(json, resolve), Err)
        }
        (Matcher::And(parts), _) => {
            // No part is read twice, because nested conjunctions would then take time exponential in their depth.
            let mut first = None;
            for part in parts.iter().filter(|part| !is_open(part)) {
                match read(part, json, resolve) {
                    Ok(value) if pattern.matches(&value) => return Ok(value),
                    outcome => first = first.or(Some(outcome)),
                }
            }
            first.unwrap_or_else(|| read_plain(json, resolve))
        }
        _ => read_plain(json, resolve),
    }
}

/// Returns the required fields that are missing in the JSON and may be `undefined`, each with the value `undefined`.
fn left_out<C: Reference>(
    fields: &[(Text, Pattern<C>)],
    object: &Map<String, Json>,
) -> Vec<(Text, Value<C>)> {
    let absent = |name: &Text| !object.contains_key(name.as_str().unwrap_or_default());
    let fields = fields.iter().filter(|(name, part)| may_be_left_out(part) && absent(name));
    fields.map(|(name, _)| (name.clone(), Value::Undefined)).collect()
}

fn may_be_left_out<C: Reference>(pattern: &Pattern<C>) -> bool {
    pattern.as_optional().is_some() || pattern.is_undefined()
}

fn too_deep(error: crate::ValueError) -> Mismatch {
    Mismatch::new(error.to_string(), "something that nests less deep", "deeply nested JSON")
}

fn read_pairs<C: Reference>(
    entries: &[Json],
    whole: &Json,
    resolve: &mut Resolve<'_, C>,
    mut read: impl FnMut(usize, &[Json; 2], &mut Resolve<'_, C>) -> Result<(Value<C>, Value<C>), Mismatch>,
) -> Result<Value<C>, Mismatch> {
    let mut pairs = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        match entry.as_array().map(Vec::as_slice).and_then(|entry| <&[Json; 2]>::try_from(entry).ok()) {
            Some(pair) => pairs.push(read(at, pair, resolve)?),
            None => return read_plain(whole, resolve),
        }
    }
    Value::map(pairs).or_else(|_| read_plain(whole, resolve))
}

fn read_fields<C: Reference>(
    known: &[&[(Text, Pattern<C>)]],
    rest: Option<&Pattern<C>>,
    object: &Map<String, Json>,
    mut values: Vec<(Text, Value<C>)>,
    resolve: &mut Resolve<'_, C>,
) -> Result<Value<C>, Mismatch> {
    let mut further = Map::new();
    for (name, json) in object {
        let text = Text::from(name);
        let find = |fields: &&[(Text, Pattern<C>)]| {
            let at = fields.binary_search_by(|(own, _)| own.cmp(&text)).ok()?;
            fields.get(at).map(|(_, part)| part.clone())
        };
        match known.iter().find_map(find) {
            Some(part) => {
                let value = read(&part, json, resolve).map_err(|error| error.within(Label::name(&text)))?;
                values.push((text, value));
            }
            None => {
                further.insert(name.clone(), json.clone());
            }
        }
    }
    if !further.is_empty() {
        let further = Json::Object(further);
        let further = match rest {
            Some(rest) => read(rest, &further, resolve)?,
            None => read_plain(&further, resolve)?,
        };
        let fields = further.as_record().map(Record::fields).unwrap_or_default();
        values.extend(fields.iter().cloned());
    }
    Value::try_record(values).map_err(too_deep)
}

fn read_rest_values<C: Reference>(
    rest: &Pattern<C>,
    part: &Pattern<C>,
    object: &Map<String, Json>,
    resolve: &mut Resolve<'_, C>,
) -> Result<Value<C>, Mismatch> {
    debug_assert!(matches!(rest.matcher(), Matcher::RecordOf(..)));
    let mut values = Vec::new();
    for (name, json) in object {
        let text = Text::from(name);
        let value = read(part, json, resolve).map_err(|error| error.within(Label::name(&text)))?;
        values.push((text, value));
    }
    Value::try_record(values).map_err(too_deep)
}

/// Returns a value as JSON of one part of a pattern, or as plain JSON if the whole pattern would read another value.
fn write_or_escape<C: Reference>(
    whole: &Pattern<C>,
    part: &Pattern<C>,
    value: &Value<C>,
    refer: &mut dyn FnMut(&C) -> Json,
) -> Json {
    let json = write(part, value, refer);
    // References cannot be read back here. A pattern that asks for a reference is never ambiguous.
    let back = || read(whole, &json, &mut |_, _| None);
    let same = !value.references().is_empty() || back().is_ok_and(|back| same_but_left_out(&back, value));
    if same { json } else { plain::write(value, refer) }
}

/// Returns whether a value that was read back equals the original, except that fields that are `undefined` are left
/// out.
fn same_but_left_out<C: Reference>(read: &Value<C>, value: &Value<C>) -> bool {
    match (read, value) {
        (Value::Array(read), Value::Array(value)) => {
            let pairs = read.iter().zip(value.iter());
            read.len() == value.len() && pairs.into_iter().all(|(read, value)| same_but_left_out(read, value))
        }
        (Value::Record(read), Value::Record(value)) => {
            let there = |(name, own): &(Text, Value<C>)| match read.get_text(name) {
                Some(read) => same_but_left_out(read, own),
                None => matches!(own, Value::Undefined),
            };
            value.iter().all(there) && read.names().all(|name| value.get_text(name).is_some())
        }
        (Value::Tagged(read), Value::Tagged(value)) => {
            read.tag() == value.tag() && same_but_left_out(read.payload(), value.payload())
        }
        _ => read == value,
    }
}

/// Returns whether plain JSON must escape a whole record because of the names of its fields.
fn has_escaped_names<C>(record: &Record<C>) -> bool {
    record.names().any(|name| !name.is_well_formed() || name == "@qclass")
}

fn write<C: Reference>(pattern: &Pattern<C>, value: &Value<C>, refer: &mut dyn FnMut(&C) -> Json) -> Json {
    if value.as_record().is_some_and(has_escaped_names) {
        return plain::write(value, refer);
    }
    let shape = structural(pattern);
    let each = |part: &Pattern<C>, elements: &[Value<C>], refer: &mut dyn FnMut(&C) -> Json| {
        Json::Array(elements.iter().map(|element| write(part, element, refer)).collect())
    };
    let collection = |tag: &str| value.payload_of(tag).and_then(Value::as_array);
    match (shape.matcher(), value) {
        (Matcher::BigInt(_) | Matcher::Nat(_), Value::BigInt(number)) => Json::from(number.to_string()),
        (Matcher::Symbol(_), Value::Symbol(symbol)) => plain::write_text(symbol.name()),
        (Matcher::Bytes(_), Value::Bytes(bytes)) => Json::from(to_base64(bytes)),
        (Matcher::Remotable(_) | Matcher::Promise(_) | Matcher::Kind(_), Value::Remotable(remote))
        | (Matcher::Promise(_) | Matcher::Kind(_), Value::Promise(remote)) => refer(&remote.reference),
        (Matcher::Kind(_), Value::Error(error)) if error.id.is_none() => {
            json!({ "name": plain::write_text(&error.name), "message": plain::write_text(&error.message) })
        }
        (Matcher::ArrayOf(part, _), Value::Array(array)) => each(part, array, refer),
        (Matcher::SetOf(part, _), Value::Tagged(_)) => match collection("copySet") {
            Some(elements) => each(part, elements, refer),
            None => plain::write(value, refer),
        },
        (Matcher::BagOf(key, _, _), Value::Tagged(_)) => match collection("copyBag") {
            Some(entries) => {
                let entry = |entry: &Value<C>| match entry.as_array() {
                    Some([own, Value::BigInt(count)]) => {
                        json!({ "value": write(key, own, refer), "count": count.to_string() })
                    }
                    _ => Json::Null,
                };
                Json::Array(entries.iter().map(entry).collect())
            }
            None => plain::write(value, refer),
        },
        (Matcher::MapOf(..) | Matcher::Map(_), Value::Tagged(_)) => {
            let payload = value.payload_of("copyMap");
            let part = |name| payload.and_then(|payload| payload.get(name)?.as_array()).unwrap_or_default();
            let pair = |(key, value): (&Value<C>, &Value<C>)| match shape.matcher() {
                Matcher::MapOf(keys, values, _) => {
                    json!([write(keys, key, refer), write(values, value, refer)])
                }
                Matcher::Map(own) => {
                    let part = own.iter().find(|(known, _)| known == key).map(|(_, part)| part.clone());
                    let part = part.unwrap_or_else(Pattern::any);
                    json!([plain::write(key, refer), write(&part, value, refer)])
                }
                _ => Json::Null,
            };
            match payload {
                Some(_) => Json::Array(part("keys").iter().zip(part("values")).map(pair).collect()),
                None => plain::write(value, refer),
            }
        }
        (Matcher::Array(parts), Value::Array(array)) => Json::Array(
            parts.iter().zip(array.iter()).map(|(part, value)| write(part, value, refer)).collect(),
        ),
        (Matcher::SplitArray(split), Value::Array(array)) => {
            let fixed: Vec<_> = split.required.iter().chain(split.optional.iter().flatten()).collect();
            let (first, further) = array.split_at_checked(fixed.len()).unwrap_or((array, &[]));
            let mut out: Vec<Json> =
                fixed.iter().zip(first).map(|(part, value)| write(part, value, refer)).collect();
            let rest = split.rest.clone().unwrap_or_else(Pattern::any);
            if let Json::Array(further) = write(&rest, &Value::array(further.iter().cloned()), refer) {
                out.extend(further);
            }
            Json::Array(out)
        }
        (Matcher::Record(fields), Value::Record(record)) => write_record(fields, &[], None, record, refer),
        (Matcher::SplitRecord(split), Value::Record(record)) => {
            let optional = split.optional.as_deref().unwrap_or_default();
            write_record(&split.required, optional, split.rest.as_ref(), record, refer)
        }
        (Matcher::RecordOf(_, part, _), Value::Record(record)) => plain::write_fields(
            record.iter().map(|(name, value)| (name, write(part, value, refer))).collect(),
        ),
        (Matcher::Tagged(tag, payload), Value::Tagged(tagged)) => {
            let tag = write(tag, &Value::String(tagged.tag().clone()), refer);
            json!({ "tag": tag, "payload": write(payload, tagged.payload(), refer) })
        }
        (Matcher::Or(parts), _) => match parts.iter().find(|part| part.matches(value)) {
            Some(part) => write_or_escape(pattern, part, value, refer),
            None => plain::write(value, refer),
        },
        (Matcher::And(parts), _) => match parts.iter().find(|part| !is_open(part)) {
            Some(part) => write_or_escape(pattern, part, value, refer),
            None => plain::write(value, refer),
        },
        _ => plain::write(value, refer),
    }
}

fn write_record<C: Reference>(
    required: &[(Text, Pattern<C>)],
    optional: &[(Text, Pattern<C>)],
    rest: Option<&Pattern<C>>,
    record: &Record<C>,
    refer: &mut dyn FnMut(&C) -> Json,
) -> Json {
    let part_of = |fields: &[(Text, Pattern<C>)], name: &Text| {
        let at = fields.binary_search_by(|(own, _)| own.cmp(name)).ok()?;
        fields.get(at).map(|(_, part)| part.clone())
    };
    let value_pattern = match rest.map(Pattern::matcher) {
        Some(Matcher::RecordOf(_, part, _)) => part.clone(),
        _ => Pattern::any(),
    };
    let mut out = Vec::new();
    for (name, value) in record {
        let absent = matches!(value, Value::Undefined);
        match (part_of(required, name), part_of(optional, name)) {
            (Some(part), _) if absent && may_be_left_out(&part) => {}
            (None, Some(_)) if absent => {}
            (Some(part), _) | (None, Some(part)) => out.push((name, write(&part, value, refer))),
            (None, None) => out.push((name, write(&value_pattern, value, refer))),
        }
    }
    plain::write_fields(out)
}
