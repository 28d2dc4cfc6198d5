//! The text of a mail: the header lines that matter to a reader, the body, and the attachments that have text.

mod alternatives;
mod header;
pub(crate) mod html;
pub(crate) mod mailbox;
mod structure;
pub(crate) mod transfer;

use mail_parser::{ContentType, Message, MessagePart, MessagePartId, MimeHeaders as _, PartType};

use crate::guard::guarded;
use crate::mail::alternatives::{Version, VersionKind};
use crate::reading::{Reading, count, is_blank, one_line, size};
use crate::{DocumentError, Limits, charset, media, terminal};

/// The maximum depth of mails in mails.
const MAX_DEPTH: usize = 8;
/// The maximum depth of multiparts in a mail.
const MAX_NESTING: usize = 50;
/// The maximum number of parts of a mail.
const MAX_PARTS: usize = 2_000;
/// The maximum number of mails of a mailbox.
const MAX_MAILS: usize = 10_000;

/// The header lines that are shown, in this order.
const SHOWN: &[&str] = &["From", "Sender", "Reply-To", "To", "Cc", "Bcc", "Subject", "Date"];

/// Returns the text of a mail, or of all mails of a mailbox. A mail's text begins with the header lines of [`SHOWN`]
/// and the names of the attachments.
pub(crate) fn text(bytes: &[u8], limits: &Limits, depth: usize) -> Result<Reading, DocumentError> {
    let bytes = mailbox::normalize(bytes);
    let (bytes, wrong_length) = mailbox::without_length(&bytes);
    let mails = mailbox::mails(bytes);
    let mut reading = Reading::new(limits);
    let [one] = mails.as_slice() else {
        let shown = mails.len().min(MAX_MAILS);
        reading.push(&format!("(a mailbox with {})\n", count(mails.len(), "mail", "mails")))?;
        for (at, mail) in mails.iter().take(shown).enumerate() {
            reading.push_block(&format!("--- mail {} of {} ---", at + 1, mails.len()))?;
            match read(mail, &reading, limits, depth) {
                Ok(part) => reading.append(part)?,
                Err(error @ DocumentError::TooMuchText { .. }) => return Err(error),
                Err(error) => reading.note(&format!("left out: mail {}: {error}", at + 1))?,
            }
        }
        if mails.len() > shown {
            reading.note(&format!(
                "left out: {}",
                count(mails.len() - shown, "further mail", "further mails")
            ))?;
        }
        return Ok(reading);
    };
    let mut reading = read(one, &reading, limits, depth)?;
    if let Some(note) = wrong_length {
        reading.note(&note)?;
    }
    Ok(reading)
}

/// Reads one mail.
fn read(mail: &[u8], whole: &Reading, limits: &Limits, depth: usize) -> Result<Reading, DocumentError> {
    let (before, mail) = mailbox::header_start(mail);
    if structure::is_tangled(mail) {
        return Err(DocumentError::MailBroken { reason: "it has too many parts in parts".into() });
    }
    let masked = structure::mask(mail);
    let rendered = guarded(|| match structure::parse(&masked, mail) {
        Some(message) => {
            let mut reader = Reader::new(limits, depth);
            let mut reading = whole.part();
            reader.mail(&message, &mut reading, true)?;
            if !is_blank(&String::from_utf8_lossy(before)) {
                let lines =
                    before.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
                reading.note(&format!("left out: {} before the header", count(lines, "line", "lines")))?;
            }
            // A mail may consist of its subject alone. But if the content is in what cannot be read, the header is not
            // its text.
            if reader.readable == 0 && reader.left_out > 0 {
                let left_out = reading.into_notes().join("; ");
                return Err(DocumentError::MailWithoutText { left_out });
            }
            Ok(reading)
        }
        None => Err(DocumentError::MailBroken { reason: "it has no header".into() }),
    });
    match rendered {
        Ok(rendered) => rendered,
        Err(reason) => Err(DocumentError::MailBroken { reason }),
    }
}

/// The reader of one mail and of the mails in it.
struct Reader<'a> {
    limits: &'a Limits,
    depth: usize,
    /// The depth of multiparts.
    nesting: usize,
    parts: usize,
    /// The number of parts whose text was read.
    readable: usize,
    /// The number of parts that were left out.
    left_out: usize,
    /// The number of bytes of versions that were compared.
    compared: usize,
    /// Whether the text says that the mail has no end.
    is_incomplete: bool,
}

