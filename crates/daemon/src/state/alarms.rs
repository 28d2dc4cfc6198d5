//! Callbacks that the daemon runs at given times.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use config::clock;

/// The maximum time after which the clock is read again, because it may have been changed.
const MAX_SLEEP: Duration = Duration::from_secs(30);

/// The callback of an alarm, which must not block.
type AlarmCall = Box<dyn FnOnce() + Send>;

/// The callbacks with their times, and the time of the next tick for an agent.
#[derive(Default)]
pub struct Alarms {
    state: Mutex<AlarmState>,
    changed: Condvar,
}

#[derive(Default)]
struct AlarmState {
    calls: BTreeMap<(i64, u64), AlarmCall>,
    next: u64,
    /// Whether an agent may have to be notified earlier than at `due_ms`.
    is_rescheduled: bool,
    /// The time at which an agent must be notified next, in milliseconds since 1970.
    due_ms: Option<i64>,
    ended: bool,
}

impl Alarms {
    fn lock(&self) -> MutexGuard<'_, AlarmState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a callback for a time, in milliseconds since 1970. It runs then or as soon after as possible.
    pub fn at(&self, at_ms: i64, call: AlarmCall) {
        let mut state = self.lock();
        state.next += 1;
        let key = (at_ms, state.next);
        state.calls.insert(key, call);
        drop(state);
        self.changed.notify_all();
    }

    /// Wakes the timer thread, because another agent may have to be notified next.
    pub fn reschedule(&self) {
        self.lock().is_rescheduled = true;
        self.changed.notify_all();
    }

    /// Returns whether an agent waits for a tick.
    pub fn is_awaited(&self) -> bool {
        self.lock().due_ms.is_some()
    }

    /// Ends the timer thread, and drops all callbacks.
    pub fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.calls.clear();
        drop(state);
        self.changed.notify_all();
    }

    /// Sets the time at which an agent must be notified next, in milliseconds since 1970.
    pub fn set_due(&self, due_ms: Option<i64>) {
        self.lock().due_ms = due_ms;
    }

    /// Waits until a callback or a notification is due. Returns the due callbacks, and whether agents must be
    /// notified. Returns `None` at the end.
    pub fn wait(&self) -> Option<(Vec<AlarmCall>, bool)> {
        let mut state = self.lock();
        loop {
            if state.ended {
                return None;
            }
            let now_ms = clock::now_ms();
            let is_due = state.due_ms.is_some_and(|due| due <= now_ms);
            let later = state.calls.split_off(&(now_ms.saturating_add(1), 0));
            let calls: Vec<AlarmCall> = std::mem::replace(&mut state.calls, later).into_values().collect();
            if !calls.is_empty() || is_due || state.is_rescheduled {
                let tells = is_due || std::mem::take(&mut state.is_rescheduled);
                return Some((calls, tells));
            }
            let first = state.calls.keys().next().map(|(at, _)| *at);
            let next = first.into_iter().chain(state.due_ms).min();
            let left = next.map_or(MAX_SLEEP, |next| {
                let left = u64::try_from(next.saturating_sub(now_ms)).unwrap_or(0);
                Duration::from_millis(left).min(MAX_SLEEP)
            });
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::time::Instant;

    use super::*;

    #[test]
    fn calls_run_in_order_of_their_due_times() {
        let alarms = Arc::new(Alarms::default());
        let (send, receive) = channel();
        let began = Instant::now();
        let base = clock::now_ms();
        for (after, name) in [(60, "third"), (0, "first"), (30, "second"), (600_000, "never")] {
            let send = send.clone();
            alarms.at(base + after, Box::new(move || send.send((name, clock::now_ms() - base)).unwrap()));
        }
        alarms.lock().is_rescheduled = false;
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
