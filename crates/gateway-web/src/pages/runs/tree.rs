//! A journal as a tree: what each step did, with the runs that it started below it.

use control::show::{journal, value};
use kernel::run::{Completion, Entry, Run, RunOutcome, Shape, Step};
use kernel::{RunNumber, StepRef};
use maud::{Markup, html};
use passable::Untrusted;

use super::facts::{self, findings};
use super::family::Family;
use super::figures::{Known, called, took, usage};
use super::list::mark;
use super::rows::{Call, Row, Turn, rows};
use crate::page::{link, parts};

/// How many items of a run over many documents are shown.
const ITEMS: usize = 500;

/// The tree of a family. The root comes first.
pub fn tree(family: &Family, known: &Known) -> Markup {
    html! {
        @if let Some((root, _)) = family.members.first() {
            ol.tree { (member(family, known, root.number)) }
        }
    }
}

/// One run with its rows.
fn member(family: &Family, known: &Known, number: RunNumber) -> Markup {
    let Some((run, steps)) = family.of(number) else {
        return html! { p { (parts::run(number)) span.note { " has a page of its own" } } };
    };
    html! {
        li.member #{ "run-" (number) } {
            p.head {
                (parts::run(number)) " " strong { (parts::word(&run.name)) } " "
                span class={ "mark " (mark(run)) } { (parts::state(run)) }
                @if !run.is_standing() {
                    " " span.note { "model " (parts::word(&run.model)) ", " (usage(&run.used)) }
                }
                @if let Some(who) = run.principal.and_then(|id| known.get(&id).cloned()) {
                    " " span.note { "for " (called(&who)) }
                }
            }
            ol.steps {
                @for row in rows(steps) { (self::row(family, known, run, &row)) }
            }
            @if matches!(run.shape, Shape::Each { .. }) { (items(run, steps)) }
        }
    }
}

fn row(family: &Family, known: &Known, run: &Run, row: &Row<'_>) -> Markup {
    let facts = facts::of_row(family, known, run, row);
    match row {
        Row::Turn(turn) => self::turn(run, turn, &facts),
        Row::Call(call) => self::call(family, known, run, call, &facts),
        // They have a table.
        Row::Other(Step { entry: Entry::Spawned { .. } | Entry::Collected { .. }, .. }) => html! {},
        Row::Other(step) => other(run, step, &facts),
    }
}

/// When a step was, after its run began.
fn at(run: &Run, step: &Step) -> Markup {
    let after = took((step.at_ms - run.started_ms).max(0));
    html! { time.at datetime=(kernel::time::iso(step.at_ms)) { (after) } }
}

