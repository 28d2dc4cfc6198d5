//! The encoder of both encodings.

use num_bigint::{BigInt, Sign};

use super::{Format, RefKind, complement};
use crate::codec::error::{Fault, Problem, Segment, within};
use crate::codec::json::Bounds;
use crate::codec::scan::before_separator;
use crate::codec::write_bigint;
use crate::text::Text;
use crate::value::{Reference, Value};

pub(super) fn encode<C: Reference>(
    value: &Value<C>,
    format: Format,
    bounds: Bounds,
    refer: &mut dyn FnMut(RefKind, &C) -> Option<String>,
) -> Result<Text, Fault> {
    let mut encoder = Encoder { format, bounds, refer, out: Vec::new(), spare: Vec::new() };
    if format == Format::Compact {
        encoder.out.push(b'~');
    }
    encoder.value(value)?;
    Ok(Text::from_wtf8(&encoder.out))
}

struct Encoder<'a, C> {
    format: Format,
    bounds: Bounds,
    refer: &'a mut dyn FnMut(RefKind, &C) -> Option<String>,
    out: Vec<u8>,
    /// The buffer for an element while it is escaped.
    spare: Vec<u8>,
}

impl<C: Reference> Encoder<'_, C> {
    fn value(&mut self, value: &Value<C>) -> Result<(), Fault> {
        let out = &mut self.out;
        match value {
            Value::Null => out.push(b'v'),
            Value::Undefined => out.push(b'z'),
            Value::Bool(true) => out.extend(b"btrue"),
            Value::Bool(false) => out.extend(b"bfalse"),
            Value::Number(number) => encode_number(*number, out),
            Value::BigInt(number) => encode_bigint(number, out),
            Value::String(text) => self.text(b's', text),
            Value::Symbol(symbol) => self.text(b'y', symbol.name()),
            Value::Bytes(bytes) => {
                out.push(b'a');
                push_count(bytes.len(), b'~', out);
                out.push(b':');
                for byte in bytes.iter() {
                    out.extend([byte >> 4, byte & 0xF].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
                }
            }
            Value::Array(array) => self.array(array.iter(), Self::value)?,
            Value::Record(record) => {
                out.push(b'(');
                let fields = || record.iter().rev();
                // The encoding of a record has two more levels than the record itself.
                self.pair(
                    |encoder| encoder.array(fields(), |encoder, (name, _)| encoder.name(name)),
                    |encoder| encoder.array(fields(), |encoder, (_, value)| encoder.value(value)),
                )?;
            }
            Value::Tagged(tagged) => {
                out.push(b':');
                self.pair(|encoder| encoder.name(tagged.tag()), |encoder| encoder.value(tagged.payload()))?;
            }
            Value::Error(_) => return Err(Problem::Unencodable("error").into()),
            Value::Remotable(remote) => self.reference(RefKind::Remotable, &remote.reference)?,
            Value::Promise(remote) => self.reference(RefKind::Promise, &remote.reference)?,
        }
        self.bounded(self.out.len())
    }

    fn bounded(&self, bytes: usize) -> Result<(), Fault> {
        let limit = self.bounds.bytes;
        if bytes > limit { Err(Problem::TooLarge { bytes, limit }.into()) } else { Ok(()) }
    }

    /// Writes a property name or a tag, which are encoded as strings.
    fn name(&mut self, name: &Text) -> Result<(), Fault> {
        self.text(b's', name);
        self.bounded(self.out.len())
    }

    fn text(&mut self, prefix: u8, text: &Text) {
        let out = &mut self.out;
        out.push(prefix);
        if self.format == Format::Legacy {
            return out.extend_from_slice(text.as_bytes());
        }
        for byte in text.as_bytes() {
            match byte {
                b' ' => out.extend(b"!_"),
                b'!' => out.extend(b"!|"),
                0..0x20 => out.extend([b'!', byte + 0x21]),
                b'^' => out.extend(b"_@"),
                b'_' => out.extend(b"__"),
                plain => out.push(*plain),
            }
        }
    }

    fn array<T>(
        &mut self,
        parts: impl Iterator<Item = T>,
        write: impl Fn(&mut Self, T) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.out.push(self.open());
        for (index, part) in parts.enumerate() {
            self.element(|encoder| write(encoder, part))
                .map_err(|fault| within(fault, Segment::Index(index)))?;
        }
        Ok(())
    }

    fn open(&self) -> u8 {
        if self.format == Format::Legacy { b'[' } else { b'^' }
    }

    fn pair(
        &mut self,
        first: impl FnOnce(&mut Self) -> Result<(), Fault>,
        second: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.out.push(self.open());
        self.element(first)?;
        self.element(second)
    }

    fn element(&mut self, write: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        let start = self.out.len();
        write(self)?;
        if self.format == Format::Compact {
            self.out.push(b' ');
            return Ok(());
        }
        let element = self.out.get(start..).unwrap_or_default();
        let escapes = element.iter().filter(|byte| **byte <= 1).count();
        self.bounded(self.out.len() + escapes)?;
        if escapes > 0 {
            self.spare.clear();
            self.spare.extend(self.out.drain(start..));
            let mut plain = self.spare.as_slice();
            while let Some((before, rest)) = plain.split_at_checked(before_separator(plain)) {
                self.out.extend_from_slice(before);
                // Separators follow one another, because each level doubles them.
                plain = rest;
                while let [escaped @ (0 | 1), after @ ..] = plain {
                    self.out.extend([1, *escaped]);
                    plain = after;
                }
                if plain.is_empty() {
                    break;
                }
            }
        }
        self.out.push(0);
        Ok(())
    }

    fn reference(&mut self, kind: RefKind, reference: &C) -> Result<(), Fault> {
        let name = if kind == RefKind::Remotable { "remotable" } else { "promise" };
        let encoded = (self.refer)(kind, reference).filter(|text| {
            let embeddable =
                self.format == Format::Legacy || text.bytes().all(|byte| byte > b' ' && byte != b'^');
            embeddable && text.as_bytes().first() == Some(&kind.prefix())
        });
        self.out.extend_from_slice(encoded.ok_or(Problem::Unencodable(name))?.as_bytes());
        Ok(())
    }
}

fn encode_number(number: f64, out: &mut Vec<u8>) {
    let bits = match number {
        _ if number.is_nan() => 0x7FF8_0000_0000_0000,
        // Adding zero turns -0 into 0.
        _ => (number + 0.0).to_bits(),
    };
    let bits = if number < 0.0 { !bits } else { bits ^ 1 << 63 };
    out.push(b'f');
    let digit = |place: usize| b"0123456789abcdef"[(bits >> (60 - 4 * place) & 0xF) as usize];
    out.extend(std::array::from_fn::<u8, 16, _>(digit));
}

/// Appends a count with a unary prefix for the number of its digits.
fn push_count(count: usize, unary: u8, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(count);
    out.extend(std::iter::repeat_n(unary, digits.len() - 1));
    out.extend(digits.as_bytes());
}

fn encode_bigint(number: &BigInt, out: &mut Vec<u8>) {
    let mut digits = String::new();
    write_bigint(&mut digits, number);
    if number.sign() != Sign::Minus {
        out.push(b'p');
        push_count(digits.len(), b'~', out);
        out.push(b':');
        return out.extend_from_slice(digits.as_bytes());
    }
    let mut digits = digits.into_bytes().split_off(1);
    let mut count = digits.len().to_string().into_bytes();
    complement(&mut count);
    complement(&mut digits);
    out.push(b'n');
    out.extend(std::iter::repeat_n(b'#', count.len() - 1));
    out.extend(count);
    out.push(b':');
    out.extend(digits);
}
