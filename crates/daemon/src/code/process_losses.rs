//! The count of the processes that pieces of code have lost.

use std::collections::BTreeMap;

use kernel::FormulaId;

/// The number of times that a piece of code may lose its process while that code itself is running. Then the code
/// fails.
const MAX_ATTEMPTS: u32 = 4;

/// The number of times that a piece of code may lose its process, no matter which code was running. Then the code
/// fails.
const MAX_LOSSES: u32 = 50;

/// The known cause of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// One piece of code caused the end of the process. The loss does not count against the others.
    Culprit,
    /// The cause is unknown, and this code was running.
    AtWork,
    /// The cause is unknown, and other code was running, or none.
    Unknown,
}

/// The losses of its process for each piece of code, since the code's journal last grew.
#[derive(Default)]
pub struct ProcessLosses(BTreeMap<FormulaId, LossCount>);

/// The number of times that a piece of code has lost its process since its journal last grew.
#[derive(Default)]
struct LossCount {
    /// The length of the code's journal when the count began.
    recorded: u64,
    /// The number of losses while this code itself was running.
    at_work: u32,
    /// The number of all losses.
    all: u32,
}

impl ProcessLosses {
    /// Returns whether no code has lost its process.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records that code has lost its process, with the length of its journal. Returns the number of all losses if they
    /// are too many.
    pub fn record(&mut self, eval: FormulaId, journal_len: u64, cause: LossCause) -> Option<u32> {
        let losses = self.0.entry(eval).or_default();
        if journal_len > losses.recorded {
            *losses = LossCount { recorded: journal_len, ..LossCount::default() };
        }
        losses.all += u32::from(cause != LossCause::Culprit);
        losses.at_work += u32::from(cause == LossCause::AtWork);
        (losses.at_work >= MAX_ATTEMPTS || losses.all >= MAX_LOSSES).then_some(losses.all)
    }

    /// Forgets the losses of code that has ended.
    pub fn remove(&mut self, eval: &FormulaId) {
        self.0.remove(eval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_fails_after_its_own_losses_or_many_of_others() {
        let eval = FormulaId { number: [1; 32], node: [2; 32] };
        for (cause, most) in [(LossCause::AtWork, MAX_ATTEMPTS), (LossCause::Unknown, MAX_LOSSES)] {
            let mut losses = ProcessLosses::default();
            assert!((0..=most).all(|_| losses.record(eval, 0, LossCause::Culprit).is_none()));
            for journal_len in [0, 1] {
                // A journal that has grown begins a new count.
                assert!((1..most).all(|_| losses.record(eval, journal_len, cause).is_none()));
            }
            assert_eq!(losses.record(eval, 1, cause), Some(most));
            losses.remove(&eval);
            assert!(losses.is_empty());
        }
    }
}
