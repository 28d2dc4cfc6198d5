//! How much of a document is read at most.

use crate::DocumentError;

/// The limits for reading one document. Each field can be set by itself: `Limits { pages: 20, ..Limits::default() }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The largest file that is looked at, in bytes.
    pub bytes: u64,
    /// The largest text that is handed back, in bytes of UTF-8.
    pub text: usize,
    /// The most pages that a PDF may have.
    pub pages: usize,
    /// The most bytes that the compressed pages and fonts of a PDF may unfold to, taken together. Its
    /// compressed objects, which take more room, may unfold to a quarter of it.
    pub unfolded: usize,
    /// The most drawing operations that are followed in the pages of a PDF, taken together. This bounds the
    /// time.
    pub operations: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 10 << 20, text: 10 << 20, pages: 500, unfolded: 64 << 20, operations: 5_000_000 }
    }
}

impl Limits {
    /// Checks whether a file of this size, in bytes, may be read at all. Call it before reading the file.
    ///
    /// # Errors
    ///
    /// [`DocumentError::TooLarge`] when it may not.
    pub fn admit(&self, size: u64) -> Result<(), DocumentError> {
        if size > self.bytes {
            return Err(DocumentError::TooLarge { size, limit: self.bytes });
        }
        Ok(())
    }
}