impl<'a> Reader<'a> {
    fn new(limits: &'a Limits, depth: usize) -> Self {
        let (nesting, parts, readable, left_out, compared) = (0, 0, 0, 0, 0);
        Self { limits, depth, nesting, parts, readable, left_out, compared, is_incomplete: false }
    }

    /// Reads the header and the parts of a mail. The mail in a file must have a header of its own. A mail in a mail
    /// may lack it.
    fn mail(
        &mut self,
        message: &Message<'_>,
        into: &mut Reading,
        is_outer: bool,
    ) -> Result<(), DocumentError> {
        let Some(root) = message.parts.first() else { return Ok(()) };
        let names: Vec<&str> = root.headers.iter().map(mail_parser::Header::name).collect();
        let has = |wanted: &[&str]| {
            names.iter().any(|name| wanted.iter().any(|one| name.eq_ignore_ascii_case(one)))
        };
        let known =
            ["From", "Date", "Subject", "To", "Received", "Message-ID", "MIME-Version", "Content-Type"];
        if is_outer && !has(&known) {
            return Err(DocumentError::MailBroken { reason: "it has no From, Date or Subject line".into() });
        }
        for shown in SHOWN {
            for value in raw_values(message, root, shown) {
                let value = header::decode(value);
                if !value.is_empty() {
                    into.push(&format!("{shown}: {value}\n"))?;
                }
            }
        }
        let attached: Vec<String> = message.parts.iter().filter_map(attachment_name).collect();
        if !attached.is_empty() {
            into.push(&format!("Attachments: {}\n", attached.join(", ")))?;
        }
        self.part(message, 0, into)
    }

    /// Reads a part and all below it.
    fn part(
        &mut self,
        message: &Message<'_>,
        id: MessagePartId,
        into: &mut Reading,
    ) -> Result<(), DocumentError> {
        let Some(part) = message.part(id) else { return Ok(()) };
        self.parts += 1;
        if self.parts > MAX_PARTS || self.nesting > MAX_NESTING {
            if self.parts == MAX_PARTS + 1 || self.nesting > MAX_NESTING {
                self.leave_out(into, "further parts: the mail has too many")?;
            }
            return Ok(());
        }
        self.stray_lines(message, part, into)?;
        match &part.body {
            PartType::Multipart(parts) => {
                self.nesting += 1;
                let read = self.multipart(message, part, parts, into);
                self.nesting -= 1;
                read
            }
            _ => self.leaf(message, part, into),
        }
    }

    /// Reads the lines of a part's header that are no header lines. They are text whose empty line before it is
    /// missing.
    fn stray_lines(
        &mut self,
        message: &Message<'_>,
        part: &MessagePart<'_>,
        into: &mut Reading,
    ) -> Result<(), DocumentError> {
        let (from, to) = (part.offset_header as usize, part.offset_body as usize);
        let header = message.raw_message.get(from..to).unwrap_or_default();
        let lines = header.split_inclusive(|byte| *byte == b'\n');
        let stray: Vec<u8> = lines.filter(|line| mailbox::is_stray(line)).flatten().copied().collect();
        if stray.trim_ascii().is_empty() {
            return Ok(());
        }
        self.readable += 1;
        into.push_block(&TextBlock::read(&stray, None).text)
    }

    fn multipart(
        &mut self,
        message: &Message<'_>,
        part: &MessagePart<'_>,
        parts: &[MessagePartId],
        into: &mut Reading,
    ) -> Result<(), DocumentError> {
        self.end_of_parts(message, part, into)?;
        match subtype(part).as_str() {
            "digest" => parts.iter().try_for_each(|id| match message.part(*id) {
                // In a digest, a part without a type is a mail.
                Some(mail) if mail.content_type().is_none() && self.parts < MAX_PARTS => {
                    self.parts += 1;
                    let bytes = transfer::decode(raw_body(message, mail), &encoding(message, mail)).bytes;
                    self.inner_mail(attachment_name(mail), &bytes, into)
                }
                _ => self.part(message, *id, into),
            }),
            "alternative" => {
                let mut versions = Vec::new();
                for id in parts {
                    let mut reading = into.part();
                    self.part(message, *id, &mut reading)?;
                    versions.push(Version { reading, kind: version_kind(message, *id) });
                }
                alternatives::choose(into, versions, &mut self.compared)
            }
            "encrypted" => {
                let bytes = part.offset_end.saturating_sub(part.offset_body);
                self.leave_out(into, &format!("an encrypted text (PGP/MIME), {}", size(bytes.into())))
            }
            _ => parts.iter().try_for_each(|id| self.part(message, *id, into)),
        }
    }

