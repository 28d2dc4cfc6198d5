//! Text as in JavaScript: a sequence of UTF-16 units, almost always well formed.
//!
//! Endo's strings may hold lone surrogates, and its orders compare UTF-16 units. Well-formed text is kept as UTF-8.
//! The rare ill-formed text is kept as WTF-8 (UTF-8 that may also encode lone surrogates).
//!
//! Names, tags and words are short and numerous, so text of up to 15 bytes is kept in place, without an allocation.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Immutable text, cheap to clone, that can hold lone surrogates. Ordered by UTF-16 units.
#[derive(Clone)]
pub struct Text(Repr);

// Invariant: equal texts have equal representations.
#[derive(Clone)]
enum Repr {
    /// Well-formed text of at most 15 bytes.
    Short(Short),
    /// Well-formed text of more than 15 bytes.
    Long(Arc<str>),
    /// Text of any length with at least one lone surrogate.
    Wtf8(Arc<[u8]>),
}

/// The bytes of a short text, then zeros, and the length in the last byte. The alignment lets the compiler move the
/// array in words. A move in bytes takes longer than the making of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(align(8))]
struct Short([u8; 16]);

impl Short {
    fn new(text: &str) -> Option<Short> {
        let mut bytes = [0; 16];
        let [front @ .., len] = &mut bytes;
        front.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        *len = text.len() as u8;
        Some(Short(bytes))
    }

    /// Returns the first `len` bytes of a longer text, or `None` if `len` or the text is out of range. The bytes are
    /// cut out of a whole word, because a copy of a length that the compiler does not know is far slower.
    fn front(text: &str, len: usize) -> Option<Short> {
        let words = u128::from_le_bytes(*text.as_bytes().first_chunk()?);
        let bits = 8 * len.min(16) as u32;
        let kept = words & !u128::MAX.checked_shl(bits)?;
        Some(Short((kept | (len as u128) << 120).to_le_bytes()))
    }

    fn as_bytes(&self) -> &[u8] {
        let [front @ .., len] = &self.0;
        front.get(..usize::from(*len)).unwrap_or_default()
    }
}

impl Text {
    /// Returns the text as a string slice, or `None` if the text holds a lone surrogate.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Short(text) => std::str::from_utf8(text.as_bytes()).ok(),
            Repr::Long(text) => Some(text),
            Repr::Wtf8(_) => None,
        }
    }

    /// Returns the text with every lone surrogate replaced by U+FFFD. For display; not for identity.
    pub fn to_str_lossy(&self) -> Cow<'_, str> {
        let readable = || char::decode_utf16(self.units()).map(|unit| unit.unwrap_or('\u{FFFD}')).collect();
        self.as_str().map_or_else(|| Cow::Owned(readable()), Cow::Borrowed)
    }

    /// Returns the UTF-8 bytes, or WTF-8 bytes if the text holds a lone surrogate.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Short(text) => text.as_bytes(),
            Repr::Long(text) => text.as_bytes(),
            Repr::Wtf8(bytes) => bytes,
        }
    }

    /// Returns whether the text holds no lone surrogates.
    pub fn is_well_formed(&self) -> bool {
        !matches!(self.0, Repr::Wtf8(_))
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// Returns the length in UTF-16 units, in which Endo's length limits count.
    pub fn utf16_len(&self) -> usize {
        // Every unit has exactly one lead byte, and a four-byte sequence stands for two units.
        self.as_bytes()
            .iter()
            .map(|byte| usize::from((byte & 0xC0) != 0x80) + usize::from(*byte >= 0xF0))
            .sum()
    }

    /// Returns the UTF-16 units of the text, in order.
    pub fn units(&self) -> impl Iterator<Item = u16> + '_ {
        Units { bytes: self.as_bytes(), at: 0, low: None }
    }

    /// Returns the text of WTF-8 bytes that were cut out of other texts, or joined from them, at ASCII characters.
    pub(crate) fn from_wtf8(bytes: &[u8]) -> Text {
        match std::str::from_utf8(bytes) {
            Ok(text) => Text::from(text),
            Err(_) => Text(Repr::Wtf8(bytes.into())),
        }
    }

    /// Returns the first `len` bytes of a text, which must end at a character.
    #[inline]
    pub(crate) fn front(text: &str, len: usize) -> Text {
        match Short::front(text, len) {
            Some(short) => Text(Repr::Short(short)),
            None => Text::from(text.get(..len).unwrap_or_default()),
        }
    }

    /// Returns the text of any sequence of UTF-16 units.
    pub fn from_utf16(units: impl IntoIterator<Item = u16>) -> Text {
        let mut builder = TextBuilder::default();
        units.into_iter().for_each(|unit| builder.push_unit(unit));
        builder.finish()
    }
}

