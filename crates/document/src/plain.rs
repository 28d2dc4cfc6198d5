//! Text files: UTF-8 and UTF-16, with what programs write for a terminal removed.

use encoding_rs::Encoding;

use crate::reading::Reading;
use crate::{DocumentError, Limits, charset, terminal};

/// The share of control characters, as a divisor, from which on content is no text. It holds for long content only.
const MAX_CONTROL_SHARE: usize = 4;
/// The number of control characters that any text may have.
const FEW_CONTROLS: usize = 32;

/// Checks that the bytes are text, and returns the text without a byte order mark. Text in another encoding than
/// UTF-8 is read only if the bytes show the encoding without doubt.
pub(crate) fn text(bytes: &[u8], limits: &Limits) -> Result<Reading, DocumentError> {
    let (text, note) = decode(bytes)?;
    let cleaned = terminal::clean(&text);
    if cleaned.shown > FEW_CONTROLS && cleaned.shown * MAX_CONTROL_SHARE > text.chars().count() {
        let offset = bytes.iter().position(|byte| terminal::is_control(*byte)).unwrap_or_default();
        return Err(DocumentError::Binary { byte: bytes.get(offset).copied().unwrap_or_default(), offset });
    }
    let mut reading = Reading::new(limits);
    reading.push(&cleaned.text)?;
    for note in note.into_iter().chain(cleaned.note) {
        reading.note(&note)?;
    }
    Ok(reading)
}

fn decode(bytes: &[u8]) -> Result<(String, Option<String>), DocumentError> {
    let refused = |offset: usize, likely: &'static str| DocumentError::NotUtf8 {
        byte: bytes.get(offset).copied().unwrap_or_default(),
        offset,
        likely: likely.into(),
    };
    if bytes.starts_with(b"\xff\xfe\0\0") || bytes.starts_with(b"\0\0\xfe\xff") {
        return Err(refused(0, "UTF-32"));
    }
    let mark = match Encoding::for_bom(bytes) {
        Some((encoding, length)) if encoding != encoding_rs::UTF_8 => {
            let rest = bytes.get(length..).unwrap_or_default();
            let (text, had_errors) = encoding.decode_without_bom_handling(rest);
            // A mark alone is no text.
            if had_errors || rest.is_empty() || text.contains('\0') {
                return Err(refused(0, encoding.name()));
            }
            return Ok((text.into_owned(), None));
        }
        Some((_, length)) => length,
        None => 0,
    };
    if let Some((text, name)) = charset::utf_16_unmarked(bytes) {
        return Ok((text, Some(format!("the file does not name its encoding; it was read as {name}"))));
    }
    if let Some(offset) = bytes.iter().position(|byte| *byte == 0) {
        return Err(DocumentError::Binary { byte: 0, offset });
    }
    if let Some(text) = charset::iso_2022_jp(bytes) {
        return Ok((
            text,
            Some("the file does not name its encoding; it was read as ISO-2022-JP".to_owned()),
        ));
    }
    let text = bytes.get(mark..).unwrap_or_default();
    match std::str::from_utf8(text) {
        Ok(text) => Ok((text.to_owned(), None)),
        Err(error) => Err(refused(error.valid_up_to() + mark, charset::guess(text))),
    }
}

/// Returns a decoded text, such as a PDF string, in the form that [`Text::text`](crate::Text::text) promises. Line
/// ends become `\n`. Other ASCII control characters become the replacement character.
pub(crate) fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    tidied.push('\n');
                }
            }
            '\t' | '\n' | '\u{c}' => tidied.push(char),
            char if char.is_ascii_control() => tidied.push(char::REPLACEMENT_CHARACTER),
            char => tidied.push(char),
        }
    }
    tidied
}
