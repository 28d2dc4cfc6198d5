//! The cards that a user has opened in full.
//!
//! The list is in memory only. After a restart, a client shows a card once more before it takes a yes.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use kernel::{FormulaId, MessageNumber};

/// The maximum number of cards in the list. Beyond it, the oldest count as unopened again.
const MAX_OPENED: usize = 10_000;

/// The messages whose cards were shown in full, each with the host that must answer it.
#[derive(Default)]
pub struct OpenedCards(Mutex<BTreeSet<(MessageNumber, FormulaId)>>);

impl OpenedCards {
    /// Notes that a card is shown in full. Returns whether it had been shown before.
    pub fn open(&self, host: FormulaId, message: MessageNumber) -> bool {
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = opened.insert((message, host));
        if opened.len() > MAX_OPENED {
            opened.pop_first();
        }
        !is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_counts_as_opened_from_the_second_time_on() {
        let host = |number| FormulaId { number: [number; 32], node: [2; 32] };
        let opened = OpenedCards::default();
        assert!(!opened.open(host(1), MessageNumber(3)));
        assert!(opened.open(host(1), MessageNumber(3)));
        assert!(!opened.open(host(2), MessageNumber(3)), "another host has a mailbox of its own");
        for number in 4..=u64::try_from(MAX_OPENED).unwrap() + 4 {
            opened.open(host(1), MessageNumber(number));
        }
        assert!(!opened.open(host(1), MessageNumber(3)), "the oldest were dropped");
    }
}
