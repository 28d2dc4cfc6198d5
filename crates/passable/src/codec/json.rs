//! The JSON beneath the codecs: a reader and a writer that keep lone surrogates, refuse duplicate keys and
//! bound depth, and that write numbers and escapes byte for byte as JavaScript's `JSON.stringify` does.

use crate::codec::error::{DecodeError, Problem, Segment};
use crate::text::{Text, TextBuilder};
use crate::value::{MAX_DEPTH, Value};

/// How much a decoder accepts. The default suits messages and stored rows.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Greatest length of a body in bytes; default 64 MiB.
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { bytes: 64 << 20 }
    }
}

/// What a codec makes of the parts that the reader finds.
pub(crate) trait Shape<C> {
    /// Gives a string its meaning.
    fn string(&mut self, text: Text) -> Result<Value<C>, Problem>;

    /// Gives an object its meaning; the names are as written, unique and sorted.
    fn object(&mut self, fields: Vec<(Text, Value<C>)>) -> Result<Value<C>, DecodeError>;
}

/// Reads one JSON text as a value, with strings and objects shaped by the codec.
pub(crate) fn read<C>(
    body: &str,
    bounds: Bounds,
    shape: &mut impl Shape<C>,
) -> Result<Value<C>, DecodeError> {
    if body.len() > bounds.bytes {
        return Err(Problem::TooLarge { bytes: body.len(), limit: bounds.bytes }.into());
    }
    let names = [const { None }; NAMES];
    let mut reader = Reader { text: body, bytes: body.as_bytes(), at: 0, depth: 0, names, fields: 4 };
    let value = reader.value(shape)?;
    reader.space();
    if reader.at < reader.bytes.len() {
        return Err(reader.syntax("the end"));
    }
    Ok(value)
}

/// How many property names are remembered. A power of two.
const NAMES: usize = 64;

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: u32,
    /// Names met before, each at the place that its bytes choose: records mostly repeat the names of others.
    names: [Option<Text>; NAMES],
    /// How many fields the last record had.
    fields: usize,
}

