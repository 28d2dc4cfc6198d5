//! One message: a card for a request, text for a notice.

use control::exit::{Exit, Failure};
use control::protocol::{Look, Request};
use control::view::MessageView;
use kernel::MessageNumber;
use kernel::message::{Answer as Said, Body};
use maud::{Markup, html};
use passable::visible_line;

use super::messages::{definition, evaluation, form, narrow, notice, reply, request, withheld};
use super::{approval, package};
use crate::answer::{Answer, Page};
use crate::field::pick::NARROW;
use crate::page::{link, parts};
use crate::page_request::{PageRequest, take};
use crate::serve;

/// `GET /m/NUMBER`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let number: MessageNumber = asked.part("number")?;
    page(asked, number, None, 200)
}

/// Handles `POST /m/NUMBER`: the answer to a card, by the card's kind.
pub fn send(asked: &PageRequest) -> Result<Answer, Failure> {
    let view = letter(asked)?;
    Ok(match (handle_form(asked, &view)?, asked.back()) {
        // An answer in a conversation leads back to the conversation.
        (Answer::Go(_), Some(back)) => Answer::Go(back),
        (answer, _) => answer,
    })
}

fn handle_form(asked: &PageRequest, view: &MessageView) -> Result<Answer, Failure> {
    if asked.field(NARROW).is_some() {
        return narrow::step(asked, view);
    }
    match asked.field("do") {
        Some("reject") => return reply::reject(asked, view),
        Some("reply") => return retry_page(asked, view, reply::reply(asked, view), "reply", "Reply"),
        Some("adopt") => {
            let field =
                format!("adopt-{}", asked.field("at").and_then(|at| at.parse().ok()).unwrap_or(0_usize));
            return retry_page(asked, view, reply::adopt(asked, view), &field, "Your name");
        }
        _ => {}
    }
    match view.letter.body() {
        Some(Body::Form { .. }) => form::send(asked, view),
        Some(Body::Definition { .. }) => definition::send(asked, view),
        Some(Body::EvalRequest { .. }) => evaluation::send(asked, view),
        Some(Body::Request { .. }) => request::send(asked, view),
        Some(Body::Release { .. }) => withheld::send(asked, view),
        _ => Err(Failure::new(Exit::Usage, "this message is answered in another way")),
    }
}

/// Returns the result of a form below a message. After an error, it returns the message again with the typed text.
fn retry_page(
    asked: &PageRequest,
    view: &MessageView,
    done: Result<Answer, Failure>,
    field: &str,
    called: &str,
) -> Result<Answer, Failure> {
    let Err(failure) = done else { return done };
    let wrong = parts::failure_at(&failure, &[(field, called)]);
    page(asked, view.letter.number, Some(wrong), serve::status(&failure))
}

/// Returns the message that an address names.
///
/// # Errors
/// When there is none.
pub fn letter(asked: &PageRequest) -> Result<MessageView, Failure> {
    let number: MessageNumber = asked.part("number")?;
    Ok(*take!(asked.look(Look::Message { number })?, Message))
}

/// Returns the page of a message, with the error of a form that was sent there.
///
/// # Errors
/// When there is no such message.
pub fn page(
    asked: &PageRequest,
    number: MessageNumber,
    wrong: Option<Markup>,
    status: u16,
) -> Result<Answer, Failure> {
    let view = *take!(asked.look(Look::Message { number })?, Message);
    let card = card(asked, &view)?;
    Ok(with_card(asked, &view, &card, wrong, status))
}

/// Returns the card of a message: its content, and a form for an answer.
///
/// # Errors
/// When the daemon does not answer.
pub fn card(asked: &PageRequest, view: &MessageView) -> Result<Markup, Failure> {
    let number = view.letter.number;
    match view.letter.body() {
        Some(Body::Approval { .. } | Body::OutcomeUnknown { .. } | Body::Budget { .. }) => {
            let card = take!(asked.ask(Request::Card { message: number })?, Card);
            approval::card(asked, &card)
        }
        Some(Body::Form { .. }) => form::card(asked, view),
        Some(Body::Definition { .. }) => definition::card(asked, view),
        Some(Body::EvalRequest { .. }) => evaluation::card(asked, view),
        Some(Body::Request { .. }) => request::card(asked, view),
        Some(Body::Release { .. }) => withheld::card(asked, view),
        Some(Body::Package { strings, names, run, .. }) => {
            Ok(package::card(asked, number, strings, names, run.is_some()))
        }
        Some(body) => notice::card(asked, view, body),
        None => Ok(html! { p { "Dismissed: only its envelope is left." } }),
    }
}

