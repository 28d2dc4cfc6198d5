//! The reader and the writer of plain JSON as text, without a tree of JSON in between.

use super::{QCLASS, read_parts};
use crate::codec::capdata::read_object;
use crate::codec::error::{DecodeError, Fault, Problem};
use crate::codec::exact::{MAX_SAFE, is_big_beyond_safe};
use crate::codec::fields::Fields;
use crate::codec::json::{self, Bounds};
use crate::codec::{read_bigint, to_base64, write_bigint};
use crate::text::Text;
use crate::value::{NoRef, Record, Value};

impl Value<NoRef> {
    /// Reads plain JSON text. This is faster than [`Value::from_json`]. It keeps lone surrogates that are written as
    /// escapes, and refuses a name that occurs twice in one object.
    pub fn from_json_text(text: &str) -> Result<Value<NoRef>, DecodeError> {
        json::read(text, Bounds::default(), &mut Plain)
    }

    /// Returns the value as plain JSON text, with names in the order of JavaScript's properties. This is faster than
    /// [`Value::to_json`].
    pub fn to_json_text(&self) -> String {
        let mut out = String::new();
        write(self, &mut out);
        out
    }
}

/// The codec of plain JSON text.
struct Plain;

impl json::Shape<NoRef> for Plain {
    fn string(&mut self, text: Text) -> Result<Value<NoRef>, Problem> {
        Ok(Value::String(text))
    }

    fn long_number(&mut self, text: &str) -> Option<Value<NoRef>> {
        let number = read_bigint(&Text::from(text)).ok()?;
        is_big_beyond_safe(&number).then(|| Value::bigint(number))
    }

    fn object(&mut self, fields: Fields<'_, NoRef>) -> Result<Value<NoRef>, Fault> {
        read_object(fields, read_parts)
    }
}

fn write(value: &Value<NoRef>, out: &mut String) {
    match value {
        Value::Undefined => write_constant(out, "undefined"),
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) if number.is_nan() => write_constant(out, "NaN"),
        Value::Number(f64::INFINITY) => write_constant(out, "Infinity"),
        Value::Number(f64::NEG_INFINITY) => write_constant(out, "-Infinity"),
        Value::Number(number) => {
            let start = out.len();
            json::write_number(out, *number);
            // Digits alone would be read as a big integer.
            let is_long = number.abs() > MAX_SAFE as f64;
            if is_long && !out.get(start..).unwrap_or_default().contains(['.', 'e']) {
                out.push_str(".0");
            }
        }
        // Other readers of JSON keep 64 bits.
        Value::BigInt(number)
            if is_big_beyond_safe(number)
                && (i64::try_from(&**number).is_ok() || u64::try_from(&**number).is_ok()) =>
        {
            write_bigint(out, number);
        }
        Value::BigInt(number) => {
            begin(out, "bigint");
            out.push_str(",\"digits\":\"");
            write_bigint(out, number);
            out.push_str("\"}");
        }
        Value::String(text) => write_text(out, text),
        Value::Bytes(bytes) => {
            begin(out, "bytes");
            out.push_str(",\"base64\":\"");
            out.push_str(&to_base64(bytes));
            out.push_str("\"}");
        }
        Value::Symbol(symbol) => {
            begin(out, "symbol");
            write_part(out, "name", symbol.name());
            out.push('}');
        }
        Value::Array(array) => {
            out.push('[');
            for (index, element) in array.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(element, out);
            }
            out.push(']');
        }
        Value::Record(record) => write_record(out, record),
        Value::Tagged(tagged) => {
            begin(out, "tagged");
            out.push_str(",\"payload\":");
            write(tagged.payload(), out);
            write_part(out, "tag", tagged.tag());
            out.push('}');
        }
        Value::Error(error) => {
            begin(out, "error");
            if let Some(id) = &error.id {
                write_part(out, "errorId", id);
            }
            write_part(out, "message", &error.message);
            write_part(out, "name", &error.name);
            out.push('}');
        }
        Value::Remotable(remote) | Value::Promise(remote) => match remote.reference {},
    }
}

