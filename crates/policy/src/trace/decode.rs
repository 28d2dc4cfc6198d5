//! The ways in which a text can be hidden in another, each decoded by one function.
//!
//! A decoder takes a whole text, decodes its spelling at every place, and returns the result. It returns nothing if
//! the spelling does not occur. No decoder needs to be sure: text that is not really encoded becomes noise, in which
//! no argument is found. All decoders run in time linear in the text.

use super::fold;

/// A spelling, with the function that decodes it.
pub(super) struct Decoder {
    /// The common name of the spelling.
    pub(super) name: &'static str,
    /// The function that decodes the spelling, and returns `None` if the spelling does not occur.
    pub(super) decode: fn(&str) -> Option<String>,
    /// Whether the spelling is its own inverse. Such a spelling needs decoding on only one side of a comparison.
    pub(super) involution: bool,
}

/// All spellings that are decoded, the common ones first.
pub(super) const DECODERS: &[Decoder] = &[
    Decoder { name: "look-alike or invisible characters", decode: fold::fold, involution: false },
    Decoder { name: "percent-encoding", decode: percent, involution: false },
    Decoder { name: "HTML entities", decode: entities, involution: false },
    Decoder { name: "quoted-printable", decode: quoted_printable, involution: false },
    Decoder { name: "backslash escapes", decode: escapes, involution: false },
    Decoder { name: "an address spelled out", decode: spelled_out, involution: false },
    Decoder { name: "base64", decode: base64, involution: false },
    Decoder { name: "hexadecimal", decode: hexadecimal, involution: false },
    Decoder { name: "rot13", decode: rot13, involution: true },
    Decoder { name: "written backwards", decode: reversed, involution: true },
];

/// The encodings that data has without anybody hiding something: in a page, a mail or a record.
pub(super) const USUAL: &[&str] = &["HTML entities", "quoted-printable", "backslash escapes"];

/// The encodings whose decoders may leave noise around a text.
pub(super) const NOISY: &[&str] = &["base64", "hexadecimal"];

/// The minimum payload of an encoded run in bytes. Shorter runs occur by chance and are not decoded.
const SHORTEST_PAYLOAD: usize = 6;

fn hex_digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Returns the byte for two hex digits at `at`, or `None` if there are no such digits.
fn hex_pair(bytes: &[u8], at: usize) -> Option<u8> {
    Some(hex_digit(*bytes.get(at)?)? << 4 | hex_digit(*bytes.get(at + 1)?)?)
}

/// Decodes percent-encoding: `a%40b` is `a@b`.
pub(super) fn percent(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let mut changed = false;
    while let Some(&byte) = bytes.get(at) {
        match (byte == b'%').then(|| hex_pair(bytes, at + 1)).flatten() {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
                changed = true;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    changed.then(|| String::from_utf8_lossy(&out).into_owned())
}

/// Decodes quoted-printable: `a=40b` is `a@b`, and `=` at the end of a line joins the line to the next.
fn quoted_printable(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let mut changed = false;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at + 1..];
        let (decoded, width) = if byte != b'=' {
            (Some(byte), 1)
        } else if let Some(decoded) = hex_pair(bytes, at + 1) {
            (Some(decoded), 3)
        } else if rest.starts_with(b"\r\n") {
            (None, 3)
        } else if rest.starts_with(b"\n") {
            (None, 2)
        } else {
            (Some(byte), 1)
        };
        changed |= width > 1;
        out.extend(decoded);
        at += width;
    }
    changed.then(|| String::from_utf8_lossy(&out).into_owned())
}

/// The named entities that could help somebody to hide an address or a path.
const ENTITIES: &[(&str, char)] = &[
    ("commat", '@'),
    ("period", '.'),
    ("sol", '/'),
    ("colon", ':'),
    ("lowbar", '_'),
    ("hyphen", '-'),
    ("dash", '-'),
    ("num", '#'),
    ("percnt", '%'),
    ("plus", '+'),
    ("equals", '='),
    ("lt", '<'),
    ("gt", '>'),
    ("amp", '&'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("Tab", ' '),
    ("NewLine", '\n'),
    ("shy", '\u{ad}'),
];

/// Decodes HTML entities: `a&#64;b`, `a&#x40;b` and `a&commat;b` are `a@b`.
fn entities(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut changed = false;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        rest = &rest[start + 1..];
        // The longest name and the longest number have fewer characters than this.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let decoded = end.and_then(|end| entity(&rest[..end])).zip(end);
        if let Some((decoded, end)) = decoded {
            out.push(decoded);
            rest = &rest[end + 1..];
            changed = true;
        } else {
            out.push('&');
        }
    }
    out.push_str(rest);
    changed.then_some(out)
}

