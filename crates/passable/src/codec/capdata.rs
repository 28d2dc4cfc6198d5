//! Capdata: the older encoding, still spoken by Endo's CapTP.
//!
//! Capdata is JSON in which objects with `@qclass` are special. It does not tell promises from remotables, so
//! [`decode_with`] lets the caller decide for each slot. Bytes, which upstream cannot encode, are
//! `{"@qclass":"bytes","base64":…}`.

use std::sync::Arc;

use crate::codec::error::{DecodeError, Fault, Problem};
use crate::codec::fields::Fields;
use crate::codec::json::{self, Bounds};
use crate::codec::{CapData, Slots, from_base64, read_bigint, to_base64, write_bigint};
use crate::text::Text;
use crate::value::{ErrorData, Reference, Remote, Value};

const QCLASS: &str = "@qclass";

/// Encodes a value. The output is canonical: array indices come first, then the other names in order. Slots are in
/// order of first occurrence.
///
/// ```
/// use passable::{Value, capdata};
/// assert_eq!(capdata::encode(&Value::<passable::NoRef>::undefined()).body, r#"{"@qclass":"undefined"}"#);
/// ```
pub fn encode<C: Reference>(value: &Value<C>) -> CapData<C> {
    let mut writer = Writer { out: String::new(), slots: Slots::new() };
    writer.value(value);
    CapData { body: writer.out, slots: writer.slots.into_vec() }
}

/// The kind of reference in a slot of a capdata body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// An object.
    Remotable,
    /// A promise.
    Promise,
}

/// Decodes the output of [`encode`]. Every slot becomes a remotable.
pub fn decode<C: Reference>(data: &CapData<C>) -> Result<Value<C>, DecodeError> {
    decode_with(data, Bounds::default(), |_| SlotKind::Remotable)
}

/// Decodes a body within bounds. The function `kind` tells which references are promises.
pub fn decode_with<C: Reference>(
    data: &CapData<C>,
    bounds: Bounds,
    kind: impl FnMut(&C) -> SlotKind,
) -> Result<Value<C>, DecodeError> {
    json::read(&data.body, bounds, &mut Decoder { slots: &data.slots, kind })
}

struct Writer<'a, C> {
    out: String,
    slots: Slots<'a, C>,
}

impl<'a, C: Reference> Writer<'a, C> {
    fn begin_class(&mut self, class: &str) {
        self.out.push_str("{\"@qclass\":\"");
        self.out.push_str(class);
        self.out.push('"');
    }

    fn text_field(&mut self, name: &str, text: &Text) {
        self.out.push_str(",\"");
        self.out.push_str(name);
        self.out.push_str("\":");
        json::write_string(&mut self.out, "", text);
    }

    fn remote(&mut self, remote: &'a Remote<C>) {
        let (number, first) = self.slots.number(&remote.reference);
        self.begin_class("slot");
        if let Some(iface) = remote.iface.as_ref().filter(|_| first) {
            self.text_field("iface", iface);
        }
        self.out.push_str(",\"index\":");
        json::write_integer(&mut self.out, number);
        self.out.push('}');
    }

    fn record(&mut self, fields: impl Iterator<Item = &'a (Text, Value<C>)>) {
        self.out.push('{');
        for (index, (name, value)) in fields.enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            json::write_string(&mut self.out, "", name);
            self.out.push(':');
            self.value(value);
        }
        self.out.push('}');
    }

    fn value(&mut self, value: &'a Value<C>) {
        match value {
            Value::Undefined => self.out.push_str("{\"@qclass\":\"undefined\"}"),
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Number(number) if number.is_nan() => self.out.push_str("{\"@qclass\":\"NaN\"}"),
            Value::Number(f64::INFINITY) => self.out.push_str("{\"@qclass\":\"Infinity\"}"),
            Value::Number(f64::NEG_INFINITY) => self.out.push_str("{\"@qclass\":\"-Infinity\"}"),
            Value::Number(number) => json::write_number(&mut self.out, *number),
            Value::BigInt(number) => {
                self.begin_class("bigint");
                self.out.push_str(",\"digits\":\"");
                write_bigint(&mut self.out, number);
                self.out.push_str("\"}");
            }
            Value::String(text) => json::write_string(&mut self.out, "", text),
            Value::Bytes(bytes) => {
                self.begin_class("bytes");
                self.out.push_str(",\"base64\":\"");
                self.out.push_str(&to_base64(bytes));
                self.out.push_str("\"}");
            }
            Value::Symbol(symbol) => {
                self.begin_class("symbol");
                self.text_field("name", symbol.name());
                self.out.push('}');
            }
            Value::Array(array) => {
                self.out.push('[');
                for (index, element) in array.iter().enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.value(element);
                }
                self.out.push(']');
            }
            Value::Record(record) => {
                let fields = json::property_order(record.fields());
                match record.get(QCLASS) {
                    None => self.record(fields),
                    Some(original) => {
                        self.begin_class("hilbert");
                        self.out.push_str(",\"original\":");
                        self.value(original);
                        if record.len() > 1 {
                            self.out.push_str(",\"rest\":");
                            self.record(fields.filter(|(name, _)| name != QCLASS));
                        }
                        self.out.push('}');
                    }
                }
            }
            Value::Tagged(tagged) => {
                self.begin_class("tagged");
                self.text_field("tag", tagged.tag());
                self.out.push_str(",\"payload\":");
                self.value(tagged.payload());
                self.out.push('}');
            }
            Value::Error(error) => {
                self.begin_class("error");
                if let Some(id) = &error.id {
                    self.text_field("errorId", id);
                }
                self.text_field("message", &error.message);
                self.text_field("name", &error.name);
                self.out.push('}');
            }
            Value::Remotable(remote) | Value::Promise(remote) => self.remote(remote),
        }
    }
}