    /// Notes that the line after the last part is missing. The mail was probably cut.
    fn end_of_parts(
        &mut self,
        message: &Message<'_>,
        part: &MessagePart<'_>,
        into: &mut Reading,
    ) -> Result<(), DocumentError> {
        let Some(boundary) = attribute(part.content_type(), "boundary") else { return Ok(()) };
        let end = format!("--{}--", structure::unmask(boundary));
        let rest = message.raw_message.get(part.offset_body as usize..).unwrap_or_default();
        let has_end = rest.windows(end.len()).rev().any(|window| window == end.as_bytes());
        if has_end || std::mem::replace(&mut self.is_incomplete, true) {
            return Ok(());
        }
        into.note("incomplete: the line after the last part of the mail is missing, so more may be missing")
    }

    /// Reads a mail that is attached to a mail.
    fn inner_mail(
        &mut self,
        name: Option<String>,
        bytes: &[u8],
        into: &mut Reading,
    ) -> Result<(), DocumentError> {
        if self.depth >= MAX_DEPTH {
            return self.leave_out(into, &format!("a mail in more than {MAX_DEPTH} mails"));
        }
        if structure::is_tangled(bytes) {
            return self.leave_out(into, "a mail with too many parts in parts");
        }
        let name = name.unwrap_or_else(|| "a mail".to_owned());
        into.push_block(&format!("--- attached: {name} (message/rfc822) ---"))?;
        let masked = structure::mask(bytes);
        self.depth += 1;
        let read = match structure::parse(&masked, bytes) {
            Some(inner) => self.mail(&inner, into, false),
            None => into.push_block(&TextBlock::read(bytes, None).text),
        };
        self.depth -= 1;
        read?;
        self.readable += 1;
        into.push_block(&format!("--- end of {name} ---"))
    }

    /// Reads a part without parts.
    fn leaf(
        &mut self,
        message: &Message<'_>,
        part: &MessagePart<'_>,
        into: &mut Reading,
    ) -> Result<(), DocumentError> {
        let found = transfer::decode(raw_body(message, part), &encoding(message, part));
        let (kind, name) = (media_type(part), attachment_name(part));
        let bytes = found.bytes.as_ref();
        let label = part.content_type().and_then(|kind| kind.attribute("charset"));
        let is_flowed =
            attribute(part.content_type(), "format").is_some_and(|it| it.eq_ignore_ascii_case("flowed"));
        let shown = name.clone().unwrap_or_default();
        let block = match (kind.as_str(), kind.split('/').next().unwrap_or_default()) {
            _ if bytes.trim_ascii().is_empty() => return self.empty_part(message, part, into, &kind),
            ("message/rfc822" | "message/global", _) => return self.inner_mail(name, bytes, into),
            ("text/html" | "application/xhtml+xml", _) => {
                let label = label.map(str::to_owned).or_else(|| html::charset(bytes));
                let decoded = charset::decode(bytes, label.as_deref());
                let text = html::text(&decoded.text);
                if is_blank(&text) && decoded.text.to_ascii_lowercase().contains("<img") {
                    return self.leave_out_part(into, &kind, &shown, bytes, "it has no words, only pictures");
                }
                TextBlock::clean(&text, decoded.note)
            }
            ("text/rtf" | "application/rtf", _) => {
                return self.leave_out_part(into, &kind, &shown, bytes, "RTF");
            }
            ("application/pgp-encrypted", _) => return Ok(()),
            (
                "application/pgp-signature" | "application/pkcs7-signature" | "application/x-pkcs7-signature",
                _,
            ) => {
                let words = format!("a signature ({kind}), which is not checked");
                // A signature has no text, so a mail with nothing else is not one that lacks it.
                return into.note(&format!("left out: {words}"));
            }
            ("application/pkcs7-mime" | "application/x-pkcs7-mime", _) => {
                return self.leave_out_part(
                    into,
                    &kind,
                    &shown,
                    bytes,
                    "S/MIME, encrypted or signed as a whole",
                );
            }
            ("application/ms-tnef" | "application/vnd.ms-tnef", _) => {
                return self.leave_out_part(
                    into,
                    &kind,
                    &shown,
                    bytes,
                    "parts of a mail in Outlook's own format",
                );
            }
            ("text/calendar" | "text/vcard" | "text/x-vcard" | "text/directory" | "application/ics", _) => {
                let mut block = TextBlock::read(bytes, label);
                block.text = unfold(&block.text);
                block
            }
            ("message/partial" | "message/external-body", _) => {
                return self.leave_out_part(into, &kind, &shown, bytes, "the rest of it is elsewhere");
            }
            (_, "text" | "message" | "multipart") if !is_binary(bytes) || label.is_some() => {
                let mut block = TextBlock::read(bytes, label);
                if is_flowed {
                    let is_joined = attribute(part.content_type(), "delsp")
                        .is_some_and(|it| it.eq_ignore_ascii_case("yes"));
                    block.text = unflow(&block.text, is_joined);
                }
                block
            }
            _ => return self.attached_file(into, &kind, &shown, bytes),
        };
        let size = bytes.len();
        let is_attached = name.is_some() || !matches!(kind.as_str(), "text/plain" | "text/html");
        self.text_block(into, block, is_attached.then_some((shown.as_str(), kind.as_str(), size)))?;
        found.note.map_or(Ok(()), |note| into.note(&in_part(&shown, &kind, &note)))
    }

