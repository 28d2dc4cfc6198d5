//! The body of a private key: base64 in any layout that people and programs give it.
//!
//! Lines may be of any length, indented, quoted, escaped or joined by spaces, behind headers of any length. Text about
//! keys has words where a key has base64, and words are not as mixed.

/// The length of a body at least, in letters and digits.
const MIN_LEN: usize = 40;

/// The length of a body of PuTTY at least. A short number is the whole private part of some kinds of key.
const MIN_PUTTY_LEN: usize = 20;

/// The number of letters and digits by which base64 is told from words.
const SAMPLE_LEN: usize = 64;

/// The distance within which one long line is a body, whatever stands around it, in bytes.
const MAX_BEFORE: usize = 512;

/// The signs around base64 in quotes of mails, in comments and in code.
const AROUND: &[u8] = b">|#*;:%!\"'`,.()[]{}<\\-~$&?";

/// Returns whether the body of a key stands at the beginning of a text, behind headers if there are any.
pub(super) fn stands_at(text: &[u8]) -> bool {
    // Another key, or the end of this one, ends the body.
    let text = &text[..find_marker(text, b"BEGIN").unwrap_or(text.len())];
    let text = &text[..find_marker(text, b"END").unwrap_or(text.len())];
    let near = &text[..text.len().min(MAX_BEFORE)];
    near.split(|byte| !is_base64(byte)).any(|run| run.len() >= MIN_LEN) || {
        let body = Body::read(text);
        body.len >= MIN_LEN && body.is_mixed()
    }
}

/// Returns whether the private part of a key of PuTTY stands at the beginning of a text.
pub(super) fn begins_at(text: &[u8]) -> bool {
    let body = Body::read(text);
    body.len >= MIN_PUTTY_LEN && body.is_mixed()
}

/// Returns the place of a word behind dashes, such as `BEGIN` or `END`, at which the first line or the last line of a key
/// begins.
pub(super) fn find_marker(text: &[u8], word: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(text, word).find(|at| {
        let before = &text[..*at];
        before.ends_with(b"--") || before.ends_with(b"-- ")
    })
}

fn is_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(byte)
}

/// The base64 at the beginning of a text, as far as it is needed.
#[derive(Default)]
struct Body {
    /// The number of letters and digits.
    len: usize,
    upper: usize,
    lower: usize,
    digits: usize,
}

impl Body {
    fn read(text: &[u8]) -> Body {
        let mut body = Body::default();
        // Headers end with an empty line. Their values may go on in lines of any form.
        let mut is_in_headers = false;
        for line in lines(text) {
            let words =
                || line.split(u8::is_ascii_whitespace).map(without_signs).filter(|word| !word.is_empty());
            let is_plain = words().all(|word| word.iter().all(is_base64));
            match words().count() {
                0 => is_in_headers = false,
                _ if body.len == 0 && is_header(line) => is_in_headers = true,
                // In headers, only a line of one word can be a body that follows without an empty line.
                count if is_plain && (count == 1 || !is_in_headers) => body.add(line),
                _ if is_in_headers => {}
                _ => break,
            }
            if body.len >= SAMPLE_LEN {
                break;
            }
        }
        body
    }

    fn add(&mut self, line: &[u8]) {
        for byte in line.iter().filter(|byte| byte.is_ascii_alphanumeric()) {
            self.len += 1;
            match byte {
                b'A'..=b'Z' => self.upper += 1,
                b'a'..=b'z' => self.lower += 1,
                _ => self.digits += 1,
            }
        }
    }

    /// Returns whether capitals, small letters and digits are mixed as in base64. In words of a language, few are
    /// capitals.
    fn is_mixed(&self) -> bool {
        let letters = self.upper + self.lower;
        self.digits > 0 && self.upper * 5 >= letters && self.lower * 5 >= letters
    }
}

/// Returns whether a line begins with the name of a header, such as `DEK-Info:`. A number before a colon is one of a
/// line.
fn is_header(line: &[u8]) -> bool {
    let begin = line.iter().position(u8::is_ascii_alphanumeric).unwrap_or(line.len());
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    let name = line[begin..].iter().take_while(|byte| is_name(byte)).count();
    line[begin..].first().is_some_and(u8::is_ascii_alphabetic) && line.get(begin + name) == Some(&b':')
}

/// Returns a word without the signs around it. Signs alone are no word.
fn without_signs(word: &[u8]) -> &[u8] {
    let is_inside = |byte: &u8| !AROUND.contains(byte);
    match (word.iter().position(is_inside), word.iter().rposition(is_inside)) {
        (Some(first), Some(last)) if word.iter().any(u8::is_ascii_alphanumeric) => &word[first..=last],
        _ => &[],
    }
}

/// Returns the lines of a text. An escaped line break counts as one.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let found = memchr::memchr3_iter(b'\n', b'\\', b'%', text)
            // Of many backslashes, the first one tells.
            .filter(|at| !text[..*at].ends_with(b"\\") || text[*at] == b'\n')
            .find_map(|at| Some((at, break_len(&text[at..])?)));
        let (line, next) = match found {
            Some((at, length)) => (&text[..at], Some(&text[at + length..])),
            None => (text, None),
        };
        rest = next;
        Some(line)
    })
}

/// Returns the length of the line break at the beginning of a text: a plain one, or one with escapes.
fn break_len(text: &[u8]) -> Option<usize> {
    match text {
        [b'\n', ..] => Some(1),
        [b'\\', ..] => {
            let signs = text.iter().take_while(|byte| **byte == b'\\').count();
            matches!(text.get(signs), Some(b'n' | b'r')).then_some(signs + 1)
        }
        [b'%', b'0', b'a' | b'A' | b'd' | b'D', ..] => Some(3),
        _ => None,
    }
}
