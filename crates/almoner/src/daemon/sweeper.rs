//! The sweeper: bytes beside the store that nothing refers to any more go, when there is nothing better to do.

use std::time::{Duration, Instant};

use kernel::BlobHash;
use store::Store;

/// How long after one sweep another may begin: it reads the whole store.
const PAUSE: Duration = Duration::from_secs(10 * 60);

/// How long it works at a time, so that others get their turn.
const TURN: Duration = Duration::from_millis(50);

/// Sweeps when something may have become garbage.
#[derive(Default)]
pub struct Sweeper {
    /// Whether something has gone that may have referred to bytes.
    is_due: bool,
    last: Option<Instant>,
}

impl Sweeper {
    /// Something was collected.
    pub fn collected(&mut self) {
        self.is_due = true;
    }

    /// Sweeps, if there is a reason to, until it is done or `busy` says that there is something better to do. What an
    /// earlier process left behind is a reason, once. What is in `pinned` stays.
    pub fn look_around(&mut self, store: &Store, pinned: &[BlobHash], busy: &dyn Fn() -> bool) {
        let paused = self.last.is_some_and(|last| last.elapsed() < PAUSE);
        if paused || (self.last.is_some() && !self.is_due) {
            return;
        }
        self.last = Some(Instant::now());
        self.is_due = false;
        // What cannot be read or removed now is garbage the next time as well.
        let Ok(Some(mut sweep)) = store.sweep(pinned) else { return };
        loop {
            let began = Instant::now();
            while began.elapsed() < TURN {
                match sweep.step() {
                    Ok(false) => {}
                    Ok(true) | Err(_) => return,
                }
            }
            if busy() {
                self.is_due = true;
                self.last = None;
                return;
            }
            // Whoever writes meanwhile is not kept waiting for the disk.
            std::thread::sleep(TURN);
        }
    }
}
