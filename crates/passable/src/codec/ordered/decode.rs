//! The decoder of both encodings.

use std::borrow::Cow;

use num_bigint::BigInt;

use super::{RefKind, complement};
use crate::codec::error::{Fault, Problem, Segment, within};
use crate::codec::read_bigint;
use crate::codec::scan::before_separator;
use crate::text::Text;
use crate::value::{MAX_DEPTH, Reference, Value};

pub(super) fn decode<C: Reference>(
    bytes: &[u8],
    refer: &mut dyn FnMut(RefKind, &str) -> Option<C>,
) -> Result<Value<C>, Fault> {
    let mut decoder = Decoder { refer, elements: Vec::new(), spare: Vec::new(), unescaped: Vec::new() };
    match bytes.strip_prefix(b"~") {
        None => decoder.legacy(bytes, 0),
        Some(rest) => {
            let mut at = 0;
            let value = decoder.compact(rest, &mut at, 0)?;
            if at < rest.len() { Err(syntax(at + 1, "the end")) } else { Ok(value) }
        }
    }
}

#[cold]
fn syntax(offset: usize, expected: &'static str) -> Fault {
    Problem::Syntax { offset, expected }.into()
}

struct Decoder<'a, C> {
    refer: &'a mut dyn FnMut(RefKind, &str) -> Option<C>,
    /// The elements of all open arrays, those of inner ones last. Each array is made at its end, in its final size.
    elements: Vec<Value<C>>,
    /// The buffers for elements without their escapes. One is in use at each level.
    spare: Vec<Vec<u8>>,
    /// The buffer for a string without its escapes.
    unescaped: Vec<u8>,
}

/// The maximum number of levels of arrays. It is higher than that of values, because records and tagged values are
/// encoded as arrays too.
const MAX_LEVELS: u32 = 2 * MAX_DEPTH + 2;

