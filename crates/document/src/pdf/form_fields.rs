//! The values of a PDF's form. They need not be drawn on a page, and a page that draws them may be out of date.

use std::collections::{HashMap, HashSet};

use lopdf::{Dictionary, Document, Object, ObjectId, Stream};

use super::content::Reader;
use super::text_string;
use crate::DocumentError;
use crate::reading::{count, one_line, size};

/// The maximum depth of fields in fields, and of the search for an inherited entry.
const MAX_DEPTH: usize = 32;
/// The maximum number of fields that are read.
const MAX_FIELDS: usize = 20_000;
/// The flags of a button: it is a radio button, or it only starts an action.
const RADIO: i64 = 1 << 15;
const PUSH_BUTTON: i64 = 1 << 16;

/// The fields of a form.
#[derive(Default)]
pub(super) struct FormFields<'a> {
    fields: Vec<Field<'a>>,
    /// The dictionaries of the fields that were found.
    seen: HashSet<*const Dictionary>,
}

struct Field<'a> {
    dictionary: &'a Dictionary,
    /// The places of the field on pages.
    widgets: Vec<&'a Dictionary>,
}

/// The text of a form, and the notes about it.
pub(super) struct FormText {
    pub(super) text: String,
    pub(super) notes: Vec<String>,
}

impl<'a> FormFields<'a> {
    /// Finds the fields of a form: those of its tree, and those that stand on a page only.
    pub(super) fn find(document: &'a Document, pages: &[ObjectId]) -> Self {
        let mut found = Self::default();
        if let Some(roots) = form(document).and_then(|form| array(document, form, b"Fields")) {
            for root in roots {
                found.descend(document, root, 0);
            }
        }
        for page in pages {
            let Ok(page) = document.get_dictionary(*page) else { continue };
            for widget in array(document, page, b"Annots").into_iter().flatten() {
                let Some(widget) = dictionary(document, widget) else { continue };
                if widget.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Widget") {
                    found.add_widget(document, widget);
                }
            }
        }
        found
    }

    fn descend(&mut self, document: &'a Document, node: &'a Object, depth: usize) {
        let Some(node) = dictionary(document, node) else { return };
        if depth > MAX_DEPTH || self.fields.len() >= MAX_FIELDS || !self.seen.insert(std::ptr::from_ref(node))
        {
            return;
        }
        let kids = array(document, node, b"Kids").unwrap_or_default();
        let widgets: Vec<_> = kids.iter().filter_map(|kid| dictionary(document, kid)).collect();
        if widgets.iter().any(|kid| kid.has(b"T")) {
            kids.iter().for_each(|kid| self.descend(document, kid, depth + 1));
            return;
        }
        let widgets = if widgets.is_empty() { vec![node] } else { widgets };
        self.fields.push(Field { dictionary: node, widgets });
    }

    fn add_widget(&mut self, document: &'a Document, widget: &'a Dictionary) {
        let owner = parents(document, widget).find(|one| one.has(b"T")).unwrap_or(widget);
        if self.fields.len() < MAX_FIELDS && self.seen.insert(std::ptr::from_ref(owner)) {
            self.fields.push(Field { dictionary: owner, widgets: vec![widget] });
        }
    }

    /// Returns the values of all fields.
    pub(super) fn text(&self, reader: &mut Reader<'a, '_>) -> Result<FormText, DocumentError> {
        let document = reader.document();
        let (mut text, mut empty) = (String::new(), 0);
        for field in &self.fields {
            reader.work(16 + field.widgets.len())?;
            match field.value(reader)? {
                Value::Text(value) => {
                    let line = format!(
                        "{}: {}\n",
                        field.label(document, reader.room()),
                        value.replace('\n', "\n    ")
                    );
                    reader.take_text(line.len())?;
                    text.push_str(&line);
                }
                Value::Empty => empty += 1,
                Value::Action => {}
            }
        }
        if !text.is_empty() && empty > 0 {
            let verb = if empty == 1 { "is" } else { "are" };
            text.push_str(&format!("({} {verb} empty)\n", count(empty, "further field", "further fields")));
        }
        let mut notes = Vec::new();
        if let Some(bytes) = xfa(document) {
            notes.push(format!(
                "left out: an XFA form, {}; only its fields that the file also has as plain fields were read",
                size(bytes as u64)
            ));
        }
        if self.fields.len() >= MAX_FIELDS {
            notes.push(format!("left out: all fields of the form after the first {MAX_FIELDS}"));
        }
        Ok(FormText { text, notes })
    }
}

