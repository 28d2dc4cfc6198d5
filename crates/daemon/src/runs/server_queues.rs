//! The queues of runs at the servers of models.
//!
//! A run that waits for a server holds a thread, so only some may wait at the same time. A run without a place gives
//! up its thread and stands in the queue of its server. No server can take the places of all others.

use std::collections::{BTreeMap, VecDeque};

use kernel::HostRun;

/// The maximum number of runs that may wait for servers at the same time.
const MAX_WAITING: usize = 128;
/// The maximum number of runs that may wait for one server at the same time.
const MAX_WAITING_PER_SERVER: usize = 32;
/// The number of places that are left to servers for which no run waits.
const SPARE_PLACES: usize = 32;

/// The runs that wait for servers, and those that stand in a queue for a place.
#[derive(Default)]
pub struct ServerQueues {
    waiting: BTreeMap<HostRun, String>,
    /// The queue of each server, first come first. No queue is empty.
    queues: BTreeMap<String, VecDeque<HostRun>>,
    /// The server whose queue was served last.
    last: String,
}

impl ServerQueues {
    /// Returns whether one more run may wait for a server.
    pub fn has_place(&self, server: &str) -> bool {
        let there = self.waiting.values().filter(|other| *other == server).count();
        let most = if there == 0 { MAX_WAITING } else { MAX_WAITING - SPARE_PLACES };
        there < MAX_WAITING_PER_SERVER && self.waiting.len() < most
    }

    /// Lets a run wait for a server. Returns `false`, and puts the run into the server's queue, if there is no place.
    pub fn enter(&mut self, run: HostRun, server: &str) -> bool {
        if !self.has_place(server) {
            self.enqueue(run, server);
            return false;
        }
        self.remove(run);
        self.waiting.insert(run, server.to_owned());
        true
    }

    /// Puts a run into the queue of a server, unless it is there already.
    pub fn enqueue(&mut self, run: HostRun, server: &str) {
        if !self.is_queued(run) {
            self.queues.entry(server.to_owned()).or_default().push_back(run);
        }
    }

    /// Ends the wait of a run for its server.
    pub fn leave(&mut self, run: HostRun) {
        self.waiting.remove(&run);
    }

    /// Takes the next run out of the queues whose server has a place. The servers take turns.
    pub fn next(&mut self) -> Option<HostRun> {
        let behind = self.queues.keys().filter(|server| **server > self.last);
        let before = self.queues.keys().filter(|server| **server <= self.last);
        let server = behind.chain(before).find(|server| self.has_place(server))?.clone();
        let run = self.queues.get(&server)?.front().copied()?;
        self.remove(run);
        self.last = server;
        Some(run)
    }

    /// Returns whether a run stands in a queue.
    pub fn is_queued(&self, run: HostRun) -> bool {
        self.queued().any(|other| other == run)
    }

    /// Returns the runs that stand in a queue.
    pub fn queued(&self) -> impl Iterator<Item = HostRun> {
        self.queues.values().flatten().copied()
    }

    fn remove(&mut self, run: HostRun) {
        self.queues.retain(|_, queue| {
            queue.retain(|other| *other != run);
            !queue.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use kernel::{FormulaId, RunNumber};

    use super::*;

    fn run(number: u64) -> HostRun {
        HostRun { host: FormulaId { number: [1; 32], node: [2; 32] }, run: RunNumber(number) }
    }

    /// Lets runs wait for a server until there is no place. Returns their number.
    fn fill(queues: &mut ServerQueues, first: u64, server: &str) -> u64 {
        (0..).find(|n| !queues.enter(run(first + n), server)).unwrap()
    }

    /// Reported of other programs: openai/codex#5870 (one slow task holds up the next ones), opensearch-project/
    /// search-relevance#387 (tasks that wait hold all threads of a pool).
    #[test]
    fn one_server_never_takes_the_places_of_others() {
        let mut queues = ServerQueues::default();
        let mut taken = 0;
        for (i, server) in ["a", "b", "c"].into_iter().enumerate() {
            let places = fill(&mut queues, 1000 * i as u64, server);
            assert_eq!(places as usize, MAX_WAITING_PER_SERVER, "{server}");
            taken += places as usize;
        }
        assert_eq!(taken, MAX_WAITING - SPARE_PLACES);
        // The spare places go to servers for which no run waits, one each.
        for i in 0..SPARE_PLACES as u64 {
            let server = format!("spare {i}");
            assert!(queues.enter(run(10_000 + 10 * i), &server), "{server}");
            assert!(!queues.enter(run(10_001 + 10 * i), &server), "{server}");
        }
        assert!(!queues.has_place("another"));
    }

    #[test]
    fn queued_runs_get_places_in_order_and_servers_take_turns() {
        let mut queues = ServerQueues::default();
        let (a, b) = (fill(&mut queues, 1000, "a"), fill(&mut queues, 2000, "b"));
        // The run that found no place stands first in each queue.
        queues.enter(run(1500), "a");
        queues.enter(run(2500), "b");
        assert_eq!(queues.next(), None, "no server has a place");
        assert!(queues.is_queued(run(1500)) && !queues.is_queued(run(1000)));
        for n in 0..2 {
            queues.leave(run(1000 + n));
            queues.leave(run(2000 + n));
        }
        let order: Vec<_> = std::iter::from_fn(|| queues.next()).collect();
        assert_eq!(order, [run(1000 + a), run(2000 + b), run(1500), run(2500)]);
        // Each place that was left is taken once.
        assert!(queues.enter(run(1000 + a), "a") && queues.enter(run(1500), "a"));
        assert!(!queues.enter(run(1600), "a"));
        assert_eq!(queues.queued().collect::<Vec<_>>(), [run(1600)]);
    }
}
