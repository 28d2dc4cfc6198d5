//! The execution of guest code. The daemon takes queued code from the outbox and runs it, in one process for each
//! agent.
//!
//! An [`agent_thread`] runs the code of one agent. A [`session`] runs one piece of that code in a heap of its own.
//! The objects of a heap, and all messages to them, go through a switchboard. The switchboard's other side is an
//! object table like the one that Endo's clients see. The kernel records the messages that the heap sends and
//! receives. [`CodeExecutor`] takes the messages for objects that code has made.

mod agent_thread;
mod code_job;
mod heap_references;
mod outcome;
mod process_losses;
mod process_pool;
mod session;
mod suspended_code;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use kernel::command::CancelledCode;
use kernel::formula::Formula;
use kernel::table::{self, PromiseRow, Task};
use kernel::{FormulaId, Number, query};

use crate::state::code_host::{CodeHost, ObjectMessage};
use crate::state::daemon::Daemon;
use crate::state::daemon::{HostDaemon, WeakHostDaemon};
use crate::state::log;
use agent_thread::{AgentThread, ThreadJob, ThreadMonitor};
use code_job::QueuedCode;
use control::exit::{Exit, Failure};
use control::protocol::CodeCount;
use process_pool::ProcessPool;
use suspended_code::{SuspendedCode, WaitTarget};

/// The time after which the queue is checked even if nothing has woken its thread.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum number of agents whose code runs at the same time. The code of other agents waits.
const MAX_AGENT_THREADS: usize = 32;

/// The thread that takes up queued code, until the daemon ends.
#[must_use]
pub struct ExecutorThread(Option<JoinHandle<()>>);

impl ExecutorThread {
    /// Waits until all threads for code have ended. By then the daemon has been told to end, so running code stays
    /// queued.
    pub fn end(self) {
        if let Some(thread) = self.0 {
            // A panic of the thread has already been reported.
            let _ = thread.join();
        }
    }
}

/// Starts to take up queued code. `program` is the path of this executable, which also runs the guest processes.
pub fn start(daemon: &HostDaemon, program: PathBuf) -> ExecutorThread {
    let office = Arc::new(CodeExecutor {
        shared: daemon.shared(),
        daemon: daemon.downgrade(),
        pool: Arc::new(ProcessPool::new(program)),
        suspended: Arc::default(),
        is_crowded: Arc::default(),
        threads: Mutex::default(),
        assigned: Mutex::default(),
    });
    let host: Arc<dyn CodeHost> = Arc::clone(&office) as Arc<dyn CodeHost>;
    daemon.set_code_host(host);
    let (shared, root) = (daemon.shared(), daemon.host);
    let take =
        move || QueuePoller { shared, root, executor: office, commits: None, known: BTreeMap::new() }.run();
    match std::thread::Builder::new().name("vats".to_owned()).spawn(take) {
        Ok(thread) => ExecutorThread(Some(thread)),
        Err(e) => {
            log::line(&format!("no guest code will run: {e}"));
            ExecutorThread(None)
        }
    }
}

/// The dispatcher of guest code and of messages to the objects that guest code has made.
pub struct CodeExecutor {
    shared: Weak<Daemon>,
    daemon: WeakHostDaemon,
    pool: Arc<ProcessPool>,
    suspended: Arc<SuspendedCode>,
    is_crowded: Arc<AtomicBool>,
    threads: Mutex<BTreeMap<Number, AgentThreadHandle>>,
    /// The code that an agent's thread has and that has not ended, as of the last check.
    assigned: Mutex<BTreeSet<FormulaId>>,
}

/// The handle to the thread of one agent's code.
struct AgentThreadHandle {
    jobs: Sender<ThreadJob>,
    monitor: Arc<ThreadMonitor>,
    thread: JoinHandle<()>,
}

