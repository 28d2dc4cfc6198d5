//! The list of runs.

use std::collections::BTreeMap;

use control::exit::Failure;
use control::protocol::Request;
use control::run_line::RunLine;
use control::show::{journal, money};
use kernel::RunNumber;
use kernel::run::{Run, RunOutcome, State};
use maud::{Markup, html};
use passable::Untrusted;

use super::descendants::BlockedDescendants;
use super::figures::took;
use crate::answer::{Answer, Page};
use crate::page::{link, parts};
use crate::page_request::{PageRequest, take};

/// The number of runs on a page.
const PAGE: usize = 50;

/// The maximum number of runs that are examined for one page, because a rare match may be far back.
const MAX_EXAMINED: usize = 5000;

/// The name of a state, and a function that tests a run with its descendants for the state.
type StateFilter = (&'static str, fn(&Run, &BlockedDescendants) -> bool);

/// The states for which the list can be filtered.
const STATES: &[StateFilter] = &[
    ("at work", |run, _| matches!(run.state, State::Ready)),
    ("waiting", |run, _| matches!(run.state, State::Waiting)),
    ("stalled", |run, below| matches!(run.state, State::Stalled { .. }) || !below.stalled.is_empty()),
    ("done", |run, _| matches!(run.state, State::Finished { outcome: RunOutcome::Done(_) })),
    ("failed", |run, _| {
        matches!(run.state, State::Finished { outcome: RunOutcome::Failed(_) }) && run.cancelled.is_none()
    }),
    ("cancelled", |run, _| run.is_finished() && run.cancelled.is_some()),
];

/// The filter of the list.
struct RunFilter<'a> {
    state: Option<&'static StateFilter>,
    worker: Option<&'a str>,
    all: bool,
}

impl RunFilter<'_> {
    fn is(&self, run: &Run, below: &BlockedDescendants) -> bool {
        self.state.is_none_or(|(_, is)| is(run, below)) && self.is_of(run)
    }

    /// Returns whether the name of the run's worker contains the searched text, in upper or lower case.
    fn is_of(&self, run: &Run) -> bool {
        self.worker.is_none_or(|worker| run.name.to_lowercase().contains(&worker.to_lowercase()))
    }

    /// Returns the address of the list with the same worker. The state, the scope and the start of the page are
    /// given.
    fn address(&self, state: Option<&str>, all: bool, below: Option<RunNumber>) -> String {
        let mut pairs = Vec::new();
        pairs.extend(state.map(|state| format!("state={}", link::query(state))));
        pairs.extend(self.worker.map(|worker| format!("worker={}", link::query(worker))));
        pairs.extend(all.then(|| "all=yes".to_owned()));
        pairs.extend(below.map(|below| format!("below={below}")));
        if pairs.is_empty() { "/runs".to_owned() } else { format!("/runs?{}", pairs.join("&")) }
    }
}

/// Answers `GET /runs`. `?state=` and `?worker=` filter the list, `?all=yes` includes runs that other runs started,
/// and `?below=` shows older ones.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let wanted = RunFilter {
        state: asked.query("state").and_then(|state| STATES.iter().find(|(name, _)| *name == state)),
        worker: asked.query("worker").map(str::trim).filter(|worker| !worker.is_empty()),
        all: asked.query("all") == Some("yes"),
    };
    let below = asked.query("below").and_then(|text| text.parse().ok());
    let (mut runs, older) = find(asked, &wanted, below)?;
    // The user looks first for the runs that cannot go on alone.
    runs.sort_by_key(|(run, below)| urgency(run, below));
    let numbers: Vec<RunNumber> = runs.iter().map(|(run, _)| run.number).collect();
    let lines = asked.site.backend.run_lines(&numbers)?;
    let lines: BTreeMap<RunNumber, RunLine> = lines.into_iter().map(|line| (line.run, line)).collect();
    let state = wanted.state.map(|(name, _)| *name);
    let main = html! {
        h1 { "Runs" }
        p { a.button href="/runs/new" { "Run a worker" } }
        nav.filters aria-label="States of runs" {
            a href=(wanted.address(None, wanted.all, None)) aria-current=[state.is_none().then_some("true")] { "all" }
            @for (name, _) in STATES {
                a href=(wanted.address(Some(name), wanted.all, None))
                    aria-current=[(state == Some(*name)).then_some("true")] { (name) }
            }
        }
        form.search method="get" action="/runs" role="search" {
            label for="worker" { "Worker" }
            input #worker name="worker" value=(wanted.worker.unwrap_or("")) autocomplete="off" spellcheck="false";
            @if let Some(state) = state { input type="hidden" name="state" value=(state); }
            label.beside {
                input type="checkbox" name="all" value="yes" checked[wanted.all];
                "Also runs that other runs started"
            }
            button { "Show" }
        }
        section #list aria-label="Runs" data-live {
            @if runs.is_empty() { p.note { (none(&wanted)) } }
            @else { ol.rows data-keys { @for (run, below) in &runs {
                (row(asked, run, below, lines.get(&run.number)))
            } } }
            @if let Some(older) = older {
                p { a href=(wanted.address(state, wanted.all, Some(older))) { "Older runs" } }
            }
        }
    };
    let title = state.map_or("Runs".to_owned(), |state| format!("Runs: {state}"));
    Ok(Page::new("/runs", title, main).live("runs").into())
}

