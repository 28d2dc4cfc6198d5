//! The latch of a damaged store. From the first damage on, the store takes no writes, and can only be read.
//!
//! The latch is in memory. Whether the damage is still there after a restart, the next examination tells.

use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use kernel::txn::StoreFault;

/// A function that gets the first damage.
type Watcher = Box<dyn Fn(&str) + Send + Sync>;

/// The latch of one open store.
pub(crate) struct DamageLatch {
    opened: Instant,
    state: Mutex<LatchState>,
    changed: Condvar,
    watcher: OnceLock<Watcher>,
}

#[derive(Default)]
struct LatchState {
    /// The first damage.
    found: Option<String>,
    /// Whether the structure of the database file has been examined since the store was opened.
    is_examined: bool,
}

impl Default for DamageLatch {
    fn default() -> Self {
        DamageLatch {
            opened: Instant::now(),
            state: Mutex::default(),
            changed: Condvar::new(),
            watcher: OnceLock::new(),
        }
    }
}

impl DamageLatch {
    fn lock(&self) -> MutexGuard<'_, LatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the latch if the fault is damage. Only the first damage is kept.
    pub(crate) fn note(&self, fault: &StoreFault) {
        let StoreFault::Corrupt(detail) = fault else { return };
        let mut state = self.lock();
        if state.found.is_some() {
            return;
        }
        state.found = Some(detail.clone());
        drop(state);
        self.changed.notify_all();
        if let Some(watcher) = self.watcher.get() {
            watcher(detail);
        }
    }

    /// Calls a function with the first damage, now or when it is found. Only the first call counts.
    pub(crate) fn watch(&self, watcher: Watcher) {
        if self.watcher.set(watcher).is_err() {
            return;
        }
        if let (Some(watcher), Some(detail)) = (self.watcher.get(), self.found()) {
            watcher(&detail);
        }
    }

    /// Returns the first damage.
    pub(crate) fn found(&self) -> Option<String> {
        self.lock().found.clone()
    }

    /// Returns the fault of every write after the first damage.
    pub(crate) fn fault(&self) -> Option<StoreFault> {
        self.found().map(StoreFault::Corrupt)
    }

    /// Returns whether damage was found.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().found.is_some()
    }

    /// Notes that the structure of the database file has been examined.
    pub(crate) fn end_examination(&self) {
        self.lock().is_examined = true;
        self.changed.notify_all();
    }

    /// Returns whether the structure of the database file has been examined.
    pub(crate) fn is_examined(&self) -> bool {
        self.lock().is_examined
    }

    /// Waits until the structure has been examined or damage was found, but at most until the store has been open for
    /// `time`. A small store is examined within milliseconds.
    pub(crate) fn await_examination(&self, time: Duration) {
        let until = self.opened + time;
        let mut state = self.lock();
        while !state.is_examined && state.found.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn only_damage_closes_the_latch_and_the_first_one_is_kept() {
        let latch = DamageLatch::default();
        for fault in [StoreFault::Full("a".into()), StoreFault::Io("b".into()), StoreFault::Closed] {
            latch.note(&fault);
            assert_eq!(latch.found(), None, "{fault}");
        }
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let tell = Arc::clone(&told);
        latch.watch(Box::new(move |detail| tell.lock().unwrap().push(detail.to_owned())));
        latch.note(&StoreFault::Corrupt("first".into()));
        latch.note(&StoreFault::Corrupt("second".into()));
        assert_eq!(latch.fault(), Some(StoreFault::Corrupt("first".into())));
        assert_eq!(*told.lock().unwrap(), ["first"]);
    }

    #[test]
    fn examination_is_awaited_for_a_limited_time() {
        let latch = DamageLatch::default();
        latch.await_examination(Duration::from_millis(20));
        assert!(latch.opened.elapsed() >= Duration::from_millis(20));
        latch.end_examination();
        latch.await_examination(Duration::from_secs(60));
        assert!(latch.opened.elapsed() < Duration::from_secs(30));
    }
}
