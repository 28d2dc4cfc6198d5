//! The page of a run.

use std::collections::{BTreeMap, BTreeSet};

use control::exit::Failure;
use control::protocol::{Look, Response};
use control::show::{document_notes, value};
use kernel::budget::LimitKind;
use kernel::message::Body;
use kernel::run::{Phase, Run, RunOutcome, Shape, State, Step};
use kernel::{MessageNumber, RunNumber, Value};
use maud::{Markup, html};
use passable::{ExactJson, Quoting, Untrusted, visible_line};

use super::descendants::open_descendants;
use super::family::{Family, FamilyFilter, MAX_STEPS_PER_RUN, family, older};
use super::figures::{ObjectNames, took, usage};
use super::list::mark;
use super::{raw, started, timeline, tree};
use crate::answer::{Answer, Page};
use crate::page::{link, parts};
use crate::page_request::PageRequest;

/// The views of the journal.
const VIEWS: &[&str] = &["tree", "timeline", "raw"];

/// The maximum number of fields of a result that are shown one by one.
const MAX_FIELDS: usize = 12;

/// The maximum number of names in a list: runs that do not fit on the page, and things that a run waits for.
const MAX_NAMED: usize = 100;

/// Answers `GET /r/RUN`. `?view=tree|timeline|raw` selects a view.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    page(asked, asked.part("run")?, None, 200)
}

/// Returns the page of a run. `wrong` is the error of a form that was sent from this page.
///
/// # Errors
/// When the run does not exist.
pub fn page(
    asked: &PageRequest,
    number: RunNumber,
    wrong: Option<Markup>,
    status: u16,
) -> Result<Answer, Failure> {
    let view = asked.query("view").and_then(|view| VIEWS.iter().find(|one| **one == view)).unwrap_or(&"tree");
    let said = |name: &str| asked.query(name).and_then(|text| text.parse::<u64>().ok());
    // In the tree view, the items of a run over many documents have a table. In other views, they are shown like
    // other children.
    let first = said("items").map_or(0, |first| usize::try_from(first.saturating_sub(1)).unwrap_or(0));
    let wanted = FamilyFilter { before: said("before"), items: (*view == "tree").then_some(first) };
    let family = family(asked, number, wanted)?;
    let known = ObjectNames::of(asked, family.members.iter().map(|(run, _)| run))?;
    let Some((run, steps)) = family.members.first() else {
        return Err(Failure::new(
            control::exit::Exit::NotFound,
            Quoting::ours(format!("there is no run {number}")),
        ));
    };
    let open = if run.is_finished() { vec![] } else { open_descendants(asked, run) };
    let main = html! {
        @if let Some(wrong) = wrong { (wrong) }
        h1 { (number) " " (parts::word(&run.name)) }
        section #head aria-label="How it stands" data-live { (head(asked, run)) (pending(asked, run, &open)) }
        div.overview {
            section #result aria-labelledby="result-title" data-live { (result(run)) }
            section #files aria-labelledby="files-title" data-live { (files(asked, run)?) }
        }
        div.panes[*view == "tree"] {
            section #view aria-labelledby="view-title" data-live {
                h2 #view-title { "Journal" }
                nav.filters aria-label="Views" {
                    @for one in VIEWS {
                        a href={ "/r/" (number) "?view=" (one) } aria-current=[(one == view).then_some("true")] { (one) }
                    }
                }
                (pages(run, steps, view))
                @match *view {
                    "timeline" => (timeline::timeline(&family, &known, asked.site.backend.now_ms())),
                    "raw" => (raw::raw(&family)),
                    _ => (tree::tree(&family, &known)),
                }
                (rest(&family))
            }
            div.side {
                section #actions aria-labelledby="actions-title" data-live { (actions(asked, run, &open, &known)) }
                section #started aria-labelledby="started-title" data-live { (started::started(asked, run, &known)?) }
            }
        }
    };
    let called = format!("{number} {}", visible_line(&run.name));
    let title = if *view == "tree" { called } else { format!("{called}: {view}") };
    Ok(Page::new("/runs", title, main).status(status).live(family.topics(&open)).into())
}

