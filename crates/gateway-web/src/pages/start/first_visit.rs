//! The first visit: three ways to begin while nothing has happened yet.

use control::exit::Failure;
use control::protocol::Request;
use maud::{Markup, html};
use passable::visible_line;

use super::example;
use crate::page::parts;
use crate::page_request::{PageRequest, take};

/// The maximum number of models that are offered.
const MAX_MODELS: usize = 6;

/// Returns the section of the first visit. It is hidden once there is a run or a message.
///
/// # Errors
/// When the daemon does not answer.
pub fn section(asked: &PageRequest, has_messages: bool) -> Result<Markup, Failure> {
    let is_first = !has_messages
        && take!(asked.ask(Request::Runs { limit: 1, below: None, roots: true })?, Runs).is_empty();
    Ok(html! {
        section #welcome aria-label="First steps" data-live hidden[!is_first] {
            @if is_first { (cards(asked)?) }
        }
    })
}

fn cards(asked: &PageRequest) -> Result<Markup, Failure> {
    let known = take!(asked.ask(Request::Models)?, Models);
    let settings = asked.site.backend.settings();
    let first = asked.site.backend.examples().first().copied();
    Ok(html! {
        p.lead { "Nothing has happened here yet." }
        div.welcome {
            @if let Some(hijacked) = first {
                section.card aria-labelledby="watch-title" {
                    h2 #watch-title { "See a hijacked agent be stopped" }
                    p { (hijacked.words) }
                    p.note { "A script plays the model, so you need none. It works in a folder of its own and sends nothing." }
                    form method="post" action="/examples" {
                        (parts::token(&asked.session))
                        input type="hidden" name="example" value=(hijacked.name);
                        button.yes { "Watch it" }
                    }
                }
            }
            section.card aria-labelledby="choose-title" {
                h2 #choose-title { "Choose a model" }
                @if known.can_ask.is_empty() {
                    p { "None is here yet." }
                    p.note {
                        "Put a key into the environment of the daemon, start Ollama, or fetch a model: "
                        code { "almoner models pull" }
                    }
                }
                @for one in known.can_ask.iter().take(MAX_MODELS) {
                    form.beside method="post" action="/settings" {
                        (parts::token(&asked.session))
                        input type="hidden" name="model" value=(one.model);
                        input type="hidden" name="to" value="/";
                        span { strong { (parts::word(&one.model)) } " " span.note { (parts::word(&one.origin)) } }
                        @if settings.default_model.as_deref() == Some(one.model.as_str()) { span.mark.good { "in use" } }
                        @else { button aria-label={ "Use it: " (visible_line(&one.model)) } { "Use it" } }
                    }
                }
                p { a href="/models" { "All models" } }
            }
            section.card aria-labelledby="run-title" {
                h2 #run-title { "Run a worker" }
                (example::list(asked))
                p { a href="/runs/new" { "One of yours" } }
            }
        }
        ul.promises {
            li { "An agent reaches only what you hand it, whatever somebody has talked it into." }
            li { "It reads freely what you gave, asks before it changes something, and always asks before it sends." }
            li { "Each step is on the disk before it is done, so a run outlives a crash, and says why it did something." }
        }
    })
}
