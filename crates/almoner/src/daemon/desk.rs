//! Desks: where a client is answered, each for one host.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kernel::FormulaId;
use kernel::command::{Act, Outcome, Said};
use kernel::formula::Formula;
use kernel::table;
use passable::visible_line;

use super::asked::AskedBefore;
use super::engine::Engine;
use super::own::Own;
use super::reader::Reader;
use super::threads::Threads;
use super::web::WebPages;
use super::world::Daemon;
use config::place::Place;
use control::exit::{Exit, Failure};

/// Everything that answering needs.
#[derive(Clone)]
pub struct Desk {
    /// The daemon, as it serves the desk's host.
    pub daemon: Daemon,
    /// What drives the runs of all hosts.
    pub engine: Arc<Engine>,
    /// Where everything lies.
    pub place: Arc<Place>,
    /// The directory of what belongs to this daemon, its store among it.
    pub state: Arc<Path>,
    /// The directory of what the user writes.
    pub config: Arc<Path>,
    /// What is handed to nobody.
    pub own: Arc<Own>,
    /// Which messages answer which.
    pub threads: Arc<Threads>,
    /// What was asked before.
    pub asked: Arc<AskedBefore>,
    /// The web pages, if they are open.
    pub web: Arc<WebPages>,
    /// What reads proposed code.
    pub reader: Arc<Reader>,
}

impl Desk {
    /// Returns the desk of the daemon's own host. `program` is this program, which reads proposed code in a process of
    /// its own.
    pub fn new(daemon: Daemon, place: &Place, program: PathBuf) -> Desk {
        Desk {
            engine: Engine::new(daemon.clone()),
            daemon,
            place: Arc::new(place.clone()),
            state: place.state.as_path().into(),
            config: place.config.as_path().into(),
            own: Arc::new(Own::of(place)),
            threads: Arc::default(),
            asked: Arc::default(),
            web: Arc::new(WebPages::new(&place.state)),
            reader: Arc::new(Reader::new(program)),
        }
    }

    /// The desk of an agent, which must be a host: nobody else has runs.
    ///
    /// # Errors
    /// When it is a guest. `name` is what the person calls it.
    pub fn of(&self, agent: FormulaId, name: Option<&str>) -> Result<Desk, Failure> {
        if agent == self.daemon.host {
            return Ok(self.clone());
        }
        let row = self.daemon.read(|txn| table::formula(txn, &agent))?;
        if let Some(Formula::Host { .. }) = row.map(|row| row.formula) {
            return Ok(Desk { daemon: self.daemon.of(agent), ..self.clone() });
        }
        let name = visible_line(name.unwrap_or("it"));
        let message = format!("`{name}` is a guest: only a host has runs, approvals and events");
        Err(Failure::new(Exit::Denied, message).help(format!(
            "say `--as` with a host's name, or nothing; a guest proposes a worker (`almoner --as {name} define FILE`), \
             and its host endows it"
        )))
    }

    /// Applies one act of an agent, and lets runs that it made ready go on.
    ///
    /// # Errors
    /// When it is not done.
    pub fn apply_as(&self, agent: FormulaId, said: Option<Said>, act: Act) -> Result<Outcome, Failure> {
        let outcome = self.daemon.apply_as(agent, said, act)?;
        outcome.ready.iter().for_each(|one| self.engine.drive(*one));
        Ok(outcome)
    }

    /// Applies one act of the desk's host, and lets runs that it made ready go on.
    ///
    /// # Errors
    /// When it is not done.
    pub fn apply(&self, act: Act) -> Result<Outcome, Failure> {
        self.apply_as(self.daemon.host, None, act)
    }
}
