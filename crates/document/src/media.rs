//! The type of a file, by its content first and by its suffix second.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::DocumentError;
use crate::mail::mailbox;

/// The types whose text can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MediaType {
    /// UTF-8 text without further structure, and every text format without a variant of its own.
    Plain,
    /// Markdown.
    Markdown,
    /// JSON, and JSON lines.
    Json,
    /// Comma- or tab-separated values.
    Csv,
    /// A mail, with its header and parts.
    Mail,
    /// A PDF document.
    Pdf,
}

/// The number of bytes at the start of a file in which the PDF marker is searched. PDF readers accept some other
/// bytes before the marker.
const PDF_MARK_WITHIN: usize = 1024;

/// Types that are known by their first bytes, and whose text cannot be read.
const FOREIGN: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\0", "a program (of Windows)"),
    (b"\xcf\xfa\xed\xfe", "a program (of macOS)"),
    (b"\xca\xfe\xba\xbe", "a program (of macOS or Java)"),
    (b"\0asm", "a program (WebAssembly)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document (.doc, .xls, .msg)"),
    (b"SQLite format 3\0", "a SQLite database"),
];

/// Types of documents that are ZIP archives. The suffix tells them apart.
const ZIPPED: &[(&str, &str)] = &[
    (".docx", "a Word document (.docx)"),
    (".xlsx", "an Excel workbook (.xlsx)"),
    (".pptx", "a PowerPoint presentation (.pptx)"),
    (".odt", "an OpenDocument text (.odt)"),
    (".ods", "an OpenDocument spreadsheet (.ods)"),
    (".epub", "an EPUB book"),
    (".jar", "a Java archive"),
];

impl MediaType {
    /// The readable types in words, for help lines.
    pub(crate) const KNOWN: &str =
        "text in UTF-8 (.txt, .md, .json, .csv and the like), mail (.eml, .mbox), PDF (.pdf)";

    /// Returns the registered media type, such as `application/pdf`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "text/plain",
            Self::Markdown => "text/markdown",
            Self::Json => "application/json",
            Self::Csv => "text/csv",
            Self::Mail => "message/rfc822",
            Self::Pdf => "application/pdf",
        }
    }

    /// Returns the type of a document. The content decides whether it is a PDF, another known binary format, or text.
    /// For text, the suffix of `name` decides, and an unknown suffix means plain text. The text itself is not checked
    /// here.
    ///
    /// # Errors
    /// [`DocumentError::Disguised`] when the name and the content contradict each other.
    /// [`DocumentError::Unsupported`] when the content has a known type whose text cannot be read.
    /// [`DocumentError::PdfBroken`] when a PDF is empty.
    pub fn sniff(bytes: &[u8], name: &str) -> Result<Self, DocumentError> {
        let suffix = suffix(name);
        let promised = promised(&suffix);
        if is_pdf(bytes, promised) {
            return match promised {
                None | Some(Self::Pdf) => Ok(Self::Pdf),
                Some(_) => Err(DocumentError::Disguised { suffix, found: "a PDF document".into() }),
            };
        }
        if let Some(found) = foreign(bytes, &suffix) {
            return Err(match promised {
                Some(_) => DocumentError::Disguised { suffix, found: found.into() },
                None => DocumentError::Unsupported { found: found.into() },
            });
        }
        match promised {
            Some(Self::Pdf) if bytes.is_empty() => {
                Err(DocumentError::PdfBroken { reason: "it is empty".into() })
            }
            Some(Self::Pdf) => {
                Err(DocumentError::Disguised { suffix, found: describe_content(bytes).into() })
            }
            Some(other) => Ok(other),
            None if is_unnamed_mail(bytes, name, &suffix) => Ok(Self::Mail),
            None => Ok(Self::Plain),
        }
    }
}

