//! The text of a mail: the header lines that matter to a reader, and then the body.

use std::fmt::Write as _;

use mail_parser::{Address, HeaderName, Message, MessageParser, MimeHeaders as _};

use crate::guard::guarded;
use crate::plain::{no_controls, tidy};
use crate::{DocumentError, Limits};

/// Returns the text of a mail: `From`, `To`, `Cc`, `Subject`, `Date`, the names of the attachments, an empty line,
/// and the text parts. If a mail has only HTML, its markup is removed.
pub(crate) fn text(bytes: &[u8], limits: &Limits) -> Result<String, DocumentError> {
    // The body may have any encoding that extends ASCII, so only control characters are rejected here.
    no_controls(bytes)?;
    let rendered = guarded(|| match MessageParser::default().parse(bytes) {
        Some(message) => render(&message, limits),
        None => Err(DocumentError::MailBroken { reason: "it has no header".into() }),
    });
    match rendered {
        Ok(rendered) => rendered,
        Err(reason) => Err(DocumentError::MailBroken { reason }),
    }
}

fn render(message: &Message<'_>, limits: &Limits) -> Result<String, DocumentError> {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name}: {value}");
        }
    };
    if message.from().is_none() && message.date().is_none() && message.subject().is_none() {
        return Err(DocumentError::MailBroken { reason: "it has no From, Date or Subject line".into() });
    }
    line("From", addresses(message.from()));
    line("To", addresses(message.to()));
    line("Cc", addresses(message.cc()));
    line("Subject", one_line(message.subject().unwrap_or_default()));
    // The date is kept as it is written, because its time zone says something about the sender.
    line("Date", one_line(message.header_raw(HeaderName::Date).unwrap_or_default()));
    let attachments: Vec<String> = message
        .attachments()
        .map(|part| one_line(part.attachment_name().unwrap_or("(without a name)")))
        .collect();
    line("Attachments", attachments.join(", "));

    let mut bodies = 0;
    for position in 0..message.text_body_count() {
        let Some(body) = message.body_text(position).filter(|body| !body.trim().is_empty()) else { continue };
        bodies += 1;
        if text.len() + body.len() > limits.text {
            return Err(DocumentError::TooMuchText { limit: limits.text });
        }
        text.push('\n');
        text.push_str(tidy(&body).trim_end());
        text.push('\n');
    }
    // A mail may consist of its subject alone. But if the content is in attachments, the header is not its text.
    if bodies == 0 && !attachments.is_empty() {
        return Err(DocumentError::MailWithoutText { attachments: attachments.len() });
    }
    Ok(text)
}

fn addresses(address: Option<&Address<'_>>) -> String {
    let Some(address) = address else { return String::new() };
    let written = address.iter().map(|one| match (one.name(), one.address()) {
        (Some(name), Some(address)) => format!("{} <{}>", one_line(name), one_line(address)),
        (Some(only), None) | (None, Some(only)) => one_line(only),
        (None, None) => String::new(),
    });
    written.filter(|one| !one.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Returns a header value on one line. Otherwise an encoded word could contain a line break, and with it a forged
/// header line.
fn one_line(value: &str) -> String {
    value
        .split(|char: char| char.is_whitespace() || char.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
