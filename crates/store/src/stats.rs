//! The work of the store since it was opened, in figures.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Transactions that changed something and were committed: one sync of the log each.
    pub commits: u64,
    /// Closures whose changes those commits held.
    pub writes: u64,
    /// Closures that were rolled back: refused, panicked or failed.
    pub refused: u64,
    /// Closures in the largest group.
    pub largest_group: u64,
    /// Reads begun.
    pub reads: u64,
    /// Times that the log was copied into the database file: up to three syncs each.
    pub checkpoints: u64,
    /// Checkpoints that failed (for example on a full disk) and will be tried again.
    pub failed_checkpoints: u64,
    /// Blobs written; those already there are not counted.
    pub blobs: u64,
    /// Syncs of files and directories for blobs.
    pub blob_syncs: u64,
}

impl Stats {
    /// Syncs to disk for rows: one per commit; per checkpoint one of the database file, one of the log before
    /// it, and one of the log's new header after it.
    pub fn syncs(&self) -> u64 {
        self.commits + 3 * self.checkpoints
    }

    /// Syncs per write, the figure that does not depend on the machine's load. None before the first write.
    pub fn syncs_per_write(&self) -> Option<f64> {
        (self.writes > 0).then(|| self.syncs() as f64 / self.writes as f64)
    }
}

/// The counters while they count.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) commits: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) largest_group: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) checkpoints: AtomicU64,
    pub(crate) failed_checkpoints: AtomicU64,
    pub(crate) blobs: AtomicU64,
    pub(crate) blob_syncs: AtomicU64,
}

pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

impl Counters {
    pub(crate) fn snapshot(&self) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            commits: get(&self.commits),
            writes: get(&self.writes),
            refused: get(&self.refused),
            largest_group: get(&self.largest_group),
            reads: get(&self.reads),
            checkpoints: get(&self.checkpoints),
            failed_checkpoints: get(&self.failed_checkpoints),
            blobs: get(&self.blobs),
            blob_syncs: get(&self.blob_syncs),
        }
    }
}
