//! The daemon's vault. It is opened once, gives values to those who may have them, and is listed without values.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use kernel::formula::Formula;
use kernel::{query, table};
use model::served::COMPAT_KEY;
use model::{ModelRef, Vendor};
use policy::Secrets;
use resource::Resource;
use resource::web::Origin;
use zeroize::Zeroizing;

use vault::{Keyring, Login, Protection, ProtectionChoice, Secret, SecretTool, Site, Vault, VaultError};

use super::daemon;
use super::daemon::HostDaemon;
use config::clock;
use control::exit::{Exit, Failure};
use control::health_check::HealthCheck;
use control::protocol::Response;
use control::secret::{KeyChoice, SecretAct, SecretRow, SecretScope, VaultView};

/// The minimum length of a value, in bytes, for which all spellings are searched.
const MIN_SPELLING_BYTES: usize = 6;

/// The name of a key's file, and its bytes.
pub type KeyCopy = (&'static str, Zeroizing<Vec<u8>>);

/// The vault of this store.
pub struct DaemonVault {
    site: Site,
    open: Mutex<Option<Vault>>,
    /// Takes the scanner for the values of a vault, before the vault counts as open.
    on_open: OnceLock<Box<dyn Fn(Secrets) + Send + Sync>>,
}

impl DaemonVault {
    /// Returns the vault of a state directory, which is not opened yet.
    pub fn new(state: &Path) -> DaemonVault {
        let keyring =
            keyring_program().map(|program| Arc::new(SecretTool::new(&program, state)) as Arc<dyn Keyring>);
        let site = Site::new(state, keyring).with_step(|| store::failpoint::reach("vault.step"));
        DaemonVault { site, open: Mutex::default(), on_open: OnceLock::new() }
    }

    /// Keeps an opened vault. Its values are redacted before any of them can be used.
    fn keep<'v>(&self, open: &'v mut Option<Vault>, vault: Vault) -> &'v mut Vault {
        if let Some(on_open) = self.on_open.get() {
            on_open(scanner(Some(&vault)));
        }
        open.insert(vault)
    }

    /// Opens the vault if that needs no passphrase and it is not open yet. The user may have brought back its key, or opened
    /// the keyring, since the daemon began.
    ///
    /// # Errors
    /// The reason why there is a vault that is not open.
    pub fn reopen(&self) -> Result<(), VaultError> {
        self.reopen_locked(&mut self.lock())
    }

    fn reopen_locked(&self, open: &mut Option<Vault>) -> Result<(), VaultError> {
        if open.is_none()
            && let Some(vault) = self.site.open(None)?
        {
            self.keep(open, vault);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vault>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the vault if it exists and needs no passphrase. Returns the scanner for its values.
    ///
    /// # Errors
    /// When the vault is locked or damaged, or its key is missing. The daemon works without the vault then, and
    /// reports this.
    fn begin(&self) -> Result<Secrets, VaultError> {
        let mut open = self.lock();
        self.reopen_locked(&mut open)?;
        Ok(scanner(open.as_ref()))
    }

    /// Returns the key of the vault, and the key of an older version if there is one, each with the name of its file.
    ///
    /// # Errors
    /// When a key cannot be read, or there is a vault and no key of it.
    pub fn key_copies(&self, state: &Path) -> Result<Vec<KeyCopy>, Failure> {
        // The vault and its key must not change in between.
        let open = self.lock();
        let key = match (self.site.key_copy().map_err(failure)?, &*open) {
            (None, Some(vault)) => Some(Zeroizing::new(vault.key_text().reveal().as_bytes().to_vec())),
            (None, None) if self.site.exists() => return Err(failure(self.site.key_missing())),
            (key, _) => key,
        };
        let key = key.map(|key| ("vault.key", key));
        let old = std::fs::read(state.join("secret.key")).ok().map(|key| ("secret.key", Zeroizing::new(key)));
        Ok(key.into_iter().chain(old).collect())
    }

    /// Returns the reason why the vault is not open: it needs a passphrase, its key is missing, or it is damaged.
    pub fn reason_closed(&self) -> VaultError {
        self.reopen().err().unwrap_or(VaultError::Locked)
    }

    /// Returns the value of a secret for a program, if a user has named the secret for it. A secret for servers is
    /// never given to a program.
    ///
    /// # Errors
    /// The reason why the value is not given out.
    pub fn value_for_program(&self, name: &str) -> Result<Secret, SecretDenied> {
        let open = self.lock();
        let entry = self.entry(&open, name)?;
        if entry.origins.is_empty() { Ok(entry.value.clone()) } else { Err(SecretDenied::OtherServer) }
    }

    fn entry<'v>(&self, open: &'v Option<Vault>, name: &str) -> Result<&'v vault::Entry, SecretDenied> {
        let Some(vault) = open else {
            // The keyring is not asked here: a run would make it ask its user, again and again.
            return Err(if self.site.exists() { SecretDenied::Locked } else { SecretDenied::Missing });
        };
        vault.get(name).ok_or(SecretDenied::Missing)
    }

    /// Returns the value of a secret for a server, if the secret is for that server.
    ///
    /// # Errors
    /// The reason why the value is not given out.
    pub fn value_for(&self, name: &str, origin: &Origin) -> Result<Secret, SecretDenied> {
        let open = self.lock();
        let entry = self.entry(&open, name)?;
        if entry.origins.contains(origin) { Ok(entry.value.clone()) } else { Err(SecretDenied::OtherServer) }
    }

    /// Returns the key that seals values in forms. The first call takes the key from the file of older versions, or
    /// else makes one.
    ///
    /// # Errors
    /// When the vault is locked or cannot be written, or the old key file is invalid.
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
            Err(e) => return Err(Failure::of_file("read", &old.to_string_lossy(), e)),
        };
        vault.set_sealing(key.clone()).map_err(failure)?;
        // The key is in the vault now. If removing the old file fails, the remaining copy is no worse than before.
        let _ = std::fs::remove_file(&old);
        Ok(key)
    }

    /// Returns the open vault. If none exists, creates one without asking the user for anything.
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
            return Ok(self.keep(open, vault));
        }
        open.as_mut().ok_or_else(|| failure(VaultError::Locked))
    }

    /// Returns the vault's key for a model's server, if the secret is for that server. The secret is the one that the
    /// model names, or else the one with the variable's name.
    pub fn model_key(&self, variable: &str, reference: &ModelRef) -> Option<model::Secret> {
        let takes = match reference {
            ModelRef::Vendor { vendor, .. } => vendor.keys().contains(&variable),
            ModelRef::Compat { .. } => variable == COMPAT_KEY,
            _ => false,
        };
        let server = reference.keyed_server().filter(|_| takes)?;
        let (origin, _) = Origin::split(server).ok()?;
        // A secret that the model names is used in place of the variable's.
        let value = self.value_for(reference.key().unwrap_or(variable), &origin).ok()?;
        Some(model::Secret::new(value.reveal()))
    }

    /// Returns the login at a server, if there is one.
    ///
    /// # Errors
    /// When the vault is locked.
    pub fn login(&self, server: &str) -> Result<Option<Login>, SecretDenied> {
        let open = self.lock();
        let Some(vault) = &*open else {
            return if self.site.exists() { Err(SecretDenied::Locked) } else { Ok(None) };
        };
        Ok(vault.logins().find(|(own, _)| *own == server).map(|(_, login)| login.clone()))
    }

    /// Returns all logins, with the addresses of their servers.
    ///
    /// # Errors
    /// When the vault is locked.
    pub fn logins(&self) -> Result<Vec<(String, Login)>, SecretDenied> {
        let open = self.lock();
        match &*open {
            Some(vault) => {
                Ok(vault.logins().map(|(server, login)| (server.to_owned(), login.clone())).collect())
            }
            None if self.site.exists() => Err(SecretDenied::Locked),
            None => Ok(vec![]),
        }
    }

    /// Sets the login at a server, or removes it. Returns the scanner for all values, and whether there was a login.
    ///
    /// # Errors
    /// When the vault is locked or cannot be written.
    pub fn change_login(&self, server: &str, login: Option<Login>) -> Result<(Secrets, bool), Failure> {
        let mut open = self.lock();
        let vault = self.open_or_create(&mut open)?;
        let had = match login {
            Some(login) => vault.set_login(server, login).map(|()| true).map_err(failure)?,
            None => vault.remove_login(server).map_err(failure)?,
        };
        Ok((scanner(open.as_ref()), had))
    }

    /// Returns whether the vault is open.
    fn is_open(&self) -> bool {
        self.lock().is_some()
    }
}

