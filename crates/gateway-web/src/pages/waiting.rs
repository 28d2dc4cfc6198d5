//! The number of waiting messages, which the script puts beside the name of the inbox on every page.

use control::exit::Failure;

use crate::answer::Answer;
use crate::page::shell;
use crate::page_request::PageRequest;

/// Answers `GET /waiting`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    Ok(Answer::Piece(shell::waiting(asked.site.backend.waiting()?)))
}