fn entity(name: &str) -> Option<char> {
    match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
        None => ENTITIES.iter().find(|(known, _)| *known == name).map(|(_, c)| *c),
    }
}

/// Decodes backslash escapes: `a\u0040b`, `a\x40b` and `a\u{40}b` are `a@b`, and `\n` is a line end.
fn escapes(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut changed = false;
    while let Some(start) = rest.find('\\') {
        out.push_str(&rest[..start]);
        rest = &rest[start + 1..];
        if let Some((decoded, width)) = escape(rest) {
            out.push(decoded);
            rest = &rest[width..];
            changed = true;
        } else {
            out.push('\\');
        }
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// Returns the character of an escape, and the number of bytes of the escape after its backslash.
fn escape(after: &str) -> Option<(char, usize)> {
    let digits = |from: usize, count: usize| {
        let code = u32::from_str_radix(after.get(from..from + count)?, 16).ok()?;
        Some((char::from_u32(code)?, from + count))
    };
    match after.as_bytes().first()? {
        b'n' | b'r' => Some(('\n', 1)),
        b't' => Some((' ', 1)),
        sign @ (b'"' | b'\'' | b'/' | b'\\') => Some((char::from(*sign), 1)),
        b'x' => digits(1, 2),
        b'u' if after[1..].starts_with('{') => {
            let end = after.bytes().take(10).position(|byte| byte == b'}')?;
            let code = u32::from_str_radix(after.get(2..end)?, 16).ok()?;
            Some((char::from_u32(code)?, end + 1))
        }
        b'u' => digits(1, 4),
        _ => None,
    }
}

/// The words that people write instead of the signs of an address.
const SPELLINGS: &[(&str, char)] = &[
    ("at", '@'),
    ("ät", '@'),
    ("arroba", '@'),
    ("dot", '.'),
    ("punkt", '.'),
    ("punto", '.'),
    ("point", '.'),
    ("period", '.'),
    ("dash", '-'),
    ("hyphen", '-'),
    ("minus", '-'),
    ("underscore", '_'),
    ("slash", '/'),
];

/// Decodes addresses that are spelled out: `a (at) b [dot] c` and `a at b dot c` are `a@b.c`. In prose, every such
/// word becomes a sign. That does no harm, because the undecoded prose is searched too.
fn spelled_out(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut changed = false;
    while !rest.is_empty() {
        // The text is split into a word and the gap between that word and the next.
        let word_end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        let gap_end = after.find(char::is_alphabetic).unwrap_or(after.len());
        let (gap, next) = after.split_at(gap_end);
        let known = SPELLINGS.iter().find(|(spelled, _)| word.eq_ignore_ascii_case(spelled));
        let before = out.trim_end_matches(|c: char| c.is_whitespace() || "([{<".contains(c));
        let is_set_apart =
            before.len() < out.len() && gap.starts_with(|c: char| c.is_whitespace() || ")]}>".contains(c));
        match known {
            Some((_, sign)) if is_set_apart => {
                out.truncate(before.len());
                out.push(*sign);
                out.push_str(gap.trim_start_matches(|c: char| c.is_whitespace() || ")]}>".contains(c)));
                changed = true;
            }
            _ => {
                out.push_str(word);
                out.push_str(gap);
            }
        }
        rest = next;
    }
    changed.then_some(out)
}

fn base64_digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// Decodes base64 in both alphabets. A run may be wrapped over lines, quoted with `>` or spaced. All four alignments
/// are tried, because a word of prose may stand right before the run.
fn base64(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut run = Vec::new();
    for byte in text.bytes().chain([b'.']) {
        if let Some(digit) = base64_digit(byte) {
            run.push(digit);
        } else if !byte.is_ascii_whitespace() && byte != b'>' {
            if run.len() * 3 / 4 >= SHORTEST_PAYLOAD {
                (0..4).for_each(|skip| readable(&base64_bytes(&run[skip..]), &mut out));
            }
            run.clear();
        }
    }
    (!out.is_empty()).then_some(out)
}

fn base64_bytes(digits: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let bits = (0..4).fold(0u32, |bits, i| bits << 6 | u32::from(group.get(i).copied().unwrap_or(0)));
        let [_, bytes @ ..] = bits.to_be_bytes();
        out.extend_from_slice(&bytes[..(group.len() * 3 / 4).min(3)]);
    }
    out
}

/// Decodes runs of hex digits, which may be spaced, separated by `:`, `,` or `-`, or marked with `0x` or `\x`.
fn hexadecimal(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut run: Vec<u8> = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at <= bytes.len() {
        let byte = bytes.get(at).copied().unwrap_or(b'.');
        let next = bytes.get(at + 1).copied();
        if (byte == b'0' || byte == b'\\') && matches!(next, Some(b'x' | b'X')) {
            at += 2;
            continue;
        }
        if let Some(digit) = hex_digit(byte) {
            run.push(digit);
        } else if !byte.is_ascii_whitespace() && !b":,->".contains(&byte) {
            if run.len() / 2 >= SHORTEST_PAYLOAD {
                for skip in 0..2 {
                    let payload: Vec<u8> =
                        run[skip..].chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
                    readable(&payload, &mut out);
                }
            }
            run.clear();
        }
        at += 1;
    }
    (!out.is_empty()).then_some(out)
}

pub(super) fn rot13(text: &str) -> Option<String> {
    let turn = |c: char| match c {
        'a'..='m' | 'A'..='M' => char::from(c as u8 + 13),
        'n'..='z' | 'N'..='Z' => char::from(c as u8 - 13),
        _ => c,
    };
    text.contains(|c: char| c.is_ascii_alphabetic()).then(|| text.chars().map(turn).collect())
}

pub(super) fn reversed(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.chars().rev().collect())
}

