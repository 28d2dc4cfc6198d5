//! The text of a PDF: its text layer page by page, the notes on the pages, the values of its form, and its links.

mod annotations;
mod codes;
mod content;
mod font;
mod form_fields;
mod lexer;
mod lines;
mod load;
mod matrix;
mod text_string;
mod unicode;

use lopdf::{Document, Object, ObjectId};

use self::annotations::Annotations;
use self::content::{PageText, Reader};
use self::form_fields::FormFields;
use crate::guard::guarded;
use crate::plain::tidy;
use crate::reading::{Reading, count};
use crate::{DocumentError, Limits};

/// The maximum number of ranges of pages that a note lists.
const MAX_RANGES: usize = 20;

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
        DocumentError::PdfTooComplex { unit: "unfolded bytes".into(), limit: self.limits.unfolded }
    }

    /// Subtracts an amount of work from the budget, counted in drawing operations.
    fn work(&mut self, operations: usize) -> Result<(), DocumentError> {
        let limit = self.limits.operations;
        self.operations = self
            .operations
            .checked_sub(operations)
            .ok_or(DocumentError::PdfTooComplex { unit: "drawing operations".into(), limit })?;
        Ok(())
    }

    /// Subtracts `bytes` of text that were found from the budget.
    fn text(&mut self, bytes: usize) -> Result<(), DocumentError> {
        let limit = self.limits.text;
        self.text = self.text.checked_sub(bytes).ok_or(DocumentError::TooMuchText { limit })?;
        Ok(())
    }
}

/// Returns the text of a PDF, with an empty line between pages, and the number of its pages.
pub(crate) fn text(bytes: &[u8], limits: &Limits) -> Result<(Reading, usize), DocumentError> {
    match guarded(|| read(bytes, limits)) {
        Ok(read) => read,
        Err(reason) => Err(DocumentError::PdfBroken { reason }),
    }
}

fn read(bytes: &[u8], limits: &Limits) -> Result<(Reading, usize), DocumentError> {
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
    let mut reader = Reader::new(&document, budget);
    let mut annotations = Annotations::default();
    let mut found = Vec::with_capacity(pages.len());
    let mut reading = Reading::new(limits);
    for (at, page) in pages.iter().enumerate() {
        let mut page_text = reader.page(*page)?;
        reading.push_block(&tidy(&page_text.text))?;
        let notes = annotations.page(&mut reader, *page)?;
        if !notes.is_empty() {
            reading.push_block(&format!("--- notes on page {} ---\n{notes}", at + 1))?;
        }
        page_text.add(&reader.take_marks());
        found.push(page_text);
    }
    let form = FormFields::find(&document, &pages).text(&mut reader)?;
    if !form.text.is_empty() {
        reading.push_block(&format!("--- fields of the form ---\n{}", form.text))?;
    }
    // Glyphs without a mapping to characters are no better than pictures.
    let is_readable = reading.text().chars().any(|char| char.is_alphanumeric());
    if !is_readable {
        return Err(DocumentError::PdfWithoutText { pages: pages.len() });
    }
    let links = annotations.links();
    if !links.is_empty() {
        reading.push_block(&format!("--- targets of links ---\n{links}"))?;
    }
    annotations.files(&document);
    let notes = page_notes(&document, &pages, &found).into_iter().chain(form.notes).chain(annotations.notes);
    for note in notes {
        reading.note(&note)?;
    }
    Ok((reading, pages.len()))
}

/// Returns the sentences about what is on the pages and not in the text.
fn page_notes(document: &Document, pages: &[ObjectId], found: &[PageText]) -> Vec<String> {
    let mut notes = Vec::new();
    let which = |is: &dyn Fn(&PageText) -> bool| -> Vec<usize> {
        (1..).zip(found).filter(|(_, page)| is(page)).map(|(number, _)| number).collect()
    };
    let bare = which(&|page| page.text.trim().is_empty() && (page.pictures > 0 || page.has_drawing));
    if !bare.is_empty() {
        let verb = if bare.len() == 1 { "has" } else { "have" };
        notes
            .push(format!("{} {verb} no text that can be read, only pictures or drawings", page_list(&bare)));
    }
    let pictures: usize = found.iter().map(|page| page.pictures).sum();
    if pictures > 0 {
        let on = page_list(&which(&|page| page.pictures > 0));
        notes.push(format!("left out: {} on {on}", count(pictures, "picture", "pictures")));
    }
    let unreadable: usize = found.iter().map(|page| page.unreadable).sum();
    if unreadable > 0 {
        let on = page_list(&which(&|page| page.unreadable > 0));
        let what = count(unreadable, "character", "characters");
        notes.push(format!("{what} on {on} could not be read: the file does not say which they are"));
    }
    let broken = which(&|page| page.is_broken);
    if !broken.is_empty() {
        notes.push(format!("left out: damaged parts of {}", page_list(&broken)));
    }
    let stated = document
        .catalog()
        .and_then(|catalog| catalog.get_deref(b"Pages", document))
        .and_then(Object::as_dict)
        .and_then(|tree| tree.get_deref(b"Count", document))
        .and_then(Object::as_i64);
    if let Ok(stated) = stated.map(|stated| usize::try_from(stated).unwrap_or(0))
        && stated > pages.len()
    {
        let missing = count(stated - pages.len(), "page", "pages");
        notes.push(format!("left out: {missing}, which the file lists and does not have"));
    }
    let layers = annotations::hidden_layers(document);
    if !layers.is_empty() {
        let what = count(layers.len(), "layer is", "layers are");
        notes.push(format!(
            "{what} hidden in the file, and their text is part of this: {}",
            layers.join(", ")
        ));
    }
    notes
}

/// Returns page numbers as a list of ranges, such as `pages 1, 3–5`.
fn page_list(pages: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for page in pages {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *page => *last = *page,
            _ => ranges.push((*page, *page)),
        }
    }
    let mut shown: Vec<String> = ranges
        .iter()
        .take(MAX_RANGES)
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}–{last}") })
        .collect();
    if ranges.len() > MAX_RANGES {
        shown.push("…".to_owned());
    }
    format!("{} {}", if pages.len() == 1 { "page" } else { "pages" }, shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_listed_as_ranges() {
        let check = |pages: &[usize], expected: &str| assert_eq!(page_list(pages), expected);
        check(&[2], "page 2");
        check(&[1, 3, 4, 5, 9], "pages 1, 3–5, 9");
        let odd: Vec<usize> = (0..30).map(|at| at * 2 + 1).collect();
        assert!(page_list(&odd).ends_with("39, …"));
    }
}
