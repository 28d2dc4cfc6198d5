//! Requests to the daemon that several commands send.

use kernel::id::BadId;
use kernel::run::{Run, Step};
use kernel::{MessageNumber, RunNumber};

use super::Session;
use control::ask::unexpected;
use control::exit::{Exit, Failure};
use control::protocol::{Request, Response};
use control::show::card::Card;
use control::show::journal::child;

/// Returns one run.
///
/// # Errors
/// When no run has this number.
pub fn run(acting: &Session<'_>, run: RunNumber) -> Result<Run, Failure> {
    match acting.ask(Request::GetRun { run })? {
        Response::Run(run) => Ok(*run),
        other => Err(unexpected(&other)),
    }
}

/// The word for the newest run.
pub const LAST_RUN: &str = "last";

/// Returns the newest run that no other run started.
///
/// # Errors
/// When there are no runs.
pub fn latest(acting: &Session<'_>) -> Result<RunNumber, Failure> {
    match acting.ask(Request::Runs { limit: 1, below: None, roots: true })? {
        Response::Runs(runs) => runs
            .first()
            .map(|run| run.number)
            .ok_or_else(|| Failure::new(Exit::NotFound, "there are no runs yet").help("try `almoner demo`")),
        other => Err(unexpected(&other)),
    }
}

/// Returns the run that a user names: by its number, or with the word `last` the newest. Without a word, the newest is
/// meant too.
///
/// # Errors
/// When the text is no run, or there are no runs.
pub fn named_run(acting: &Session<'_>, named: Option<&str>) -> Result<RunNumber, Failure> {
    match named {
        None | Some(LAST_RUN) => latest(acting),
        Some(text) => text.parse().map_err(|e: BadId| {
            Failure::from_error(Exit::Usage, e).help("`almoner runs` lists them; `last` is the newest")
        }),
    }
}

/// Returns all steps of a run.
///
/// # Errors
/// When no run has this number.
pub fn journal(acting: &Session<'_>, run: RunNumber) -> Result<Vec<Step>, Failure> {
    journal_from(acting, run, 1)
}

/// Returns the steps of a run from number `first` on.
///
/// # Errors
/// When no run has this number.
pub fn journal_from(acting: &Session<'_>, run: RunNumber, first: u64) -> Result<Vec<Step>, Failure> {
    let mut steps: Vec<Step> = Vec::new();
    loop {
        let from = steps.last().map_or(first, |step| step.number + 1);
        match acting.ask(Request::Journal { run, from, limit: None })? {
            Response::Journal(page) if page.is_empty() => return Ok(steps),
            Response::Journal(page) => steps.extend(page),
            other => return Err(unexpected(&other)),
        }
    }
}

/// Returns one step of a run, or `None` if the run has no such step.
///
/// # Errors
/// When no run has this number.
pub fn step(acting: &Session<'_>, run: RunNumber, number: u64) -> Result<Option<Step>, Failure> {
    match acting.ask(Request::Journal { run, from: number, limit: Some(1) })? {
        Response::Journal(page) => Ok(page.into_iter().find(|step| step.number == number)),
        other => Err(unexpected(&other)),
    }
}

/// Returns a run and all runs that it started, with their journals. A run comes before those that it started.
///
/// # Errors
/// When no run has this number.
pub fn family(acting: &Session<'_>, root: RunNumber) -> Result<Vec<(Run, Vec<Step>)>, Failure> {
    let mut all = Vec::new();
    let mut waiting = vec![root];
    while let Some(number) = waiting.pop() {
        let (run, steps) = (self::run(acting, number)?, journal(acting, number)?);
        waiting.extend(steps.iter().rev().filter_map(|step| child(&step.entry)));
        all.push((run, steps));
    }
    Ok(all)
}

/// Notes that the user has a card before them in full. Returns whether it had been so before.
///
/// # Errors
/// When the daemon cannot be reached.
pub fn open_card(acting: &Session<'_>, message: MessageNumber) -> Result<bool, Failure> {
    match acting.ask(Request::OpenCard { message })? {
        Response::CardOpening { before } => Ok(before),
        other => Err(unexpected(&other)),
    }
}

/// Returns a card as text, in full or in short. If a person reads it, it is noted that they had every byte of the calls
/// before them, unless the text leaves some out. A program that reads a card is no such person.
///
/// # Errors
/// When the daemon cannot be reached.
pub fn shown_card(
    acting: &Session<'_>,
    card: &Card,
    columns: usize,
    is_whole: bool,
    is_for_person: bool,
) -> Result<String, Failure> {
    let is_complete = is_whole || !card.is_folded(columns);
    if is_complete && is_for_person && card.is_open() {
        open_card(acting, card.number)?;
    }
    Ok(if is_whole { card.render_whole(columns) } else { card.render(columns) })
}

/// Returns the card of an approval.
///
/// # Errors
/// When no approval has this number.
pub fn card(acting: &Session<'_>, message: MessageNumber) -> Result<Card, Failure> {
    match acting.ask(Request::Card { message })? {
        Response::Card(card) => Ok(*card),
        other => Err(unexpected(&other)),
    }
}
