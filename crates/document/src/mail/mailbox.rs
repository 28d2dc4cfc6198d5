//! The mails of a file: one mail, or a mailbox (mbox) with several. Programs put other things before a mail; they are
//! removed here.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::charset;

/// The maximum number of lines before the header that are skipped.
const MAX_SKIPPED: usize = 5;
/// The maximum number of header lines that are looked at to recognize a mail.
const MAX_HEADER_LINES: usize = 200;
/// The beginnings of the properties after the mail of an `.emlx` file.
const PROPERTIES: &[&[u8]] = &[b"<?xml", b"<!DOCTYPE plist", b"<plist"];
/// The beginning of the line before each mail of a mailbox.
const FROM_LINE: &[u8] = b"From ";

/// Header fields of mails, in lower case.
const FIELDS: &[&str] = &[
    "bcc",
    "cc",
    "content-transfer-encoding",
    "content-type",
    "date",
    "delivered-to",
    "dkim-signature",
    "from",
    "in-reply-to",
    "message-id",
    "mime-version",
    "received",
    "references",
    "reply-to",
    "return-path",
    "sender",
    "subject",
    "to",
    "user-agent",
    "x-mailer",
];

/// Returns the bytes of a mail file with plain line ends, in an encoding that extends ASCII, without a byte order mark.
pub(super) fn normalize(bytes: &[u8]) -> Cow<'_, [u8]> {
    let bytes = charset::as_utf_8(bytes);
    // Old programs of the Mac end lines with a carriage return alone.
    if bytes.contains(&b'\r') && !bytes.contains(&b'\n') {
        let lines = bytes.iter().map(|byte| if *byte == b'\r' { b'\n' } else { *byte });
        return Cow::Owned(lines.collect());
    }
    bytes
}

/// Returns the mails of a file.
pub(super) fn mails(bytes: &[u8]) -> Vec<Cow<'_, [u8]>> {
    if !bytes.starts_with(FROM_LINE) {
        return vec![Cow::Borrowed(bytes)];
    }
    let mut starts = Vec::new();
    let mut at = 0;
    let mut is_after_blank = true;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let next = bytes.get(at + line.len()..).unwrap_or_default();
        if line.starts_with(FROM_LINE) && is_after_blank && (at == 0 || is_header_line(first_line(next))) {
            starts.push(at);
        }
        is_after_blank = line.trim_ascii().is_empty();
        at += line.len();
    }
    starts.push(bytes.len());
    let pieces = starts.windows(2).filter_map(|piece| match piece {
        [from, to] => bytes.get(*from..*to),
        _ => None,
    });
    let mails = pieces.map(|piece| without_quoted_from(piece.get(line_length(piece)..).unwrap_or_default()));
    mails.filter(|mail| !mail.trim_ascii().is_empty()).collect()
}

/// Returns the lines before the header, which belong to no mail, and the mail.
pub(super) fn header_start(mail: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    for _ in 0..=MAX_SKIPPED {
        let rest = mail.get(at..).unwrap_or_default();
        let line = first_line(rest);
        if is_header_line(line) {
            return mail.split_at_checked(at).unwrap_or((&[], mail));
        }
        if rest.is_empty() {
            break;
        }
        at += line_length(rest);
    }
    (&[], mail)
}

/// Returns the mail of an `.emlx` file of Apple Mail, and a note if the file's first line, the length of the mail, is
/// wrong. Properties in XML follow the mail. Every other file is returned as it is.
pub(super) fn without_length(bytes: &[u8]) -> (&[u8], Option<String>) {
    let line = first_line(bytes).trim_ascii();
    let mail = bytes.get(line_length(bytes)..).unwrap_or_default();
    let length =
        std::str::from_utf8(line).ok().filter(|line| line.len() <= 10).and_then(|line| line.parse().ok());
    let Some(length) = length.filter(|_: &usize| is_header_line(first_line(mail))) else {
        return (bytes, None);
    };
    let is_end = |rest: &[u8]| {
        let rest = rest.trim_ascii_start();
        rest.is_empty() || PROPERTIES.iter().any(|start| rest.starts_with(start))
    };
    if let Some((named, _)) = mail.split_at_checked(length).filter(|(_, rest)| is_end(rest)) {
        return (named, None);
    }
    let is_properties = |at: &usize| {
        let rest = mail.get(*at..).unwrap_or_default();
        PROPERTIES.iter().any(|start| rest.starts_with(start))
    };
    let mut ends = mail.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let end = ends.rfind(is_properties).unwrap_or(mail.len());
    let note = if length > end {
        format!("incomplete: by its first line, the file has {length} bytes of mail; it has {end}")
    } else {
        format!("by its first line, the file has {length} bytes of mail; all its {end} bytes were read")
    };
    (mail.get(..end).unwrap_or(mail), Some(note))
}

/// Returns a mail of a mailbox with its lines as they were: `>From ` stands for `From ` at the start of a line.
fn without_quoted_from(mail: &[u8]) -> Cow<'_, [u8]> {
    let is_quoted = |line: &[u8]| {
        line.starts_with(b">")
            && line
                .trim_ascii_start()
                .iter()
                .position(|byte| *byte != b'>')
                .is_some_and(|at| line.get(at..).is_some_and(|rest| rest.starts_with(FROM_LINE)))
    };
    let lines = || mail.split_inclusive(|byte| *byte == b'\n');
    if !lines().any(is_quoted) {
        return Cow::Borrowed(mail);
    }
    let unquoted = lines().map(|line| if is_quoted(line) { line.get(1..).unwrap_or_default() } else { line });
    Cow::Owned(unquoted.flatten().copied().collect())
}

