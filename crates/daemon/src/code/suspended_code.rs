//! The register of suspended code. Such code waits only for promises of the store or for a person, and holds no
//! memory in the meantime.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernel::agent_journal::{self, CallStatus};
use kernel::table::{self, PromiseRow};
use kernel::txn::{ReadTxn, StoreFault};
use kernel::{FormulaId, StepRef};

/// An event that code waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitTarget {
    /// The settlement of a promise of the store.
    Promise(FormulaId),
    /// The end of a call that needs the user's answer. The fields are the host whose journal has the call, and the
    /// step in that journal.
    Call(FormulaId, StepRef),
}

impl WaitTarget {
    /// Returns whether the event has not happened yet.
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

/// The events that each piece of suspended code waits for. They are kept only in memory. If they are lost, the code
/// is begun again, and suspended again.
#[derive(Default)]
pub struct SuspendedCode(Mutex<BTreeMap<FormulaId, BTreeSet<WaitTarget>>>);

impl SuspendedCode {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<FormulaId, BTreeSet<WaitTarget>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the code is suspended until one of these events has happened.
    pub fn suspend(&self, eval: FormulaId, waits: BTreeSet<WaitTarget>) {
        self.lock().insert(eval, waits);
    }

    /// Returns the events that the code waits for, or `None` if it is not suspended.
    pub fn targets(&self, eval: &FormulaId) -> Option<BTreeSet<WaitTarget>> {
        self.lock().get(eval).cloned()
    }

    /// Notes that the code is no longer suspended.
    pub fn remove(&self, eval: &FormulaId) {
        self.lock().remove(eval);
    }

    /// Removes all code that is not in `parked`.
    pub fn retain(&self, parked: &BTreeSet<FormulaId>) {
        self.lock().retain(|eval, _| parked.contains(eval));
    }
}
