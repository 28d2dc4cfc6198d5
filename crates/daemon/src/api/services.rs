//! The services of the daemon that answering a request needs.

use std::sync::Arc;

use kernel::FormulaId;

use super::web::WebPages;
use crate::runs::engine::Engine;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;

/// The services, for one host.
#[derive(Clone)]
pub struct Services {
    /// The daemon, as it serves the host.
    pub daemon: HostDaemon,
    /// The engine that drives the runs of all hosts.
    pub engine: Arc<Engine>,
    /// The web pages, open or not.
    pub web: Arc<WebPages>,
}

impl Services {
    /// Returns the services for the daemon's own host.
    pub fn new(daemon: HostDaemon) -> Services {
        let web = Arc::new(WebPages::new(&daemon.place.state));
        Services { engine: Engine::new(daemon.clone()), daemon, web }
    }

    /// Returns the services for an agent, which must be a host. `name` is what the person calls it.
    ///
    /// # Errors
    /// When the agent is a guest.
    pub fn for_agent(&self, agent: FormulaId, name: Option<&str>) -> Result<Services, Failure> {
        Ok(Services { daemon: self.daemon.host_of(agent, name)?, ..self.clone() })
    }
}