/// Returns whether content begins like a mail, with at least `least` different header fields of mails.
pub(crate) fn is_mail(bytes: &[u8], least: usize) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let bytes = if bytes.starts_with(FROM_LINE) {
        bytes.get(line_length(bytes)..).unwrap_or_default()
    } else {
        bytes
    };
    let mut fields: BTreeSet<&str> = BTreeSet::new();
    for line in bytes.split(|byte| *byte == b'\n').take(MAX_HEADER_LINES) {
        if line.trim_ascii().is_empty() {
            break;
        }
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            continue;
        }
        if !is_header_line(line) {
            return false;
        }
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default().to_ascii_lowercase();
        fields.extend(FIELDS.iter().copied().filter(|field| field.as_bytes() == name));
    }
    fields.len() >= least
}

/// Returns whether a line of a header is neither a field nor the rest of one.
pub(super) fn is_stray(line: &[u8]) -> bool {
    let is_rest = line.starts_with(b" ") || line.starts_with(b"\t");
    !is_rest && !line.trim_ascii().is_empty() && !is_header_line(line) && !line.starts_with(FROM_LINE)
}

fn is_header_line(line: &[u8]) -> bool {
    let name = line.iter().position(|byte| *byte == b':').and_then(|at| line.get(..at)).unwrap_or_default();
    !name.is_empty() && name.len() < 100 && name.trim_ascii_end().iter().all(u8::is_ascii_graphic)
}

fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.get(..line_length(bytes)).unwrap_or_default()
}

/// Returns the length of the first line with its end.
fn line_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mailbox_is_split_into_its_mails() {
        let check = |bytes: &str, expected: &[&str]| {
            let found = mails(bytes.as_bytes());
            let found: Vec<_> = found.iter().map(|mail| String::from_utf8_lossy(mail)).collect();
            assert_eq!(found, expected);
        };
        check("From: a\n\nx", &["From: a\n\nx"]);
        check(
            "From a Mon\nFrom: a\n\nx\n\nFrom b Tue\nFrom: b\n\ny\n",
            &["From: a\n\nx\n\n", "From: b\n\ny\n"],
        );
        // A line of the text that begins with "From " separates nothing.
        check(
            "From a Mon\nFrom: a\n\nFrom here on\nno header\n\nFrom me.\n",
            &["From: a\n\nFrom here on\nno header\n\nFrom me.\n"],
        );
        check("From a\nFrom: a\n\n>From here\n>>From b\n", &["From: a\n\nFrom here\n>From b\n"]);
        check("", &[""]);
    }

    #[test]
    fn wrong_length_of_an_emlx_file_is_noted() {
        let check = |bytes: &str, expected: &str, note: &str| {
            let (mail, found) = without_length(bytes.as_bytes());
            assert_eq!(String::from_utf8_lossy(mail), expected);
            assert!(found.as_deref().unwrap_or_default().starts_with(note), "{found:?}");
            assert_eq!(found.is_some(), !note.is_empty(), "{found:?}");
        };
        let mail = "From: a\n\nx\n";
        check(&format!("11\n{mail}<?xml?>"), mail, "");
        check(&format!("11        \n{mail}"), mail, "");
        check(
            &format!("5\n{mail}<?xml?>"),
            mail,
            "by its first line, the file has 5 bytes of mail; all its 11",
        );
        check(&format!("500\n{mail}"), mail, "incomplete: by its first line, the file has 500 bytes");
        check(&format!("500\n{mail}<?xml?>"), mail, "incomplete: by its first line");
        check("12\nno mail\n", "12\nno mail\n", "");
        check(mail, mail, "");
    }

    #[test]
    fn lines_before_the_header_are_skipped() {
        let check = |mail: &str, before: &str, start: &str| {
            let (skipped, rest) = header_start(mail.as_bytes());
            assert_eq!(skipped, before.as_bytes());
            assert!(rest.starts_with(start.as_bytes()), "{mail}");
        };
        check("From: a\n", "", "From: a");
        check("\n\nFrom: a\n", "\n\n", "From: a");
        // A line of MailStore: s1t5/mail-archiver#560, jstedfast/MimeKit#1089.
        let banner = "Microsoft Mail Internet Headers Version 2.0\n";
        check(&format!("{banner}Received: x\n"), banner, "Received");
        check("just some words\n", "", "just some words");
    }

    #[test]
    fn mail_is_recognized_by_its_header() {
        let check = |content: &str, least: usize, expected: bool| {
            assert_eq!(is_mail(content.as_bytes(), least), expected, "{content}");
        };
        check("Return-Path: <a>\nReceived: x\n\ty\nFrom: a\nSubject: s\n\nx", 3, true);
        check("From a Mon\nFrom: a\nTo: b\nDate: c\n\nx", 3, true);
        check("\u{feff}From: a\nTo: b\nDate: c\n\nx", 3, true);
        check("Subject: words\n\nx", 3, false);
        check("Subject: words\n\nx", 1, true);
        check("name: value\nother: value\nthird: value\n", 1, false);
        check("HTTP/1.1 200 OK\nDate: x\nContent-Type: y\n", 1, false);
    }
}