impl CodeExecutor {
    fn lock_threads(&self) -> MutexGuard<'_, BTreeMap<Number, AgentThreadHandle>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn author_of(&self, eval: &FormulaId) -> Result<Number, Failure> {
        let shared = self.shared.upgrade();
        let shared = shared.ok_or_else(|| Failure::new(Exit::NoDaemon, "the daemon ends"))?;
        let agent = shared.read(|txn| author(txn, eval))?;
        agent.ok_or_else(|| Failure::new(Exit::Failure, "the code that made this object is gone"))
    }

    /// Sends a job to the thread of an agent, which is started if needed. Returns the job if too many threads run
    /// now.
    fn assign_job(&self, agent: Number, mut job: ThreadJob) -> Result<(), Box<ThreadJob>> {
        let mut lanes = self.lock_threads();
        if let Some(lane) = lanes.get(&agent) {
            match lane.jobs.send(job) {
                Ok(()) => {
                    lane.monitor.wake();
                    return Ok(());
                }
                // The thread has just ended.
                Err(back) => job = back.0,
            }
        }
        lanes.retain(|_, lane| !lane.thread.is_finished());
        if lanes.len() >= MAX_AGENT_THREADS {
            // A thread that has been idle for a while ends and makes room.
            self.is_crowded.store(true, Ordering::SeqCst);
            return Err(Box::new(job));
        }
        let (sender, jobs) = channel();
        let window = Arc::new(ThreadMonitor::default());
        let lane = AgentThread {
            shared: self.shared.clone(),
            daemon: self.daemon.clone(),
            pool: Arc::clone(&self.pool),
            suspended: Arc::clone(&self.suspended),
            monitor: Arc::clone(&window),
            is_crowded: Arc::clone(&self.is_crowded),
            sender: sender.clone(),
            jobs,
        };
        // The new thread has the receiver, so sending cannot fail.
        let _ = sender.send(job);
        let thread = std::thread::Builder::new()
            .name("vat lane".to_owned())
            .stack_size(crate::state::thread_stack::STACK_SIZE);
        match thread.spawn(move || lane.run()) {
            Ok(thread) => {
                lanes.insert(agent, AgentThreadHandle { jobs: sender, monitor: window, thread });
                Ok(())
            }
            Err(e) => {
                log::line(&format!("guest code waits: {e}"));
                Err(Box::new(ThreadJob::News))
            }
        }
    }

    /// Tells every thread that the store has changed.
    fn notify_threads(&self) {
        for lane in self.lock_threads().values() {
            if lane.jobs.send(ThreadJob::News).is_ok() {
                lane.monitor.wake();
            }
        }
    }

    /// Returns the agents that have a running thread.
    fn active_agents(&self) -> BTreeSet<Number> {
        let lanes = self.lock_threads();
        lanes.iter().filter(|(_, lane)| !lane.thread.is_finished()).map(|(agent, _)| *agent).collect()
    }
}

impl CodeHost for CodeExecutor {
    fn deliver(&self, letter: ObjectMessage) -> Result<(), Failure> {
        let agent = match self.author_of(&letter.target.eval) {
            Ok(agent) => agent,
            Err(failure) => {
                letter.reply.discard();
                return Err(failure);
            }
        };
        self.assign_job(agent, ThreadJob::Message(letter)).map_err(|job| {
            if let ThreadJob::Message(letter) = *job {
                letter.reply.discard();
            }
            Failure::new(Exit::Failure, "too much code runs just now: try again")
        })
    }

    fn cancel(&self, code: &CancelledCode) {
        let lanes = self.lock_threads();
        let Some(lane) = lanes.get(&code.author) else { return };
        let reason = code.reason.raw().to_owned();
        if lane.jobs.send(ThreadJob::Cancel { eval: code.eval, reason }).is_ok() {
            lane.monitor.wake();
        }
    }

    fn pins(&self) -> BTreeSet<FormulaId> {
        self.lock_threads().values().flat_map(|lane| lane.monitor.pins()).collect()
    }

    fn count(&self, shared: &Daemon) -> Result<CodeCount, Failure> {
        let tasks = shared.read(|txn| query::outbox(txn, &shared.root.number))?;
        let begun = self.assigned.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut count = CodeCount::default();
        for eval in queued_code(tasks) {
            let place = match (self.suspended.targets(&eval), begun.contains(&eval)) {
                (Some(_), _) => &mut count.asleep,
                (None, true) => &mut count.running,
                (None, false) => &mut count.waiting,
            };
            *place += 1;
        }
        Ok(count)
    }
}

/// Returns the agent that wrote the code of a formula, and in whose process the code runs.
fn author(
    txn: &mut dyn kernel::txn::ReadTxn,
    eval: &FormulaId,
) -> Result<Option<Number>, kernel::txn::StoreFault> {
    let Some(Formula::Eval { author, .. }) = table::formula(txn, eval)?.map(|row| row.formula) else {
        return Ok(None);
    };
    Ok(Some(author))
}

