//! The errors of reading a document.

use crate::MediaType;

/// The reason why the text of a document was not read. The message names the problem, and [`DocumentError::help`] the
/// remedy. Neither has the file's name. The caller knows the name, and may have to escape it before it is shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// A file that is larger than the limit. The size is checked before the file is parsed.
    #[error("the document has {size} bytes; the limit is {limit}")]
    TooLarge {
        /// The size of the file in bytes.
        size: u64,
        /// The limit, [`Limits::bytes`](crate::Limits::bytes).
        limit: u64,
    },
    /// A file within its limit whose text is longer than the limit for text.
    #[error("the text of the document is longer than the limit of {limit} bytes")]
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
        unit: &'static str,
        /// The limit that was exceeded, in this unit.
        limit: usize,
    },
    /// Content of a type whose text cannot be read.
    #[error("this is {found}; its text cannot be read")]
    Unsupported {
        /// The type in words, with its article: "a Word document (.docx)".
        found: &'static str,
    },
    /// A file whose name promises another type than the content has.
    #[error("the name ends in {suffix}, but the content is {found}")]
    Disguised {
        /// The suffix, in lower case, with its dot.
        suffix: String,
        /// The type of the content, in words and with its article.
        found: &'static str,
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
    #[error("not UTF-8: invalid byte 0x{byte:02x} at offset {offset}")]
    NotUtf8 {
        /// The first byte of the invalid sequence.
        byte: u8,
        /// The position of the byte, counted from the start of the file.
        offset: usize,
    },
    /// A file that is named as a mail, but has no mail header.
    #[error("not a mail: {reason}")]
    MailBroken {
        /// The part that is missing or wrong.
        reason: String,
    },
    /// A mail with attachments, but without text.
    #[error("the mail has no text, only {attachments} attachment(s)")]
    MailWithoutText {
        /// The number of attachments.
        attachments: usize,
    },
    /// A PDF whose pages have no text. It is a scan or a drawing.
    #[error("the PDF has {pages} page(s) and no text: it is probably a scan")]
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
                "raise the limit for attachments, or give only the part that is needed".into()
            }
            Self::TooMuchText { .. } => "raise the limit of the text, or split the document".into(),
            Self::TooManyPages { limit, .. } => {
                format!("give only the pages needed, e.g. `qpdf in.pdf --pages . 1-{limit} -- out.pdf`")
            }
            Self::PdfTooComplex { .. } => {
                "print it to a new PDF, which drops what is hidden; be wary of raising the limit".into()
            }
            Self::Unsupported { .. } => {
                format!("save it as PDF or as plain text; what can be read: {}", MediaType::KNOWN)
            }
            Self::Disguised { found, .. } => {
                format!("give it the suffix of what it is ({found}), or ask for it again")
            }
            Self::Binary { .. } => {
                "the file may be damaged or have the wrong suffix; save it as plain text in UTF-8".into()
            }
            Self::NotUtf8 { .. } => {
                "save it in UTF-8, e.g. `iconv -f WINDOWS-1252 -t UTF-8 in.txt > out.txt` (or -f UTF-16)"
                    .into()
            }
            Self::MailBroken { .. } => "save the mail again with its header, or name the file .txt".into(),
            Self::MailWithoutText { .. } => "save the attachments and give those".into(),
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