/// Returns the note for an empty list of runs.
fn none(wanted: &RunFilter<'_>) -> Markup {
    html! {
        @match (wanted.state, wanted.worker) {
            (None, None) => { "No runs yet. " a href="/runs/new" { "Run a worker" } ", or type " code { "almoner run FILE" } "." }
            (Some((state, _)), _) => { "No run is " (state) "." }
            (None, Some(_)) => "No worker with a run is called so.",
        }
    }
}

/// A page of runs with their descendants, and the number of the run below which the next page begins.
type RunPage = (Vec<(Run, BlockedDescendants)>, Option<RunNumber>);

/// Returns a page of the runs that match the filter.
fn find(
    asked: &PageRequest,
    wanted: &RunFilter<'_>,
    mut below: Option<RunNumber>,
) -> Result<RunPage, Failure> {
    let (mut found, mut looked_at) = (Vec::new(), 0);
    while looked_at < MAX_EXAMINED {
        let request = Request::Runs { limit: PAGE * 4, below, roots: !wanted.all };
        let page = take!(asked.ask(request)?, Runs);
        if page.is_empty() {
            return Ok((found, None));
        }
        for run in page {
            looked_at += 1;
            if found.len() == PAGE {
                return Ok((found, below));
            }
            below = Some(run.number);
            if !wanted.is_of(&run) {
                continue;
            }
            let under = BlockedDescendants::of(asked, &run);
            if wanted.is(&run, &under) {
                found.push((run, under));
            }
        }
    }
    Ok((found, below))
}

/// Returns the place of a run in the list: stalled runs first, then those that wait for the user, then all others.
fn urgency(run: &Run, below: &BlockedDescendants) -> u8 {
    let is_asking = !below.asking.is_empty() || !super::descendants::asks(run).is_empty();
    match run.state {
        State::Stalled { .. } => 0,
        _ if !below.stalled.is_empty() => 0,
        _ if is_asking => 1,
        _ => 2,
    }
}

/// Returns one run as a row: its state, its input and result, its changed files, its duration and its cost.
fn row(asked: &PageRequest, run: &Run, below: &BlockedDescendants, line: Option<&RunLine>) -> Markup {
    let tokens = run.used.tokens();
    let ended = run.finished_ms.unwrap_or_else(|| asked.site.backend.now_ms());
    let class = if below.stalled.is_empty() { mark(run) } else { "warn" };
    html! {
        li #{ "r-" (run.number) } {
            a.row.run href={ "/r/" (run.number) } {
                span class={ "mark dot " (class) } { (word(run, below)) } " "
                span.from { (parts::word(&run.name)) " " span.number { (run.number) } } " "
                span.text {
                    @if let Some(input) = line.and_then(|line| line.input.as_ref()) { (given(run, input)) " " }
                    (outcome(run, below, line))
                } " "
                span.figure { @if let Some(count) = line.and_then(|line| line.files) { (files(count)) } } " "
                @if run.is_agent_journal() { span.figure {} }
                @else { span.figure { (took((ended - run.started_ms).max(0))) } }
                " "
                span.figure {
                    @if tokens > 0 { (tokens) " tokens" (money::cost_suffix(run.used.usd_micros)) }
                } " "
                span.figure { (parts::minute(run.started_ms)) }
            }
        }
    }
}

/// Returns the state of a run in one or two words.
fn word(run: &Run, below: &BlockedDescendants) -> &'static str {
    match &run.state {
        State::Stalled { .. } => "stalled",
        _ if !below.stalled.is_empty() => "stalled",
        State::Finished { outcome: RunOutcome::Done(_) } => "done",
        State::Finished { .. } => journal::ended(run),
        _ if urgency(run, below) == 1 => "needs you",
        State::Ready => "at work",
        State::Waiting => "waiting",
    }
}

/// Returns the input of a run. The user gave it, unless another run or an agent started this one.
fn given(run: &Run, input: &Untrusted) -> Markup {
    match run.parent.is_none() && run.principal.is_none() {
        true => html! { span.own { (parts::word(input.raw())) } },
        false => parts::line(input),
    }
}

/// Returns the result of a run, or else its state with the reason.
fn outcome(run: &Run, below: &BlockedDescendants, line: Option<&RunLine>) -> Markup {
    let result = line.and_then(|line| line.result.as_ref());
    html! {
        @match &run.state {
            State::Finished { outcome: RunOutcome::Done(_) } => {
                @if let Some(result) = result { "→ " (parts::line(result)) }
            }
            _ => { (parts::state(run)) (below.line()) }
        }
    }
}

/// Returns the number of changed files, in words.
fn files(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    }
}

/// Returns the style class for the state of a run. The state is also shown in words.
pub fn mark(run: &Run) -> &'static str {
    match &run.state {
        State::Finished { outcome: RunOutcome::Done(_) } => "good",
        State::Finished { .. } => "bad",
        State::Stalled { .. } => "warn",
        State::Ready | State::Waiting => "open",
    }
}