enum Value {
    Text(String),
    Empty,
    /// A field that cannot have a value, such as a button that starts an action.
    Action,
}

impl<'a> Field<'a> {
    fn inherited(&self, document: &'a Document, key: &[u8]) -> Option<&'a Object> {
        let own = parents(document, self.dictionary).find_map(|one| one.get(key).ok());
        own.or_else(|| self.widgets.iter().find_map(|widget| widget.get(key).ok()))
    }

    /// Returns the words for the field: those that its author wrote for people, or its full name.
    fn label(&self, document: &Document, limit: usize) -> String {
        let mut names: Vec<String> = parents(document, self.dictionary)
            .filter_map(|one| text_string::entry(document, one, b"T", limit))
            .map(|name| one_line(&name))
            .collect();
        let last = names.first().cloned().unwrap_or_default();
        names.reverse();
        let widgets = self.widgets.iter().copied();
        let words = std::iter::once(self.dictionary)
            .chain(widgets)
            .find_map(|one| text_string::entry(document, one, b"TU", limit))
            .map(|words| one_line(&words));
        match words {
            Some(words) if words == last || last.is_empty() => words,
            Some(words) => format!("{words} ({last})"),
            None if names.is_empty() => "(a field without a name)".to_owned(),
            None => names.join("."),
        }
    }

    fn value(&self, reader: &mut Reader<'a, '_>) -> Result<Value, DocumentError> {
        let document = reader.document();
        let kind = self.inherited(document, b"FT").and_then(|kind| kind.as_name().ok()).unwrap_or_default();
        let flags = self.inherited(document, b"Ff").and_then(|flags| flags.as_i64().ok()).unwrap_or(0);
        Ok(match kind {
            b"Btn" if flags & PUSH_BUTTON != 0 => Value::Action,
            b"Btn" => Value::Text(self.chosen(document, flags & RADIO != 0)),
            b"Sig" => self.signature(document, reader.room()),
            b"Ch" => match self.choices(reader)? {
                choices if choices.is_empty() => self.drawn(reader)?,
                choices => Value::Text(choices.join(", ")),
            },
            _ => {
                let value = self.inherited(document, b"V");
                let value = value.and_then(|value| text_string::read(document, value, reader.room()));
                let given = match value.filter(|value| !value.trim().is_empty()) {
                    Some(value) => Some(value),
                    None => self.rich_value(reader)?,
                };
                match given.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty()) {
                    Some(value) => Value::Text(value),
                    None => self.drawn(reader)?,
                }
            }
        })
    }

    /// Returns the text of a value with markup.
    fn rich_value(&self, reader: &mut Reader<'a, '_>) -> Result<Option<String>, DocumentError> {
        let document = reader.document();
        let rich = self.inherited(document, b"RV");
        let Some(rich) = rich.and_then(|rich| text_string::read(document, rich, reader.room())) else {
            return Ok(None);
        };
        // Many fields may share one value.
        reader.work(rich.len() / 4)?;
        Ok(Some(crate::mail::html::text(&rich)))
    }

    /// Returns the state of a check box or of radio buttons.
    fn chosen(&self, document: &'a Document, is_radio: bool) -> String {
        let own = self.inherited(document, b"V").and_then(|value| {
            let (_, value) = document.dereference(value).ok()?;
            let bytes = value.as_name().or_else(|_| value.as_str()).ok()?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        });
        let is_on = |state: &String| !state.is_empty() && state != "Off";
        let shown = || {
            let mut states =
                self.widgets.iter().filter_map(|widget| text_string::name(document, widget, b"AS"));
            states.find(is_on)
        };
        let state = own.filter(is_on).or_else(shown);
        let options = self.inherited(document, b"Opt").and_then(|options| options.as_array().ok());
        // The state may be the number of an option.
        let state = state.map(|state| {
            let option = state.parse::<usize>().ok().and_then(|at| options?.get(at));
            option.and_then(|option| text_string::read(document, option, 1 << 20)).unwrap_or(state)
        });
        match state {
            None if is_radio => "(none is chosen)".to_owned(),
            None => "no".to_owned(),
            Some(state) if is_radio => one_line(&state),
            Some(state) if matches!(state.as_str(), "Yes" | "On" | "1" | "yes" | "on") => "yes".to_owned(),
            Some(state) => format!("yes ({})", one_line(&state)),
        }
    }

