//! A request to run code over what its sender holds already: the code, what it would use by the person's own names, and
//! a yes or a no. Nothing in it can be changed: who wants it otherwise says no, and why.

use control::exit::Failure;
use control::protocol::{AgentAct, Look, Response};
use control::view::{LetterView, PromiseState};
use kernel::command::MailAct;
use kernel::message::Body;
use kernel::run::ResultGoesTo;
use maud::{Markup, html};
use passable::Untrusted;

use super::definition;
use super::yes::{self, YesOrNo};
use crate::answer::Answer;
use crate::asked::{Asked, take};
use crate::page::parts;
use crate::pages::runs::figures::called;

/// What of the card an answer is bound to.
fn digest(view: &LetterView) -> Result<String, Failure> {
    definition::hashed(&(view.letter.number, &view.source, &view.uses))
}

/// The card.
///
/// # Errors
/// When it cannot be written down.
pub fn card(asked: &Asked, view: &LetterView) -> Result<Markup, Failure> {
    let ids = match view.letter.body() {
        Some(Body::EvalRequest { ids, .. }) => ids.as_slice(),
        _ => &[],
    };
    let known = take!(asked.look(Look::Called { ids: ids.to_vec() })?, Called);
    let source = view.source.clone().unwrap_or_else(|| Untrusted::new(""));
    let shown = html! {
        section.entry aria-labelledby="code" {
            h2 #code { "The code" }
            (definition::numbered("The code", &source))
        }
        section.entry aria-labelledby="uses" {
            h2 #uses { "What it uses" }
            @if view.uses.is_empty() { p.note { "Nothing." } }
            dl {
                @for (at, (name, mine)) in view.uses.iter().enumerate() {
                    dt { (parts::line(&Untrusted::new(name.as_str()))) }
                    dd {
                        @match ids.get(at).and_then(|id| known.iter().find(|one| one.id == *id)) {
                            Some(one) => {
                                (called(one))
                                @if one.name.is_some() { ": " (parts::line(&one.words)) }
                            }
                            None => (parts::line(&Untrusted::new(mine.as_str()))),
                        }
                    }
                }
            }
        }
    };
    let card = YesOrNo { kind: "evaluation", digest: digest(view)?, shown, yes: "Let it run", or: "Or not" };
    Ok(html! {
        p { (parts::word(&view.from)) " asks to run this code over what it holds." }
        (card.draw(asked, view))
        (came(asked, view))
    })
}

/// What the code has come to, once it was let run.
fn came(asked: &Asked, view: &LetterView) -> Markup {
    let promise = view.letter.body().and_then(Body::asks).map(|(promise, _)| promise);
    let state = match promise.map(|id| asked.look(Look::Formula { id })) {
        Some(Ok(Response::Formula(found))) => found.thing.promise,
        _ => None,
    };
    html! {
        @match state {
            Some(PromiseState::Fulfilled { value }) => section aria-label="What it came to" {
                h2 { "What it came to" }
                (parts::whole("what it came to", &Untrusted::new(control::show::value::argument(&value))))
            },
            Some(PromiseState::Rejected { reason }) => {
                p.warning { "It failed: " (parts::line(&reason)) }
            }
            _ => {}
        }
    }
}

/// `POST /m/NUMBER`: a yes to exactly what was shown.
///
/// # Errors
/// When the daemon refuses.
pub fn send(asked: &Asked, view: &LetterView) -> Result<Answer, Failure> {
    yes::send(asked, view, &digest(view)?, |text| {
        let act = MailAct::Grant { number: view.letter.number, goes_to: ResultGoesTo::default() };
        asked.act_once("approve", text, AgentAct::Mail { act: Box::new(act) }).map(drop)
    })
}
