//! One message of an answer as JSON, also where a server has cut a character in two.
//!
//! Some servers send each token at once, although it is only a part of a character: as half of a surrogate pair
//! (`"\ud83d"`, then `"\ude00"`), or as bytes that are no UTF-8. Such a part is held in a character of a private plane
//! until [`mend`] puts the parts together. A model may write such characters itself, so each of them gets a mark
//! before it, and stays as it is.

use std::borrow::Cow;

use passable::keep_integers;
use serde_json::Value;
use serde_json::error::Category;

/// The mark before a character of the text itself that would otherwise stand for a part.
const MARK: char = '\u{10F000}';
/// The first characters that stand for a byte, and for half of a surrogate pair. Both are in the last private plane.
/// Only bytes from 0x80 on are held: every other one is UTF-8.
const BYTES: u32 = 0x10_F000;
const HELD_BYTES: std::ops::RangeInclusive<u32> = 0x80..=0xFF;
const SURROGATES: u32 = 0x10_F800 - 0xD800;
const SURROGATE_HALVES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;

/// The fault of a message that is no JSON.
#[derive(Debug)]
pub(super) struct JsonFault {
    /// The fault in words.
    pub(super) words: String,
    /// Whether the message only ends too early.
    pub(super) is_cut: bool,
}

impl JsonFault {
    fn new(error: &serde_json::Error) -> JsonFault {
        JsonFault { words: format!("it is no JSON: {}", json_fault(error)), is_cut: error.is_eof() }
    }
}

/// Returns the JSON of a message.
///
/// # Errors
///
/// The reason why it is no JSON.
pub(super) fn parse(data: &[u8]) -> Result<Value, JsonFault> {
    let exact = std::str::from_utf8(data).map_or(Cow::Borrowed(""), keep_integers);
    let bytes = if let Cow::Owned(text) = &exact { text.as_bytes() } else { data };
    let mut read: Result<Value, _> = serde_json::from_slice(bytes);
    // A message with such characters of its own is read again, with a mark before each.
    if read.is_ok() && !has_own(data) {
        return read.map_err(|error| JsonFault::new(&error));
    }
    let held = hold_surrogates(&hold_bytes(data));
    if held.as_bytes() != data {
        read = serde_json::from_str(&keep_integers(&held));
    }
    read.map_err(|error| JsonFault::new(&error))
}

/// Returns the fault of a text that is no JSON, in words for a person or a model.
pub(crate) fn json_fault(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Eof => "the text ends too early".to_owned(),
        _ if error.column() == 0 => "something is wrong at its beginning".to_owned(),
        _ => format!("something is wrong at line {}, character {}", error.line(), error.column()),
    }
}

/// Returns whether a message may have characters of its own that look like stand-ins, as UTF-8 or as an escape.
fn has_own(data: &[u8]) -> bool {
    data.windows(2).any(|pair| pair == [0xF4, 0x8F])
        || data.windows(5).any(|escape| escape.eq_ignore_ascii_case(b"\\udbf"))
}

/// Returns the text with a stand-in for each byte that is no UTF-8, and with a mark before each character that looks
/// like a stand-in.
fn hold_bytes(data: &[u8]) -> String {
    let mut text = String::with_capacity(data.len());
    for chunk in data.utf8_chunks() {
        for char in chunk.valid().chars() {
            if is_held(char) || char == MARK {
                text.push(MARK);
            }
            text.push(char);
        }
        let held = chunk.invalid().iter().filter_map(|byte| char::from_u32(BYTES + u32::from(*byte)));
        text.extend(held);
    }
    text
}

/// Returns the text with a stand-in for each escaped half of a surrogate pair whose other half is missing.
fn hold_surrogates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let unit = unit(escape);
        let second = unit.and_then(|_| self::unit(escape.get(6..)?));
        let length = match (unit, second) {
            (Some(high @ 0xD800..=0xDBFF), Some(low @ 0xDC00..=0xDFFF)) => {
                let char = char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00));
                if char.is_some_and(|char| is_held(char) || char == MARK) {
                    out.push(MARK);
                }
                12
            }
            (Some(half), _) if SURROGATE_HALVES.contains(&half) => {
                out.extend(char::from_u32(SURROGATES + half));
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            // An escaped character may be a second backslash, which begins no escape of its own.
            _ => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        out.push_str(escape.get(..length).unwrap_or(escape));
        rest = escape.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Returns the number in an escape `\uXXXX` at the beginning of a text.
fn unit(escape: &str) -> Option<u32> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Returns a text whose parts came in several messages, with the characters that were cut put together again. A part
/// that stays alone becomes `U+FFFD`. Marked characters stay, and lose their mark.
pub(crate) fn mend(text: String) -> String {
    if !text.contains(|c| c == MARK || is_held(c)) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let (mut bytes, mut units) = (Vec::new(), Vec::new());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (byte(c), surrogate(c)) {
            // A character cut in one way may follow at once on one that was cut in the other.
            (Some(byte), _) => {
                if !units.is_empty() {
                    put_together(&mut out, &mut bytes, &mut units);
                }
                bytes.push(byte);
            }
            (_, Some(unit)) => {
                if !bytes.is_empty() {
                    put_together(&mut out, &mut bytes, &mut units);
                }
                units.push(unit);
            }
            (None, None) => {
                put_together(&mut out, &mut bytes, &mut units);
                out.extend(if c == MARK { chars.next() } else { Some(c) });
            }
        }
    }
    put_together(&mut out, &mut bytes, &mut units);
    out
}

