//! The start parameters of a run.

use std::collections::BTreeSet;

use control::exit::Failure;
use control::inspect::FormulaSummary;
use control::protocol::{Request, Response};
use control::show::{money, value};
use kernel::BlobHash;
use kernel::grant::EVERY_METHOD;
use kernel::run::{Run, Shape};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};
use resource::units;

use super::figures::{ObjectNames, called, meter, took};
use crate::page::{link, parts};
use crate::page_request::PageRequest;

/// The maximum number of documents in the list.
const DOCUMENTS: usize = 100;

/// Returns the worker, model, inputs, documents, grants and limits of a run.
///
/// # Errors
/// None at present.
pub fn started(asked: &PageRequest, run: &Run, known: &ObjectNames) -> Result<Markup, Failure> {
    Ok(html! {
        h2 #started-title { "What it was started with" }
        @if run.is_agent_journal() {
            p.note { "This is the journal of what an agent or code does without a run of its own." }
        } @else {
            dl.facts {
                dt { "Worker" }
                dd { a href={ "/runs?worker=" (link::query(&run.name)) "&all=yes" } { (parts::word(&run.name)) }
                    " " (parts::digest(&run.definition)) }
                dt { "Model" }
                dd { (parts::word(&run.model)) }
                @match run.shape {
                    Shape::Each { jobs, .. } => { dt { "Items" } dd { (run.input.items.len()) ", " (jobs) " at a time" } }
                    Shape::Chat => { dt { "Shape" } dd { "a conversation" } }
                    _ => {}
                }
            }
            (blob(asked, "The worker file", &run.definition))
            (inputs(run))
        }
        (grants(run, known))
        @if !run.is_agent_journal() { (limits(run)) }
    })
}

/// Returns stored bytes as a folded text.
pub fn blob(asked: &PageRequest, label: &str, hash: &BlobHash) -> Markup {
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
        // A run that a person began has the person's inputs.
        @else if run.parent.is_none() && run.principal.is_none() { (parts::said("inputs", &Untrusted::new(json))) }
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

fn grants(run: &Run, known: &ObjectNames) -> Markup {
    html! {
        h3 { "Grants" }
        @if run.grants.is_empty() { p.note { "None: it could reach nothing." } }
        @else {
            div.wide tabindex="0" role="region" aria-label="Grants" {
                table.stack role="table" {
                    thead role="rowgroup" { tr role="row" {
                        @for name in ["Slot", "What", "Methods", "Limits", "Grant"] {
                            th scope="col" role="columnheader" { (name) }
                        }
                    } }
                    tbody role="rowgroup" {
                        @for (slot, id) in &run.grants { (grant(slot, known.get(id))) }
                    }
                }
            }
        }
    }
}

fn grant(slot: &str, found: Option<&FormulaSummary>) -> Markup {
    let row = found.and_then(|one| one.grant.as_ref());
    html! {
        tr role="row" {
            th scope="row" role="rowheader" data-label="Slot" { (parts::word(slot)) }
            td role="cell" data-label="What" {
                @match found { Some(one) => (called(one)), None => span.note { "gone since" } }
            }
            td role="cell" data-label="Methods" { @if let Some(row) = row { (methods(&row.grant.methods)) } }
            td role="cell" data-label="Limits" {
                @if let Some(row) = row { (visible_line(&row.grant.attenuation.limit_phrases().join("; "))) }
            }
            td role="cell" data-label="Grant" {
                @if let Some(row) = row {
                    (link::grant(row.grant.number)) @if row.grant.revoked_ms.is_some() { " revoked" }
                }
            }
        }
    }
}

/// The maximum number of methods that are listed in one line.
const FEW: usize = 3;

/// Returns methods in one line. A long list is summarized and can be unfolded.
pub fn methods(methods: &BTreeSet<String>) -> Markup {
    let has = |name: &str| methods.contains(name);
    html! {
        @if has(EVERY_METHOD) || methods.len() <= FEW { (listed(methods)) }
        @else {
            details {
                summary {
                    @match (has("read"), has("write")) {
                        (true, true) => "read and write",
                        (true, false) => "read",
                        _ => { (methods.len()) " methods" }
                    }
                }
                (listed(methods))
            }
        }
    }
}

/// Returns all methods in one line.
pub fn listed(methods: &BTreeSet<String>) -> String {
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
            (meter("Kept", used.kept_bytes, limits.kept,
                &format!("{} of {}", units::rounded_bytes(used.kept_bytes), units::rounded_bytes(limits.kept))))
            dt { "Turns" } dd { (limits.turns) }
            dt { "Calls" } dd { (limits.calls) }
            dt { "Depth" } dd { (run.depth) " of " (limits.depth) }
            dt { "Time at work" } dd { (took(i64::try_from(limits.wall_ms).unwrap_or(i64::MAX))) }
        }
    }
}
