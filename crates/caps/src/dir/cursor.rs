//! The place at which the next part of a long answer begins.
//!
//! A cursor holds all that is needed to go on, so it survives restarts. It names the last entry of the part before by
//! its place in the order: the newest first, then by path, then by line.

use std::cmp::Ordering;

use kernel::proposal::Finding;
use passable::visible_line;

/// The maximum size of the items of one answer, in bytes. A longer answer would not reach a model as a whole.
pub(super) const MAX_ANSWER_BYTES: usize = 40 << 10;

/// The size that an item has in an answer beside its own text, in bytes.
pub(super) const ITEM_BYTES: usize = 8;

/// Takes items from the front of `all` until there are `most`, or they fill an answer. At least one is taken.
pub(super) fn fitting<T>(
    all: &mut std::iter::Peekable<impl Iterator<Item = T>>,
    most: usize,
    text: impl Fn(&T) -> &str,
) -> Vec<T> {
    let (mut part, mut bytes) = (Vec::new(), 0);
    while part.len() < most {
        let fits = |item: &T| part.is_empty() || bytes + text(item).len() + ITEM_BYTES <= MAX_ANSWER_BYTES;
        let Some(item) = all.next_if(fits) else { break };
        bytes += text(&item).len() + ITEM_BYTES;
        part.push(item);
    }
    part
}

/// The maximum length of a cursor, in UTF-16 units. Each byte of a path has at most three.
pub(super) const MAX_LEN: u64 = 3 * 1024 + 64;

/// A place in the order of an answer. Entries behind this place belong to the next part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// The time of the last change, in nanoseconds since 1970.
    pub(super) modified: i64,
    /// The last line that was shown, or 0 if the whole file was.
    pub(super) line: u64,
    /// The path.
    pub(super) path: String,
}

impl Cursor {
    /// Returns the order of two entries: the newest first, then by path.
    pub(super) fn order(one: (i64, &str), other: (i64, &str)) -> Ordering {
        other.0.cmp(&one.0).then_with(|| one.1.cmp(other.1))
    }

    /// Returns whether an entry stands behind this place.
    pub(super) fn is_before(&self, modified: i64, path: &str) -> bool {
        Cursor::order((self.modified, &self.path), (modified, path)) == Ordering::Less
    }

    /// Returns whether this place lies within a file, behind a line of it.
    pub(super) fn is_within(&self, modified: i64, path: &str) -> bool {
        self.line > 0 && (self.modified, self.path.as_str()) == (modified, path)
    }

    /// Returns the cursor as text. It has only characters that a model repeats exactly.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}.{}.", self.modified, self.line);
        for byte in self.path.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                    text.push(char::from(byte))
                }
                _ => text.push_str(&format!("%{byte:02x}")),
            }
        }
        text
    }

    /// Reads the cursor of an earlier answer.
    ///
    /// # Errors
    /// When the text is no cursor.
    pub(super) fn read(text: &str) -> Result<Cursor, Box<Finding>> {
        parse(text).ok_or_else(|| {
            let shown: String = text.chars().take(100).collect();
            Box::new(
                Finding::new("dir/cursor", "this is not the `next` of an earlier answer")
                    .at("after")
                    .counter_example(visible_line(&shown))
                    .allowed("the `next` of the answer before, unchanged; left out: from the beginning"),
            )
        })
    }
}

fn parse(text: &str) -> Option<Cursor> {
    let mut parts = text.splitn(3, '.');
    let (modified, line) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let mut rest = parts.next()?.bytes();
    let mut path = Vec::new();
    while let Some(byte) = rest.next() {
        path.push(match byte {
            b'%' => {
                let digit =
                    |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                digit(rest.next()?)? << 4 | digit(rest.next()?)?
            }
            byte => byte,
        });
    }
    Some(Cursor { modified, line, path: String::from_utf8(path).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_text_is_plain_and_read_back() {
        for path in ["a.md", "app/[id]/p q.txt", "cafe\u{301}\u{202f}☃.txt", "100%.md", ""] {
            let cursor = Cursor { modified: -5, line: 7, path: path.to_owned() };
            let text = cursor.text();
            assert!(text.is_ascii() && !text.contains([' ', '"', '\\']), "{text}");
            assert_eq!(Cursor::read(&text).unwrap(), cursor);
        }
        for text in ["", "x", "1.2", "1.x.a", "1.2.%f", "1.2.%ff", "yesterday"] {
            assert_eq!(Cursor::read(text).unwrap_err().rule, "dir/cursor", "{text}");
        }
    }

    #[test]
    fn newer_entries_stand_before_older_ones() {
        let at = Cursor { modified: 10, line: 0, path: "m".to_owned() };
        for (modified, path, is_behind) in
            [(9, "a", true), (10, "n", true), (10, "m", false), (10, "a", false), (11, "z", false)]
        {
            assert_eq!(at.is_before(modified, path), is_behind, "{modified} {path}");
        }
    }
}
