//! Smallcaps: the encoding of Endo's storage and of this kernel's.
//!
//! Smallcaps is JSON in which strings that begin with one of `!"#$%&'()*+,-` are special. Bytes, which upstream
//! cannot encode, are written here as `*` and base64.

use crate::codec::error::{DecodeError, Fault, Problem};
use crate::codec::fields::Fields;
use crate::codec::json::{self, Bounds};
use crate::codec::{CapData, Slots, from_base64, read_bigint, read_slot, to_base64, write_bigint};
use crate::text::Text;
use crate::value::{ErrorData, Reference, Remote, Value};
use std::sync::Arc;

/// Encodes a value. Canonical: names sorted, slots in order of first occurrence.
///
/// ```
/// use passable::{Value, smallcaps};
/// let value: Value = Value::record([("n", Value::bigint(7)), ("s", Value::string("-7"))])?;
/// assert_eq!(smallcaps::encode(&value).body, r##"#{"n":"+7","s":"!-7"}"##);
/// # Ok::<(), passable::ValueError>(())
/// ```
pub fn encode<C: Reference>(value: &Value<C>) -> CapData<C> {
    let mut writer = Writer { out: String::from("#"), slots: Slots::new(), ifaces: true };
    writer.value(value);
    CapData { body: writer.out, slots: writer.slots.into_vec() }
}

/// Encodes a value without the alleged interface names, so that equal values have equal encodings.
pub(crate) fn encode_canonical<C: Reference>(value: &Value<C>) -> CapData<C> {
    let mut writer = Writer { out: String::from("#"), slots: Slots::new(), ifaces: false };
    writer.value(value);
    CapData { body: writer.out, slots: writer.slots.into_vec() }
}

/// Decodes the output of [`encode`], within the default [`Bounds`].
pub fn decode<C: Reference>(data: &CapData<C>) -> Result<Value<C>, DecodeError> {
    decode_within(&data.body, &data.slots, Bounds::default())
}

/// Decodes a body and its slots, within bounds.
pub fn decode_within<C: Reference>(body: &str, slots: &[C], bounds: Bounds) -> Result<Value<C>, DecodeError> {
    match body.strip_prefix('#') {
        Some(json) => json::read(json, bounds, &mut Decoder { slots }),
        None => Err(Problem::Syntax { offset: 0, expected: "`#`" }.into()),
    }
}

fn is_special(text: &Text) -> bool {
    matches!(text.as_bytes().first(), Some(b'!'..=b'-'))
}

struct Writer<'a, C> {
    out: String,
    slots: Slots<'a, C>,
    ifaces: bool,
}

impl<'a, C: Reference> Writer<'a, C> {
    fn text(&mut self, text: &Text) {
        json::write_string(&mut self.out, if is_special(text) { "!" } else { "" }, text);
    }

    fn constant(&mut self, constant: &str) {
        self.out.push('"');
        self.out.push_str(constant);
        self.out.push('"');
    }

    fn remote(&mut self, prefix: char, remote: &'a Remote<C>) {
        let (number, first) = self.slots.number(&remote.reference);
        match &remote.iface {
            Some(iface) if first && self.ifaces => {
                json::write_string(&mut self.out, &format!("{prefix}{number}."), iface);
            }
            _ => self.constant(&format!("{prefix}{number}")),
        }
    }

    fn value(&mut self, value: &'a Value<C>) {
        match value {
            Value::Undefined => self.constant("#undefined"),
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Number(number) if number.is_nan() => self.constant("#NaN"),
            Value::Number(f64::INFINITY) => self.constant("#Infinity"),
            Value::Number(f64::NEG_INFINITY) => self.constant("#-Infinity"),
            Value::Number(number) => json::write_number(&mut self.out, *number),
            Value::BigInt(number) => {
                self.out.push_str(if number.sign() == num_bigint::Sign::Minus { "\"" } else { "\"+" });
                write_bigint(&mut self.out, number);
                self.out.push('"');
            }
            Value::String(text) => self.text(text),
            Value::Bytes(bytes) => self.constant(&format!("*{}", to_base64(bytes))),
            Value::Symbol(symbol) => json::write_string(&mut self.out, "%", symbol.name()),
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
                self.out.push('{');
                for (index, (name, value)) in json::property_order(record.fields()).enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.text(name);
                    self.out.push(':');
                    self.value(value);
                }
                self.out.push('}');
            }
            Value::Tagged(tagged) => {
                self.out.push_str("{\"#tag\":");
                self.text(tagged.tag());
                self.out.push_str(",\"payload\":");
                self.value(tagged.payload());
                self.out.push('}');
            }
            Value::Error(error) => {
                self.out.push_str("{\"#error\":");
                self.text(&error.message);
                if let Some(id) = &error.id {
                    self.out.push_str(",\"errorId\":");
                    self.text(id);
                }
                self.out.push_str(",\"name\":");
                self.text(&error.name);
                self.out.push('}');
            }
            Value::Remotable(remote) => self.remote('$', remote),
            Value::Promise(remote) => self.remote('&', remote),
        }
    }
}

