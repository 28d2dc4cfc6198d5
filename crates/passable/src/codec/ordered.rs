//! Encodings that keep rank order: comparing two encodings by UTF-16 units compares the values by rank.
//!
//! `legacyOrdered` doubles its separators at every level of nesting, so its length is bounded;
//! `compactOrdered` (which begins with `~`) grows linearly. Bytes, which upstream cannot encode, are `a`, their
//! count as in big integers, and hexadecimal digits.

use num_bigint::{BigInt, Sign};

use crate::codec::error::{DecodeError, Problem, Segment};
use crate::codec::json::Bounds;
use crate::codec::read_bigint;
use crate::text::Text;
use crate::value::{MAX_DEPTH, Reference, Value};

/// Which of the two encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Upstream's default; needs escapes only inside of arrays.
    Legacy,
    /// Begins with `~`; escapes inside of strings.
    Compact,
}

/// What an encoded reference is: its first character says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefKind {
    /// `r…`
    Remotable,
    /// `?…`
    Promise,
}

impl RefKind {
    fn prefix(self) -> u8 {
        match self {
            RefKind::Remotable => b'r',
            RefKind::Promise => b'?',
        }
    }
}

/// Encodes a value without references. Errors cannot be encoded.
///
/// ```
/// use passable::{Value, ordered};
/// let value: Value = Value::array([Value::number(1.0), Value::string("a b")]);
/// let text = ordered::encode(&value, ordered::Format::Compact)?;
/// assert_eq!(text, "~^fbff0000000000000 sa!_b ");
/// assert_eq!(ordered::decode(&text)?, value);
/// # Ok::<(), passable::DecodeError>(())
/// ```
pub fn encode<C: Reference>(value: &Value<C>, format: Format) -> Result<Text, DecodeError> {
    encode_with(value, format, Bounds::default(), &mut |_, _| None)
}

/// Encodes a value; the caller encodes references, beginning with the character of their kind.
pub fn encode_with<C: Reference>(
    value: &Value<C>,
    format: Format,
    bounds: Bounds,
    refer: &mut dyn FnMut(RefKind, &C) -> Option<String>,
) -> Result<Text, DecodeError> {
    let mut encoder = Encoder { format, bounds, refer };
    let mut out = Vec::new();
    if format == Format::Compact {
        out.push(b'~');
    }
    encoder.value(value, &mut out)?;
    Ok(Text::from_wtf8(out))
}

struct Encoder<'a, C> {
    format: Format,
    bounds: Bounds,
    refer: &'a mut dyn FnMut(RefKind, &C) -> Option<String>,
}

