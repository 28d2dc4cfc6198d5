//! The text of a document, for a model or a person.
//!
//! The function [`text()`] takes the bytes and the name of a file, and returns plain text. It reads text with many
//! suffixes, mails and mailboxes with the attachments that have text, and PDF with a text layer, its forms and its
//! notes. For every other file, it returns a [`DocumentError`] that names the problem. The remedy is in
//! [`DocumentError::help`].
//!
//! Nothing is left out silently. Each part that could not be read is a line of the text, in square brackets, and an
//! entry of [`Text::notes`]. The encoding of a text file is never guessed. The encoding of a part of a mail is guessed
//! only where its name is missing or wrong, and a note says so.
//!
//! Documents come from strangers. Everything is bounded by [`Limits`], no input causes a panic, and a panic of a
//! foreign parser becomes an error. Two matters are left to the caller:
//!
//! - Time is bounded by the amount of work, not by a clock. The caller therefore reads in a confined process, which
//!   can be killed. The function [`unparsed_text`] reads the documents that need no such process.
//! - The text is foreign. It has the provenance of its file.
//!
//! The crate opens no file, reads no clock and keeps no state. The result and the error can be sent from one process
//! to another.
#![forbid(unsafe_code)]

mod charset;
mod error;
mod guard;
mod limits;
mod mail;
mod media;
mod pdf;
mod plain;
mod reading;
mod terminal;

pub use error::DocumentError;
pub use limits::Limits;
pub use media::MediaType;
pub use reading::{size, sizes};

use serde::{Deserialize, Serialize};

/// The text of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// The text. In text from mail or PDF, lines end in `\n`. Text files are unchanged, except for a byte order mark
    /// and for control characters. The text contains no ASCII control characters except tab, line feed, carriage
    /// return and form feed.
    pub text: String,
    /// The type as which the document was read.
    pub media_type: MediaType,
    /// The number of pages, or `None` for a type without pages.
    pub pages: Option<usize>,
    /// The sentences about what is not in the text, or not as it was. The text has them too, in square brackets. They
    /// hold foreign words, such as the names of attached files.
    pub notes: Vec<String>,
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
    text_within(bytes, name, limits, 0)
}

/// Reads the text of a document that needs no parser, and returns `None` for every other document.
///
/// Text in UTF-8 without control characters is taken as it is. A PDF, a mail, text in another encoding and text with
/// codes for a terminal need a parser or a decoder. The result and the errors are those of [`text()`].
///
/// # Errors
/// When the document is too large, or of a type whose text cannot be read.
pub fn unparsed_text(bytes: &[u8], name: &str, limits: &Limits) -> Result<Option<Text>, DocumentError> {
    limits.admit(u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
    let media_type = MediaType::sniff(bytes, name)?;
    if matches!(media_type, MediaType::Pdf | MediaType::Mail) || !media::is_text(bytes) {
        return Ok(None);
    }
    let (text, notes) = plain::text(bytes, limits)?.finish();
    Ok(Some(Text { text, media_type, pages: None, notes }))
}

/// Reads the text of a document that stands in `depth` mails.
fn text_within(bytes: &[u8], name: &str, limits: &Limits, depth: usize) -> Result<Text, DocumentError> {
    limits.admit(u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
    let media_type = MediaType::sniff(bytes, name)?;
    let (reading, pages) = match media_type {
        MediaType::Pdf => {
            let (reading, pages) = pdf::text(bytes, limits)?;
            (reading, Some(pages))
        }
        MediaType::Mail => (mail::text(bytes, limits, depth)?, None),
        MediaType::Plain | MediaType::Markdown | MediaType::Json | MediaType::Csv => {
            (plain::text(bytes, limits)?, None)
        }
    };
    let (text, notes) = reading.finish();
    Ok(Text { text, media_type, pages, notes })
}
