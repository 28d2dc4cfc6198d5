//! The notes on the pages of a PDF, the targets of its links, and the files in it.

use std::collections::{BTreeSet, HashSet};

use lopdf::{Dictionary, Document, Object, ObjectId};

use super::content::Reader;
use super::form_fields::{appearance, array, dictionary};
use super::text_string;
use crate::DocumentError;
use crate::reading::{one_line, size};

/// The maximum number of link targets that are listed.
const MAX_LINKS: usize = 200;
/// The maximum number of nodes of a tree of names that are visited.
const MAX_NODES: usize = 10_000;

/// The parts of a PDF beside its pages.
#[derive(Default)]
pub(super) struct Annotations {
    /// The targets of links that lead out of the document, in order.
    links: Vec<String>,
    seen: BTreeSet<String>,
    more_links: usize,
    /// The sentences about what is left out.
    pub(super) notes: Vec<String>,
}

impl Annotations {
    /// Returns the notes on a page, one on a line.
    pub(super) fn page<'a>(
        &mut self,
        reader: &mut Reader<'a, '_>,
        page: ObjectId,
    ) -> Result<String, DocumentError> {
        let document = reader.document();
        let Ok(page) = document.get_dictionary(page) else { return Ok(String::new()) };
        let mut text = String::new();
        for note in array(document, page, b"Annots").into_iter().flatten() {
            reader.work(16)?;
            let Some(note) = dictionary(document, note) else { continue };
            let kind = text_string::name(document, note, b"Subtype").unwrap_or_default();
            match kind.as_str() {
                // A field is read with the form. A window shows the note that it belongs to.
                "Widget" | "Popup" => continue,
                "Link" => {
                    self.link(document, note);
                    continue;
                }
                "FileAttachment" => {
                    if let Some(file) = note.get(b"FS").ok().and_then(|file| dictionary(document, file)) {
                        self.file(document, file, None);
                    }
                }
                "Movie" | "Sound" | "Screen" | "RichMedia" | "3D" => {
                    self.notes.push(format!("left out: an annotation of the type {kind}"));
                }
                _ => {}
            }
            let room = reader.room();
            let rich =
                || text_string::entry(document, note, b"RC", room).map(|rich| crate::mail::html::text(&rich));
            let written = text_string::entry(document, note, b"Contents", room).or_else(rich);
            let words = match (written, appearance(document, note)) {
                (Some(written), _) => written,
                (None, Some(drawing)) => reader.drawing(drawing)?.trim().to_owned(),
                (None, None) => String::new(),
            };
            if words.trim().is_empty() {
                continue;
            }
            let author = text_string::entry(document, note, b"T", room);
            let author = author.map(|author| format!(" by {}", one_line(&author))).unwrap_or_default();
            let line = format!("{}{author}: {}\n", one_line(&kind), words.trim().replace('\n', "\n    "));
            reader.take_text(line.len())?;
            text.push_str(&line);
        }
        Ok(text)
    }

    fn link(&mut self, document: &Document, note: &Dictionary) {
        let action = note.get_deref(b"A", document).and_then(Object::as_dict).ok();
        let target = action.and_then(|action| text_string::entry(document, action, b"URI", 1 << 16));
        if let Some(target) = target.map(|target| one_line(&target))
            && self.seen.insert(target.clone())
        {
            if self.links.len() < MAX_LINKS { self.links.push(target) } else { self.more_links += 1 }
        }
    }

    /// Returns the targets of links, one on a line.
    pub(super) fn links(&mut self) -> String {
        if self.more_links > 0 {
            self.notes.push(format!("left out: {} further link targets", self.more_links));
        }
        self.links.iter().map(|link| format!("{link}\n")).collect()
    }

    /// Notes the files in a document.
    pub(super) fn files(&mut self, document: &Document) {
        let names = document
            .catalog()
            .and_then(|catalog| catalog.get_deref(b"Names", document))
            .and_then(Object::as_dict)
            .and_then(|names| names.get(b"EmbeddedFiles"))
            .ok()
            .and_then(|files| dictionary(document, files));
        let mut visited: HashSet<*const Dictionary> = HashSet::new();
        let mut open: Vec<&Dictionary> = names.into_iter().collect();
        while let Some(node) = open.pop() {
            if visited.len() >= MAX_NODES || !visited.insert(std::ptr::from_ref(node)) {
                continue;
            }
            open.extend(
                array(document, node, b"Kids")
                    .into_iter()
                    .flatten()
                    .filter_map(|kid| dictionary(document, kid)),
            );
            let mut pairs = array(document, node, b"Names").unwrap_or_default();
            while let [name, file, rest @ ..] = pairs {
                pairs = rest;
                if let Some(file) = dictionary(document, file) {
                    self.file(document, file, text_string::read(document, name, 1 << 16));
                }
            }
        }
    }

    fn file(&mut self, document: &Document, file: &Dictionary, known: Option<String>) {
        let named = |key: &[u8]| text_string::entry(document, file, key, 1 << 16);
        let name =
            named(b"UF").or_else(|| named(b"F")).or(known).unwrap_or_else(|| "without a name".to_owned());
        let streams = file.get_deref(b"EF", document).and_then(Object::as_dict);
        let stream = streams.and_then(|files| {
            files
                .get_deref(b"UF", document)
                .or_else(|_| files.get_deref(b"F", document))
                .and_then(Object::as_stream)
        });
        let bytes = stream.ok().map(|stream| {
            let stated = stream.dict.get_deref(b"Params", document).and_then(Object::as_dict);
            let stated = stated.and_then(|stated| stated.get(b"Size")).and_then(Object::as_i64).ok();
            stated.and_then(|size| u64::try_from(size).ok()).unwrap_or(stream.content.len() as u64)
        });
        let bytes = bytes.map(|bytes| format!(", {}", size(bytes))).unwrap_or_default();
        let note = format!("left out: an attached file, {}{bytes}", one_line(&name));
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Returns the names of the layers that a reader does not show at first. Their text is read like all other text.
pub(super) fn hidden_layers(document: &Document) -> Vec<String> {
    let layers = document
        .catalog()
        .and_then(|catalog| catalog.get_deref(b"OCProperties", document))
        .and_then(Object::as_dict)
        .and_then(|layers| layers.get_deref(b"D", document))
        .and_then(Object::as_dict);
    let Ok(layers) = layers else { return Vec::new() };
    let off = array(document, layers, b"OFF").into_iter().flatten();
    off.filter_map(|layer| dictionary(document, layer))
        .map(|layer| text_string::entry(document, layer, b"Name", 1 << 16).unwrap_or_default())
        .map(|name| one_line(&name))
        .take(MAX_LINKS)
        .collect()
}
