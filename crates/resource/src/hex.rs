//! Identifiers as lower-case hexadecimal digits.

/// The text of an identifier. Rows consist mostly of identifiers, so the text is written in one piece and without
/// allocation.
pub struct Digits<const N: usize>(pub [u8; N]);

impl<const N: usize> Digits<N> {
    /// Returns the digits as text.
    pub fn as_str(&self) -> &str {
        // Digits are always valid UTF-8.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Writes bytes as lower-case hexadecimal digits to `out`.
pub fn write_hex(out: &mut [u8], bytes: &[u8; 32]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in out.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 0xf)];
    }
}

/// Returns 32 bytes as lower-case hexadecimal digits.
pub fn to_hex(bytes: &[u8; 32]) -> Digits<64> {
    let mut out = [0; 64];
    write_hex(&mut out, bytes);
    Digits(out)
}

/// The value of each byte as a lower-case hexadecimal digit. It is above 15 if the byte is no such digit.
const VALUES: [u8; 256] = {
    let mut values = [0xff; 256];
    let mut n = 0;
    while n < 16 {
        values[b"0123456789abcdef"[n] as usize] = n as u8;
        n += 1;
    }
    values
};

/// Returns the 32 bytes of 64 lower-case hexadecimal digits, or `None` if the text is not of this form.
pub fn from_hex(digits: &[u8]) -> Option<[u8; 32]> {
    if digits.len() != 64 {
        return None;
    }
    let (mut out, mut any) = ([0; 32], 0);
    for (slot, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| VALUES[usize::from(digit)]);
        any |= high | low;
        *slot = high << 4 | (low & 0xf);
    }
    // One check at the end replaces a check of each digit.
    (any < 16).then_some(out)
}

/// Implements serde for types whose text form is given by `digits` and `FromStr`.
#[macro_export]
macro_rules! serde_as_text {
    ($($name:ty),*) => {$(
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.digits().as_str())
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                /// A visitor that reads the text in place, without a copy for each identifier of a row.
                struct Digits;
                impl ::serde::de::Visitor<'_> for Digits {
                    type Value = $name;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str("an identifier in hexadecimal digits")
                    }
                    fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                from.deserialize_str(Digits)
            }
        }
    )*};
}

pub(crate) use serde_as_text;
