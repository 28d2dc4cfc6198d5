//! The tree view of a journal. Each step has the runs that it started below it.

use control::show::{journal, value};
use kernel::run::{Completion, Entry, Run, Shape, State, Step};
use kernel::{RunNumber, StepRef};
use maud::{Markup, html};
use passable::Untrusted;

use super::facts::{self, Facts, findings};
use super::family::{Family, older};
use super::figures::{ObjectNames, principal, took, usage};
use super::items::items;
use super::list::mark;
use super::rows::{Call, Row, Turn, rows};
use crate::page::{link, parts};

/// Returns the tree of a family. The root comes first.
pub fn tree(family: &Family, known: &ObjectNames) -> Markup {
    html! {
        @if let Some((root, _)) = family.members.first() {
            ol.tree { (member(family, known, root.number)) }
        }
    }
}

/// Returns one run with its rows.
fn member(family: &Family, known: &ObjectNames, number: RunNumber) -> Markup {
    let Some((run, steps)) = family.of(number) else {
        return html! { p { (parts::run(number)) span.note { " has a page of its own" } } };
    };
    html! {
        li.member #{ "run-" (number) } {
            p.head {
                (parts::run(number)) " " strong { (parts::word(&run.name)) } " "
                span class={ "mark " (mark(run)) } { (parts::state(run)) }
                " " span.note {
                    @if !run.is_agent_journal() { "model " (parts::word(&run.model)) ", " (usage(&run.used)) ", " }
                    "for " (principal(known, run))
                }
            }
            @let is_root = family.members.first().is_some_and(|(root, _)| root.number == number);
            @if !is_root && older(steps) > 0 {
                p.note { (older(steps)) " older steps are on the page of " (parts::run(number)) }
            }
            ol.steps {
                @for part in folded(rows(steps)) {
                    @match part {
                        Part::Row(row) => (self::row(family, known, run, &row)),
                        Part::Waits(all) => (waits(family, known, run, &all)),
                    }
                }
            }
            @if is_root && matches!(run.shape, Shape::Each { .. }) { (items(run, &family.items)) }
        }
    }
}

fn row(family: &Family, known: &ObjectNames, run: &Run, row: &Row<'_>) -> Markup {
    let facts = facts::of_row(family, known, run, row);
    match row {
        Row::Turn(turn) => self::turn(run, turn, &facts),
        Row::Call(call) => self::call(family, known, run, call, &facts),
        // The items of a run have a table of their own.
        Row::Other(Step {
            entry: Entry::Spawned { .. } | Entry::Yielded { .. } | Entry::Collected { .. },
            ..
        }) => html! {},
        Row::Other(step) => other(run, step, &facts),
    }
}

/// A part of a journal: one row, or several rows about waiting, one after the other.
enum Part<'a> {
    Row(Row<'a>),
    Waits(Vec<Row<'a>>),
}

/// Returns the rows of a journal, with consecutive rows about waiting taken together.
fn folded(rows: Vec<Row<'_>>) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for row in rows {
        let is_wait =
            matches!(row, Row::Other(Step { entry: Entry::Suspended { .. } | Entry::Resumed { .. }, .. }));
        match (parts.last_mut(), is_wait) {
            (Some(Part::Waits(all)), true) => all.push(row),
            (_, true) => parts.push(Part::Waits(vec![row])),
            (_, false) => parts.push(Part::Row(row)),
        }
    }
    parts
}

/// Returns rows about waiting. Several are folded.
fn waits(family: &Family, known: &ObjectNames, run: &Run, all: &[Row<'_>]) -> Markup {
    let count = all.iter().filter(|row| is_suspension(row)).count();
    let rows = html! { @for row in all { (self::row(family, known, run, row)) } };
    match all {
        [] | [_] | [_, _] => rows,
        [first, ..] => html! {
            li.span.other #{ (first_id(run, first)) "-waits" } {
                details { summary { "It waited " (count) " times" } ol.steps { (rows) } }
            }
        },
    }
}

fn is_suspension(row: &Row<'_>) -> bool {
    matches!(row, Row::Other(Step { entry: Entry::Suspended { .. }, .. }))
}

/// Returns the element id of a row about waiting.
fn first_id(run: &Run, row: &Row<'_>) -> String {
    match row {
        Row::Other(step) => id(run, step),
        Row::Turn(turn) => id(run, turn.asked),
        Row::Call(call) => id(run, call.proposed),
    }
}

