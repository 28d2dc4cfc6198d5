//! The event log: its integrity, and its events.

use std::collections::BTreeSet;

use control::audit_report::{Anchor, AuditFault, AuditReport};
use control::exit::Failure;
use control::protocol::{Look, Request};
use control::show::event;
use kernel::FormulaId;
use kernel::event::{Change, Event};
use maud::{Markup, html};
use passable::visible_line;

use crate::answer::{Answer, Page};
use crate::page::figures::{counted, grouped};
use crate::page::voice::Yours;
use crate::page::{kinds, link, parts, table};
use crate::page_request::{PageRequest, take};

/// The number of events on a page.
const PAGE: usize = 100;

/// The path of the page that verifies the log.
const VERIFIED: &str = "/audit/verified";

/// Answers `GET /audit`. `?before=` shows older events, and `?contains=` searches a line that the user kept
/// elsewhere. Verifying a long log takes long, so the page appears without it, unless such a line is searched.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let wanted = asked.query("contains").map(str::trim).filter(|text| !text.is_empty());
    let anchor: Option<Result<Anchor, String>> = wanted.map(str::parse);
    let contains = anchor.clone().and_then(Result::ok);
    let before: Option<u64> = asked.query("before").and_then(|text| text.parse().ok());
    let unverified = contains.is_none();
    let found =
        *take!(asked.ask(Request::Audit { last: Some(PAGE), contains, before, unverified })?, Audited);
    let shown: Vec<&Event> = found.last.iter().rev().collect();
    let there = there(asked, &shown)?;
    let older = shown.last().map(|event| event.seq).filter(|oldest| *oldest > 1);
    let main = html! {
        h1 { "Audit" }
        @if unverified {
            section #verified aria-labelledby="verified-title" data-load=(VERIFIED) {
                h2 #verified-title { "Whether the log is whole" }
                p.by-hand { a href=(VERIFIED) { "Verify the log" } }
                p.note.by-script role="status" { "The log is being verified…" }
            }
        } @else { (section(&found)) }
        form.search method="get" action="/audit" role="search" {
            label for="contains" { "A line of the log that you kept elsewhere: NUMBER:HASH" }
            input #contains name="contains" value=(wanted.unwrap_or("")) autocomplete="off" spellcheck="false";
            button { "Is it in the log?" }
        }
        @match (&anchor, found.contains) {
            (Some(Err(what)), _) => (parts::not_done(&html! { p { "That is no such line: " (visible_line(what)) } })),
            (Some(Ok(_)), Some(true)) => p.answer role="status" {
                "✓ It is in the log, so nothing before it was changed."
            },
            (Some(Ok(_)), _) => (parts::not_done(&html! {
                p { "It is not in the log: the log was changed since, or the line is of another store." }
            })),
            (None, _) => {}
        }
        section #events aria-labelledby="events-title" {
            h2 #events-title { "Events" }
            @if shown.is_empty() { p.note { "No events here." } } @else { (table(&shown, &there)) }
            p {
                @if let Some(oldest) = older { a href={ "/audit?before=" (oldest) } { "Older events" } " " }
                @if let Some(before) = before {
                    a href={ "/audit?before=" (before.saturating_add(PAGE as u64)) } { "Newer events" } " "
                    a href="/audit" { "The newest events" }
                }
            }
        }
    };
    Ok(Page::new("/audit", "Audit", main).into())
}

/// Answers `GET /audit/verified`: verifies the log.
pub fn verify(asked: &PageRequest) -> Result<Answer, Failure> {
    let whole = Request::Audit { last: None, contains: None, before: None, unverified: false };
    let found = *take!(asked.ask(whole)?, Audited);
    let main = html! {
        h1 { "Audit" }
        (section(&found))
        p { a href="/audit" { "The events" } }
    };
    Ok(Page::new("/audit", "Audit: whether the log is whole", main).into())
}

fn section(found: &AuditReport) -> Markup {
    html! {
        section #verified aria-labelledby="verified-title" {
            h2 #verified-title { "Whether the log is whole" }
            (verified(found))
        }
    }
}

fn verified(found: &AuditReport) -> Markup {
    html! {
        @match found.broken {
            Some(AuditFault::Chain { seq }) => p.failure role="alert" {
                "Event " (seq) " does not follow the one before: the log was changed. Keep a copy of the store, and go back to a backup."
            },
            Some(AuditFault::Record { seq }) => p.failure role="alert" {
                "What event " (seq) " tells of is not what was recorded. Keep a copy of the store, and go back to a backup."
            },
            None => p {
                "✓ " (counted(found.events, "event", "events")) ", each follows the one before; " (grouped(found.covered))
                " of them tell of what is there as it was recorded"
                @if found.gone > 0 { ", " (grouped(found.gone)) " of what was removed since" } "."
            },
        }
        @if let Some(end) = &found.end {
            p { "The end is " code { (end) } ". Kept elsewhere, that line proves later that nothing before it was changed." }
        }
    }
}

/// Returns the formulas in naming events that still exist.
fn there(asked: &PageRequest, events: &[&Event]) -> Result<BTreeSet<FormulaId>, Failure> {
    let named = events.iter().filter_map(|event| match &event.change {
        Change::Named { id, .. } => Some(*id),
        _ => None,
    });
    let called = take!(asked.look(Look::FormulaSummaries { ids: named.collect() })?, FormulaSummaries);
    Ok(called.into_iter().map(|one| one.id).collect())
}

fn table(events: &[&Event], there: &BTreeSet<FormulaId>) -> Markup {
    let row = |event: &&Event| {
        let said = sentence(&event.change, there);
        let by = html! { @if let Some(by) = &event.by { (Yours(&event::recorder(by))) } };
        vec![html! { span #{ "e-" (event.seq) } { (event.seq) } }, parts::when(event.at_ms), by, said]
    };
    table::table("The table of events", &["Event", "When", "By", "What"], events.iter().map(row))
}

/// Returns the sentence of an event, with links to what it names. It quotes names only, since the words of others stand
/// behind its links.
fn sentence(change: &Change, there: &BTreeSet<FormulaId>) -> Markup {
    match change {
        Change::Named { name, id, .. } => html! {
            (Yours(name)) " is the name of "
            @if there.contains(id) { a href=(link::formula(id)) { (id.short()) } } @else { (id.short()) }
        },
        Change::Message { number, kind, needs_you, .. } => html! {
            (link::message(*number)) " came: " (kinds::message(kind))
            @if *needs_you { ", and waits for an answer" }
        },
        other => {
            let said = event::headline(other);
            html! {
                @for part in said.parts() {
                    @if part.is_quoted { (Yours(part.text)) } @else { (link::ours(part.text)) }
                }
            }
        }
    }
}
