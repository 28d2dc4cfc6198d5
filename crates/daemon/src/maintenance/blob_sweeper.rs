//! The sweeper: bytes beside the store that nothing refers to any more go, when there is nothing better to do.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use kernel::BlobHash;
use store::SweepReport;

use crate::state::daemon::Daemon;
use control::exit::{Exit, Failure};

/// The time between two sweeps: a sweep reads the whole store. It is longer than the time for which new bytes are
/// spared.
const SWEEP_INTERVAL: Duration = Duration::from_secs(20 * 60);

/// How long it works at a time, so that others get their turn.
const TURN_TIMEOUT: Duration = Duration::from_millis(50);

/// After how long it works although there is always something better to do.
const OVERDUE_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Sweeps when something may have become garbage.
pub struct BlobSweeper {
    /// Since when there is a reason to.
    due: Option<Instant>,
    /// Whether the next sweep may spare garbage, because it was stored only lately.
    has_recent_garbage: bool,
    last: Option<Instant>,
}

impl BlobSweeper {
    /// Returns a sweeper that will look at the garbage that an earlier process left behind.
    pub fn new() -> BlobSweeper {
        BlobSweeper { due: Some(Instant::now()), has_recent_garbage: false, last: None }
    }

    /// Notes that a formula was collected that may have referred to bytes.
    pub fn mark_due(&mut self) {
        self.due.get_or_insert_with(Instant::now);
        self.has_recent_garbage = true;
    }

    /// Sweeps at once, from the beginning to the end. Blobs in `pinned` stay.
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
        // Bytes that were stored only lately were spared, so another sweep is due.
        self.due = self.last;
        Ok(sweep.swept())
    }

    /// Sweeps, if there is a reason to, until it is done, the daemon ends, or `is_busy` says that there is something
    /// better to do. Blobs in `pinned` stay.
    pub fn sweep_if_due(
        &mut self,
        daemon: &Daemon,
        pinned: &dyn Fn() -> BTreeSet<BlobHash>,
        is_busy: &dyn Fn() -> bool,
    ) {
        let Some(due) = self.due else { return };
        // A sweep that never finds a quiet time must be done all the same.
        let is_late = due.elapsed() > OVERDUE_TIMEOUT;
        let has_paused = self.last.is_none_or(|last| last.elapsed() > SWEEP_INTERVAL);
        if !has_paused || (is_busy() && !is_late) {
            return;
        }
        let pinned: Vec<BlobHash> = pinned().into_iter().collect();
        // Bytes that cannot be read or removed now are garbage the next time as well.
        let Ok(Some(mut sweep)) = daemon.store.sweep(&pinned) else { return };
        loop {
            let began = Instant::now();
            while began.elapsed() < TURN_TIMEOUT {
                match sweep.step() {
                    Ok(false) => {}
                    Ok(true) | Err(_) => {
                        let now = Instant::now();
                        self.last = Some(now);
                        // Once more, when nothing of that is new any longer.
                        self.due = std::mem::take(&mut self.has_recent_garbage).then_some(now);
                        return;
                    }
                }
            }
            if daemon.is_stopping() || (is_busy() && !is_late) {
                return;
            }
            // Other writers are not kept waiting for the disk.
            std::thread::sleep(TURN_TIMEOUT);
        }
    }
}
