//! The vault as the daemon holds it: opened once, asked by those who need a value, shown without any.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::formula::Formula;
use kernel::{query, table};
use model::served::COMPAT_KEY;
use model::{ModelRef, Vendor};
use policy::Secrets;
use resource::Resource;
use resource::web::Origin;
use vault::{Keyring, Protection, ProtectionChoice, Secret, SecretTool, Site, Vault, VaultError};

use super::daemon;
use super::daemon::HostDaemon;
use config::clock;
use control::exit::{Exit, Failure};
use control::protocol::Response;
use control::secret::{KeyChoice, SecretAct, SecretRow, SecretScope, VaultView};

/// Values of fewer bytes are not looked for in each spelling.
const MIN_SPELLING_BYTES: usize = 6;

/// The vault of this store.
pub struct DaemonVault {
    site: Site,
    open: Mutex<Option<Vault>>,
}

impl DaemonVault {
    /// Returns the vault of a state directory. Nothing is opened yet.
    pub fn new(state: &Path) -> DaemonVault {
        let keyring =
            keyring_program().map(|program| Arc::new(SecretTool::new(&program, state)) as Arc<dyn Keyring>);
        DaemonVault { site: Site::new(state, keyring), open: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vault>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the vault if there is one that needs no passphrase, and returns the scanner for its values.
    ///
    /// # Errors
    /// When it is damaged or its key is gone. The daemon works without it, and says so.
    pub fn begin(&self) -> Result<Secrets, VaultError> {
        let mut open = self.lock();
        match self.site.open(None) {
            Ok(vault) => {
                *open = vault;
                Ok(scanner(open.as_ref()))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the value of a secret for a program that a person named it for. One that is for servers is for them
    /// alone.
    ///
    /// # Errors
    /// Why it is not given out.
    pub fn value_for_program(&self, name: &str) -> Result<Secret, SecretDenied> {
        let open = self.lock();
        let entry = self.entry(&open, name)?;
        if entry.origins.is_empty() { Ok(entry.value.clone()) } else { Err(SecretDenied::OtherServer) }
    }

    fn entry<'v>(&self, open: &'v Option<Vault>, name: &str) -> Result<&'v vault::Entry, SecretDenied> {
        let Some(vault) = open else {
            return Err(match self.site.protection() {
                Ok(None) => SecretDenied::Missing,
                _ => SecretDenied::Locked,
            });
        };
        vault.get(name).ok_or(SecretDenied::Missing)
    }

    /// Returns the value of a secret for a server, if it is for that server.
    ///
    /// # Errors
    /// Why it is not given out.
    pub fn value_for(&self, name: &str, origin: &Origin) -> Result<Secret, SecretDenied> {
        let open = self.lock();
        let entry = self.entry(&open, name)?;
        if entry.origins.contains(origin) { Ok(entry.value.clone()) } else { Err(SecretDenied::OtherServer) }
    }

    /// Returns the key under which values of forms are sealed; made, or taken over from the file in which it once
    /// lay, when it is first needed.
    ///
    /// # Errors
    /// When the vault is locked or cannot be written.
    pub fn sealing(&self, state: &Path) -> Result<Secret, Failure> {
        let mut open = self.lock();
        let vault = self.open_or_create(&mut open)?;
        if let Some(key) = vault.sealing() {
            return Ok(key.clone());
        }
        let old = state.join("secret.key");
        let key = match std::fs::read(&old) {
            Ok(bytes) if bytes.len() == 32 => hex(&bytes),
            Ok(_) => {
                return Err(Failure::new(Exit::Failure, format!("{} is no key", old.display()))
                    .help("restore it from a backup; what was sealed with it cannot be read without it"));
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let mut bytes = [0; 32];
                daemon::random(&mut bytes)?;
                hex(&bytes)
            }
            Err(e) => return Err(Failure::new(Exit::Failure, format!("{}: {e}", old.display()))),
        };
        vault.set_sealing(key.clone()).map_err(failure)?;
        // It is in the vault now. A copy that stays does no more harm than it did before.
        let _ = std::fs::remove_file(&old);
        Ok(key)
    }

    /// Returns the open vault; made without asking anybody if there is none.
    fn open_or_create<'v>(&self, open: &'v mut Option<Vault>) -> Result<&'v mut Vault, Failure> {
        if open.is_none() {
            let vault = match self.site.open(None).map_err(failure)? {
                Some(vault) => vault,
                None if self.site.has_keyring() => self
                    .site
                    .create(ProtectionChoice::Keyring)
                    .or_else(|_| self.site.create(ProtectionChoice::File))
                    .map_err(failure)?,
                None => self.site.create(ProtectionChoice::File).map_err(failure)?,
            };
            *open = Some(vault);
        }
        open.as_mut().ok_or_else(|| failure(VaultError::Locked))
    }

    /// Returns the key for a model's server under the name of its variable, if the vault has it and it is for that
    /// server; of a model with a key of its own that one.
    pub fn model_key(&self, variable: &str, reference: &ModelRef) -> Option<model::Secret> {
        let takes = match reference {
            ModelRef::Vendor { vendor, .. } => vendor.keys().contains(&variable),
            ModelRef::Compat { .. } => variable == COMPAT_KEY,
            _ => false,
        };
        let server = reference.keyed_server().filter(|_| takes)?;
        let (origin, _) = Origin::split(server).ok()?;
        // Who names a key means that one.
        let value = self.value_for(reference.key().unwrap_or(variable), &origin).ok()?;
        Some(model::Secret::new(value.reveal()))
    }

    /// Returns how the key is protected, and whether the vault cannot be read.
    ///
    /// # Errors
    /// When the files cannot be read.
    pub fn state(&self) -> Result<(Option<Protection>, bool), VaultError> {
        let protection = self.site.protection()?;
        Ok((protection, protection.is_some() && self.lock().is_none()))
    }
}

/// Why a value is not given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretDenied {
    /// There is no such secret.
    Missing,
    /// The vault is locked.
    Locked,
    /// It is for other servers.
    OtherServer,
}

