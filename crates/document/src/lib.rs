//! The text of a document, as a model or a person may read it.
//!
//! The function [`text()`] takes the bytes of a file and its name, and returns plain text. It knows UTF-8 text in its
//! many suffixes, mail (`.eml`) and PDF with a text layer. It refuses every other file with a [`DocumentError`] that
//! names the problem. The remedy is in [`DocumentError::help`]. It never guesses at bytes.
//!
//! Documents come from strangers. So everything is bounded by [`Limits`], no input causes a panic, and a panic inside
//! a foreign parser comes back as an error. Two things are left to the caller. Time is bounded by the amount of work,
//! not by a clock: a caller with a deadline uses a process that can be ended. And the text is foreign: it carries the
//! provenance of its file.
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
    /// The text. Lines end in `\n` where this crate made them (mail, PDF); the text of a text file is
    /// unchanged but for a byte order mark at its start. Free of NUL and of other control characters but
    /// tab, line feed, carriage return and form feed.
    pub text: String,
    /// The type as which the document was read.
    pub media_type: MediaType,
    /// How many pages it has; `None` where pages have no meaning.
    pub pages: Option<usize>,
}

/// Reads the text of a document.
///
/// `name` is a file name or path; only its suffix counts, and only together with the content: see
/// [`MediaType::sniff`]. A caller that has a file rather than bytes asks [`Limits::admit`] with the file's
/// size before it reads the file.
///
/// # Errors
///
/// A [`DocumentError`] that says which of the rules the document breaks. The size is checked first, then
/// the type, then the content.
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
