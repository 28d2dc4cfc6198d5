//! The way to other machines, from the environment of this process and the user's settings.

use std::sync::{Arc, Mutex, PoisonError};

use network::{Environment, Network, NetworkSettings};

use crate::place::Place;
use crate::settings::{self, SettingsWatcher};

/// The source of the present way to other machines. It follows the settings; the environment stays as it was at the
/// start of the process.
pub struct NetworkSource {
    environment: Environment,
    state: Mutex<SourceState>,
}

struct SourceState {
    settings: SettingsWatcher,
    known: Option<(NetworkSettings, Arc<Network>)>,
}

impl NetworkSource {
    /// Returns the source for a place.
    pub fn new(place: &Place) -> NetworkSource {
        let settings = SettingsWatcher::new(settings::path(place));
        NetworkSource {
            environment: own_environment(),
            state: Mutex::new(SourceState { settings, known: None }),
        }
    }

    /// Returns the present way to other machines.
    pub fn current(&self) -> Arc<Network> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = state.settings.reload().0.network.clone();
        if let Some((of, network)) = &state.known
            && *of == settings
        {
            return Arc::clone(network);
        }
        let network = Arc::new(Network::new(&settings, &self.environment));
        state.known = Some((settings, Arc::clone(&network)));
        network
    }
}

/// Returns the variables of this process that count for the way to other machines.
pub fn own_environment() -> Environment {
    Environment::read(|name| std::env::var_os(name))
}
