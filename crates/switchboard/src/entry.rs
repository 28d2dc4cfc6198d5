//! The entries of the table, one for each reference.

use std::collections::VecDeque;

use passable::Value;

use crate::call::{self, Call, Key, Outcome, Ref, Side};

/// The state of one reference.
pub(crate) struct Entry {
    /// The number of times that the reference is held or mentioned.
    pub(crate) count: u64,
    /// The side that owns the object or promise, and the side's own key for it.
    pub(crate) owner: Option<(Side, Option<Key>)>,
    pub(crate) state: State,
}

pub(crate) enum State {
    /// An object of a side that still exists.
    Object,
    /// An object whose side was removed, with the reason.
    Orphaned(Value<Ref>),
    /// A promise without an outcome, which follows no other promise.
    Open(Waiting),
    /// A promise that will have the same outcome as another promise. Calls go to the other promise.
    Following(Ref, Waiting),
    /// A promise with its outcome, which is never another promise.
    Settled(Outcome),
}

impl State {
    /// Collects the references that are counted because of this entry.
    pub(crate) fn mentions(&self, found: &mut Vec<Ref>) {
        match self {
            State::Object | State::Orphaned(_) => {}
            State::Settled(outcome) => found.extend(call::mentions(outcome)),
            State::Open(waiting) => waiting.mentions(found),
            State::Following(end, waiting) => {
                found.push(*end);
                waiting.mentions(found);
            }
        }
    }

    /// Collects the references that must stay as long as this entry does.
    pub(crate) fn leads_to(&self, found: &mut Vec<Ref>) {
        self.mentions(found);
        if let State::Open(waiting) | State::Following(_, waiting) = self {
            found.extend(waiting.calls.iter().map(|queued| queued.answer));
            found.extend(&waiting.followers);
        }
    }
}

/// The calls, watchers and promises that wait for a promise.
#[derive(Default)]
pub(crate) struct Waiting {
    /// The calls, in order.
    pub(crate) calls: VecDeque<Queued>,
    /// The sides that watch the promise, each with its tag.
    pub(crate) watchers: Vec<(Side, u64)>,
    /// The promises that follow this promise.
    pub(crate) followers: Vec<Ref>,
}

impl Waiting {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.watchers.is_empty() && self.followers.is_empty()
    }

    fn mentions(&self, found: &mut Vec<Ref>) {
        found.extend(self.calls.iter().flat_map(|queued| queued.call.mentions()));
    }
}

/// A call that waits until its target is settled.
pub(crate) struct Queued {
    pub(crate) from: Side,
    pub(crate) call: Call<Ref>,
    pub(crate) answer: Ref,
}

impl Entry {
    pub(crate) fn new(owner: Option<(Side, Option<Key>)>, state: State) -> Entry {
        Entry { count: 0, owner, state }
    }

    /// Returns whether the entry must be kept.
    pub(crate) fn is_needed(&self) -> bool {
        self.count > 0
            || match &self.state {
                State::Open(waiting) | State::Following(_, waiting) => !waiting.is_empty(),
                State::Object | State::Orphaned(_) | State::Settled(_) => false,
            }
    }
}
