//! The places of a user's files: one directory for each purpose, all below `ALMONER_HOME` if that is set.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use control::exit::{Exit, Failure};

/// The longest path for a socket that every supported system accepts.
const SOCKET_PATH_LIMIT: usize = 100;

/// The directories of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory of the store, which must survive reboots.
    pub state: PathBuf,
    /// The directory of the user's own files: settings and policy.
    pub config: PathBuf,
    /// The directory of models and other files that can be fetched again.
    pub cache: PathBuf,
    /// The directory of the socket, which may be gone after a reboot.
    pub runtime: PathBuf,
    /// The one directory that contains all of these directories, if such a directory was chosen.
    home: Option<PathBuf>,
    /// The directory of model weights, if `ALMONER_MODELS` names one. Several homes can share it.
    models: Option<PathBuf>,
    /// The default model for workers that Endo's clients start, if `ALMONER_MODEL` names one.
    pub model: Option<String>,
    /// The place where Endo's clients look for a daemon.
    pub endo: EndoPlace,
}

/// The place where Endo's clients look for a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndoPlace {
    /// The socket.
    pub socket: PathBuf,
    /// The owner of the socket's path.
    pub claim: Claim,
}

/// The owner of a socket's path, which decides whether this daemon may listen at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The user has named the path for a daemon of Endo.
    Explicit,
    /// The path is below a home of Almoner's own.
    Private,
    /// The path is Endo's default, where any daemon of Endo would listen.
    ClientDefault,
}

/// The name of Endo's socket in its directory.
const ENDO_SOCKET: &str = "captp0.sock";

impl Place {
    /// Returns a place with all directories below one directory, given by its absolute path.
    pub fn under(home: &Path) -> Place {
        let runtime = short_enough(home.join("run"));
        let endo = EndoPlace { socket: runtime.join(ENDO_SOCKET), claim: Claim::Private };
        Place {
            endo,
            state: home.join("state"),
            config: home.join("config"),
            cache: home.join("cache"),
            runtime,
            home: Some(home.to_owned()),
            models: None,
            model: None,
        }
    }

    /// Returns the environment variable that makes a child process use the same place, if one is needed.
    pub fn as_env(&self) -> Option<(&'static str, &Path)> {
        self.home.as_deref().map(|home| ("ALMONER_HOME", home))
    }

    /// Returns the directories that the environment names. No directory is created.
    ///
    /// # Errors
    /// When neither `ALMONER_HOME` nor `HOME` is set.
    pub fn from_env() -> Result<Place, Failure> {
        let env = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
        let model = env("ALMONER_MODEL").and_then(|model| model.into_string().ok());
        Ok(Place { model, ..Place::from(&env)? })
    }

    fn from(env: &dyn Fn(&str) -> Option<OsString>) -> Result<Place, Failure> {
        let models = env("ALMONER_MODELS").and_then(|dir| std::path::absolute(dir).ok());
        if let Some(home) = env("ALMONER_HOME").map(PathBuf::from) {
            return Ok(Place { models, ..Place::under(&std::path::absolute(&home).unwrap_or(home)) });
        }
        if let Some(state) = env("ENDO_STATE_PATH").map(PathBuf::from) {
            return Ok(Place::of_endo(&state, env));
        }
        let home = env("HOME").map(PathBuf::from).ok_or_else(|| {
            Failure::new(
                Exit::Failure,
                "neither ALMONER_HOME nor HOME is set, so there is no place for the store",
            )
            .help("set ALMONER_HOME to a directory of yours")
        })?;
        let base = |name: &str, rest: &str| {
            env(name).map(PathBuf::from).filter(|p| p.is_absolute()).unwrap_or_else(|| home.join(rest))
        };
        let state = base("XDG_STATE_HOME", ".local/state").join("almoner");
        let runtime = match env("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|p| p.is_dir()) {
            Some(dir) => short_enough(dir.join("almoner")),
            None => short_enough(state.join("run")),
        };
        Ok(Place {
            endo: endo(env),
            state,
            config: base("XDG_CONFIG_HOME", ".config").join("almoner"),
            cache: base("XDG_CACHE_HOME", ".cache").join("almoner"),
            runtime,
            home: None,
            model: None,
            models,
        })
    }

