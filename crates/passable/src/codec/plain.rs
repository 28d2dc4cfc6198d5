//! Plain JSON: ordinary JSON is read as itself, and values that JSON lacks are escaped.
//!
//! Escapes are objects with `@qclass`. These are as in [capdata](crate::capdata):
//!
//! - `undefined`, `NaN`, `Infinity`, `-Infinity`
//! - `bigint` (`digits`), `bytes` (`base64`), `symbol` (`name`)
//! - `tagged` (`tag`, `payload`), `error` (`message`, `name`, `errorId?`)
//! - `hilbert` (`original`, `rest?`): a record that has a field `@qclass`
//!
//! These are our own:
//!
//! - `utf16` (`units`): text with lone surrogates, four hexadecimal digits per unit
//! - `hilbert-names` (`fields`): a list of `[name, value]`, for records whose names hold lone surrogates
//! - `remotable` or `promise` (`ref`, `iface?`): a reference in its own serde form
//!
//! Lossless up to equality of values: `-0` is written as `0`.

use num_bigint::BigInt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

use crate::codec::capdata::read_class;
use crate::codec::error::{DecodeError, Problem, Segment};
use crate::codec::exact::is_beyond_safe;
use crate::codec::fields::Fields;
use crate::codec::to_base64;
use crate::text::Text;
use crate::value::{MAX_DEPTH, Reference, Remote, Value};
use std::sync::Arc;

mod text;

pub(crate) const QCLASS: &str = "@qclass";

impl<C: Reference + DeserializeOwned> Value<C> {
    /// Reads plain JSON.
    ///
    /// Ordinary JSON becomes the same value, and an escape becomes the value that it encodes. Numbers are doubles, as
    /// in JavaScript. Whole numbers beyond 2^53 become big integers, so that they keep their digits.
    pub fn from_json(json: &Json) -> Result<Value<C>, DecodeError> {
        read_with(json, &mut |class, reference, iface| {
            let reference = serde_json::from_value(reference.cloned().unwrap_or(Json::Null))
                .map_err(|e| Problem::Reference(e.to_string()))?;
            let remote = Arc::new(Remote { reference, iface });
            Ok(if class == PROMISE { Value::Promise(remote) } else { Value::Remotable(remote) })
        })
    }
}

/// The class of an escape for a reference that is no promise.
pub(crate) const REMOTABLE: &str = "remotable";

/// The class of an escape for a promise.
pub(crate) const PROMISE: &str = "promise";

/// A function that returns the value of an escape of class [`REMOTABLE`] or [`PROMISE`], from its `ref` and its
/// `iface`.
pub(crate) type Refer<'a, C> = dyn FnMut(&str, Option<&Json>, Option<Text>) -> Result<Value<C>, Problem> + 'a;

/// Reads plain JSON. The function `refer` reads the references.
pub(crate) fn read_with<C: Reference>(
    json: &Json,
    refer: &mut Refer<'_, C>,
) -> Result<Value<C>, DecodeError> {
    read(json, 0, refer)
}

impl<C: Reference + Serialize> Value<C> {
    /// Returns the value as plain JSON, from which [`Value::from_json`] makes an equal value.
    pub fn to_json(&self) -> Json {
        // A reference that cannot be written as JSON is written as null, and refused when read back.
        write(self, &mut |reference| serde_json::to_value(reference).unwrap_or(Json::Null))
    }
}

/// Reads a special object without references.
fn read_parts<C>(class: &Text, parts: &mut Fields<'_, C>) -> Result<Value<C>, Problem> {
    match class.as_bytes() {
        b"utf16" => Ok(Value::String(read_units(&parts.text("units")?)?)),
        b"hilbert-names" => {
            let Some(Value::Array(pairs)) = parts.take("fields") else {
                return Err(Problem::Malformed("fields"));
            };
            let pair = |pair: &Value<C>| match pair.as_array() {
                Some([Value::String(name), value]) => Ok((name.clone(), value.clone())),
                _ => Err(Problem::Malformed("fields")),
            };
            Ok(Value::try_record(pairs.iter().map(pair).collect::<Result<_, _>>()?)?)
        }
        _ => read_class(class, parts)?.ok_or_else(|| Problem::Class(class.clone())),
    }
}

