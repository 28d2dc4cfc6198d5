//! The JSON beneath the codecs: a reader and a writer.
//!
//! Both keep lone surrogates. The reader refuses duplicate keys, bounds the depth, and makes values in one pass,
//! without a tree of JSON in between. The writer writes numbers and escapes byte for byte as JavaScript's
//! `JSON.stringify` does.

use crate::codec::error::{DecodeError, Fault, Problem, Segment, within};
use crate::codec::fields::Fields;
use crate::codec::scan::before_escape;
use crate::text::{Text, TextBuilder};
use crate::value::{MAX_DEPTH, Value};

mod write;

pub(crate) use write::{property_order, write_integer, write_number, write_string};

/// The limits of a decoder. The default suits messages and stored rows.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The maximum length of a body in bytes. The default is 64 MiB.
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { bytes: 64 << 20 }
    }
}

/// The hooks by which a codec turns strings and objects into values.
pub(crate) trait Shape<C> {
    /// Returns the value for which a string stands.
    fn string(&mut self, text: Text) -> Result<Value<C>, Problem>;

    /// Returns the value for which a number of more than fifteen characters stands, or `None` for a double.
    fn long_number(&mut self, _text: &str) -> Option<Value<C>> {
        None
    }

    /// Returns the value for which an object stands. The names are as written, unique and sorted.
    fn object(&mut self, fields: Fields<'_, C>) -> Result<Value<C>, Fault>;
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
    let (values, names, escaped) = (Vec::new(), Vec::new(), TextBuilder::default());
    let mut reader = Reader { text: body, at: 0, depth: 0, values, names, escaped };
    reader.value(shape).map_err(|fault| *fault)?;
    match (reader.next(), reader.values.pop()) {
        (None, Some(value)) => Ok(value),
        _ => Err(*reader.syntax("the end")),
    }
}

struct Reader<'a, C> {
    text: &'a str,
    at: usize,
    depth: u32,
    /// The parts of all open arrays and objects, those of inner ones last. Each array or object is made at its end,
    /// in its final size.
    values: Vec<Value<C>>,
    /// The names of those parts that lie in objects.
    names: Vec<Text>,
    /// The buffer in which strings with escapes are put together.
    escaped: TextBuilder,
}

