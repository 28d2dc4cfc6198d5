//! The operator's policies: which are in force, and what is wrong with the file.

use control::exit::Failure;
use control::protocol::{PolicyRow, Request};
use maud::{Markup, html};

use crate::answer::{Answer, Page};
use crate::asked::{Asked, take};
use crate::page::parts;

/// `GET /policy`.
pub fn show(asked: &Asked) -> Result<Answer, Failure> {
    let report = take!(asked.ask(Request::Policy)?, Policy);
    let stats = take!(asked.ask(Request::Stats { since_ms: None })?, Stats);
    let main = html! {
        h1 { "Policy" }
        section #policy aria-label="Policies" {
            p {
                "The file is " code { (parts::word(&report.path)) } ": "
                @match &report.digest {
                    Some(digest) => { "in force as " code { (digest.short()) } "." },
                    None => "none is in force; the built-in rules hold.",
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
            h2 { "Rules " span.count { (report.policies.len()) } }
            @if report.policies.is_empty() { p.note { "None of the operator's." } } @else { (table(&report.policies)) }
            p.note { (report.examples) " examples came out as they must. " code { "almoner policy test …" } " tries a call." }
            h2 { "What asked or refused most" }
            @if stats.rules.is_empty() { p.note { "No rule had anything to say yet." } }
            @else {
                div.wide tabindex="0" role="region" aria-label="Rules by how often they spoke" {
                    table {
                        thead { tr { th scope="col" { "Rule" } th scope="col" { "Asked" } th scope="col" { "Refused" } } }
                        tbody { @for one in &stats.rules { tr {
                            th scope="row" { (parts::word(&one.rule)) } td { (one.asked) } td { (one.denied) }
                        } } }
                    }
                }
            }
        }
    };
    Ok(Page::new("/policy", "Policy", main).into())
}

fn table(policies: &[PolicyRow]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Rules" {
            table {
                thead { tr { th scope="col" { "Rule" } th scope="col" { "What it does" } th scope="col" { "Line" }
                    th scope="col" { "Why" } } }
                tbody { @for one in policies { tr {
                    th scope="row" { (parts::word(&one.name)) }
                    td { @match (one.forbids, one.invariant) {
                        (true, true) => "forbids, whatever permits it",
                        (true, false) => "forbids",
                        (false, _) => "permits",
                    } }
                    td { (one.line) }
                    td { @if let Some(reason) = &one.reason { (parts::line(reason)) } }
                } } }
            }
        }
    }
}
