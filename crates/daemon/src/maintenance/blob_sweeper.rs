//! The sweeper. When the daemon has nothing better to do, the sweeper removes stored blobs that nothing refers to any
//! more.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use kernel::BlobHash;
use store::SweepReport;

use crate::state::daemon::Daemon;
use control::exit::{Exit, Failure};

/// The minimum time between two sweeps, because a sweep reads the whole store. The time is longer than the one for
/// which new blobs are spared.
const SWEEP_INTERVAL: Duration = Duration::from_secs(20 * 60);

/// The maximum time for which a sweep works before it pauses, so that other writers get their turn.
const TURN_TIMEOUT: Duration = Duration::from_millis(50);

/// The time after which a due sweep begins even if the daemon is busy.
const OVERDUE_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The sweeper, which knows when a sweep is due.
pub struct BlobSweeper {
    /// The time since which a sweep is due, if one is.
    due: Option<Instant>,
    /// Whether the next sweep may spare garbage that was stored only recently. Then another sweep must follow.
    has_recent_garbage: bool,
    last: Option<Instant>,
}

impl BlobSweeper {
    /// Returns a sweeper whose first sweep is due at once. That sweep removes the garbage of earlier processes.
    pub fn new() -> BlobSweeper {
        BlobSweeper { due: Some(Instant::now()), has_recent_garbage: false, last: None }
    }

    /// Notes that a collected formula may have referred to blobs, so that a sweep is due.
    pub fn mark_due(&mut self) {
        self.due.get_or_insert_with(Instant::now);
        self.has_recent_garbage = true;
    }

    /// Runs a complete sweep at once. Blobs in `pinned` stay.
    ///
    /// # Errors
    /// When the store fails, or the daemon ends.
    pub fn sweep_now(
        &mut self,
        daemon: &Daemon,
        pinned: &dyn Fn() -> BTreeSet<BlobHash>,
    ) -> Result<SweepReport, Failure> {
        let failed = |e: &dyn std::fmt::Display| {
            Failure::new(Exit::Failure, format!("the store cannot be swept: {e}")).help("`almoner doctor`")
        };
        let pinned: Vec<BlobHash> = pinned().into_iter().collect();
        let Some(mut sweep) = daemon.store.sweep(&pinned).map_err(|e| failed(&e))? else {
            return Err(failed(&"it is being swept already"));
        };
        while !sweep.step().map_err(|e| failed(&e))? {
            if daemon.is_stopping() {
                return Err(failed(&"the daemon ends"));
            }
        }
        self.last = Some(Instant::now());
        // Blobs that were stored only recently were spared, so another sweep is due.
        self.due = self.last;
        Ok(sweep.swept())
    }

    /// Runs a sweep if one is due. The sweep stops when it is done, the daemon ends, or `is_busy` returns `true`.
    /// Blobs in `pinned` stay.
    pub fn sweep_if_due(
        &mut self,
        daemon: &Daemon,
        pinned: &dyn Fn() -> BTreeSet<BlobHash>,
        is_busy: &dyn Fn() -> bool,
    ) {
        let Some(due) = self.due else { return };
        // A sweep that is overdue no longer waits for a quiet time.
        let is_late = due.elapsed() > OVERDUE_TIMEOUT;
        let has_paused = self.last.is_none_or(|last| last.elapsed() > SWEEP_INTERVAL);
        if !has_paused || (is_busy() && !is_late) {
            return;
        }
        let pinned: Vec<BlobHash> = pinned().into_iter().collect();
        // An error is ignored. The next sweep finds the same garbage again.
        let Ok(Some(mut sweep)) = daemon.store.sweep(&pinned) else { return };
        loop {
            let began = Instant::now();
            while began.elapsed() < TURN_TIMEOUT {
                match sweep.step() {
                    Ok(false) => {}
                    Ok(true) | Err(_) => {
                        let now = Instant::now();
                        self.last = Some(now);
                        // If recent garbage was spared, another sweep is due.
                        self.due = std::mem::take(&mut self.has_recent_garbage).then_some(now);
                        return;
                    }
                }
            }
            if daemon.is_stopping() || (is_busy() && !is_late) {
                return;
            }
            // The pause leaves the disk to other writers.
            std::thread::sleep(TURN_TIMEOUT);
        }
    }
}
