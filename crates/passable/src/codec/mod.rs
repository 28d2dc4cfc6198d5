//! The codecs, which turn values into text and text into values.

pub mod capdata;
pub(crate) mod error;
pub(crate) mod exact;
pub(crate) mod fields;
pub(crate) mod json;
#[cfg(feature = "ordered")]
pub mod ordered;
pub(crate) mod plain;
pub mod plist;
mod scan;
pub mod smallcaps;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use num_bigint::BigInt;
use serde::{Deserialize, Serialize};

use crate::codec::error::Problem;
use crate::text::Text;
use crate::value::{Reference, Value};

/// The maximum number of decimal digits of a big integer that a decoder accepts. The time of a conversion is
/// quadratic in the number of digits.
pub const MAX_DIGITS: usize = 20_000;

/// An encoded value: a body, and the references that it mentions by number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CapData<C> {
    /// The encoding. In smallcaps, it begins with `#`.
    pub body: String,
    /// The references, in order of first occurrence.
    pub slots: Vec<C>,
}

/// The numbers of references, in order of first occurrence.
pub(crate) struct Slots<'a, C> {
    found: Vec<&'a C>,
    numbers: std::collections::HashMap<&'a C, usize>,
}

impl<'a, C: Reference> Slots<'a, C> {
    pub(crate) fn new() -> Self {
        Slots { found: Vec::new(), numbers: std::collections::HashMap::new() }
    }

    /// Returns the number of a reference, and whether this is its first occurrence.
    pub(crate) fn number(&mut self, reference: &'a C) -> (usize, bool) {
        let next = self.found.len();
        let number = *self.numbers.entry(reference).or_insert(next);
        if number == next {
            self.found.push(reference);
        }
        (number, number == next)
    }

    pub(crate) fn into_vec(self) -> Vec<C> {
        self.found.into_iter().cloned().collect()
    }
}

/// Reads decimal digits with an optional sign.
pub(crate) fn read_bigint(digits: &Text) -> Result<BigInt, Problem> {
    let bytes = digits.as_bytes();
    let (negative, unsigned) = match bytes {
        [b'-', unsigned @ ..] => (true, unsigned),
        [b'+', unsigned @ ..] => (false, unsigned),
        unsigned => (false, unsigned),
    };
    let number = match unsigned.len() {
        // Nearly all big integers are small, and machine integers are read several times faster.
        1..19 => small_number(unsigned).map(|number| BigInt::from(if negative { -number } else { number })),
        19..=MAX_DIGITS if unsigned.iter().all(u8::is_ascii_digit) => {
            digits.as_str().and_then(|digits| digits.parse().ok())
        }
        _ => None,
    };
    number.ok_or_else(|| Problem::BigInt(if unsigned.len() > 100 { "…".into() } else { digits.clone() }))
}

/// Returns at most 18 decimal digits as a number.
fn small_number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, digit| match digit {
        b'0'..=b'9' => Some(10 * number + i64::from(digit - b'0')),
        _ => None,
    })
}

/// Writes decimal digits, with a sign if negative.
pub(crate) fn write_bigint(out: &mut String, number: &BigInt) {
    match i64::try_from(number) {
        // Nearly all big integers are small, and machine integers are written several times faster.
        Ok(small) => json::write_integer(out, small),
        Err(_) => out.push_str(&number.to_string()),
    }
}

/// Reads the number of a slot, and returns the reference in the slot. The number must have no leading zeros.
pub(crate) fn read_slot<'a, C>(digits: &str, slots: &'a [C]) -> Result<&'a C, Problem> {
    let canonical = digits.len() <= 9 && !(digits.len() > 1 && digits.starts_with('0'));
    let number = digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse::<usize>().ok());
    number
        .flatten()
        .filter(|_| canonical)
        .and_then(|number| slots.get(number))
        .ok_or_else(|| Problem::Slot(Text::from(digits)))
}

/// Returns bytes in padded base64.
pub fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Returns the bytes of padded base64. Refuses every spelling other than that of [`to_base64`].
///
/// # Errors
///
/// [`Problem::Base64`].
pub fn from_base64(text: &str) -> Result<Vec<u8>, Problem> {
    // The standard engine requires the padding, and refuses set bits in the part that is filled up.
    STANDARD.decode(text).map_err(|_| Problem::Base64)
}

impl<C: Reference + Serialize> Serialize for Value<C> {
    /// Serializes the value as smallcaps with slots, so that values can live in durable rows.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        smallcaps::encode(self).serialize(serializer)
    }
}

impl<'de, C: Reference + Deserialize<'de>> Deserialize<'de> for Value<C> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let data = CapData::<C>::deserialize(deserializer)?;
        smallcaps::decode(&data).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_round_trips_and_refuses_other_spellings() {
        for bytes in [&b""[..], b"f", b"fo", b"foo", b"foob", &[0xFF; 7]] {
            assert_eq!(from_base64(&to_base64(bytes)).unwrap(), bytes);
        }
        assert_eq!(to_base64(b"foob"), "Zm9vYg==");
        for text in
            ["Zg", "Zg=", "Zh==", "Zm9=", "Z===", "Zg=a", "====", "Zg==\n", "-_==", "Z\u{e9}=", "=Zg="]
        {
            assert!(from_base64(text).is_err(), "{text}");
        }
    }
}
