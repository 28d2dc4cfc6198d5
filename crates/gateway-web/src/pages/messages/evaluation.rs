//! The card of a request to run code over objects that its sender already holds. It shows the code and the objects,
//! with the user's own names. The request can be approved or denied, but not edited. A user who wants a change denies
//! it with a reason.

use control::exit::Failure;
use control::protocol::{AgentAct, Look, Response};
use control::show::message_view::RESULT_NOTE;
use control::view::{MessageView, PromiseState};
use kernel::command::MailAct;
use kernel::message::Body;
use kernel::run::ResultGoesTo;
use maud::{Markup, html};
use passable::Untrusted;

use super::confirm::{self, YesNoCard};
use super::{definition, reply};
use crate::answer::Answer;
use crate::page::{digest_field, parts, references};
use crate::page_request::PageRequest;

/// Returns a digest of everything that the card shows, to which an answer is bound.
fn digest(view: &MessageView) -> Result<String, Failure> {
    digest_field::digest(&(view.letter.number, &view.from, &view.source, &view.uses))
}

/// Returns the card.
///
/// # Errors
/// When the card cannot be serialized.
pub fn card(asked: &PageRequest, view: &MessageView) -> Result<Markup, Failure> {
    let source = view.source.clone().unwrap_or_else(|| Untrusted::new(""));
    let shown = html! {
        section.entry aria-labelledby="code" {
            h2 #code { "The code" }
            (definition::numbered("The code", &source))
        }
        section.entry aria-labelledby="uses" {
            h2 #uses { @if reply::is_open(view) { "What you would grant" } @else { "What it uses" } }
            @if view.uses.is_empty() { p { "The code runs once, and uses nothing that you have a name for." } }
            @else { p { "The code runs once, and may use this:" } }
            dl {
                @for (name, powers) in &view.uses {
                    dt { (parts::line(&Untrusted::new(name.as_str()))) }
                    dd { (references::powers(powers.as_ref())) }
                }
            }
        }
        p { "What it comes to " (RESULT_NOTE) "." }
    };
    let is_of_use = view.uses.iter().all(|(_, one)| one.as_ref().is_some_and(|one| one.ended.is_none()));
    let yes = is_of_use.then_some("Allow this to run");
    let card = YesNoCard { kind: "evaluation", digest: digest(view)?, shown, yes };
    Ok(html! {
        p { (parts::word(&view.from)) " asks to run this code over what it holds." }
        (card.draw(asked, view))
        (result_section(asked, view))
    })
}

/// Returns the result of the code, if it was allowed to run and has ended.
fn result_section(asked: &PageRequest, view: &MessageView) -> Markup {
    let promise = view.letter.body().and_then(Body::asks).map(|(promise, _)| promise);
    let state = match promise.map(|id| asked.look(Look::Formula { id })) {
        Some(Ok(Response::Formula(found))) => found.thing.promise,
        _ => None,
    };
    html! {
        @match state {
            Some(PromiseState::Fulfilled { value }) => section aria-label="What it came to" {
                h2 { "What it came to" }
                (references::value(asked, "what it came to", &value))
            },
            Some(PromiseState::Rejected { reason }) => {
                p.warning { "It came to nothing. Whoever asked was told: " (parts::line(&reason)) "." }
            }
            _ => {}
        }
    }
}

/// Answers `POST /m/NUMBER`: approves exactly the content that was shown.
///
/// # Errors
/// When the daemon refuses.
pub fn send(asked: &PageRequest, view: &MessageView) -> Result<Answer, Failure> {
    confirm::send(asked, view, &digest(view)?, |text| {
        let act = MailAct::Grant { number: view.letter.number, goes_to: ResultGoesTo::default() };
        asked.act_once("approve", text, AgentAct::Mail { act: Box::new(act) }).map(drop)
    })
}