struct Decoder<'a, C> {
    slots: &'a [C],
}

/// Returns the text after a prefix of ASCII bytes.
fn without_prefix(text: &Text, prefix: usize) -> Text {
    match text.as_str() {
        Some(text) => Text::from(text.get(prefix..).unwrap_or_default()),
        None => Text::from_wtf8(text.as_bytes().get(prefix..).unwrap_or_default()),
    }
}

impl<C: Reference> Decoder<'_, C> {
    fn remote(&self, text: &Text) -> Result<Arc<Remote<C>>, Problem> {
        let rest = without_prefix(text, 1);
        let digits = rest.as_bytes().iter().take_while(|byte| byte.is_ascii_digit()).count();
        let iface = match rest.as_bytes().get(digits) {
            None => None,
            Some(b'.') => Some(without_prefix(&rest, digits + 1)),
            Some(_) => return Err(Problem::Slot(text.clone())),
        };
        let number = String::from_utf8_lossy(rest.as_bytes().get(..digits).unwrap_or_default());
        Ok(Arc::new(Remote { reference: read_slot(&number, self.slots)?.clone(), iface }))
    }
}

impl<C: Reference> json::Shape<C> for Decoder<'_, C> {
    fn string(&mut self, text: Text) -> Result<Value<C>, Problem> {
        if !is_special(&text) {
            return Ok(Value::String(text));
        }
        match text.as_bytes().first() {
            Some(b'!') => Ok(Value::String(without_prefix(&text, 1))),
            Some(b'%') => Ok(Value::symbol(without_prefix(&text, 1))?),
            Some(b'+' | b'-') => read_bigint(&text).map(Value::bigint),
            Some(b'$') => self.remote(&text).map(Value::Remotable),
            Some(b'&') => self.remote(&text).map(Value::Promise),
            Some(b'*') => {
                let base64 = text.as_str().and_then(|text| text.get(1..)).unwrap_or("?");
                from_base64(base64).map(Value::bytes)
            }
            Some(b'#') => match text.as_bytes() {
                b"#undefined" => Ok(Value::Undefined),
                b"#NaN" => Ok(Value::Number(f64::NAN)),
                b"#Infinity" => Ok(Value::Number(f64::INFINITY)),
                b"#-Infinity" => Ok(Value::Number(f64::NEG_INFINITY)),
                _ => Err(Problem::Constant(text)),
            },
            other => Err(Problem::Reserved(char::from(other.copied().unwrap_or_default()))),
        }
    }

    fn object(&mut self, mut fields: Fields<'_, C>) -> Result<Value<C>, Fault> {
        if !fields.names().iter().any(is_special) {
            return Ok(fields.into_record()?);
        }
        let mut fields: Vec<_> = fields.drain().collect();
        if fields.iter().any(|(name, _)| name.as_bytes().first() == Some(&b'#')) {
            return Ok(special(fields)?);
        }
        for (name, _) in &mut fields {
            match name.as_bytes().first() {
                Some(b'!') => *name = without_prefix(name, 1),
                Some(b'!'..=b'-') => return Err(Problem::Malformed("property name").into()),
                _ => {}
            }
        }
        Ok(Value::try_record(fields)?)
    }
}

/// Reads the objects `{"#tag", payload}` and `{"#error", name, errorId?}`.
fn special<C>(fields: Vec<(Text, Value<C>)>) -> Result<Value<C>, Problem> {
    let (mut tag, mut payload, mut message, mut name, mut id) = (None, None, None, None, None);
    let (mut other, mut diagnostic) = (0, 0);
    for (key, value) in fields {
        match (key.as_bytes(), value) {
            (b"#tag", Value::String(text)) => tag = Some(text),
            (b"#error", Value::String(text)) => message = Some(text),
            (b"payload", value) => payload = Some(value),
            (b"name", Value::String(text)) => name = Some(text),
            (b"errorId", Value::String(text)) => id = Some(text),
            // The other parts of an error are for diagnosis at its origin, and are not part of a value.
            (b"cause" | b"errors", _) => diagnostic += 1,
            _ => other += 1,
        }
    }
    match (tag, payload, message, name, id) {
        (Some(tag), Some(payload), None, None, None) if other + diagnostic == 0 => {
            Ok(Value::try_tagged(tag, payload)?)
        }
        (None, None, Some(message), Some(name), id) if other == 0 => {
            Ok(Value::Error(Arc::new(ErrorData { name, message, id })))
        }
        (Some(_), ..) => Err(Problem::Malformed("#tag object")),
        (_, _, Some(_), ..) => Err(Problem::Malformed("#error object")),
        _ => Err(Problem::Malformed("object with a `#` name")),
    }
}