    /// Returns the place that the variables for Endo's daemon name.
    fn of_endo(state: &Path, env: &dyn Fn(&str) -> Option<OsString>) -> Place {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let named = |name: &str| env(name).map(|path| absolute(Path::new(&path)));
        let state = absolute(state);
        let runtime = named("ENDO_EPHEMERAL_STATE_PATH").unwrap_or_else(|| state.join("run"));
        let socket = named("ENDO_SOCK_PATH").unwrap_or_else(|| runtime.join(ENDO_SOCKET));
        Place {
            endo: EndoPlace { socket, claim: Claim::Explicit },
            cache: named("ENDO_CACHE_PATH").unwrap_or_else(|| state.join("cache")),
            runtime: short_enough(runtime),
            config: state.join("config"),
            state,
            home: None,
            model: None,
            models: env("ALMONER_MODELS").and_then(|dir| std::path::absolute(dir).ok()),
        }
    }

    /// Returns the directory of the store.
    pub fn store(&self) -> PathBuf {
        self.state.join("store")
    }

    /// Checks that this build can read the store. Nothing is written.
    ///
    /// # Errors
    /// When another build or program wrote the store, or its head is damaged.
    pub fn inspect_store(&self) -> Result<(), Failure> {
        store::inspect(&self.store()).map_err(open_failure)
    }

    /// Returns the socket on which the daemon takes commands.
    pub fn socket(&self) -> PathBuf {
        self.runtime.join("control.sock")
    }

    /// Returns the log file of the daemon.
    pub fn log(&self) -> PathBuf {
        self.state.join("daemon.log")
    }

    /// Returns the directory of model weights.
    pub fn weights(&self) -> PathBuf {
        self.models.clone().unwrap_or_else(|| self.cache.join("models"))
    }
}

/// Returns the failure for a store that cannot be opened.
pub fn open_failure(error: store::OpenError) -> Failure {
    let exit = match &error {
        store::OpenError::Owned { .. } => Exit::Conflict,
        _ => Exit::Failure,
    };
    {
        let help = error.help();
        Failure::from_error(exit, error).help(help)
    }
}

/// Returns the failure for a relative path where no base directory is known.
pub fn relative_path_failure(path: &str) -> Failure {
    Failure::new(Exit::Invalid, format!("{} does not begin at the root", passable::visible_line(path)))
        .help("write the whole path, beginning with /")
}

/// Returns the place where Endo's clients look, from the variables for Endo or else Endo's default.
fn endo(env: &dyn Fn(&str) -> Option<OsString>) -> EndoPlace {
    if let Some(socket) = env("ENDO_SOCK_PATH").map(PathBuf::from) {
        return EndoPlace { socket, claim: Claim::Explicit };
    }
    // `ENDO_SOCK` is meant for clients. The user who has set it need not want this daemon to listen there.
    if let Some(socket) = env("ENDO_SOCK").map(PathBuf::from) {
        return EndoPlace { socket, claim: Claim::ClientDefault };
    }
    let socket = match env("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_dir()) {
        Some(dir) => dir.join("endo").join(ENDO_SOCKET),
        None => {
            let user = env("USER").unwrap_or_else(|| "anonymous".into());
            let user = user.to_string_lossy().into_owned();
            std::env::temp_dir().join(format!("endo-{user}")).join(ENDO_SOCKET)
        }
    };
    EndoPlace { socket, claim: Claim::ClientDefault }
}

/// Returns the directory, or a short substitute named by its hash if a socket path in the directory would be too
/// long.
fn short_enough(dir: PathBuf) -> PathBuf {
    if dir.as_os_str().len() + "/control.sock".len() <= SOCKET_PATH_LIMIT {
        return dir;
    }
    let hash = blake3::hash(dir.as_os_str().as_encoded_bytes()).to_hex();
    let uid = rustix::process::getuid().as_raw();
    std::env::temp_dir().join(format!("almoner-{uid}-{}", &hash[..16]))
}

