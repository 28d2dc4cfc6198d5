//! The execution of endowed code: the daemon takes queued code from the outbox and runs it, in one process for each
//! agent.
//!
//! A [`lane`] runs the code of one agent, a [`session`] one piece of it in a heap of its own. The objects of a heap,
//! and all messages to it, go through a switchboard. On its other side is the object table that Endo's clients see as
//! well. The kernel records the messages that the heap sends and receives. [`Office`] takes the messages for objects
//! that code has made.

mod lane;
mod outcome;
mod parcel;
mod process;
mod session;
mod sleepers;
mod slots;

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

use crate::state::code_host::{CodeHost, Letter};
use crate::state::daemon::Daemon;
use crate::state::daemon::{HostDaemon, WeakHostDaemon};
use crate::state::log;
use control::exit::{Exit, Failure};
use control::protocol::CodeCount;
use lane::{Job, Lane, Window};
use parcel::Parked;
use process::Reserve;
use sleepers::{Sleepers, Wait};

/// How often somebody looks, if nothing wakes them.
const PAUSE: Duration = Duration::from_secs(1);

/// How many agents' code runs at one time; that of others waits.
const MOST_LANES: usize = 32;

/// The thread that takes up queued code, until the daemon ends.
#[must_use]
pub struct Vats(Option<JoinHandle<()>>);

