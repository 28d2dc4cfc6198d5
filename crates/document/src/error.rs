//! The errors of reading a document.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::MediaType;
use crate::reading::{count, size, sizes};

/// The reason why the text of a document was not read. The message names the problem, and [`DocumentError::help`] the
/// remedy. Neither has the file's name. The caller knows the name, and may have to escape it before it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// A file that is larger than the limit. The size is checked before the file is parsed.
    #[error("the document has {}; the limit is {}", sizes(*.size, *.limit).0, sizes(*.size, *.limit).1)]
    TooLarge {
        /// The size of the file in bytes.
        size: u64,
        /// The limit, [`Limits::bytes`](crate::Limits::bytes).
        limit: u64,
    },
    /// A file within its limit whose text is longer than the limit for text.
    #[error("the text of the document is longer than the limit of {}", size(*.limit as u64))]
    TooMuchText {
        /// The limit, [`Limits::text`](crate::Limits::text).
        limit: usize,
    },
    /// A PDF with more pages than the limit.
    #[error("the PDF has {pages} pages; the limit is {limit}")]
    TooManyPages {
        /// The number of pages.
        pages: usize,
        /// The limit, [`Limits::pages`](crate::Limits::pages).
        limit: usize,
    },
    /// A PDF that decompresses to more data, or takes more drawing operations, than the limit. This may be a
    /// decompression bomb, or just a drawing with many details.
    #[error("the PDF takes more than {limit} {unit} to read")]
    PdfTooComplex {
        /// The kind of limit: "unfolded bytes" or "drawing operations".
        unit: Cow<'static, str>,
        /// The limit that was exceeded, in this unit.
        limit: usize,
    },
    /// Content of a type whose text cannot be read.
    #[error("this is {found}; its text cannot be read")]
    Unsupported {
        /// The type in words, with its article: "a Word document (.docx)".
        found: Cow<'static, str>,
    },
    /// A file whose name promises another type than the content has.
    #[error("the name ends in {suffix}, but the content is {found}")]
    Disguised {
        /// The suffix, in lower case, with its dot.
        suffix: String,
        /// The type of the content, in words and with its article.
        found: Cow<'static, str>,
    },
    /// Content with a byte that does not occur in text.
    #[error("not text: byte 0x{byte:02x} at offset {offset}")]
    Binary {
        /// The value of the byte.
        byte: u8,
        /// The position of the byte, counted from the start of the file.
        offset: usize,
    },
    /// Text that is not in UTF-8.
    #[error("not UTF-8: invalid byte 0x{byte:02x} at offset {offset}; it looks like {likely}")]
    NotUtf8 {
        /// The first byte of the invalid sequence.
        byte: u8,
        /// The position of the byte, counted from the start of the file.
        offset: usize,
        /// The name of the encoding that the bytes are most likely in.
        likely: Cow<'static, str>,
    },
    /// A file that is named as a mail, but has no mail header.
    #[error("not a mail: {reason}")]
    MailBroken {
        /// The part that is missing or wrong.
        reason: String,
    },
    /// A mail whose text is in parts that cannot be read.
    #[error("the mail has no text that can be read; {left_out}")]
    MailWithoutText {
        /// The sentences about the parts. They hold foreign names.
        left_out: String,
    },
    /// A PDF whose pages have no text. It is a scan or a drawing.
    #[error("the PDF has {} and no text: it is probably a scan", count(*.pages, "page", "pages"))]
    PdfWithoutText {
        /// The number of pages.
        pages: usize,
    },
    /// A PDF that needs a password.
    #[error("the PDF is encrypted and needs a password")]
    PdfEncrypted,
    /// A PDF that is damaged or truncated.
    #[error("the PDF is damaged: {reason}")]
    PdfBroken {
        /// The parser's error.
        reason: String,
    },
}

impl DocumentError {
    /// Returns one line that tells the owner of the document how to solve the problem.
    pub fn help(&self) -> String {
        match self {
            Self::TooLarge { .. } => {
                "raise the limit for documents, or give only the part that is needed".into()
            }
            Self::TooMuchText { .. } => "give only the part that is needed, or split the document".into(),
            Self::TooManyPages { limit, .. } => {
                format!("give only the pages needed, e.g. `qpdf in.pdf --pages . 1-{limit} -- out.pdf`")
            }
            Self::PdfTooComplex { .. } => {
                "print it to a new PDF, which drops what is hidden; be wary of raising the limit".into()
            }
            Self::Unsupported { found } => {
                format!("{}; what can be read: {}", way_out(found), MediaType::KNOWN)
            }
            Self::Disguised { found, .. } => {
                format!("give it the suffix of what it is ({found}), or ask for it again")
            }
            Self::Binary { .. } => {
                "it is data of a program, or damaged; save it as plain text in UTF-8, or as PDF".into()
            }
            Self::NotUtf8 { likely, .. } => {
                format!("save it in UTF-8, e.g. `iconv -f {likely} -t UTF-8 in.txt > out.txt`")
            }
            Self::MailBroken { .. } => "save the mail again with its header, or name the file .txt".into(),
            Self::MailWithoutText { .. } => {
                "save what is attached in a form that can be read, and give that".into()
            }
            Self::PdfWithoutText { .. } => {
                "add a text layer by character recognition, e.g. `ocrmypdf in.pdf out.pdf`".into()
            }
            Self::PdfEncrypted => "remove the password: `qpdf --decrypt --password=… in.pdf out.pdf`".into(),
            Self::PdfBroken { .. } => {
                "fetch it again; if that does not help, repair it, e.g. `qpdf in.pdf out.pdf`".into()
            }
        }
    }
}

/// Returns how the owner of a document can bring its text into a form that can be read.
fn way_out(found: &str) -> &'static str {
    let is = |words: &[&str]| words.iter().any(|word| found.contains(word));
    if is(&["spreadsheet", "workbook"]) {
        "save each table as CSV, or save it as PDF or as plain text"
    } else if is(&["archive"]) {
        "unpack it and give the files in it, or save it as PDF or as plain text"
    } else if is(&[".msg"]) {
        "save it as PDF or as plain text, a table as CSV, a mail as .eml"
    } else {
        "save it as PDF or as plain text"
    }
}
