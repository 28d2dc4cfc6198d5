//! Files that were sent with a form. Their bytes become the text of a field. A script writes this text itself;
//! without scripts, the browser sends the file.

use passable::form_of_bytes;

use crate::page_request::PageRequest;

/// The prefix of a file field's name, before the place. Fields with this prefix are not part of an answer.
const FILE: &str = "_file ";

/// Returns the name of the file field for a place.
pub fn field(place: &str) -> String {
    format!("{FILE}{place}")
}

/// Returns the request with the bytes of each file as the text of the field for which the file was chosen.
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