impl<C: Reference> Encoder<'_, C> {
    fn value(&mut self, value: &Value<C>, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        match value {
            Value::Null => out.push(b'v'),
            Value::Undefined => out.push(b'z'),
            Value::Bool(true) => out.extend(b"btrue"),
            Value::Bool(false) => out.extend(b"bfalse"),
            Value::Number(number) => encode_number(*number, out),
            Value::BigInt(number) => encode_bigint(number, out),
            Value::String(text) => self.text(b's', text, out),
            Value::Symbol(symbol) => self.text(b'y', symbol.name(), out),
            Value::Bytes(bytes) => {
                out.push(b'a');
                push_count(bytes.len(), b'~', out);
                out.push(b':');
                for byte in bytes.iter() {
                    out.extend([byte >> 4, byte & 0xF].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
                }
            }
            Value::Array(array) => self.array(array.iter(), out)?,
            Value::Record(record) => {
                out.push(b'(');
                let names = record.iter().rev().map(|(name, _)| Value::String(name.clone()));
                let values = record.iter().rev().map(|(_, value)| value.clone());
                // Two levels more than the record itself, but of our own making.
                self.pair(
                    |encoder, out| encoder.array(names.collect::<Vec<_>>().iter(), out),
                    |encoder, out| encoder.array(values.collect::<Vec<_>>().iter(), out),
                    out,
                )?;
            }
            Value::Tagged(tagged) => {
                out.push(b':');
                self.pair(
                    |encoder, out| encoder.value(&Value::String(tagged.tag().clone()), out),
                    |encoder, out| encoder.value(tagged.payload(), out),
                    out,
                )?;
            }
            Value::Error(_) => return Err(Problem::Unencodable("error").into()),
            Value::Remotable(remote) => self.reference(RefKind::Remotable, &remote.reference, out)?,
            Value::Promise(remote) => self.reference(RefKind::Promise, &remote.reference, out)?,
        }
        if out.len() > self.bounds.bytes {
            return Err(Problem::TooLarge { bytes: out.len(), limit: self.bounds.bytes }.into());
        }
        Ok(())
    }

    fn text(&self, prefix: u8, text: &Text, out: &mut Vec<u8>) {
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

    fn array<'v>(
        &mut self,
        elements: impl Iterator<Item = &'v Value<C>>,
        out: &mut Vec<u8>,
    ) -> Result<(), DecodeError>
    where
        C: 'v,
    {
        out.push(self.open());
        for (index, element) in elements.enumerate() {
            self.element(|encoder, out| encoder.value(element, out), out)
                .map_err(|error| error.within(Segment::Index(index)))?;
        }
        Ok(())
    }

    fn open(&self) -> u8 {
        if self.format == Format::Legacy { b'[' } else { b'^' }
    }

    fn pair(
        &mut self,
        first: impl FnOnce(&mut Self, &mut Vec<u8>) -> Result<(), DecodeError>,
        second: impl FnOnce(&mut Self, &mut Vec<u8>) -> Result<(), DecodeError>,
        out: &mut Vec<u8>,
    ) -> Result<(), DecodeError> {
        out.push(self.open());
        self.element(first, out)?;
        self.element(second, out)
    }

    fn element(
        &mut self,
        write: impl FnOnce(&mut Self, &mut Vec<u8>) -> Result<(), DecodeError>,
        out: &mut Vec<u8>,
    ) -> Result<(), DecodeError> {
        if self.format == Format::Compact {
            write(self, out)?;
            out.push(b' ');
            return Ok(());
        }
        let start = out.len();
        write(self, out)?;
        let escapes = out.iter().skip(start).filter(|byte| **byte <= 1).count();
        if out.len() + escapes > self.bounds.bytes {
            return Err(Problem::TooLarge { bytes: out.len() + escapes, limit: self.bounds.bytes }.into());
        }
        if escapes > 0 {
            let plain = out.split_off(start);
            for byte in plain {
                if byte <= 1 {
                    out.push(1);
                }
                out.push(byte);
            }
        }
        out.push(0);
        Ok(())
    }

    fn reference(&mut self, kind: RefKind, reference: &C, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        let name = if kind == RefKind::Remotable { "remotable" } else { "promise" };
        let encoded = (self.refer)(kind, reference).filter(|text| {
            let embeddable =
                self.format == Format::Legacy || text.bytes().all(|byte| byte > b' ' && byte != b'^');
            embeddable && text.as_bytes().first() == Some(&kind.prefix())
        });
        out.extend_from_slice(encoded.ok_or(Problem::Unencodable(name))?.as_bytes());
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
    for place in (0..16).rev() {
        out.push(b"0123456789abcdef"[(bits >> (4 * place) & 0xF) as usize]);
    }
}

/// A count with a unary prefix for the number of its digits.
fn push_count(count: usize, unary: u8, out: &mut Vec<u8>) {
    let digits = count.to_string();
    out.extend(std::iter::repeat_n(unary, digits.len() - 1));
    out.extend(digits.as_bytes());
}

/// The ten's complement of decimal digits, in as many digits.
fn complement(digits: &mut [u8]) {
    let mut borrow = true;
    for digit in digits.iter_mut().rev() {
        let value = *digit - b'0';
        let nines = 9 - value + u8::from(borrow);
        borrow = nines == 10;
        *digit = b'0' + nines % 10;
    }
}

fn encode_bigint(number: &BigInt, out: &mut Vec<u8>) {
    let mut digits = number.magnitude().to_string().into_bytes();
    if number.sign() != Sign::Minus {
        out.push(b'p');
        push_count(digits.len(), b'~', out);
    } else {
        let mut count = digits.len().to_string().into_bytes();
        out.push(b'n');
        out.extend(std::iter::repeat_n(b'#', count.len() - 1));
        complement(&mut count);
        out.extend(count);
        complement(&mut digits);
    }
    out.push(b':');
    out.extend(digits);
}

/// Decodes either encoding of a value without references.
pub fn decode<C: Reference>(text: &Text) -> Result<Value<C>, DecodeError> {
    decode_with(text, Bounds::default(), &mut |_, _| None)
}

/// Decodes either encoding; the caller reads references.
pub fn decode_with<C: Reference>(
    text: &Text,
    bounds: Bounds,
    refer: &mut dyn FnMut(RefKind, &str) -> Option<C>,
) -> Result<Value<C>, DecodeError> {
    let bytes = text.as_bytes();
    if bytes.len() > bounds.bytes {
        return Err(Problem::TooLarge { bytes: bytes.len(), limit: bounds.bytes }.into());
    }
    let mut decoder = Decoder { refer };
    match bytes.strip_prefix(b"~") {
        None => decoder.legacy(bytes, 0),
        Some(rest) => {
            let mut at = 0;
            let value = decoder.compact(rest, &mut at, 0)?;
            if at < rest.len() { Err(syntax(at + 1, "the end")) } else { Ok(value) }
        }
    }
}

fn syntax(offset: usize, expected: &'static str) -> DecodeError {
    Problem::Syntax { offset, expected }.into()
}

struct Decoder<'a, C> {
    refer: &'a mut dyn FnMut(RefKind, &str) -> Option<C>,
}

