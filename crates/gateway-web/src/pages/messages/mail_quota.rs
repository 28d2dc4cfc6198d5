//! The card of an agent that has used up its quota of mail.

use control::exit::Failure;
use control::protocol::Request;
use control::view::MessageView;
use kernel::message::Body;
use maud::{Markup, html};
use passable::Untrusted;
use resource::units;

use super::confirm::{self, YesNoCard};
use super::reply;
use crate::answer::Answer;
use crate::page::{digest_field, link, parts};
use crate::page_request::PageRequest;

/// Returns a digest of everything that the card shows, to which an answer is bound.
fn digest(view: &MessageView) -> Result<String, Failure> {
    digest_field::digest(&(view.letter.number, view.letter.body()))
}

/// Returns the card.
///
/// # Errors
/// When the card cannot be serialized.
pub fn card(asked: &PageRequest, view: &MessageView) -> Result<Markup, Failure> {
    let Some(Body::MailQuota { sender, name, sent, offer }) = view.letter.body() else { return Ok(html! {}) };
    let shown = html! {
        section.entry {
            p.warning { "An agent has sent as much mail as it may. Until you say yes, it can send nothing more." }
            dl.facts {
                dt { "The agent" } dd { a href=(link::formula(sender)) { (parts::word(name)) } }
                dt { "Sent so far" } dd { (sent.messages) " messages, " (units::rounded_bytes(sent.bytes)) }
            }
            h2 { @if reply::is_open(view) { "What you would grant" } @else { "What it asked for" } }
            dl.facts {
                dt { "More mail" } dd { (offer.messages) " messages, " (units::rounded_bytes(offer.bytes)) }
            }
        }
    };
    let digest = digest(view)?;
    let card = YesNoCard { kind: "quota", digest, shown, yes: Some("Let it send more") };
    Ok(card.draw(asked, view))
}

/// Answers `POST /m/NUMBER`: approves that the agent sends more.
///
/// # Errors
/// When the daemon refuses, or the message was already answered.
pub fn send(asked: &PageRequest, view: &MessageView) -> Result<Answer, Failure> {
    confirm::send(asked, view, &digest(view)?, |text| {
        asked.answer_once(Request::yes(Untrusted::new(text), view.letter.number, None, false))
    })
}