struct Units<'a> {
    bytes: &'a [u8],
    at: usize,
    low: Option<u16>,
}

impl Iterator for Units<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        if let Some(low) = self.low.take() {
            return Some(low);
        }
        let byte = |offset: usize| u32::from(self.bytes.get(self.at + offset).copied().unwrap_or(0)) & 0x3F;
        let lead = u32::from(*self.bytes.get(self.at)?);
        let (point, width) = match lead {
            0..0x80 => (lead, 1),
            0x80..0xE0 => ((lead & 0x1F) << 6 | byte(1), 2),
            0xE0..0xF0 => ((lead & 0x0F) << 12 | byte(1) << 6 | byte(2), 3),
            _ => ((lead & 0x07) << 18 | byte(1) << 12 | byte(2) << 6 | byte(3), 4),
        };
        self.at += width;
        if let Some(beyond) = point.checked_sub(0x1_0000) {
            self.low = Some(0xDC00 | (beyond & 0x3FF) as u16);
            return Some(0xD800 | (beyond >> 10) as u16);
        }
        Some(point as u16)
    }
}

/// A builder that joins text from pieces. Two halves of a surrogate pair that arrive separately become one character.
#[derive(Default)]
pub struct TextBuilder {
    /// The text so far, while it is well formed. Empty after the first lone surrogate.
    text: String,
    /// The text so far as WTF-8. Empty before the first lone surrogate.
    wtf8: Vec<u8>,
    /// A high surrogate at the end. The next unit decides whether it is lone.
    high: Option<u16>,
}

impl TextBuilder {
    /// Returns an empty builder with room for a number of bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        TextBuilder { text: String::with_capacity(bytes), ..TextBuilder::default() }
    }

    /// Appends well-formed text.
    pub fn push_str(&mut self, text: &str) {
        if !text.is_empty() {
            self.settle();
        }
        if self.wtf8.is_empty() {
            self.text.push_str(text);
        } else {
            self.wtf8.extend_from_slice(text.as_bytes());
        }
    }

    /// Appends one UTF-16 unit. A low surrogate after a high one completes a character.
    pub fn push_unit(&mut self, unit: u16) {
        let Some(char) = char::from_u32(unit.into()) else {
            return self.push_surrogate(unit);
        };
        self.push_str(char.encode_utf8(&mut [0; 4]));
    }

    fn push_surrogate(&mut self, unit: u16) {
        let pair = self.high.and_then(|high| char::decode_utf16([high, unit]).next()?.ok());
        if let Some(char) = pair {
            self.high = None;
            return self.push_str(char.encode_utf8(&mut [0; 4]));
        }
        self.settle();
        if unit < 0xDC00 {
            self.high = Some(unit);
        } else {
            self.push_lone(unit);
        }
    }

    /// Writes a pending high surrogate as a lone one, because no low surrogate follows.
    fn settle(&mut self) {
        if let Some(high) = self.high.take() {
            self.push_lone(high);
        }
    }

    fn push_lone(&mut self, unit: u16) {
        if self.wtf8.is_empty() {
            self.wtf8 = std::mem::take(&mut self.text).into_bytes();
        }
        let tail = |shift: u16| 0x80 | (unit >> shift & 0x3F) as u8;
        self.wtf8.extend([0xED, tail(6), tail(0)]);
    }

    /// Returns the text built so far.
    pub fn finish(mut self) -> Text {
        self.take()
    }

    /// Returns the text built so far, and leaves the builder empty with its capacity.
    pub(crate) fn take(&mut self) -> Text {
        self.settle();
        if self.wtf8.is_empty() {
            let text = Text::from(self.text.as_str());
            self.text.clear();
            return text;
        }
        Text(Repr::Wtf8(std::mem::take(&mut self.wtf8).into()))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text(Short::new(text).map_or_else(|| Repr::Long(text.into()), Repr::Short))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text::from(text.as_str())
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Text::from(text.as_str())
    }
}

impl From<Arc<str>> for Text {
    fn from(text: Arc<str>) -> Self {
        Text(Short::new(&text).map_or_else(|| Repr::Long(text), Repr::Short))
    }
}

impl From<Cow<'_, str>> for Text {
    fn from(text: Cow<'_, str>) -> Self {
        Text::from(&*text)
    }
}