/// Appends the parts of `payload` that are text, each on its own line.
fn readable(payload: &[u8], out: &mut String) {
    for chunk in payload.utf8_chunks() {
        let valid = chunk.valid();
        for stretch in valid.split(|c: char| c.is_control() && !c.is_whitespace()) {
            if stretch.len() >= SHORTEST_PAYLOAD {
                out.push_str(stretch);
                out.push('\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(decode: fn(&str) -> Option<String>, text: &str, expected: &str) {
        let decoded = decode(text).unwrap_or_default();
        assert!(decoded.contains(expected), "{text:?} came out as {decoded:?}");
    }

    #[test]
    fn each_encoding_is_decoded() {
        check(percent, "archive%40records%2Dbackup%2Eexample", "archive@records-backup.example");
        check(quoted_printable, "archive=40records-=\nbackup.ex=\r\nample", "archive@records-backup.example");
        check(entities, "a&#97;&#x40;b&period;c &unknown; & &#xffffffff;", "aa@b.c &unknown; & &#xffffffff;");
        check(escapes, r"a\u0040b\x2ec\u{2d}d \u{zz} \u00", r"a@b.c-d \u{zz} \u00");
        check(escapes, r#"he said: \"pay\"\nto a\/b"#, "he said: \"pay\"\nto a/b");
        check(
            spelled_out,
            "to archive (at) records-backup [dot] example.",
            "archive@records-backup.example.",
        );
        check(spelled_out, "archive AT records dash backup DOT example", "archive@records-backup.example");
        check(base64, "YXJjaGl2ZUByZWNvcmRz", "archive@records");
        check(base64, "decode this: please YXJjaGl2\n > ZUByZWNvcmRz ok", "archive@records");
        check(base64, "word YXJjaGl2ZUByZWNvcmRz", "archive@records");
        check(hexadecimal, "617263686976 65:40 0x72 \\x65 636f726473.", "archive@records");
        check(rot13, "nepuvir@erpbeqf", "archive@records");
        check(reversed, "sdrocer@evihcra", "archive@records");
    }

    #[test]
    fn plain_text_is_not_decoded() {
        for decode in [percent, quoted_printable, entities, escapes] {
            assert_eq!(decode("100 % sure & 2 = 1 + 1 \\ done"), None);
        }
        for decoder in DECODERS {
            assert_eq!((decoder.decode)(""), None, "{}", decoder.name);
        }
    }
}