impl<C: Reference> Decoder<'_, C> {
    fn legacy(&mut self, bytes: &[u8], depth: u32) -> Result<Value<C>, Fault> {
        let (kind, elements) = match bytes {
            [b'[', rest @ ..] => (b'[', rest),
            [kind @ (b'(' | b':'), b'[', rest @ ..] => (*kind, rest),
            _ => return self.atom(bytes, false),
        };
        if depth > MAX_LEVELS {
            return Err(Problem::TooDeep.into());
        }
        let first = self.elements.len();
        let mut element = self.spare.pop().unwrap_or_default();
        self.legacy_elements(elements, depth, first, &mut element)?;
        self.spare.push(element);
        self.close(kind, first)
    }

    fn legacy_elements(
        &mut self,
        mut bytes: &[u8],
        depth: u32,
        first: usize,
        element: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        element.clear();
        while let Some((before, rest)) = bytes.split_at_checked(before_separator(bytes)) {
            bytes = match rest {
                [0, rest @ ..] => {
                    // Most elements have no escapes and are read where they stand.
                    let plain = if element.is_empty() {
                        before
                    } else {
                        element.extend_from_slice(before);
                        &*element
                    };
                    let index = Segment::Index(self.elements.len() - first);
                    let value = self.legacy(plain, depth + 1).map_err(|fault| within(fault, index))?;
                    self.elements.push(value);
                    element.clear();
                    rest
                }
                [1, 0 | 1, ..] => {
                    element.extend_from_slice(before);
                    // Escapes follow one another, because each level doubles them.
                    let mut rest = rest;
                    while let [1, escaped @ (0 | 1), after @ ..] = rest {
                        element.push(*escaped);
                        rest = after;
                    }
                    rest
                }
                [1, ..] => return Err(syntax(0, "an escaped separator")),
                _ if element.is_empty() && before.is_empty() => return Ok(()),
                _ => return Err(syntax(0, "the end of an element")),
            };
        }
        Ok(())
    }

    fn compact(&mut self, bytes: &[u8], at: &mut usize, depth: u32) -> Result<Value<C>, Fault> {
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
        let first = self.elements.len();
        while !matches!(bytes.get(*at), None | Some(b' ')) {
            let index = Segment::Index(self.elements.len() - first);
            let element = self.compact(bytes, at, depth + 1).map_err(|fault| within(fault, index))?;
            self.elements.push(element);
            if bytes.get(*at) != Some(&b' ') {
                return Err(syntax(*at, "a space after an element"));
            }
            *at += 1;
        }
        self.close(kind.unwrap_or_default(), first)
    }

    /// Returns the array of the elements since `first`. Records and tagged values are encoded as pairs, from which
    /// they are made here.
    fn close(&mut self, kind: u8, first: usize) -> Result<Value<C>, Fault> {
        let elements = self.elements.drain(first..);
        if kind != b'(' && kind != b':' {
            return Ok(Value::array_of(elements)?);
        }
        match (kind, elements.as_slice()) {
            (b':', [Value::String(tag), payload]) => Ok(Value::try_tagged(tag, payload.clone())?),
            (b'(', [Value::Array(names), Value::Array(values)]) if names.len() == values.len() => {
                let field = |(name, value): (&Value<C>, &Value<C>)| match name {
                    Value::String(name) => Ok((name.clone(), value.clone())),
                    _ => Err(Problem::Malformed("record")),
                };
                // Names are encoded in descending order.
                let fields = names.iter().zip(values.iter()).rev().map(field);
                Ok(Value::try_record(fields.collect::<Result<_, _>>()?)?)
            }
            (_, [_, _]) => Err(Problem::Malformed("record or tagged value").into()),
            _ => Err(Problem::Malformed("pair").into()),
        }
    }

    fn atom(&mut self, bytes: &[u8], compact: bool) -> Result<Value<C>, Fault> {
        let Some((kind, rest)) = bytes.split_first() else {
            return Err(syntax(0, "an encoded value"));
        };
        Ok(match (kind, rest) {
            (b'v', []) => Value::Null,
            (b'z', []) => Value::Undefined,
            (b'b', b"true") => Value::Bool(true),
            (b'b', b"false") => Value::Bool(false),
            (b'f', digits) => Value::Number(decode_number(digits)?),
            (b'p' | b'n', _) => Value::bigint(decode_bigint(*kind, rest)?),
            (b's', _) => Value::String(self.text(rest, compact)?),
            (b'y', _) => Value::symbol(self.text(rest, compact)?)?,
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
    fn text(&mut self, bytes: &[u8], escaped: bool) -> Result<Text, Fault> {
        if !escaped {
            return Ok(Text::from_wtf8(bytes));
        }
        self.unescaped.clear();
        unescape(bytes, &mut self.unescaped)?;
        Ok(Text::from_wtf8(&self.unescaped))
    }
}

fn unescape(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
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
    Ok(())
}

/// Returns the value of a hexadecimal digit. Encodings contain only lower-case digits.
fn hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

fn decode_number(digits: &[u8]) -> Result<f64, Fault> {
    let push = |bits: u64, byte: &u8| Some(bits << 4 | u64::from(hex(*byte)?));
    let bits = digits.iter().try_fold(0, push).filter(|_| digits.len() == 16);
    let bits = bits.ok_or_else(|| syntax(1, "16 digits"))?;
    let bits = if bits >> 63 == 0 { !bits } else { bits ^ 1 << 63 };
    let number = f64::from_bits(bits);
    // Only one spelling of zero and of NaN is ever written.
    if (number == 0.0 && bits != 0) || (number.is_nan() && bits != 0x7FF8_0000_0000_0000) {
        return Err(syntax(1, "a canonical number"));
    }
    Ok(number)
}

/// Splits a count, which has a unary prefix, from the text after the colon.
fn split_count(bytes: &[u8], unary: u8) -> Result<(&[u8], &[u8]), Fault> {
    let refuse = || syntax(1, "a count of digits");
    let prefix = bytes.iter().take_while(|byte| **byte == unary).count();
    let rest = bytes.get(prefix..).unwrap_or_default();
    let (count, tail) = rest.split_at_checked(prefix + 1).ok_or_else(refuse)?;
    match tail.strip_prefix(b":") {
        Some(tail) if count.iter().all(u8::is_ascii_digit) => Ok((count, tail)),
        _ => Err(refuse()),
    }
}

/// Returns whether the digits are the canonical form of a count.
fn is_count(digits: &[u8], count: usize) -> bool {
    itoa::Buffer::new().format(count).as_bytes() == digits
}

fn decode_bigint(kind: u8, bytes: &[u8]) -> Result<BigInt, Fault> {
    let refuse = || syntax(1, "digits");
    let negative = kind == b'n';
    let (count, digits) = split_count(bytes, if negative { b'#' } else { b'~' })?;
    let (mut count, mut digits) = (Cow::Borrowed(count), Cow::Borrowed(digits));
    if negative {
        complement(count.to_mut());
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(refuse());
        }
        complement(digits.to_mut());
    }
    let canonical =
        is_count(&count, digits.len()) && (digits.first() != Some(&b'0') || (*digits == *b"0" && !negative));
    let text = std::str::from_utf8(&digits).ok().filter(|_| canonical).ok_or_else(refuse)?;
    let number = read_bigint(&Text::from(text))?;
    Ok(if negative { -number } else { number })
}

fn decode_bytes(bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    let (count, digits) = split_count(bytes, b'~')?;
    let (pairs, odd) = digits.as_chunks::<2>();
    let out: Option<Vec<u8>> = pairs.iter().map(|[high, low]| Some(hex(*high)? << 4 | hex(*low)?)).collect();
    let fits = |out: &Vec<u8>| odd.is_empty() && is_count(count, out.len());
    out.filter(fits).ok_or_else(|| syntax(1, "hexadecimal digits"))
}
