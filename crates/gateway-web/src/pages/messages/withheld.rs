//! The card of a result that was withheld, because it would give capabilities away.

use control::exit::Failure;
use control::protocol::Request;
use control::view::{MessageView, Withheld};
use kernel::message::Body;
use maud::{Markup, html};
use passable::Untrusted;

use super::confirm::{self, YesNoCard};
use super::reply;
use crate::answer::Answer;
use crate::page::{digest_field, link, parts, references};
use crate::page_request::PageRequest;

/// Returns a digest of everything that the card shows, to which an answer is bound.
fn digest(view: &MessageView) -> Result<String, Failure> {
    digest_field::digest(&(view.letter.number, view.answers, &view.withheld))
}

/// Returns the card.
///
/// # Errors
/// When the card cannot be serialized.
pub fn card(asked: &PageRequest, view: &MessageView) -> Result<Markup, Failure> {
    let (Some(Body::Release { guest, .. }), Some(withheld)) = (view.letter.body(), &view.withheld) else {
        return Ok(html! {});
    };
    let shown = shown(withheld, reply::is_open(view));
    let card = YesNoCard { kind: "release", digest: digest(view)?, shown, yes: Some("Give it away") };
    Ok(html! {
        p { "What came of a program is withheld: with it something would be given away that can be used." }
        dl.facts {
            dt { "Who would get it" } dd { a href=(link::formula(guest)) { (parts::word(&withheld.to)) } }
            @if let Some(number) = view.answers { dt { "The program" } dd { (link::message(number)) } }
        }
        (card.draw(asked, view))
    })
}

fn shown(withheld: &Withheld, is_open: bool) -> Markup {
    html! {
        section.entry aria-labelledby="gives" {
            h2 #gives { @if is_open { "What you would grant" } @else { "What was asked for" } }
            p.note { (parts::word(&withheld.to)) " gets this as a grant of yours, which you can revoke." }
            ol { @for one in &withheld.gives { li { (references::powers(one.as_ref())) } } }
        }
        @if let Some(text) = &withheld.text {
            section.entry aria-labelledby="along" {
                h2 #along { "All of it, with the data that goes along" }
                (parts::block("All of it", text))
            }
        }
    }
}

/// Answers `POST /m/NUMBER`: approves that the result is given away.
///
/// # Errors
/// When the daemon refuses, or the message was already answered.
pub fn send(asked: &PageRequest, view: &MessageView) -> Result<Answer, Failure> {
    confirm::send(asked, view, &digest(view)?, |text| {
        asked.answer_once(Request::yes(Untrusted::new(text), view.letter.number, None, false))
    })
}
