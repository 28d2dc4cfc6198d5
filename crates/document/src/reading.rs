//! The text of a document while it is read, with the notes about what is not in it.

use std::collections::HashSet;

use crate::{DocumentError, Limits};

/// The maximum number of notes that are listed one by one. The text has all of them.
const MAX_NOTES: usize = 40;

/// The text of a document while it is read.
#[derive(Debug)]
pub(crate) struct Reading {
    text: String,
    notes: Vec<String>,
    /// The maximum length of the text, in bytes.
    limit: usize,
    /// The limit of the whole document, for the error.
    whole: usize,
}

impl Reading {
    /// Returns an empty text within the limits.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { text: String::new(), notes: Vec::new(), limit: limits.text, whole: limits.text }
    }

    /// Returns an empty text for a part of this one. It has the room that is left here.
    pub(crate) fn part(&self) -> Self {
        Self { text: String::new(), notes: Vec::new(), limit: self.room(), whole: self.whole }
    }

    /// Returns the number of bytes that can still be added.
    pub(crate) fn room(&self) -> usize {
        self.limit.saturating_sub(self.text.len())
    }

    /// Adds text.
    ///
    /// # Errors
    /// [`DocumentError::TooMuchText`] when the text becomes longer than the limit.
    pub(crate) fn push(&mut self, text: &str) -> Result<(), DocumentError> {
        if text.len() > self.room() {
            return Err(DocumentError::TooMuchText { limit: self.whole });
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Adds text as lines of their own, after an empty line if there is other text. Blank text adds nothing.
    pub(crate) fn push_block(&mut self, text: &str) -> Result<(), DocumentError> {
        let text = text.trim_matches('\n').trim_end();
        if text.trim().is_empty() {
            return Ok(());
        }
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.push("\n")?;
        }
        self.push(text)?;
        self.push("\n")
    }

    /// Adds a note to the text, as a line in brackets, and to the notes.
    pub(crate) fn note(&mut self, note: &str) -> Result<(), DocumentError> {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.push("\n")?;
        }
        self.push(&format!("[{note}]\n"))?;
        self.notes.push(note.to_owned());
        Ok(())
    }

    /// Adds the text and the notes of a part.
    pub(crate) fn append(&mut self, part: Self) -> Result<(), DocumentError> {
        self.push_block(&part.text)?;
        self.notes.extend(part.notes);
        Ok(())
    }

    /// Adds the text and the notes of a document that stands inside this one.
    pub(crate) fn append_inner(&mut self, name: &str, inner: crate::Text) -> Result<(), DocumentError> {
        self.push_block(&inner.text)?;
        self.notes.extend(inner.notes.into_iter().map(|note| format!("{name}: {note}")));
        Ok(())
    }

    /// Adds the notes of a part whose text is not added.
    pub(crate) fn append_notes(&mut self, part: Self) -> Result<(), DocumentError> {
        part.notes.iter().try_for_each(|note| self.note(note))
    }

    /// Returns the lines of the text, without those of the notes.
    pub(crate) fn body(&self) -> String {
        let notes: HashSet<&str> = self.notes.iter().map(String::as_str).collect();
        let is_note = |line: &str| {
            let inner = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
            inner.is_some_and(|inner| notes.contains(inner))
        };
        self.text.lines().filter(|line| !is_note(line)).map(|line| format!("{line}\n")).collect()
    }

    /// Returns the text so far, with the notes.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text and the notes. Of many notes, the last ones are only counted.
    pub(crate) fn finish(mut self) -> (String, Vec<String>) {
        if self.notes.len() > MAX_NOTES {
            let more = self.notes.len() - (MAX_NOTES - 1);
            self.notes.truncate(MAX_NOTES - 1);
            self.notes.push(format!("{more} more notes like these stand in the text for the model"));
        }
        (self.text, self.notes)
    }

    /// Returns all the notes, and forgets the text.
    pub(crate) fn into_notes(self) -> Vec<String> {
        self.notes
    }
}

/// Returns a number of bytes with its unit, such as `12 KiB` or `1.5 MiB`.
pub fn size(bytes: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.iter().find(|(_, unit)| bytes >= *unit) {
        None => count(usize::try_from(bytes).unwrap_or(usize::MAX), "byte", "bytes"),
        Some((name, unit)) => {
            let tenths = bytes.saturating_mul(10) / unit;
            match tenths % 10 {
                0 => format!("{} {name}", tenths / 10),
                tenth => format!("{}.{tenth} {name}", tenths / 10),
            }
        }
    }
}

/// Returns two numbers of bytes with their units. If the units hide the difference, both are in bytes.
pub fn sizes(found: u64, limit: u64) -> (String, String) {
    let both = (size(found), size(limit));
    if both.0 == both.1 { (format!("{found} bytes"), format!("{limit} bytes")) } else { both }
}

/// Returns a count with its noun, such as `1 page` or `2 pages`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Returns a foreign value on one line. Otherwise it could contain a line break, and with it a forged line.
pub(crate) fn one_line(value: &str) -> String {
    value
        .split(|char: char| char.is_whitespace() || char.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns whether a text has nothing to read: only blanks, and characters that take no room. Some senders write the
/// name of a hard blank into plain text.
pub(crate) fn is_blank(text: &str) -> bool {
    text.split("&nbsp;").flat_map(str::chars).all(|char| {
        char.is_whitespace()
            || char.is_control()
            || matches!(char, '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_has_a_unit_and_at_most_one_decimal() {
        let check = |bytes: u64, expected: &str| assert_eq!(size(bytes), expected);
        check(0, "0 bytes");
        check(1, "1 byte");
        check(1023, "1023 bytes");
        check(12 << 10, "12 KiB");
        check(1536, "1.5 KiB");
        check(10 << 20, "10 MiB");
        check((10 << 20) + 1, "10 MiB");
        check(3 << 30, "3 GiB");
    }

    #[test]
    fn many_notes_are_counted() {
        let mut reading = Reading::new(&Limits::default());
        for number in 0..100 {
            reading.note(&format!("left out: part {number}")).unwrap();
        }
        let (text, notes) = reading.finish();
        assert_eq!(text.lines().count(), 100);
        assert_eq!(notes.len(), MAX_NOTES);
        assert_eq!(notes.last().unwrap(), "61 more notes like these stand in the text for the model");
    }
}
