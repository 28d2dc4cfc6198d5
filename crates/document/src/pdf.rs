//! The text layer of a PDF, page by page.

mod content;
mod font;
mod lexer;
mod lines;
mod load;
mod matrix;
mod unicode;

use crate::guard::guarded;
use crate::plain::tidy;
use crate::{DocumentError, Limits};

/// The text and page count of a PDF.
pub(crate) struct PdfText {
    pub(crate) text: String,
    pub(crate) pages: usize,
}

/// The remaining limits while a PDF is read.
pub(crate) struct Budget<'a> {
    limits: &'a Limits,
    unfolded: usize,
    operations: usize,
    text: usize,
}

impl Budget<'_> {
    /// Subtracts `bytes` that were decompressed from the budget.
    fn unfold(&mut self, bytes: usize) -> Result<(), DocumentError> {
        self.unfolded = self.unfolded.checked_sub(bytes).ok_or_else(|| self.too_much_unfolded())?;
        Ok(())
    }

    fn too_much_unfolded(&self) -> DocumentError {
        DocumentError::PdfTooComplex { unit: "unfolded bytes", limit: self.limits.unfolded }
    }

    /// Subtracts an amount of work from the budget, counted in drawing operations.
    fn work(&mut self, operations: usize) -> Result<(), DocumentError> {
        let limit = self.limits.operations;
        self.operations = self
            .operations
            .checked_sub(operations)
            .ok_or(DocumentError::PdfTooComplex { unit: "drawing operations", limit })?;
        Ok(())
    }

    /// Subtracts `bytes` of text that were found from the budget.
    fn text(&mut self, bytes: usize) -> Result<(), DocumentError> {
        let limit = self.limits.text;
        self.text = self.text.checked_sub(bytes).ok_or(DocumentError::TooMuchText { limit })?;
        Ok(())
    }
}

/// Returns the text of a PDF, with an empty line between pages.
pub(crate) fn text(bytes: &[u8], limits: &Limits) -> Result<PdfText, DocumentError> {
    match guarded(|| read(bytes, limits)) {
        Ok(read) => read,
        Err(reason) => Err(DocumentError::PdfBroken { reason }),
    }
}

fn read(bytes: &[u8], limits: &Limits) -> Result<PdfText, DocumentError> {
    let document = load::document(bytes, limits)?;
    let pages: Vec<_> = document.page_iter().take(limits.pages.saturating_add(1)).collect();
    if pages.is_empty() {
        return Err(DocumentError::PdfBroken { reason: "it has no pages".into() });
    }
    if pages.len() > limits.pages {
        return Err(DocumentError::TooManyPages { pages: document.page_iter().count(), limit: limits.pages });
    }
    let budget =
        Budget { limits, unfolded: limits.unfolded, operations: limits.operations, text: limits.text };
    let mut reader = content::Reader::new(&document, budget);
    let mut text = String::new();
    for page in &pages {
        let page = tidy(&reader.page(*page)?);
        if page.trim().is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(page.trim_matches('\n'));
        text.push('\n');
    }
    // Glyphs without a mapping to characters are no better than pictures.
    if !text.chars().any(|char| char.is_alphanumeric()) {
        return Err(DocumentError::PdfWithoutText { pages: pages.len() });
    }
    Ok(PdfText { text, pages: pages.len() })
}