impl Reader<'_> {
    fn syntax(&self, expected: &'static str) -> DecodeError {
        Problem::Syntax { offset: self.at, expected }.into()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn word<C>(&mut self, word: &'static str, value: Value<C>) -> Result<Value<C>, DecodeError> {
        if !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            return Err(self.syntax("a JSON value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn value<C>(&mut self, shape: &mut impl Shape<C>) -> Result<Value<C>, DecodeError> {
        self.space();
        match self.peek() {
            Some(b'"') => {
                let text = self.string()?;
                Ok(shape.string(text)?)
            }
            Some(b'[') => self.array(shape),
            Some(b'{') => self.object(shape),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.syntax("a JSON value")),
        }
    }

    fn descend(&mut self) -> Result<(), DecodeError> {
        self.at += 1;
        self.depth += 1;
        // A body may nest deeper than the value it stands for, so twice the depth of values is let through.
        if self.depth > 2 * MAX_DEPTH { Err(Problem::TooDeep.into()) } else { Ok(()) }
    }

    fn array<C>(&mut self, shape: &mut impl Shape<C>) -> Result<Value<C>, DecodeError> {
        self.descend()?;
        let mut elements = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
        } else {
            loop {
                let element =
                    self.value(shape).map_err(|error| error.within(Segment::Index(elements.len())))?;
                elements.push(element);
                self.space();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b']') => break self.at += 1,
                    _ => return Err(self.syntax("`,` or `]`")),
                }
            }
        }
        self.depth -= 1;
        Ok(Value::try_array(elements)?)
    }

    fn object<C>(&mut self, shape: &mut impl Shape<C>) -> Result<Value<C>, DecodeError> {
        self.descend()?;
        let mut fields = Vec::with_capacity(self.fields);
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
        } else {
            loop {
                self.space();
                if self.peek() != Some(b'"') {
                    return Err(self.syntax("a property name"));
                }
                let name = self.name()?;
                self.space();
                if self.peek() != Some(b':') {
                    return Err(self.syntax("`:`"));
                }
                self.at += 1;
                let value = self.value(shape).map_err(|error| error.within(Segment::Name(name.clone())))?;
                fields.push((name, value));
                self.space();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b'}') => break self.at += 1,
                    _ => return Err(self.syntax("`,` or `}`")),
                }
            }
        }
        self.depth -= 1;
        self.fields = fields.len().min(64);
        if !fields.is_sorted_by(|(left, _), (right, _)| left < right) {
            fields.sort_by(|(left, _), (right, _)| left.cmp(right));
            if let Some([(name, _), _]) = fields.array_windows().find(|[left, right]| left.0 == right.0) {
                return Err(Problem::DuplicateName(name.clone()).into());
            }
        }
        shape.object(fields)
    }

    fn number(&mut self) -> Result<f64, DecodeError> {
        let start = self.at;
        let digits = |reader: &mut Self| {
            let first = reader.at;
            while matches!(reader.peek(), Some(b'0'..=b'9')) {
                reader.at += 1;
            }
            if reader.at == first { Err(reader.syntax("a digit")) } else { Ok(()) }
        };
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            digits(self)?;
        }
        let mut whole = true;
        if self.peek() == Some(b'.') {
            whole = false;
            self.at += 1;
            digits(self)?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            digits(self)?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if whole && text.len() <= 15 {
            // At most fifteen digits are exact in a double.
            let digits = text.as_bytes().iter().filter(|byte| byte.is_ascii_digit());
            let number = digits.fold(0i64, |number, digit| number * 10 + i64::from(digit - b'0')) as f64;
            return Ok(if text.starts_with('-') { -number } else { number });
        }
        text.parse().map_err(|_| self.syntax("a number"))
    }

    fn string(&mut self) -> Result<Text, DecodeError> {
        self.at += 1;
        let start = self.at;
        let plain_end = self.plain();
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Text::from(self.text.get(start..plain_end).unwrap_or_default()));
        }
        let mut builder = TextBuilder::with_capacity(2 * (plain_end - start) + 32);
        builder.push_str(self.text.get(start..plain_end).unwrap_or_default());
        loop {
            match self.peek() {
                Some(b'"') => break self.at += 1,
                Some(b'\\') => {
                    let unit = self.escape()?;
                    builder.push_unit(unit);
                }
                Some(0x20..) => {
                    let start = self.at;
                    let end = self.plain();
                    builder.push_str(self.text.get(start..end).unwrap_or_default());
                }
                _ => return Err(self.syntax("the rest of a string")),
            }
        }
        Ok(builder.finish())
    }

    /// A property name, shared with earlier records where possible.
    fn name(&mut self) -> Result<Text, DecodeError> {
        let start = self.at + 1;
        self.at = start;
        let end = self.plain();
        let bytes = self.bytes.get(start..end).unwrap_or_default();
        if self.peek() != Some(b'"') || bytes.is_empty() {
            self.at = start - 1;
            return self.string();
        }
        self.at += 1;
        let mix = |hash: usize, byte: &u8| (hash ^ usize::from(*byte)).wrapping_mul(0x0100_0193);
        let place = bytes.iter().fold(bytes.len(), mix);
        let Some(known) = self.names.get_mut((place ^ place >> 7) & (NAMES - 1)) else {
            return self.string();
        };
        match known {
            Some(name) if name.as_bytes() == bytes => Ok(name.clone()),
            other => {
                let name = Text::from(self.text.get(start..end).unwrap_or_default());
                *other = Some(name.clone());
                Ok(name)
            }
        }
    }

    /// Moves past characters that stand for themselves. All stops are ASCII, so slices stay on boundaries.
    fn plain(&mut self) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let stop = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
        self.at += rest.iter().position(stop).unwrap_or(rest.len());
        self.at
    }

    fn escape(&mut self) -> Result<u16, DecodeError> {
        self.at += 1;
        let unit = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => u16::from(byte),
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => 0x0A,
            Some(b'r') => 0x0D,
            Some(b't') => 0x09,
            Some(b'u') => {
                let hex = self.bytes.get(self.at + 1..self.at + 5).unwrap_or_default();
                if hex.len() < 4 || !hex.iter().all(u8::is_ascii_hexdigit) {
                    return Err(self.syntax("four hexadecimal digits"));
                }
                self.at += 4;
                hex.iter().fold(0, |unit, digit| {
                    unit << 4 | char::from(*digit).to_digit(16).unwrap_or_default() as u16
                })
            }
            _ => return Err(self.syntax("an escape sequence")),
        };
        self.at += 1;
        Ok(unit)
    }
}

