//! Control characters in text: what programs write for a terminal is removed, and every other one is made visible.

use crate::reading::count;

/// The maximum length of a terminal sequence that is removed.
const MAX_SEQUENCE: usize = 4 << 10;

/// A text without control characters except tab, line feed, carriage return and form feed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cleaned {
    /// The text.
    pub(crate) text: String,
    /// The sentence about the characters that were removed or made visible.
    pub(crate) note: Option<String>,
    /// The number of characters that were made visible.
    pub(crate) shown: usize,
}

/// Removes the sequences by which a program colours its output or moves the cursor, and bold type by overstriking.
/// Every other control character becomes its sign: escape becomes `␛`.
pub(crate) fn clean(text: &str) -> Cleaned {
    if !text.bytes().any(is_control) {
        return Cleaned { text: text.to_owned(), note: None, shown: 0 };
    }
    let mut cleaned = String::with_capacity(text.len());
    let (mut removed, mut shown) = (0, 0);
    // DOS marked the end of a text with this character.
    let text = text.strip_suffix('\u{1a}').inspect(|_| removed += 1).unwrap_or(text);
    let mut rest = text;
    while let Some(at) = rest.bytes().position(is_control) {
        cleaned.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at..).unwrap_or_default();
        if let Some(length) = sequence(rest.as_bytes()) {
            removed += 1;
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        let control = rest.bytes().next().unwrap_or_default();
        rest = rest.get(1..).unwrap_or_default();
        if control == 8
            && let Some(after) = overstrike(&mut cleaned, rest)
        {
            removed += 1;
            rest = after;
            continue;
        }
        shown += 1;
        cleaned.push(sign(control));
    }
    cleaned.push_str(rest);
    let removed = (removed > 0).then(|| {
        format!("left out: {} (colours and the like)", count(removed, "terminal code", "terminal codes"))
    });
    let visible = (shown > 0).then(|| {
        let what = count(shown, "control character is", "control characters are");
        format!("{what} shown as a sign such as ␛")
    });
    let note = match (removed, visible) {
        (Some(removed), Some(visible)) => Some(format!("{removed}; {visible}")),
        (removed, visible) => removed.or(visible),
    };
    Cleaned { text: cleaned, note, shown }
}

/// Returns the sign of a control character.
fn sign(control: u8) -> char {
    match control {
        0x7f => '\u{2421}',
        control => char::from_u32(0x2400 + u32::from(control)).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

pub(crate) fn is_control(byte: u8) -> bool {
    byte == 0x7f || (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c))
}

/// Returns the length of the terminal sequence at the start of a text.
fn sequence(text: &[u8]) -> Option<usize> {
    let near = text.get(..text.len().min(MAX_SEQUENCE)).unwrap_or_default();
    match near {
        // A colour, or a movement of the cursor: parameters, and a final byte.
        [0x1b, b'[', rest @ ..] => {
            let end = rest.iter().position(|byte| !matches!(byte, 0x20..=0x3f))?;
            rest.get(end).filter(|byte| matches!(byte, 0x40..=0x7e)).map(|_| 2 + end + 1)
        }
        // A title, a link or other data: it ends with BEL or with ESC and a backslash.
        [0x1b, b']' | b'P' | b'X' | b'^' | b'_', rest @ ..] => {
            let end = rest.iter().position(|byte| is_control(*byte) || *byte == b'\n')?;
            match rest.get(end..) {
                Some([7, ..]) => Some(2 + end + 1),
                Some([0x1b, b'\\', ..]) => Some(2 + end + 2),
                _ => None,
            }
        }
        // A set of characters.
        [0x1b, b'(' | b')' | b'*' | b'+' | b'#' | b'%', third, ..] if third.is_ascii_alphanumeric() => {
            Some(3)
        }
        [
            0x1b,
            b'7' | b'8' | b'=' | b'>' | b'c' | b'D' | b'E' | b'H' | b'M' | b'N' | b'O' | b'Z' | b'\\',
            ..,
        ] => Some(2),
        _ => None,
    }
}

/// Handles a backspace between two characters that a typewriter would put on each other: `a` and `a` is bold, `_` and
/// `a` is underlined. Returns the text after them.
fn overstrike<'a>(before: &mut String, after: &'a str) -> Option<&'a str> {
    let (first, second) = (before.chars().next_back()?, after.chars().next()?);
    if first == second || first == '_' {
        before.pop();
        return Some(after);
    }
    (second == '_').then(|| after.get(1..)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_codes_are_removed_and_others_become_signs() {
        let check = |text: &str, expected: &str, note: &str| {
            let cleaned = clean(text);
            assert_eq!(cleaned.text, expected, "{text:?}");
            let found = cleaned.note.unwrap_or_default();
            assert!(found.contains(note) && found.is_empty() == note.is_empty(), "{found}");
            assert!(!cleaned.text.bytes().any(is_control));
        };
        check("plain\ttext\r\n\u{c}", "plain\ttext\r\n\u{c}", "");
        check("\u{1b}[31merror\u{1b}[0m: x\n", "error: x\n", "left out: 2 terminal codes");
        check("\u{1b}[38;2;1;2;3mx\u{1b}[2K\u{1b}[?25l", "x", "3 terminal codes");
        check("\u{1b}]8;;https://a.example\u{7}link\u{1b}]8;;\u{1b}\\", "link", "2 terminal codes");
        check("\u{1b}(B\u{1b}[mx\u{1b}7", "x", "3 terminal codes");
        check("B\u{8}Bo\u{8}ol\u{8}ld _\u{8}u", "Bold u", "4 terminal codes");
        check("a\u{8}b", "a␈b", "1 control character is shown");
        check("end\u{1a}", "end", "1 terminal code");
        check("a\u{1a}b\u{7f}\u{b}\u{0}", "a␚b␡␋␀", "4 control characters are shown");
        check("\u{1b}[31", "␛[31", "1 control character");
        check("\u{1b}]0;no end\nnext", "␛]0;no end\nnext", "1 control character");
        check("\u{1b}[31mx\u{1b}", "x␛", "1 terminal code (colours and the like); 1 control");
        check(&"\u{1b}]".repeat(100_000), &"␛]".repeat(100_000), "100000 control characters");
    }
}
