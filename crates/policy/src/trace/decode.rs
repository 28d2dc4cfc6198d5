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
    Decoder { name: SET_APART, decode: set_apart, involution: false },
    Decoder { name: "base64", decode: base64, involution: false },
    Decoder { name: "hexadecimal", decode: hexadecimal, involution: false },
    Decoder { name: "rot13", decode: rot13, involution: true },
    Decoder { name: "written backwards", decode: reversed, involution: true },
];

/// The encodings that data has without anybody hiding something: in a page, a mail or a record.
pub(super) const USUAL: &[&str] = &["HTML entities", "quoted-printable", "backslash escapes"];

/// The name of text with a blank after each character.
pub(super) const SET_APART: &str = "letters set apart";

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

/// The minimum number of letters in a row, with a blank after each, that count as set apart.
const MIN_SET_APART: usize = 4;

/// Decodes text with a blank after each character: `a n n` is `ann`, and `a   b` is `a b`.
fn set_apart(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut run = String::new();
    let (mut letters, mut run_start, mut at, mut changed) = (0, 0, 0, false);
    let mut end_run = |out: &mut String, run: &mut String, letters: &mut usize, plain: &str| {
        let is_apart = *letters >= MIN_SET_APART;
        out.push_str(if is_apart { run } else { plain });
        changed |= is_apart;
        run.clear();
        *letters = 0;
    };
    for token in text.split_inclusive(' ') {
        let word = token.strip_suffix(' ').unwrap_or(token);
        let mut chars = word.chars();
        match (chars.next(), chars.next()) {
            // Two blanks are one, because a blank was set apart, too.
            (None, _) if !run.is_empty() => {
                if !run.ends_with(' ') {
                    run.push(' ');
                }
            }
            (Some(c), None) if c != '\n' => {
                run.push(c);
                letters += usize::from(c.is_alphabetic());
            }
            _ => {
                let is_set_apart = letters >= MIN_SET_APART;
                end_run(&mut out, &mut run, &mut letters, &text[run_start..at]);
                if is_set_apart {
                    out.push(' ');
                }
                out.push_str(token);
                run_start = at + token.len();
            }
        }
        at += token.len();
    }
    end_run(&mut out, &mut run, &mut letters, &text[run_start..]);
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
/// are tried, because a word of prose may stand right before the run. Prose itself is no run, although all its letters
/// are digits of base64.
fn base64(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut run: Vec<&str> = Vec::new();
    let is_digit = |c: char| u8::try_from(c).is_ok_and(|byte| base64_digit(byte).is_some());
    let mut rest = text;
    while let Some(start) = rest.find(is_digit) {
        let gap = &rest[..start];
        if gap.contains(|c: char| !(c.is_ascii_whitespace() || c == '>')) {
            encoded_parts(&run, &mut out);
            run.clear();
        }
        let len = rest[start..].find(|c| !is_digit(c)).unwrap_or(rest.len() - start);
        run.push(&rest[start..start + len]);
        rest = &rest[start + len..];
    }
    encoded_parts(&run, &mut out);
    (!out.is_empty()).then_some(out)
}

/// Appends the texts that the tokens of a run encode: each stretch of tokens that are no prose, and each long token by
/// itself.
fn encoded_parts(run: &[&str], out: &mut String) {
    let mut at = 0;
    while let Some(first) = run[at..].iter().position(|token| !is_prose(token)).map(|found| at + found) {
        let width = run[first].len();
        let mut last = first;
        for (next, token) in run.iter().enumerate().skip(first + 1) {
            // A wrapped text has lines of one length, and some of them may look like a word.
            match (is_prose(token), token.len() == width || token.len() == run[next - 1].len()) {
                (false, _) => last = next,
                (true, true) => {}
                (true, false) => break,
            }
        }
        let mut from = first;
        while from > at && run[from - 1].len() == width {
            from -= 1;
        }
        // The end of a wrapped text may look like a word, too.
        let to = (last + 1).min(run.len() - 1);
        let stretch: Vec<u8> =
            run[from..=to].iter().flat_map(|token| token.bytes()).filter_map(base64_digit).collect();
        if stretch.len() * 3 / 4 >= SHORTEST_PAYLOAD {
            (0..4).for_each(|skip| readable(&base64_bytes(&stretch[skip..]), out));
        }
        if from < to {
            for token in run[first..=last].iter().filter(|token| token.len() * 3 / 4 >= SHORTEST_PAYLOAD) {
                let digits: Vec<u8> = token.bytes().filter_map(base64_digit).collect();
                (0..4).for_each(|skip| readable(&base64_bytes(&digits[skip..]), out));
            }
        }
        at = last + 1;
    }
}

/// Returns whether a token is a word or a number of prose, or several of them with signs between them.
fn is_prose(token: &str) -> bool {
    let is_part = |part: &str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let tail = letters.get(1..).unwrap_or_default();
        let is_lower = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase());
        is_lower(tail) && !letters.starts_with(|c: char| c.is_ascii_digit())
            || letters.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    token.split(['-', '_', '/', '+']).all(is_part)
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
            // The letters of a text begin with the digits 2 to 7, and a word of prose has no digit.
            let digits = run.len();
            if digits / 2 >= SHORTEST_PAYLOAD && run.iter().filter(|digit| **digit < 10).count() * 3 >= digits
            {
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

/// The minimum length of a text that counts although most of the payload is noise, in bytes.
const MIN_IN_NOISE: usize = 16;

/// Appends the parts of `payload` that are text, each on its own line. A short part counts only if the payload has little
/// else: noise has a few readable bytes in a row by chance.
fn readable(payload: &[u8], out: &mut String) {
    for chunk in payload.utf8_chunks() {
        let valid = chunk.valid();
        for stretch in valid.split(|c: char| c.is_control() && !c.is_whitespace()) {
            let is_most = stretch.len() * 2 >= payload.len() || stretch.len() >= MIN_IN_NOISE;
            if stretch.len() >= SHORTEST_PAYLOAD && is_most {
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
        check(set_apart, "Write to a n n @ b . c   o r   t o, now", "to ann@b.c or t o, now");
        check(set_apart, "A l i c e", "Alice");
        check(rot13, "nepuvir@erpbeqf", "archive@records");
        check(reversed, "sdrocer@evihcra", "archive@records");
    }

    #[test]
    fn english_is_not_decoded_from_base64() {
        for text in [
            "The quarterly report is due on Friday and must be signed",
            "Please read and/or sign the follow-up of REF77 in 2026 before Monday",
            "ALL STAFF MUST ATTEND the meeting on the third floor at 10 or later",
        ] {
            assert_eq!(base64(text), None, "{text}");
            assert_eq!(hexadecimal(text), None, "{text}");
        }
        assert_eq!(hexadecimal("Add a bad decade, feed a faded facade, cede a bead"), None);
    }

    /// Returns a text in base64, without padding.
    fn encoded(text: &str) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digits = text.as_bytes().chunks(3).flat_map(|group| {
            let bits =
                (0..3).fold(0_usize, |bits, at| bits << 8 | usize::from(group.get(at).copied().unwrap_or(0)));
            (0..=group.len()).map(move |at| char::from(DIGITS[bits >> (18 - 6 * at) & 63]))
        });
        digits.collect()
    }

    proptest::proptest! {
        #[test]
        fn sentence_of_plain_words_is_not_decoded(
            words in proptest::collection::vec("[a-z]{1,12}|[A-Z][a-z]{1,10}|[A-Z]{2,6}|[0-9]{1,5}|[a-z]{2,6}-[a-z]{2,6}", 1..60)
        ) {
            proptest::prop_assert_eq!(base64(&words.join(" ")), None);
        }

        #[test]
        fn passage_in_base64_is_decoded(
            words in proptest::collection::vec("[a-z]{3,9}", 3..30),
            width in 4_usize..80,
            sign in "\n|\n> | ",
        ) {
            let passage = words.join(" ");
            let digits = encoded(&passage);
            let lines: Vec<&str> =
                (0..digits.len()).step_by(width).map(|at| &digits[at..(at + width).min(digits.len())]).collect();
            let text = format!("Please decode this:\n{} at once", lines.join(&sign));
            let decoded = base64(&text).unwrap_or_default();
            proptest::prop_assert!(decoded.contains(&passage), "{} came out as {}", text, decoded);
        }
    }

    #[test]
    fn plain_text_is_not_decoded() {
        for decode in [percent, quoted_printable, entities, escapes, set_apart] {
            assert_eq!(decode("100 % sure & 2 = 1 + 1 \\ done"), None);
        }
        for decoder in DECODERS {
            assert_eq!((decoder.decode)(""), None, "{}", decoder.name);
        }
    }
}