/// Creates a directory that only its owner can enter. Refuses an existing one that another user could have created.
///
/// # Errors
/// When the directory cannot be created, is not a directory, or belongs to another user.
pub fn private_dir(dir: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    let fail = |what: String| {
        Failure::new(Exit::Failure, format!("{}: {what}", dir.display()))
            .help("set ALMONER_HOME to a directory of yours")
    };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|e| fail(e.to_string()))?;
    let meta = std::fs::symlink_metadata(dir).map_err(|e| fail(e.to_string()))?;
    if !meta.is_dir() || meta.uid() != rustix::process::getuid().as_raw() {
        return Err(fail("is not a directory of yours".to_owned()));
    }
    if meta.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700))
            .map_err(|e| fail(e.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(vars: &[(&str, &str)]) -> Result<Place, Failure> {
        let vars: Vec<_> = vars.iter().map(|(k, v)| (k.to_string(), OsString::from(v))).collect();
        Place::from(&|name| vars.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone()))
    }

    #[test]
    fn almoner_home_overrides_everything() {
        let place = place(&[("ALMONER_HOME", "/a"), ("HOME", "/h"), ("XDG_STATE_HOME", "/s")]).unwrap();
        assert_eq!(place.state, Path::new("/a/state"));
        assert_eq!(place.config, Path::new("/a/config"));
        assert_eq!(place.socket(), Path::new("/a/run/control.sock"));
    }

    #[test]
    fn missing_home_fails_with_advice() {
        assert!(place(&[]).unwrap_err().help.contains("ALMONER_HOME"));
    }

    #[test]
    fn endo_variables_choose_place_and_socket() {
        let endo = [
            ("HOME", "/h"),
            ("ENDO_STATE_PATH", "/e/state"),
            ("ENDO_EPHEMERAL_STATE_PATH", "/e/run"),
            ("ENDO_CACHE_PATH", "/e/cache"),
            ("ENDO_SOCK_PATH", "/e/captp.sock"),
        ];
        let told = place(&endo).unwrap();
        assert_eq!(told.state, Path::new("/e/state"));
        assert_eq!(told.socket(), Path::new("/e/run/control.sock"));
        assert_eq!(told.weights(), Path::new("/e/cache/models"));
        let socket = |socket: &str, claim| EndoPlace { socket: socket.into(), claim };
        assert_eq!(told.endo, socket("/e/captp.sock", Claim::Explicit));
        let least = place(&[("HOME", "/h"), ("ENDO_STATE_PATH", "/e/state")]).unwrap();
        assert_eq!(least.endo, socket("/e/state/run/captp0.sock", Claim::Explicit));
        // `ALMONER_HOME` has precedence over the variables for Endo.
        let own = place(&[&endo[..], &[("ALMONER_HOME", "/a")]].concat()).unwrap();
        assert_eq!(
            (own.state.as_path(), own.endo),
            (Path::new("/a/state"), socket("/a/run/captp0.sock", Claim::Private))
        );
        let looked_for = place(&[("HOME", "/h"), ("ENDO_SOCK", "/e/sock")]).unwrap();
        assert_eq!(looked_for.endo, socket("/e/sock", Claim::ClientDefault));
        let told = place(&[("HOME", "/h"), ("ENDO_SOCK_PATH", "/e/sock"), ("ENDO_SOCK", "/f")]).unwrap();
        assert_eq!(told.endo, socket("/e/sock", Claim::Explicit));
        // At Endo's default path, another daemon may be listening.
        let nobody = place(&[("HOME", "/h"), ("USER", "me")]).unwrap();
        let shared = std::env::temp_dir().join("endo-me/captp0.sock");
        assert_eq!(nobody.endo, EndoPlace { socket: shared, claim: Claim::ClientDefault });
    }

    #[test]
    fn long_home_path_gets_short_socket_path() {
        let deep = format!("/{}", "x".repeat(120));
        assert!(place(&[("ALMONER_HOME", &deep)]).unwrap().socket().as_os_str().len() <= 107);
    }
}
