//! The text of a document, for a model or a person.
//!
//! The function [`text()`] takes the bytes and the name of a file, and returns plain text. It reads UTF-8 text with
//! many suffixes, mail (`.eml`), and PDF with a text layer. For every other file, it returns a [`DocumentError`] that
//! names the problem. The remedy is in [`DocumentError::help`]. The encoding of bytes is never guessed.
//!
//! Documents come from strangers. Everything is bounded by [`Limits`], no input causes a panic, and a panic of a
//! foreign parser becomes an error. Two matters are left to the caller:
//!
//! - Time is bounded by the amount of work, not by a clock. A caller with a deadline needs a process that can be
//!   killed.
//! - The text is foreign. It has the provenance of its file.
//!
//! The crate opens no file, reads no clock and keeps no state.
#![forbid(unsafe_code)]

mod error;
mod guard;
mod limits;
mod mail;
mod media;
mod pdf;
mod plain;

pub use error::DocumentError;
pub use limits::Limits;
pub use media::MediaType;

/// The text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The text. In text from mail or PDF, lines end in `\n`. Text files are unchanged, except that a byte order mark
    /// at the start is removed. The text contains no ASCII control characters except tab, line feed, carriage return
    /// and form feed.
    pub text: String,
    /// The type as which the document was read.
    pub media_type: MediaType,
    /// The number of pages, or `None` for a type without pages.
    pub pages: Option<usize>,
}

/// Reads the text of a document.
///
/// `name` is a file name or path. Only its suffix is used, and only together with the content: see
/// [`MediaType::sniff`]. Before a caller reads a file into memory, it should pass the file's size to
/// [`Limits::admit`].
///
/// # Errors
/// A [`DocumentError`] that names the broken rule. The size is checked first, then the type, then the content.
pub fn text(bytes: &[u8], name: &str, limits: &Limits) -> Result<Text, DocumentError> {
    limits.admit(u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
    let media_type = MediaType::sniff(bytes, name)?;
    let (text, pages) = match media_type {
        MediaType::Pdf => {
            let read = pdf::text(bytes, limits)?;
            (read.text, Some(read.pages))
        }
        MediaType::Mail => (mail::text(bytes, limits)?, None),
        MediaType::Plain | MediaType::Markdown | MediaType::Json | MediaType::Csv => {
            (plain::text(bytes)?, None)
        }
    };
    if text.len() > limits.text {
        return Err(DocumentError::TooMuchText { limit: limits.text });
    }
    Ok(Text { text, media_type, pages })
}