    /// Notes a part without content that is a file. An empty text needs no note.
    fn empty_part(
        &mut self,
        message: &Message<'_>,
        part: &MessagePart<'_>,
        into: &mut Reading,
        kind: &str,
    ) -> Result<(), DocumentError> {
        let name = attachment_name(part);
        // Apple Mail writes the length of a part that it keeps elsewhere, or that it has not yet loaded.
        if !raw_values(message, part, "X-Apple-Content-Length").is_empty() {
            let name = name.map(|name| format!(" {name}")).unwrap_or_default();
            return self.leave_out(
                into,
                &format!("{kind}{name}: Apple Mail keeps it in another file than the mail"),
            );
        }
        name.map_or(Ok(()), |name| into.note(&format!("left out: {kind} {name}: it is empty")))
    }

    fn text_block(
        &mut self,
        into: &mut Reading,
        block: TextBlock,
        attached: Option<(&str, &str, usize)>,
    ) -> Result<(), DocumentError> {
        if is_blank(&block.text) {
            return Ok(());
        }
        self.readable += 1;
        let (name, kind) = attached.map_or(("", "text"), |(name, kind, _)| (name, kind));
        match attached {
            // The parts of a delivery report have no names, and are still no part of the text.
            Some((name, kind, bytes)) => {
                let name = if name.is_empty() { "without a name" } else { name };
                into.push_block(&format!("--- attached: {name} ({kind}, {}) ---", size(bytes as u64)))?;
                into.push_block(&block.text)?;
                into.push_block(&format!("--- end of {name} ---"))?;
            }
            None => into.push_block(&block.text)?,
        }
        for note in block.note.into_iter().chain(block.count) {
            into.note(&in_part(name, kind, &note))?;
        }
        if block.text.trim_start().starts_with("-----BEGIN PGP MESSAGE-----") {
            into.note("the text is encrypted with OpenPGP, and cannot be read")?;
        }
        Ok(())
    }

    /// Reads an attached file whose type is not text: a PDF, a mail or a text file that is sent as bytes.
    fn attached_file(
        &mut self,
        into: &mut Reading,
        kind: &str,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), DocumentError> {
        if self.depth >= MAX_DEPTH {
            return self.leave_out_part(into, kind, name, bytes, "it is in too many mails");
        }
        let limits = Limits { text: into.room(), ..self.limits.clone() };
        match crate::text_within(bytes, name, &limits, self.depth + 1) {
            Ok(inner) => {
                self.readable += 1;
                let shown = if name.is_empty() { "without a name" } else { name };
                into.push_block(&format!(
                    "--- attached: {shown} ({kind}, {}) ---",
                    size(bytes.len() as u64)
                ))?;
                into.append_inner(shown, inner)?;
                into.push_block(&format!("--- end of {shown} ---"))
            }
            Err(error @ DocumentError::TooMuchText { .. }) => Err(error),
            Err(DocumentError::Unsupported { found }) => self.leave_out_part(into, kind, name, bytes, &found),
            Err(DocumentError::NotUtf8 { .. }) if media::is_named_as_text(name) => {
                let block = TextBlock::read(bytes, None);
                self.text_block(into, block, Some((name, kind, bytes.len())))
            }
            Err(DocumentError::Binary { .. } | DocumentError::NotUtf8 { .. }) => {
                self.leave_out_part(into, kind, name, bytes, "")
            }
            Err(error) => self.leave_out_part(into, kind, name, bytes, &error.to_string()),
        }
    }

