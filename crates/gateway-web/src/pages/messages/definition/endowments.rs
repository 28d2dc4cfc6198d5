//! The endowments of a definition so far. Each has its grants, its journal, and its result for the user.

use control::protocol::{Look, Response};
use control::view::{EndowedView, GrantRow, MessageView, PromiseState};
use maud::{Markup, html};
use passable::Untrusted;

use crate::page::{link, parts, references};
use crate::page_request::PageRequest;
use crate::pages::runs::figures;

/// The number of endowments that are shown unfolded.
const MAX_UNFOLDED: usize = 3;

/// Returns all endowments, the newest first.
pub fn section(asked: &PageRequest, view: &MessageView, all: &[EndowedView]) -> Markup {
    let number = view.letter.number;
    let newest = || all.iter().rev();
    let older = all.len().saturating_sub(MAX_UNFOLDED);
    html! {
        @if !all.is_empty() {
            section.entry aria-labelledby="endowed-title" {
                h2 #endowed-title { "What came of it for you" }
                @for one in newest().take(MAX_UNFOLDED) { (each(asked, one)) }
                @if older > 0 {
                    details #older-endowments { summary { "Earlier: " (older) }
                        @for one in newest().skip(MAX_UNFOLDED) { (each(asked, one)) }
                    }
                }
                @if all.first().is_some_and(|first| first.after > 0) && all.len() >= 100 {
                    p.note { "What came before these is not kept with message " (number) " any more." }
                }
            }
        }
    }
}

fn each(asked: &PageRequest, one: &EndowedView) -> Markup {
    html! {
        div.entry {
            h3 {
                "Endowed " (parts::when(one.at_ms)) ": "
                @match one.run {
                    Some(run) => { (parts::run(run)) },
                    None if one.is_gone => { "code " (one.made.short()) ", which has ended" },
                    None => { "code " a href=(link::formula(&one.made)) { (one.made.short()) } },
                }
            }
            (outcome_section(asked, one))
            @if let Some(name) = &one.name { p { "You keep it under the name " a href=(link::names([name])) { (parts::word(name)) } "." } }
            @else { p { a href=(link::formula(&one.result)) { "What it came to, as a thing of yours" } } }
            (granted(&one.grants))
            @match one.run {
                Some(run) => p { a href={ "/r/" (run) } { "Its journal" } },
                None if one.is_gone => {},
                None => p { a href={ "/code?id=" (one.made) } { "Its journal" } },
            }
        }
    }
}

/// Returns the result for the user, even if others have also received a part of it.
fn outcome_section(asked: &PageRequest, one: &EndowedView) -> Markup {
    html! {
        @match &one.outcome {
            PromiseState::Pending => p { span.mark { "at work" } " Nothing has come of it yet." },
            PromiseState::Rejected { reason } => {
                p.warning { "It failed: " (parts::reason(reason)) }
                (parts::rest_of_reason(reason))
            },
            PromiseState::Fulfilled { value } => {
                p { span.mark.good { "done" } " It came to:" }
                (references::value(asked, "The result", value))
                (things(asked, value))
            },
        }
    }
}

/// Returns the capabilities in a result.
fn things(asked: &PageRequest, value: &kernel::Value) -> Markup {
    let ids: Vec<_> = value.references().into_iter().copied().collect();
    let known = match ids.is_empty() {
        true => vec![],
        false => match asked.look(Look::FormulaSummaries { ids }) {
            Ok(Response::FormulaSummaries(known)) => known,
            _ => vec![],
        },
    };
    html! {
        @if !known.is_empty() {
            p { "In it: " @for (at, one) in known.iter().enumerate() { @if at > 0 { ", " } (figures::called(one)) } }
        }
    }
}

fn granted(grants: &[GrantRow]) -> Markup {
    html! {
        @if grants.is_empty() { p.note { "It was granted nothing." } }
        @else {
            p { "It was granted:" }
            ul {
                @for row in grants {
                    li {
                        (link::grant(row.grant.number)) " as " (parts::line(&Untrusted::new(row.grant.slot.as_str()))) ": "
                        @if let Some(name) = &row.name { "your " (parts::word(name)) ", " }
                        (parts::line(&Untrusted::new(row.grant.words.as_str())))
                        @if row.grant.revoked_ms.is_some() { " " span.mark.warn { "revoked" } }
                    }
                }
            }
        }
    }
}