impl From<&Text> for Text {
    fn from(text: &Text) -> Self {
        text.clone()
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        match (&self.0, &other.0) {
            (Repr::Short(left), Repr::Short(right)) => left == right,
            _ => self.as_bytes() == other.as_bytes(),
        }
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Text {}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl Ord for Text {
    #[inline]
    fn cmp(&self, other: &Text) -> Ordering {
        compare_utf16(self, other)
    }
}

impl PartialOrd for Text {
    #[inline]
    fn partial_cmp(&self, other: &Text) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns the order of two texts by UTF-16 units.
#[inline]
fn compare_utf16(left: &Text, right: &Text) -> Ordering {
    match (left.as_bytes(), right.as_bytes()) {
        // The names of one record mostly differ in the first byte. ASCII is below everything else in both orders.
        ([a, ..], [b, ..]) if a != b && *a.min(b) < 0x80 => a.cmp(b),
        _ => compare_utf16_slowly(left, right),
    }
}

/// Returns the order of two texts by UTF-16 units, if their first bytes do not decide.
///
/// UTF-8 bytes sort by code point. The order of units differs only if one side has a character beyond the basic plane
/// and the other one a character in E000-FFFF. The former has a lead byte of F0 or more, and a first unit in
/// D800-DBFF.
fn compare_utf16_slowly(left: &Text, right: &Text) -> Ordering {
    if !left.is_well_formed() || !right.is_well_formed() {
        return left.units().cmp(right.units());
    }
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.is_ascii() || right.is_ascii() {
        // At the first difference, one side is ASCII. ASCII is below everything else in both orders.
        return left.cmp(right);
    }
    match left.iter().zip(right).find(|(a, b)| a != b) {
        None => left.len().cmp(&right.len()),
        Some((&(0xEE | 0xEF), &(0xF0..))) => Ordering::Greater,
        Some((&(0xF0..), &(0xEE | 0xEF))) => Ordering::Less,
        Some((a, b)) => a.cmp(b),
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_str() {
            Some(text) => fmt::Debug::fmt(text, out),
            None => {
                out.write_str("\"")?;
                for unit in char::decode_utf16(self.units()) {
                    match unit {
                        Ok(char) => write!(out, "{}", char.escape_debug())?,
                        Err(lone) => write!(out, "\\u{{{:x}}}", lone.unpaired_surrogate())?,
                    }
                }
                out.write_str("\"")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf16_units_round_trip_and_surrogates_join() {
        for units in [
            vec![],
            vec![0x41, 0xE9, 0x20AC, 0xD83E, 0xDDD9],
            vec![0xD83E],
            vec![0xDDD9, 0xD83E],
            vec![0xD800, 0xD83E, 0xDDD9, 0xDFFF],
        ] {
            let text = Text::from_utf16(units.iter().copied());
            assert_eq!(text.units().collect::<Vec<_>>(), units);
            assert_eq!(text.utf16_len(), units.len());
            assert_eq!(text.as_str().map(str::to_owned), String::from_utf16(&units).ok());
        }
    }

    #[test]
    fn equal_texts_from_all_constructors_are_equal() {
        for char in ["a", "é", "€", "🧙"] {
            for count in 0..20 {
                let text = char.repeat(count);
                let expected = Text::from(text.as_str());
                assert_eq!(expected.as_str(), Some(text.as_str()));
                for behind in ["", "b", "something that is longer than a short text"] {
                    assert_eq!(Text::front(&(text.clone() + behind), text.len()), expected);
                }
                let shared: Arc<str> = text.as_str().into();
                let mut builder = TextBuilder::default();
                text.encode_utf16().for_each(|unit| builder.push_unit(unit));
                for same in [Text::from(shared), Text::from_wtf8(text.as_bytes()), builder.finish()] {
                    assert_eq!(same, expected);
                    assert_eq!(same.cmp(&expected), Ordering::Equal);
                    assert_eq!(same, text.as_str());
                }
            }
        }
    }

    #[test]
    fn text_and_value_fit_in_24_bytes() {
        // Each is three words long. Decoders spend most of their time on moving these values.
        assert_eq!(size_of::<Text>(), 24);
        assert_eq!(size_of::<crate::Value>(), 24);
    }

    #[test]
    fn text_order_is_by_utf16_units() {
        let sorted = [
            Text::from("a"),
            Text::from_utf16([0xD800]),
            Text::from("\u{1F9D9}"),
            Text::from_utf16([0xDC00]),
            Text::from("\u{E000}"),
            Text::from("\u{FFFD}"),
        ];
        for (i, left) in sorted.iter().enumerate() {
            for (j, right) in sorted.iter().enumerate() {
                assert_eq!(left.cmp(right), i.cmp(&j), "{left:?} {right:?}");
            }
        }
    }
}
