//! The journal of endowed code, for the user who endowed it.

use control::exit::Failure;
use control::protocol::Look;
use control::show::code;
use maud::html;

use crate::answer::{Answer, Page};
use crate::page::{link, parts};
use crate::page_request::{PageRequest, take};

/// Answers `GET /code?id=`: shows a page of the journal. `?from=` is the number of its first entry.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let thing = asked.query("id").unwrap_or_default().to_owned();
    let from: u64 = asked.query("from").and_then(|from| from.parse().ok()).unwrap_or(0);
    let page = take!(asked.look(Look::Code { thing: thing.clone(), from })?, Code);
    let next = page.entries.last().map(|last| last.number.saturating_add(1));
    let main = html! {
        h1 { "Code " (page.eval.short()) }
        section #code aria-label="The journal of the code" data-live {
            p { a href=(link::formula(&page.eval)) { "The code itself, and what it holds" } " " (link::why(page.eval)) }
            h2 { "What it sent, and what it heard" }
            (parts::own_block("The journal", &code::render(&page)))
            @if let Some(next) = next {
                p { a href={ "/code?id=" (link::query(&thing)) "&from=" (next) } { "What came after that" } }
            }
        }
    };
    Ok(Page::new("/runs", format!("Code {}", page.eval.short()), main).live("grants").into())
}