/// Writes the beginning of a special object.
fn begin(out: &mut String, class: &str) {
    out.push_str("{\"@qclass\":\"");
    out.push_str(class);
    out.push('"');
}

fn write_constant(out: &mut String, class: &str) {
    begin(out, class);
    out.push('}');
}

/// Writes a part of a special object whose value is text.
fn write_part(out: &mut String, name: &str, text: &Text) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
    write_text(out, text);
}

fn write_text(out: &mut String, text: &Text) {
    if text.is_well_formed() {
        return json::write_string(out, "", text);
    }
    begin(out, "utf16");
    out.push_str(",\"units\":\"");
    text.units().for_each(|unit| out.push_str(&format!("{unit:04x}")));
    out.push_str("\"}");
}

fn write_record(out: &mut String, record: &Record<NoRef>) {
    if !record.names().all(Text::is_well_formed) {
        begin(out, "hilbert-names");
        out.push_str(",\"fields\":[");
        for (index, (name, value)) in record.iter().enumerate() {
            out.push_str(if index > 0 { ",[" } else { "[" });
            write_text(out, name);
            out.push(',');
            write(value, out);
            out.push(']');
        }
        return out.push_str("]}");
    }
    let Some(original) = record.get(QCLASS) else {
        return write_fields(out, json::property_order(record.fields()));
    };
    begin(out, "hilbert");
    out.push_str(",\"original\":");
    write(original, out);
    if record.len() > 1 {
        out.push_str(",\"rest\":");
        write_fields(out, json::property_order(record.fields()).filter(|(name, _)| name != QCLASS));
    }
    out.push('}');
}

fn write_fields<'a>(out: &mut String, fields: impl Iterator<Item = &'a (Text, Value<NoRef>)>) {
    out.push('{');
    for (index, (name, value)) in fields.enumerate() {
        if index > 0 {
            out.push(',');
        }
        json::write_string(out, "", name);
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    type V = Value<NoRef>;

    #[test]
    fn values_beyond_json_are_written_as_special_objects() {
        let record = |names: &[&str]| V::record(names.iter().map(|name| (*name, V::null()))).unwrap();
        let lone = Text::from_utf16([0x61, 0xD83E]);
        for (value, expected) in [
            (V::undefined(), r#"{"@qclass":"undefined"}"#),
            (V::number(f64::NEG_INFINITY), r#"{"@qclass":"-Infinity"}"#),
            (V::number(1e21), "1e+21"),
            (V::bigint(-9_007_199_254_740_993_i64), "-9007199254740993"),
            (V::number(9_007_199_254_740_992.0), "9007199254740992.0"),
            (V::bigint(-5), r#"{"@qclass":"bigint","digits":"-5"}"#),
            (V::bytes([1, 2]), r#"{"@qclass":"bytes","base64":"AQI="}"#),
            (V::symbol("@@iterator").unwrap(), r#"{"@qclass":"symbol","name":"@@iterator"}"#),
            (V::error("E", "no"), r#"{"@qclass":"error","message":"no","name":"E"}"#),
            (
                V::tagged("t", V::array([V::number(1e21), record(&["b", "10", "9"])])),
                r#"{"@qclass":"tagged","payload":[1e+21,{"9":null,"10":null,"b":null}],"tag":"t"}"#,
            ),
            (V::String(lone.clone()), r#"{"@qclass":"utf16","units":"0061d83e"}"#),
            (record(&["@qclass"]), r#"{"@qclass":"hilbert","original":null}"#),
            (record(&["a", "@qclass"]), r#"{"@qclass":"hilbert","original":null,"rest":{"a":null}}"#),
            (
                V::record([(lone, V::bool(true)), ("b".into(), V::bool(false))]).unwrap(),
                r#"{"@qclass":"hilbert-names","fields":[[{"@qclass":"utf16","units":"0061d83e"},true],["b",false]]}"#,
            ),
        ] {
            assert_eq!(value.to_json_text(), expected);
            assert_eq!(V::from_json_text(expected).as_ref(), Ok(&value), "{expected}");
            assert_eq!(V::from_json(&serde_json::from_str(expected).unwrap()), Ok(value), "{expected}");
        }
    }
}
