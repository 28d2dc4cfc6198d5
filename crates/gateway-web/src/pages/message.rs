//! One message: a card for what asks, the words of what tells.

use control::exit::Failure;
use control::protocol::{Look, Request};
use control::view::LetterView;
use kernel::MessageNumber;
use kernel::message::Body;
use maud::{Markup, html};

use super::approval;
use crate::answer::{Answer, Page};
use crate::asked::{Asked, take};
use crate::page::parts;

/// `GET /m/NUMBER`.
pub fn show(asked: &Asked) -> Result<Answer, Failure> {
    let number: MessageNumber = asked.part("number")?;
    page(asked, number, None, 200)
}

/// The page of a message, with what was wrong with what was sent there.
///
/// # Errors
/// When there is no such message.
pub fn page(
    asked: &Asked,
    number: MessageNumber,
    wrong: Option<Markup>,
    status: u16,
) -> Result<Answer, Failure> {
    let view = *take!(asked.look(Look::Letter { number })?, Letter);
    let card = match view.letter.body() {
        Some(Body::Approval { .. } | Body::Doubt { .. } | Body::Budget { .. }) => {
            let card = take!(asked.ask(Request::Card { message: number })?, Card);
            approval::card(asked, &card)?
        }
        Some(body) => words(&view, body),
        None => html! { p { "Dismissed: only its envelope is left." } },
    };
    let topics = view.letter.body().and_then(Body::run).map(|run| format!(" run:{run}")).unwrap_or_default();
    let main = html! {
        @if let Some(wrong) = wrong { (wrong) }
        article #card data-live data-message=(number) {
            h1 { "Message " (number) ": " (parts::word(&view.letter.mail.envelope.kind)) }
            (envelope(&view))
            (card)
            (dismissal(asked, &view))
        }
    };
    let title = format!("Message {number}");
    Ok(Page::new("/", title, main).status(status).live(format!("message:{number}{topics}")).into())
}

/// Who, to whom, when, in answer to what, by the person's own names.
fn envelope(view: &LetterView) -> Markup {
    let mail = &view.letter.mail;
    html! {
        p.envelope {
            "from " strong { (parts::word(&view.from)) } " to " (parts::word(&view.to)) ", "
            (parts::when(mail.envelope.sent_ms))
            @if let Some(run) = view.letter.body().and_then(Body::run) { ", about " (parts::run(run)) }
        }
    }
}

/// What is only told.
fn words(view: &LetterView, _body: &Body) -> Markup {
    let text = control::show::letter::render(view, 100);
    parts::own_block("The message", &text)
}

fn dismissal(asked: &Asked, view: &LetterView) -> Markup {
    let number = view.letter.number;
    html! {
        @if view.letter.message.is_some() {
            form.quiet method="post" action={ "/m/" (number) "/dismiss" } {
                (parts::token(&asked.session))
                button.plain { "Dismiss" }
            }
        }
    }
}
