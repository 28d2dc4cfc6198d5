//! The engine, which drives runs on a limited number of threads.
//!
//! A run at work holds one of a few slots. A run that waits for something outside keeps its thread and gives up its
//! slot, so that slow servers never hold up the runs that can go on. Slots are given in the order in which runs want
//! them, whether they begin or come back from a wait.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use kernel::command::{Act, Move};
use kernel::run::{Shape, Trouble, WaitReason};
use kernel::table::Task;
use kernel::{FormulaId, HostRun, table};
use model::Cancel;
use passable::Untrusted;

use super::server_queues::ServerQueues;
use crate::files::guest_files;
use crate::state::daemon::HostDaemon;
use crate::state::{damage, log};
use control::exit::Failure;
use worker::{DriverPort as _, Waiting};

/// The maximum number of runs that may be at work at the same time.
const MAX_AT_WORK: usize = 16;
/// The maximum number of runs that may hold a thread, at work or waiting for something outside. A run that waits for a
/// person, a time or other runs holds none.
const MAX_THREADS: usize = 256;
/// The maximum number of runs that may wait for the same party with an effect: a server of tools, a web server, a
/// program.
const MAX_EFFECTS_PER_PARTY: usize = 16;
/// The interval at which a thread that waits for its turn looks whether the daemon ends.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The engine that drives the runs of all hosts. At most one thread drives a run at a time.
pub struct Engine {
    daemon: HostDaemon,
    state: Mutex<EngineState>,
    idle: Condvar,
    /// Wakes the threads that wait for a slot, or for their turn at a party.
    turn: Condvar,
}

/// The engine of a daemon, for those who only know the daemon.
#[derive(Default)]
pub struct EngineLink(OnceLock<Weak<Engine>>);

impl EngineLink {
    /// Returns the engine of a daemon, or `None` if it has none.
    pub fn of(daemon: &HostDaemon) -> Option<Arc<Engine>> {
        daemon.extensions.get(EngineLink::default).0.get()?.upgrade()
    }
}

/// An item of a batch. Only some items of a batch are at work at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ItemPlace {
    batch: HostRun,
    index: usize,
    /// The maximum number of items of the batch that may be at work.
    jobs: usize,
}

/// The maximum time for which a list of messages waits for the effects that an earlier process began.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(2);

/// A wish for a slot. Lower numbers came first.
type Ticket = u64;

#[derive(Default)]
struct EngineState {
    queue: VecDeque<(Ticket, HostRun)>,
    /// The runs that hold a thread.
    active: BTreeSet<HostRun>,
    /// The active runs that wait for something outside, and so hold no slot.
    waiting: BTreeSet<HostRun>,
    /// The waiting runs that want their slot back.
    returning: VecDeque<(Ticket, HostRun)>,
    next_ticket: Ticket,
    servers: ServerQueues,
    /// The switches that stop the model calls of active runs.
    switches: BTreeMap<HostRun, Cancel>,
    /// The number of runs that wait for a party with an effect, by party.
    effects: BTreeMap<String, usize>,
    /// The items to which queued and active runs belong. A run without an item has no row.
    places: BTreeMap<HostRun, ItemPlace>,
    /// The runs that became ready while they were being driven, and must be driven again.
    driven_again: BTreeSet<HostRun>,
    /// The runs with an effect that an earlier process began. Each is driven once until its user can be asked about it.
    in_doubt: BTreeSet<HostRun>,
}

impl EngineState {
    /// Returns whether a queued run may be driven now. Many items of a batch can become ready at once, when a person
    /// answers for all of them, and only some of them may be at work together.
    fn has_place(&self, run: HostRun) -> bool {
        let Some(place) = self.places.get(&run) else { return true };
        // An item whose run stands in the queue of a server is at work too.
        let busy = self.active.iter().copied().chain(self.servers.queued());
        let at_work = busy.filter_map(|run| self.places.get(&run));
        let items: BTreeSet<usize> =
            at_work.filter(|other| other.batch == place.batch).map(|other| other.index).collect();
        items.contains(&place.index) || items.len() < place.jobs
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        self.next_ticket
    }

    fn is_queued(&self, run: HostRun) -> bool {
        self.queue.iter().any(|(_, other)| *other == run)
    }

    /// Puts a run into the queue for slots, unless it is there already.
    fn enqueue(&mut self, run: HostRun) {
        if !self.is_queued(run) {
            let ticket = self.ticket();
            self.queue.push_back((ticket, run));
        }
    }

    /// Returns whether a slot is free.
    fn has_slot(&self) -> bool {
        self.active.len() - self.waiting.len() < MAX_AT_WORK
    }

