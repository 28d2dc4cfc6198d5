//! The places of a user's files: one directory for each purpose, all below `ALMONER_HOME` if that is set.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use control::exit::{Exit, Failure};

pub use crate::private_dir::private_dir;

/// The maximum length of the path of a socket, in bytes. The system takes 108 with the zero byte at the end.
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// The directories of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory of the store, which must survive reboots.
    pub state: PathBuf,
    /// The directory of the user's own files: settings and policy.
    pub config: PathBuf,
    /// The directory of models and other files that can be fetched again.
    pub cache: PathBuf,
    /// The directory of the control socket. It depends on the store alone, so that every command finds the same
    /// socket, whatever else its environment names.
    pub runtime: PathBuf,
    /// The directory of the file with the number of the daemon's process, which Endo's clients read.
    pub ephemeral: PathBuf,
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

impl EndoPlace {
    /// Returns the directory in which only Endo's programs of this user work, if the socket lies at Endo's default path.
    pub fn own_directory(&self) -> Option<&Path> {
        let dir = self.socket.parent().filter(|_| self.claim == Claim::ClientDefault)?;
        let name = dir.file_name()?.to_str()?;
        (name == "endo" || name.starts_with("endo-")).then_some(dir)
    }
}

/// The name of Endo's socket in its directory.
const ENDO_SOCKET: &str = "captp0.sock";

/// Returns the user's home directory, as the environment or the system names it.
pub fn user_home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

