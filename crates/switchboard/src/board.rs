//! The table of live references.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use passable::Value;

use crate::call::{Action, Call, CallTarget, Key, Outcome, Ref, Side, mentions};
use crate::data;
use crate::entry::{Entry, Queued, State, Waiting};

/// The limits of one side, for items that it has at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of its own objects and promises.
    pub owned: usize,
    /// The maximum number of different references that the side holds.
    pub held: usize,
    /// The maximum number of its calls that wait for promises.
    pub waiting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { owned: 100_000, held: 100_000, waiting: 10_000 }
    }
}

/// The properties of a side.
#[derive(Clone, Copy, Debug, Default)]
pub struct SideOptions {
    /// The limits of the side.
    pub limits: Limits,
    /// Whether the side takes calls to promises that it has not settled yet.
    pub pipelines: bool,
}

/// The error for a side that has reached one of its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many {what}: there can be {limit} at a time")]
pub struct LimitReached {
    /// The name of the limited items, for the message.
    pub what: &'static str,
    /// The limit.
    pub limit: usize,
}

/// The numbers of entries in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of sides.
    pub sides: usize,
    /// The number of objects and promises.
    pub references: usize,
    /// The number of actions that no side has taken yet.
    pub actions: usize,
}

/// The one table of live references.
#[derive(Default)]
pub struct Switchboard {
    sides: HashMap<Side, SideState>,
    entries: HashMap<Ref, Entry>,
    next: u64,
    ready: BTreeSet<Side>,
    work: VecDeque<Work>,
}

/// The state of one side in the table.
struct SideState {
    party: SideOptions,
    owned: HashSet<Ref>,
    held: HashMap<Ref, u64>,
    /// The references mentioned in actions that the side has taken.
    lent: Vec<Ref>,
    actions: VecDeque<Action>,
    waiting: usize,
}

/// A step that must be done before a method returns. All references that the step mentions are counted.
enum Work {
    Route { from: Side, target: Ref, call: Call<Ref>, answer: Ref },
    Settle { promise: Ref, outcome: Outcome },
}

impl Switchboard {
    /// Returns an empty table.
    pub fn new() -> Switchboard {
        Switchboard::default()
    }

    /// Adds a side to the table.
    pub fn add(&mut self, party: SideOptions) -> Side {
        self.next += 1;
        let side = Side(self.next);
        let seat = SideState {
            party,
            owned: HashSet::new(),
            held: HashMap::new(),
            lent: vec![],
            actions: VecDeque::new(),
            waiting: 0,
        };
        self.sides.insert(side, seat);
        side
    }

    /// Returns a new object that belongs to the side.
    ///
    /// # Errors
    /// [`LimitReached`].
    pub fn object(&mut self, side: Side, key: Key) -> Result<Ref, LimitReached> {
        self.own(side, Some(key), State::Object)
    }

    /// Returns a new promise that the side settles. Without a key, the side is not told when no side needs the
    /// promise any more.
    ///
    /// # Errors
    /// [`LimitReached`].
    pub fn promise(&mut self, side: Side, key: Option<Key>) -> Result<Ref, LimitReached> {
        self.own(side, key, State::Open(Waiting::default()))
    }

    fn own(&mut self, side: Side, key: Option<Key>, state: State) -> Result<Ref, LimitReached> {
        let Some(seat) = self.sides.get_mut(&side) else {
            return Err(LimitReached { what: "references of a side that is gone", limit: 0 });
        };
        let limit = seat.party.limits.owned;
        if seat.owned.len() >= limit {
            return Err(LimitReached { what: "objects and promises", limit });
        }
        self.next += 1;
        let new = Ref(self.next);
        seat.owned.insert(new);
        self.entries.insert(new, Entry::new(Some((side, key)), state));
        Ok(new)
    }

    /// Holds a reference for the side. A reference that is held several times must be released as often.
    ///
    /// # Errors
    /// [`LimitReached`].
    pub fn hold(&mut self, side: Side, held: Ref) -> Result<(), LimitReached> {
        let (Some(seat), Some(entry)) = (self.sides.get_mut(&side), self.entries.get_mut(&held)) else {
            return Ok(());
        };
        let limit = seat.party.limits.held;
        if seat.held.len() >= limit && !seat.held.contains_key(&held) {
            return Err(LimitReached { what: "references", limit });
        }
        *seat.held.entry(held).or_default() += 1;
        entry.count += 1;
        Ok(())
    }

