//! The decoding of escapes: percent-encoding, backslashes as in JSON, and lines that were wrapped.

use std::ops::Range;

/// The number of rounds of decoding. An escaped text can be escaped again.
const MAX_ROUNDS: usize = 3;

/// The maximum number of decoded versions of one text.
const MAX_ITEMS: usize = 12;

/// The minimum number of characters in a line that counts as wrapped.
const MIN_LINE_LEN: usize = 16;

/// A decoded version of a text, with the origin of each of its bytes.
pub(super) struct Variant {
    pub(super) text: Vec<u8>,
    /// The place in the original text from which each byte comes. There is one more entry for the end.
    from: Vec<usize>,
    pub(super) spelling: &'static str,
}

impl Variant {
    /// Returns the span in the original text for a span in the decoded text.
    pub(super) fn span(&self, start: usize, end: usize) -> (usize, usize) {
        let at = |place: usize| self.from.get(place).or(self.from.last()).copied().unwrap_or(0);
        (at(start), at(end))
    }
}

impl Drop for Variant {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.text);
    }
}

/// Returns the parts of the text that may contain escapes. Each is so wide that no spelling of up to `longest` bytes
/// is cut off.
pub(super) fn windows(text: &[u8], longest: usize) -> Vec<Range<usize>> {
    let mut windows: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].iter().position(|byte| matches!(byte, b'%' | b'\\' | b'\n')) {
        let place = at + next;
        at = place + 1;
        let counts = match text[place] {
            b'%' => text.get(place + 1).is_some_and(u8::is_ascii_hexdigit),
            b'\n' => broken(text, place).is_some(),
            _ => true,
        };
        if !counts {
            continue;
        }
        // An escape takes up to twelve bytes for one character, and may be escaped again.
        let around = longest * 3 + 64;
        let window = place.saturating_sub(around)..(place + around).min(text.len());
        match windows.last_mut() {
            Some(last) if last.end >= window.start => last.end = window.end,
            _ => windows.push(window),
        }
        // The search skips the rest of the window, except the end, where another escape would extend the window.
        at = at.max(windows.last().map_or(0, |last| last.end.saturating_sub(around)));
    }
    windows
}

/// Returns the text that replaces the end of a wrapped line, or `None` if the line does not look wrapped.
fn broken(text: &[u8], newline: usize) -> Option<Piece> {
    let (piece, goes_on) = seam(text, newline)?;
    let next = text[newline + 1..].iter().find(|byte| !b" \t".contains(byte))?;
    goes_on(next).then_some(piece)
}

/// Returns whether the line before a newline looks full, so that its text could continue in the next line.
pub(super) fn may_go_on(text: &[u8], newline: usize) -> bool {
    seam(text, newline).is_some()
}

/// A test of whether the next line begins like a continuation.
type ContinuationTest = fn(&u8) -> bool;

/// Returns the text that joins a full line to the next one, and a test of how the next line begins. Returns `None` if
/// the line does not look full.
fn seam(text: &[u8], newline: usize) -> Option<(Piece, ContinuationTest)> {
    let end = if newline > 0 && text[newline - 1] == b'\r' { newline - 1 } else { newline };
    let line = &text[end.checked_sub(MIN_LINE_LEN)?..end];
    let nothing = Piece { bytes: [0; 4], length: 0 };
    if line.iter().all(is_digit) {
        return Some((nothing, is_digit));
    }
    // The line may have the digits of single bytes, as `od` and `openssl` write them.
    let is_dump = |between: u8| line.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == between);
    match line.last() {
        Some(b':') if is_dump(b':') => Some((nothing, u8::is_ascii_hexdigit)),
        _ if is_dump(b' ') => Some((Piece::byte(b' '), u8::is_ascii_hexdigit)),
        _ => None,
    }
}

/// Returns whether a byte can occur in a wrapped line of encoded text.
fn is_digit(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_=%".contains(byte)
}

/// Returns all versions of the text that decoding leads to, without the text itself.
pub(super) fn variants(text: &[u8]) -> Vec<Variant> {
    let mut all: Vec<Variant> = Vec::new();
    let own = Variant { text: text.to_vec(), from: (0..=text.len()).collect(), spelling: "" };
    let mut fresh = vec![own];
    for _ in 0..MAX_ROUNDS {
        let mut next = Vec::new();
        for variant in &fresh {
            let undone = [
                percent(variant).map(|text| (text, "percent-encoded")),
                backslashes(variant).map(|text| (text, "with escapes")),
                joined(variant).map(|text| (text, "in broken lines")),
            ];
            for ((text, from), spelling) in undone.into_iter().flatten() {
                let is_new = |other: &Variant| other.text != text;
                if all.len() + next.len() < MAX_ITEMS && all.iter().chain(&next).chain(&fresh).all(is_new) {
                    next.push(Variant { text, from, spelling });
                }
            }
        }
        all.extend(fresh.drain(..).filter(|variant| !variant.spelling.is_empty()));
        fresh = next;
        if fresh.is_empty() {
            break;
        }
    }
    all.extend(fresh);
    all
}

type DecodedText = Option<(Vec<u8>, Vec<usize>)>;

