//! Encodings that keep rank order: comparing two encodings by UTF-16 units compares the values by rank.
//!
//! `legacyOrdered` doubles its separators at every level of nesting, so its length is bounded;
//! `compactOrdered` (which begins with `~`) grows linearly. Bytes, which upstream cannot encode, are `a`, their
//! count as in big integers, and hexadecimal digits.

use crate::codec::error::{DecodeError, Problem};
use crate::codec::json::Bounds;
use crate::text::Text;
use crate::value::{Reference, Value};

mod decode;
mod encode;

/// One of the two encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Upstream's default encoding, which needs escapes only inside of arrays.
    Legacy,
    /// The encoding that begins with `~`, with escapes inside of strings.
    Compact,
}

/// The kind of an encoded reference, as its first character tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefKind {
    /// A remotable: `r…`.
    Remotable,
    /// A promise: `?…`.
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

/// Encodes a value. The function `refer` encodes references, beginning with the character of their kind.
pub fn encode_with<C: Reference>(
    value: &Value<C>,
    format: Format,
    bounds: Bounds,
    refer: &mut dyn FnMut(RefKind, &C) -> Option<String>,
) -> Result<Text, DecodeError> {
    encode::encode(value, format, bounds, refer).map_err(|fault| *fault)
}

/// Decodes either encoding of a value without references.
pub fn decode<C: Reference>(text: &Text) -> Result<Value<C>, DecodeError> {
    decode_with(text, Bounds::default(), &mut |_, _| None)
}

/// Decodes either encoding. The function `refer` reads references.
pub fn decode_with<C: Reference>(
    text: &Text,
    bounds: Bounds,
    refer: &mut dyn FnMut(RefKind, &str) -> Option<C>,
) -> Result<Value<C>, DecodeError> {
    let bytes = text.as_bytes();
    if bytes.len() > bounds.bytes {
        return Err(Problem::TooLarge { bytes: bytes.len(), limit: bounds.bytes }.into());
    }
    decode::decode(bytes, refer).map_err(|fault| *fault)
}

/// Replaces decimal digits with their ten's complement, in as many digits.
fn complement(digits: &mut [u8]) {
    let mut borrow = true;
    for digit in digits.iter_mut().rev() {
        let value = *digit - b'0';
        let nines = 9 - value + u8::from(borrow);
        borrow = nines == 10;
        *digit = b'0' + nines % 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_error_names_the_path_of_its_place() {
        for (text, expected) in [
            ("[s\0[s\x01\0q\x01\0\0", "at [1][1]: expected an encoded value at byte 0"),
            ("[[s\x01\0s\0", "at [0]: expected the end of an element at byte 0"),
            ("[s\0s\x01\x02", "expected an escaped separator at byte 0"),
            ("[s\0([s\x01\0s\x01\0s\x01\0\0", "at [1]: malformed pair"),
            ("~^sa ^q  ", "at [1][0]: expected an encoded value at byte 0"),
            ("~^^s", "at [0]: expected a space after an element at byte 3"),
            ("~^s s", "expected a space after an element at byte 4"),
        ] {
            let error = decode::<crate::NoRef>(&Text::from(text)).unwrap_err();
            assert_eq!(error.to_string(), expected, "{text:?}");
        }
    }
}
