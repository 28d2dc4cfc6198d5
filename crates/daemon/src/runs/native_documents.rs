//! The reading of documents. A model gets some documents in their own format, and only the text of the others.

use document::{DocumentError, Limits};
use model::{MediaKind, MediaSupport};
use passable::visible_line;

use crate::processes::document_reader::{ReadError, ReadText};
use control::exit::{Exit, Failure};

/// A document that was read.
#[derive(Debug)]
pub struct DocumentText {
    /// The text of the document. If only the model can read the document, it is a line about the document.
    pub text: String,
    /// The media type by the document's content, such as `application/pdf`.
    pub media_type: &'static str,
    /// The sentences about what the text lacks. They hold foreign words.
    pub notes: Vec<String>,
}

/// Reads a document. `read` gives the text of it.
///
/// # Errors
/// When the document's content does not match its name, or neither the daemon nor the model can read it. When the
/// document has ended the process that read it.
pub fn read_document(
    read: ReadText<'_>,
    name: &str,
    bytes: &[u8],
    limits: &Limits,
    takes: MediaSupport,
) -> Result<DocumentText, Failure> {
    let refuse = |e: &ReadError, help: String| {
        let exit = if matches!(e, ReadError::Unconfined { .. }) { Exit::Failure } else { Exit::Invalid };
        Failure::new(exit, format!("{}: {e}", visible_line(name))).help(help)
    };
    let found = MediaKind::of(name, bytes);
    let named = MediaKind::named(name).filter(|named| named.starts_with("image/"));
    if let (Some(named), true) = (named, found.is_none()) {
        let known = MediaKind::sniff(bytes).map_or("no picture", |(_, kind)| kind);
        let what = format!("{}: its name says {named}, but its content is {known}", visible_line(name));
        return Err(Failure::new(Exit::Invalid, what).help("give it the suffix of what it is"));
    }
    let stands_for = |media_type: &'static str| DocumentText {
        text: format!("({media_type}, {}: no text of it is known)", document::size(bytes.len() as u64)),
        media_type,
        notes: vec![],
    };
    match (found, read(bytes, name, limits)) {
        (_, Err(e @ ReadError::Document(DocumentError::TooLarge { .. }))) => Err(refuse(&e, e.help())),
        (Some((MediaKind::Image, kind)), _) if takes.images => Ok(stands_for(kind)),
        (Some((MediaKind::Image, _)), Err(e)) => {
            let help = format!("{}; or use a model that takes pictures (`-m`)", e.help());
            Err(refuse(&e, help))
        }
        (Some((MediaKind::Pdf, kind)), Err(ReadError::Document(DocumentError::PdfWithoutText { .. })))
            if takes.pdfs =>
        {
            Ok(stands_for(kind))
        }
        (found, Ok(read)) => {
            // The model gets the PDF itself, so the notes about its text would be wrong.
            let is_sent = takes.pdfs && matches!(found, Some((MediaKind::Pdf, _)));
            let notes = if is_sent { vec![] } else { read.notes };
            Ok(DocumentText { text: read.text, media_type: read.media_type.as_str(), notes })
        }
        (_, Err(e)) => Err(refuse(&e, e.help())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nxxxx";

    #[track_caller]
    fn check(name: &str, bytes: &[u8], takes: MediaSupport, expected: Result<&str, &str>) {
        let limits = Limits { bytes: 100, ..Limits::default() };
        let read = |bytes: &[u8], name: &str, limits: &Limits| Ok(document::text(bytes, name, limits)?);
        let found = read_document(&read, name, bytes, &limits, takes);
        match (found, expected) {
            (Ok(read), Ok(part)) => {
                assert!(read.text.contains(part), "{read:?}");
                assert!(worker::definition::MEDIA_TYPES.contains(&read.media_type), "{read:?}");
            }
            (Err(failure), Err(part)) => {
                let said = format!("{} / {}", failure.message.raw(), failure.help);
                assert!(said.contains(part), "{said}");
            }
            (found, _) => panic!("{name}: {:?}", found.map(|read| read.text).map_err(|failure| failure.help)),
        }
    }

    #[test]
    fn image_is_passed_only_to_models_that_accept_images() {
        let (both, none) = (MediaSupport { images: true, pdfs: true }, MediaSupport::default());
        check("a.png", PNG, both, Ok("image/png, 12 bytes"));
        check("a.png", PNG, none, Err("use a model that takes pictures"));
        check(
            "a.png",
            PNG,
            MediaSupport { images: false, pdfs: true },
            Err("use a model that takes pictures"),
        );
        check("a.jpg", PNG, both, Err("its name says image/jpeg, but its content is image/png"));
        check("a.png", b"plain words", both, Err("its content is no picture"));
        check("a.txt", PNG, both, Err("ends in .txt"));
        check("a.txt", b"plain words", both, Ok("plain words"));
        for name in ["a.md", "a.json", "a.csv", "a.eml"] {
            check(name, b"Subject: words\n\nwords", both, Ok("words"));
        }
        check("a.png", &[PNG, &[0; 100]].concat(), both, Err("the limit is 100"));
        check("a.pdf", b"no PDF", both, Err("a.pdf"));
        check("a.pdf", b"%PDF-1.4 damaged", both, Err("a.pdf"));
    }
}