/// Levels of arrays may exceed those of the value: records and tags are arrays too.
const MAX_LEVELS: u32 = 2 * MAX_DEPTH + 2;

impl<C: Reference> Decoder<'_, C> {
    fn legacy(&mut self, bytes: &[u8], depth: u32) -> Result<Value<C>, DecodeError> {
        match bytes {
            [b'[', rest @ ..] => Ok(Value::try_array(self.legacy_elements(rest, depth)?)?),
            [kind @ (b'(' | b':'), b'[', rest @ ..] => {
                let parts = self.legacy_elements(rest, depth)?;
                assemble(*kind, parts)
            }
            _ => self.atom(bytes, false),
        }
    }

    fn legacy_elements(&mut self, bytes: &[u8], depth: u32) -> Result<Vec<Value<C>>, DecodeError> {
        if depth > MAX_LEVELS {
            return Err(Problem::TooDeep.into());
        }
        let (mut elements, mut element) = (Vec::new(), Vec::new());
        let mut bytes = bytes.iter();
        while let Some(byte) = bytes.next() {
            match byte {
                0 => {
                    let value = self.legacy(&element, depth + 1);
                    elements.push(value.map_err(|error| error.within(Segment::Index(elements.len())))?);
                    element.clear();
                }
                1 => match bytes.next() {
                    Some(escaped @ (0 | 1)) => element.push(*escaped),
                    _ => return Err(syntax(0, "an escaped separator")),
                },
                plain => element.push(*plain),
            }
        }
        if element.is_empty() { Ok(elements) } else { Err(syntax(0, "the end of an element")) }
    }

    fn compact(&mut self, bytes: &[u8], at: &mut usize, depth: u32) -> Result<Value<C>, DecodeError> {
        let kind = bytes.get(*at).copied();
        if matches!(kind, Some(b'(' | b':')) {
            *at += 1;
        }
        if bytes.get(*at) != Some(&b'^') {
            if matches!(kind, Some(b'(' | b':')) {
                return Err(syntax(*at, "`^`"));
            }
            let rest = bytes.get(*at..).unwrap_or_default();
            let length = rest.iter().position(|byte| matches!(byte, b' ' | b'^')).unwrap_or(rest.len());
            *at += length;
            return self.atom(rest.get(..length).unwrap_or_default(), true);
        }
        if depth > MAX_LEVELS {
            return Err(Problem::TooDeep.into());
        }
        *at += 1;
        let mut elements = Vec::new();
        while !matches!(bytes.get(*at), None | Some(b' ')) {
            let element = self.compact(bytes, at, depth + 1);
            elements.push(element.map_err(|error| error.within(Segment::Index(elements.len())))?);
            if bytes.get(*at) != Some(&b' ') {
                return Err(syntax(*at, "a space after an element"));
            }
            *at += 1;
        }
        match kind {
            Some(kind @ (b'(' | b':')) => assemble(kind, elements),
            _ => Ok(Value::try_array(elements)?),
        }
    }

    fn atom(&mut self, bytes: &[u8], compact: bool) -> Result<Value<C>, DecodeError> {
        let Some((kind, rest)) = bytes.split_first() else {
            return Err(syntax(0, "an encoded value"));
        };
        let text = || if compact { unescape(rest) } else { Ok(rest.to_vec()) };
        Ok(match (kind, rest) {
            (b'v', []) => Value::Null,
            (b'z', []) => Value::Undefined,
            (b'b', b"true") => Value::Bool(true),
            (b'b', b"false") => Value::Bool(false),
            (b'f', digits) => Value::Number(decode_number(digits)?),
            (b'p' | b'n', _) => Value::bigint(decode_bigint(*kind, rest)?),
            (b's', _) => Value::String(Text::from_wtf8(text()?)),
            (b'y', _) => Value::symbol(Text::from_wtf8(text()?))?,
            (b'a', _) => Value::bytes(decode_bytes(rest)?),
            (b'r' | b'?', _) => {
                let encoded = std::str::from_utf8(bytes).map_err(|_| syntax(0, "a reference"))?;
                let kind = if *kind == b'r' { RefKind::Remotable } else { RefKind::Promise };
                let unknown = || Problem::Slot(Text::from(encoded));
                let reference = (self.refer)(kind, encoded).ok_or_else(unknown)?;
                match kind {
                    RefKind::Remotable => Value::remotable(reference),
                    RefKind::Promise => Value::promise(reference),
                }
            }
            _ => return Err(syntax(0, "an encoded value")),
        })
    }
}

