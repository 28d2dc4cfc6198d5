//! The timekeeper: one thread that sleeps until the next tick comes, and tells whoever must be told.
//!
//! Agents are told by the kernel, which knows who is due; a client that is connected is told by its connection, which
//! asks to be called. The clock may be set meanwhile, so nobody sleeps for long.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use kernel::HostRun;
use kernel::command::{Act, Reply, TimerAct};

use super::world::Shared;
use config::clock;

/// After how long the clock is read again, whatever it said before.
const LONGEST: Duration = Duration::from_secs(30);

/// After how long a store that could not be written is asked again.
const AGAIN_MS: i64 = 5_000;

/// How many agents are told in one commit.
const BUDGET: u32 = 64;

/// What is done when its time has come: nothing that waits for anybody.
type Call = Box<dyn FnOnce() + Send>;

/// What is to happen when.
#[derive(Default)]
pub struct Alarms {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    calls: BTreeMap<(i64, u64), Call>,
    next: u64,
    /// Whether somebody may have to be told earlier than was thought.
    stirred: bool,
    /// When an agent must be told next.
    due_ms: Option<i64>,
    ended: bool,
}

impl Alarms {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has something done at this time, in milliseconds since 1970, or as soon after as possible.
    pub fn at(&self, at_ms: i64, call: Call) {
        let mut state = self.lock();
        state.next += 1;
        let key = (at_ms, state.next);
        state.calls.insert(key, call);
        drop(state);
        self.changed.notify_all();
    }

    /// Who must be told next may have changed.
    pub fn stir(&self) {
        self.lock().stirred = true;
        self.changed.notify_all();
    }

    /// Whether an agent waits for a tick.
    pub fn is_awaited(&self) -> bool {
        self.lock().due_ms.is_some()
    }

    /// Nothing happens any more.
    pub fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.calls.clear();
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until something is to be done: calls whose time has come, and whether agents are to be told. `None` at the
    /// end.
    fn wait(&self) -> Option<(Vec<Call>, bool)> {
        let mut state = self.lock();
        loop {
            if state.ended {
                return None;
            }
            let now_ms = clock::now_ms();
            let is_due = state.due_ms.is_some_and(|due| due <= now_ms);
            let later = state.calls.split_off(&(now_ms.saturating_add(1), 0));
            let calls: Vec<Call> = std::mem::replace(&mut state.calls, later).into_values().collect();
            if !calls.is_empty() || is_due || state.stirred {
                let tells = is_due || std::mem::take(&mut state.stirred);
                return Some((calls, tells));
            }
            let first = state.calls.keys().next().map(|(at, _)| *at);
            let next = first.into_iter().chain(state.due_ms).min();
            let left = next.map_or(LONGEST, |next| {
                let left = u64::try_from(next.saturating_sub(now_ms)).unwrap_or(0);
                Duration::from_millis(left).min(LONGEST)
            });
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Keeps time until the daemon ends. Runs on a thread of its own, which holds nothing while it sleeps.
pub fn keep_time(alarms: &Arc<Alarms>, daemon: &Weak<Shared>, ready: &dyn Fn(HostRun)) {
    alarms.stir();
    while let Some((calls, tells)) = alarms.wait() {
        calls.into_iter().for_each(|call| call());
        if tells {
            let Some(daemon) = daemon.upgrade() else { return };
            let due_ms = tell(&daemon, ready);
            alarms.lock().due_ms = due_ms;
        }
    }
}

/// Tells every agent who is due, and wakes every run that has waited for this; when the next one will be.
fn tell(daemon: &Shared, ready: &dyn Fn(HostRun)) -> Option<i64> {
    loop {
        let now_ms = clock::now_ms();
        match daemon.read(|txn| kernel::timer::next_due(txn)) {
            Ok(Some(due_ms)) if due_ms <= now_ms => {}
            Ok(due_ms) => return due_ms,
            Err(_) => return Some(now_ms.saturating_add(AGAIN_MS)),
        }
        let told = daemon.apply_as(daemon.root, None, Act::Timer(TimerAct::Tick { budget: BUDGET }));
        match told.map(|outcome| {
            outcome.ready.iter().for_each(|run| ready(*run));
            outcome.reply
        }) {
            Ok(Reply::Ticked { .. }) if !daemon.is_stopping() => {}
            // What is not told now is told later: the ticks of a time are one message.
            _ => return Some(now_ms.saturating_add(AGAIN_MS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Instant;

    use super::*;

    #[test]
    fn calls_are_made_in_order_when_their_time_has_come() {
        let alarms = Arc::new(Alarms::default());
        let (send, receive) = channel();
        let keeping = Arc::clone(&alarms);
        let thread = std::thread::spawn(move || keep_time(&keeping, &Weak::new(), &|_| {}));
        // Without a daemon the first look ends it; calls that were asked for before are made all the same.
        thread.join().unwrap();
        let began = Instant::now();
        let base = clock::now_ms();
        for (after, name) in [(60, "third"), (0, "first"), (30, "second"), (600_000, "never")] {
            let send = send.clone();
            alarms.at(base + after, Box::new(move || send.send((name, clock::now_ms() - base)).unwrap()));
        }
        alarms.lock().stirred = false;
        let mut heard = vec![];
        while heard.len() < 3 {
            let (calls, tells) = alarms.wait().unwrap();
            assert!(!tells);
            calls.into_iter().for_each(|call| call());
            heard.extend(receive.try_iter());
        }
        let names: Vec<&str> = heard.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["first", "second", "third"]);
        assert!(heard[1].1 >= 30 && heard[2].1 >= 60, "{heard:?}");
        assert!(began.elapsed() < Duration::from_secs(20));
        alarms.end();
        assert!(alarms.wait().is_none());
    }
}
