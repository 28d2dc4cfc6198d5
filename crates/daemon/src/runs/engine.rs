//! The engine, which drives runs on a limited number of threads.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernel::command::{Act, Move};
use kernel::run::{Shape, Trouble, WaitReason};
use kernel::table::Task;
use kernel::{FormulaId, HostRun, table};
use passable::Untrusted;

use crate::files::guest_files;
use crate::state::daemon::HostDaemon;
use crate::state::log;
use control::exit::Failure;
use worker::DriverPort as _;

/// The maximum number of runs that may hold a thread at a time. A waiting run holds none.
const MAX_THREADS: usize = 16;

/// The engine that drives the runs of all hosts. At most one thread drives a run at a time.
pub struct Engine {
    daemon: HostDaemon,
    state: Mutex<EngineState>,
    idle: Condvar,
}

/// An item of a batch. Only some items of a batch are at work at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ItemPlace {
    batch: HostRun,
    index: usize,
    /// The maximum number of items of the batch that may be at work.
    jobs: usize,
}

#[derive(Default)]
struct EngineState {
    queue: VecDeque<HostRun>,
    active: BTreeSet<HostRun>,
    /// The items to which queued and active runs belong. A run without an item has no row.
    places: BTreeMap<HostRun, ItemPlace>,
    /// The runs that became ready while they were being driven, and must be driven again.
    driven_again: BTreeSet<HostRun>,
}

impl EngineState {
    /// Returns whether a queued run may be driven now. Many items of a batch can become ready at once, when a person
    /// answers for all of them, and only some of them may be at work together.
    fn has_place(&self, run: HostRun) -> bool {
        let Some(place) = self.places.get(&run) else { return true };
        let at_work = self.active.iter().filter_map(|run| self.places.get(run));
        let items: BTreeSet<usize> =
            at_work.filter(|other| other.batch == place.batch).map(|other| other.index).collect();
        items.contains(&place.index) || items.len() < place.jobs
    }
}

impl Engine {
    /// Returns an engine without work.
    pub fn new(daemon: HostDaemon) -> Arc<Engine> {
        let engine = Arc::new(Engine { daemon, state: Mutex::default(), idle: Condvar::new() });
        let weak = Arc::downgrade(&engine);
        engine.daemon.set_engine(move |run| {
            if let Some(engine) = weak.upgrade() {
                engine.drive(run);
            }
        });
        engine
    }

    fn lock(&self) -> MutexGuard<'_, EngineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up all open tasks in the outboxes of all hosts. Every open effect belongs to an unfinished run, and is
    /// settled when that run is driven.
    pub fn recover(self: &Arc<Engine>) -> Result<(), Failure> {
        let root = self.daemon.host;
        for host in self.daemon.read(table::hosts)? {
            // Recovering a host costs a commit, so hosts without open runs are skipped.
            if host != root && self.open_runs(host)?.is_empty() {
                continue;
            }
            if let Err(failure) = self.daemon.for_host(host).apply(Act::Recover) {
                // A full or read-only store can still be read. It reports the error to each client that tries to
                // change it.
                log::failure(&failure);
            }
            // Effects that an earlier process began belong to no thread of this process.
            for task in self.daemon.read(|txn| kernel::query::outbox(txn, &host.number))? {
                if let Task::Effect { step } = task {
                    self.daemon.orphaned_effects.add(host, step);
                }
            }
            self.resume_pending(host)?;
        }
        Ok(())
    }

    /// Drives every run in the outbox of a host. A run that is already being driven is driven once more.
    pub fn resume_pending(self: &Arc<Engine>, host: FormulaId) -> Result<(), Failure> {
        self.open_runs(host)?.into_iter().for_each(|one| self.drive(one));
        Ok(())
    }

    /// Returns the runs of a host that have open tasks in its outbox. A run appears once for each of its tasks.
    fn open_runs(&self, host: FormulaId) -> Result<Vec<HostRun>, Failure> {
        let tasks = self.daemon.read(|txn| kernel::query::outbox(txn, &host.number))?;
        let runs = tasks.into_iter().filter_map(|task| match task {
            Task::Drive { run } => Some(run),
            Task::Effect { step } => Some(step.run),
            // The code executor takes up endowed code.
            Task::Eval { .. } => None,
        });
        Ok(runs.map(|run| HostRun { host, run }).collect())
    }

    /// Drives a run now, or when a thread is free.
    pub fn drive(self: &Arc<Engine>, run: HostRun) {
        let place = self.item_place(run);
        let mut work = self.lock();
        if let Some(place) = place {
            work.places.insert(run, place);
        }
        if work.active.contains(&run) {
            work.driven_again.insert(run);
        } else if !work.queue.contains(&run) {
            work.queue.push_back(run);
        }
        self.spawn(&mut work);
    }

