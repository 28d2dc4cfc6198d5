//! Text files: UTF-8, and nothing that a text does not contain.

use crate::DocumentError;

/// The byte order mark that some editors put before UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Checks that the bytes are text in UTF-8 and hands them back without the byte order mark.
pub(crate) fn text(bytes: &[u8]) -> Result<String, DocumentError> {
    // UTF-16 is full of NULs. So the error reports the encoding, not the first NUL.
    if let [byte @ 0xff, 0xfe, ..] | [byte @ 0xfe, 0xff, ..] = bytes {
        return Err(DocumentError::NotUtf8 { byte: *byte, offset: 0 });
    }
    no_controls(bytes)?;
    let text = bytes.strip_prefix(MARK).unwrap_or(bytes);
    let skipped = bytes.len() - text.len();
    match std::str::from_utf8(text) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let offset = error.valid_up_to();
            Err(DocumentError::NotUtf8 {
                byte: text.get(offset).copied().unwrap_or_default(),
                offset: offset + skipped,
            })
        }
    }
}

/// Refuses the first byte that does not occur in a text of any ASCII-compatible encoding.
pub(crate) fn no_controls(bytes: &[u8]) -> Result<(), DocumentError> {
    match bytes.iter().position(|byte| is_control(*byte)) {
        Some(offset) => {
            Err(DocumentError::Binary { byte: bytes.get(offset).copied().unwrap_or_default(), offset })
        }
        None => Ok(()),
    }
}

fn is_control(byte: u8) -> bool {
    byte == 0x7f || (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c))
}

/// Returns a decoded text, such as a mail part or a PDF string, in a form that keeps the promise of
/// [`Text::text`](crate::Text::text). Line ends become `\n`, other controls the replacement character.
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
