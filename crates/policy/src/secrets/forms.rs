//! The spellings of a secret's value for the search.

use super::Wiped;

/// The spelling that is the value itself.
pub(super) const AS_WRITTEN: &str = "as written";
const BASE64: &str = "base64";
const HEX: &str = "hexadecimal";
const FORM: &str = "as in a form";
const ONE_LINE: &str = "without line breaks";

/// The minimum length of a value in bytes. A shorter value would be found everywhere, so it is not searched for.
const MIN_LEN: usize = 4;

/// The minimum length of a value, in bytes, for a search in all spellings. Shorter values are only searched for
/// unchanged and as hexadecimal digits, because their other spellings are too short.
const MIN_ENCODED_LEN: usize = 6;

/// A spelling of a value.
pub(super) struct Form {
    /// The index of the secret among the names.
    pub(super) secret: usize,
    /// The name of the spelling, in words.
    pub(super) spelling: &'static str,
    /// The bytes to search for.
    pub(super) text: Wiped,
    /// Whether upper and lower case count as equal.
    any_case: bool,
}

impl Form {
    /// Returns whether the spelling occurs in the text at a place.
    pub(super) fn stands_at(&self, text: &[u8], start: usize) -> bool {
        let Some(there) = text.get(start..start + self.text.len()) else { return false };
        if self.any_case { there.eq_ignore_ascii_case(&self.text) } else { there == &**self.text }
    }
}

/// Returns all spellings of a value.
pub(super) fn spellings(secret: usize, value: &[u8]) -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    let mut add = |spelling, text: Vec<u8>, any_case| {
        let text = Wiped::new(text);
        if text.len() >= MIN_LEN && !forms.iter().any(|form| form.text == text) {
            forms.push(Form { secret, spelling, text, any_case });
        }
    };
    if value.len() < MIN_LEN {
        return forms;
    }
    add(AS_WRITTEN, value.to_vec(), false);
    add(HEX, hex(value, None), true);
    if value.len() < MIN_ENCODED_LEN {
        return forms;
    }
    for separator in [b' ', b':'] {
        add(HEX, hex(value, Some(separator)), true);
    }
    for before in 0..3 {
        for alphabet in [STANDARD, URL] {
            add(BASE64, base64(value, before, alphabet), false);
        }
    }
    if value.contains(&b' ') {
        add(FORM, value.iter().map(|&byte| if byte == b' ' { b'+' } else { byte }).collect(), false);
    }
    if value.contains(&b'\n') {
        let line: Vec<u8> = value.iter().copied().filter(|byte| !b"\r\n".contains(byte)).collect();
        add(ONE_LINE, line, false);
    }
    forms
}

fn hex(value: &[u8], separator: Option<u8>) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = Vec::with_capacity(value.len() * 3);
    for (at, byte) in value.iter().enumerate() {
        if let (Some(separator), true) = (separator, at > 0) {
            text.push(separator);
        }
        text.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    text
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns base64 digits of the value after `before` other bytes: only those digits that depend on the value alone.
fn base64(value: &[u8], before: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let mut bytes = Wiped::new(vec![0; before]);
    bytes.extend_from_slice(value);
    let digit = |at: usize| {
        let bit = at * 6;
        let two = u16::from(bytes[bit / 8]) << 8 | u16::from(bytes.get(bit / 8 + 1).copied().unwrap_or(0));
        alphabet[usize::from(two >> (10 - bit % 8) & 63)]
    };
    let first = (before * 8).div_ceil(6);
    (first..bytes.len() * 8 / 6).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_a_value_is_found_at_every_offset() {
        // This encoder works like any ordinary one.
        let whole = |bytes: &[u8]| {
            let mut padded = bytes.to_vec();
            padded.extend([0; 3]);
            base64(&padded, 0, STANDARD)
        };
        for length in 6..40_usize {
            let value: Vec<u8> = (0..length).map(|at| (at * 37 + 200) as u8).collect();
            for before in 0..7_usize {
                for after in 0..4_usize {
                    let mut bytes = vec![0xA7; before];
                    bytes.extend(&value);
                    bytes.extend(vec![0x5C; after]);
                    let text = whole(&bytes);
                    let core = base64(&value, before % 3, STANDARD);
                    assert!(core.len() >= length);
                    assert!(
                        text.windows(core.len()).any(|part| part == core),
                        "{length} bytes after {before}, before {after}"
                    );
                }
            }
        }
    }

    #[test]
    fn short_values_have_few_spellings() {
        assert!(spellings(0, b"abc").is_empty());
        assert_eq!(spellings(0, b"abcd").len(), 2);
        assert_eq!(spellings(0, b"swordfish").len(), 7);
    }
}