/// Returns the scanner for the values of an open vault.
fn scanner(vault: Option<&Vault>) -> Secrets {
    match vault {
        Some(vault) => Secrets::new(vault.entries().map(|(name, entry)| (name, entry.value.reveal()))),
        None => Secrets::default(),
    }
}

/// Opens the vault as the daemon starts. Where it cannot be read, the values to look for are unknown, and the gates
/// say so.
pub fn open_at_start(daemon: &HostDaemon) {
    let secrets = daemon.vault.begin().unwrap_or_else(|_| Secrets::locked());
    daemon.change_rules(|rules| rules.secrets = Arc::new(secrets));
}

/// Carries out a client's request to the vault.
///
/// # Errors
/// When it is not done.
pub fn answer(daemon: &HostDaemon, act: SecretAct) -> Result<Response, Failure> {
    let keeper = &daemon.vault;
    let mut open = keeper.lock();
    let told = |e: VaultError| failure(e);
    match act {
        SecretAct::List => {}
        SecretAct::Create { key } => {
            if keeper.site.protection().map_err(told)?.is_some() {
                return Err(Failure::new(Exit::Conflict, "there is a vault already")
                    .help("`almoner secret rotate --key` changes how its key is protected"));
            }
            *open = Some(with_vault(&key, |key| keeper.site.create(key)).map_err(told)?);
        }
        SecretAct::Unlock { passphrase } => {
            *open = keeper.site.open(Some(&passphrase)).map_err(told)?;
        }
        SecretAct::Set { name, value, origins, only } => {
            let vault = keeper.open_or_create(&mut open)?;
            let there = vault.get(&name).is_some();
            if !there && (only == SecretScope::Existing || value.is_none()) {
                return Err(failure(VaultError::Missing(name)));
            }
            let origins = match origins {
                // A vendor's key is for the vendor unless something else is said.
                None if !there => Vendor::from_key(&name)
                    .and_then(|vendor| Origin::split(vendor.url()).ok())
                    .map(|(origin, _)| vec![origin]),
                origins => origins,
            };
            match (value, origins) {
                (Some(value), origins) => vault.set(&name, value, origins, clock::now_ms()).map_err(told)?,
                (None, Some(origins)) => vault.pin(&name, origins).map_err(told)?,
                (None, None) => {}
            }
        }
        SecretAct::Remove { name } => keeper.open_or_create(&mut open)?.remove(&name).map_err(told)?,
        SecretAct::RotateKey { key } => {
            let vault = keeper.open_or_create(&mut open)?;
            let key = match (key, vault.protection()) {
                (Some(key), _) => key,
                (None, Protection::Keyring) => KeyChoice::Keyring,
                (None, Protection::File) => KeyChoice::File,
                (None, Protection::Passphrase) => {
                    return Err(Failure::new(
                        Exit::NeedsYou,
                        "a key under a passphrase needs the passphrase again",
                    )
                    .help("`almoner secret rotate --key passphrase` at a terminal"));
                }
            };
            with_vault(&key, |key| vault.rotate_key(key)).map_err(told)?;
        }
    }
    let scanner = match (&*open, keeper.site.protection().map_err(told)?) {
        (None, Some(_)) => Secrets::locked(),
        (vault, _) => scanner(vault.as_ref()),
    };
    daemon.change_rules(|rules| rules.secrets = Arc::new(scanner));
    let protection = keeper.site.protection().map_err(told)?;
    let secrets = match &*open {
        Some(vault) => rows(daemon, vault)?,
        None => vec![],
    };
    Ok(Response::Secrets(VaultView {
        protection,
        locked: protection.is_some() && open.is_none(),
        keyring: keeper.site.has_keyring(),
        secrets,
    }))
}

