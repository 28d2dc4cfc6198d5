//! The way to other machines, from the environment of this process and the user's settings.

use std::sync::{Arc, Mutex, PoisonError};

use network::{Egress, Environment, Network, NetworkSettings};

use crate::managed;
use crate::place::Place;
use crate::settings::{self, SettingsWatcher};

/// The source of the present way to other machines. It follows the settings and the rules of the machine's
/// administrator; the environment stays as it was at the start of the process.
pub struct NetworkSource {
    environment: Environment,
    state: Mutex<SourceState>,
}

struct SourceState {
    settings: SettingsWatcher,
    known: Option<KnownNetwork>,
}

/// The network that was made last, and the settings and rules behind it.
struct KnownNetwork {
    settings: NetworkSettings,
    egress: Option<Arc<Egress>>,
    network: Arc<Network>,
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

    /// Returns the present way to other machines. It reaches nothing if the settings were never read without a fault,
    /// or if the rules of the machine's administrator cannot be followed.
    pub fn current(&self) -> Arc<Network> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = match state.settings.reload_strictly() {
            Ok(settings) => settings.network.clone(),
            // The file may name the only proxy that is allowed, so nothing is reached without it.
            Err(fault) => return Arc::new(Network::unusable(fault)),
        };
        let egress = match managed::current() {
            Ok(rules) => rules.egress(),
            Err(fault) => return Arc::new(Network::unusable(&fault.to_string())),
        };
        if let Some(known) = &state.known
            && known.settings == settings
            && known.egress == egress
        {
            return Arc::clone(&known.network);
        }
        let network = Network::new(&settings, &self.environment).with_egress(egress.clone());
        let network = Arc::new(network);
        state.known = Some(KnownNetwork { settings, egress, network: Arc::clone(&network) });
        network
    }
}

/// Returns the variables of this process that count for the way to other machines.
pub fn own_environment() -> Environment {
    Environment::read(|name| std::env::var_os(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_settings_at_the_start_reach_no_server() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::under(dir.path());
        std::fs::create_dir_all(&place.config).unwrap();
        let file = settings::path(&place);
        let reach = |source: &NetworkSource| source.current().is_proxied("https://example.com/");
        std::fs::write(&file, "[network]\nproxy = http://127.0.0.1:3128\n").unwrap();
        let source = NetworkSource::new(&place);
        let fault = reach(&source).unwrap_err().to_string();
        assert!(fault.starts_with("cannot tell the way to other machines: "), "{fault}");
        assert!(fault.contains("config.toml:2"), "{fault}");
        assert!(source.current().agent("http://127.0.0.1:1/", &|config| config).is_err());
        std::fs::write(&file, "[network]\nproxy = \"http://127.0.0.1:3128\"\n").unwrap();
        assert_eq!(reach(&source), Ok(true));
        std::fs::write(&file, "[network]\nproxy = \n").unwrap();
        assert_eq!(reach(&source), Ok(true), "what was read last holds");
    }
}