fn turn(run: &Run, turn: &Turn<'_>, facts: &Markup) -> Markup {
    let reference = |step: &Step| StepRef { run: run.number, step: step.number };
    let is_open = turn.replied.is_none() && !run.is_finished();
    html! {
        li.span.model #{ "s-" (run.number) "-" (turn.asked.number) } {
            p.head {
                (link::step(reference(turn.asked))) " " (at(run, turn.asked)) " "
                span.kind { "model" } " " (parts::word(turn.model)) " "
                @match &turn.replied {
                    Some((step, cost)) => {
                        span.note { (usage(cost)) ", " (took(i64::try_from(cost.model_ms).unwrap_or(i64::MAX))) }
                        " " (link::step(reference(step)))
                    }
                    None if is_open => span.mark.open { "is asked" },
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
            (facts)
        }
    }
}

fn call(family: &Family, known: &Known, run: &Run, call: &Call<'_>, facts: &Markup) -> Markup {
    let proposal = call.proposal;
    let step = StepRef { run: run.number, step: call.proposed.number };
    let words = journal::detail(&call.proposed.entry);
    html! {
        li.span.call #{ "s-" (run.number) "-" (step.step) } {
            p.head {
                (link::step(step)) " " (at(run, call.proposed)) " "
                span.kind { (proposal.effect.as_words()) } " "
                (parts::line(&Untrusted::new(words))) " "
                (came_to(call)) " "
                (link::why(step))
            }
            (facts)
            @match call.completed {
                Some((_, Completion::Done { value, .. })) => p.facts {
                    "came to " (parts::line(&Untrusted::new(journal::shorten(&value::argument(value)))))
                },
                Some((_, Completion::Failed(found))) => (findings(std::slice::from_ref(found))),
                // What the gates have said of it stands above.
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

/// How a call stands.
fn came_to(call: &Call<'_>) -> Markup {
    match call.completed {
        Some((_, Completion::Done { .. })) => html! { span.mark.good { "done" } },
        Some((_, Completion::Refused(_))) => html! { span.mark.bad { "refused" } },
        Some((_, Completion::Failed(_))) => html! { span.mark.bad { "failed" } },
        None => match (call.asked(), call.until_ms) {
            (Some(message), _) => html! {
                span.mark.open { "waits for you: " (link::message(message)) }
            },
            (_, Some(until)) => html! { span.mark.open { "waits until " (parts::when(until)) } },
            _ if call.begun_ms.is_some() => html! { span.mark.open { "is being done" } },
            _ => html! { span.mark.open { "has not begun" } },
        },
    }
}

fn other(run: &Run, step: &Step, facts: &Markup) -> Markup {
    let reference = StepRef { run: run.number, step: step.number };
    let words = journal::told(&step.entry);
    html! {
        li.span.other #{ "s-" (run.number) "-" (step.number) } {
            p.head {
                (link::step(reference)) " " (at(run, step)) " "
                span.kind { (step.entry.name()) } " "
                (parts::told(&words))
            }
            (facts)
        }
    }
}

/// The items of a run over many documents, with what came of each.
fn items(run: &Run, steps: &[Step]) -> Markup {
    let count = run.input.items.len();
    let child_of = |index: usize| {
        steps.iter().find_map(|step| match &step.entry {
            Entry::Spawned { index: at, child } if *at == index => Some(*child),
            _ => None,
        })
    };
    let outcome_of = |index: usize| {
        steps.iter().find_map(|step| match &step.entry {
            Entry::Collected { index: at, outcome } if *at == index => Some((step, outcome)),
            _ => None,
        })
    };
    html! {
        div.wide tabindex="0" role="region" aria-label={ "Items of " (run.number) } {
            table {
                caption { (count) " items" }
                thead { tr { th scope="col" { "Item" } th scope="col" { "Document" } th scope="col" { "Run" }
                    th scope="col" { "Outcome" } th scope="col" { "Result" } } }
                tbody {
                    @for (index, item) in run.input.items.iter().enumerate().take(ITEMS) {
                        @let outcome = outcome_of(index);
                        tr #{ "item-" (run.number) "-" (index) } {
                            th scope="row" { (index + 1) }
                            td { (parts::line(&Untrusted::new(item.name.clone()))) }
                            td { @if let Some(child) = child_of(index) { (parts::run(child)) } }
                            td {
                                @match outcome {
                                    Some((_, RunOutcome::Done(_))) => span.mark.good { "done" },
                                    Some((_, RunOutcome::Failed(trouble))) => span.mark.bad { (journal::nothing(trouble)) },
                                    None if run.input.earlier(index).is_some() => span.mark.good { "done before" },
                                    None if run.children.contains_key(&index) => span.mark.open { "at work" },
                                    None => span.note { "not begun" },
                                }
                            }
                            td {
                                @if let Some((step, outcome)) = outcome {
                                    (parts::line(&Untrusted::new(journal::outcome_line(outcome)))) " "
                                    (link::step(StepRef { run: run.number, step: step.number }))
                                }
                            }
                        }
                    }
                }
            }
        }
        @if count > ITEMS { p.note { "The first " (ITEMS) " are shown; " code { "almoner trace " (run.number) } " shows all." } }
    }
}
