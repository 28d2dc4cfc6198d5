//! Counters of the store's work since it was opened.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of transactions that changed something and were committed. Each costs one sync of the log.
    pub commits: u64,
    /// The number of closures whose changes were committed.
    pub writes: u64,
    /// The number of closures that were rolled back because they refused, panicked or failed.
    pub refused: u64,
    /// The number of closures in the largest group.
    pub largest_group: u64,
    /// The number of reads that were begun.
    pub reads: u64,
    /// The number of times that the log was copied into the database file. Each costs up to three syncs.
    pub checkpoints: u64,
    /// The number of checkpoints that failed, for example on a full disk. They are tried again.
    pub failed_checkpoints: u64,
    /// The number of blobs that were written. Blobs that existed already are not counted.
    pub blobs: u64,
    /// The number of syncs of files and directories for blobs.
    pub blob_syncs: u64,
}

impl Stats {
    /// Returns the number of syncs to disk for rows. Each commit costs one. Each checkpoint costs three: the log
    /// before it, the database file, and the log's new header after it.
    pub fn syncs(&self) -> u64 {
        self.commits + 3 * self.checkpoints
    }

    /// Returns the number of syncs per write, which does not depend on the machine's load. Returns `None` before the
    /// first write.
    pub fn syncs_per_write(&self) -> Option<f64> {
        (self.writes > 0).then(|| self.syncs() as f64 / self.writes as f64)
    }
}

/// The counters that threads increase, from which [`Stats`] are taken.
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
