//! The places of a text's characters in its file, where the text may be written with escapes and over several lines.

use std::ops::Range;

/// The texts of a file, with the places of their characters.
///
/// A text that the file contains unchanged has spans in the file. Any other text has spans beyond the end of the
/// file, which [`Places::in_file`] maps back.
pub(crate) struct Places<'s> {
    source: &'s str,
    written: Vec<EscapedText>,
    next: usize,
}

/// A text whose written form differs from its content.
struct EscapedText {
    /// The start of the text's spans.
    start: usize,
    /// The place of each byte in the file, and then of the end. `None` if the places cannot be determined.
    bytes: Option<Vec<usize>>,
    /// The place of the whole text in the file.
    whole: Range<usize>,
}

impl<'s> Places<'s> {
    /// Returns an empty set of places for a file.
    pub(crate) fn new(source: &'s str) -> Places<'s> {
        Places { source, written: Vec::new(), next: source.len() + 1 }
    }

    /// Adds a text that is written at `whole`, and returns its span.
    pub(crate) fn add(&mut self, text: &str, whole: &Range<usize>) -> Range<usize> {
        let raw = self.source.get(whole.clone()).unwrap_or_default();
        let bytes = bytes(text, raw).map(|mut bytes| {
            bytes.iter_mut().for_each(|at| *at += whole.start);
            bytes
        });
        if let Some(first) = bytes.as_ref().and_then(|bytes| bytes.first())
            && self.source.get(*first..first + text.len()) == Some(text)
        {
            return *first..first + text.len();
        }
        let start = self.next;
        // There is one position more, so that the end of a text is not the start of the next.
        self.next = start + text.len() + 1;
        self.written.push(EscapedText { start, bytes, whole: whole.clone() });
        start..start + text.len()
    }

    /// Returns the span in the file for a span of the file or of an added text.
    pub(crate) fn in_file(&self, span: Range<usize>) -> Range<usize> {
        let Some(written) = self.written.iter().rev().find(|written| written.start <= span.start) else {
            return span;
        };
        let at = |place: usize| written.bytes.as_ref()?.get(place.saturating_sub(written.start)).copied();
        match (at(span.start), at(span.end)) {
            (Some(start), Some(end)) => start..end.max(start),
            _ => written.whole.clone(),
        }
    }
}

/// Returns the place of each byte of a text in its written form, and then the place of its end. Returns `None` if the
/// text does not match the written form.
fn bytes(text: &str, raw: &str) -> Option<Vec<usize>> {
    let quote = raw.chars().next().filter(|first| matches!(first, '"' | '\''));
    let mut at = match raw.chars().next()? {
        '"' | '\'' => 1,
        // The text of a block scalar begins on the next line.
        '|' | '>' => raw.find('\n')?,
        _ => 0,
    };
    let mut bytes = Vec::with_capacity(text.len() + 1);
    for char in text.chars() {
        loop {
            let rest = raw.get(at..)?;
            let Some(next) = rest.chars().next() else {
                // The span of a block scalar does not include the end of its last line.
                if !char.is_whitespace() {
                    return None;
                }
                bytes.extend(std::iter::repeat_n(at, char.len_utf8()));
                break;
            };
            let length = match (next, quote) {
                ('\\', Some('"')) => match escape(rest)? {
                    // An escaped line break stands for no character.
                    (length, false) => {
                        at += length;
                        continue;
                    }
                    (length, true) => length,
                },
                ('\'', Some('\'')) if char == '\'' => 2,
                _ if next == char && (char != ' ' || !rest.trim_start_matches(' ').starts_with('\n')) => {
                    next.len_utf8()
                }
                // A line break with the blanks around it is folded into one blank. Other white space is indentation
                // and is skipped.
                _ if next.is_whitespace() && char == ' ' && rest.trim_start().len() < rest.len() => {
                    rest.len() - rest.trim_start().len()
                }
                _ if next.is_whitespace() => {
                    at += next.len_utf8();
                    continue;
                }
                _ => return None,
            };
            bytes.extend(std::iter::repeat_n(at, char.len_utf8()));
            // A character that is written without an escape has a place for each of its bytes.
            if next == char && length == char.len_utf8() {
                let first = bytes.len() - char.len_utf8();
                bytes.iter_mut().skip(first).enumerate().for_each(|(byte, place)| *place += byte);
            }
            at += length;
            break;
        }
    }
    bytes.push(at);
    Some(bytes)
}

/// Returns the length of an escape sequence, and whether it stands for a character.
fn escape(rest: &str) -> Option<(usize, bool)> {
    Some(match rest.chars().nth(1)? {
        'x' => (4, true),
        'u' => (6, true),
        'U' => (10, true),
        '\n' | '\r' => {
            let line = rest.get(1..)?;
            (1 + line.len() - line.trim_start().len(), false)
        }
        other => (1 + other.len_utf8(), true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_text_map_to_file_positions() {
        for (raw, text, part, found) in [
            ("a|strng", "a|strng", "strng", "strng"),
            ("\"a|strng\"", "a|strng", "strng", "strng"),
            ("'it''s|strng'", "it's|strng", "strng", "strng"),
            ("'it''s|strng'", "it's|strng", "'", "''"),
            ("\"a\\t\\u00fc|strng\"", "a\t\u{fc}|strng", "strng", "strng"),
            ("\"a\\t\\u00fc|strng\"", "a\t\u{fc}|strng", "\u{fc}", "\\u00fc"),
            ("\"\u{fc}\\\"|strng\"", "\u{fc}\"|strng", "strng", "strng"),
            ("\"a \\\n   |strng\"", "a |strng", "strng", "strng"),
            ("a |\n    strng", "a | strng", "strng", "strng"),
            (">\n  a |\n  strng\n", "a | strng\n", "strng", "strng"),
            ("M.or(\n      M.strng())", "M.or(\n  M.strng())\n", "strng", "strng"),
            ("|\n    M.or(\n      M.strng())\n", "M.or(\n  M.strng())\n", "strng", "strng"),
        ] {
            let source = format!("key: {raw}\n");
            let mut places = Places::new(&source);
            let span = places.add(text, &(5..5 + raw.len()));
            let start = span.start + text.find(part).unwrap();
            let place = places.in_file(start..start + part.len());
            assert_eq!(source.get(place), Some(found), "{raw:?}");
            assert_eq!(places.in_file(2..3), 2..3);
        }
        // A text that does not match its written form has the place of the whole.
        let mut places = Places::new("key: abc");
        let span = places.add("xyz", &(5..8));
        assert_eq!(places.in_file(span.start + 1..span.start + 2), 5..8);
    }
}
