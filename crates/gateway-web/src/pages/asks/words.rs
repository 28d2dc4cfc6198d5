//! Messages that tell: a value, what the person did.

use control::exit::Failure;
use control::protocol::{Look, Response};
use control::view::LetterView;
use kernel::NamePath;
use kernel::message::Body;
use maud::{Markup, html};

use super::said;
use crate::asked::Asked;
use crate::page::{parts, told};

/// The card.
///
/// # Errors
/// None now.
pub fn card(asked: &Asked, view: &LetterView, body: &Body) -> Result<Markup, Failure> {
    let number = view.letter.number;
    Ok(match body {
        Body::Value { .. } => html! {
            (value(asked, view))
            (said::adoption(asked, number, "value", 0))
            (said::answer_in_words(asked, number))
        },
        Body::Command { text, run, .. } => html! {
            p { "You did this:" }
            (parts::block("The command", text))
            @if let Some(run) = run { p { "It concerns " (parts::run(*run)) "." } }
        },
        _ => {
            let text = control::show::letter::render(view, 100);
            html! { (parts::own_block("The message", &text)) }
        }
    })
}

/// What was sent, as far as it is data.
fn value(asked: &Asked, view: &LetterView) -> Markup {
    let path = NamePath::new(["@mail".to_owned(), view.letter.number.to_string(), "@value".to_owned()]);
    let thing = path.ok().and_then(|path| asked.look(Look::Thing { path }).ok());
    html! {
        @if let Some(Response::Thing(thing)) = thing {
            p { (parts::line(&thing.words)) }
            @if let Some(value) = &thing.value { (told::value(asked, "The value", value)) }
        } @else { p { "A value; give it a name to look at it." } }
    }
}
