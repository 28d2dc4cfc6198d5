//! The garbage collector. When the daemon has nothing better to do, the collector removes formulas that nothing
//! refers to any more.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use kernel::collect;
use kernel::command::{Act, Reply};
use kernel::{BlobHash, FormulaId};

use super::blob_sweeper::BlobSweeper;
use crate::runs::staging;
use crate::state::daemon::HostDaemon;
use crate::state::scratch_dirs::ScratchDirs;
use config::clock;
use control::protocol::FreedSpace;

/// The time without a commit after which the store counts as quiet.
const QUIET_INTERVAL: Duration = Duration::from_secs(5);

/// The time after which garbage is collected even if the store is not quiet.
const OVERDUE_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum number of formulas that one commit of the collector examines.
const MAX_FORMULAS: u32 = 256;

/// The maximum number of commits in one collection, so that other writers get their turn.
const MAX_COMMITS: u32 = 16;

/// The number of commits of other writers after which a sweep gives way.
const MAX_FOREIGN_COMMITS: u64 = 200;

/// The garbage collector, which watches for quiet times.
pub struct Collector {
    commits: u64,
    quiet_since: Instant,
    last: Instant,
    scratches: ScratchDirs,
    sweeper: BlobSweeper,
}

impl Collector {
    /// Returns a collector that begins to watch now.
    pub fn new() -> Collector {
        Collector {
            commits: 0,
            quiet_since: Instant::now(),
            last: Instant::now(),
            scratches: ScratchDirs::default(),
            sweeper: BlobSweeper::new(),
        }
    }

    /// Collects garbage if the store is quiet, or if the last collection was long ago. The main loop calls this
    /// function about once a second. Formulas in `pins` stay, because a connected client refers to them.
    pub fn collect_if_idle(
        &mut self,
        daemon: &HostDaemon,
        pins: &dyn Fn() -> BTreeSet<FormulaId>,
        trees: &dyn Fn() -> BTreeSet<BlobHash>,
    ) {
        let commits = daemon.store.stats().commits;
        if commits != self.commits {
            self.commits = commits;
            self.quiet_since = Instant::now();
        }
        self.serve_requests(daemon, pins, trees);
        if self.quiet_since.elapsed() < QUIET_INTERVAL && self.last.elapsed() < OVERDUE_TIMEOUT {
            return;
        }
        self.last = Instant::now();
        if !self.scratches.has_begun() {
            self.scratches.remove_collected(daemon);
            staging::remove_abandoned(daemon);
        }
        self.collect_all(daemon, pins);
        let (daemon, before) = (daemon, self.commits);
        let is_quiet = self.quiet_since.elapsed() >= QUIET_INTERVAL;
        self.sweeper.sweep_if_due(daemon, trees, &|| {
            !is_quiet || daemon.store.stats().commits > before + MAX_FOREIGN_COMMITS
        });
    }

    /// Removes all garbage at once if a request waits for it, and answers the request.
    fn serve_requests(
        &mut self,
        daemon: &HostDaemon,
        pins: &dyn Fn() -> BTreeSet<FormulaId>,
        trees: &dyn Fn() -> BTreeSet<BlobHash>,
    ) {
        let waiting = daemon.cleanup_requests.take();
        if waiting.is_empty() {
            return;
        }
        let mut formulas = 0;
        while daemon.read(|txn| collect::is_due(txn, clock::now_ms())).unwrap_or(false)
            && !daemon.is_stopping()
        {
            let before = daemon.store.stats().commits;
            formulas += self.collect(daemon, pins);
            if daemon.store.stats().commits == before {
                break;
            }
        }
        if formulas > 0 {
            self.scratches.remove_collected(daemon);
        }
        staging::remove_abandoned(daemon);
        let freed = self.sweeper.sweep_now(daemon, trees).map(|swept| FreedSpace {
            formulas,
            blobs: swept.blobs,
            bytes: swept.bytes,
            damaged: swept.damaged,
        });
        for one in waiting {
            // A requester that no longer waits needs no answer.
            let _ = one.send(freed.clone());
        }
    }

    /// Collects formulas if a collection is due, and removes their data outside the store.
    fn collect_all(&mut self, daemon: &HostDaemon, pins: &dyn Fn() -> BTreeSet<FormulaId>) {
        // Errors are ignored here, because other parts of the daemon report a failing store.
        if !daemon.read(|txn| collect::is_due(txn, clock::now_ms())).unwrap_or(false) {
            return;
        }
        if self.collect(daemon, pins) > 0 {
            self.scratches.remove_collected(daemon);
            self.sweeper.mark_due();
        }
    }

    /// Collects formulas, and returns the number of removed ones.
    fn collect(&mut self, daemon: &HostDaemon, pins: &dyn Fn() -> BTreeSet<FormulaId>) -> u64 {
        let mut gone = 0;
        for _ in 0..MAX_COMMITS {
            let act = Act::Collect { budget: MAX_FORMULAS, pinned: pins() };
            match daemon.apply(act).map(|outcome| outcome.reply) {
                Ok(Reply::Collected { done, count }) => {
                    gone += count;
                    if done {
                        break;
                    }
                }
                _ => break,
            }
        }
        self.commits = daemon.store.stats().commits;
        gone
    }
}
