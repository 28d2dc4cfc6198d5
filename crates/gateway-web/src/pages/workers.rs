//! The page of workers: those that have run or have a name, and their results.

use control::exit::Failure;
use control::protocol::{Look, Request};
use control::show::money;
use control::show::stats::{Runs, WorkerStats};
use maud::{Markup, html};

use crate::answer::{Answer, Page};
use crate::page::figures::grouped;
use crate::page::short_path::description;
use crate::page::{link, parts, table};
use crate::page_request::{PageRequest, take};

/// Answers `GET /workers`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let stats = take!(asked.ask(Request::Stats { since_ms: None })?, Stats);
    let names = take!(asked.look(Look::Names { path: None })?, Names);
    let endowed: Vec<_> = names.iter().filter(|row| row.kind == "worker").collect();
    let main = html! {
        h1 { "Workers" }
        p { a.button href="/runs/new" { "Run a worker" } }
        section #workers aria-labelledby="ran-title" {
            h2 #ran-title { "That have run " span.count { (stats.workers.len()) } }
            @if stats.workers.is_empty() { p.note { "None yet." } }
            @else {
                (table::table("Workers that have run", COLUMNS, stats.workers.iter().map(row)))
            }
        }
        @if !endowed.is_empty() {
            h2 { "That have a name " span.count { (endowed.len()) } }
            ul { @for row in &endowed {
                li { a href=(link::names([&row.name])) { (parts::name(&row.name)) } " " (description(&row.words)) }
            } }
        }
    };
    Ok(Page::new("/workers", "Workers", main).into())
}

/// The columns of the table of workers.
const COLUMNS: &[&str] = &["Worker", "Runs", "With a result", "Asked models", "Tokens", "Cost"];

fn row(one: &WorkerStats) -> Vec<Markup> {
    vec![
        html! { a href={ "/runs?worker=" (link::query(&one.worker)) "&all=yes" } { (parts::word(&one.worker)) } },
        html! { (one.runs.all()) },
        success(&one.runs),
        html! { (grouped(one.model.calls)) },
        html! { (grouped(one.model.tokens())) },
        html! { (money::dollars(one.model.usd_micros)) },
    ]
}

/// Returns the share of ended runs that have a result, as a bar with its figures.
fn success(runs: &Runs) -> Markup {
    let over = runs.done + runs.failed + runs.cancelled;
    html! {
        @if over == 0 { span.note { "none is over" } }
        @else {
            meter min="0" max=(over) value=(runs.done) aria-label="With a result" { (runs.done) " of " (over) }
            " " (runs.done) " of " (over)
        }
    }
}