/// The reason why a value is not given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretDenied {
    /// The absence of a secret with this name.
    Missing,
    /// A vault that is not open. [`DaemonVault::reason_closed`] says why.
    Locked,
    /// A secret that is only for other servers.
    OtherServer,
}

/// Returns the scanner for the values of an open vault.
fn scanner(vault: Option<&Vault>) -> Secrets {
    match vault {
        Some(vault) => {
            let own = vault.entries().map(|(name, entry)| (name.to_owned(), entry.value.reveal()));
            let logins = vault.logins().flat_map(|(server, login)| {
                login.secrets().map(move |secret| (format!("login at {server}"), secret.reveal()))
            });
            let all: Vec<(String, &str)> = own.chain(logins).collect();
            Secrets::new(all.iter().map(|(name, value)| (name.as_str(), *value)))
        }
        None => Secrets::default(),
    }
}

/// Opens the vault when the daemon starts. If the vault cannot be read, its values cannot be redacted, and the gates
/// report this.
pub fn open_at_start(daemon: &HostDaemon) {
    let shared = daemon.shared();
    let on_open = move |secrets| {
        if let Some(daemon) = shared.upgrade() {
            daemon.change_rules(|rules| rules.secrets = Arc::new(secrets));
        }
    };
    // The daemon starts once, so no other function is there.
    let _ = daemon.vault.on_open.set(Box::new(on_open));
    let secrets = daemon.vault.begin().unwrap_or_else(|_| Secrets::locked());
    daemon.change_rules(|rules| rules.secrets = Arc::new(secrets));
}