impl<'a, C> Reader<'a, C> {
    #[cold]
    fn syntax(&self, expected: &'static str) -> Fault {
        Problem::Syntax { offset: self.at, expected }.into()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Moves past white space. Returns the byte after it.
    fn next(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                other => return other,
            }
        }
    }

    fn word(&mut self, word: &'static str, value: Value<C>) -> Result<(), Fault> {
        if !self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            return Err(self.syntax("a JSON value"));
        }
        self.at += word.len();
        self.values.push(value);
        Ok(())
    }

    /// Reads one value and pushes it on the stack. It is inlined, so that only nesting costs a call.
    #[inline(always)]
    fn value(&mut self, shape: &mut impl Shape<C>) -> Result<(), Fault> {
        match self.next() {
            Some(b'"') => {
                let text = self.string()?;
                self.values.push(shape.string(text)?);
                Ok(())
            }
            Some(b'[') => self.array(shape),
            Some(b'{') => self.object(shape),
            Some(b'-' | b'0'..=b'9') => self.number(shape),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.syntax("a JSON value")),
        }
    }

    fn descend(&mut self) -> Result<(), Fault> {
        self.at += 1;
        self.depth += 1;
        // A body may nest deeper than the value for which it stands, so twice the depth of values is allowed.
        if self.depth > 2 * MAX_DEPTH { Err(Problem::TooDeep.into()) } else { Ok(()) }
    }

    #[inline(never)]
    fn array(&mut self, shape: &mut impl Shape<C>) -> Result<(), Fault> {
        self.descend()?;
        let first = self.values.len();
        if self.next() == Some(b']') {
            self.at += 1;
        } else {
            loop {
                let index = self.values.len() - first;
                self.value(shape).map_err(|fault| within(fault, Segment::Index(index)))?;
                match self.next() {
                    Some(b',') => self.at += 1,
                    Some(b']') => break self.at += 1,
                    _ => return Err(self.syntax("`,` or `]`")),
                }
            }
        }
        self.depth -= 1;
        let array = Value::array_of(self.values.drain(first..))?;
        self.values.push(array);
        Ok(())
    }

    #[inline(never)]
    fn object(&mut self, shape: &mut impl Shape<C>) -> Result<(), Fault> {
        self.descend()?;
        let first = self.names.len();
        if self.next() == Some(b'}') {
            self.at += 1;
        } else {
            loop {
                if self.next() != Some(b'"') {
                    return Err(self.syntax("a property name"));
                }
                let at = self.names.len();
                let name = self.string()?;
                self.names.push(name);
                if self.next() != Some(b':') {
                    return Err(self.syntax("`:`"));
                }
                self.at += 1;
                if let Err(fault) = self.value(shape) {
                    return Err(match self.names.get(at) {
                        Some(name) => within(fault, Segment::Name(name.clone())),
                        None => fault,
                    });
                }
                match self.next() {
                    Some(b',') => self.at += 1,
                    Some(b'}') => break self.at += 1,
                    _ => return Err(self.syntax("`,` or `}`")),
                }
            }
        }
        self.depth -= 1;
        let mut fields = Fields::new(&mut self.names, &mut self.values, first);
        fields.sort()?;
        let value = shape.object(fields)?;
        self.values.push(value);
        Ok(())
    }

    /// Reads digits, adds them to a number, and returns how many there were.
    fn digits(&mut self, number: &mut u64) -> Result<usize, Fault> {
        let start = self.at;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            // A number that overflows has too many digits to be used.
            *number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        if self.at == start { Err(self.syntax("a digit")) } else { Ok(self.at - start) }
    }

    fn number(&mut self, shape: &mut impl Shape<C>) -> Result<(), Fault> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let (mut digits, mut fraction, mut exponent) = (0, 0, false);
        let mut count = 1;
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            count = self.digits(&mut digits)?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            fraction = self.digits(&mut digits)?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            exponent = true;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits(&mut 0)?;
        }
        if !exponent && count + fraction <= 15 {
            // Up to fifteen digits and this power of ten are exact in a double, and division rounds correctly.
            let power = POWERS.get(fraction).copied().unwrap_or(1.0);
            let number = if fraction == 0 { digits as f64 } else { digits as f64 / power };
            self.values.push(Value::Number(if negative { -number } else { number }));
            return Ok(());
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if let Some(value) = shape.long_number(text) {
            self.values.push(value);
            return Ok(());
        }
        let number = text.parse().map_err(|_| self.syntax("a number"))?;
        self.values.push(Value::Number(number));
        Ok(())
    }

    #[inline(always)]
    fn string(&mut self) -> Result<Text, Fault> {
        self.at += 1;
        let rest = self.text.get(self.at..).unwrap_or_default();
        let plain = before_escape(rest.as_bytes());
        if rest.as_bytes().get(plain) == Some(&b'"') {
            self.at += plain + 1;
            return Ok(Text::front(rest, plain));
        }
        self.string_with_escapes(plain)
    }

    /// Reads the rest of a string that has escapes. Its first `plain` bytes stand for themselves.
    fn string_with_escapes(&mut self, mut plain: usize) -> Result<Text, Fault> {
        loop {
            self.escaped.push_str(self.text.get(self.at..self.at + plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => break self.at += 1,
                Some(b'\\') => {
                    let unit = self.escape()?;
                    self.escaped.push_unit(unit);
                }
                _ => return Err(self.syntax("the rest of a string")),
            }
            plain = before_escape(self.text.as_bytes().get(self.at..).unwrap_or_default());
        }
        Ok(self.escaped.take())
    }

    fn escape(&mut self) -> Result<u16, Fault> {
        self.at += 1;
        let unit = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => u16::from(byte),
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => 0x0A,
            Some(b'r') => 0x0D,
            Some(b't') => 0x09,
            Some(b'u') => {
                let hex = self.text.as_bytes().get(self.at + 1..self.at + 5).unwrap_or_default();
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

/// The powers of ten.
const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

#[cfg(test)]
mod tests {
    use crate::{NoRef, Value};

    #[test]
    fn numbers_are_read_exactly() {
        for text in [
            "0",
            "-0",
            "7",
            "-7.25",
            "0.1",
            "0.000000000000001",
            "0.0000000000000001",
            "123456789012345",
            "-1234567890123456",
            "9007199254740991",
            "1234567.89012345",
            "123456789.012345678901234567890",
            "9007199254740993.0",
            "1e23",
            "2.5e-3",
            "4.9e-324",
            "1E+400",
        ] {
            let expected: f64 = text.parse().unwrap();
            let Ok(Value::<NoRef>::Number(number)) = Value::from_json_text(text) else { panic!("{text}") };
            assert_eq!(number.to_bits(), expected.to_bits(), "{text}");
        }
    }

    #[test]
    fn decode_error_names_the_path_of_its_place() {
        for (body, expected) in [
            ("", "expected a JSON value at byte 0"),
            ("[] []", "expected the end at byte 3"),
            ("[[1, 2], [3, 4, x]]", "at [1][2]: expected a JSON value at byte 16"),
            ("[[1, 2], [3, [4}]", "at [1][1]: expected `,` or `]` at byte 15"),
            (r#"{"a": {"b": [{}, {"c": tru}]}}"#, "at a.b[1].c: expected a JSON value at byte 23"),
            (r#"{"a": {"b": 1, "c" 2}}"#, "at a: expected `:` at byte 19"),
            (r#"[{"b": 1, "a": 2, "b": 3}]"#, "at [0]: the name \"b\" occurs twice in one record"),
            (r#"{"a": "b\x"}"#, "at a: expected an escape sequence at byte 9"),
            ("[\"a\nb\"]", "at [0]: expected the rest of a string at byte 3"),
            ("[-]", "at [0]: expected a digit at byte 2"),
            ("[1.]", "at [0]: expected a digit at byte 3"),
        ] {
            let error = Value::<NoRef>::from_json_text(body).unwrap_err();
            assert_eq!(error.to_string(), expected, "{body}");
        }
    }
}
