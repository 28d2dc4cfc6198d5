//! The places of the items of a batch, and the list of stalled runs.
//!
//! A batch works on a limited number of items at a time. An item that cannot go on before a person has acted gives its
//! place to the next item, and takes a place again when it goes on.

use crate::command::Fault;
use crate::id::RunNumber;
use crate::provenance::Provenance;
use crate::run::{Entry, MAX_STALLED_ITEMS, Phase, Run, State as RunState, WaitReason, YieldReason};
use crate::table;
use crate::txn::Table;

use super::State;

impl State<'_> {
    /// Lets the item to which a run belongs give up its place, if the whole item waits for a person or has stalled.
    /// The state of the run itself is already changed.
    pub(crate) fn yield_place(&mut self, run: &Run) -> Result<(), Fault> {
        let Some(mut why) = self.rest_of(run)? else { return Ok(()) };
        let mut parent = run.parent;
        // The caller saves the run later, but the runs above it are read from the store.
        if parent.is_some() {
            self.put_run(run)?;
        }
        while let Some(link) = parent {
            let mut above = self.run(link.run)?;
            match link.place {
                WaitReason::Call { .. } => match self.rest_of(&above)? {
                    Some(reason) => why = reason,
                    None => return Ok(()),
                },
                WaitReason::Item { index } => return self.yield_item(&mut above, index, why),
            }
            parent = above.parent;
        }
        Ok(())
    }

    fn yield_item(&mut self, batch: &mut Run, index: usize, why: YieldReason) -> Result<(), Fault> {
        let stalled = batch.yielded.values().filter(|reason| **reason == YieldReason::Stall).count();
        let is_over =
            batch.is_finished() || batch.cancelled.is_some() || !batch.children.contains_key(&index);
        let may = why != YieldReason::Stall || stalled < MAX_STALLED_ITEMS;
        if is_over || !may || batch.yielded.contains_key(&index) {
            return Ok(());
        }
        batch.yielded.insert(index, why);
        self.journal(batch, Entry::Yielded { index, why }, Provenance::default())?;
        self.wake(batch, format!("item {} {}", index + 1, why.in_words()))?;
        self.put_run(batch)
    }

    /// Gives the item to which a run belongs its place back, because the run goes on.
    pub(crate) fn take_place(&mut self, run: &Run) -> Result<(), Fault> {
        let mut parent = run.parent;
        while let Some(link) = parent {
            let mut above = self.run(link.run)?;
            if let WaitReason::Item { index } = link.place {
                if above.yielded.remove(&index).is_some() {
                    self.put_run(&above)?;
                }
                return Ok(());
            }
            parent = above.parent;
        }
        Ok(())
    }

    /// Returns why a run, with everything that it has called, goes on only after a person has acted. Returns `None` if
    /// something else moves it.
    fn rest_of(&mut self, run: &Run) -> Result<Option<YieldReason>, Fault> {
        match run.state {
            RunState::Stalled { .. } => return Ok(Some(YieldReason::Stall)),
            RunState::Waiting if run.exhausted.is_some() => return Ok(Some(YieldReason::Person)),
            RunState::Waiting => {}
            RunState::Ready | RunState::Finished { .. } => return Ok(None),
        }
        let mut found = None;
        for phase in run.open.values() {
            let reason = match phase {
                Phase::AwaitingApproval { .. } | Phase::Questioned { .. } => Some(YieldReason::Person),
                Phase::Called { child } => {
                    let child = self.run(*child)?;
                    self.rest_of(&child)?
                }
                Phase::Approved | Phase::Executing { .. } | Phase::Sleeping { .. } | Phase::Paused { .. } => {
                    None
                }
            };
            match reason {
                None => return Ok(None),
                Some(YieldReason::Stall) => found = Some(YieldReason::Stall),
                Some(YieldReason::Person) => found = found.or(Some(YieldReason::Person)),
            }
        }
        Ok(found)
    }

    /// Puts a run on the list of stalled runs.
    pub(crate) fn note_stalled(&mut self, run: &Run) -> Result<(), Fault> {
        let owner = self.owner();
        Ok(table::save(self.txn, Table::Meta, &owner, &stalled_key(run.number), &true, None)?)
    }

    /// Takes a run off the list of stalled runs, if its state says that it has stalled.
    pub(crate) fn forget_stalled(&mut self, run: &Run) -> Result<(), Fault> {
        if matches!(run.state, RunState::Stalled { .. }) {
            let owner = self.owner();
            self.txn.delete(Table::Meta, &owner, &stalled_key(run.number))?;
        }
        Ok(())
    }
}

fn stalled_key(run: RunNumber) -> Vec<u8> {
    [table::STALLED_PREFIX, &table::number_key(run.0)[..]].concat()
}
