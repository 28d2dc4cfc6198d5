//! Code that was endowed runs: what is parked in the outbox is taken up, one process for each agent.
//!
//! So far, code runs whose names stand for data alone: such code is a function of its source, so a crash in the middle
//! of it costs nothing but time, and it is begun again. What was endowed with anything that can act stays parked.

mod lane;
mod parcel;
mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use kernel::table::{self, PromiseRow, Task};
use kernel::{FormulaId, Number, query};

use super::log;
use super::world::{Daemon, Shared};
use crate::exit::Failure;
use parcel::Parked;
use process::Reserve;

/// How often somebody looks, if nothing wakes them.
const PAUSE: Duration = Duration::from_secs(1);

/// How many agents' code runs at one time; that of others waits.
const MOST_LANES: usize = 32;

/// Whoever takes up parked code, until the daemon ends.
#[must_use]
pub struct Vats(Option<JoinHandle<()>>);

impl Vats {
    /// Waits until nothing of it is left. The daemon has been told to end: what runs stays parked.
    pub fn end(self) {
        if let Some(thread) = self.0 {
            // Whoever panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Begins to take up parked code. `program` is this program.
pub fn start(daemon: &Daemon, program: PathBuf) -> Vats {
    let (shared, root) = (daemon.shared(), daemon.host);
    let reserve = Arc::new(Reserve::new(program));
    let take = move || {
        Taker { shared, root, reserve, commits: None, known: BTreeMap::new(), lanes: BTreeMap::new() }.go();
    };
    match std::thread::Builder::new().name("vats".to_owned()).spawn(take) {
        Ok(thread) => Vats(Some(thread)),
        Err(e) => {
            log::line(&format!("no guest code will run: {e}"));
            Vats(None)
        }
    }
}

/// What is known of parked code.
enum Known {
    /// It was handed to the lane of this agent.
    At(Number),
    /// It can run when this promise is settled.
    Waits(FormulaId),
    /// It cannot run.
    Never,
}

/// Where one agent's code goes, one after the other.
struct Lane {
    evals: Sender<FormulaId>,
    thread: JoinHandle<()>,
}

struct Taker {
    shared: Weak<Shared>,
    root: FormulaId,
    reserve: Arc<Reserve>,
    /// How many commits the store had when it was last looked at. `None`: it is looked at anyway.
    commits: Option<u64>,
    known: BTreeMap<FormulaId, Known>,
    lanes: BTreeMap<Number, Lane>,
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
        for (_, lane) in self.lanes {
            drop(lane.evals);
            let _ = lane.thread.join();
        }
    }

    fn look(&mut self, shared: &Shared) -> Result<(), Failure> {
        self.see_who_is_gone();
        let commits = shared.store.stats().commits;
        if self.commits.replace(commits) == Some(commits) {
            return Ok(());
        }
        let tasks = shared.read(|txn| query::outbox(txn, &self.root.number))?;
        let parked = tasks.into_iter().filter_map(|task| match task {
            Task::Eval { eval } => Some(eval),
            _ => None,
        });
        let parked: BTreeSet<FormulaId> = parked.collect();
        self.known.retain(|eval, _| parked.contains(eval));
        for eval in parked {
            match self.known.get(&eval) {
                Some(Known::At(_) | Known::Never) => continue,
                Some(Known::Waits(promise)) => {
                    let row = shared.read(|txn| table::promise(txn, promise))?;
                    if matches!(row, Some(PromiseRow::Pending)) {
                        continue;
                    }
                }
                None => {}
            }
            let known = match shared.read(|txn| parcel::of(txn, &eval))? {
                Parked::Ready(parcel) => match self.hand_over(parcel.agent, eval) {
                    Some(known) => known,
                    // Later, when somebody has gone home.
                    None => continue,
                },
                Parked::Waits(promise) => Known::Waits(promise),
                Parked::Never => Known::Never,
            };
            self.known.insert(eval, known);
        }
        Ok(())
    }

    /// What a lane has left undone, or what it was handed when it had already closed, is taken up again.
    fn see_who_is_gone(&mut self) {
        let gone: Vec<Number> = self
            .lanes
            .iter()
            .filter(|(_, lane)| lane.thread.is_finished())
            .map(|(agent, _)| *agent)
            .collect();
        for agent in gone {
            self.lanes.remove(&agent);
            self.known.retain(|_, known| !matches!(known, Known::At(at) if *at == agent));
            self.commits = None;
        }
    }

    /// Hands code to the lane of its agent. `None` if there are too many of them just now.
    fn hand_over(&mut self, agent: Number, eval: FormulaId) -> Option<Known> {
        // One that closes just now is seen to be gone the next time.
        if let Some(lane) = self.lanes.get(&agent) {
            let _ = lane.evals.send(eval);
            return Some(Known::At(agent));
        }
        if self.lanes.len() >= MOST_LANES {
            self.commits = None;
            return None;
        }
        let (evals, taken) = channel();
        // The receiver is here, so there is somebody to send to.
        let _ = evals.send(eval);
        let (shared, reserve) = (self.shared.clone(), Arc::clone(&self.reserve));
        let lane = std::thread::Builder::new()
            .name("vat lane".to_owned())
            .spawn(move || lane::work(&shared, &reserve, &taken));
        match lane {
            Ok(thread) => {
                self.lanes.insert(agent, Lane { evals, thread });
                Some(Known::At(agent))
            }
            Err(e) => {
                log::line(&format!("guest code waits: {e}"));
                self.commits = None;
                None
            }
        }
    }
}
