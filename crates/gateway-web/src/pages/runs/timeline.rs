//! The timeline view: a run and its descendants as bars over time.

use std::collections::BTreeMap;

use control::show::timeline::{Kind, Scale, Span, family_spans, total};
use kernel::run::{Run, Step};
use kernel::{RunNumber, StepRef};
use maud::{Markup, html};
use passable::Untrusted;

use super::facts::{self, Facts};
use super::family::Family;
use super::figures::{ObjectNames, principal, took};
use super::rows::{Row, rows};
use crate::page::{link, parts};

/// The width of the drawing, in its own units.
const WIDTH: f64 = 600.0;

/// The maximum number of bars. Only the newest are drawn.
const MAX_BARS: usize = 300;

/// A bar, with its start and its length in units of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bar {
    x: f64,
    width: f64,
}

/// Returns the bar for a span. Every bar is visible and inside of the drawing.
fn bar(scale: &Scale, span: &Span) -> Bar {
    /// The smallest width that is visible.
    const LEAST: f64 = 3.0;
    let (from, to) = (scale.part(span.from) * WIDTH, scale.part(span.to) * WIDTH);
    let width = (to - from).clamp(LEAST, WIDTH);
    Bar { x: from.clamp(0.0, WIDTH - width), width }
}

fn kind_label(kind: Kind) -> &'static str {
    match kind {
        Kind::Model => "model",
        Kind::Tool => "tool",
        Kind::You => "waiting for you",
    }
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Model => "bar model",
        Kind::Tool => "bar tool",
        Kind::You => "bar you",
    }
}

/// Returns a table with the bars. Its other columns show the same data as text. An unfinished span ends at the
/// present time.
pub fn timeline(family: &Family, known: &ObjectNames, now_ms: i64) -> Markup {
    let told = facts_by_step(family, known);
    let spans = family_spans(&family.members, now_ms);
    let scale = Scale::of(&spans);
    let begun = family.members.first().map_or(0, |(run, _): &(Run, Vec<Step>)| run.started_ms);
    let sum = |kind: Kind| took(total(&spans, kind));
    let left_out = spans.len().saturating_sub(MAX_BARS);
    html! {
        p {
            "Models " strong { (sum(Kind::Model)) } ", tools " strong { (sum(Kind::Tool)) }
            ", waiting for you " strong { (sum(Kind::You)) } " (drawn short)."
            @if let Some((root, _)) = family.members.first() { " All of it for " (principal(known, root)) "." }
        }
        @if spans.is_empty() { p.note { "Nothing has taken time yet." } }
        @else {
            @if left_out > 0 { p.note { (left_out) " bars before these are not drawn." } }
            div.wide tabindex="0" role="region" aria-label="Timeline" {
                table.timeline role="table" {
                    thead role="rowgroup" { tr role="row" {
                        @for name in ["After", "Run", "Who", "What", "Took", "When"] {
                            th scope="col" role="columnheader" { (name) }
                        }
                    } }
                    tbody role="rowgroup" {
                        @for span in spans.iter().skip(left_out) { (row(&scale, begun, span, &told)) }
                    }
                }
            }
        }
    }
}

fn row(scale: &Scale, begun: i64, span: &Span, told: &BTreeMap<(RunNumber, u64), Facts>) -> Markup {
    let bar = bar(scale, span);
    let what = parts::line(&Untrusted::new(span.what.clone()));
    let kind = match span.kind {
        Kind::Model => "m",
        Kind::Tool => "t",
        Kind::You => "y",
    };
    html! {
        tr role="row" {
            td role="cell" { (took((span.from - begun).max(0))) }
            td role="cell" { (link::step(StepRef { run: span.run, step: span.step })) }
            td role="cell" { (kind_label(span.kind)) }
            td role="cell" {
                @match told.get(&(span.run, span.step)) {
                    // After a crash, a run may wait a second time for the same call. The start time makes the id
                    // unique.
                    Some(facts) => details.facts #{ "t-" (kind) "-" (span.run) "-" (span.step) "-" (span.from) } {
                        summary { (what) }
                        (facts.all)
                    },
                    None => (what),
                }
            }
            td role="cell" { (took(span.to - span.from)) }
            td.bars role="cell" {
                svg viewBox={ "0 0 " (WIDTH) " 14" } width=(WIDTH) height="14" preserveAspectRatio="none"
                    aria-hidden="true" {
                    rect.track x="0" y="6" width=(WIDTH) height="2" {}
                    rect class=(class(span.kind)) x=(format!("{:.1}", bar.x)) y="1"
                        width=(format!("{:.1}", bar.width)) height="12" rx="2" {}
                }
            }
        }
    }
}

/// Returns the facts on the rows of a family, by the steps at which the rows begin.
fn facts_by_step(family: &Family, known: &ObjectNames) -> BTreeMap<(RunNumber, u64), Facts> {
    let mut told = BTreeMap::new();
    for (run, steps) in &family.members {
        for row in rows(steps) {
            let step = match &row {
                Row::Turn(turn) => turn.asked.number,
                Row::Call(call) => call.proposed.number,
                Row::Other(step) => step.number,
            };
            told.insert((run.number, step), facts::of_row(family, known, run, &row));
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_span_is_visible_inside_the_drawing() {
        let span = |kind, from, to| Span {
            run: kernel::RunNumber(1),
            step: 1,
            kind,
            what: "x".to_owned(),
            from,
            to,
        };
        let day = 86_400_000;
        let spans = [
            span(Kind::Model, 0, 1000),
            span(Kind::Tool, 1000, 1000),
            span(Kind::You, 1000, 1000 + day),
            span(Kind::Model, 1000 + day, 1500 + day),
        ];
        let scale = Scale::of(&spans);
        for one in &spans {
            let Bar { x, width } = bar(&scale, one);
            assert!(x >= 0.0 && width >= 3.0 && x + width <= WIDTH + 0.01, "{one:?}: {x} {width}");
        }
        // A day of waiting takes less than a fifth of the width of the first turn. The second turn has half of that
        // width.
        let [first, _, wait, second] = spans.clone().map(|one| bar(&scale, &one));
        assert!(wait.width < first.width / 5.0);
        assert!((second.width * 2.0 - first.width).abs() < 2.0);
        // Without spans, a bar is still inside of the drawing.
        let none = bar(&Scale::of(&[]), &spans[0]);
        assert!(none.x >= 0.0 && none.x + none.width <= WIDTH);
    }
}