    /// Releases a reference that the side holds, once.
    pub fn release(&mut self, side: Side, held: Ref) {
        let Some(seat) = self.sides.get_mut(&side) else { return };
        let Some(times) = seat.held.get_mut(&held) else { return };
        *times -= 1;
        if *times == 0 {
            seat.held.remove(&held);
        }
        self.uncount(vec![held]);
    }

    /// Forgets a new reference, if no side uses it.
    pub fn release_unheld(&mut self, made: Ref) {
        self.sweep(vec![made]);
    }

    /// Sends a call on behalf of a side. Returns the promise for the answer, which the side holds from now on.
    ///
    /// # Errors
    /// [`LimitReached`]: nothing was sent.
    pub fn send(&mut self, from: Side, target: Ref, call: Call<Ref>) -> Result<Ref, LimitReached> {
        self.next += 1;
        let answer = Ref(self.next);
        self.entries.insert(answer, Entry::new(None, State::Open(Waiting::default())));
        if let Err(full) = self.hold(from, answer) {
            self.entries.remove(&answer);
            return Err(full);
        }
        self.count(&call.mentions());
        self.work.push_back(Work::Route { from, target, call, answer });
        self.run();
        Ok(answer)
    }

    /// Forwards a call that was delivered to the side for a promise, if the promise has been settled in the meantime.
    pub fn forward(&mut self, by: Side, target: Ref, call: Call<Ref>, answer: Ref) {
        self.disown(answer);
        self.count(&call.mentions());
        self.work.push_back(Work::Route { from: by, target, call, answer });
        self.run();
    }

    /// Settles a promise that the side owns. Does nothing if another side owns the promise, or if no side needs it
    /// any more.
    pub fn resolve(&mut self, by: Side, promise: Ref, outcome: Outcome) {
        let owner = self.entries.get(&promise).and_then(|entry| entry.owner);
        if owner.is_none_or(|(side, _)| side != by) {
            return;
        }
        self.count(&mentions(&outcome));
        self.work.push_back(Work::Settle { promise, outcome });
        self.run();
    }

    /// Tells the side, with the tag, when the promise is settled. A promise that is settled already is reported at
    /// once.
    pub fn watch(&mut self, side: Side, promise: Ref, tag: u64) {
        let outcome = match self.entries.get_mut(&promise).map(|entry| &mut entry.state) {
            Some(State::Open(waiting) | State::Following(_, waiting)) => {
                waiting.watchers.push((side, tag));
                return;
            }
            Some(State::Settled(outcome)) => outcome.clone(),
            Some(State::Object) => Ok(Value::remotable(promise)),
            Some(State::Orphaned(reason)) => Err(reason.clone()),
            None => Err(gone()),
        };
        self.count(&mentions(&outcome));
        self.push_action(side, Action::Settled { tag, outcome });
    }

    /// Takes the actions of the side, in order. The references in them are kept until [`Switchboard::give_back`].
    pub fn take(&mut self, side: Side) -> Vec<Action> {
        self.ready.remove(&side);
        let Some(seat) = self.sides.get_mut(&side) else { return vec![] };
        let actions: Vec<Action> = seat.actions.drain(..).collect();
        for action in &actions {
            seat.lent.extend(action.mentions());
        }
        actions
    }

    /// Releases the references of all actions that the side has taken, when the side has finished them.
    pub fn give_back(&mut self, side: Side) {
        if let Some(seat) = self.sides.get_mut(&side) {
            let lent = std::mem::take(&mut seat.lent);
            self.uncount(lent);
        }
    }

    /// Removes a side. Its objects are gone, and the promises that it should have settled are broken with the reason.
    pub fn end(&mut self, side: Side, reason: Value<Ref>) {
        let Some(seat) = self.sides.remove(&side) else { return };
        self.ready.remove(&side);
        let mut loose: Vec<Ref> = seat.lent;
        for action in &seat.actions {
            loose.extend(action.mentions());
        }
        for (held, times) in seat.held {
            loose.extend(std::iter::repeat_n(held, usize::try_from(times).unwrap_or(0)));
        }
        for own in &seat.owned {
            let Some(entry) = self.entries.get_mut(own) else { continue };
            entry.owner = None;
            match entry.state {
                State::Object => entry.state = State::Orphaned(reason.clone()),
                State::Open(_) => {
                    self.work.push_back(Work::Settle { promise: *own, outcome: Err(reason.clone()) });
                }
                State::Orphaned(_) | State::Following(..) | State::Settled(_) => {}
            }
        }
        self.run();
        self.uncount(loose);
        self.sweep(seat.owned.into_iter().collect());
        self.collect_cycles();
    }

