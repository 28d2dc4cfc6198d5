//! A run and its descendants, as far as one page can show them. Of a long journal, only the newest steps are read.

use control::exit::Failure;
use control::protocol::Request;
use control::show::journal::child;
use kernel::RunNumber;
use kernel::run::{Entry, Run, RunOutcome, Shape, Step};

use crate::page_request::{PageRequest, take};

/// The maximum number of runs whose journals are shown on one page.
const MAX_RUNS: usize = 40;

/// The maximum number of steps of one journal on a page.
pub const MAX_STEPS_PER_RUN: u64 = 400;

/// The maximum number of steps on one page.
const MAX_STEPS: usize = 2000;

/// The maximum number of items of a run over many documents on one page.
pub const ITEMS_PER_PAGE: usize = 100;

/// A run and its descendants, with each parent before its children.
#[derive(Default)]
pub struct Family {
    /// The runs with their journals.
    pub members: Vec<(Run, Vec<Step>)>,
    /// The runs that are not shown because there are too many.
    pub left_out: Vec<RunNumber>,
    /// The items of the first run, if it works on many documents and the items are not among the members.
    pub items: Vec<Item>,
}

/// An item of a run over many documents.
pub struct Item {
    /// The index of the item, counted from 0.
    pub index: usize,
    /// The run that works on the item.
    pub run: Option<Run>,
    /// The outcome, and the step that records it.
    pub outcome: Option<(u64, RunOutcome)>,
}

/// The part of a family that a page shows.
#[derive(Clone, Copy, Default)]
pub struct FamilyFilter {
    /// The step of the first run before which the shown steps end.
    pub before: Option<u64>,
    /// The index from which the items of a run over many documents are listed separately. With `None`, the items are
    /// among the members.
    pub items: Option<usize>,
}

/// Returns a run.
///
/// # Errors
/// When the run does not exist.
pub fn run(asked: &PageRequest, run: RunNumber) -> Result<Run, Failure> {
    Ok(*take!(asked.ask(Request::GetRun { run })?, Run))
}

/// Returns the newest steps of a journal, at most `most` of them. With `before`, returns the steps before that one.
///
/// # Errors
/// When the run does not exist.
fn journal(asked: &PageRequest, run: &Run, before: Option<u64>, most: u64) -> Result<Vec<Step>, Failure> {
    let end = before.unwrap_or(run.next_step).min(run.next_step);
    let mut steps: Vec<Step> = Vec::new();
    loop {
        let from = steps.last().map_or(end.saturating_sub(most).max(1), |step| step.number.saturating_add(1));
        if from >= end {
            return Ok(steps);
        }
        let page = take!(asked.ask(Request::Journal { run: run.number, from, limit: None })?, Journal);
        if page.is_empty() {
            return Ok(steps);
        }
        steps.extend(page.into_iter().take_while(|step| step.number < end));
    }
}

/// Returns the items of a run over many documents, from the index `first` on.
///
/// # Errors
/// When the run does not exist.
fn items(asked: &PageRequest, run: &Run, first: usize) -> Result<Vec<Item>, Failure> {
    let last = run.input.items.len().min(first.saturating_add(ITEMS_PER_PAGE));
    let mut items: Vec<Item> = (first..last).map(|index| Item { index, run: None, outcome: None }).collect();
    let mut from = 1;
    while from < run.next_step {
        let page = take!(asked.ask(Request::Journal { run: run.number, from, limit: None })?, Journal);
        let Some(last) = page.last() else { break };
        from = last.number.saturating_add(1);
        for step in page {
            let of = |items: &mut Vec<Item>, index: usize, set: &mut dyn FnMut(&mut Item)| {
                if let Some(item) = index.checked_sub(first).and_then(|at| items.get_mut(at)) {
                    set(item);
                }
            };
            match step.entry {
                Entry::Spawned { index, child } => of(&mut items, index, &mut |item| {
                    item.run = self::run(asked, child).ok();
                }),
                Entry::Collected { index, outcome } => of(&mut items, index, &mut |item| {
                    item.outcome = Some((step.number, outcome.clone()));
                }),
                _ => {}
            }
        }
    }
    Ok(items)
}

/// Returns a run and its descendants, as far as one page can show them.
///
/// # Errors
/// When the run does not exist.
pub fn family(asked: &PageRequest, root: RunNumber, wanted: FamilyFilter) -> Result<Family, Failure> {
    let mut family = Family::default();
    let mut waiting = vec![root];
    let mut left = MAX_STEPS;
    while let Some(number) = waiting.pop() {
        if family.members.len() >= MAX_RUNS || left == 0 {
            family.left_out.push(number);
            continue;
        }
        let run = self::run(asked, number)?;
        let before = wanted.before.filter(|_| number == root);
        let steps = journal(asked, &run, before, MAX_STEPS_PER_RUN.min(left as u64))?;
        left = left.saturating_sub(steps.len());
        match wanted.items.filter(|_| matches!(run.shape, Shape::Each { .. })) {
            Some(first) if number == root => family.items = items(asked, &run, first)?,
            Some(_) => {}
            None => {
                // A child always has a higher number than its parent.
                let children = steps.iter().rev().filter_map(|step| child(&step.entry));
                waiting.extend(children.filter(|child| *child > number));
            }
        }
        family.members.push((run, steps));
    }
    Ok(family)
}

impl Family {
    /// Returns one of the members, with its journal.
    pub fn of(&self, number: RunNumber) -> Option<&(Run, Vec<Step>)> {
        self.members.iter().find(|(run, _)| run.number == number)
    }

    /// Returns the topics that a page of the family follows. They cover its members, runs that were not read, and
    /// unfinished descendants.
    pub fn topics(&self, below: &[Run]) -> String {
        let read = self.members.iter().map(|(run, _)| run.number);
        let items = self.members.iter().flat_map(|(run, _)| run.children.values().copied());
        let below = below.iter().map(|run| run.number);
        let all = read.chain(self.left_out.iter().copied()).chain(items).chain(below);
        let mut topics: Vec<String> = all.take(MAX_RUNS * 4).map(|run| format!("run:{run}")).collect();
        topics.sort();
        topics.dedup();
        topics.join(" ")
    }
}

/// Returns how many steps precede those that are shown.
pub fn older(steps: &[Step]) -> u64 {
    steps.first().map_or(0, |first| first.number.saturating_sub(1))
}