struct Decoder<'a, C, K> {
    slots: &'a [C],
    kind: K,
}

impl<C: Reference, K: FnMut(&C) -> SlotKind> Decoder<'_, C, K> {
    fn slot(&mut self, parts: &mut Fields<'_, C>) -> Result<Value<C>, Problem> {
        let iface = parts.take_text("iface")?;
        let Some(Value::Number(index)) = parts.take("index") else {
            return Err(Problem::Malformed("slot"));
        };
        let number = (index >= 0.0 && index.fract() == 0.0 && index < 1e9).then_some(index as usize);
        let Some(reference) = number.and_then(|number| self.slots.get(number)).cloned() else {
            return Err(Problem::Slot(Text::from(index.to_string())));
        };
        let kind = (self.kind)(&reference);
        let remote = Arc::new(Remote { reference, iface });
        Ok(match kind {
            SlotKind::Remotable => Value::Remotable(remote),
            SlotKind::Promise => Value::Promise(remote),
        })
    }
}

/// Returns the record of the fields, or the result of `special` if the fields have a class. `special` must use every
/// field.
pub(crate) fn read_object<C>(
    mut fields: Fields<'_, C>,
    special: impl FnOnce(&Text, &mut Fields<'_, C>) -> Result<Value<C>, Problem>,
) -> Result<Value<C>, Fault> {
    let class = match fields.take(QCLASS) {
        None => return Ok(fields.into_record()?),
        Some(Value::String(class)) => class,
        Some(_) => return Err(Problem::Malformed(QCLASS).into()),
    };
    let value = special(&class, &mut fields)?;
    if fields.names().is_empty() { Ok(value) } else { Err(Problem::Malformed("special object").into()) }
}

/// Reads a special object of a class without slots. Returns `None` for any other class.
pub(crate) fn read_class<C>(class: &Text, parts: &mut Fields<'_, C>) -> Result<Option<Value<C>>, Problem> {
    Ok(Some(match class.as_bytes() {
        b"undefined" => Value::Undefined,
        b"NaN" => Value::Number(f64::NAN),
        b"Infinity" => Value::Number(f64::INFINITY),
        b"-Infinity" => Value::Number(f64::NEG_INFINITY),
        b"bigint" => Value::bigint(read_bigint(&parts.text("digits")?)?),
        b"bytes" => Value::bytes(from_base64(parts.text("base64")?.as_str().unwrap_or("?"))?),
        b"symbol" => Value::symbol(parts.text("name")?)?,
        b"@@asyncIterator" => Value::symbol("@@asyncIterator")?,
        b"tagged" => {
            let tag = parts.text("tag")?;
            Value::try_tagged(tag, parts.take("payload").ok_or(Problem::Malformed("payload"))?)?
        }
        b"error" => {
            // The other parts of an error are for diagnosis at its origin, and are not part of a value.
            let _ = (parts.take("cause"), parts.take("errors"));
            let (id, message, name) =
                (parts.take_text("errorId")?, parts.text("message")?, parts.text("name")?);
            Value::Error(Arc::new(ErrorData { name, message, id }))
        }
        b"hilbert" => {
            let original = parts.take("original").ok_or(Problem::Malformed("hilbert"))?;
            let mut fields = match parts.take("rest") {
                None => Vec::new(),
                Some(Value::Record(rest)) if !rest.is_empty() && rest.get(QCLASS).is_none() => {
                    rest.fields().to_vec()
                }
                Some(_) => return Err(Problem::Malformed("rest")),
            };
            fields.push((Text::from(QCLASS), original));
            Value::try_record(fields)?
        }
        _ => return Ok(None),
    }))
}

impl<C: Reference, K: FnMut(&C) -> SlotKind> json::Shape<C> for Decoder<'_, C, K> {
    fn string(&mut self, text: Text) -> Result<Value<C>, Problem> {
        Ok(Value::String(text))
    }

    fn object(&mut self, fields: Fields<'_, C>) -> Result<Value<C>, Fault> {
        read_object(fields, |class, parts| match read_class(class, parts)? {
            Some(value) => Ok(value),
            None if class == "slot" => self.slot(parts),
            None => Err(Problem::Class(class.clone())),
        })
    }
}