impl Vats {
    /// Waits until all its threads have ended. The daemon has been told to end, so running code stays queued.
    pub fn end(self) {
        if let Some(thread) = self.0 {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Begins to take up parked code. `program` is this program.
pub fn start(daemon: &HostDaemon, program: PathBuf) -> Vats {
    let office = Arc::new(Office {
        shared: daemon.shared(),
        daemon: daemon.downgrade(),
        reserve: Arc::new(Reserve::new(program)),
        sleepers: Arc::default(),
        crowded: Arc::default(),
        lanes: Mutex::default(),
        begun: Mutex::default(),
    });
    let host: Arc<dyn CodeHost> = Arc::clone(&office) as Arc<dyn CodeHost>;
    daemon.open_vats(host);
    let (shared, root) = (daemon.shared(), daemon.host);
    let take = move || Taker { shared, root, office, commits: None, known: BTreeMap::new() }.go();
    match std::thread::Builder::new().name("vats".to_owned()).spawn(take) {
        Ok(thread) => Vats(Some(thread)),
        Err(e) => {
            log::line(&format!("no guest code will run: {e}"));
            Vats(None)
        }
    }
}

/// Returns where code goes, and messages to the objects that it has made.
pub struct Office {
    shared: Weak<Daemon>,
    daemon: WeakHostDaemon,
    reserve: Arc<Reserve>,
    sleepers: Arc<Sleepers>,
    crowded: Arc<AtomicBool>,
    lanes: Mutex<BTreeMap<Number, LaneThread>>,
    /// The code that an agent's thread has got and that has not ended, as of the last look.
    begun: Mutex<BTreeSet<FormulaId>>,
}

/// Where one agent's code goes.
struct LaneThread {
    jobs: Sender<Job>,
    window: Arc<Window>,
    thread: JoinHandle<()>,
}

impl Office {
    fn lanes(&self) -> MutexGuard<'_, BTreeMap<Number, LaneThread>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn author_of(&self, eval: &FormulaId) -> Result<Number, Failure> {
        let shared = self.shared.upgrade();
        let shared = shared.ok_or_else(|| Failure::new(Exit::NoDaemon, "the daemon ends"))?;
        let agent = shared.read(|txn| author(txn, eval))?;
        agent.ok_or_else(|| Failure::new(Exit::Failure, "the code that made this object is gone"))
    }

    /// Hands something to the lane of an agent; it comes back if there are too many of them just now.
    fn hand_over(&self, agent: Number, mut job: Job) -> Result<(), Box<Job>> {
        let mut lanes = self.lanes();
        if let Some(lane) = lanes.get(&agent) {
            match lane.jobs.send(job) {
                Ok(()) => {
                    lane.window.wake();
                    return Ok(());
                }
                // It has closed just now.
                Err(back) => job = back.0,
            }
        }
        lanes.retain(|_, lane| !lane.thread.is_finished());
        if lanes.len() >= MOST_LANES {
            // A thread that has been idle for a while makes room.
            self.crowded.store(true, Ordering::SeqCst);
            return Err(Box::new(job));
        }
        let (sender, jobs) = channel();
        let window = Arc::new(Window::default());
        let lane = Lane {
            shared: self.shared.clone(),
            daemon: self.daemon.clone(),
            reserve: Arc::clone(&self.reserve),
            sleepers: Arc::clone(&self.sleepers),
            window: Arc::clone(&window),
            crowded: Arc::clone(&self.crowded),
            sender: sender.clone(),
            jobs,
        };
        // The receiver is in the lane, so there is somebody to send to.
        let _ = sender.send(job);
        let thread = std::thread::Builder::new()
            .name("vat lane".to_owned())
            .stack_size(crate::state::thread_stack::STACK);
        match thread.spawn(move || lane.work()) {
            Ok(thread) => {
                lanes.insert(agent, LaneThread { jobs: sender, window, thread });
                Ok(())
            }
            Err(e) => {
                log::line(&format!("guest code waits: {e}"));
                Err(Box::new(Job::News))
            }
        }
    }

    /// Tells every lane that something in the store is new.
    fn tell_news(&self) {
        for lane in self.lanes().values() {
            if lane.jobs.send(Job::News).is_ok() {
                lane.window.wake();
            }
        }
    }

    /// Returns the agents at whose code somebody works.
    fn at_work(&self) -> BTreeSet<Number> {
        let lanes = self.lanes();
        lanes.iter().filter(|(_, lane)| !lane.thread.is_finished()).map(|(agent, _)| *agent).collect()
    }
}

impl CodeHost for Office {
    fn deliver(&self, letter: Letter) -> Result<(), Failure> {
        let agent = match self.author_of(&letter.target.eval) {
            Ok(agent) => agent,
            Err(failure) => {
                letter.reply.forget();
                return Err(failure);
            }
        };
        self.hand_over(agent, Job::Letter(letter)).map_err(|job| {
            if let Job::Letter(letter) = *job {
                letter.reply.forget();
            }
            Failure::new(Exit::Failure, "too much code runs just now: try again")
        })
    }

    fn cancel(&self, code: &CancelledCode) {
        let lanes = self.lanes();
        let Some(lane) = lanes.get(&code.author) else { return };
        let reason = code.reason.raw().to_owned();
        if lane.jobs.send(Job::Cancel { eval: code.eval, reason }).is_ok() {
            lane.window.wake();
        }
    }

    fn pins(&self) -> BTreeSet<FormulaId> {
        self.lanes().values().flat_map(|lane| lane.window.pins()).collect()
    }

    fn count(&self, shared: &Daemon) -> Result<CodeCount, Failure> {
        let tasks = shared.read(|txn| query::outbox(txn, &shared.root.number))?;
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut count = CodeCount::default();
        for eval in parked(tasks) {
            let place = match (self.sleepers.waits(&eval), begun.contains(&eval)) {
                (Some(_), _) => &mut count.asleep,
                (None, true) => &mut count.running,
                (None, false) => &mut count.waiting,
            };
            *place += 1;
        }
        Ok(count)
    }
}

/// Returns the agent beside whose code this code runs.
fn author(
    txn: &mut dyn kernel::txn::ReadTxn,
    eval: &FormulaId,
) -> Result<Option<Number>, kernel::txn::StoreFault> {
    let Some(Formula::Eval { author, .. }) = table::formula(txn, eval)?.map(|row| row.formula) else {
        return Ok(None);
    };
    Ok(Some(author))
}

/// Returns the code that is parked.
fn parked(tasks: Vec<Task>) -> impl Iterator<Item = FormulaId> {
    tasks.into_iter().filter_map(|task| match task {
        Task::Eval { eval } => Some(eval),
        _ => None,
    })
}

/// The last known state of queued code.
enum Known {
    /// It was handed to the lane of this agent.
    At(Number),
    /// It can run when this promise is settled.
    Waits(FormulaId),
}

struct Taker {
    shared: Weak<Daemon>,
    root: FormulaId,
    office: Arc<Office>,
    /// How many commits the store had when it was last looked at. `None`: it is looked at anyway.
    commits: Option<u64>,
    known: BTreeMap<FormulaId, Known>,
}

impl Taker {
    fn go(mut self) {
        let mut tick = 0;
        // Nothing is held while nothing is done: the daemon may end.
        while let Some(shared) = self.shared.upgrade().filter(|shared| !shared.is_stopping()) {
            // A store that cannot be read is told of by all that need it; it is tried again.
            if self.look(&shared).is_err() {
                self.commits = None;
            }
            tick = shared.news.wait(&self.root, tick, PAUSE).tick;
        }
        let lanes = std::mem::take(&mut *self.office.lanes());
        for (_, lane) in lanes {
            // It looks whether the daemon ends whenever there is anything to do.
            let _ = lane.jobs.send(Job::News);
            lane.window.wake();
            let _ = lane.thread.join();
        }
    }

    fn look(&mut self, shared: &Daemon) -> Result<(), Failure> {
        let at_work = self.office.at_work();
        let before = self.known.len();
        // Code that an agent's thread left undone is taken up again.
        let sleepers = Arc::clone(&self.office.sleepers);
        self.known.retain(|eval, known| {
            !matches!(known, Known::At(at) if !at_work.contains(at)) || sleepers.waits(eval).is_some()
        });
        if self.known.len() != before {
            self.commits = None;
        }
        let commits = shared.store.stats().commits;
        if self.commits.replace(commits) == Some(commits) {
            return Ok(());
        }
        self.office.tell_news();
        let tasks = shared.read(|txn| query::outbox(txn, &self.root.number))?;
        let parked: BTreeSet<FormulaId> = parked(tasks).collect();
        self.known.retain(|eval, _| parked.contains(eval));
        self.office.sleepers.keep(&parked);
        for eval in parked {
            let is_open = |promise: &FormulaId| -> Result<bool, Failure> {
                Ok(matches!(shared.read(|txn| table::promise(txn, promise))?, Some(PromiseRow::Pending)))
            };
            match self.known.get(&eval) {
                Some(Known::At(_)) => match self.office.sleepers.waits(&eval) {
                    None => continue,
                    Some(waits) => {
                        let open = |wait: &Wait| shared.read(|txn| wait.is_open(txn));
                        let all = waits.iter().map(open).collect::<Result<Vec<_>, _>>()?;
                        if all.iter().all(|open| *open) {
                            continue;
                        }
                        self.office.sleepers.wake(&eval);
                    }
                },
                Some(Known::Waits(promise)) if is_open(promise)? => continue,
                Some(Known::Waits(_)) | None => {}
            }
            let known = match shared.read(|txn| parcel::of(txn, &eval))? {
                Parked::Ready(parcel) | Parked::Broken(parcel, _) => {
                    match self.office.hand_over(parcel.agent, Job::Eval(eval)) {
                        Ok(()) => Known::At(parcel.agent),
                        // Later, when somebody has gone home.
                        Err(_) => {
                            self.commits = None;
                            continue;
                        }
                    }
                }
                Parked::Waits(promise) => Known::Waits(promise),
                Parked::Gone => continue,
            };
            self.known.insert(eval, known);
        }
        let begun = self.known.iter().filter(|(_, known)| matches!(known, Known::At(_)));
        let begun = begun.map(|(eval, _)| *eval).collect();
        *self.office.begun.lock().unwrap_or_else(PoisonError::into_inner) = begun;
        Ok(())
    }
}
