//! The runs and steps behind events. A daemon that ends meanwhile is waited for.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use kernel::run::{Run, Step};
use kernel::{RunNumber, StepRef};

use super::identity::LogId;
use crate::client::Client;
use crate::session::Session;
use config::place::Place;
use control::ask::unexpected;
use control::exit::{Exit, Failure};
use control::protocol::{Request, Response};

use super::super::feed;

/// The maximum number of runs whose first run is remembered.
const MAX_ROOTS: usize = 4096;

/// The time between two connections to a daemon.
const CONNECT_INTERVAL: Duration = Duration::from_millis(200);

/// The reader of runs and steps.
pub(super) struct JournalReader<'a> {
    place: &'a Place,
    agent: Option<&'a str>,
    client: Option<Client>,
    log: Option<LogId>,
    /// The first run above each run, or `None` for the journal of an agent.
    roots: BTreeMap<RunNumber, Option<RunNumber>>,
}

impl<'a> JournalReader<'a> {
    /// Returns a reader for the agent of a session.
    pub(super) fn new(acting: &Session<'a>) -> JournalReader<'a> {
        let (place, agent) = (acting.place, acting.agent);
        JournalReader { place, agent, client: None, log: None, roots: BTreeMap::new() }
    }

    /// Returns the identity of the log.
    ///
    /// # Errors
    /// When the log has no event, or cannot be read.
    pub(super) fn log(&mut self) -> Result<LogId, Failure> {
        if let Some(log) = self.log {
            return Ok(log);
        }
        let first = feed::event(1, |request| self.ask(request))?
            .ok_or_else(|| Failure::new(Exit::Failure, "cannot read the first event of the log"))?;
        Ok(*self.log.insert(LogId(first.hash)))
    }

    /// Returns a run, if the store still has it.
    ///
    /// # Errors
    /// When the daemon cannot read the store.
    pub(super) fn run(&mut self, run: RunNumber) -> Result<Option<Run>, Failure> {
        match self.ask(Request::GetRun { run }) {
            Ok(Response::Run(run)) => Ok(Some(*run)),
            Ok(other) => Err(unexpected(&other)),
            Err(failure) if failure.exit == Exit::NotFound => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Returns a step, if the store still has it.
    ///
    /// # Errors
    /// When the daemon cannot read the store.
    pub(super) fn step(&mut self, at: StepRef) -> Result<Option<Step>, Failure> {
        match self.ask(Request::Journal { run: at.run, from: at.step, limit: Some(1) }) {
            Ok(Response::Journal(steps)) => Ok(steps.into_iter().find(|step| step.number == at.step)),
            Ok(other) => Err(unexpected(&other)),
            Err(failure) if failure.exit == Exit::NotFound => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the first run above a run, which can be the run itself. Returns `None` for the journal of an agent, whose
    /// calls belong to no run.
    ///
    /// # Errors
    /// When the daemon cannot read the store.
    pub(super) fn root(&mut self, run: RunNumber) -> Result<Option<RunNumber>, Failure> {
        if let Some(known) = self.roots.get(&run) {
            return Ok(*known);
        }
        let found = self.run(run)?;
        let root = match found.as_ref().map(|found| (found.is_agent_journal(), found.parent)) {
            Some((true, _)) => None,
            Some((false, Some(parent))) => self.root(parent.run)?,
            Some((false, None)) | None => Some(run),
        };
        if self.roots.len() >= MAX_ROOTS {
            self.roots.clear();
        }
        self.roots.insert(run, root);
        Ok(root)
    }

    fn ask(&mut self, request: Request) -> Result<Response, Failure> {
        loop {
            let mut client = match self.client.take() {
                Some(client) => client,
                None => Client::await_daemon(self.place, None)?.on_behalf_of(self.agent),
            };
            match client.ask(request.clone()) {
                Err(failure) if failure.exit == Exit::NoDaemon => thread::sleep(CONNECT_INTERVAL),
                answer => {
                    self.client = Some(client);
                    return answer;
                }
            }
        }
    }
}