/// Returns the page of a message around its card.
pub fn with_card(
    asked: &PageRequest,
    view: &MessageView,
    card: &Markup,
    wrong: Option<Markup>,
    status: u16,
) -> Answer {
    let number = view.letter.number;
    let topics = view.letter.body().and_then(Body::run).map(|run| format!(" run:{run}")).unwrap_or_default();
    let main = html! {
        @if let Some(wrong) = wrong { (wrong) }
        article #card data-live data-message=(number) {
            h1 { "Message " (number) ": " (parts::word(&view.letter.mail.envelope.kind)) }
            (envelope(view))
            (answers(view))
            (card)
            (reply::chain(asked, view))
            (dismissal(asked, view))
        }
    };
    let title = format!("#{number} {}", visible_line(&view.letter.mail.envelope.kind));
    Page::new("/", title, main).status(status).live(format!("message:{number} inbox names{topics}")).into()
}

/// Returns the sender, the recipient, the time, and the message that it answers, by the user's own names.
fn envelope(view: &MessageView) -> Markup {
    let mail = &view.letter.mail;
    html! {
        p.envelope {
            // A dismissed message has only its envelope left, which names no sender.
            @if !view.from.is_empty() { "from " strong { (sender(view)) } " to " (parts::word(&view.to)) ", " }
            (parts::when(mail.envelope.sent_ms))
            @if let Some(number) = view.answers { ", in answer to " (link::message(number)) }
            @if let Some(Body::Command { run: Some(run), .. }) = view.letter.body() { ", about " (parts::run(*run)) }
        }
    }
}

/// Returns who sent it; a run with its page.
fn sender(view: &MessageView) -> Markup {
    html! {
        @match view.letter.body().and_then(Body::said_by) {
            Some(run) => a href={ "/r/" (run) } { (parts::word(&view.from)) },
            None => (parts::word(&view.from)),
        }
    }
}

/// Returns how a message that asks for one thing was answered.
fn answers(view: &MessageView) -> Markup {
    let own_card = matches!(
        view.letter.body(),
        Some(Body::Approval { .. } | Body::OutcomeUnknown { .. } | Body::Budget { .. })
    );
    html! {
        @if !own_card {
            @for answer in view.letter.mail.answers.values() {
                p.answer {
                    @match answer {
                        Said::Approved { at_ms, .. } | Said::Happened { at_ms } | Said::Repeat { at_ms } => {
                            "✓ answered, " (parts::when(*at_ms))
                        }
                        Said::Denied { reason, at_ms } => {
                            "✗ refused: " (parts::reason(reason)) ", " (parts::when(*at_ms))
                        }
                        Said::Withdrawn { reason, at_ms } => {
                            "✗ withdrawn by its sender" @if !reason.raw().is_empty() { ": " (parts::reason(reason)) }
                            ", " (parts::when(*at_ms))
                        }
                    }
                }
                @if let Said::Denied { reason, .. } | Said::Withdrawn { reason, .. } = answer {
                    (parts::rest_of_reason(reason))
                }
            }
        }
    }
}

fn dismissal(asked: &PageRequest, view: &MessageView) -> Markup {
    let number = view.letter.number;
    // A message that waits for yes or no must be answered, and cannot be dismissed.
    let asks = matches!(
        view.letter.body(),
        Some(
            Body::Approval { .. } | Body::OutcomeUnknown { .. } | Body::Budget { .. } | Body::Release { .. }
        )
    );
    html! {
        @if view.letter.message.is_some() && !(asks && view.letter.mail.needs_you) {
            form.quiet method="post" action={ "/m/" (number) "/dismiss" } {
                (parts::token(&asked.session))
                button.plain { "Dismiss" }
            }
        }
    }
}
