//! The collector: it collects everything that nothing refers to any more, when there is nothing better to do.

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

/// How long the store must have been quiet.
const QUIET_INTERVAL: Duration = Duration::from_secs(5);

/// After how long it is done anyway.
const OVERDUE_TIMEOUT: Duration = Duration::from_secs(60);

/// How many formulas are looked at in one commit.
const MAX_FORMULAS: u32 = 256;

/// How many commits are made at once, so that others get their turn.
const MAX_COMMITS: u32 = 16;

/// After how many commits of others a sweep gives way.
const MAX_FOREIGN_COMMITS: u64 = 200;

/// Watches for quiet times.
pub struct Collector {
    commits: u64,
    quiet_since: Instant,
    last: Instant,
    scratches: ScratchDirs,
    sweeper: BlobSweeper,
}

impl Collector {
    /// Returns a gardener who has just begun to watch.
    pub fn new() -> Collector {
        Collector {
            commits: 0,
            quiet_since: Instant::now(),
            last: Instant::now(),
            scratches: ScratchDirs::default(),
            sweeper: BlobSweeper::new(),
        }
    }

    /// Collects garbage if the store has been quiet, or if the last time is long enough ago. The main loop calls it
    /// about once a second. Formulas in `pins` stay: a connected client refers to them.
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

    /// Collects and sweeps everything that can go, if a request waits for it.
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
            // Who does not wait any longer needs no answer.
            let _ = one.send(freed.clone());
        }
    }

    /// Collects formulas, and their data outside the store.
    fn collect_all(&mut self, daemon: &HostDaemon, pins: &dyn Fn() -> BTreeSet<FormulaId>) {
        // A store that cannot be read or written has louder voices to say so.
        if !daemon.read(|txn| collect::is_due(txn, clock::now_ms())).unwrap_or(false) {
            return;
        }
        if self.collect(daemon, pins) > 0 {
            self.scratches.remove_collected(daemon);
            self.sweeper.mark_due();
        }
    }

    /// Collects; how many formulas have gone.
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