    /// Returns the sides that got actions since the last call.
    pub fn take_ready(&mut self) -> BTreeSet<Side> {
        std::mem::take(&mut self.ready)
    }

    /// Returns the side that owns the object or promise, and the side's own key for it.
    pub fn owner(&self, of: Ref) -> Option<(Side, Option<Key>)> {
        self.entries.get(&of)?.owner
    }

    /// Returns whether the reference is still in the table.
    pub fn knows(&self, reference: Ref) -> bool {
        self.entries.contains_key(&reference)
    }

    /// Returns whether the reference is a promise that has not settled.
    pub fn is_pending(&self, promise: Ref) -> bool {
        let state = self.entries.get(&promise).map(|entry| &entry.state);
        matches!(state, Some(State::Open(_) | State::Following(..)))
    }

    /// Returns the outcome of a promise, or `None` if the reference is no settled promise.
    pub fn outcome(&self, promise: Ref) -> Option<&Outcome> {
        match self.entries.get(&promise).map(|entry| &entry.state) {
            Some(State::Settled(outcome)) => Some(outcome),
            _ => None,
        }
    }

    /// Returns the open promise that this promise follows, at the end of the chain. Returns `None` if the promise
    /// follows no other.
    pub fn follows(&self, promise: Ref) -> Option<Ref> {
        let mut end = promise;
        while let Some(State::Following(next, _)) = self.entries.get(&end).map(|entry| &entry.state) {
            end = *next;
        }
        (end != promise).then_some(end)
    }

    /// Returns the numbers of entries in the table.
    pub fn counts(&self) -> Counts {
        Counts {
            sides: self.sides.len(),
            references: self.entries.len(),
            actions: self.sides.values().map(|seat| seat.actions.len()).sum(),
        }
    }

    /// Checks whether each reference is counted as often as it is held or mentioned. The error describes the
    /// difference. The check is slow and meant for tests.
    pub fn audit(&self) -> Result<(), String> {
        let mut expected: HashMap<Ref, u64> = HashMap::new();
        let mut all = Vec::new();
        for seat in self.sides.values() {
            seat.held.iter().for_each(|(held, times)| *expected.entry(*held).or_default() += times);
            all.extend(&seat.lent);
            all.extend(seat.actions.iter().flat_map(Action::mentions));
        }
        self.entries.values().for_each(|entry| entry.state.mentions(&mut all));
        all.into_iter().for_each(|mentioned| *expected.entry(mentioned).or_default() += 1);
        for (reference, entry) in &self.entries {
            let right = expected.get(reference).copied().unwrap_or(0);
            if entry.count != right {
                return Err(format!(
                    "{reference:?} is counted {} times, and mentioned {right} times",
                    entry.count
                ));
            }
            if !entry.is_needed() && entry.owner.is_none() {
                return Err(format!("{reference:?} is kept, and nobody needs it"));
            }
            if let Some((side, _)) = entry.owner
                && self.sides.get(&side).is_none_or(|seat| !seat.owned.contains(reference))
            {
                return Err(format!("{reference:?} belongs to {side:?}, which does not know it"));
            }
        }
        let mut owned = self.sides.values().flat_map(|seat| &seat.owned);
        match owned.find(|own| !self.entries.contains_key(own)) {
            Some(lost) => Err(format!("{lost:?} is owned, and not there")),
            None => Ok(()),
        }
    }

    fn push_action(&mut self, side: Side, action: Action) {
        match self.sides.get_mut(&side) {
            Some(seat) => {
                seat.actions.push_back(action);
                self.ready.insert(side);
            }
            None => self.uncount(action.mentions()),
        }
    }

    fn count(&mut self, all: &[Ref]) {
        for mentioned in all {
            if let Some(entry) = self.entries.get_mut(mentioned) {
                entry.count += 1;
            }
        }
    }

    fn uncount(&mut self, all: Vec<Ref>) {
        let mut unheld = Vec::new();
        for mentioned in all {
            if let Some(entry) = self.entries.get_mut(&mentioned) {
                entry.count = entry.count.saturating_sub(1);
                if entry.count == 0 {
                    unheld.push(mentioned);
                }
            }
        }
        self.sweep(unheld);
    }

