//! A result that was withheld because it would give something away.

use control::exit::Failure;
use control::protocol::{Look, Request};
use control::view::LetterView;
use kernel::FormulaId;
use kernel::message::Body;
use maud::{Markup, html};
use passable::Untrusted;

use super::definition;
use super::yes::{self, YesOrNo};
use crate::answer::Answer;
use crate::asked::{Asked, take};
use crate::page::parts;
use crate::pages::runs::figures::called;

fn gives(view: &LetterView) -> &[String] {
    match view.letter.body() {
        Some(Body::Release { gives, .. }) => gives,
        _ => &[],
    }
}

fn digest(view: &LetterView) -> Result<String, Failure> {
    definition::hashed(&(view.letter.number, gives(view)))
}

/// The card.
///
/// # Errors
/// When it cannot be written down.
pub fn card(asked: &Asked, view: &LetterView) -> Result<Markup, Failure> {
    let Some(Body::Release { result, guest, promise, .. }) = view.letter.body() else { return Ok(html! {}) };
    let known = take!(asked.look(Look::Called { ids: vec![*guest, *promise, *result] })?, Called);
    let named = |id: &FormulaId| known.iter().find(|one| one.id == *id).map(called);
    let shown = html! {
        ul.findings { @for one in gives(view) { li.warning { (parts::line(&Untrusted::new(one.as_str()))) } } }
    };
    let card =
        YesOrNo { kind: "release", digest: digest(view)?, shown, yes: "Give it away", or: "Or keep it" };
    Ok(html! {
        p { "A result is withheld: whoever proposed the program would get this with it." }
        dl.facts {
            @for (what, id) in [("Who would get it", guest), ("The result", result), ("As what came of", promise)] {
                @if let Some(shown) = named(id) { dt { (what) } dd { (shown) } }
            }
        }
        (card.draw(asked, view))
    })
}

/// `POST /m/NUMBER`: a yes.
///
/// # Errors
/// When the daemon refuses.
pub fn send(asked: &Asked, view: &LetterView) -> Result<Answer, Failure> {
    yes::send(asked, view, &digest(view)?, |text| {
        asked.ask(Request::yes(Untrusted::new(text), view.letter.number, None, false)).map(drop)
    })
}
