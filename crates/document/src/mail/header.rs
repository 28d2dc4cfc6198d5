//! The values of header lines as a person reads them.

use crate::charset;
use crate::mail::transfer::quoted_printable;
use crate::reading::one_line;

/// The maximum length of an encoded word. The standard allows 75 characters, and senders do not keep to it.
const MAX_WORD: usize = 8 << 10;

/// Returns a header value on one line, with its encoded words decoded. A word that cannot be decoded stands as it is.
pub(super) fn decode(raw: &[u8]) -> String {
    let raw = charset::decode(raw, None).text;
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw.as_str();
    // The bytes of adjacent words of one encoding, since a sender may split a character between two words.
    let mut pending: Option<(String, Vec<u8>)> = None;
    let mut ends = Ends { text: raw.as_str(), next: Some(0) };
    while let Some((before, word, after)) = next_word(rest, &mut ends) {
        if !(pending.is_some() && before.trim().is_empty()) {
            flush(&mut text, &mut pending);
            text.push_str(before);
        }
        match &mut pending {
            Some((label, bytes)) if *label == word.label => bytes.extend(word.bytes),
            _ => {
                flush(&mut text, &mut pending);
                pending = Some((word.label, word.bytes));
            }
        }
        rest = after;
    }
    flush(&mut text, &mut pending);
    text.push_str(rest);
    one_line(&text)
}

fn flush(text: &mut String, pending: &mut Option<(String, Vec<u8>)>) {
    if let Some((label, bytes)) = pending.take() {
        text.push_str(&charset::decode(&bytes, Some(&label)).text);
    }
}

/// An encoded word: `=?LABEL?B?…?=` or `=?LABEL?Q?…?=`.
struct EncodedWord {
    label: String,
    bytes: Vec<u8>,
}

/// Returns the text before the next encoded word, the word, and the text after it.
fn next_word<'a>(text: &'a str, ends: &mut Ends<'_>) -> Option<(&'a str, EncodedWord, &'a str)> {
    let mut from = 0;
    while let Some(at) = text.get(from..)?.find("=?") {
        let start = from + at;
        if let Some((word, after)) = word(text.get(start + 2..)?, ends) {
            return Some((text.get(..start)?, word, after));
        }
        from = start + 2;
    }
    None
}

/// The ends of words in a header value. A search that found one end holds for every word before it.
struct Ends<'a> {
    text: &'a str,
    /// The position of the next end, or `None` if no more follows.
    next: Option<usize>,
}

impl Ends<'_> {
    /// Returns the length of the text before the next end in `rest`, which is the end of the header value.
    fn before(&mut self, rest: &str) -> Option<usize> {
        let from = self.text.len() - rest.len();
        let is_end = self.text.get(self.next?..).is_some_and(|text| text.starts_with("?="));
        if self.next? < from || !is_end {
            self.next = rest.find("?=").map(|at| from + at);
        }
        Some(self.next? - from)
    }
}

fn word<'a>(text: &'a str, ends: &mut Ends<'_>) -> Option<(EncodedWord, &'a str)> {
    let (label, rest) = text.split_once('?')?;
    let (kind, rest) = rest.split_once('?')?;
    // The text of a word may begin with `=`, so the search for the end begins after its first character.
    let skipped = usize::from(rest.starts_with('='));
    let end = skipped + ends.before(rest.get(skipped..)?)?;
    if text.len() - rest.len() + end > MAX_WORD {
        return None;
    }
    let (body, after) = (rest.get(..end)?, rest.get(end + 2..)?);
    let is_label =
        |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.' | ':' | '*' | '+');
    if label.is_empty() || !label.chars().all(is_label) {
        return None;
    }
    let bytes = match kind {
        "B" | "b" => super::transfer::decode(body.as_bytes(), "base64").bytes.into_owned(),
        "Q" | "q" => quoted_printable(body.replace('_', " ").as_bytes()),
        _ => return None,
    };
    let label = label.split('*').next().unwrap_or_default().to_ascii_lowercase();
    Some((EncodedWord { label, bytes }, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_words_are_decoded_and_broken_ones_kept() {
        let check = |raw: &[u8], expected: &str| assert_eq!(decode(raw), expected);
        check(b" plain\r\n text ", "plain text");
        check(b"=?utf-8?Q?Gr=C3=BC=C3=9Fe?= and", "Grüße and");
        check(b"=?ISO-2022-JP?B?GyRCQEE1YT1xGyhC?=", "請求書");
        // A character is split between two words.
        check(b"=?utf-8?Q?Gr=C3?=\r\n =?utf-8?Q?=BC=C3=9Fe?=", "Grüße");
        check(b"=?utf-8?Q?a?= =?iso-8859-1?Q?=E9?= b", "aé b");
        check(b"=?utf-8*en?q?a_b?= <x@y.example>", "a b <x@y.example>");
        // The word has no end: smiley22/S22.Imap#80.
        check(
            b"=?ISO-8859-1?Q?=Sender=\n <some@mail.example>",
            "=?ISO-8859-1?Q?=Sender= <some@mail.example>",
        );
        check(b"=?utf-8?X?no?= =?a b?Q?no?=", "=?utf-8?X?no?= =?a b?Q?no?=");
        check("roh: Grüße".as_bytes(), "roh: Grüße");
        check(b"=?utf-8?B?b25lCkZyb206IGV2aWw=?=", "one From: evil");
        check(b"", "");
    }

    #[test]
    fn long_header_is_decoded_in_one_pass() {
        // Each of these takes minutes if the end of a word is searched anew at each place.
        for (part, decoded) in [
            ("=?a?b? ", "=?a?b? "),
            ("=?utf-8?q?a?= ", "a"),
            ("=?", "=?"),
            ("=??= ", "=??= "),
            ("=?utf-8?q?a", "=?utf-8?q?a"),
        ] {
            let count = 1_000_000 / part.len();
            assert_eq!(decode(part.repeat(count).as_bytes()), one_line(&decoded.repeat(count)), "{part}");
        }
    }
}