impl Place {
    /// Returns a place with all directories below one directory, given by its absolute path.
    pub fn under(home: &Path) -> Place {
        let runtime = home.join("run");
        let endo = EndoPlace { socket: runtime.join(ENDO_SOCKET), claim: Claim::Private };
        Place {
            endo,
            state: home.join("state"),
            config: home.join("config"),
            cache: home.join("cache"),
            ephemeral: runtime.clone(),
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
    /// When neither `ALMONER_HOME` nor `HOME` is set, and the system knows no home of the user. When `sudo` has kept
    /// the home of another user. When the path of the store is too long.
    pub fn from_env() -> Result<Place, Failure> {
        let env = |name: &str| {
            match std::env::var_os(name) {
                // A service of the system has no `HOME`. The system then says where the user's home is.
                None if name == "HOME" => std::env::home_dir().map(PathBuf::into_os_string),
                found => found,
            }
            .filter(|value| !value.is_empty())
        };
        let model = env("ALMONER_MODEL").and_then(|model| model.into_string().ok());
        let place = Place { model, ..Place::from(&env)? };
        // Otherwise each command would name the first of its own files, and no way out.
        store::check_path(&place.store()).map_err(open_failure)?;
        Ok(place)
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
        check_sudo(env, &home)?;
        let base = |name: &str, rest: &str| {
            env(name).map(PathBuf::from).filter(|p| p.is_absolute()).unwrap_or_else(|| home.join(rest))
        };
        let state = base("XDG_STATE_HOME", ".local/state").join("almoner");
        Ok(Place {
            endo: endo(env),
            runtime: state.join("run"),
            ephemeral: state.join("run"),
            state,
            config: base("XDG_CONFIG_HOME", ".config").join("almoner"),
            cache: base("XDG_CACHE_HOME", ".cache").join("almoner"),
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
        let ephemeral = named("ENDO_EPHEMERAL_STATE_PATH").unwrap_or_else(|| state.join("run"));
        let socket = named("ENDO_SOCK_PATH").unwrap_or_else(|| ephemeral.join(ENDO_SOCKET));
        Place {
            endo: EndoPlace { socket, claim: Claim::Explicit },
            cache: named("ENDO_CACHE_PATH").unwrap_or_else(|| state.join("cache")),
            runtime: state.join("run"),
            ephemeral,
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

    /// Returns the directory of the packages that were installed for servers of tools, one directory for each server.
    pub fn tool_servers(&self) -> PathBuf {
        self.state.join("tool-servers")
    }

    /// Returns the socket on which the daemon takes commands. It lies beside the store, or where the record says if the
    /// file system takes no sockets.
    pub fn socket(&self) -> PathBuf {
        let own = self.own_socket();
        let recorded = match own.symlink_metadata() {
            Ok(_) => None,
            Err(_) => std::fs::read_to_string(self.socket_record()).ok().map(PathBuf::from),
        };
        recorded.filter(|path| path.is_absolute()).unwrap_or(own)
    }

    /// Returns the place of the control socket beside the store.
    pub fn own_socket(&self) -> PathBuf {
        self.runtime.join("control.sock")
    }

    /// Returns the file that names the control socket, if it cannot lie beside the store.
    pub fn socket_record(&self) -> PathBuf {
        self.runtime.join("control.path")
    }

    /// Returns the place of the control socket among temporary files. It does not depend on `TMPDIR`.
    pub fn temporary_socket(&self) -> PathBuf {
        let hash = blake3::hash(self.runtime.as_os_str().as_encoded_bytes()).to_hex();
        let uid = rustix::process::getuid().as_raw();
        Path::new("/tmp").join(format!("almoner-{uid}-{}", &hash[..16])).join("control.sock")
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

/// Refuses the home of the user who has called `sudo`. Files of root in it would keep that user out of their own
/// store.
fn check_sudo(env: &dyn Fn(&str) -> Option<OsString>, home: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt as _;
    let caller = env("SUDO_UID").and_then(|uid| uid.to_str()?.parse::<u32>().ok());
    let own = rustix::process::getuid().as_raw();
    let owner = std::fs::metadata(home).map(|meta| meta.uid()).ok();
    if caller.is_none() || caller == Some(own) || owner != caller {
        return Ok(());
    }
    let shown = home.display().to_string();
    let message = format!(
        "cannot use {}: it is the home of the user who called `sudo`, and root's files would lock them out",
        passable::visible_line(&shown)
    );
    Err(Failure::new(Exit::Denied, message)
        .help("leave `sudo` out, or use root's own store: `sudo -H almoner …`"))
}

/// A path of a socket that the system accepts, however long the path itself is.
///
/// A long path is replaced by one through an open descriptor of its directory. So the socket still lies where every
/// other program looks for it.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    /// The open directory. The path is valid as long as it is open.
    _dir: Option<OwnedFd>,
}

impl SocketPath {
    /// Returns the path of a socket whose directory exists.
    ///
    /// # Errors
    /// When the path is too long, and its directory cannot be opened.
    pub fn new(socket: &Path) -> io::Result<SocketPath> {
        let (Some(dir), Some(name)) = (socket.parent(), socket.file_name()) else {
            return Ok(SocketPath { path: socket.to_owned(), _dir: None });
        };
        if socket.as_os_str().len() <= MAX_SOCKET_PATH_BYTES {
            return Ok(SocketPath { path: socket.to_owned(), _dir: None });
        }
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
        let dir = rustix::fs::open(dir, flags, rustix::fs::Mode::empty())?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd())).join(name);
        Ok(SocketPath { path, _dir: Some(dir) })
    }

    /// Returns the path to bind or to connect to.
    pub fn as_path(&self) -> &Path {
        &self.path
    }
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
        // The control socket belongs to the store. Only Endo's own files lie in the ephemeral directory.
        assert_eq!(told.socket(), Path::new("/e/state/run/control.sock"));
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

    /// A command that starts from cron, over ssh or in tmux with an old session finds the same socket as one of the
    /// desktop session. A socket that follows `XDG_RUNTIME_DIR` gave denoland/clawpatrol#670 two daemons for one store,
    /// and the cron jobs of vilhalmer/oguri#35 and LGFae/swww#164 none.
    #[test]
    fn control_socket_depends_on_the_store_alone() {
        let desktop =
            [("HOME", "/h"), ("XDG_RUNTIME_DIR", "/tmp"), ("TMPDIR", "/tmp/session"), ("USER", "me")];
        let stale = [("HOME", "/h"), ("XDG_RUNTIME_DIR", "/run/user/0/gone"), ("TMPDIR", "/gone")];
        let cron = [("HOME", "/h")];
        let named = [("HOME", "/h"), ("XDG_STATE_HOME", "/h/.local/state")];
        for vars in [&desktop[..], &stale, &cron, &named] {
            let place = place(vars).unwrap();
            assert_eq!(place.store(), Path::new("/h/.local/state/almoner/store"));
            assert_eq!(place.socket(), Path::new("/h/.local/state/almoner/run/control.sock"), "{vars:?}");
        }
        let ephemeral = [("HOME", "/h"), ("ENDO_STATE_PATH", "/e"), ("ENDO_EPHEMERAL_STATE_PATH", "/r")];
        let [with, without] = [&ephemeral[..], &ephemeral[..2]].map(|vars| place(vars).unwrap().socket());
        assert_eq!(with, without);
    }

    #[test]
    fn home_of_the_caller_of_sudo_is_refused() {
        use std::os::unix::fs::MetadataExt as _;
        let home = tempfile::tempdir().unwrap();
        let path = home.path().to_str().unwrap();
        let owner = home.path().metadata().unwrap().uid();
        // The caller is this user, so nothing is wrong.
        let (own, other) = (owner.to_string(), (owner + 1).to_string());
        for uid in [own.as_str(), &other, "", "x"] {
            assert!(place(&[("HOME", path), ("SUDO_UID", uid)]).is_ok(), "{uid}");
        }
        if rustix::process::getuid().is_root() {
            std::os::unix::fs::chown(home.path(), Some(12345), None).unwrap();
            let refused = place(&[("HOME", path), ("SUDO_UID", "12345")]).unwrap_err();
            assert_eq!(refused.exit, Exit::Denied);
            assert!(place(&[("HOME", path), ("SUDO_UID", "12345"), ("ALMONER_HOME", "/a")]).is_ok());
        }
    }

    #[test]
    fn socket_with_long_path_is_reached_at_its_own_place() {
        use std::os::unix::net::{UnixListener, UnixStream};
        let root = tempfile::tempdir().unwrap();
        let deep = (0..12).fold(root.path().to_owned(), |dir, _| dir.join("a directory with a long name"));
        std::fs::create_dir_all(&deep).unwrap();
        for socket in [root.path().join("short.sock"), deep.join("control.sock")] {
            assert!(UnixStream::connect(SocketPath::new(&socket).unwrap().as_path()).is_err());
            let listener = UnixListener::bind(SocketPath::new(&socket).unwrap().as_path()).unwrap();
            assert!(socket.exists(), "{socket:?}");
            UnixStream::connect(SocketPath::new(&socket).unwrap().as_path()).unwrap();
            listener.accept().unwrap();
        }
        assert!(SocketPath::new(&deep.join("missing/control.sock")).is_err());
    }
}
