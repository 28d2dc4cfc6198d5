//! The engine: which runs are at work, on which threads.

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernel::command::{Act, Move};
use kernel::run::Trouble;
use kernel::table::Task;
use kernel::{FormulaId, HostRun, table};
use passable::Untrusted;

use crate::files::guest_files;
use crate::state::daemon::HostDaemon;
use crate::state::log;
use control::exit::Failure;
use worker::DriverPort as _;

/// How many runs may hold a thread at once. A run that waits holds none.
const MAX_THREADS: usize = 16;

/// Drives the runs of all hosts. A run is driven by at most one thread at a time.
pub struct Engine {
    daemon: HostDaemon,
    state: Mutex<EngineState>,
    idle: Condvar,
}

#[derive(Default)]
struct EngineState {
    queue: VecDeque<HostRun>,
    active: BTreeSet<HostRun>,
    /// Runs that became ready while they were being driven: driven once more.
    driven_again: BTreeSet<HostRun>,
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

    /// Takes up everything that the outboxes of all hosts say must still happen. Every open effect belongs to a run
    /// that must go on, and is settled when that run is driven.
    pub fn recover(self: &Arc<Engine>) -> Result<(), Failure> {
        let root = self.daemon.host;
        for host in self.daemon.read(table::hosts)? {
            // There may be many hosts with nothing to do; each would cost a commit.
            if host != root && self.open_runs(host)?.is_empty() {
                continue;
            }
            if let Err(failure) = self.daemon.for_host(host).apply(Act::Recover) {
                // A full or read-only store can still be read, and reports the error to each client that wants to
                // change it.
                log::failure(&failure);
            }
            // Effects that an earlier process began have no owner in this one.
            for task in self.daemon.read(|txn| kernel::query::outbox(txn, &host.number))? {
                if let Task::Effect { step } = task {
                    self.daemon.orphaned_effects.add(host, step);
                }
            }
            self.resume_pending(host)?;
        }
        Ok(())
    }

    /// Drives everything that is in the outbox of a host. It leaves runs alone that are already being driven.
    pub fn resume_pending(self: &Arc<Engine>, host: FormulaId) -> Result<(), Failure> {
        self.open_runs(host)?.into_iter().for_each(|one| self.drive(one));
        Ok(())
    }

    /// Returns the runs of a host that its outbox says must go on. A run appears once for each of its open tasks.
    fn open_runs(&self, host: FormulaId) -> Result<Vec<HostRun>, Failure> {
        let tasks = self.daemon.read(|txn| kernel::query::outbox(txn, &host.number))?;
        let runs = tasks.into_iter().filter_map(|task| match task {
            Task::Drive { run } => Some(run),
            Task::Effect { step } => Some(step.run),
            // Endowed code is taken up by those who run vats.
            Task::Eval { .. } => None,
        });
        Ok(runs.map(|run| HostRun { host, run }).collect())
    }

    /// Lets a run go on, now or when a thread is free.
    pub fn drive(self: &Arc<Engine>, run: HostRun) {
        let mut work = self.lock();
        if work.active.contains(&run) {
            work.driven_again.insert(run);
        } else if !work.queue.contains(&run) {
            work.queue.push_back(run);
        }
        self.spawn(&mut work);
    }

    fn spawn(self: &Arc<Engine>, work: &mut EngineState) {
        while work.active.len() < MAX_THREADS {
            let Some(run) = work.queue.pop_front() else { return };
            work.active.insert(run);
            let engine = Arc::clone(self);
            let thread = std::thread::Builder::new()
                .name(run.run.to_string())
                .stack_size(crate::state::thread_stack::STACK_SIZE);
            if thread.spawn(move || engine.work(run)).is_err() {
                // No thread to be had: the next run that ends makes room.
                work.active.remove(&run);
                work.queue.push_front(run);
                return;
            }
        }
    }

    fn work(self: Arc<Engine>, at: HostRun) {
        let (daemon, run) = (self.daemon.for_host(at.host), at.run);
        let mut again = false;
        // Bytes that the run stores stay until its journal names them.
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
                    // The run was cancelled while it took a step: another pass brings the effects that it began to
                    // their end.
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
        }
        if !daemon.is_stopping() {
            self.spawn(&mut work);
        }
        drop(work);
        self.idle.notify_all();
    }

    /// Returns the runs that are at work, of all hosts.
    pub fn active_runs(&self) -> Vec<HostRun> {
        let work = self.lock();
        work.active.iter().chain(&work.queue).copied().collect()
    }

    /// Waits until no run holds a thread, at most `patience`.
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