/// Carries out a client's request to the vault.
///
/// # Errors
/// When the request fails.
pub fn answer(daemon: &HostDaemon, act: SecretAct) -> Result<Response, Failure> {
    let keeper = &daemon.vault;
    let mut open = keeper.lock();
    let told = |e: VaultError| failure(e);
    let closed = match keeper.reopen_locked(&mut open) {
        Ok(()) => None,
        Err(VaultError::Locked) => Some(Protection::Passphrase),
        Err(VaultError::NoKey { .. }) => Some(Protection::KeyMissing),
        Err(error) => return Err(told(error)),
    };
    match (&act, closed) {
        (SecretAct::List | SecretAct::Unlock { .. }, _) | (_, None) => {}
        (SecretAct::Create { .. }, Some(Protection::Passphrase)) => {}
        (_, Some(Protection::KeyMissing)) => return Err(failure(keeper.site.key_missing())),
        (_, Some(_)) => return Err(failure(VaultError::Locked)),
    }
    match act {
        SecretAct::List => {}
        SecretAct::Create { key } => {
            if open.is_some() || closed.is_some() {
                return Err(Failure::new(Exit::Conflict, "cannot make the vault: it is there already")
                    .help("`almoner secret rotate --key` changes how its key is protected"));
            }
            let vault = with_vault(&key, |key| keeper.site.create(key)).map_err(told)?;
            keeper.keep(&mut open, vault);
        }
        SecretAct::Unlock { passphrase } => {
            if let Some(vault) = keeper.site.open(Some(&passphrase)).map_err(told)? {
                keeper.keep(&mut open, vault);
            }
        }
        SecretAct::Set { name, value, origins, only } => {
            let vault = keeper.open_or_create(&mut open)?;
            let there = vault.get(&name).is_some();
            if !there && (only == SecretScope::Existing || value.is_none()) {
                return Err(failure(VaultError::Missing(name)));
            }
            let origins = match origins {
                // A vendor's key is for the vendor's server, unless the request names other servers.
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
                (None, Protection::KeyMissing) => return Err(failure(keeper.site.key_missing())),
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
    let protection = open.as_ref().map(Vault::protection).or(closed);
    let scanner = match (&*open, protection) {
        (None, Some(_)) => Secrets::locked(),
        (vault, _) => scanner(vault.as_ref()),
    };
    daemon.change_rules(|rules| rules.secrets = Arc::new(scanner));
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

/// Returns the failure for an error of the vault.
pub fn failure(error: VaultError) -> Failure {
    let exit = match &error {
        VaultError::Locked => Exit::NeedsYou,
        VaultError::Replaced { .. } => Exit::Conflict,
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

/// Examines the vault for `almoner doctor`.
pub fn doctor_check(daemon: &HostDaemon) -> HealthCheck {
    // An open vault may have lost its key since. It stays open until the daemon ends.
    let found = match (daemon.vault.site.protection(), daemon.vault.is_open()) {
        (Ok(None), false) => Ok("none yet; `almoner secret set NAME` makes it".to_owned()),
        (Ok(None), true) => Err(VaultError::Replaced { path: daemon.vault.site.vault() }),
        (Ok(Some(Protection::KeyMissing)), _) => Err(daemon.vault.site.key_missing()),
        (Ok(Some(protection)), false) => {
            Ok(format!("locked (`almoner unlock`); {}", protection.description()))
        }
        (Ok(Some(protection)), true) => Ok(protection.description().to_owned()),
        (Err(error), _) => Err(error),
    };
    let (ok, evidence, remedy) = match found {
        Ok(evidence) => (true, evidence, String::new()),
        Err(error) => (false, error.to_string(), error.help()),
    };
    HealthCheck::new("vault", ok, evidence, remedy)
}

/// Returns the line about this process's memory for `almoner doctor`. It tells whether a core dump or another process
/// of the same user can reveal the memory.
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

/// Excludes this process's memory from core dumps, and denies it to other processes of the same user.
pub fn protect_memory() {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
    // If the system does not support these calls, `doctor` reports this.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Returns the program that accesses the keyring, if both the program and a session for it exist.
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