/// Returns the decoded text and the origin of each byte, or `None` if nothing was decoded. At each place, `undo`
/// returns the replacement for the escape there, and the length of the escape.
fn decode_with(variant: &Variant, mut undo: impl FnMut(&[u8]) -> Option<(Piece, usize)>) -> DecodedText {
    let bytes = &variant.text;
    let mut out = Vec::with_capacity(bytes.len());
    let mut from = Vec::with_capacity(bytes.len() + 1);
    let (mut at, mut changed) = (0, false);
    while at < bytes.len() {
        let (piece, width) = match undo(&bytes[at..]) {
            Some(found) => {
                changed = true;
                found
            }
            None => (Piece { bytes: [bytes[at], 0, 0, 0], length: 1 }, 1),
        };
        for &byte in &piece.bytes[..piece.length] {
            out.push(byte);
            from.push(variant.from[at]);
        }
        at += width;
    }
    from.push(variant.from.last().copied().unwrap_or(0));
    changed.then_some((out, from))
}

/// The bytes of at most one character.
struct Piece {
    bytes: [u8; 4],
    length: usize,
}

impl Piece {
    fn byte(byte: u8) -> Piece {
        Piece { bytes: [byte, 0, 0, 0], length: 1 }
    }

    fn char(char: char) -> Piece {
        let mut bytes = [0; 4];
        let length = char.encode_utf8(&mut bytes).len();
        Piece { bytes, length }
    }
}

fn number(digits: Option<&[u8]>) -> Option<u32> {
    digits?.iter().try_fold(0, |number, &digit| Some(number * 16 + (digit as char).to_digit(16)?))
}

fn percent(variant: &Variant) -> DecodedText {
    decode_with(variant, |rest| match rest {
        [b'%', ..] => Some((Piece::byte(number(rest.get(1..3))? as u8), 3)),
        _ => None,
    })
}

fn backslashes(variant: &Variant) -> DecodedText {
    decode_with(variant, |rest| {
        let [b'\\', kind, ..] = rest else { return None };
        let byte = match kind {
            b'"' | b'\\' | b'/' | b'\'' => *kind,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'f' => 12,
            b'x' => return Some((Piece::byte(number(rest.get(2..4))? as u8), 4)),
            b'u' => {
                let unit = number(rest.get(2..6))?;
                if let Some(char) = char::from_u32(unit) {
                    return Some((Piece::char(char), 6));
                }
                // A code point above U+FFFF is written as two escapes.
                let low = match rest.get(6..8) {
                    Some(b"\\u") => number(rest.get(8..12))?,
                    _ => return None,
                };
                let both = 0x1_0000 + ((unit.checked_sub(0xD800)?) << 10) + low.checked_sub(0xDC00)?;
                return Some((Piece::char(char::from_u32(both)?), 12));
            }
            _ => return None,
        };
        Some((Piece::byte(byte), 2))
    })
}

fn joined(variant: &Variant) -> DecodedText {
    let text = &variant.text;
    if !(0..text.len()).any(|at| text[at] == b'\n' && broken(text, at).is_some()) {
        return None;
    }
    decode_with(variant, |rest| {
        let at = text.len() - rest.len();
        let newline = if rest.starts_with(b"\r\n") { at + 1 } else { at };
        let piece = text.get(newline).filter(|byte| **byte == b'\n').and_then(|_| broken(text, newline))?;
        let indent = text[newline + 1..].iter().take_while(|byte| b" \t".contains(byte)).count();
        Some((piece, newline + 1 + indent - at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let variants = variants(text.as_bytes());
        let got: Vec<_> = variants.iter().map(|variant| String::from_utf8_lossy(&variant.text)).collect();
        assert_eq!(got, expected, "{text}");
        assert_eq!(windows(text.as_bytes(), 10).is_empty(), expected.is_empty(), "{text}");
    }

    #[test]
    fn escapes_are_decoded_in_each_order() {
        check("plain", &[]);
        check("100 %", &[]);
        check("a%41b", &["aAb"]);
        check("a%2541b", &["a%41b", "aAb"]);
        check(r#"a\"b\u0041\/"#, &[r#"a"bA/"#]);
        check(r"\ud83d\ude00", &["😀"]);
        check(r"\x41\\n", &["A\\n", "A\n"]);
        check("0123456789abcdef\n  0123", &["0123456789abcdef0123"]);
        check("0123456789abcdef\r\n0123", &["0123456789abcdef0123"]);
        check(" 74 6f 6b 2d 39 66\n 33 6b", &[" 74 6f 6b 2d 39 66 33 6b"]);
        check("74:6f:6b:2d:39:66:\n  33:6b", &["74:6f:6b:2d:39:66:33:6b"]);
        check("is the added effect\n of it", &[]);
    }

    #[test]
    fn spans_map_back_to_the_original_text() {
        let all = variants(b"xx%41%42yy");
        assert_eq!(all[0].span(2, 4), (2, 8));
        assert_eq!(all[0].span(0, 6), (0, 10));
    }

    #[test]
    fn windows_reach_as_far_as_a_spelling() {
        let mut text = vec![b'x'; 10_000];
        text[5_000] = b'%';
        text[5_001] = b'4';
        text[9_990] = b'\\';
        assert_eq!(windows(&text, 10), [4_906..5_094, 9_896..10_000]);
        assert!(windows(&[b'\\'; 1000], 10).iter().eq([&(0..1000)]));
    }
}