/// Returns a number as JSON. A whole number that a double holds exactly is written without a decimal point.
pub(crate) fn number_to_json(number: f64) -> Option<Json> {
    if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
        return Some(Json::from(number as i64));
    }
    serde_json::Number::from_f64(number).map(Json::Number)
}

/// Writes plain JSON. The function `refer` writes the references.
pub(crate) fn write<C>(value: &Value<C>, refer: &mut dyn FnMut(&C) -> Json) -> Json {
    match value {
        Value::Undefined => json!({ QCLASS: "undefined" }),
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Number(number) => number_to_json(*number).unwrap_or_else(|| {
            let name = if number.is_nan() {
                "NaN"
            } else if *number > 0.0 {
                "Infinity"
            } else {
                "-Infinity"
            };
            json!({ QCLASS: name })
        }),
        Value::BigInt(number) => write_big_integer(number),
        Value::String(text) => write_text(text),
        Value::Bytes(bytes) => json!({ QCLASS: "bytes", "base64": to_base64(bytes) }),
        Value::Symbol(symbol) => json!({ QCLASS: "symbol", "name": write_text(symbol.name()) }),
        Value::Array(array) => Json::Array(array.iter().map(|element| write(element, refer)).collect()),
        Value::Record(record) => {
            let fields: Vec<(&Text, Json)> =
                record.iter().map(|(name, value)| (name, write(value, refer))).collect();
            write_fields(fields)
        }
        Value::Tagged(tagged) => {
            let payload = write(tagged.payload(), refer);
            json!({ QCLASS: "tagged", "tag": write_text(tagged.tag()), "payload": payload })
        }
        Value::Error(error) => {
            let mut out = json!({
                QCLASS: "error", "message": write_text(&error.message), "name": write_text(&error.name),
            });
            if let (Some(id), Json::Object(out)) = (&error.id, &mut out) {
                out.insert("errorId".to_owned(), write_text(id));
            }
            out
        }
        Value::Remotable(remote) => write_remote(REMOTABLE, remote, refer),
        Value::Promise(remote) => write_remote(PROMISE, remote, refer),
    }
}

/// Writes a big integer: as a number if JSON has 64 bits for it and a reader makes a big integer of it again, and as
/// an escape otherwise.
fn write_big_integer(number: &BigInt) -> Json {
    let plain = match (i64::try_from(number), u64::try_from(number)) {
        (Ok(signed), _) => is_beyond_safe(signed).then(|| Json::from(signed)),
        (_, Ok(unsigned)) => Some(Json::from(unsigned)),
        _ => None,
    };
    plain.unwrap_or_else(|| json!({ QCLASS: "bigint", "digits": number.to_string() }))
}

/// Returns the value of a JSON number. Only a number beyond 2^53 that is written as an integer becomes a big integer.
fn read_number<C>(number: &serde_json::Number) -> Value<C> {
    match (number.as_i64(), number.as_u64()) {
        (Some(signed), _) if is_beyond_safe(signed) => Value::bigint(signed),
        (None, Some(unsigned)) => Value::bigint(unsigned),
        _ => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
    }
}

/// Writes a record whose values are written already.
pub(crate) fn write_fields(fields: Vec<(&Text, Json)>) -> Json {
    if !fields.iter().all(|(name, _)| name.is_well_formed()) {
        let pairs: Vec<Json> =
            fields.into_iter().map(|(name, value)| json!([write_text(name), value])).collect();
        return json!({ QCLASS: "hilbert-names", "fields": pairs });
    }
    let mut object = Map::new();
    for (name, value) in fields {
        object.insert(name.as_str().unwrap_or_default().to_owned(), value);
    }
    let Some(original) = object.remove(QCLASS) else {
        return Json::Object(object);
    };
    let mut out = json!({ QCLASS: "hilbert", "original": original });
    if let (false, Json::Object(out)) = (object.is_empty(), &mut out) {
        out.insert("rest".to_owned(), Json::Object(object));
    }
    out
}

