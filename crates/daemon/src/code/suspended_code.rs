//! Code that waits for promises of the store's or for a person, and for nothing else: it holds no memory meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernel::agent_journal::{self, CallStatus};
use kernel::table::{self, PromiseRow};
use kernel::txn::{ReadTxn, StoreFault};
use kernel::{FormulaId, StepRef};

/// An event that code waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitTarget {
    /// A promise of the store's.
    Promise(FormulaId),
    /// A call that needs the user's answer, until it is made: the host whose journal has it, and its step there.
    Call(FormulaId, StepRef),
}

impl WaitTarget {
    /// Returns whether nothing has come of it yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn is_open(&self, txn: &mut dyn ReadTxn) -> Result<bool, StoreFault> {
        match self {
            WaitTarget::Promise(promise) => {
                Ok(matches!(table::promise(txn, promise)?, Some(PromiseRow::Pending)))
            }
            WaitTarget::Call(host, step) => {
                let mut step = *step;
                loop {
                    match agent_journal::call_status(txn, &host.number, step)? {
                        CallStatus::Open => return Ok(true),
                        CallStatus::Reproposed(next) => step = next,
                        CallStatus::Completed(_) | CallStatus::Missing => return Ok(false),
                    }
                }
            }
        }
    }
}

/// The events that each sleeping piece of code waits for. They may be lost: code that is not known to wait is begun
/// again, and waits again.
#[derive(Default)]
pub struct SuspendedCode(Mutex<BTreeMap<FormulaId, BTreeSet<WaitTarget>>>);

impl SuspendedCode {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<FormulaId, BTreeSet<WaitTarget>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the code sleeps until one of these events has happened.
    pub fn suspend(&self, eval: FormulaId, waits: BTreeSet<WaitTarget>) {
        self.lock().insert(eval, waits);
    }

    /// Returns the events that the code waits for, if it sleeps.
    pub fn targets(&self, eval: &FormulaId) -> Option<BTreeSet<WaitTarget>> {
        self.lock().get(eval).cloned()
    }

    /// Notes that the code no longer sleeps.
    pub fn remove(&self, eval: &FormulaId) {
        self.lock().remove(eval);
    }

    /// Forgets all other code.
    pub fn retain(&self, parked: &BTreeSet<FormulaId>) {
        self.lock().retain(|eval, _| parked.contains(eval));
    }
}
