//! The count of a run's questions to its user, and of the answers that refuse calls.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::id::{FormulaId, MessageNumber, RunNumber};

use super::budget::{LimitKind, MAX_CARDS, MAX_REFUSALS, MAX_SLOT_REFUSALS};

/// The questions of a run and of all runs below it. The run that the user started counts for its family, and each item
/// of a batch counts for its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct QuestionCount {
    /// The calls about which the user was asked, since the user last allowed more of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub cards: u64,
    /// The refusals, with one entry for each capability, since the user last let the family go on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<RefusalCount>,
    /// The open question whether the family may go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<FamilyQuestion>,
}

/// The refusals of calls of one capability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusalCount {
    /// The capability at the end of all grants. Workers may have it under different names.
    pub capability: FormulaId,
    /// The name of the slot of the last call.
    pub slot: String,
    /// The refusals of each method.
    pub methods: BTreeMap<String, RefusalTally>,
    /// The refusals of all methods. A run that changes between methods repeats none of them often.
    pub all: RefusalTally,
}

/// A number of refusals. Calls that are refused together count once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusalTally {
    /// The number of refusals.
    pub times: u64,
    /// The last refusal.
    pub last: Option<Refusal>,
}

impl RefusalTally {
    fn add(&mut self, by: Refusal) {
        if self.last != Some(by) {
            self.times = self.times.saturating_add(1);
            self.last = Some(by);
        }
    }
}

/// The calls that were refused too often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCalls<'a> {
    /// The name of the slot of the last call.
    pub slot: &'a str,
    /// The methods of the calls.
    pub methods: Vec<&'a str>,
    /// The number of refusals.
    pub times: u64,
}

/// The event with which calls were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Refusal {
    /// An answer of the user to this message.
    Answer {
        /// The message.
        message: MessageNumber,
    },
    /// A turn in which a model made a refused call again, so the user was not asked.
    Turn {
        /// The run.
        run: RunNumber,
        /// The step with the model's reply.
        replied: u64,
    },
}

/// A question whether a family of runs may go on. All runs of the family that need the answer wait for it together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FamilyQuestion {
    /// The message that asks.
    pub message: MessageNumber,
    /// The limit that is reached.
    pub limit: LimitKind,
    /// The runs that wait.
    pub runs: BTreeSet<RunNumber>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl QuestionCount {
    /// Returns whether nothing is counted.
    pub fn is_nothing(&self) -> bool {
        *self == QuestionCount::default()
    }

    /// Returns the number of calls about which the user may still be asked.
    pub fn cards_left(&self) -> u64 {
        MAX_CARDS.saturating_sub(self.cards)
    }

    /// Returns the calls that were refused too often: those of one method, or else those of one capability.
    pub fn most_refused(&self) -> Option<RefusedCalls<'_>> {
        let methods = self.refusals.iter().flat_map(|one| {
            one.methods.iter().map(|(method, tally)| (one.slot.as_str(), vec![method.as_str()], tally.times))
        });
        let slots = self
            .refusals
            .iter()
            .map(|one| (one.slot.as_str(), one.methods.keys().map(String::as_str).collect(), one.all.times));
        let often = methods.filter(|(.., times)| *times >= MAX_REFUSALS).max_by_key(|(.., times)| *times);
        let all = || slots.filter(|(.., times)| *times >= MAX_SLOT_REFUSALS).max_by_key(|(.., times)| *times);
        often.or_else(all).map(|(slot, methods, times)| RefusedCalls { slot, methods, times })
    }

    /// Counts a refused call.
    pub(crate) fn refuse(&mut self, capability: FormulaId, slot: &str, method: &str, by: Refusal) {
        let at = self.refusals.iter().position(|one| one.capability == capability).unwrap_or_else(|| {
            let (slot, methods, all) = (slot.to_owned(), BTreeMap::new(), RefusalTally::default());
            self.refusals.push(RefusalCount { capability, slot, methods, all });
            self.refusals.len() - 1
        });
        let Some(count) = self.refusals.get_mut(at) else { return };
        slot.clone_into(&mut count.slot);
        count.all.add(by);
        count.methods.entry(method.to_owned()).or_default().add(by);
    }

    /// Begins to count anew after the user let the family go on.
    pub(crate) fn forgive(&mut self, by: super::budget::Raise) {
        if by.refusals > 0 {
            self.refusals.clear();
        }
        if by.cards > 0 {
            self.cards = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Raise;

    #[test]
    fn refusals_count_by_capability_until_the_user_lets_the_run_go_on() {
        let capability = |byte| FormulaId { number: [byte; 32], node: [0; 32] };
        let answer = |number| Refusal::Answer { message: MessageNumber(number) };
        let turn = |run, replied| Refusal::Turn { run: RunNumber(run), replied };
        let mut count = QuestionCount::default();
        count.refuse(capability(1), "out", "write", answer(1));
        // These calls were on the same card.
        count.refuse(capability(1), "out", "write", answer(1));
        count.refuse(capability(1), "out", "remove", answer(1));
        count.refuse(capability(2), "mail", "send", answer(2));
        count.refuse(capability(1), "theirs", "write", answer(3));
        count.refuse(capability(1), "theirs", "move", answer(4));
        assert_eq!(count.most_refused(), None);
        // A run that changes between methods is stopped, too.
        let mut other = count.clone();
        for (number, method) in [(5, "remove"), (6, "move"), (7, "append")] {
            assert_eq!(other.most_refused(), None);
            other.refuse(capability(1), "theirs", method, answer(number));
        }
        let methods = vec!["append", "move", "remove", "write"];
        assert_eq!(other.most_refused(), Some(RefusedCalls { slot: "theirs", methods, times: 6 }));
        // Another run of the family makes a refused call again.
        count.refuse(capability(1), "theirs", "write", turn(2, 9));
        count.refuse(capability(1), "theirs", "write", turn(2, 9));
        let most = RefusedCalls { slot: "theirs", methods: vec!["write"], times: 3 };
        assert_eq!(count.most_refused(), Some(most));
        count.cards = MAX_CARDS;
        count.forgive(Raise { turns: 5, ..Raise::default() });
        assert_eq!((count.most_refused().is_some(), count.cards_left()), (true, 0));
        count.forgive(Raise { refusals: 3, ..Raise::default() });
        assert_eq!((count.most_refused(), count.cards_left()), (None, 0));
        count.forgive(Raise { cards: MAX_CARDS, ..Raise::default() });
        assert_eq!(count.cards_left(), MAX_CARDS);
        assert!(count.is_nothing());
    }
}