fn with_vault<T>(
    key: &KeyChoice,
    make: impl FnOnce(ProtectionChoice<'_>) -> Result<T, VaultError>,
) -> Result<T, VaultError> {
    match key {
        KeyChoice::Keyring => make(ProtectionChoice::Keyring),
        KeyChoice::File => make(ProtectionChoice::File),
        KeyChoice::Passphrase { passphrase } => make(ProtectionChoice::Passphrase(passphrase)),
    }
}

fn rows(daemon: &HostDaemon, vault: &Vault) -> Result<Vec<SecretRow>, Failure> {
    let now = clock::now_ms();
    let uses = daemon.read(|txn| {
        let mut uses: Vec<(String, String)> = Vec::new();
        for host in table::hosts(txn)? {
            for grant in query::grants(txn, &host.number)? {
                let is_over = grant.revoked_ms.is_some() || grant.expires_ms.is_some_and(|ms| ms <= now);
                let Some(reached) = (if is_over { None } else { table::reach(txn, &grant.id)? }) else {
                    continue;
                };
                let used: Vec<&str> = match &reached.formula {
                    Formula::Resource(Resource::Web(web)) => {
                        web.secret.iter().map(|used| used.name.as_str()).collect()
                    }
                    Formula::Resource(Resource::Mcp(server)) => server.secrets(),
                    Formula::Resource(Resource::Programs(programs)) => programs.secrets().collect(),
                    Formula::Resource(Resource::Secret(secret)) => vec![secret.name.as_str()],
                    _ => vec![],
                };
                let by = format!("{} ({})", grant.number, grant.slot);
                uses.extend(used.into_iter().map(|name| (name.to_owned(), by.clone())));
            }
        }
        Ok(uses)
    })?;
    Ok(vault
        .entries()
        .map(|(name, entry)| SecretRow {
            name: name.to_owned(),
            origins: entry.origins.clone(),
            set_ms: entry.set_ms,
            changed_ms: entry.changed_ms,
            used_by: uses.iter().filter(|(used, _)| used == name).map(|(_, by)| by.clone()).collect(),
            short: entry.value.reveal().len() < MIN_SPELLING_BYTES,
        })
        .collect())
}

/// Returns the failure that a vault's error is.
pub fn failure(error: VaultError) -> Failure {
    let exit = match &error {
        VaultError::Locked => Exit::NeedsYou,
        VaultError::WrongPassphrase => Exit::Denied,
        VaultError::Missing(_) => Exit::NotFound,
        VaultError::Name(_) => Exit::Usage,
        VaultError::Size { .. } | VaultError::Full(_) => Exit::Invalid,
        VaultError::NoKey { .. }
        | VaultError::Damaged { .. }
        | VaultError::Io { .. }
        | VaultError::Keyring(_) => Exit::Failure,
    };
    let help = error.help();
    Failure::from_error(exit, error).help(help)
}

/// Returns the line of `doctor` about the vault.
pub fn doctor_line(daemon: &HostDaemon) -> (String, bool, String) {
    let found = match daemon.vault.state() {
        Ok((None, _)) => (true, "none yet; `almoner secret set NAME` makes it".to_owned()),
        Ok((Some(protection), true)) => {
            (true, format!("locked (`almoner unlock`); {}", protection.description()))
        }
        Ok((Some(protection), false)) => (true, protection.description().to_owned()),
        Err(error) => (false, error.to_string()),
    };
    ("vault".to_owned(), found.0, found.1)
}

/// Returns the line of `doctor` about this process's memory: whether a core dump or another process of the same user
/// can get at it.
pub fn memory_doctor_line() -> (String, bool, String) {
    use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};
    let undumpable = matches!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
    let no_cores = getrlimit(Resource::Core).current == Some(0);
    let said = match (undumpable, no_cores) {
        (true, true) => "the daemon leaves no core dump, and no other process of yours can read its memory",
        _ => "the daemon's memory may end up in a core dump",
    };
    ("memory".to_owned(), undumpable && no_cores, said.to_owned())
}

/// Keeps this process's memory out of core dumps, and other processes of the same user out of its memory.
pub fn protect_memory() {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
    // Where the system does not know these, `doctor` says so.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Returns the program that reaches the keyring, if there is one and a session for it.
fn keyring_program() -> Option<std::path::PathBuf> {
    if let Some(named) = std::env::var_os("ALMONER_KEYRING").filter(|named| !named.is_empty()) {
        return (named != "none").then(|| named.into());
    }
    std::env::var_os("DBUS_SESSION_BUS_ADDRESS").filter(|bus| !bus.is_empty())?;
    let program = Path::new("/usr/bin/secret-tool");
    program.exists().then(|| program.to_owned())
}

fn hex(bytes: &[u8]) -> Secret {
    Secret::new(bytes.iter().map(|b| format!("{b:02x}")).collect::<String>())
}
