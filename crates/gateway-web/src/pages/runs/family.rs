//! A run with what it started, read for a page: no more than a page can show.

use control::exit::Failure;
use control::protocol::Request;
use control::show::journal::child;
use kernel::RunNumber;
use kernel::run::{Run, Shape, Step};

use crate::asked::{Asked, take};

/// How many runs one page shows with their journals.
const RUNS: usize = 40;

/// How many steps one page shows.
const STEPS: usize = 4000;

/// A run and what it started; what starts another comes before it.
pub struct Family {
    /// The runs with their journals.
    pub members: Vec<(Run, Vec<Step>)>,
    /// The runs that are not shown because there are too many.
    pub left_out: Vec<RunNumber>,
    /// Whether a journal is longer than what is shown of it.
    pub is_cut: bool,
}

/// One run.
///
/// # Errors
/// When there is none of this number.
pub fn run(asked: &Asked, run: RunNumber) -> Result<Run, Failure> {
    Ok(*take!(asked.ask(Request::GetRun { run })?, Run))
}

/// The journal of a run, `most` steps of it; and whether there are more.
///
/// # Errors
/// When there is no such run.
pub fn journal(asked: &Asked, run: RunNumber, most: usize) -> Result<(Vec<Step>, bool), Failure> {
    let mut steps: Vec<Step> = Vec::new();
    loop {
        let from = steps.last().map_or(1, |step| step.number.saturating_add(1));
        let page = take!(asked.ask(Request::Journal { run, from })?, Journal);
        if page.is_empty() {
            return Ok((steps, false));
        }
        steps.extend(page);
        if steps.len() > most {
            steps.truncate(most);
            return Ok((steps, true));
        }
    }
}

/// A run with all that it started, as far as a page goes. The items of a run over many documents are among them if they
/// are wanted; most views have a table for them.
///
/// # Errors
/// When there is no such run.
pub fn family(asked: &Asked, root: RunNumber, with_items: bool) -> Result<Family, Failure> {
    let mut family = Family { members: vec![], left_out: vec![], is_cut: false };
    let mut waiting = vec![root];
    let mut left = STEPS;
    while let Some(number) = waiting.pop() {
        if family.members.len() >= RUNS || left == 0 {
            family.left_out.push(number);
            continue;
        }
        let run = self::run(asked, number)?;
        let (steps, is_cut) = journal(asked, number, left)?;
        left -= steps.len();
        family.is_cut |= is_cut;
        if with_items || !matches!(run.shape, Shape::Each { .. }) {
            // Children are younger than what began them.
            let children = steps.iter().rev().filter_map(|step| child(&step.entry));
            waiting.extend(children.filter(|child| *child > number));
        }
        family.members.push((run, steps));
    }
    Ok(family)
}

impl Family {
    /// One of the runs.
    pub fn of(&self, number: RunNumber) -> Option<&(Run, Vec<Step>)> {
        self.members.iter().find(|(run, _)| run.number == number)
    }

    /// What a page of it follows: each of the runs, and those of them that it has not read.
    pub fn topics(&self) -> String {
        let read = self.members.iter().map(|(run, _)| run.number);
        let items = self.members.iter().flat_map(|(run, _)| run.children.values().copied());
        let all = read.chain(self.left_out.iter().copied()).chain(items);
        let mut topics: Vec<String> = all.take(RUNS * 4).map(|run| format!("run:{run}")).collect();
        topics.sort();
        topics.dedup();
        topics.join(" ")
    }
}