fn write_remote<C>(class: &str, remote: &Remote<C>, refer: &mut dyn FnMut(&C) -> Json) -> Json {
    let mut out = json!({ QCLASS: class, "ref": refer(&remote.reference) });
    if let (Some(iface), Json::Object(out)) = (&remote.iface, &mut out) {
        out.insert("iface".to_owned(), write_text(iface));
    }
    out
}

pub(crate) fn write_text(text: &Text) -> Json {
    match text.as_str() {
        Some(text) => Json::from(text),
        None => {
            let units: String = text.units().map(|unit| format!("{unit:04x}")).collect();
            json!({ QCLASS: "utf16", "units": units })
        }
    }
}

fn read<C: Reference>(json: &Json, depth: u32, refer: &mut Refer<'_, C>) -> Result<Value<C>, DecodeError> {
    if depth > 2 * MAX_DEPTH {
        return Err(Problem::TooDeep.into());
    }
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => read_number(number),
        Json::String(text) => Value::string(text),
        Json::Array(elements) => {
            let element =
                |(at, element)| read(element, depth + 1, refer).map_err(|e| e.within(Segment::Index(at)));
            Value::try_array(elements.iter().enumerate().map(element).collect::<Result<_, _>>()?)?
        }
        Json::Object(fields) => match fields.get(QCLASS) {
            None => Value::try_record(read_fields(fields, &[], depth, refer)?)?,
            Some(Json::String(class)) => read_special(class, fields, depth, refer)?,
            Some(_) => return Err(Problem::Malformed(QCLASS).into()),
        },
    })
}

fn read_fields<C: Reference>(
    fields: &Map<String, Json>,
    except: &[&str],
    depth: u32,
    refer: &mut Refer<'_, C>,
) -> Result<Vec<(Text, Value<C>)>, DecodeError> {
    let field = |(name, value): (&String, &Json)| {
        let value = read(value, depth + 1, refer).map_err(|e| e.within(Segment::Name(Text::from(name))))?;
        Ok((Text::from(name), value))
    };
    fields.iter().filter(|(name, _)| !except.contains(&name.as_str())).map(field).collect()
}

fn read_special<C: Reference>(
    class: &str,
    fields: &Map<String, Json>,
    depth: u32,
    refer: &mut Refer<'_, C>,
) -> Result<Value<C>, DecodeError> {
    let (mut names, mut values) = read_fields(fields, &[QCLASS, "ref"], depth, refer)?.into_iter().unzip();
    let mut parts = Fields::new(&mut names, &mut values, 0);
    let value = match class {
        REMOTABLE | PROMISE => {
            let iface = parts.take_text("iface")?;
            refer(class, fields.get("ref"), iface)?
        }
        _ => read_parts(&Text::from(class), &mut parts)?,
    };
    let unused = !parts.names().is_empty() || (fields.contains_key("ref") && value.as_reference().is_none());
    if unused { Err(Problem::Malformed("special object").into()) } else { Ok(value) }
}

fn read_units(hex: &Text) -> Result<Text, Problem> {
    let digits: Vec<u32> = hex.units().map_while(|unit| char::from_u32(unit.into())?.to_digit(16)).collect();
    if digits.len() != hex.utf16_len() || !digits.len().is_multiple_of(4) {
        return Err(Problem::Malformed("utf16"));
    }
    let (units, _) = digits.as_chunks::<4>();
    Ok(Text::from_utf16(
        units.iter().map(|digits| digits.iter().fold(0, |unit, digit| unit << 4 | *digit as u16)),
    ))
}