/// Returns whether a file without a known suffix is a mail. Folders of mails (Maildir, MH) name their files by numbers
/// and flags.
fn is_unnamed_mail(bytes: &[u8], name: &str, suffix: &str) -> bool {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let is_maildir = [":2,", ";2,", "!2,"].iter().any(|flags| file.contains(flags))
        || file
            .split('.')
            .next()
            .is_some_and(|time| time.len() >= 9 && time.bytes().all(|b| b.is_ascii_digit()));
    if is_maildir { mailbox::is_mail(bytes, 1) } else { suffix.is_empty() && mailbox::is_mail(bytes, 3) }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the suffix of a file name, in lower case and with its dot. Without a suffix, the text is empty.
fn suffix(name: &str) -> String {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    match file.rfind('.') {
        // If the only dot is the first character, the file is hidden and has no suffix.
        Some(dot) if dot > 0 => file.get(dot..).unwrap_or_default().to_lowercase(),
        _ => String::new(),
    }
}

/// Returns the type that a suffix promises. An unknown suffix promises none.
fn promised(suffix: &str) -> Option<MediaType> {
    Some(match suffix {
        ".pdf" => MediaType::Pdf,
        ".eml" | ".emlx" | ".mbox" | ".mbx" | ".mht" | ".mhtml" => MediaType::Mail,
        ".md" | ".markdown" => MediaType::Markdown,
        ".json" | ".jsonl" | ".ndjson" => MediaType::Json,
        ".csv" | ".tsv" => MediaType::Csv,
        ".txt" | ".text" | ".log" | ".org" | ".rst" | ".yaml" | ".yml" | ".toml" | ".html" | ".htm"
        | ".xml" => MediaType::Plain,
        _ => return None,
    })
}

/// Returns whether the suffix of a name promises text.
pub(crate) fn is_named_as_text(name: &str) -> bool {
    promised(&suffix(name)).is_some_and(|promised| !matches!(promised, MediaType::Pdf | MediaType::Mail))
}

/// Returns whether the content has the PDF marker at its start. Only a file that is named as a PDF may have other
/// bytes before the marker, because a text may quote the marker. A text may also begin with it.
fn is_pdf(bytes: &[u8], promised: Option<MediaType>) -> bool {
    const MARK: &[u8] = b"%PDF-";
    if promised != Some(MediaType::Pdf) {
        let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        let is_prose = || is_text(bytes) && !(has(b"%%EOF") && has(b"endobj"));
        return bytes.starts_with(MARK) && !is_prose();
    }
    let head = bytes.get(..PDF_MARK_WITHIN).unwrap_or(bytes);
    head.windows(MARK.len()).any(|window| window == MARK)
}

/// Returns a description of content that has no known marker and is not a PDF, although its name says so.
fn describe_content(bytes: &[u8]) -> &'static str {
    const UNKNOWN: &str = "not a PDF document";
    let head = bytes.get(..PDF_MARK_WITHIN).unwrap_or(bytes);
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The cut at the end split the last character.
        Err(error) if error.error_len().is_none() => head
            .get(..error.valid_up_to())
            .and_then(|whole| std::str::from_utf8(whole).ok())
            .unwrap_or_default(),
        Err(_) => return UNKNOWN,
    };
    let head = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).to_lowercase();
    match head {
        head if head.contains('\0') => UNKNOWN,
        head if ["<!doctype html", "<html", "<head", "<body", "<script"]
            .iter()
            .any(|tag| head.starts_with(tag)) =>
        {
            "an HTML page"
        }
        head if head.starts_with("<?xml") => "an XML document",
        head if head.starts_with("#!") => "a script, which is a program",
        _ => "text, and no PDF document",
    }
}

/// Returns whether content is sound text: UTF-8 without control characters of binary data.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok() && !bytes.iter().any(|byte| crate::terminal::is_control(*byte))
}