/// Writes a string as `JSON.stringify` does, with a prefix inside the quotes.
pub(crate) fn write_string(out: &mut String, prefix: &str, text: &Text) {
    out.push('"');
    out.push_str(prefix);
    match text.as_str() {
        Some(text) => write_escaped(out, text),
        None => {
            for unit in char::decode_utf16(text.units()) {
                match unit {
                    Ok(char) => write_escaped(out, char.encode_utf8(&mut [0; 4])),
                    Err(lone) => out.push_str(&format!("\\u{:04x}", lone.unpaired_surrogate())),
                }
            }
        }
    }
    out.push('"');
}

fn write_escaped(out: &mut String, text: &str) {
    // Counted, not searched, because that is done many bytes at a time.
    let escapes = text.bytes().filter(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\').count();
    if escapes == 0 {
        return out.push_str(text);
    }
    let mut done = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0x08 => "\\b",
            0x09 => "\\t",
            0x0A => "\\n",
            0x0C => "\\f",
            0x0D => "\\r",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(text.get(done..at).unwrap_or_default());
        if escape.is_empty() {
            out.push_str(&format!("\\u{byte:04x}"));
        } else {
            out.push_str(escape);
        }
        done = at + 1;
    }
    out.push_str(text.get(done..).unwrap_or_default());
}

/// Writes a finite number as JavaScript does; `-0` is written as `0`.
pub(crate) fn write_number(out: &mut String, number: f64) {
    use std::fmt::Write;
    // Writing to a string cannot fail.
    if number.fract() == 0.0 && number.abs() < 1e15 {
        let _ = write!(out, "{}", number as i64);
        return;
    }
    if (1e-6..1e21).contains(&number.abs()) {
        // Here both languages write the shortest digits without an exponent.
        let _ = write!(out, "{number}");
        return;
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let (first, rest) = digits.split_at(1);
    let dot = if rest.is_empty() { "" } else { "." };
    let _ =
        write!(out, "{sign}{first}{dot}{rest}e{}{}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
}

/// Puts names in the order in which JavaScript writes an object's own properties after sorting: array indices by
/// number, then all others by UTF-16 units.
pub(crate) fn property_order<T>(fields: &[(Text, T)]) -> impl Iterator<Item = &(Text, T)> {
    let is_index = |name: &Text| array_index(name).is_some();
    let any = fields.iter().any(|(name, _)| is_index(name));
    let mut indices: Vec<_> = match any {
        true => fields.iter().filter(|(name, _)| is_index(name)).collect(),
        false => Vec::new(),
    };
    indices.sort_by_key(|(name, _)| array_index(name));
    indices.into_iter().chain(fields.iter().filter(move |(name, _)| !any || !is_index(name)))
}

fn array_index(name: &Text) -> Option<u32> {
    let bytes = name.as_bytes();
    let canonical = matches!(bytes, [b'0'] | [b'1'..=b'9', ..]) && bytes.iter().all(u8::is_ascii_digit);
    if !canonical || bytes.len() > 10 {
        return None;
    }
    name.as_str()?.parse::<u32>().ok().filter(|index| *index < u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_in_javascript() {
        for (number, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (3e300, "3e+300"),
            (5e-324, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (9007199254740992.0, "9007199254740992"),
            (1e21, "1e+21"),
            (123456789012345680000.0, "123456789012345680000"),
            (0.000001, "0.000001"),
            (0.0000001, "1e-7"),
            (1.5e-9, "1.5e-9"),
            (0.1, "0.1"),
            (-1234.5678, "-1234.5678"),
        ] {
            let mut out = String::new();
            write_number(&mut out, number);
            assert_eq!(out, expected);
        }
    }
}
