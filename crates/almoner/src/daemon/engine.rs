//! The engine: which runs are at work, on which threads.

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernel::RunNumber;
use kernel::command::{Act, Move};
use kernel::run::Trouble;
use kernel::table::Task;
use passable::Untrusted;
use worker::World as _;

use super::world::Daemon;
use crate::exit::Failure;

/// How many runs may hold a thread at once. A run that waits holds none.
const THREADS: usize = 16;

/// Drives runs. A run is driven by at most one thread at a time.
pub struct Engine {
    daemon: Arc<Daemon>,
    state: Mutex<Work>,
    idle: Condvar,
}

#[derive(Default)]
struct Work {
    queue: VecDeque<RunNumber>,
    active: BTreeSet<RunNumber>,
    /// Runs that became ready while they were being driven: driven once more.
    again: BTreeSet<RunNumber>,
}

impl Engine {
    /// An engine without work.
    pub fn new(daemon: Arc<Daemon>) -> Arc<Engine> {
        Arc::new(Engine { daemon, state: Mutex::default(), idle: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Work> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up everything that the outbox says must still happen. Every open effect belongs to a run that must go
    /// on, and is settled when that run is driven.
    pub fn recover(self: &Arc<Engine>) -> Result<(), Failure> {
        if let Err(failure) = self.daemon.apply(Act::Recover) {
            // A full or read-only store can still be read, and says what is wrong to whoever wants to change it.
            crate::commands::output::failure(&failure);
        }
        self.take_up()
    }

    /// Drives everything that is in the outbox; what is being driven already is left alone.
    pub fn take_up(self: &Arc<Engine>) -> Result<(), Failure> {
        let host = self.daemon.host;
        for task in self.daemon.read(|txn| kernel::query::outbox(txn, &host.number))? {
            match task {
                Task::Drive { run } => self.drive(run),
                Task::Effect { step } => self.drive(step.run),
                // Endowed code waits for a vat to run in, which this version does not have.
                Task::Eval { .. } => {}
            }
        }
        Ok(())
    }

    /// Lets a run go on, now or when a thread is free.
    pub fn drive(self: &Arc<Engine>, run: RunNumber) {
        let mut work = self.lock();
        if work.active.contains(&run) {
            work.again.insert(run);
        } else if !work.queue.contains(&run) {
            work.queue.push_back(run);
        }
        self.spawn(&mut work);
    }

    fn spawn(self: &Arc<Engine>, work: &mut Work) {
        while work.active.len() < THREADS {
            let Some(run) = work.queue.pop_front() else { return };
            work.active.insert(run);
            let engine = Arc::clone(self);
            let thread = std::thread::Builder::new().name(run.to_string()).stack_size(super::STACK);
            if thread.spawn(move || engine.work(run)).is_err() {
                // No thread to be had: the next run that ends makes room.
                work.active.remove(&run);
                work.queue.push_front(run);
                return;
            }
        }
    }

    fn work(self: Arc<Engine>, run: RunNumber) {
        if !self.daemon.is_stopping() {
            self.daemon.set_free(run);
            let driven = catch_unwind(AssertUnwindSafe(|| {
                worker::drive(&*self.daemon, run, &|ready| ready.iter().for_each(|run| self.drive(*run)))
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
            if let Some(trouble) = trouble.filter(|_| !self.daemon.is_stopping()) {
                let stalled = self.daemon.advance(run, vec![Move::Stall { trouble: trouble.clone() }]);
                if stalled.is_err() {
                    self.daemon.set_stuck(run, trouble);
                }
            }
        }
        let mut work = self.lock();
        work.active.remove(&run);
        if work.again.remove(&run) {
            work.queue.push_back(run);
        }
        if !self.daemon.is_stopping() {
            self.spawn(&mut work);
        }
        drop(work);
        self.idle.notify_all();
    }

    /// The runs that are at work.
    pub fn at_work(&self) -> Vec<RunNumber> {
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
