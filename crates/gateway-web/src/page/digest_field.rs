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

/// Returns the message that an action was refused, because the content has changed since it was shown.
pub fn changed(done: &str) -> Markup {
    parts::not_done(&html! {
        p { "Nothing was " (done) ": this is not what it was when you saw it. Read it again as it is now." }
    })
}

/// Returns the paths that the user has marked. `of` is the number of paths that were offered. If none were offered,
/// the result is empty.
///
/// # Errors
/// When paths were offered, but none is marked.
pub fn chosen(asked: &PageRequest, of: usize) -> Result<Vec<String>, Failure> {
    let marked = asked.body.iter().filter(|(name, _)| name == "only").map(|(_, path)| path.clone());
    let marked: Vec<String> = marked.collect();
    // An empty choice must never mean all paths.
    if marked.is_empty() && of > 0 {
        return Err(Failure::new(Exit::Usage, "no file was marked").help("mark those that you mean"));
    }
    Ok(marked)
}
