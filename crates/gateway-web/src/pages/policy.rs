//! The page of the operator's policies. It shows those in force, and the problems of the file.

use control::exit::Failure;
use control::protocol::{PolicyRow, Request};
use control::show::stats::Rule;
use maud::{Markup, html};

use crate::answer::{Answer, Page};
use crate::page::{parts, table};
use crate::page_request::{PageRequest, take};

/// Answers `GET /policy`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let report = take!(asked.ask(Request::Policy)?, Policy);
    let stats = take!(asked.ask(Request::Stats { since_ms: None })?, Stats);
    let main = html! {
        h1 { "Policy" }
        section #policy aria-label="Policies" {
            p {
                "The file is " code { (parts::word(&report.path)) } ": "
                @match &report.digest {
                    Some(digest) => { "in force as " code { (digest.short()) } "." },
                    None if report.ready => "none is in force; the built-in rules hold.",
                    None => "it cannot be followed.",
                }
            }
            @if !report.ready {
                p.warning { "Nothing is judged, and so nothing is done, while the first file is invalid." }
            }
            @if !report.problems.is_empty() {
                div.failure role="alert" {
                    p { "The file as it is now is not followed" @if report.ready { "; what is listed is from before" } ":" }
                    ul { @for one in &report.problems { li { (parts::line(one)) } } }
                }
            }
            @if !report.warnings.is_empty() {
                h2 { "Worth a look" }
                ul { @for one in &report.warnings { li { (parts::line(one)) } } }
            }
            @if let Some(managed) = &report.managed {
                h2 { "Rules of the machine's administrator " span.count { (managed.policies.len()) } }
                @if let Some(problem) = &managed.problem { div.failure role="alert" { p { (parts::line(problem)) } } }
                @if !managed.policies.is_empty() { (table(&managed.policies)) }
                p.note { "They stand in " code { (managed.path) } " and bind every home of this machine." }
            }
            h2 { "Rules " span.count { (report.policies.len()) } }
            @if report.policies.is_empty() { p.note { "None of the operator's." } } @else { (table(&report.policies)) }
            p.note { (examples(report.examples)) " must. " code { "almoner policy test …" } " tries a call." }
            h2 { "What asked or refused most" }
            @if stats.rules.is_empty() { p.note { "No rule had anything to say yet." } }
            @else {
                @let row = |one: &Rule| vec![parts::word(&one.rule), html! { (one.asked) }, html! { (one.denied) }];
                (table::table("Rules by how often they spoke", &["Rule", "Asked", "Refused"], stats.rules.iter().map(row)))
            }
        }
    };
    Ok(Page::new("/policy", "Policy", main).into())
}

/// Returns the words for examples that came out right.
fn examples(count: usize) -> String {
    match count {
        1 => "1 example came out as it".to_owned(),
        count => format!("{count} examples came out as they"),
    }
}

fn table(policies: &[PolicyRow]) -> Markup {
    let row = |one: &PolicyRow| {
        let does = match (one.forbids, one.invariant) {
            _ if one.asks => "asks a person",
            (true, true) => "forbids, whatever permits it",
            (true, false) => "forbids",
            (false, _) => "permits",
        };
        let why = html! { @if let Some(reason) = &one.reason { (parts::line(reason)) } };
        vec![parts::word(&one.name), html! { (does) }, html! { (one.line) }, why]
    };
    table::table("Rules", &["Rule", "What it does", "Line", "Why"], policies.iter().map(row))
}