    /// Forgets those of the references that are no longer needed. References that only they mentioned are forgotten
    /// too.
    fn sweep(&mut self, mut suspects: Vec<Ref>) {
        while let Some(suspect) = suspects.pop() {
            if self.entries.get(&suspect).is_none_or(Entry::is_needed) {
                continue;
            }
            let Some(entry) = self.entries.remove(&suspect) else { continue };
            if let Some((side, key)) = entry.owner
                && let Some(seat) = self.sides.get_mut(&side)
            {
                seat.owned.remove(&suspect);
                if let Some(key) = key {
                    seat.actions.push_back(Action::Released { key });
                    self.ready.insert(side);
                }
            }
            let mut mentioned = Vec::new();
            entry.state.mentions(&mut mentioned);
            for each in mentioned {
                if let Some(entry) = self.entries.get_mut(&each) {
                    entry.count = entry.count.saturating_sub(1);
                    suspects.push(each);
                }
            }
        }
    }

    fn is_object(&self, reference: Ref) -> bool {
        let state = self.entries.get(&reference).map(|entry| &entry.state);
        matches!(state, Some(State::Object | State::Orphaned(_)))
    }

    /// Forgets cycles: values that mention the promises whose outcomes they are.
    ///
    /// Counting does not find cycles, and they would outlive the sides that made them.
    fn collect_cycles(&mut self) {
        let mut queue: Vec<Ref> = Vec::new();
        for seat in self.sides.values() {
            queue.extend(seat.owned.iter().chain(seat.held.keys()).chain(&seat.lent));
            queue.extend(seat.actions.iter().flat_map(Action::mentions));
        }
        let mut seen = HashSet::new();
        while let Some(next) = queue.pop() {
            if !seen.insert(next) {
                continue;
            }
            if let Some(entry) = self.entries.get(&next) {
                entry.state.leads_to(&mut queue);
            }
        }
        let dead: Vec<Ref> = self.entries.keys().filter(|each| !seen.contains(each)).copied().collect();
        let mut loose = Vec::new();
        for each in dead {
            if let Some(entry) = self.entries.remove(&each) {
                entry.state.mentions(&mut loose);
            }
        }
        self.uncount(loose);
    }

    /// Removes the owner of a promise, so that no side can settle it.
    fn disown(&mut self, promise: Ref) {
        let Some(entry) = self.entries.get_mut(&promise) else { return };
        if let Some((side, _)) = entry.owner.take()
            && let Some(seat) = self.sides.get_mut(&side)
        {
            seat.owned.remove(&promise);
        }
    }

    fn run(&mut self) {
        // This is a loop without recursion, because promises that follow promises can form chains of any length.
        while let Some(work) = self.work.pop_front() {
            match work {
                Work::Route { from, target, call, answer } => self.route(from, target, call, answer),
                Work::Settle { promise, outcome } => self.settle(promise, outcome),
            }
        }
    }

    fn route(&mut self, from: Side, mut target: Ref, call: Call<Ref>, answer: Ref) {
        let outcome = loop {
            let Some(entry) = self.entries.get_mut(&target) else { break Err(gone()) };
            let owner = entry.owner;
            match &mut entry.state {
                State::Object => match owner {
                    Some((side, Some(key))) => {
                        return self.deliver(side, CallTarget::Object(key), call, answer);
                    }
                    _ => break Err(gone()),
                },
                State::Orphaned(reason) => break Err(reason.clone()),
                State::Settled(Ok(Value::Remotable(next) | Value::Promise(next))) => target = next.reference,
                State::Following(next, _) => target = *next,
                State::Settled(Ok(data)) => break data::answer(data, &call),
                State::Settled(Err(error)) => break Err(error.clone()),
                State::Open(waiting) => {
                    if let Some((side, _)) = owner
                        && self.sides.get(&side).is_some_and(|seat| seat.party.pipelines)
                    {
                        entry.count += 1;
                        return self.deliver(side, CallTarget::Promise(target), call, answer);
                    }
                    if let Some(seat) = self.sides.get_mut(&from) {
                        let limit = seat.party.limits.waiting;
                        if seat.waiting >= limit {
                            let full = LimitReached { what: "calls that wait for promises", limit };
                            break Err(Value::error("Error", full.to_string()));
                        }
                        seat.waiting += 1;
                    }
                    return waiting.calls.push_back(Queued { from, call, answer });
                }
            }
        };
        self.count(&mentions(&outcome));
        self.work.push_back(Work::Settle { promise: answer, outcome });
        self.uncount(call.mentions());
    }

