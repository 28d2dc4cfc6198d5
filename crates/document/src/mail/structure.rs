//! The parts of a mail, as the parser finds them.
//!
//! The parser nests mails in mails without a limit, and frees them by recursion, so a mail could use up the stack. It
//! also decodes each encoded mail, and copies it for each mail in it. So the parser sees no mails in mails: their types
//! are masked. The reader reads such a part as a mail of its own, to a limited depth.

use std::borrow::Cow;

use mail_parser::{Message, MessageParser};

/// The subtypes by which the parser knows mails in mails, in lower case.
const NESTED: &[&str] = &["rfc822", "global", "digest"];
/// The character that masks the last one of such a subtype.
const MASK: u8 = b'_';
/// The maximum number of bytes in which boundaries are searched. Each is searched in the whole rest of the mail.
const MAX_SEARCHED: usize = 4 << 30;

/// Returns a mail with the subtypes of mails in mails masked, wherever they stand. Its length stays.
pub(super) fn mask(mail: &[u8]) -> Cow<'_, [u8]> {
    let mut masked = Cow::Borrowed(mail);
    for name in NESTED {
        for at in places(mail, name.as_bytes()) {
            let (before, after) = (at.checked_sub(1).and_then(|at| mail.get(at)), mail.get(at + name.len()));
            // Within a longer word, it is no such subtype.
            let is_in_word = [before, after].into_iter().flatten().any(u8::is_ascii_alphanumeric);
            if !is_in_word && let Some(last) = masked.to_mut().get_mut(at + name.len() - 1) {
                *last = MASK;
            }
        }
    }
    masked
}

/// Returns a value of a masked mail as it was.
pub(super) fn unmask(value: &str) -> Cow<'_, str> {
    let mut unmasked = Cow::Borrowed(value);
    for name in NESTED {
        let (kept, last) = name.split_at(name.len() - 1);
        for at in places(value.as_bytes(), format!("{kept}_").as_bytes()) {
            let (from, to) = (at + kept.len(), at + name.len());
            let is_upper = value.as_bytes().get(from - 1).is_some_and(u8::is_ascii_uppercase);
            let last = if is_upper { last.to_ascii_uppercase() } else { last.to_owned() };
            unmasked.to_mut().replace_range(from..to, &last);
        }
    }
    unmasked
}

/// Returns the parts of a masked mail. The raw bytes are those of the mail itself.
pub(super) fn parse<'x>(masked: &'x [u8], mail: &'x [u8]) -> Option<Message<'x>> {
    let mut message = MessageParser::default().parse(masked)?;
    message.raw_message = Cow::Borrowed(mail);
    Some(message)
}

/// Returns whether the search for the boundaries of a mail would take too long.
pub(super) fn is_tangled(mail: &[u8]) -> bool {
    let multiparts = places(mail, b"multipart").count().min(places(mail, b"boundary").count());
    multiparts.saturating_mul(mail.len()) > MAX_SEARCHED
}

/// Returns the places of a word in any case.
fn places<'a>(text: &'a [u8], word: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let first = word.first().copied().unwrap_or_default();
    let starts = text.iter().enumerate().filter(move |(_, byte)| byte.eq_ignore_ascii_case(&first));
    starts
        .map(|(at, _)| at)
        .filter(|at| text.get(*at..*at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_values_are_unmasked() {
        let check = |value: &str, masked: &str| {
            assert_eq!(mask(value.as_bytes()).escape_ascii().to_string(), masked);
            assert_eq!(unmask(masked), value);
        };
        check("message/rfc822", "message/rfc82_");
        check("message / RFC822;", "message / RFC82_;");
        check("GLOBAL report, global.pdf", "GLOBA_ report, globa_.pdf");
        check("multipart/Digest", "multipart/Diges_");
        check("text/rfc822-headers", "text/rfc82_-headers");
        check("globally digested", "globally digested");
    }

    #[test]
    fn mail_is_tangled_by_boundaries_and_length() {
        let nested = "Content-Type: multipart/mixed; boundary=b\n\n";
        assert!(!is_tangled(nested.repeat(1000).as_bytes()));
        assert!(is_tangled(nested.repeat(20_000).as_bytes()));
        assert!(!is_tangled("multipart ".repeat(1_000_000).as_bytes()));
    }
}
