//! Replies that fit any message: a refusal, a text, or a name for an object that came with the message.

use control::exit::{Exit, Failure};
use control::messages::{MessageFilter, PageBounds};
use control::protocol::{AgentAct, Request, Response};
use control::view::MessageView;
use kernel::command::MailAct;
use kernel::message::{Answer as Told, Body};
use kernel::{MessageNumber, NamePath};
use maud::{Markup, html};
use passable::Untrusted;

use crate::answer::Answer;
use crate::page::{kinds, parts};
use crate::page_request::{PageRequest, typed};
use crate::pages::message_status;

/// Returns whether a message with one question can still be answered.
pub fn is_open(view: &MessageView) -> bool {
    let again =
        matches!(view.letter.body(), Some(Body::Form { repeatable: true, .. } | Body::Definition { .. }));
    match view.letter.mail.answers.get(&0) {
        None => true,
        Some(Told::Denied { .. } | Told::Withdrawn { .. }) => false,
        Some(_) => again,
    }
}

/// Returns a form for a refusal with a reason.
pub fn refusal(asked: &PageRequest, number: MessageNumber, legend: &str, button: &str) -> Markup {
    html! {
        form.card method="post" action={ "/m/" (number) } data-draft={ "no " (number) } {
            (parts::token(&asked.session))
            (parts::back(asked))
            fieldset {
                legend { (legend) }
                label for="why-not" { "Reason (whoever asked will read it)" }
                textarea #why-not name="reason" rows="2" {}
                div.buttons { button name="do" value="reject" { (button) } }
            }
        }
    }
}

/// Handles the button that refuses a message.
pub fn reject(asked: &PageRequest, view: &MessageView) -> Result<Answer, Failure> {
    let number = view.letter.number;
    let reason = asked.filled("reason").unwrap_or("no");
    let text = format!("reject {number} -r {}", typed(reason));
    let act = match view.letter.body() {
        // A request for an approval is denied, which is another command than rejecting.
        Some(Body::Release { .. } | Body::MailQuota { .. }) => {
            let (message, entries, reason) = (number, None, Untrusted::new(reason));
            let text = Untrusted::new(text);
            asked.answer_once(control::protocol::Request::Deny { text, message, entries, reason })?;
            return Ok(Answer::Go(format!("/m/{number}")));
        }
        _ => MailAct::Reject { number, reason: Untrusted::new(reason) },
    };
    asked.act_once("reject", text, AgentAct::Mail { act: Box::new(act) })?;
    Ok(Answer::Go(format!("/m/{number}")))
}

/// Returns a form for a reply to the sender of a message.
pub fn answer_in_words(asked: &PageRequest, number: MessageNumber) -> Markup {
    html! {
        form.card method="post" action={ "/m/" (number) } data-draft={ "reply " (number) } {
            (parts::token(&asked.session))
            (parts::back(asked))
            label for="reply" { "Reply" }
            textarea #reply name="text" rows="3" { "\n" (asked.field("text").unwrap_or("")) }
            div.buttons { button name="do" value="reply" { "Send" } }
        }
    }
}

/// Handles the button that sends a reply.
pub fn reply(asked: &PageRequest, view: &MessageView) -> Result<Answer, Failure> {
    let number = view.letter.number;
    let Some(text) = asked.filled("text") else {
        return Err(Failure::new(Exit::Usage, "there are no words").help("write some, then send them"));
    };
    let (strings, names, paths) = (vec![Untrusted::new(text)], vec![], vec![]);
    let act = MailAct::Reply { number, strings, names, paths };
    asked.act("reply", format!("reply {number} {}", typed(text)), AgentAct::Mail { act: Box::new(act) })?;
    Ok(Answer::Go(format!("/m/{number}")))
}

/// Returns a form in which the user gives a name to an object that came with a message.
pub fn adoption(asked: &PageRequest, number: MessageNumber, edge: &str, at: usize) -> Markup {
    let typed = asked.field("path").filter(|_| asked.field("edge") == Some(edge)).unwrap_or("");
    html! {
        form.adopt method="post" action={ "/m/" (number) } {
            (parts::token(&asked.session))
            (parts::back(asked))
            input type="hidden" name="edge" value=(edge);
            input type="hidden" name="at" value=(at);
            label for={ "adopt-" (at) } { "Your name for " (parts::line(&Untrusted::new(edge))) }
            input id={ "adopt-" (at) } name="path" value=(typed) autocomplete="off" spellcheck="false";
            button name="do" value="adopt" { "Give it this name" }
        }
    }
}

/// Handles the button that gives an object a name.
pub fn adopt(asked: &PageRequest, view: &MessageView) -> Result<Answer, Failure> {
    let number = view.letter.number;
    let edge = asked.field("edge").unwrap_or_default().to_owned();
    let Some(name) = asked.filled("path") else {
        return Err(Failure::new(Exit::Usage, "there is no name").help("write the name that you give it"));
    };
    let path = NamePath::parse(name).map_err(|error| {
        Failure::from_error(Exit::Usage, error).help("a name has no `@`; a path has `/` between names")
    })?;
    let act = MailAct::Adopt { number, edge: edge.clone(), path };
    let text = format!("adopt {number} {} {}", typed(&edge), typed(name));
    asked.act("adopt", text, AgentAct::Mail { act: Box::new(act) })?;
    Ok(Answer::Go(format!("/m/{number}")))
}

/// The maximum number of replies to a message that are shown at once.
const ANSWERS_PER_PAGE: usize = 50;

/// Returns all messages that reply to a message, oldest first. For a long list, returns the newest ones and a link to
/// the older ones.
pub fn chain(asked: &PageRequest, view: &MessageView) -> Markup {
    let message = view.letter.number;
    let below = asked.query("below").and_then(|text| text.parse::<MessageNumber>().ok());
    let page = PageBounds { after: below, limit: ANSWERS_PER_PAGE };
    let request = Request::Messages { filter: MessageFilter::Answers { message }, page };
    let Ok(Response::Answers { letters, earlier }) = asked.ask(request) else {
        return html! {};
    };
    html! {
        @if !letters.is_empty() || below.is_some() {
            section #chain aria-labelledby="chain-title" {
                h2 #chain-title { "What came of it" }
                @if let Some(oldest) = letters.first().filter(|_| earlier > 0) {
                    p { a href={ "/m/" (message) "?below=" (oldest.number) } { (earlier) " earlier" } }
                }
                ol.rows {
                    @for one in &letters {
                        li {
                            a.row href={ "/m/" (one.number) } {
                                span.number { "#" (one.number) } " "
                                span.kind { (parts::word(kinds::message(&one.mail.envelope.kind))) } " "
                                @if let Some(body) = one.body() { span.what { (parts::summary(body)) } }
                                " " span.state { (message_status::state(asked, one)) }
                                " " (parts::minute(one.mail.envelope.sent_ms))
                            }
                        }
                    }
                }
                @if below.is_some() { p { a href={ "/m/" (message) } { "The newest" } } }
            }
        }
    }
}