    fn deliver(&mut self, side: Side, to: CallTarget, call: Call<Ref>, answer: Ref) {
        let Some(seat) = self.sides.get_mut(&side) else { return };
        if let Some(entry) = self.entries.get_mut(&answer) {
            entry.owner = Some((side, None));
            seat.owned.insert(answer);
        }
        self.push_action(side, Action::Deliver { to, call, answer });
    }

    fn settle(&mut self, promise: Ref, outcome: Outcome) {
        let next = match &outcome {
            Ok(Value::Promise(next)) => Some(next.reference),
            // A reference to a promise is followed even if a side declares it as an object.
            Ok(Value::Remotable(next)) if !self.is_object(next.reference) => Some(next.reference),
            _ => None,
        };
        let outcome = match next {
            Some(next) => match self.follow(promise, next) {
                Some(outcome) => outcome,
                None => return,
            },
            None => outcome,
        };
        let Some(entry) = self.entries.get_mut(&promise) else { return self.uncount(mentions(&outcome)) };
        let waiting = match &mut entry.state {
            State::Open(waiting) => std::mem::take(waiting),
            State::Following(end, waiting) => {
                let (end, waiting) = (*end, std::mem::take(waiting));
                entry.state = State::Settled(outcome.clone());
                self.disown(promise);
                self.spread(promise, &outcome, waiting);
                self.uncount(vec![end]);
                return self.sweep(vec![promise]);
            }
            // Only the first outcome counts.
            State::Object | State::Orphaned(_) | State::Settled(_) => {
                return self.uncount(mentions(&outcome));
            }
        };
        entry.state = State::Settled(outcome.clone());
        self.disown(promise);
        self.spread(promise, &outcome, waiting);
        self.sweep(vec![promise]);
    }

    /// Gives the outcome of a promise to its watchers, its followers and the calls that wait for it.
    fn spread(&mut self, promise: Ref, outcome: &Outcome, waiting: Waiting) {
        for (side, tag) in waiting.watchers {
            self.count(&mentions(outcome));
            self.push_action(side, Action::Settled { tag, outcome: outcome.clone() });
        }
        for follower in waiting.followers {
            self.count(&mentions(outcome));
            self.work.push_back(Work::Settle { promise: follower, outcome: outcome.clone() });
        }
        self.reroute(promise, waiting.calls);
    }

    /// Routes the calls that have waited for a promise. The first call must find the outcome, so the promise is kept
    /// until then.
    fn reroute(&mut self, target: Ref, calls: VecDeque<Queued>) {
        for Queued { from, call, answer } in calls {
            if let Some(seat) = self.sides.get_mut(&from) {
                seat.waiting = seat.waiting.saturating_sub(1);
            }
            self.route(from, target, call, answer);
        }
    }

    /// Makes a promise settle as another promise does. Returns the outcome if it is already known.
    ///
    /// If so, the mention of the other promise is no longer counted, and the mentions in the outcome are.
    fn follow(&mut self, promise: Ref, other: Ref) -> Option<Outcome> {
        let mut end = other;
        let outcome = loop {
            if end == promise {
                break Err(Value::error("TypeError", "a promise cannot become itself"));
            }
            match self.entries.get(&end).map(|entry| &entry.state) {
                None => break Err(gone()),
                Some(State::Following(next, _)) => end = *next,
                Some(State::Object | State::Orphaned(_)) => break Ok(Value::remotable(end)),
                Some(State::Settled(outcome)) => break outcome.clone(),
                Some(State::Open(_)) => {
                    self.follow_open(promise, other, end);
                    return None;
                }
            }
        };
        self.count(&mentions(&outcome));
        self.uncount(vec![other]);
        Some(outcome)
    }

    fn follow_open(&mut self, promise: Ref, other: Ref, end: Ref) {
        // The count moves from `other` to `end`.
        self.count(&[end]);
        self.uncount(vec![other]);
        let Some(entry) = self.entries.get_mut(&promise) else { return self.uncount(vec![end]) };
        let State::Open(waiting) = &mut entry.state else { return self.uncount(vec![end]) };
        let mut waiting = std::mem::take(waiting);
        let calls = std::mem::take(&mut waiting.calls);
        entry.state = State::Following(end, waiting);
        self.disown(promise);
        if let Some(State::Open(waiting)) = self.entries.get_mut(&end).map(|entry| &mut entry.state) {
            waiting.followers.push(promise);
        }
        self.reroute(promise, calls);
        self.sweep(vec![promise]);
    }
}

fn gone() -> Value<Ref> {
    Value::error("Error", "the reference is gone")
}