    /// Returns the item to which a run belongs, or `None` if the run is no part of a batch.
    fn item_place(&self, at: HostRun) -> Option<ItemPlace> {
        let daemon = self.daemon.for_host(at.host);
        let mut run = daemon.run(at.run).ok()?;
        loop {
            let link = run.parent?;
            let above = daemon.run(link.run).ok()?;
            if let (WaitReason::Item { index }, Shape::Each { jobs, .. }) = (link.place, above.shape) {
                let batch = HostRun { host: at.host, run: link.run };
                return Some(ItemPlace { batch, index, jobs: jobs.max(1) as usize });
            }
            run = above;
        }
    }

    fn spawn(self: &Arc<Engine>, work: &mut EngineState) {
        while work.active.len() < MAX_THREADS {
            let Some(next) = work.queue.iter().position(|run| work.has_place(*run)) else { return };
            let Some(run) = work.queue.remove(next) else { return };
            work.active.insert(run);
            let engine = Arc::clone(self);
            let thread = std::thread::Builder::new()
                .name(run.run.to_string())
                .stack_size(crate::state::thread_stack::STACK_SIZE);
            if thread.spawn(move || engine.work(run)).is_err() {
                // No thread could be started. The run is tried again when another run releases its thread.
                work.active.remove(&run);
                work.queue.push_front(run);
                return;
            }
        }
    }

    fn work(self: Arc<Engine>, at: HostRun) {
        let (daemon, run) = (self.daemon.for_host(at.host), at.run);
        let mut again = false;
        // Blobs that the run stores must not be swept before its journal names them.
        let hold = daemon.store.blobs().hold();
        if !daemon.is_stopping() {
            daemon.clear_blocked(run);
            let is_cancelled = || daemon.run(run).is_ok_and(|run| run.cancelled.is_some());
            let found = daemon.run(run);
            let was_cancelled = found.as_ref().is_ok_and(|run| run.cancelled.is_some());
            let driven = catch_unwind(AssertUnwindSafe(|| match found {
                Ok(found) if found.is_agent_journal() => guest_files::drive(&daemon, daemon.state(), run),
                Ok(_) => worker::drive(&daemon, run, &|ready| ready.iter().for_each(|one| self.drive(*one))),
                Err(trouble) => Err(trouble),
            }));
            let trouble = match driven {
                Ok(Ok(())) => None,
                Ok(Err(trouble)) => Some(trouble),
                Err(_) => Some(Trouble {
                    code: "internal/panic".to_owned(),
                    message: Untrusted::new("the driver of this run broke down"),
                    help: "this is a bug; the daemon's log says where. `almoner resume` tries again"
                        .to_owned(),
                }),
            };
            if let Some(trouble) = trouble.filter(|_| !daemon.is_stopping()) {
                let stalled = daemon.advance(run, vec![Move::Stall { trouble: trouble.clone() }]);
                if stalled.is_err() && !was_cancelled && is_cancelled() {
                    // The run was cancelled while it was being driven. Another pass completes the effects that it had
                    // begun.
                    again = true;
                } else if stalled.is_err() {
                    daemon.set_blocked(run, trouble);
                }
            }
        }
        drop(hold);
        let mut work = self.lock();
        work.active.remove(&at);
        if work.driven_again.remove(&at) || again {
            work.queue.push_back(at);
        } else if !work.queue.contains(&at) {
            work.places.remove(&at);
        }
        if !daemon.is_stopping() {
            self.spawn(&mut work);
        }
        drop(work);
        self.idle.notify_all();
    }

    /// Returns the runs of all hosts that are being driven or wait for a thread.
    pub fn active_runs(&self) -> Vec<HostRun> {
        let work = self.lock();
        work.active.iter().chain(&work.queue).copied().collect()
    }

    /// Waits until no run holds a thread, but at most for the time `patience`.
    pub fn settle(&self, patience: Duration) {
        let end = Instant::now() + patience;
        let mut work = self.lock();
        while !work.active.is_empty() {
            let Some(left) = end.checked_duration_since(Instant::now()).filter(|d| !d.is_zero()) else {
                return;
            };
            work = self.idle.wait_timeout(work, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::RunNumber;

    use super::*;

    /// Reported of another program: gadzan/xacpx#148 (many approvals at once exceed the limit of parallel work).
    #[test]
    fn only_some_items_of_a_batch_are_at_work_together() {
        let host = FormulaId { number: [1; 32], node: [2; 32] };
        let at = |run: u64| HostRun { host, run: RunNumber(run) };
        let place = |batch: u64, index| ItemPlace { batch: at(batch), index, jobs: 2 };
        let mut state = EngineState::default();
        // The runs 11 and 12 work on items 0 and 1 of batch 1. Run 13 is called by item 0.
        state.places.extend([(at(11), place(1, 0)), (at(12), place(1, 1)), (at(13), place(1, 0))]);
        state.places.extend([(at(14), place(1, 2)), (at(21), place(2, 2))]);
        state.active.extend([at(11), at(12)]);
        let may = |state: &EngineState, run| state.has_place(at(run));
        assert!(!may(&state, 14), "two items are at work");
        assert!(may(&state, 13), "the item of this run is at work");
        assert!(may(&state, 21), "this is an item of another batch");
        assert!(may(&state, 99), "this run is no item");
        state.active.remove(&at(11));
        assert!(may(&state, 14));
    }
}