/// Returns the time of a step, counted from the start of its run.
fn at(run: &Run, step: &Step) -> Markup {
    let after = took((step.at_ms - run.started_ms).max(0));
    html! { time.at datetime=(kernel::time::iso(step.at_ms)) { (after) } }
}

/// Returns the element id of a step's row.
fn id(run: &Run, step: &Step) -> String {
    format!("s-{}-{}", run.number, step.number)
}

fn turn(run: &Run, turn: &Turn<'_>, facts: &Facts) -> Markup {
    let reference = |step: &Step| StepRef { run: run.number, step: step.number };
    let is_stalled = matches!(run.state, State::Stalled { .. });
    let is_open = turn.replied.is_none() && !run.is_finished() && !is_stalled;
    let id = id(run, turn.asked);
    html! {
        li.span.model #(id) {
            p.head {
                (link::step(reference(turn.asked))) " " (at(run, turn.asked)) " "
                span.kind { "model" } " " (parts::word(turn.model)) " "
                @match &turn.replied {
                    Some((step, cost)) => {
                        span.note { (usage(cost)) ", " (took(i64::try_from(cost.model_ms).unwrap_or(i64::MAX))) }
                        " " (link::step(reference(step)))
                    }
                    None if is_open => span.mark.open { "is asked" },
                    None if is_stalled => span.mark.warn { "has not answered: the run is stalled" },
                    None => span.mark.warn { "has not answered" },
                }
            }
            @if is_open {
                p.note #{ "progress-" (run.number) } data-streamed {}
                pre.foreign #{ "writes-" (run.number) } data-streamed tabindex="0"
                    aria-label={ "What the model of " (run.number) " writes" } {}
            }
            @for (step, found) in &turn.rejected {
                p.facts {
                    span.mark.bad { "not taken" } " " (link::step(reference(step)))
                }
                (findings(found))
            }
            (facts.folded(&format!("{id}-facts")))
        }
    }
}

fn call(family: &Family, known: &ObjectNames, run: &Run, call: &Call<'_>, facts: &Facts) -> Markup {
    let proposal = call.proposal;
    let step = StepRef { run: run.number, step: call.proposed.number };
    let words = journal::detail(&call.proposed.entry);
    let id = id(run, call.proposed);
    html! {
        li.span.call #(id) {
            p.head {
                (link::step(step)) " " (at(run, call.proposed)) " "
                span.kind { (proposal.effect.as_words()) } " "
                (parts::line(&Untrusted::new(words))) " "
                (call_state(call)) " "
                (link::why(step))
            }
            (facts.folded(&format!("{id}-facts")))
            @match call.completed {
                Some((_, Completion::Done { value, .. })) => p.facts {
                    "came to " (parts::line(&Untrusted::new(journal::shorten(&value::argument(value)))))
                },
                Some((_, Completion::Failed(found))) => (findings(std::slice::from_ref(found))),
                // Findings that the verdict above already shows are not repeated.
                Some((_, Completion::Refused(found)))
                    if call.verdict.is_none_or(|verdict| verdict.findings != *found) => (findings(found)),
                _ => {}
            }
            @if let Some(child) = call.child.filter(|child| *child > run.number) {
                ol.tree { (member(family, known, child)) }
            }
        }
    }
}

/// Returns the state of a call.
fn call_state(call: &Call<'_>) -> Markup {
    match call.completed {
        Some((_, Completion::Done { .. })) => html! { span.mark.good { "done" } },
        Some((_, Completion::Refused(_))) => html! { span.mark.bad { "refused" } },
        Some((_, Completion::Failed(_))) => html! { span.mark.bad { "failed" } },
        None => match (call.asked(), call.until_ms) {
            (Some(message), _) => html! {
                span.mark.open { "waits for you: " (link::message(message)) }
            },
            (_, Some(until)) => html! { span.mark.open { "waits until " (parts::at(until)) } },
            _ if call.begun_ms.is_some() => html! { span.mark.open { "is being done" } },
            _ => html! { span.mark.open { "has not begun" } },
        },
    }
}

fn other(run: &Run, step: &Step, facts: &Facts) -> Markup {
    let reference = StepRef { run: run.number, step: step.number };
    let words = journal::detail_quoting(&step.entry);
    let id = id(run, step);
    html! {
        li.span.other #(id) {
            p.head {
                (link::step(reference)) " " (at(run, step)) " "
                span.kind { (step.entry.name()) } " "
                (parts::linked_sentence(&words))
            }
            (facts.folded(&format!("{id}-facts")))
        }
    }
}