    fn leave_out_part(
        &mut self,
        into: &mut Reading,
        kind: &str,
        name: &str,
        bytes: &[u8],
        why: &str,
    ) -> Result<(), DocumentError> {
        let name = if name.is_empty() { String::new() } else { format!(" {name}") };
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        self.leave_out(into, &format!("{kind}{name}, {}{why}", size(bytes.len() as u64)))
    }

    fn leave_out(&mut self, into: &mut Reading, what: &str) -> Result<(), DocumentError> {
        self.left_out += 1;
        into.note(&format!("left out: {what}"))
    }
}

/// The text of a part, with the notes about it.
struct TextBlock {
    text: String,
    note: Option<String>,
    count: Option<String>,
}

impl TextBlock {
    fn read(bytes: &[u8], label: Option<&str>) -> Self {
        let decoded = charset::decode(bytes, label);
        Self::clean(&decoded.text, decoded.note)
    }

    /// Returns decoded text with plain line ends and without control characters.
    fn clean(text: &str, note: Option<String>) -> Self {
        let cleaned = terminal::clean(&text.replace("\r\n", "\n").replace('\r', "\n"));
        Self { text: cleaned.text, note, count: cleaned.note }
    }
}

/// Returns whether a part that is named as text is none. A few zeros may stand in text.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().filter(|byte| **byte == 0).count() * 8 > bytes.len()
}

/// Returns a note about a part, with the part's name or type.
fn in_part(name: &str, kind: &str, note: &str) -> String {
    match name {
        "" => format!("{kind}: {note}"),
        name => format!("{name}: {note}"),
    }
}

/// Returns the raw values of all header lines with a name.
fn raw_values<'a>(message: &'a Message<'_>, part: &MessagePart<'_>, name: &str) -> Vec<&'a [u8]> {
    let raw = message.raw_message.as_ref();
    let lines = part.headers.iter().filter(|header| header.name().eq_ignore_ascii_case(name));
    lines.filter_map(|header| raw.get(header.offset_start as usize..header.offset_end as usize)).collect()
}

/// Returns the type of a part in lower case.
fn media_type(part: &MessagePart<'_>) -> String {
    match part.content_type() {
        None => "text/plain".to_owned(),
        Some(kind) => {
            let subtype = kind.subtype().map(|subtype| format!("/{subtype}")).unwrap_or_default();
            let written = format!("{}{}", kind.ctype(), structure::unmask(&subtype));
            let written: String = one_line(&written).to_ascii_lowercase();
            match written.as_str() {
                "" | "text" => "text/plain".to_owned(),
                _ => written,
            }
        }
    }
}

fn subtype(part: &MessagePart<'_>) -> String {
    let subtype = part.content_type().and_then(ContentType::subtype).unwrap_or_default();
    structure::unmask(subtype).to_ascii_lowercase()
}

/// Returns the bytes of a part as they stand in the mail.
fn raw_body<'a>(message: &'a Message<'_>, part: &MessagePart<'_>) -> &'a [u8] {
    let range = part.offset_body as usize..part.offset_end as usize;
    message.raw_message.get(range).unwrap_or_default()
}

/// Returns the transfer encoding that a part names.
fn encoding(message: &Message<'_>, part: &MessagePart<'_>) -> String {
    let values = raw_values(message, part, "Content-Transfer-Encoding");
    String::from_utf8_lossy(values.first().copied().unwrap_or_default()).into_owned()
}

fn attribute<'a>(kind: Option<&'a ContentType<'_>>, name: &str) -> Option<&'a str> {
    kind.and_then(|kind| kind.attribute(name))
}

/// Returns the name of an attached file on one line.
fn attachment_name(part: &MessagePart<'_>) -> Option<String> {
    let written = part.attachment_name().map(|name| header::decode(structure::unmask(name).as_bytes()));
    let written = written.filter(|name| !name.is_empty());
    let is_attached = part.content_disposition().is_some_and(ContentType::is_attachment);
    written.or_else(|| is_attached.then(|| "(without a name)".to_owned()))
}