    /// Gives the next free slot to the run that came first. Returns the run, and whether it must begin, because it has
    /// no thread yet.
    fn next_with_slot(&mut self) -> Option<(HostRun, bool)> {
        if !self.has_slot() {
            return None;
        }
        let queued = match self.active.len() < MAX_THREADS {
            true => self.queue.iter().position(|(_, run)| self.has_place(*run)),
            false => None,
        };
        let queued_ticket = queued.and_then(|at| self.queue.get(at)).map(|(ticket, _)| *ticket);
        let returning = self.returning.front().map(|(ticket, _)| *ticket);
        if returning.is_some_and(|ticket| queued_ticket.is_none_or(|other| ticket < other)) {
            let (_, run) = self.returning.pop_front()?;
            self.waiting.remove(&run);
            return Some((run, false));
        }
        let (_, run) = self.queue.remove(queued?)?;
        self.active.insert(run);
        Some((run, true))
    }
}

impl Engine {
    /// Returns an engine without work.
    pub fn new(daemon: HostDaemon) -> Arc<Engine> {
        let engine =
            Arc::new(Engine { daemon, state: Mutex::default(), idle: Condvar::new(), turn: Condvar::new() });
        let weak = Arc::downgrade(&engine);
        // A daemon has one engine, so the first one stays.
        let _ = engine.daemon.extensions.get(EngineLink::default).0.set(weak.clone());
        let for_calls = weak.clone();
        let drive = move |run| {
            if let Some(engine) = weak.upgrade() {
                engine.drive(run);
            }
        };
        let end_calls = move || {
            if let Some(engine) = for_calls.upgrade() {
                engine.end_cancelled_calls();
            }
        };
        engine.daemon.set_engine(drive, end_calls);
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
                    self.lock().in_doubt.insert(HostRun { host, run: step.run });
                }
            }
            self.resume_pending(host)?;
        }
        Ok(())
    }

    /// Waits until the effects that an earlier process began are settled, or their users are asked, but at most for
    /// [`RECOVERY_TIMEOUT`] in the life of a daemon. Until then, the messages of a host lack questions.
    pub fn await_recovery(&self) {
        let mut work = self.lock();
        if work.in_doubt.is_empty() {
            return;
        }
        let end = Instant::now() + RECOVERY_TIMEOUT;
        while !work.in_doubt.is_empty() {
            let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                // The run works on something else by now.
                work.in_doubt.clear();
                return;
            };
            work = self.idle.wait_timeout(work, left).unwrap_or_else(PoisonError::into_inner).0;
        }
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
        } else {
            work.enqueue(run);
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
        while let Some((run, begins)) = work.next_with_slot() {
            if !begins {
                self.turn.notify_all();
                continue;
            }
            let engine = Arc::clone(self);
            let thread = std::thread::Builder::new()
                .name(run.run.to_string())
                .stack_size(crate::state::thread_stack::STACK_SIZE);
            if thread.spawn(move || engine.work(run)).is_err() {
                // No thread could be started. The run is tried again when another run releases its thread.
                work.active.remove(&run);
                work.queue.push_front((0, run));
                return;
            }
        }
    }

    fn work(self: Arc<Engine>, at: HostRun) {
        let (daemon, run) = (self.daemon.for_host(at.host), at.run);
        let mut again = false;
        // Blobs that the run stores must not be swept before its journal names them.
        let hold = daemon.store.blobs().hold();
        if !daemon.is_stopping() && daemon.store.damage().is_none() {
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
        // No run goes on in a damaged store. A restart may find it whole again.
        let damaged =
            damage::trouble(&daemon).filter(|_| daemon.run(run).is_ok_and(|run| !run.is_finished()));
        if let Some(trouble) = damaged {
            daemon.set_blocked(run, trouble);
            again = false;
        }
        let mut work = self.lock();
        work.active.remove(&at);
        work.in_doubt.remove(&at);
        work.waiting.remove(&at);
        work.switches.remove(&at);
        let is_wanted = work.driven_again.remove(&at) && daemon.store.damage().is_none();
        if is_wanted || again {
            work.enqueue(at);
        } else if !work.is_queued(at) && !work.servers.is_queued(at) {
            work.places.remove(&at);
        }
        if let Some(next) = work.servers.next() {
            work.enqueue(next);
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
        let queued = work.queue.iter().map(|(_, run)| *run);
        let all: BTreeSet<HostRun> =
            work.active.iter().copied().chain(queued).chain(work.servers.queued()).collect();
        all.into_iter().collect()
    }

    /// Returns whether a run may wait for a server now. If not, the run stands in the server's queue, and is driven
    /// when it has a place.
    pub fn has_turn(&self, run: HostRun, server: &str) -> bool {
        let mut work = self.lock();
        let has_place = work.servers.has_place(server);
        if !has_place {
            work.servers.enqueue(run, server);
        }
        has_place
    }

    /// Begins a wait of a run for a server, without a slot. Returns `None` as [`Engine::has_turn`] returns `false`.
    pub fn wait_for_server(self: &Arc<Engine>, run: HostRun, server: &str) -> Option<Waiting> {
        let mut work = self.lock();
        if !work.servers.enter(run, server) {
            return None;
        }
        self.give_up_slot(&mut work, run);
        let engine = Arc::clone(self);
        Some(Waiting::new(move || {
            let mut work = engine.lock();
            work.servers.leave(run);
            if let Some(next) = work.servers.next() {
                work.enqueue(next);
            }
            engine.take_slot(work, run);
        }))
    }

    /// Begins a wait of a run for a party with an effect, without a slot, when few enough runs wait for the party.
    pub fn wait_for_party(self: &Arc<Engine>, run: HostRun, party: &str) -> Waiting {
        let mut work = self.lock();
        self.give_up_slot(&mut work, run);
        while work.effects.get(party).is_some_and(|count| *count >= MAX_EFFECTS_PER_PARTY)
            && !self.daemon.as_daemon().is_stopping()
        {
            work = self.await_turn(work);
        }
        *work.effects.entry(party.to_owned()).or_default() += 1;
        drop(work);
        let (engine, party) = (Arc::clone(self), party.to_owned());
        Waiting::new(move || {
            let mut work = engine.lock();
            if let Some(count) = work.effects.get_mut(&party) {
                *count -= 1;
                if *count == 0 {
                    work.effects.remove(&party);
                }
            }
            engine.turn.notify_all();
            engine.take_slot(work, run);
        })
    }

    /// Returns the switch that stops the present model call of a run.
    pub fn switch_of(&self, run: HostRun) -> Cancel {
        let switch = self.daemon.cancel.follower();
        self.lock().switches.insert(run, switch.clone());
        switch
    }

    /// Stops the model calls of runs that were cancelled.
    fn end_cancelled_calls(&self) {
        let switches = self.lock().switches.clone();
        for (at, switch) in switches {
            let found = self.daemon.for_host(at.host).run(at.run);
            if found.is_ok_and(|run| run.cancelled.is_some() || run.is_finished()) {
                switch.cancel();
            }
        }
    }

    fn give_up_slot(self: &Arc<Engine>, work: &mut EngineState, run: HostRun) {
        work.waiting.insert(run);
        self.spawn(work);
    }

    /// Waits until a run that was waiting has a slot again. If the daemon ends, the run goes on without one.
    fn take_slot(self: &Arc<Engine>, mut work: MutexGuard<'_, EngineState>, run: HostRun) {
        let ticket = work.ticket();
        work.returning.push_back((ticket, run));
        self.spawn(&mut work);
        while work.waiting.contains(&run) && !self.daemon.as_daemon().is_stopping() {
            work = self.await_turn(work);
        }
        work.returning.retain(|(_, other)| *other != run);
        work.waiting.remove(&run);
    }

    fn await_turn<'a>(&self, work: MutexGuard<'a, EngineState>) -> MutexGuard<'a, EngineState> {
        self.turn.wait_timeout(work, STOP_CHECK_INTERVAL).unwrap_or_else(PoisonError::into_inner).0
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

    /// Reported of other programs: openai/codex#5870 (a slow task holds up all others of a pool),
    /// NorthlandPositronics/Cogtrix#1734 (runs that only wait hold every thread).
    #[test]
    fn waiting_runs_hold_no_slot_and_get_one_back_in_turn() {
        let host = FormulaId { number: [1; 32], node: [2; 32] };
        let at = |run: u64| HostRun { host, run: RunNumber(run) };
        let mut state = EngineState::default();
        let most = MAX_AT_WORK as u64;
        (0..most + 2).for_each(|run| state.enqueue(at(run)));
        for run in 0..most {
            assert_eq!(state.next_with_slot(), Some((at(run), true)));
        }
        assert_eq!(state.next_with_slot(), None, "all slots are taken");
        // All of them wait for a server, so others may work.
        state.waiting = state.active.clone();
        assert_eq!(state.next_with_slot(), Some((at(most), true)));
        // A run that comes back stands behind those that came before, and before those that come later.
        state.returning.push_back((state.next_ticket + 1, at(0)));
        state.next_ticket += 1;
        state.enqueue(at(99));
        assert_eq!(state.next_with_slot(), Some((at(most + 1), true)));
        assert_eq!(state.next_with_slot(), Some((at(0), false)));
        assert!(!state.waiting.contains(&at(0)));
        assert_eq!(state.next_with_slot(), Some((at(99), true)));
        // Without a free thread, no run begins, but a waiting one goes on.
        state.active.extend((1000..1000 + MAX_THREADS as u64).map(at));
        state.waiting.extend(state.active.clone());
        state.enqueue(at(5000));
        assert_eq!(state.next_with_slot(), None);
        state.returning.push_back((u64::MAX, at(1000)));
        assert_eq!(state.next_with_slot(), Some((at(1000), false)));
    }
}
