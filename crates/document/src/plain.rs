//! Text files: UTF-8 without control characters that do not occur in text.

use crate::DocumentError;

/// The byte order mark that some editors put before UTF-8 text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Checks that the bytes are UTF-8 text, and returns the text without a byte order mark.
pub(crate) fn text(bytes: &[u8]) -> Result<String, DocumentError> {
    // UTF-16 text has many NULs. The error reports the encoding, not the first NUL.
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

/// Checks that no byte is a control character that does not occur in text. The check works for every encoding that
/// extends ASCII.
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

/// Returns a decoded text, such as a mail part or a PDF string, in the form that [`Text::text`](crate::Text::text)
/// promises. Line ends become `\n`. Other ASCII control characters become the replacement character.
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
