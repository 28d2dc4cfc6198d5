//! The page of a run.

use std::collections::BTreeMap;

use control::exit::Failure;
use control::protocol::{Look, Response};
use control::show::value;
use kernel::message::Body;
use kernel::run::{Phase, Run, RunOutcome, Shape, State};
use kernel::{MessageNumber, RunNumber};
use maud::{Markup, html};
use passable::Untrusted;

use super::family::{Family, family};
use super::figures::{Known, took, usage};
use super::list::mark;
use super::{raw, started, timeline, tree};
use crate::answer::{Answer, Page};
use crate::asked::Asked;
use crate::page::{link, parts};

/// The ways in which the journal is shown.
const VIEWS: &[&str] = &["tree", "timeline", "raw"];

/// How many runs are named that have no room on the page.
const NAMED: usize = 100;

/// `GET /r/RUN`, with `?view=tree|timeline|raw`.
pub fn show(asked: &Asked) -> Result<Answer, Failure> {
    page(asked, asked.part("run")?, None, 200)
}

/// The page of a run, with what was wrong with what was asked for there.
///
/// # Errors
/// When there is no such run.
pub fn page(asked: &Asked, number: RunNumber, wrong: Option<Markup>, status: u16) -> Result<Answer, Failure> {
    let view = asked.query("view").and_then(|view| VIEWS.iter().find(|one| **one == view)).unwrap_or(&"tree");
    // The items of a run over many documents have bars like its other children; elsewhere a table of their own.
    let family = family(asked, number, *view == "timeline")?;
    let known = Known::of(asked, family.members.iter().map(|(run, _)| run))?;
    let Some((run, _)) = family.members.first() else {
        return Err(Failure::new(control::exit::Exit::NotFound, format!("there is no run {number}")));
    };
    let main = html! {
        @if let Some(wrong) = wrong { (wrong) }
        h1 { (number) " " (parts::word(&run.name)) }
        section #head aria-label="How it stands" data-live { (head(asked, run)) (pending(&family)) }
        nav.filters aria-label="Views" {
            @for one in VIEWS {
                a href={ "/r/" (number) "?view=" (one) } aria-current=[(one == view).then_some("true")] { (one) }
            }
        }
        section #view aria-labelledby="view-title" data-live {
            h2 #view-title { "Journal" }
            @match *view {
                "timeline" => (timeline::timeline(&family, &known, asked.site.backend.now_ms())),
                "raw" => (raw::raw(&family)),
                _ => (tree::tree(&family, &known)),
            }
            (rest(&family))
        }
        section #result aria-labelledby="result-title" data-live { (result(run)) }
        section #started aria-labelledby="started-title" data-live { (started::started(asked, run, &known)?) }
        section #actions aria-labelledby="actions-title" data-live { (actions(asked, run, &known)) }
    };
    let title = number.to_string();
    Ok(Page::new("/runs", title, main).status(status).live(family.topics()).into())
}

/// How a run stands, where it came from, and what it has used.
fn head(asked: &Asked, run: &Run) -> Markup {
    let ended = run.finished_ms;
    html! {
        p {
            span class={ "mark " (mark(run)) } { (parts::state(run)) }
            // Once it is over, how it stands says so.
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
            @if !run.is_standing() { ", " (usage(&run.used)) }
            ". " (link::why(run.number))
        }
        @if let Some(message) = run.cause() {
            @if let Ok(Response::Letter(view)) = asked.look(Look::Letter { number: message }) {
                p.envelope {
                    (link::message(message)) ": "
                    @if let Some(Body::Command { text, .. }) = view.letter.body() {
                        code { (control::show::letter::one_line(text)) }
                    } @else { (parts::word(&view.letter.mail.envelope.kind)) }
                    @if let Some(number) = view.answers { ", in answer to " (link::message(number)) }
                }
            }
        }
    }
}

/// What the family waits for, apart.
fn pending(family: &Family) -> Markup {
    let mut waits: Vec<Markup> = Vec::new();
    for (run, _) in &family.members {
        let number = run.number;
        // Several calls of a turn are asked about in one message.
        let mut asked: BTreeMap<MessageNumber, usize> = BTreeMap::new();
        for phase in run.open.values() {
            match phase {
                Phase::Asked { message } => *asked.entry(*message).or_default() += 1,
                Phase::Questioned { message, .. } => waits.push(html! {
                    (parts::run(number)) " has a question: " (link::message(*message))
                }),
                Phase::Sleeping { until_ms } => waits.push(html! {
                    (parts::run(number)) " waits until " (parts::when(*until_ms))
                }),
                Phase::Approved | Phase::Begun { .. } | Phase::Called { .. } => {}
            }
        }
        waits.extend(asked.into_iter().map(|(message, calls)| {
            html! {
                (parts::run(number)) " asks you in " (link::message(message))
                @if calls > 1 { " about " (calls) " calls" }
            }
        }));
        if let Some(exhausted) = &run.exhausted {
            waits.push(html! { (parts::run(number)) " asks for more: " (link::message(exhausted.message)) });
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
            ul.pending { @for one in &waits { li { (one) } } }
        }
    }
}

/// What of the family has no room on the page.
fn rest(family: &Family) -> Markup {
    html! {
        @if family.is_cut { p.note { "A journal here is longer than this page; `almoner trace` shows all of it." } }
        @if !family.left_out.is_empty() {
            p.note {
                "Not shown here: "
                @for run in family.left_out.iter().take(NAMED) { (parts::run(*run)) " " }
                @if family.left_out.len() > NAMED { "and " (family.left_out.len() - NAMED) " more" }
            }
        }
    }
}

/// What came of it.
fn result(run: &Run) -> Markup {
    html! {
        h2 #result-title { "Result" }
        @match &run.state {
            State::Finished { outcome: RunOutcome::Done(found) } => {
                (parts::whole("result", &Untrusted::new(value::argument(found))))
            }
            State::Finished { outcome: RunOutcome::Failed(trouble) } => {
                p { code { (parts::word(&trouble.code)) } " " (parts::line(&trouble.message)) }
                @if !trouble.help.is_empty() { p { (parts::word(&trouble.help)) } }
            }
            _ => p.note { "None yet." },
        }
    }
}

/// Whether it can become a worker with a test.
fn can_be_saved(run: &Run) -> bool {
    run.shape == Shape::Single && matches!(run.state, State::Finished { outcome: RunOutcome::Done(_) })
}

/// What can be done with it.
fn actions(asked: &Asked, run: &Run, known: &Known) -> Markup {
    let number = run.number;
    let of_slot = |id| known.get(id).and_then(|one| one.grant.as_ref());
    let is_staged =
        run.grants.values().filter_map(of_slot).any(|row| row.grant.attenuation.staged_from.is_some());
    html! {
        h2 #actions-title { "What you can do" }
        @if let State::Stalled { .. } = run.state {
            form method="post" action={ "/r/" (number) "/resume" } {
                (parts::token(&asked.session))
                button { "Resume" }
            }
        }
        @if run.is_finished() {
            ul {
                @if is_staged {
                    li { a href={ "/r/" (number) "/diff" } { "Staged changes" } ": look at them, apply or discard them" }
                }
                li { a href={ "/r/" (number) "/undo" } { "Undo" } ": see first what would be put back" }
                li { a href={ "/graph?focus=" (number) } { "What it could reach" } ", as a graph" }
                @if can_be_saved(run) {
                    li { a href={ "/r/" (number) "/save" } { "Save as a test" } ": a worker file, and a test beside it" }
                }
            }
        } @else if !run.is_standing() {
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
