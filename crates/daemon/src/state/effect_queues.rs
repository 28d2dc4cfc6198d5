//! Effects in agents' journals that a thread must finish, and outcomes that the next commit writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use kernel::command::Move;
use kernel::{FormulaId, HostRun, StepRef};

/// Effects in agents' journals that have begun and whose thread is gone. All other effects are still carried out by
/// the threads that began them.
#[derive(Default)]
pub struct OrphanedEffects(Mutex<BTreeSet<(FormulaId, StepRef)>>);

impl OrphanedEffects {
    /// Records that no thread carries out this effect any more.
    pub fn add(&self, host: FormulaId, step: StepRef) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((host, step));
    }

    /// Removes the orphaned effects of one journal and returns them. The caller must finish them.
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

/// Outcomes of read-only calls. They are written with the next command of their journal, or when the journal is
/// quiet. They may be lost, because such a call can be repeated without harm.
#[derive(Default)]
pub struct PendingOutcomes(Mutex<BTreeMap<HostRun, Vec<Move>>>);

impl PendingOutcomes {
    /// The maximum number of outcomes that wait in one journal.
    const MAX_OUTCOMES: usize = 64;

    /// Adds an outcome. Returns `true` if the journal's outcomes must be written now.
    pub fn add(&self, at: HostRun, done: Move) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = all.entry(at).or_default();
        waiting.push(done);
        waiting.len() >= PendingOutcomes::MAX_OUTCOMES
    }

    /// Removes the outcomes of one journal and returns them.
    pub fn take(&self, at: HostRun) -> Vec<Move> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&at).unwrap_or_default()
    }

    /// Returns the journals that have outcomes.
    pub fn journals(&self) -> Vec<HostRun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }
}
