//! The page of a message around its card: its envelope, its answers, its replies, and its dismissal.

use control::view::MessageView;
use kernel::message::{Answer as Said, Body};
use maud::{Markup, html};
use passable::visible_line;

use super::{reply, title};
use crate::answer::{Answer, Page};
use crate::page::{link, parts};
use crate::page_request::PageRequest;

/// Returns the page of a message around its card.
pub fn with_card(
    asked: &PageRequest,
    view: &MessageView,
    card: &Markup,
    wrong: Option<Markup>,
    status: u16,
) -> Answer {
    let above = html! { @if let Some(wrong) = wrong { (wrong) } };
    draw(asked, view, card, &above, "").status(status).into()
}

/// Returns the page of a message around its card, with the lines about the answer before it. The page also follows the
/// topics of that answer.
pub fn continued(
    asked: &PageRequest,
    view: &MessageView,
    card: &Markup,
    lines: &Markup,
    topics: &str,
) -> Answer {
    let lines = html! { div #answered data-live { (lines) } };
    draw(asked, view, card, &lines, topics).into()
}

fn draw(asked: &PageRequest, view: &MessageView, card: &Markup, above: &Markup, more: &str) -> Page {
    let number = view.letter.number;
    let topics = view.letter.body().and_then(Body::run).map(|run| format!(" run:{run}")).unwrap_or_default();
    let title = title::of(asked, view);
    let main = html! {
        (above)
        article #card data-live data-message=(number) {
            h1 { (parts::plain_sentence(&title)) }
            (envelope(view))
            (answers(view))
            (card)
            (reply::chain(asked, view))
            (dismissal(asked, view))
        }
    };
    let title = visible_line(title.text()).into_owned();
    Page::new("/", title, main).live(format!("message:{number} inbox names{topics}{more}"))
}

/// Returns the number, the sender, the time, and the message that this one answers. The names are the user's own.
fn envelope(view: &MessageView) -> Markup {
    let mail = &view.letter.mail;
    html! {
        p.envelope {
            "Message " (view.letter.number)
            // A dismissed message has only its envelope, which names no sender.
            @if !view.from.is_empty() { " from " strong { (sender(view)) } }
            @if !["@host", "@self", ""].contains(&view.to.as_str()) { " to " (parts::word(&view.to)) }
            ", " (parts::when(mail.envelope.sent_ms))
            @if let Some(number) = view.answers { ", in answer to " (link::message(number)) }
            @if let Some(Body::Command { run: Some(run), .. }) = view.letter.body() { ", about " (parts::run(*run)) }
        }
    }
}

/// Returns the sender of a message. A run is a link to its page.
fn sender(view: &MessageView) -> Markup {
    html! {
        @match view.letter.body().and_then(Body::said_by) {
            Some(run) => a href={ "/r/" (run) } { (parts::word(&view.from)) },
            None => (parts::word(&view.from)),
        }
    }
}

/// Returns the answers to a message, unless its card shows them.
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
    // An open message that must be approved or denied cannot be dismissed.
    let asks = matches!(
        view.letter.body(),
        Some(
            Body::Approval { .. }
                | Body::OutcomeUnknown { .. }
                | Body::Budget { .. }
                | Body::Release { .. }
                | Body::MailQuota { .. }
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
