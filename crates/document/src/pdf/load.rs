//! The loading of a PDF's objects from bytes, within limits.

use std::cell::Cell;

use lopdf::{DecompressError, Document, Error, LoadOptions, Object, ObjectId};

use crate::{DocumentError, Limits};

/// The divisor of the limit for objects. Objects need far more room in memory than in the file, so they may
/// decompress to only a quarter of the pages' limit.
const OBJECT_DIVISOR: usize = 4;

thread_local! {
    /// The number of bytes to which the remaining object streams of the present document may decompress. `None` means
    /// that the limit was exceeded. The parser limits each stream alone and calls a plain function for each object,
    /// so the sum is kept here.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Loads a document. An encrypted document with an empty password, which anyone may read, is decrypted.
///
/// The decompressed size of all object streams together is limited. For decrypted documents, and for the tables of
/// object numbers in a file, each stream is limited alone.
pub(super) fn document(bytes: &[u8], limits: &Limits) -> Result<Document, DocumentError> {
    let share = limits.unfolded / OBJECT_DIVISOR;
    let options =
        LoadOptions { max_decompressed_size: Some(share), filter: Some(account), ..LoadOptions::default() };
    LEFT.set(Some(share));
    let loaded = Document::load_mem_with_options(bytes, options);
    if LEFT.get().is_none() {
        return Err(too_much_unfolded(limits));
    }
    let document = loaded.map_err(|error| fault(&error, limits))?;
    if document.is_encrypted() {
        return Err(DocumentError::PdfEncrypted);
    }
    Ok(document)
}

/// Counts the decompressed size of each object stream. Returns `None`, which drops the object, once the limit is
/// exceeded.
fn account(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    if let Ok(stream) = object.as_stream()
        && stream.dict.has_type(b"ObjStm")
    {
        let left = LEFT.get()?;
        match stream.get_plain_content_with_limit(left) {
            Ok(content) => LEFT.set(left.checked_sub(content.len())),
            Err(Error::Decompress(DecompressError::MemoryLimitExceeded { .. })) => LEFT.set(None),
            Err(_) => {}
        }
        LEFT.get()?;
    }
    Some((id, object.clone()))
}

fn too_much_unfolded(limits: &Limits) -> DocumentError {
    DocumentError::PdfTooComplex { unit: "unfolded bytes".into(), limit: limits.unfolded }
}

/// Returns the document error for an error of the parser.
fn fault(error: &Error, limits: &Limits) -> DocumentError {
    match error {
        Error::InvalidPassword | Error::Decryption(_) | Error::UnsupportedSecurityHandler(_) => {
            DocumentError::PdfEncrypted
        }
        Error::Decompress(DecompressError::MemoryLimitExceeded { .. }) => too_much_unfolded(limits),
        error => {
            let mut reason = error.to_string();
            if let Some(source) = std::error::Error::source(error) {
                reason = format!("{reason}: {source}");
            }
            DocumentError::PdfBroken { reason }
        }
    }
}