    /// Returns the chosen entries of a list, in the words that a person sees.
    fn choices(&self, reader: &mut Reader<'a, '_>) -> Result<Vec<String>, DocumentError> {
        let (document, limit) = (reader.document(), reader.room());
        let options = self.inherited(document, b"Opt").and_then(|options| {
            document.dereference(options).ok().and_then(|(_, options)| options.as_array().ok())
        });
        // Many fields may share one list.
        reader.work(options.map_or(0, Vec::len))?;
        let mut words: HashMap<String, String> = HashMap::new();
        let pairs =
            options.into_iter().flatten().filter_map(|option| match document.dereference(option).ok()?.1 {
                Object::Array(pair) => {
                    let value = text_string::read(document, pair.first()?, limit)?;
                    Some((value, text_string::read(document, pair.get(1)?, limit)?))
                }
                single => {
                    let value = text_string::read(document, single, limit)?;
                    Some((value.clone(), value))
                }
            });
        for (value, shown) in pairs {
            words.entry(value).or_insert(shown);
        }
        let words = |value: String| words.get(&value).cloned().unwrap_or(value);
        let value = self.inherited(document, b"V").and_then(|value| document.dereference(value).ok());
        let values = match value {
            Some((_, Object::Array(values))) => values.as_slice(),
            Some((_, single)) => std::slice::from_ref(single),
            None => &[],
        };
        reader.work(values.len())?;
        let chosen = values.iter().filter_map(|value| text_string::read(document, value, limit));
        let chosen = chosen.filter(|value| !value.trim().is_empty()).map(|value| one_line(&words(value)));
        Ok(chosen.collect())
    }

    fn signature(&self, document: &'a Document, limit: usize) -> Value {
        let value = self.inherited(document, b"V").and_then(|value| dictionary(document, value));
        let Some(value) = value else { return Value::Empty };
        let mut words = "signed, which is not checked".to_owned();
        for (key, before) in [(b"Name".as_slice(), "by"), (b"M", "at"), (b"Reason", "because of")] {
            if let Some(text) = text_string::entry(document, value, key, limit) {
                words.push_str(&format!("; {before} {}", one_line(&text)));
            }
        }
        Value::Text(words)
    }

    /// Returns the text that a field without a value draws.
    fn drawn(&self, reader: &mut Reader<'a, '_>) -> Result<Value, DocumentError> {
        for widget in &self.widgets {
            if let Some(drawing) = appearance(reader.document(), widget) {
                let text = reader.drawing(drawing)?;
                if !text.trim().is_empty() {
                    return Ok(Value::Text(text.trim().to_owned()));
                }
            }
        }
        Ok(Value::Empty)
    }
}

/// Returns the drawing of a widget or of a note.
pub(super) fn appearance<'a>(document: &'a Document, owner: &'a Dictionary) -> Option<&'a Stream> {
    let appearance = owner.get_deref(b"AP", document).and_then(Object::as_dict).ok()?;
    appearance.get_deref(b"N", document).and_then(Object::as_stream).ok()
}

pub(super) fn form(document: &Document) -> Option<&Dictionary> {
    document.catalog().ok()?.get_deref(b"AcroForm", document).and_then(Object::as_dict).ok()
}

/// Returns the size of an XFA form. Such a form has its fields and their layout in XML.
fn xfa(document: &Document) -> Option<usize> {
    let size = |object: &Object| match document.dereference(object) {
        Ok((_, Object::Stream(stream))) => stream.content.len(),
        _ => 0,
    };
    let (_, found) = document.dereference(form(document)?.get(b"XFA").ok()?).ok()?;
    match found {
        Object::Array(packets) => Some(packets.iter().map(size).sum()),
        Object::Stream(stream) => Some(stream.content.len()),
        _ => None,
    }
}

/// Returns a dictionary and all fields above it.
fn parents<'a>(document: &'a Document, start: &'a Dictionary) -> impl Iterator<Item = &'a Dictionary> {
    let next = |one: &&'a Dictionary| one.get_deref(b"Parent", document).and_then(Object::as_dict).ok();
    std::iter::successors(Some(start), next).take(MAX_DEPTH)
}

pub(super) fn array<'a>(
    document: &'a Document,
    dictionary: &'a Dictionary,
    key: &[u8],
) -> Option<&'a [Object]> {
    dictionary.get_deref(key, document).and_then(Object::as_array).ok().map(Vec::as_slice)
}

pub(super) fn dictionary<'a>(document: &'a Document, object: &'a Object) -> Option<&'a Dictionary> {
    document.dereference(object).ok()?.1.as_dict().ok()
}
