//! What a run was started with.

use control::exit::Failure;
use control::protocol::{Request, Response};
use control::show::{money, value};
use kernel::BlobHash;
use kernel::grant::EVERY_METHOD;
use kernel::run::{Run, Shape};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use super::figures::{Known, called, meter, took};
use crate::asked::Asked;
use crate::page::{link, parts};

/// How many documents are listed.
const DOCUMENTS: usize = 100;

/// Worker, model, inputs, documents, grants, limits.
///
/// # Errors
/// When the daemon cannot say.
pub fn started(asked: &Asked, run: &Run, known: &Known) -> Result<Markup, Failure> {
    Ok(html! {
        h2 #started-title { "What it was started with" }
        @if run.is_standing() {
            p.note { "This is the journal of what an agent or code does without a run of its own." }
        } @else {
            dl.facts {
                dt { "Worker" }
                dd { a href={ "/runs?worker=" (link::query(&run.name)) "&all=yes" } { (parts::word(&run.name)) }
                    " " (parts::digest(&run.definition)) }
                dt { "Model" }
                dd { (parts::word(&run.model)) }
                @match run.shape {
                    Shape::Each { jobs } => { dt { "Items" } dd { (run.input.items.len()) ", " (jobs) " at a time" } }
                    Shape::Chat => { dt { "Shape" } dd { "a conversation" } }
                    _ => {}
                }
            }
            (blob(asked, "The worker file", &run.definition))
            (inputs(run))
        }
        (grants(run, known))
        @if !run.is_standing() { (limits(run)) }
    })
}

/// Bytes that are kept, folded.
pub fn blob(asked: &Asked, label: &str, hash: &BlobHash) -> Markup {
    html! {
        details {
            summary { (label) }
            @match asked.ask(Request::Blob { hash: *hash }) {
                Ok(Response::Blob(Some(text))) => (parts::whole(label, &Untrusted::new(text))),
                Ok(_) => p.note { "It is not text." },
                Err(_) => p.note { "It is not kept any more." },
            }
        }
    }
}

fn inputs(run: &Run) -> Markup {
    let documents = &run.input.attachments;
    let json = value::argument(&run.input.values);
    let is_empty = matches!(json.as_str(), "{}" | "null");
    html! {
        h3 { "Inputs" }
        @if is_empty { p.note { "No named inputs." } }
        @else { (parts::whole("inputs", &Untrusted::new(json))) }
        @if !documents.is_empty() {
            ul {
                @for one in documents.iter().take(DOCUMENTS) {
                    li { (parts::line(&Untrusted::new(one.name.clone()))) " "
                        span.note { (one.bytes) " bytes, " (one.hash.short()) } }
                }
            }
            @if documents.len() > DOCUMENTS { p.note { "and " (documents.len() - DOCUMENTS) " more" } }
        }
    }
}

fn grants(run: &Run, known: &Known) -> Markup {
    html! {
        h3 { "Grants" }
        @if run.grants.is_empty() { p.note { "None: it could reach nothing." } }
        @else {
            div.wide tabindex="0" role="region" aria-label="Grants" {
                table {
                    thead { tr { th scope="col" { "Slot" } th scope="col" { "What" } th scope="col" { "Methods" }
                        th scope="col" { "Limits" } th scope="col" { "Grant" } } }
                    tbody {
                        @for (slot, id) in &run.grants {
                            tr {
                                th scope="row" { (parts::word(slot)) }
                                @match known.get(id) {
                                    None => td colspan="4" { span.note { "gone since" } },
                                    Some(one) => {
                                        td { (called(one)) }
                                        @match &one.grant {
                                            None => { td {} td {} td {} }
                                            Some(row) => {
                                                td { (methods(&row.grant.methods)) }
                                                td { (visible_line(&row.grant.attenuation.words().join("; "))) }
                                                td { (link::grant(row.grant.number))
                                                    @if row.grant.revoked_ms.is_some() { " revoked" } }
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Methods, in a line.
pub fn methods(methods: &std::collections::BTreeSet<String>) -> String {
    if methods.contains(EVERY_METHOD) {
        return "everything".to_owned();
    }
    let all: Vec<&str> = methods.iter().map(String::as_str).collect();
    visible_line(&all.join(", ")).into_owned()
}

fn limits(run: &Run) -> Markup {
    let (limits, used) = (&run.limits, &run.used);
    let tokens = used.tokens();
    html! {
        h3 { "Limits" }
        dl.facts {
            (meter("Tokens", tokens, limits.tokens, &format!("{tokens} of {}", limits.tokens)))
            @if let Some(most) = limits.usd_micros {
                (meter("Money", used.usd_micros, most,
                    &format!("{} of {}", money::dollars(used.usd_micros), money::dollars(most))))
            }
            dt { "Turns" } dd { (limits.turns) }
            dt { "Calls" } dd { (limits.calls) }
            dt { "Depth" } dd { (run.depth) " of " (limits.depth) }
            dt { "Time at work" } dd { (took(i64::try_from(limits.wall_ms).unwrap_or(i64::MAX))) }
        }
    }
}