fn put_together(out: &mut String, bytes: &mut Vec<u8>, units: &mut Vec<u16>) {
    out.push_str(&String::from_utf8_lossy(bytes));
    out.push_str(&String::from_utf16_lossy(units));
    bytes.clear();
    units.clear();
}

fn is_held(c: char) -> bool {
    byte(c).is_some() || surrogate(c).is_some()
}

fn byte(c: char) -> Option<u8> {
    let byte = u32::from(c).checked_sub(BYTES)?;
    HELD_BYTES.contains(&byte).then(|| u8::try_from(byte).ok())?
}

fn surrogate(c: char) -> Option<u16> {
    let unit = u32::from(c).checked_sub(SURROGATES)?;
    SURROGATE_HALVES.contains(&unit).then(|| u16::try_from(unit).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(data: &[u8]) -> String {
        parse(data).unwrap()["t"].as_str().unwrap().to_owned()
    }

    #[test]
    fn characters_cut_by_tokens_are_put_together() {
        let halves = text(br#"{"t":"a\ud83d"}"#) + &text(br#"{"t":"\ude00b"}"#);
        assert_eq!(mend(halves), "a😀b");
        let bytes = text(b"{\"t\":\"Gr\xc3\"}") + &text(b"{\"t\":\"\xbc\xc3\x9f\"}");
        assert_eq!(mend(bytes), "Grüß");
        let both = text(br#"{"t":"\ud83d"}"#) + &text(b"{\"t\":\"\\udc69\xe2\"}");
        assert_eq!(
            mend(both + &text(b"{\"t\":\"\x80\x8d\\ud83d\"}") + &text(br#"{"t":"\udc67"}"#)),
            "👩\u{200d}👧"
        );
        assert_eq!(mend(text(br#"{"t":"a\ud83d!"}"#)), "a\u{fffd}!");
        assert_eq!(text(br#"{"t":"\ud83d\ude00 \\ud83d"}"#), "😀 \\ud83d");
        assert_eq!(mend(text(br#"{"t":"\\ud83d \ud83d"}"#)), "\\ud83d \u{fffd}");
        assert_eq!(mend("plain".to_owned()), "plain");
    }

    #[test]
    fn private_characters_of_a_model_stay_as_they_are() {
        let own =
            "\u{10F000}\u{10F022}\u{10F02C}\u{10F041}\u{10F0C3}\u{10F0A4}\u{10F83D}\u{10FD00}\u{10FFFD}";
        let escaped: String = own.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        for written in [own, &escaped] {
            assert_eq!(mend(text(format!(r#"{{"t":"{written}"}}"#).as_bytes())), own);
            assert_eq!(
                mend(text(format!(r#"{{"t":"{written}\ud83d"}}"#).as_bytes())),
                format!("{own}\u{fffd}")
            );
            let cut = [format!(r#"{{"t":"{written}"#).as_bytes(), b"\xc3\"}"].concat();
            assert_eq!(mend(text(&cut) + &text(b"{\"t\":\"\xbc\"}")), format!("{own}ü"));
            let long = format!(r#"{{"t":"{written}","n":123456789012345678901234567890}}"#);
            assert_eq!(mend(text(long.as_bytes())), own);
        }
        // Text that was not read by `parse` has no stand-ins for quotes.
        assert_eq!(mend("a\u{10F022},\u{10F022}".to_owned()), "a\u{10F022},\u{10F022}");
    }

    #[test]
    fn broken_json_stays_broken() {
        for data in [&b"{"[..], b"{]", b"{\"t\":\"\xc3", b"{\"t\":\\ud83d}"] {
            assert!(parse(data).is_err(), "{data:?}");
        }
    }
}
