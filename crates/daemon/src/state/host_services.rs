//! The daemon's services for capabilities: secrets and stored bytes.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use kernel::formula::Formula;
use kernel::run::Run;
use kernel::{BlobHash, FormulaId, table};
use network::Network;
use policy::Places;
use resource::Resource;
use resource::mcp::ToolServer;
use resource::secret::SecretHandle;

use super::confinement;
use super::daemon::{Daemon, HostDaemon};
use super::vault::SecretDenied;
use config::{clock, managed};

fn secret_value(
    value: Result<vault::Secret, SecretDenied>,
) -> Result<zeroize::Zeroizing<String>, caps::NoSecret> {
    match value {
        Ok(value) => Ok(zeroize::Zeroizing::new(value.reveal().to_owned())),
        Err(SecretDenied::Missing) => Err(caps::NoSecret::Missing),
        Err(SecretDenied::Locked) => Err(caps::NoSecret::Locked),
        Err(SecretDenied::OtherServer) => Err(caps::NoSecret::Elsewhere),
    }
}

impl HostDaemon {
    /// Returns the services for the capabilities of a run.
    pub fn services_of(&self, run: &Run) -> Arc<dyn caps::HostServices> {
        let has_project = run.includes.contains_key(config::policy_file::NAME);
        Arc::new(DaemonServices { shared: self.shared(), has_project, grants: run.grants.clone() })
    }

    /// Returns the services for calls of agents: the bytes in the store.
    pub fn agent_services(&self) -> Arc<dyn caps::HostServices> {
        Arc::new(DaemonServices { shared: self.shared(), has_project: true, grants: BTreeMap::new() })
    }

    /// Returns the services that a tool server needs when the user inspects it.
    pub fn server_services(&self) -> Arc<dyn caps::HostServices> {
        Arc::new(DaemonServices { shared: self.shared(), has_project: true, grants: BTreeMap::new() })
    }
}

impl Daemon {
    /// Returns the services for the requests of a login.
    pub fn login_services(self: &Arc<Self>) -> Arc<dyn caps::HostServices> {
        Arc::new(DaemonServices { shared: Arc::downgrade(self), has_project: true, grants: BTreeMap::new() })
    }
}

/// The services of this daemon for capabilities. Nothing is cached, because the vault may be locked or changed at any
/// time.
struct DaemonServices {
    shared: Weak<Daemon>,
    /// Whether a project's policies judge the run.
    has_project: bool,
    /// The run's grants by slot.
    grants: BTreeMap<String, FormulaId>,
}

impl caps::HostServices for DaemonServices {
    fn network(&self) -> Arc<Network> {
        self.shared.upgrade().map(|shared| shared.opener.network()).unwrap_or_default()
    }

    fn refuses_server(&self, server: &ToolServer) -> Option<String> {
        match managed::current() {
            Ok(rules) => rules.refuses_server(server),
            Err(fault) => Some(fault.to_string()),
        }
    }

    fn refuses_network(&self) -> Option<String> {
        match managed::current() {
            Ok(rules) => rules.refuses_network(),
            Err(fault) => Some(fault.to_string()),
        }
    }

    fn cannot_confine(&self) -> Option<String> {
        confinement::fault()
    }

    fn follows_redirects(&self) -> bool {
        !self.has_project && self.shared.upgrade().is_some_and(|shared| !shared.policies.has_any())
    }

    fn secret(
        &self,
        name: &str,
        origin: &resource::web::Origin,
    ) -> Result<zeroize::Zeroizing<String>, caps::NoSecret> {
        let shared = self.shared.upgrade().ok_or(caps::NoSecret::Locked)?;
        secret_value(shared.vault.value_for(name, origin))
    }

    fn secret_for_program(&self, name: &str) -> Result<zeroize::Zeroizing<String>, caps::NoSecret> {
        let shared = self.shared.upgrade().ok_or(caps::NoSecret::Locked)?;
        secret_value(shared.vault.value_for_program(name))
    }

    fn access_token(&self, server: &str) -> Result<Option<zeroize::Zeroizing<String>>, caps::NoSecret> {
        let shared = self.shared.upgrade().ok_or(caps::NoSecret::Locked)?;
        shared.access_token(server).map_err(|_| caps::NoSecret::Locked)
    }

    fn renewed_token(
        &self,
        server: &str,
        refused: Option<&str>,
        challenge: Option<&str>,
    ) -> Option<zeroize::Zeroizing<String>> {
        self.shared.upgrade()?.renewed_token(server, refused, challenge)
    }

    fn login_accepted(&self, server: &str) {
        if let Some(shared) = self.shared.upgrade() {
            shared.logins.satisfy(server);
        }
    }

    fn login_lacks(&self, server: &str, scope: &str) {
        if let Some(shared) = self.shared.upgrade() {
            shared.logins.lack(server, scope);
        }
    }

    fn wants_login(&self, server: &str) -> bool {
        self.shared.upgrade().is_some_and(|shared| shared.logins.wanted(server).is_some())
    }

    fn refused_call(&self, call: &str, is_refused: bool) -> bool {
        self.shared.upgrade().is_some_and(|shared| shared.logins.refused_call(call, is_refused))
    }

    fn slot_secrets(&self) -> BTreeMap<String, SecretHandle> {
        let Some(shared) = self.shared.upgrade() else { return BTreeMap::new() };
        let now = clock::now_ms();
        let found = shared.read(|txn| {
            let mut handed = BTreeMap::new();
            for (slot, id) in &self.grants {
                let Some(reached) = table::reach(txn, id)?.filter(|reached| reached.ended(now).is_none())
                else {
                    continue;
                };
                if let Formula::Resource(Resource::Secret(secret)) = reached.formula {
                    handed.insert(slot.clone(), secret);
                }
            }
            Ok(handed)
        });
        // If the store cannot be read, no secret is handed over.
        found.unwrap_or_default()
    }

    fn places(&self) -> Option<Places> {
        let shared = self.shared.upgrade()?;
        let spools = shared.spool_paths().ok()?;
        let now = clock::now_ms();
        let found = shared.read(|txn| {
            let mut places = Vec::new();
            for (slot, id) in &self.grants {
                let Some(reached) = table::reach(txn, id)?.filter(|reached| reached.ended(now).is_none())
                else {
                    continue;
                };
                if let Formula::Resource(resource) = &reached.formula {
                    places.extend(caps::places::working_places(slot, resource));
                }
            }
            Ok(places)
        });
        let spools = caps::places::spools(&spools);
        Some(found.ok()?.into_iter().chain(spools).chain(caps::places::machine_queues()).collect())
    }

    fn stored_bytes(&self, digest: &BlobHash) -> Option<Vec<u8>> {
        self.shared.upgrade()?.store.blobs().get(digest).ok()
    }
}