/// Returns the journal of a run around a step, for the page of the step.
///
/// # Errors
/// When the run does not exist.
pub fn journal_around(asked: &PageRequest, number: RunNumber, step: u64) -> Result<Markup, Failure> {
    let before = step.saturating_add(MAX_STEPS_PER_RUN / 2);
    let family = family(asked, number, FamilyFilter { before: Some(before), items: Some(0) })?;
    let known = ObjectNames::of(asked, family.members.iter().map(|(run, _)| run))?;
    Ok(tree::tree(&family, &known))
}

/// The maximum number of changed files in the list.
const MAX_FILES: usize = 50;

/// Returns the files that a run and its descendants have changed.
fn files(asked: &PageRequest, run: &Run) -> Result<Markup, Failure> {
    if run.is_agent_journal() {
        return Ok(html! { h2 #files-title { "Files" } p.note { "This is no run." } });
    }
    let found = asked.site.backend.changed_files(run.number)?;
    let count = found.as_ref().map_or(0, BTreeSet::len);
    Ok(html! {
        h2 #files-title { "Files changed" @if found.is_some() { " " span.count { (count) } } }
        @match &found {
            None => p.note { "It has too many steps to count them here. Undo lists them." },
            Some(found) if found.is_empty() => p.note { "None." },
            Some(found) => {
                ul.changed {
                    @for one in found.iter().take(MAX_FILES) {
                        li {
                            (parts::line(&one.path)) " "
                            @if one.is_staged { span.note { "in the copy" } }
                            @else { (link::why(one.path.raw())) }
                        }
                    }
                }
                @if count > MAX_FILES { p.note { "and " (count - MAX_FILES) " more" } }
            }
        }
    })
}

/// Returns links to the other steps of a long journal.
fn pages(run: &Run, steps: &[Step], view: &str) -> Markup {
    let to = |before: u64| format!("/r/{}?view={view}&before={before}#view", run.number);
    let (older, next) = (older(steps), steps.last().map_or(1, |last| last.number.saturating_add(1)));
    let newer = run.next_step.saturating_sub(next);
    html! {
        @if older > 0 || newer > 0 {
            p.note {
                "Steps " (older + 1) " to " (next.saturating_sub(1)) " of " (run.next_step.saturating_sub(1)) ". "
                @if older > 0 { a href=(to(older + 1)) rel="prev" { "Older steps" } " " }
                @if newer > MAX_STEPS_PER_RUN { a href=(to(next + MAX_STEPS_PER_RUN)) rel="next" { "Newer steps" } " " }
                @if newer > 0 { a href={ "/r/" (run.number) "?view=" (view) "#view" } { "The newest" } }
            }
        }
    }
}

/// Returns the state of a run, its origin, and its usage.
fn head(asked: &PageRequest, run: &Run) -> Markup {
    let ended = run.finished_ms;
    html! {
        p {
            span class={ "mark " (mark(run)) } { (parts::state(run)) }
            // For a cancelled run that has ended, the state itself contains the reason.
            @if let Some(why) = run.cancelled.as_ref().filter(|_| mark(run) != "bad") { " cancelled: " (parts::line(why)) }
            @if let Some(message) = run.cancelled_by { " by " (link::message(message)) }
            @if run.forgotten { " What it worked on was forgotten." }
        }
        p.envelope {
            "Began " (parts::when(run.started_ms))
            @if let Some(ended) = ended {
                ", ended " (parts::when(ended)) " after " (took((ended - run.started_ms).max(0)))
            }
            @if let Some(parent) = run.parent { ", for " (parts::run(parent.run)) }
            @if !run.is_agent_journal() { ", " (usage(&run.used)) }
            ". " (link::why(run.number))
        }
        @let notes = document_notes::of_run(run);
        @if !notes.is_empty() {
            ul.documents aria-label="What the text of the documents lacks" {
                @for note in &notes { li { (note) } }
            }
        }
        @if let Some(message) = run.cause() {
            @if let Ok(Response::Message(view)) = asked.look(Look::Message { number: message }) {
                p.envelope {
                    (link::message(message)) ": "
                    @if let Some(Body::Command { text, .. }) = view.letter.body() {
                        code { (control::show::message_view::one_line(text)) }
                    } @else { (parts::word(&view.letter.mail.envelope.kind)) }
                    @if let Some(number) = view.answers { ", in answer to " (link::message(number)) }
                }
            }
        }
    }
}

/// The maximum number of waiting messages whose content is examined.
const MAX_EXAMINED: usize = 20;

/// Returns whether a message asks if a call has happened, and not if it may be made.
fn is_doubt(asked: &PageRequest, number: MessageNumber) -> bool {
    match asked.look(Look::Message { number }) {
        Ok(Response::Message(view)) => matches!(view.letter.body(), Some(Body::OutcomeUnknown { .. })),
        _ => false,
    }
}

/// Returns everything that a run and its descendants wait for, one by one.
fn pending(asked_of: &PageRequest, run: &Run, below: &[Run]) -> Markup {
    let mut looked_at = 0;
    let mut waits: Vec<Markup> = Vec::new();
    for run in std::iter::once(run).chain(below) {
        let number = run.number;
        // One message may ask about several calls of a turn.
        let mut asked: BTreeMap<MessageNumber, usize> = BTreeMap::new();
        for phase in run.open.values() {
            match phase {
                Phase::AwaitingApproval { message } => *asked.entry(*message).or_default() += 1,
                Phase::Questioned { message, .. } => waits.push(html! {
                    (parts::run(number)) " has a question: " (link::message(*message))
                }),
                Phase::Sleeping { until_ms } => waits.push(html! {
                    (parts::run(number)) " waits until " (parts::at(*until_ms))
                }),
                Phase::Paused { until_ms } => waits.push(html! {
                    (parts::run(number)) " waits until " (parts::at(*until_ms))
                    ", since its model's server asks to slow down"
                }),
                Phase::Approved | Phase::Executing { .. } | Phase::Called { .. } => {}
            }
        }
        for (message, calls) in asked {
            looked_at += 1;
            waits.push(html! {
                (parts::run(number))
                @if looked_at <= MAX_EXAMINED && is_doubt(asked_of, message) { " asks you whether a call happened: " }
                @else { " asks you in " }
                (link::message(message))
                @if calls > 1 { " about " (calls) " calls" }
            });
        }
        if let Some(exhausted) = &run.exhausted {
            waits.push(html! {
                (parts::run(number))
                @if exhausted.limit == Some(LimitKind::Refusals) { " keeps asking for what you refuse: " }
                @else { " asks for more: " }
                (link::message(exhausted.message))
            });
        }
        if let State::Stalled { trouble } = &run.state {
            waits.push(html! {
                (parts::run(number)) " is stalled: " (parts::line(&trouble.message)) " "
                (parts::word(&trouble.help))
            });
        }
    }
    html! {
        @if !waits.is_empty() {
            h2 { "Waits for " span.count { (waits.len()) } }
            ul.pending { @for one in waits.iter().take(MAX_NAMED) { li { (one) } } }
            @if waits.len() > MAX_NAMED { p.note { "and " (waits.len() - MAX_NAMED) " more" } }
        }
    }
}

/// Returns the part of the family that does not fit on the page.
fn rest(family: &Family) -> Markup {
    html! {
        @if !family.left_out.is_empty() {
            p.note {
                "Not shown here: "
                @for run in family.left_out.iter().take(MAX_NAMED) { (parts::run(*run)) " " }
                @if family.left_out.len() > MAX_NAMED { "and " (family.left_out.len() - MAX_NAMED) " more" }
            }
        }
    }
}

/// Returns the result of a run.
fn result(run: &Run) -> Markup {
    html! {
        h2 #result-title { "Result" }
        @match &run.state {
            State::Finished { outcome: RunOutcome::Done(found) } => (shown_result(found)),
            State::Finished { outcome: RunOutcome::Failed(trouble) } => {
                p { code { (parts::word(&trouble.code)) } " " (parts::line(&trouble.message)) }
                @if !trouble.help.is_empty() { p { (parts::word(&trouble.help)) } }
            }
            _ => p.note { "None yet." },
        }
    }
}

/// Returns a result: text as it is, the fields of a record one by one, and any other value as JSON.
fn shown_result(found: &Value) -> Markup {
    let json = found.to_json();
    let fields = json.as_object().filter(|fields| !fields.is_empty() && fields.len() <= MAX_FIELDS);
    let Some(fields) = fields else {
        return parts::whole("result", &Untrusted::new(value::argument(found)));
    };
    html! {
        dl.result {
            @for (name, field) in fields {
                dt { (parts::word(name)) }
                dd {
                    @match field.as_str() {
                        Some(text) => (parts::whole(&visible_line(name), &Untrusted::new(text))),
                        None => (parts::whole(&visible_line(name), &Untrusted::new(format!("{:#}", ExactJson(field))))),
                    }
                }
            }
        }
    }
}

/// Returns whether a run can be saved as a worker with a test.
fn can_be_saved(run: &Run) -> bool {
    run.shape == Shape::Single && matches!(run.state, State::Finished { outcome: RunOutcome::Done(_) })
}

/// Returns the actions that a user can take on a run.
fn actions(asked: &PageRequest, run: &Run, below: &[Run], known: &ObjectNames) -> Markup {
    let number = run.number;
    let is_stalled = |run: &Run| matches!(run.state, State::Stalled { .. });
    let stalled_below = below.iter().filter(|run| is_stalled(run)).count();
    let of_slot = |id| known.get(id).and_then(|one| one.grant.as_ref());
    let is_staged =
        run.grants.values().filter_map(of_slot).any(|row| row.grant.attenuation.staged_from.is_some());
    // The record of a run is collected once the run has ended and nothing refers to it.
    let called = asked.look(Look::FormulaSummaries { ids: vec![run.id] });
    let is_there = matches!(called, Ok(Response::FormulaSummaries(all)) if !all.is_empty());
    html! {
        h2 #actions-title { "What you can do" }
        @if is_stalled(run) || stalled_below > 0 {
            form method="post" action={ "/r/" (number) "/resume" } {
                (parts::token(&asked.session))
                // The button also resumes all stalled descendants.
                button {
                    @match stalled_below {
                        0 => "Resume",
                        1 if !is_stalled(run) => "Resume the run that is stalled",
                        _ => { "Resume all that are stalled (" (stalled_below + usize::from(is_stalled(run))) ")" }
                    }
                }
            }
        }
        @if run.is_finished() {
            ul {
                @if is_staged {
                    li { a href={ "/r/" (number) "/diff" } { "Staged changes" } ": look at them, apply or discard them" }
                }
                // A run that was handed nothing and has started no other run has changed nothing.
                @if !run.grants.is_empty() || run.shape != Shape::Single {
                    li { a href={ "/r/" (number) "/undo" } { "Undo" } ": see first what would be put back" }
                }
                @if !run.is_agent_journal() {
                    li { a href={ "/runs/new?worker=" (number) } { "Run its worker again" } }
                }
                @if is_there { li { a href={ "/graph?focus=" (number) } { "What it could reach" } ", as a graph" } }
                @if can_be_saved(run) {
                    li { a href={ "/r/" (number) "/save" } { "Save as a test" } ": a worker file, and a test beside it" }
                }
            }
        } @else if !run.is_agent_journal() {
            p { a href={ "/graph?focus=" (number) } { "What it can reach" } ", as a graph" }
            form method="post" action={ "/r/" (number) "/cancel" } data-draft={ "cancel " (number) } {
                (parts::token(&asked.session))
                label for="reason" { "Why it should end: who waits for it reads this" }
                input #reason name="reason" autocomplete="off";
                div.buttons { button { "Cancel this run" } }
            }
        }
    }
}
