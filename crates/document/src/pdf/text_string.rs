//! Strings of a PDF that are meant for people: values of fields, notes and names.

use lopdf::{Dictionary, Document, Object};

use crate::charset;
use crate::plain::tidy;

/// Returns a string, or the content of a stream that stands for one, as text. Returns `None` for any other object.
pub(super) fn read(document: &Document, object: &Object, limit: usize) -> Option<String> {
    let (_, object) = document.dereference(object).ok()?;
    let decoded = match object {
        Object::String(bytes, _) => decode(bytes),
        Object::Stream(stream) => decode(&stream.get_plain_content_with_limit(limit).ok()?),
        _ => return None,
    };
    Some(tidy(&decoded))
}

/// Returns the text of an entry of a dictionary, if it is not blank.
pub(super) fn entry(
    document: &Document,
    dictionary: &Dictionary,
    key: &[u8],
    limit: usize,
) -> Option<String> {
    let text = read(document, dictionary.get(key).ok()?, limit)?;
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// Returns a name as text.
pub(super) fn name(document: &Document, dictionary: &Dictionary, key: &[u8]) -> Option<String> {
    let name = dictionary.get_deref(key, document).and_then(Object::as_name).ok()?;
    Some(charset::decode(name, Some("utf-8")).text)
}

fn decode(bytes: &[u8]) -> String {
    if encoding_rs::Encoding::for_bom(bytes).is_some() {
        return charset::decode(bytes, None).text;
    }
    // Programs write UTF-8 without its mark. Other text is seldom valid UTF-8 beyond ASCII.
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => lopdf::decode_text_string(&Object::string_literal(bytes)).unwrap_or_default(),
    }
}
