//! The page of one message. A request is shown as a card, and a notice as text.

use control::exit::{Exit, Failure};
use control::protocol::{Look, Request};
use control::view::MessageView;
use kernel::MessageNumber;
use kernel::message::Body;
use maud::{Markup, html};

use super::after_answer::{self, Continuation};
use super::messages::{
    definition, evaluation, form, mail_quota, message_page, narrow, notice, reply, request, withheld,
};
use super::{approval, package};
use crate::answer::Answer;
use crate::field::pick::NARROW;
use crate::page::parts;
use crate::page_request::{PageRequest, take};
use crate::serve;

/// Answers `GET /m/NUMBER`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let number: MessageNumber = asked.part("number")?;
    page(asked, number, None, 200)
}

/// Answers `POST /m/NUMBER`: handles the answer to a card, by the card's kind.
pub fn send(asked: &PageRequest) -> Result<Answer, Failure> {
    let view = letter(asked)?;
    let number = view.letter.number;
    let own = format!("/m/{number}");
    Ok(match (handle_form(asked, &view)?, asked.back()) {
        // An answer in a conversation leads back to the conversation.
        (Answer::Go(_), Some(back)) => Answer::Go(back),
        // An answer that changed this message leads on to the next one that waits.
        (Answer::Go(to), None) if to == own && is_answer(asked) => {
            Answer::Go(after_answer::place_of_message(number))
        }
        (answer, _) => answer,
    })
}

/// Returns whether the form answers its message, and does more than show it again.
fn is_answer(asked: &PageRequest) -> bool {
    asked.field(NARROW).is_none()
        && !matches!(asked.field("do"), None | Some("look" | "show" | "reply" | "adopt"))
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
        Some(Body::MailQuota { .. }) => mail_quota::send(asked, view),
        _ => Err(Failure::new(Exit::Usage, "this message is answered in another way")),
    }
}

/// Returns the result of a form below a message. After an error, returns the message again with the typed text.
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

/// Returns the message that the address names.
///
/// # Errors
/// When the message does not exist.
pub fn letter(asked: &PageRequest) -> Result<MessageView, Failure> {
    let number: MessageNumber = asked.part("number")?;
    Ok(*take!(asked.look(Look::Message { number })?, Message))
}

/// Returns the page of a message. `wrong` is the error of a form that was sent from this page.
///
/// # Errors
/// When the message does not exist.
pub fn page(
    asked: &PageRequest,
    number: MessageNumber,
    wrong: Option<Markup>,
    status: u16,
) -> Result<Answer, Failure> {
    let view = *take!(asked.look(Look::Message { number })?, Message);
    let next = if wrong.is_none() { Continuation::of(asked, &view)? } else { None };
    let Some(next) = next else {
        let card = card(asked, &view)?;
        return Ok(message_page::with_card(asked, &view, &card, wrong, status));
    };
    // The page follows the run that was answered, because its next call appears here.
    let run = view.letter.body().and_then(Body::run).map(|run| format!(" run:{run}"));
    let view = match next.shows {
        Some(number) => *take!(asked.look(Look::Message { number })?, Message),
        None => view,
    };
    let card = card(asked, &view)?;
    Ok(message_page::continued(asked, &view, &card, &next.lines, &run.unwrap_or_default()))
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
        Some(Body::MailQuota { .. }) => mail_quota::card(asked, view),
        Some(Body::Package { strings, names, run, .. }) => {
            Ok(package::card(asked, number, strings, names, run.is_some()))
        }
        Some(body) => notice::card(asked, view, body),
        None => Ok(html! { p { "Dismissed: only its envelope is left." } }),
    }
}
