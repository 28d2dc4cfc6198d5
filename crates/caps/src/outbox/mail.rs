//! One message, in the format of mail.
//!
//! The bytes depend only on the mail and the step, so that every try writes the same. The headers `Date` and `From`
//! are left to the mailer that takes the message from the spool. The mailer knows both, and this module must not.

use std::fmt::Write as _;

use kernel::id::{BlobHash, StepRef};

/// The maximum length of a line of encoded text, without its line break.
const MAX_LINE_LEN: usize = 76;

/// A mail to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mail<'a> {
    /// The receiver: one checked address.
    pub(super) to: &'a str,
    /// The subject, which is one line.
    pub(super) subject: &'a str,
    /// The text of the mail.
    pub(super) body: &'a str,
    /// The texts that are attached to the mail.
    pub(super) attachments: &'a [&'a str],
}

impl Mail<'_> {
    /// Returns the number of bytes of all texts in the mail.
    pub(super) fn bytes(&self) -> u64 {
        [self.subject, self.body].iter().chain(self.attachments).map(|text| text.len() as u64).sum()
    }

    /// Returns the message as a mailer reads it. `origin` differs between stores, so that no two stores write the
    /// same `Message-ID`.
    pub(super) fn compose(&self, step: StepRef, origin: &str) -> Vec<u8> {
        let mut out = String::new();
        let mut header = |name: &str, value: &str| {
            let _ = write!(out, "{name}: {value}\r\n");
        };
        header("To", self.to);
        header("Subject", &encoded_words(self.subject));
        header("Message-ID", &format!("<{}.{}.{origin}@almoner.invalid>", step.run, step.step));
        header("MIME-Version", "1.0");
        if self.attachments.is_empty() {
            text_part(&mut out, self.body, None);
            return out.into_bytes();
        }
        let boundary = self.boundary();
        let _ = write!(out, "Content-Type: multipart/mixed; boundary=\"{boundary}\"\r\n\r\n");
        let names = (1..).map(|number| Some(format!("attachment-{number}.txt")));
        let texts = std::iter::once(self.body).chain(self.attachments.iter().copied());
        for (text, name) in texts.zip(std::iter::once(None).chain(names)) {
            let _ = write!(out, "--{boundary}\r\n");
            text_part(&mut out, text, name.as_deref());
        }
        let _ = write!(out, "--{boundary}--\r\n");
        out.into_bytes()
    }

    /// Returns a boundary that occurs in no part, because quoted-printable never writes `=_`.
    fn boundary(&self) -> String {
        let mut all = self.body.to_owned();
        self.attachments.iter().for_each(|text| all.push_str(text));
        format!("=_{}", BlobHash::of(all.as_bytes()).short())
    }
}

/// Writes a text part with its headers. The part ends with a line break.
fn text_part(out: &mut String, text: &str, name: Option<&str>) {
    out.push_str("Content-Type: text/plain; charset=utf-8\r\n");
    if let Some(name) = name {
        let _ = write!(out, "Content-Disposition: attachment; filename=\"{name}\"\r\n");
    }
    out.push_str("Content-Transfer-Encoding: quoted-printable\r\n\r\n");
    for line in text.split('\n') {
        quoted_printable(out, line.strip_suffix('\r').unwrap_or(line));
        out.push_str("\r\n");
    }
}

/// Writes one line as quoted-printable, folded. Plain text stays readable.
fn quoted_printable(out: &mut String, line: &str) {
    let mut width = 0;
    let mut bytes = line.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        let is_last = bytes.peek().is_none();
        // Mailers remove blanks at the end of a line. At the start of a line, `From ` and `.` have a special meaning
        // for them.
        let is_plain = match byte {
            b' ' | b'\t' => !is_last,
            b'.' | b'F' => at > 0,
            b'=' => false,
            _ => byte.is_ascii_graphic(),
        };
        let needed = if is_plain { 1 } else { 3 };
        if width + needed + usize::from(!is_last) > MAX_LINE_LEN {
            out.push_str("=\r\n");
            width = 0;
        }
        width += needed;
        if is_plain {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "={byte:02X}");
        }
    }
}

/// Returns the text of a header. Plain ASCII is unchanged, and any other text is written in encoded words.
fn encoded_words(text: &str) -> String {
    if text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) && !text.contains("=?") {
        return text.to_owned();
    }
    let mut words = vec![String::new()];
    for c in text.chars() {
        let mut encoded = String::new();
        let mut buffer = [0; 4];
        for byte in c.encode_utf8(&mut buffer).bytes() {
            match byte {
                b' ' => encoded.push('_'),
                _ if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
                _ => {
                    let _ = write!(encoded, "={byte:02X}");
                }
            }
        }
        // `=?UTF-8?Q?` and `?=` take twelve of the 75 characters of a word.
        if words.last().is_some_and(|word| word.len() + encoded.len() > 63) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push_str(&encoded);
        }
    }
    let words: Vec<String> = words.iter().map(|word| format!("=?UTF-8?Q?{word}?=")).collect();
    words.join("\r\n ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::id::RunNumber;

    fn compose(mail: &Mail<'_>) -> String {
        let step = StepRef { run: RunNumber(17), step: 9 };
        String::from_utf8(mail.compose(step, "abcd")).unwrap()
    }

    #[test]
    fn plain_mail_is_composed_without_encoding() {
        let mail =
            Mail { to: "a@b.example", subject: "Hello", body: "Dear all,\n\nas agreed.", attachments: &[] };
        assert_eq!(
            compose(&mail),
            "To: a@b.example\r\nSubject: Hello\r\nMessage-ID: <r17.9.abcd@almoner.invalid>\r\nMIME-Version: 1.0\r\n\
             Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
             Dear all,\r\n\r\nas agreed.\r\n"
        );
    }

    #[test]
    fn special_characters_in_mail_are_encoded() {
        let body = format!("Grüße \n.\nFrom here\na=b\r\n{}", "x".repeat(200));
        let mail =
            Mail { to: "a@b", subject: "Grüße an alle", body: &body, attachments: &["--=_\n", "Ä"] };
        let text = compose(&mail);
        assert!(text.contains("Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe_an_alle?=\r\n"), "{text}");
        for part in [
            "Gr=C3=BC=C3=9Fe=20\r\n=2E\r\n=46rom here\r\na=3Db\r\nxxx",
            "filename=\"attachment-2.txt\"",
            "=C3=84",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.is_ascii());
        assert!(text.split("\r\n").all(|line| line.len() <= 78 && !line.contains(['\r', '\n'])), "{text}");
        let boundary = text.split("boundary=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(text.matches(&format!("\r\n--{boundary}")).count(), 4);
    }

    #[test]
    fn subject_cannot_inject_a_header() {
        for subject in ["a\r\nBcc: x@y", "a\nb", "=?UTF-8?Q?=0D=0ABcc?=", "é".repeat(200).as_str()] {
            let text = compose(&Mail { to: "a@b", subject, body: "", attachments: &[] });
            let headers: Vec<&str> = text.split("\r\n").take_while(|line| !line.is_empty()).collect();
            let names: Vec<&str> = headers
                .iter()
                .filter(|line| !line.starts_with(' '))
                .map(|line| line.split(':').next().unwrap())
                .collect();
            assert_eq!(
                names,
                ["To", "Subject", "Message-ID", "MIME-Version", "Content-Type", "Content-Transfer-Encoding"],
                "{subject:?}"
            );
        }
    }
}