/// Returns the kind of a version, by the type of its first part that is no multipart.
fn version_kind(message: &Message<'_>, id: MessagePartId) -> VersionKind {
    let mut id = id;
    for _ in 0..MAX_NESTING {
        let Some(part) = message.part(id) else { break };
        match &part.body {
            PartType::Multipart(parts) => match parts.first() {
                Some(first) => id = *first,
                None => break,
            },
            _ => {
                return match media_type(part).as_str() {
                    "text/plain" => VersionKind::Plain,
                    "text/html" | "application/xhtml+xml" => VersionKind::Html,
                    _ => VersionKind::Other,
                };
            }
        }
    }
    VersionKind::Other
}

/// Joins the lines of a calendar or an address book that continue a line.
fn unfold(text: &str) -> String {
    text.replace("\n ", "").replace("\n\t", "")
}

/// Joins the lines of a flowed text: a line that ends with a blank goes on in the next one. With `is_joined`, that
/// blank is no part of the text.
fn unflow(text: &str, is_joined: bool) -> String {
    let mut flowed = String::with_capacity(text.len());
    let mut open: Option<usize> = None;
    for line in text.lines() {
        let depth = line.chars().take_while(|char| *char == '>').count();
        let content = line.get(depth..).unwrap_or_default();
        let content = content.strip_prefix(' ').unwrap_or(content);
        if open != Some(depth) {
            if open.is_some() {
                flowed.push('\n');
            }
            flowed.extend(std::iter::repeat_n('>', depth));
            if depth > 0 {
                flowed.push(' ');
            }
        }
        let is_open = content.ends_with(' ') && content != "-- ";
        let kept = if is_open && is_joined { content.trim_end_matches(' ') } else { content };
        flowed.push_str(kept);
        open = is_open.then_some(depth);
        if !is_open {
            flowed.push('\n');
        }
    }
    flowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flowed_and_folded_lines_are_joined() {
        let check =
            |text: &str, is_joined: bool, expected: &str| assert_eq!(unflow(text, is_joined), expected);
        check("one \ntwo\nthree\n", false, "one two\nthree\n");
        check("exam \nple\n", true, "example\n");
        check("> a \n> b\nc\n", false, "> a b\nc\n");
        check("> a \nb\n", false, "> a \nb\n");
        check(" From x\n-- \nsig\n", false, "From x\n-- \nsig\n");
        assert_eq!(unfold("SUMMARY:Meet\n ing\nEND"), "SUMMARY:Meeting\nEND");
    }

    #[test]
    fn endless_nesting_is_read_to_a_limit() {
        let check_depth = |line: &str, depth: usize, is_mail: bool| {
            let nested = format!("{line}\r\n\r\n").repeat(depth);
            let mail = format!("From: a@b.example\r\n{nested}");
            let read = text(mail.as_bytes(), &Limits::default(), 0);
            let (_, notes) = read.unwrap_or_else(|error| panic!("{line}: {error}")).finish();
            let is_noted = notes.iter().any(|note| note.contains("more than 8 mails"));
            assert!(is_noted || !is_mail, "{line}: {notes:?}");
        };
        let check = |line: &str, is_mail: bool| check_depth(line, 20_000, is_mail);
        check_depth("Content-Type: message/rfc822", 100_000, true);
        check("content-type : MESSAGE / RFC822", true);
        check("C o n t e n t-Type: message/\r\n\tglobal; a=b", false);
        check("Content-Type: message(x)/(y)rfc822 (z)", false);
        check("Content-Type: message\r\n /rfc822", false);
        check("Content-Type: message/\"rfc822", false);
        check("Content-Type: message/rfc822\r\nX-A: b", false);
        // The parts of digests are mails, and an encoded mail has mails in it.
        let digest = |at| format!("Content-Type: multipart/digest; boundary=b{at}\n\n--b{at}\n\n");
        let digests: String = (0..20_000).map(digest).collect();
        assert!(text(format!("From: a@b.example\n{digests}").as_bytes(), &Limits::default(), 0).is_err());
        let inner = "Content-Type: message/rfc822\n\n".repeat(20_000);
        let mail = format!(
            "From: a@b.example\nContent-Type: message/rfc822\nContent-Transfer-Encoding: quoted-printable\n\n{inner}"
        );
        let (_, notes) = text(mail.as_bytes(), &Limits::default(), 0).unwrap().finish();
        assert_eq!(notes, ["left out: a mail in more than 8 mails"]);
    }
}
