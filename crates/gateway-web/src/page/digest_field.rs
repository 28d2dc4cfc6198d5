//! The digest that binds an approval to exactly the content that was shown.

use control::exit::{Exit, Failure};
use maud::{Markup, html};
use serde::Serialize;

use crate::page::parts;
use crate::page_request::PageRequest;

/// Returns a digest of the content that a page shows.
///
/// # Errors
/// When the content cannot be serialized.
pub fn digest<T: Serialize>(shown: &T) -> Result<String, Failure> {
    let bytes = serde_json::to_vec(shown).map_err(|error| Failure::from_error(Exit::Failure, error))?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}

/// Returns the refusal of an action whose content has changed since it was shown.
pub fn changed(done: &str) -> Markup {
    parts::not_done(&html! {
        p { "Nothing was " (done) ": this is not what it was when you saw it. Read it again as it is now." }
    })
}

/// Returns the paths that were marked, of so many. All of them are no choice: then nothing is left to change
/// meanwhile.
///
/// # Errors
/// When none is.
pub fn chosen(asked: &PageRequest, of: usize) -> Result<Vec<String>, Failure> {
    let marked = asked.body.iter().filter(|(name, _)| name == "only").map(|(_, path)| path.clone());
    let marked: Vec<String> = marked.collect();
    // No mark at all must never come to mean all of them.
    if marked.is_empty() && of > 0 {
        return Err(Failure::new(Exit::Usage, "no file was marked").help("mark those that you mean"));
    }
    Ok(marked)
}
