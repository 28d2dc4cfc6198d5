//! Effects of agents' journals that a thread must finish, and outcomes that wait for the next commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use kernel::command::Move;
use kernel::{FormulaId, HostRun, StepRef};

/// Effects in agents' journals that have begun and whose thread is gone. All other effects are still carried out by
/// the threads that began them.
#[derive(Default)]
pub struct OrphanedEffects(Mutex<BTreeSet<(FormulaId, StepRef)>>);

impl OrphanedEffects {
    /// Notes that no thread carries out this effect any more.
    pub fn add(&self, host: FormulaId, step: StepRef) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((host, step));
    }

    /// Returns those of one journal, which are the caller's now.
    pub fn take(&self, at: HostRun) -> Vec<StepRef> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken: Vec<StepRef> = all
            .iter()
            .filter(|(host, step)| *host == at.host && step.run == at.run)
            .map(|(_, step)| *step)
            .collect();
        for step in &taken {
            all.remove(&(at.host, *step));
        }
        taken
    }
}

/// Outcomes of calls that only looked: they go out with the next command of their journal, or when it is quiet. Repeating
/// such a call is harmless, so they may be lost.
#[derive(Default)]
pub struct PendingOutcomes(Mutex<BTreeMap<HostRun, Vec<Move>>>);

impl PendingOutcomes {
    /// How many outcomes wait at most.
    const MAX_OUTCOMES: usize = 64;

    /// Puts one down; `true` if it is time to write.
    pub fn add(&self, at: HostRun, done: Move) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = all.entry(at).or_default();
        waiting.push(done);
        waiting.len() >= PendingOutcomes::MAX_OUTCOMES
    }

    /// Returns those of one journal.
    pub fn take(&self, at: HostRun) -> Vec<Move> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&at).unwrap_or_default()
    }

    /// Returns the journals for which there are any.
    pub fn journals(&self) -> Vec<HostRun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }
}