/// Returns the code among the tasks of the outbox.
fn queued_code(tasks: Vec<Task>) -> impl Iterator<Item = FormulaId> {
    tasks.into_iter().filter_map(|task| match task {
        Task::Eval { eval } => Some(eval),
        _ => None,
    })
}

/// The last known state of queued code.
enum QueuedState {
    /// The code was given to the thread of this agent.
    Assigned(Number),
    /// The code can run once this promise is settled.
    Waiting(FormulaId),
}

struct QueuePoller {
    shared: Weak<Daemon>,
    root: FormulaId,
    executor: Arc<CodeExecutor>,
    /// The number of commits in the store at the last check. With `None`, the next check happens even if the store is
    /// unchanged.
    commits: Option<u64>,
    known: BTreeMap<FormulaId, QueuedState>,
}

impl QueuePoller {
    fn run(mut self) {
        let mut tick = 0;
        // The thread holds no reference to the daemon while it waits, so that the daemon can end.
        while let Some(shared) = self.shared.upgrade().filter(|shared| !shared.is_stopping()) {
            // A store that cannot be read is reported by the threads that need it. This thread tries again.
            if self.poll(&shared).is_err() {
                self.commits = None;
            }
            tick = shared.news.wait(&self.root, tick, POLL_INTERVAL).tick;
        }
        let lanes = std::mem::take(&mut *self.executor.lock_threads());
        for (_, lane) in lanes {
            // The thread checks whether the daemon ends whenever it gets a job.
            let _ = lane.jobs.send(ThreadJob::News);
            lane.monitor.wake();
            let _ = lane.thread.join();
        }
    }

    fn poll(&mut self, shared: &Daemon) -> Result<(), Failure> {
        let at_work = self.executor.active_agents();
        let before = self.known.len();
        // Code that an agent's thread left unfinished when it ended is taken up again.
        let sleepers = Arc::clone(&self.executor.suspended);
        self.known.retain(|eval, known| {
            !matches!(known, QueuedState::Assigned(at) if !at_work.contains(at))
                || sleepers.targets(eval).is_some()
        });
        if self.known.len() != before {
            self.commits = None;
        }
        let commits = shared.store.stats().commits;
        if self.commits.replace(commits) == Some(commits) {
            return Ok(());
        }
        self.executor.notify_threads();
        let tasks = shared.read(|txn| query::outbox(txn, &self.root.number))?;
        let parked: BTreeSet<FormulaId> = queued_code(tasks).collect();
        self.known.retain(|eval, _| parked.contains(eval));
        self.executor.suspended.retain(&parked);
        for eval in parked {
            let is_open = |promise: &FormulaId| -> Result<bool, Failure> {
                Ok(matches!(shared.read(|txn| table::promise(txn, promise))?, Some(PromiseRow::Pending)))
            };
            match self.known.get(&eval) {
                Some(QueuedState::Assigned(_)) => match self.executor.suspended.targets(&eval) {
                    None => continue,
                    Some(waits) => {
                        let open = |wait: &WaitTarget| shared.read(|txn| wait.is_open(txn));
                        let all = waits.iter().map(open).collect::<Result<Vec<_>, _>>()?;
                        if all.iter().all(|open| *open) {
                            continue;
                        }
                        self.executor.suspended.remove(&eval);
                    }
                },
                Some(QueuedState::Waiting(promise)) if is_open(promise)? => continue,
                Some(QueuedState::Waiting(_)) | None => {}
            }
            let known = match shared.read(|txn| code_job::load_queued(txn, &eval))? {
                QueuedCode::Ready(parcel) | QueuedCode::Broken(parcel, _) => {
                    match self.executor.assign_job(parcel.agent, ThreadJob::Eval(eval)) {
                        Ok(()) => QueuedState::Assigned(parcel.agent),
                        // Too many threads run. The code is tried again later.
                        Err(_) => {
                            self.commits = None;
                            continue;
                        }
                    }
                }
                QueuedCode::Waiting(promise) => QueuedState::Waiting(promise),
                QueuedCode::Ended => continue,
            };
            self.known.insert(eval, known);
        }
        let begun = self.known.iter().filter(|(_, known)| matches!(known, QueuedState::Assigned(_)));
        let begun = begun.map(|(eval, _)| *eval).collect();
        *self.executor.assigned.lock().unwrap_or_else(PoisonError::into_inner) = begun;
        Ok(())
    }
}
