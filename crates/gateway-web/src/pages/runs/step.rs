//! The page of a step, with everything that is stored about it.

use control::exit::{Exit, Failure};
use control::protocol::{Request, Response};
use control::show::card::source;
use control::show::{journal, value};
use kernel::proposal::Proposal;
use kernel::run::{Completion, Entry, RunOutcome};
use kernel::{BlobHash, RunNumber, StepRef};
use maud::{Markup, html};
use passable::{Quoting, Untrusted};

use super::figures::{ObjectNames, called};
use super::{facts, family, page};
use crate::answer::{Answer, Page};
use crate::page::{link, parts};
use crate::page_request::{PageRequest, take};

/// The maximum number of bytes that are shown of a request or a reply.
const MAX_BYTES: usize = 512 << 10;

/// Answers `GET /r/RUN/step/NUMBER`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let number: RunNumber = asked.part("run")?;
    let text = asked.part_text("step");
    let none = || Failure::new(Exit::NotFound, Quoting::ours(format!("{number} has no such step")));
    let wanted: u64 = text.parse().map_err(|_| none())?;
    let run = family::run(asked, number)?;
    let steps = take!(asked.ask(Request::Journal { run: number, from: wanted, limit: None })?, Journal);
    let step = steps.into_iter().find(|step| step.number == wanted).ok_or_else(none)?;
    let known = ObjectNames::of(asked, std::iter::once(&run))?;
    let at = StepRef { run: number, step: wanted };
    let main = html! {
        h1 { (at) ": " (step.entry.name()) }
        p.envelope {
            (parts::run(number)) " " (parts::word(&run.name)) ", " (parts::when(step.at_ms)) ". " (link::why(at))
        }
        nav.filters aria-label="Steps" {
            @if wanted > 1 { a href={ "/r/" (number) "/step/" (wanted - 1) } rel="prev" { "the step before" } }
            @if wanted + 1 < run.next_step {
                a href={ "/r/" (number) "/step/" (wanted + 1) } rel="next" { "the next step" }
            }
        }
        div.panes {
            section aria-labelledby="journal-title" {
                h2 #journal-title { "Journal" }
                (page::journal_around(asked, number, wanted)?)
            }
            section.side #detail aria-label={ "Step " (at) } {
                p { (parts::linked_sentence(&journal::detail_quoting(&step.entry))) }
                (facts::findings(journal::findings(&step.entry).1))
                (step_content(asked, &known, &step.entry))
                h2 { "What it depends on" }
                @if step.provenance.sources.is_empty() { p.note { "Nothing is recorded." } }
                @else {
                    ul { @for one in &step.provenance.sources { li { (parts::line(&Untrusted::new(source(one)))) } } }
                    @if step.provenance.is_private() { p { "Only those may read it who may read what is private." } }
                }
                h2 { "As it is kept" }
                details {
                    summary { "The step as JSON" }
                    (parts::whole("step", &Untrusted::new(serde_json::to_string_pretty(&step).unwrap_or_default())))
                }
            }
        }
    };
    Ok(Page::new("/runs", format!("{at} {}", step.entry.name()), main).into())
}

/// Returns the full content of the step.
fn step_content(asked: &PageRequest, known: &ObjectNames, entry: &Entry) -> Markup {
    html! {
        @match entry {
            Entry::Prompted { request, .. } => (bytes(asked, "Request", request)),
            Entry::Replied { reply, .. } => (bytes(asked, "Reply", reply)),
            Entry::Spilled { whole, .. } => (bytes(asked, "Whole result", whole)),
            Entry::Proposed { proposal, .. } => (call(known, proposal)),
            Entry::Completed { completion: Completion::Done { value: found, .. }, .. }
            | Entry::Collected { outcome: RunOutcome::Done(found), .. }
            | Entry::Finished { outcome: RunOutcome::Done(found) } => {
                h2 { "What it came to" }
                (parts::whole("result", &Untrusted::new(value::argument(found))))
            }
            Entry::Said { text, documents, .. } => {
                h2 { "What was said" } (parts::whole("said", text))
                @for one in documents { p { "With it: " (parts::line(&Untrusted::new(one.name.as_str()))) } }
            }
            Entry::Reverted { files } | Entry::Applied { files } => {
                h2 { "Files" }
                ul { @for file in files {
                    li { (parts::line(&Untrusted::new(file.path.clone()))) ": " (parts::word(&file.from)) " → "
                        (parts::word(&file.to)) ", " (link::step(file.step)) " " (link::why(&file.path)) }
                } }
            }
            _ => {}
        }
        @if let Some(child) = journal::child(entry) { p { "It is the run " (parts::run(child)) "." } }
    }
}

/// Returns the text of stored bytes, with a title.
fn bytes(asked: &PageRequest, label: &str, hash: &BlobHash) -> Markup {
    html! {
        h2 { (label) }
        p.note { "kept as " (hash.short()) }
        @match asked.ask(Request::Blob { hash: *hash }) {
            Ok(Response::Blob(Some(text))) => {
                @let end = (0..=MAX_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                (parts::whole(label, &Untrusted::new(pretty(&text[..end]))))
                @if text.len() > end { p.note { "and " (text.len() - end) " more bytes" } }
            }
            Ok(_) => p.note { "It is not text." },
            Err(_) => p.note { "It is not kept any more: it was forgotten, or never kept." },
        }
    }
}

/// Returns JSON with line breaks and indentation. Any other text is unchanged.
fn pretty(text: &str) -> String {
    let json: Result<serde_json::Value, _> = serde_json::from_str(text);
    json.ok().and_then(|json| serde_json::to_string_pretty(&json).ok()).unwrap_or_else(|| text.to_owned())
}

/// Returns a call in full.
fn call(known: &ObjectNames, proposal: &Proposal) -> Markup {
    html! {
        h2 { "The call" }
        dl.facts {
            dt { "Slot and method" }
            dd { (parts::word(&proposal.slot)) "." (parts::word(&proposal.method)) }
            dt { "What it does to the world" }
            dd { (proposal.effect.as_words()) }
            dt { "Through" }
            dd {
                @match known.get(&proposal.grant) {
                    Some(one) => (called(one)),
                    None => { "grant " a href={ "/grants?find=" (proposal.grant.short()) } { (proposal.grant.short()) } },
                }
                @if let Some(grant) = known.grant(&proposal.grant) { ", grant " (link::grant(grant)) }
            }
        }
        @for (at, one) in proposal.args.iter().enumerate() {
            h3 { "Argument " (at + 1) }
            (parts::whole(&format!("argument {}", at + 1), &Untrusted::new(value::argument(one))))
        }
        @if !proposal.pins.is_empty() {
            h3 { "Depends on, outside the store" }
            ul { @for pin in &proposal.pins {
                li { (parts::word(&pin.kind)) " " (parts::line(&Untrusted::new(pin.name.clone()))) " "
                    @match &pin.digest { Some(digest) => (digest.short()), None => "not there" } }
            } }
        }
        @if !proposal.traces.is_empty() {
            h3 { "Where its words came from" }
            ul { @for trace in &proposal.traces {
                li { (parts::word(&trace.argument)) " “" (parts::line(&Untrusted::new(trace.text.clone()))) "” from "
                    (parts::plain_sentence(&control::show::giver::source(trace))) " (" (parts::word(&trace.how)) ")" }
            } }
        }
    }
}
