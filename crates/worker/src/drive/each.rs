//! A run over many documents. Each document has its own isolated child run, and then the worker's own steps use their
//! results.

use kernel::command::Move;
use kernel::run::RunOutcome;

use super::{Driver, Flow};
use crate::budget;
use crate::steps::Item;
use crate::trouble::internal;
use kernel::run::Trouble;

/// The maximum number of rejected items that one command records.
const MAX_REJECTED_AT_ONCE: usize = 500;

impl Driver<'_> {
    /// Runs one isolated child for each item that has no result from an earlier run, and then the writes. An item
    /// that waits for a person gives its place to the next, until `waiting` items are open.
    pub(super) fn each(&mut self, jobs: u32, waiting: u32) -> Result<Flow, Trouble> {
        let input = &self.run.input;
        let to_do: Vec<usize> =
            (0..input.items.len()).filter(|index| input.earlier(*index).is_none()).collect();
        if self.fold.collected.len() < to_do.len() {
            let is_begun =
                |index: &usize| self.fold.spawned.contains(index) || self.fold.collected.contains_key(index);
            // An item that was rejected before the start takes no place.
            let (rejected, open): (Vec<usize>, Vec<usize>) = to_do
                .into_iter()
                .filter(|index| !is_begun(index))
                .partition(|index| input.rejected(*index).is_some());
            let (jobs, waiting) = (jobs.max(1) as usize, waiting as usize);
            let at_work = self.run.children.len().saturating_sub(self.run.yielded.len());
            let free = jobs.saturating_sub(at_work);
            let room = match budget::is_batch_used_up(&self.run) && !self.run.children.is_empty() {
                // An open item asks for more when it goes on. Further items would only ask the same.
                true => 0,
                false => free.min(jobs.max(waiting).saturating_sub(self.run.children.len())),
            };
            let next: Vec<Move> = rejected
                .into_iter()
                .take(MAX_REJECTED_AT_ONCE)
                .chain(open.into_iter().take(room))
                .map(|index| Move::Spawn { index })
                .collect();
            if next.is_empty() {
                return self.suspend();
            }
            self.advance(next)?;
            return Ok(Flow::Continue);
        }
        let known = |index| match (self.fold.collected.get(&index), input.earlier(index)) {
            (Some(outcome), _) => Some((outcome.clone(), false)),
            (None, Some(value)) => {
                // The earlier run could not write the files of some items. This run writes them.
                let is_written =
                    input.earlier.as_ref().is_none_or(|earlier| !earlier.unwritten.contains(&index));
                Some((RunOutcome::Done(value.clone()), is_written))
            }
            (None, None) => None,
        };
        let items: Vec<Item> = input
            .items
            .iter()
            .enumerate()
            .filter_map(|(i, document)| {
                let (outcome, is_earlier) = known(i)?;
                Some(Item::collected(document, i, &outcome, is_earlier))
            })
            .collect();
        // Items with results from an earlier run do not count here, because that run has written their files.
        let mut new = items.iter().filter(|item| !item.is_earlier()).peekable();
        if new.peek().is_some() && new.all(Item::failed) {
            let first = self.fold.collected.values().find_map(|outcome| match outcome {
                RunOutcome::Failed(trouble) => Some(trouble.clone()),
                RunOutcome::Done(_) => None,
            });
            return self.fail(first.unwrap_or_else(|| internal("no item has a result")));
        }
        self.write(&items)
    }
}
