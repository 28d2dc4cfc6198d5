//! Code that waits for promises of the store's, and for nothing else: it holds no memory meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernel::FormulaId;

/// Which code waits for what. May be lost: code that is not known to wait is begun again, and waits again.
#[derive(Default)]
pub struct Sleepers(Mutex<BTreeMap<FormulaId, BTreeSet<FormulaId>>>);

impl Sleepers {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<FormulaId, BTreeSet<FormulaId>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The code waits until one of these settles.
    pub fn sleep(&self, eval: FormulaId, promises: BTreeSet<FormulaId>) {
        self.lock().insert(eval, promises);
    }

    /// What the code waits for, if it sleeps.
    pub fn waits(&self, eval: &FormulaId) -> Option<BTreeSet<FormulaId>> {
        self.lock().get(eval).cloned()
    }

    /// It sleeps no longer.
    pub fn wake(&self, eval: &FormulaId) {
        self.lock().remove(eval);
    }

    /// Forgets all other code.
    pub fn keep(&self, parked: &BTreeSet<FormulaId>) {
        self.lock().retain(|eval, _| parked.contains(eval));
    }
}
