//! The card of a message from an agent or a run: its text, and the objects that came with it.

use kernel::MessageNumber;
use maud::{Markup, html};
use passable::Untrusted;

use super::messages::reply;
use crate::page::{parts, safe_links};
use crate::page_request::PageRequest;

/// Returns the card. A long text is folded.
pub fn card(
    asked: &PageRequest,
    number: MessageNumber,
    strings: &[Untrusted],
    names: &[String],
    by_model: bool,
) -> Markup {
    let bytes: usize = strings.iter().map(|one| one.raw().len()).sum();
    let words = html! {
        p.package {
            @for (at, piece) in strings.iter().enumerate() {
                span.foreign { (piece.visible()) }
                (safe_links::host_note(piece.raw()))
                @if let Some(name) = names.get(at) {
                    span.chip { "@" (parts::line(&Untrusted::new(name.as_str()))) }
                }
            }
        }
    };
    html! {
        @if by_model { p.note { "These are the words of a model." } }
        section.entry aria-label="What it says" { (parts::folded("What it says", bytes, &words)) }
        @if !names.is_empty() {
            section.entry aria-labelledby="along" {
                h2 #along { "What came along" }
                @for (at, name) in names.iter().enumerate() { (reply::adoption(asked, number, name, at)) }
            }
        }
        (reply::answer_in_words(asked, number))
    }
}
