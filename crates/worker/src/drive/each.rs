//! A run over many documents. Each document has its own isolated child run, and then the worker's own steps use their
//! results.

use kernel::command::Move;
use kernel::run::RunOutcome;

use super::{Driver, Flow};
use crate::steps::Item;
use crate::trouble::internal;
use kernel::run::Trouble;

impl Driver<'_> {
    /// Runs one isolated child for each item that has no result from an earlier run, and then the writes.
    pub(super) fn each(&mut self, jobs: u32) -> Result<Flow, Trouble> {
        let input = &self.run.input;
        let to_do: Vec<usize> =
            (0..input.items.len()).filter(|index| input.earlier(*index).is_none()).collect();
        if self.fold.collected.len() < to_do.len() {
            let room =
                (jobs.max(1) as usize).saturating_sub(self.fold.spawned.len() - self.fold.collected.len());
            let next: Vec<Move> = to_do
                .into_iter()
                .filter(|index| !self.fold.spawned.contains(index))
                .take(room)
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
            (None, Some(value)) => Some((RunOutcome::Done(value.clone()), true)),
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