fn foreign(bytes: &[u8], suffix: &str) -> Option<&'static str> {
    let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    if bytes.starts_with(b"{\\rtf") && bytes.trim_ascii_end().ends_with(b"}") {
        return Some("an RTF document");
    }
    if bytes.starts_with(b"%!PS") && (has(b"showpage") || has(b"%%EOF")) {
        return Some("a PostScript document");
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        let named = ZIPPED.iter().find(|(known, _)| *known == suffix);
        return Some(named.map_or("a ZIP archive", |(_, words)| *words));
    }
    let found = if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("a WebP image")
    } else if bytes.get(4..8) == Some(b"ftyp") {
        Some("a video or an image (MP4, HEIC)")
    } else {
        FOREIGN.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, words)| *words)
    };
    // Text may begin with the letters by which a format is known: "BZh", "GIF89a".
    found.filter(|_| !is_text(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguised_pdf_is_reported_by_its_real_type() {
        let check = |bytes: &[u8], expected: &str| match MediaType::sniff(bytes, "deck.pdf") {
            Err(DocumentError::Disguised { suffix, found }) => {
                assert_eq!((suffix.as_str(), found.as_ref()), (".pdf", expected));
            }
            other => panic!("{other:?}"),
        };
        check(b"\xef\xbb\xbf\n<!DOCTYPE html><title>x</title>", "an HTML page");
        check(b"<script>alert(1)</script>", "an HTML page");
        check(b"<?xml version='1.0'?>", "an XML document");
        check(b"#!/bin/sh\nrm -rf ~\n", "a script, which is a program");
        check(b"Dear investor", "text, and no PDF document");
        check(b"\x7fELF\x02\x01", "a program");
        check(b"MZ\x90\0\x03", "a program (of Windows)");
        check(b"PK\x03\x04", "a ZIP archive");
        check(b"\x89PNG\r\n\x1a\n", "a PNG image");
        check(b"\x01\x02\xff\xfe", "not a PDF document");
        check(&["é".repeat(600).as_bytes(), b"x"].concat(), "text, and no PDF document");
        check(&[b"x", "é".repeat(600).as_bytes()].concat(), "text, and no PDF document");
    }

    #[test]
    fn text_that_begins_like_another_format_is_text() {
        let check = |bytes: &[u8], name: &str, expected: MediaType| {
            assert_eq!(MediaType::sniff(bytes, name), Ok(expected), "{}", bytes.escape_ascii());
        };
        // Prose about PDF: xerj-org/xerj#403.
        check(b"%PDF-1.4 is how a PDF starts\n", "about.txt", MediaType::Plain);
        check(b"%PDF- is the mark", "about", MediaType::Plain);
        check(b"%PDF-1.4 is the first line, and %%EOF the last", "about.md", MediaType::Markdown);
        // sindresorhus/file-type#780: the first line of a PDF, and a text below it.
        check(b"%PDF-1.4\nhere is a bad pdf file\n.][;[];;.,;l'l[]'[lp;,\n", "bad.txt", MediaType::Plain);
        // bojand/infer#133: a variable of that name.
        check(b"@echo off\nset PDF=output.pdf\ndel %PDF%\nexit /B\n", "clean.txt", MediaType::Plain);
        check(b"GIF89a is how a GIF starts", "about.txt", MediaType::Plain);
        check(b"BZh is the mark of bzip2", "about.txt", MediaType::Plain);
        check(b"Die ftyp-Box", "about.txt", MediaType::Plain);
        check(b"%!PS is how PostScript starts", "about.txt", MediaType::Plain);
        check(b"{\\rtf is how RTF starts", "about.txt", MediaType::Plain);
        let pdf = |bytes: &[u8]| MediaType::sniff(bytes, "a.txt").is_err();
        assert!(pdf(b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n%%EOF\n"));
        assert!(pdf(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj"));
        assert!(pdf(b"{\\rtf1\\ansi text\\par }\n"));
        assert!(pdf(b"%!PS-Adobe-3.0\nshowpage\n"));
        // google/magika#292: a file that is named as a PDF may have a line before its beginning.
        check(b"Case: 16-2049 wood\n%PDF-1.6\n", "case.pdf", MediaType::Pdf);
    }

    #[test]
    fn mail_without_a_suffix_is_recognized_by_its_header() {
        let check = |bytes: &[u8], name: &str, expected: MediaType| {
            assert_eq!(MediaType::sniff(bytes, name), Ok(expected), "{name}");
        };
        let mail = b"From: a@b.example\nTo: c@d.example\nSubject: s\n\nx";
        check(mail, "cur/1204680122.27c448ab_1.host.name:2,S", MediaType::Mail);
        check(mail, "new/1204680122.M1P2.host", MediaType::Mail);
        check(mail, "inbox/12", MediaType::Mail);
        check(mail, "draft.txt", MediaType::Plain);
        check(mail, "0001-fix.patch", MediaType::Plain);
        check(b"Subject: s\n\nx", "12", MediaType::Plain);
        check(b"plain", "1204680122.27c448ab_1.host:2,S", MediaType::Plain);
        for name in ["a.mbox", "a.emlx", "a.MHT"] {
            check(mail, name, MediaType::Mail);
        }
    }

    #[test]
    fn suffix_is_lower_case_and_includes_the_dot() {
        let check = |name: &str, expected: &str| assert_eq!(suffix(name), expected, "{name}");
        check("a/b.c/report.PDF", ".pdf");
        check("report", "");
        check(".profile", "");
        check("dir.d/plain", "");
        check("two.tar.gz", ".gz");
        check("ends.", ".");
        check("C:\\x\\y.Md", ".md");
        check("", "");
    }
}
