//! The parts of the daemon that are needed to answer a request.

use std::sync::Arc;

use kernel::FormulaId;

use super::web::WebPages;
use crate::runs::engine::Engine;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;

/// The parts of the daemon that answer the requests of one host.
#[derive(Clone)]
pub struct Services {
    /// The daemon, with the host that it serves.
    pub daemon: HostDaemon,
    /// The engine that drives the runs of all hosts.
    pub engine: Arc<Engine>,
    /// The web pages, whether or not they are open.
    pub web: Arc<WebPages>,
}

impl Services {
    /// Returns the services for the daemon's own host.
    pub fn new(daemon: HostDaemon) -> Services {
        let web = Arc::new(WebPages::new(&daemon.place.state));
        Services { engine: Engine::new(daemon.clone()), daemon, web }
    }

    /// Returns the services for an agent, which must be a host. `name` is the user's name for the agent.
    ///
    /// # Errors
    /// When the agent is a guest.
    pub fn for_agent(&self, agent: FormulaId, name: Option<&str>) -> Result<Services, Failure> {
        Ok(Services { daemon: self.daemon.host_of(agent, name)?, ..self.clone() })
    }
}
