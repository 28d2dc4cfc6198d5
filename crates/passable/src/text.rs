//! Text as JavaScript has it: a sequence of UTF-16 units, almost always well formed.
//!
//! Endo's strings may hold lone surrogates, and its orders compare UTF-16 units. Well-formed text is kept as
//! UTF-8; the rare ill-formed text is kept as WTF-8 (UTF-8 that may also encode lone surrogates).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Immutable text, cheap to clone, that can hold lone surrogates. Ordered by UTF-16 units.
#[derive(Clone)]
pub struct Text(Repr);

#[derive(Clone)]
enum Repr {
    Utf8(Arc<str>),
    // Invariant: holds at least one lone surrogate, so that equal texts have equal representations.
    Wtf8(Arc<[u8]>),
}

impl Text {
    /// The text as a string slice, or `None` when it holds a lone surrogate.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Utf8(text) => Some(text),
            Repr::Wtf8(_) => None,
        }
    }

    /// The text with every lone surrogate replaced by U+FFFD. For display; not for identity.
    pub fn to_str_lossy(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Utf8(text) => Cow::Borrowed(text),
            Repr::Wtf8(_) => {
                Cow::Owned(char::decode_utf16(self.units()).map(|unit| unit.unwrap_or('\u{FFFD}')).collect())
            }
        }
    }

    /// UTF-8 bytes, or WTF-8 bytes when there are lone surrogates.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Utf8(text) => text.as_bytes(),
            Repr::Wtf8(bytes) => bytes,
        }
    }

    /// Whether there are no lone surrogates.
    pub fn is_well_formed(&self) -> bool {
        matches!(self.0, Repr::Utf8(_))
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// Length in UTF-16 units, which is what Endo's length limits count.
    pub fn utf16_len(&self) -> usize {
        // Every unit has exactly one lead byte, and a four-byte sequence stands for two units.
        self.as_bytes()
            .iter()
            .map(|byte| usize::from((byte & 0xC0) != 0x80) + usize::from(*byte >= 0xF0))
            .sum()
    }

    /// The UTF-16 units one after the other.
    pub fn units(&self) -> impl Iterator<Item = u16> + '_ {
        Units { bytes: self.as_bytes(), at: 0, low: None }
    }

    /// Text from bytes that were cut out of, or joined from, the bytes of texts at ASCII characters.
    pub(crate) fn from_wtf8(bytes: Vec<u8>) -> Text {
        match String::from_utf8(bytes) {
            Ok(text) => Text::from(text),
            Err(error) => Text(Repr::Wtf8(error.into_bytes().into())),
        }
    }

    /// Makes text from UTF-16 units; any sequence is text.
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

/// Builds text piece by piece, joining surrogate halves that arrive separately.
#[derive(Default)]
pub struct TextBuilder {
    bytes: Vec<u8>,
    lone: usize,
}

impl TextBuilder {
    /// Makes room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        TextBuilder { bytes: Vec::with_capacity(bytes), lone: 0 }
    }

    /// Appends well-formed text.
    pub fn push_str(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends one UTF-16 unit. A low surrogate after a high one becomes one character.
    pub fn push_unit(&mut self, unit: u16) {
        if (0xDC00..0xE000).contains(&unit)
            && let [.., 0xED, b1 @ 0xA0..=0xAF, b2] = self.bytes.as_slice()
        {
            let high = 0xD000 | (u32::from(*b1) & 0x3F) << 6 | (u32::from(*b2) & 0x3F);
            let point = 0x1_0000 + ((high - 0xD800) << 10) + (u32::from(unit) - 0xDC00);
            self.bytes.truncate(self.bytes.len() - 3);
            self.lone -= 1;
            self.push_point(point, 4);
        } else if (0xD800..0xE000).contains(&unit) {
            self.lone += 1;
            self.push_point(u32::from(unit), 3);
        } else {
            let width = if unit < 0x80 { 1 } else { 2 + usize::from(unit >= 0x800) };
            self.push_point(u32::from(unit), width);
        }
    }

    fn push_point(&mut self, point: u32, width: usize) {
        let tail = |shift: u32| 0x80 | (point >> shift & 0x3F) as u8;
        match width {
            1 => self.bytes.push(point as u8),
            2 => self.bytes.extend([0xC0 | (point >> 6) as u8, tail(0)]),
            3 => self.bytes.extend([0xE0 | (point >> 12) as u8, tail(6), tail(0)]),
            _ => self.bytes.extend([0xF0 | (point >> 18) as u8, tail(12), tail(6), tail(0)]),
        }
    }

    /// The text built so far.
    pub fn finish(self) -> Text {
        if self.lone > 0 {
            return Text(Repr::Wtf8(self.bytes.into()));
        }
        // Without lone surrogates the bytes are UTF-8 by construction; lossy conversion never changes them.
        match String::from_utf8(self.bytes) {
            Ok(text) => Text::from(text),
            Err(error) => Text::from(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text(Repr::Utf8(text.into()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text(Repr::Utf8(text.into()))
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Text::from(text.as_str())
    }
}

impl From<Arc<str>> for Text {
    fn from(text: Arc<str>) -> Self {
        Text(Repr::Utf8(text))
    }
}

impl From<Cow<'_, str>> for Text {
    fn from(text: Cow<'_, str>) -> Self {
        Text(Repr::Utf8(text.into()))
    }
}

impl From<&Text> for Text {
    fn from(text: &Text) -> Self {
        text.clone()
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        self.as_bytes() == other.as_bytes()
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
    fn cmp(&self, other: &Text) -> Ordering {
        compare_utf16(self, other)
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Text) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares by UTF-16 units. UTF-8 bytes sort by code point, which differs only where one side has a character
/// beyond the basic plane (lead byte F0 or more, first unit D800-DBFF) and the other one in E000-FFFF.
fn compare_utf16(left: &Text, right: &Text) -> Ordering {
    if !left.is_well_formed() || !right.is_well_formed() {
        return left.units().cmp(right.units());
    }
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.is_ascii() || right.is_ascii() {
        // Whatever differs first, one side of it is ASCII, and below everything else in both orders.
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
        match &self.0 {
            Repr::Utf8(text) => fmt::Debug::fmt(text, out),
            Repr::Wtf8(_) => {
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
    fn units_round_trip_and_halves_join() {
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
    fn order_is_by_utf16_units() {
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
