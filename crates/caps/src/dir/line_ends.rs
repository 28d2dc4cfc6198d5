//! The ends of lines: LF, or CRLF as on Windows. Models write LF, so a text is fitted to the file that it goes into.

use std::borrow::Cow;
use std::ops::Range;

/// The character that some editors put at the beginning of a file.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns whether a text has lines, and each of them ends in CRLF.
pub(super) fn are_crlf(text: &[u8]) -> bool {
    let mut before = 0;
    let mut has_lines = false;
    for byte in text {
        if *byte == b'\n' {
            if before != b'\r' {
                return false;
            }
            has_lines = true;
        }
        before = *byte;
    }
    has_lines
}

/// Returns a text with LF in the place of each CRLF.
pub(super) fn to_lf(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() }
}

/// Returns a text with CRLF in the place of each LF. An existing CRLF stays.
pub(super) fn to_crlf(text: &str) -> Cow<'_, str> {
    if text.contains('\n') { to_lf(text).replace('\n', "\r\n").into() } else { text.into() }
}

/// Returns a new part of a text with the line ends of the text that is there.
pub(super) fn fitted<'a>(there: &[u8], part: &'a str) -> Cow<'a, str> {
    if are_crlf(there) { to_crlf(part) } else { part.into() }
}

/// Returns the places in `text` at which `wanted` stands if CRLF and LF count as the same.
pub(super) fn find(text: &str, wanted: &str) -> Vec<Range<usize>> {
    let (folded, wanted) = (to_lf(text), to_lf(wanted));
    // For each removed CR: the position in the folded text of the LF behind it.
    let removed: Vec<usize> =
        text.match_indices("\r\n").enumerate().map(|(count, (at, _))| at - count).collect();
    let original = |at: usize| at + removed.partition_point(|lf| *lf < at);
    folded.match_indices(&*wanted).map(|(at, found)| original(at)..original(at + found.len())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crlf_is_found_only_if_every_line_has_it() {
        for (text, expected) in [
            ("", false),
            ("a", false),
            ("a\r\n", true),
            ("a\r\nb\r\nc", true),
            ("a\r\nb\n", false),
            ("\n", false),
        ] {
            assert_eq!(are_crlf(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(fitted(b"a\r\n", "b\nc\r\n"), "b\r\nc\r\n");
        assert_eq!(fitted(b"a\n", "b\n"), "b\n");
        assert_eq!(fitted(b"", "b\r\n"), "b\r\n");
    }

    #[test]
    fn places_are_found_whatever_their_line_ends() {
        for (text, wanted, expected) in [
            ("a\r\nb\r\nc", "a\nb", vec!["a\r\nb"]),
            ("a\r\nb\r\nc\r\n", "b\n", vec!["b\r\n"]),
            ("a\r\nb\r\nc", "\nb\n", vec!["\r\nb\r\n"]),
            ("a\nb\nc", "a\r\nb", vec!["a\nb"]),
            ("x\r\ny\nx\r\ny\r\n", "x\ny\n", vec!["x\r\ny\n", "x\r\ny\r\n"]),
            ("é\r\nü\r\n", "ü\n", vec!["ü\r\n"]),
            ("a\r\n", "b", vec![]),
        ] {
            let found: Vec<&str> = find(text, wanted).into_iter().map(|place| &text[place]).collect();
            assert_eq!(found, expected, "{text:?} {wanted:?}");
        }
    }
}
