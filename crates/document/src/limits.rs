//! The limits for reading a document.

use serde::{Deserialize, Serialize};

use crate::DocumentError;

/// The limits for reading one document. Each field can be set alone: `Limits { pages: 20, ..Limits::default() }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The maximum size of a file, in bytes.
    pub bytes: u64,
    /// The maximum size of the text, in bytes of UTF-8.
    pub text: usize,
    /// The maximum number of pages of a PDF.
    pub pages: usize,
    /// The maximum number of bytes to which all compressed pages and fonts of a PDF may decompress together.
    /// Compressed objects need more memory, so they may decompress to a quarter of this number.
    pub unfolded: usize,
    /// The maximum number of drawing operations in all pages of a PDF together. This bounds the time.
    pub operations: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 10 << 20, text: 10 << 20, pages: 500, unfolded: 64 << 20, operations: 5_000_000 }
    }
}

impl Limits {
    /// Checks whether a file of this size, in bytes, may be read. It should be called before the file is read.
    ///
    /// # Errors
    /// [`DocumentError::TooLarge`] when the file is too large.
    pub fn admit(&self, size: u64) -> Result<(), DocumentError> {
        if size > self.bytes {
            return Err(DocumentError::TooLarge { size, limit: self.bytes });
        }
        Ok(())
    }
}