/// Makes a record or a tagged value of the pair as which it is encoded.
fn assemble<C: Reference>(kind: u8, parts: Vec<Value<C>>) -> Result<Value<C>, DecodeError> {
    let Ok([first, second]) = <[Value<C>; 2]>::try_from(parts) else {
        return Err(Problem::Malformed("pair").into());
    };
    match (kind, first, second) {
        (b':', Value::String(tag), payload) => Ok(Value::try_tagged(tag, payload)?),
        (b'(', Value::Array(names), Value::Array(values)) if names.len() == values.len() => {
            let field = |(name, value): (&Value<C>, &Value<C>)| match name {
                Value::String(name) => Ok((name.clone(), value.clone())),
                _ => Err(Problem::Malformed("record")),
            };
            Ok(Value::try_record(names.iter().zip(values.iter()).map(field).collect::<Result<_, _>>()?)?)
        }
        _ => Err(Problem::Malformed("record or tagged value").into()),
    }
}

fn unescape(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut bytes = bytes.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'!' => match bytes.next() {
                Some(b'_') => out.push(b' '),
                Some(b'|') => out.push(b'!'),
                Some(escaped @ b'!'..=b'@') => out.push(escaped - 0x21),
                _ => return Err(syntax(0, "a string escape")),
            },
            b'_' => match bytes.next() {
                Some(b'@') => out.push(b'^'),
                Some(b'_') => out.push(b'_'),
                _ => return Err(syntax(0, "a string escape")),
            },
            0..=b' ' => return Err(syntax(0, "a string escape")),
            plain => out.push(*plain),
        }
    }
    Ok(out)
}

fn decode_number(digits: &[u8]) -> Result<f64, DecodeError> {
    let lower = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let hex = std::str::from_utf8(digits).ok().filter(|_| digits.len() == 16 && digits.iter().all(lower));
    let bits = hex.and_then(|hex| u64::from_str_radix(hex, 16).ok()).ok_or_else(|| syntax(1, "16 digits"))?;
    let bits = if bits >> 63 == 0 { !bits } else { bits ^ 1 << 63 };
    let number = f64::from_bits(bits);
    // Only one spelling of zero and of NaN is ever written.
    if (number == 0.0 && bits != 0) || (number.is_nan() && bits != 0x7FF8_0000_0000_0000) {
        return Err(syntax(1, "a canonical number"));
    }
    Ok(number)
}

/// Splits a count with its unary prefix from what follows the colon.
fn split_count(bytes: &[u8], unary: u8) -> Result<(Vec<u8>, &[u8]), DecodeError> {
    let refuse = || syntax(1, "a count of digits");
    let prefix = bytes.iter().take_while(|byte| **byte == unary).count();
    let rest = bytes.get(prefix..).unwrap_or_default();
    let (count, tail) = rest.split_at_checked(prefix + 1).ok_or_else(refuse)?;
    match tail.strip_prefix(b":") {
        Some(tail) if count.iter().all(u8::is_ascii_digit) => Ok((count.to_vec(), tail)),
        _ => Err(refuse()),
    }
}

fn decode_bigint(kind: u8, bytes: &[u8]) -> Result<BigInt, DecodeError> {
    let negative = kind == b'n';
    let (mut count, digits) = split_count(bytes, if negative { b'#' } else { b'~' })?;
    let mut digits = digits.to_vec();
    if negative {
        complement(&mut count);
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(syntax(1, "digits"));
        }
        complement(&mut digits);
    }
    let canonical = count == digits.len().to_string().into_bytes()
        && (digits.first() != Some(&b'0') || (digits == b"0" && !negative));
    let text = String::from_utf8(digits).ok().filter(|_| canonical).ok_or_else(|| syntax(1, "digits"))?;
    let number = read_bigint(&Text::from(text))?;
    Ok(if negative { -number } else { number })
}

fn decode_bytes(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let (count, hex) = split_count(bytes, b'~')?;
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, odd) = hex.as_chunks::<2>();
    let out: Option<Vec<u8>> =
        pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    let fits = |out: &Vec<u8>| odd.is_empty() && out.len().to_string().as_bytes() == count;
    out.filter(fits).ok_or_else(|| syntax(1, "hexadecimal digits"))
}
