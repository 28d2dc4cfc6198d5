//! Files that came with a form: their bytes as the text of a field. A script writes that text itself; without one the
//! browser sends the file.

use passable::form_of_bytes;

use crate::page_request::PageRequest;

/// The prefix that turns a place into the name of its file field. Fields with this prefix are no part of an answer.
const FILE: &str = "_file ";

/// Returns the name of the field that takes a file for a place.
pub fn field(place: &str) -> String {
    format!("{FILE}{place}")
}

/// Returns the same request, the bytes of each file written where it was chosen for.
pub fn written(asked: &PageRequest) -> PageRequest {
    let mut asked = asked.clone();
    for file in std::mem::take(&mut asked.files) {
        let chosen = !file.name.is_empty() || !file.bytes.is_empty();
        match file.field.strip_prefix(FILE).filter(|_| chosen) {
            Some(place) => {
                asked.body.retain(|(name, _)| name != place);
                asked.body.push((place.to_owned(), form_of_bytes(&file.bytes)));
            }
            None => asked.files.push(file),
        }
    }
    asked
}
