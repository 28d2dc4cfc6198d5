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

use kernel::table::Task;
use kernel::{FormulaId, Number, query};

use super::log;
use super::world::{Daemon, Shared};
use parcel::Parcel;
use process::Reserve;

/// How often somebody looks, if nothing wakes them.
const PAUSE: Duration = Duration::from_secs(1);

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
        Taker { shared, root, reserve, commits: None, known: BTreeSet::new(), lanes: BTreeMap::new() }.go();
    };
    match std::thread::Builder::new().name("vats".to_owned()).spawn(take) {
        Ok(thread) => Vats(Some(thread)),
        Err(e) => {
            log::line(&format!("no guest code will run: {e}"));
            Vats(None)
        }
    }
}

struct Taker {
    shared: Weak<Shared>,
    root: FormulaId,
    reserve: Arc<Reserve>,
    /// How many commits the store had when it was last looked at.
    commits: Option<u64>,
    /// Parked code that somebody works on, or that cannot run yet.
    known: BTreeSet<FormulaId>,
    /// One for each agent whose code runs.
    lanes: BTreeMap<Number, (Sender<Parcel>, JoinHandle<()>)>,
}

impl Taker {
    fn go(mut self) {
        let mut tick = 0;
        // Nothing is held while nothing is done: the daemon may end.
        while let Some(shared) = self.shared.upgrade().filter(|shared| !shared.is_stopping()) {
            self.look(&shared);
            tick = shared.news.wait(&self.root, tick, PAUSE).tick;
        }
        for (_, (parcels, thread)) in self.lanes {
            drop(parcels);
            let _ = thread.join();
        }
    }

    fn look(&mut self, shared: &Shared) {
        let commits = shared.store.stats().commits;
        if self.commits.replace(commits) == Some(commits) {
            return;
        }
        // A store that cannot be read is told of by all that need it.
        let Ok(tasks) = shared.read(|txn| query::outbox(txn, &self.root.number)) else { return };
        let parked = tasks.into_iter().filter_map(|task| match task {
            Task::Eval { eval } => Some(eval),
            _ => None,
        });
        let parked: BTreeSet<FormulaId> = parked.collect();
        self.known.retain(|eval| parked.contains(eval));
        for eval in parked {
            if !self.known.insert(eval) {
                continue;
            }
            match shared.read(|txn| parcel::of(txn, &eval)) {
                Ok(Some(parcel)) => self.hand_over(parcel),
                // Later it may be data: a promise settles.
                Ok(None) => drop(self.known.remove(&eval)),
                Err(_) => {}
            }
        }
        self.lanes.retain(|_, (_, thread)| !thread.is_finished());
    }

    fn hand_over(&mut self, parcel: Parcel) {
        let mut parcel = parcel;
        let agent = parcel.agent;
        if let Some((lane, _)) = self.lanes.get(&agent) {
            match lane.send(parcel) {
                Ok(()) => return,
                // It has just gone home.
                Err(back) => parcel = back.0,
            }
        }
        let (sender, parcels) = channel();
        let (shared, reserve, eval) = (self.shared.clone(), Arc::clone(&self.reserve), parcel.eval);
        // The receiver is here, so there is somebody to send to.
        let _ = sender.send(parcel);
        let lane = std::thread::Builder::new()
            .name("vat lane".to_owned())
            .spawn(move || lane::work(&shared, &reserve, &parcels));
        match lane {
            Ok(thread) => drop(self.lanes.insert(agent, (sender, thread))),
            Err(e) => {
                log::line(&format!("guest code waits: {e}"));
                self.known.remove(&eval);
            }
        }
    }
}
