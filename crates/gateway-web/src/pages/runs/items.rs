//! The items of a run over many documents, as a table.

use control::show::{journal, money, value};
use kernel::StepRef;
use kernel::run::{Run, RunOutcome, State};
use maud::{Markup, html};
use passable::Untrusted;

use super::descendants::asks;
use super::family::{ITEMS_PER_PAGE, Item};
use super::figures::took;
use super::list::mark;
use crate::page::{link, parts};

/// Returns a table of items. Each row has the outcome and the cost of an item.
pub fn items(run: &Run, items: &[Item]) -> Markup {
    let of = run.input.items.len();
    let (first, last) = match (items.first(), items.last()) {
        (Some(first), Some(last)) => (first.index, last.index + 1),
        _ => (0, 0),
    };
    let is_paid = items.iter().filter_map(|item| item.run.as_ref()).any(|run| run.used.usd_micros > 0);
    let page = |from: usize| format!("/r/{}?items={}#items", run.number, from + 1);
    html! {
        (bar(run, items))
        div.wide #items tabindex="0" role="region" aria-label={ "Items of " (run.number) } {
            table.stack role="table" {
                caption {
                    @if first == 0 && last == of { (of) @if of == 1 { " item" } @else { " items" } }
                    @else { "Items " (first + 1) " to " (last) " of " (of) }
                }
                thead role="rowgroup" { tr role="row" {
                    @for name in ["Item", "Document", "Run", "Outcome", "Tokens"] {
                        th scope="col" role="columnheader" { (name) }
                    }
                    @if is_paid { th scope="col" role="columnheader" { "Cost" } }
                    @for name in ["Took", "Result"] { th scope="col" role="columnheader" { (name) } }
                } }
                tbody role="rowgroup" { @for item in items { (row(run, item, is_paid)) } }
            }
        }
        @if of > last || first > 0 {
            p.note {
                @if first > 0 { a href=(page(first.saturating_sub(ITEMS_PER_PAGE))) { "Earlier items" } " " }
                @if of > last { a href=(page(last)) { "Later items" } }
            }
        }
    }
}

fn row(run: &Run, item: &Item, is_paid: bool) -> Markup {
    let child = item.run.as_ref();
    let name = run.input.items.get(item.index).map_or("", |one| one.name.as_str());
    html! {
        tr #{ "item-" (run.number) "-" (item.index) } role="row" {
            th scope="row" role="rowheader" data-label="Item" { (item.index + 1) }
            td role="cell" data-label="Document" { (parts::line(&Untrusted::new(name))) }
            td role="cell" data-label="Run" { @if let Some(child) = child { (parts::run(child.number)) } }
            td role="cell" data-label="Outcome" { (outcome(run, item)) }
            td role="cell" data-label="Tokens" { @if let Some(child) = child { (child.used.tokens()) } }
            @if is_paid {
                td role="cell" data-label="Cost" {
                    @if let Some(paid) = child.map(|child| child.used.usd_micros).filter(|paid| *paid > 0) {
                        (money::dollars(paid))
                    }
                }
            }
            td role="cell" data-label="Took" {
                @if let Some((child, ended)) = child.and_then(|child| Some((child, child.finished_ms?))) {
                    (took((ended - child.started_ms).max(0)))
                }
            }
            td role="cell" data-label="Result" {
                @if let Some((step, outcome)) = &item.outcome {
                    (result(outcome)) " "
                    (link::step(StepRef { run: run.number, step: *step }))
                }
            }
        }
    }
}

/// Returns the number of items in each state, with the way to answer those that wait alike.
fn bar(run: &Run, items: &[Item]) -> Markup {
    let count = |is: &dyn Fn(&Item) -> bool| items.iter().filter(|item| is(item)).count();
    let open =
        |item: &Item, is: &dyn Fn(&Run) -> bool| item.outcome.is_none() && item.run.as_ref().is_some_and(is);
    let waits = count(&|item| open(item, &|run| !asks(run).is_empty()));
    let states = [
        ("good", "done", count(&|item| matches!(item.outcome, Some((_, RunOutcome::Done(_)))))),
        ("bad", "failed", count(&|item| matches!(item.outcome, Some((_, RunOutcome::Failed(_)))))),
        ("open", "need you", waits),
        ("warn", "stalled", count(&|item| open(item, &|run| matches!(run.state, State::Stalled { .. })))),
        ("open", "at work", count(&|item| open(item, &|run| matches!(run.state, State::Ready)))),
        ("", "not begun", count(&|item| item.outcome.is_none() && item.run.is_none())),
    ];
    html! {
        p.batch {
            @for (class, word, count) in states.iter().filter(|(.., count)| *count > 0) {
                span class={ "mark dot " (class) } { (count) " " (word) } " "
            }
            @if waits > 1 { a href={ "/batch/" (run.number) } { "Answer those that look alike" } }
        }
    }
}

/// Returns the result of an item as text.
fn result(outcome: &RunOutcome) -> Markup {
    match outcome {
        RunOutcome::Done(found) => parts::line(&Untrusted::new(journal::shorten(&value::brief(found)))),
        RunOutcome::Failed(_) => parts::line(&Untrusted::new(journal::outcome_line(outcome))),
    }
}

/// Returns the outcome of an item, or the state of the run that works on it.
fn outcome(run: &Run, item: &Item) -> Markup {
    match (&item.outcome, &item.run) {
        (Some((_, RunOutcome::Done(_))), _) => html! { span.mark.good { "done" } },
        (Some((_, RunOutcome::Failed(trouble))), _) => {
            html! { span.mark.bad { (journal::failure_word(trouble)) } }
        }
        (None, Some(child)) => html! { span class={ "mark " (mark(child)) } { (parts::state(child)) } },
        (None, None) if run.input.earlier(item.index).is_some() => {
            html! { span.mark.good { "done before" } }
        }
        (None, None) => html! { span.note { "not begun" } },
    }
}
