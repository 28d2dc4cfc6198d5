//! The errors of reading a document.

use crate::MediaType;

/// The reason why the text of a document was not read. The message names the problem, [`DocumentError::help`] the
/// remedy. Neither names the file: the caller knows it, and it may be a name that needs care on a screen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The file is larger than the limit. Found before anything of it is parsed.
    #[error("the document has {size} bytes; the limit is {limit}")]
    TooLarge {
        /// The size of the file in bytes.
        size: u64,
        /// [`Limits::bytes`](crate::Limits::bytes).
        limit: u64,
    },
    /// The file is small enough but the text in it is not.
    #[error("the text of the document is longer than the limit of {limit} bytes")]
    TooMuchText {
        /// [`Limits::text`](crate::Limits::text).
        limit: usize,
    },
    /// The PDF has more pages than the limit.
    #[error("the PDF has {pages} pages; the limit is {limit}")]
    TooManyPages {
        /// How many pages it has.
        pages: usize,
        /// [`Limits::pages`](crate::Limits::pages).
        limit: usize,
    },
    /// The PDF unfolds to more data, or takes more drawing operations, than the limit: a decompression
    /// bomb, or an honest drawing of great detail.
    #[error("the PDF takes more than {limit} {unit} to read")]
    PdfTooComplex {
        /// "unfolded bytes" or "drawing operations".
        unit: &'static str,
        /// The limit that was reached, in that unit.
        limit: usize,
    },
    /// The content is of a type from which no text is read.
    #[error("this is {found}; its text cannot be read")]
    Unsupported {
        /// The type in words, with its article: "a Word document (.docx)".
        found: &'static str,
    },
    /// The name promises one type and the content is another.
    #[error("the name ends in {suffix}, but the content is {found}")]
    Disguised {
        /// The suffix, lower case and with its dot.
        suffix: String,
        /// The type of the content, in words and with its article.
        found: &'static str,
    },
    /// The content has a byte that does not occur in text.
    #[error("not text: byte 0x{byte:02x} at offset {offset}")]
    Binary {
        /// The byte.
        byte: u8,
        /// Where it stands, in bytes from the start.
        offset: usize,
    },
    /// The content is text, but not in UTF-8.
    #[error("not UTF-8: invalid byte 0x{byte:02x} at offset {offset}")]
    NotUtf8 {
        /// The first byte of the invalid sequence.
        byte: u8,
        /// Where it stands, in bytes from the start.
        offset: usize,
    },
    /// The file is named as a mail and has no mail header.
    #[error("not a mail: {reason}")]
    MailBroken {
        /// The part that is missing or wrong.
        reason: String,
    },
    /// The mail has no part with text, only attachments.
    #[error("the mail has no text, only {attachments} attachment(s)")]
    MailWithoutText {
        /// How many attachments it has.
        attachments: usize,
    },
    /// The PDF has pages and none of them has text: a scan or a drawing.
    #[error("the PDF has {pages} page(s) and no text: it is probably a scan")]
    PdfWithoutText {
        /// How many pages it has.
        pages: usize,
    },
    /// The PDF can be opened only with a password.
    #[error("the PDF is encrypted and needs a password")]
    PdfEncrypted,
    /// The PDF is damaged or cut short.
    #[error("the PDF is damaged: {reason}")]
    PdfBroken {
        /// The parser's error.
        reason: String,
    },
}

impl DocumentError {
    /// Returns one line that says how the person who has the document gets on.
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
