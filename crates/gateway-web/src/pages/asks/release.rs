//! A result that was withheld because it would give something away.

use control::exit::{Exit, Failure};
use control::protocol::{Look, Request};
use control::view::LetterView;
use kernel::FormulaId;
use kernel::message::Body;
use maud::{Markup, html};
use passable::Untrusted;

use super::{definition, said};
use crate::answer::Answer;
use crate::asked::{Asked, take};
use crate::page::parts;
use crate::pages::message;
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
    let number = view.letter.number;
    let digest = digest(view)?;
    let Some(Body::Release { result, guest, promise, .. }) = view.letter.body() else { return Ok(html! {}) };
    let known = take!(asked.look(Look::Called { ids: vec![*guest, *promise, *result] })?, Called);
    let named = |id: &FormulaId| known.iter().find(|one| one.id == *id).map(called);
    Ok(html! {
        p { "A result is withheld: whoever proposed the program would get this with it." }
        dl.facts {
            @for (what, id) in [("Who would get it", guest), ("The result", result), ("As what came of", promise)] {
                @if let Some(shown) = named(id) { dt { (what) } dd { (shown) } }
            }
        }
        form #fill.card method="post" action={ "/m/" (number) } data-weighty data-same={ "release " (digest) } {
            (parts::token(&asked.session))
            input type="hidden" name="_seen" value=(digest);
            ul.findings { @for one in gives(view) { li.warning { (parts::line(&Untrusted::new(one.as_str()))) } } }
            @if said::is_open(view) {
                fieldset.answers {
                    legend { "Your answer" }
                    button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" { "Look again" }
                    div.buttons { button.yes name="do" value="approve" { "Give it away" } }
                }
            }
        }
        @if said::is_open(view) { (said::refusal(asked, number, "Or keep it", "Deny")) }
    })
}

/// `POST /m/NUMBER`: a yes.
///
/// # Errors
/// When the daemon refuses.
pub fn send(asked: &Asked, view: &LetterView) -> Result<Answer, Failure> {
    let number = view.letter.number;
    match asked.field("do") {
        Some("approve") => {}
        Some("look") => return Ok(Answer::Go(format!("/m/{number}"))),
        _ => return Err(Failure::new(Exit::Usage, "an answer is yes or no")),
    }
    if asked.field("_seen") != Some(digest(view)?.as_str()) {
        return message::page(asked, number, Some(definition::stale()), 409);
    }
    asked.ask(Request::yes(Untrusted::new(format!("approve {number}")), number, None, false))?;
    Ok(Answer::Go(format!("/m/{number}")))
}
