//! A result that was withheld because it would give something away.

use control::exit::Failure;
use control::protocol::Request;
use control::view::LetterView;
use kernel::message::Body;
use maud::{Markup, html};
use passable::Untrusted;

use super::definition;
use super::yes::{self, YesOrNo};
use crate::answer::Answer;
use crate::asked::Asked;
use crate::page::parts;

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
    let shown = html! {
        ul.findings { @for one in gives(view) { li.warning { (parts::line(&Untrusted::new(one.as_str()))) } } }
    };
    let card =
        YesOrNo { kind: "release", digest: digest(view)?, shown, yes: "Give it away", or: "Or keep it" };
    Ok(html! {
        p { "A result is withheld: whoever proposed the program would get this with it." }
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
