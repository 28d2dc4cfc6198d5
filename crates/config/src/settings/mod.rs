//! The user's settings in `config.toml`.
//!
//! The file is optional and is read strictly: an unknown key is an error, with its line and advice. After such an
//! error, the daemon continues with the settings that it read last.

pub mod edit;
mod models;
mod network;
pub mod project;
mod project_limits;
mod project_spools;
mod read;
pub mod report;
mod web;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use ::network::NetworkSettings;
use model::served::MinimumPace;
use model::{ModelLimits, Price};

use crate::place::Place;
use control::exit::{Exit, Failure};
use passable::{shell_word, visible_line};

/// The name of the file in the user's configuration directory.
pub const FILE: &str = "config.toml";

/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// The name of the notifications in the output of `almoner doctor`.
pub const NOTIFY: &str = "notify";

/// All settings. If the file does not exist, the default applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The way in which a person is notified of waiting messages.
    pub notify: Option<Notify>,
    /// The user's settings for models, in addition to the built-in ones.
    pub models: Models,
    /// The address of the web pages. Without it, they are served at a local port that is chosen when they are opened.
    pub web: Option<Web>,
    /// The way to other machines. Each setting replaces what the environment says.
    pub network: NetworkSettings,
    /// The user's settings for servers of tools.
    pub mcp: Mcp,
}

/// The user's settings for servers of tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mcp {
    /// The time that a server has to start, in milliseconds.
    pub start_ms: Option<u64>,
}

/// The address and the host names of the web pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Web {
    /// The address and port. An address that other machines can reach requires `hosts`, and a proxy that provides
    /// TLS.
    pub bind: Option<SocketAddr>,
    /// The host names that browsers use for the pages, as they send them. The pages are then served behind a proxy
    /// that terminates TLS.
    pub hosts: Vec<String>,
}

/// The user's settings for models. Models are identified by their references as runs store them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Models {
    /// The model for runs that name none.
    pub default: Option<String>,
    /// The names that the user chose for models, each with its reference.
    pub names: BTreeMap<String, String>,
    /// The prices of models, which override the built-in prices.
    pub prices: BTreeMap<String, Price>,
    /// The limits of models, which override those that are known otherwise.
    pub limits: BTreeMap<String, ModelLimits>,
    /// The models that accept images unchanged.
    pub images: BTreeSet<String>,
    /// The models that accept PDFs unchanged.
    pub pdfs: BTreeSet<String>,
    /// The models that may read private data.
    pub private: BTreeSet<String>,
    /// The pace that the servers of models have to keep.
    pub pace: MinimumPace,
}

/// The way in which a person is notified of waiting messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notify {
    /// The program and its arguments, with placeholders for the notification. The command is not run by a shell.
    pub command: Vec<String>,
}

/// Returns the path of the file.
pub fn path(place: &Place) -> PathBuf {
    place.config.join(FILE)
}

/// Reads the settings. If the file does not exist, the default is returned.
///
/// # Errors
/// When the file exists but cannot be read or understood.
pub fn read(path: &Path) -> Result<Settings, Failure> {
    let fail = |what: &str, help: &str| {
        Failure::new(Exit::Invalid, format!("{}: {what}", path.display())).help(help)
    };
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Settings::default()),
        Err(e) => return Err(fail(&e.to_string(), "the file must be yours to read")),
    };
    check_trusted(path, &meta).map_err(|(what, help)| fail(what, &help))?;
    let bytes = std::fs::read(path).map_err(|e| fail(&e.to_string(), "the file must be yours to read"))?;
    let text = String::from_utf8(bytes).map_err(|_| fail("this is not UTF-8", "save it as plain text"))?;
    read::parse(&text).map_err(|trouble| {
        let at = trouble.line.map(|line| format!(":{line}")).unwrap_or_default();
        Failure::new(Exit::Invalid, format!("{}{at}: {}", path.display(), trouble.what)).help(trouble.help)
    })
}

/// Checks that no other user can have written the file, since it names programs to run. The owner must be the user or
/// root, and the file must not be writable by everybody.
///
/// # Errors
/// The fault of the file, with advice.
pub fn check_trusted(path: &Path, meta: &std::fs::Metadata) -> Result<(), (&'static str, String)> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    if !meta.is_file() {
        return Err(("this is no file", "move it away, or write a file there".to_owned()));
    }
    if meta.len() > MAX_FILE_BYTES {
        return Err(("it has more than 64 KiB", "settings are short; is it the right file?".to_owned()));
    }
    if ![rustix::process::getuid().as_raw(), 0].contains(&meta.uid()) {
        let help = "a file that names programs to run must be yours".to_owned();
        return Err(("it belongs to another user", help));
    }
    if meta.permissions().mode() & 0o002 != 0 {
        let path = path.to_string_lossy();
        let help = format!("it names programs to run: `chmod o-w {}`", visible_line(&shell_word(&path)));
        return Err(("everybody may write it", help));
    }
    Ok(())
}

/// The settings of a running daemon, which are read again when the file changes.
pub struct SettingsWatcher {
    path: PathBuf,
    seen: Option<FileStamp>,
    settings: Settings,
    /// The fault of the file, if it was never read without one.
    fault: Option<String>,
    /// Whether the file was ever read without a fault. A missing file has none.
    is_read: bool,
}

/// The fingerprint by which a changed file is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileStamp {
    None,
    File { inode: u64, bytes: u64, changed: Option<SystemTime>, mode: u32 },
}

impl SettingsWatcher {
    /// Returns a watcher for this file. The file is not read yet.
    pub fn new(path: PathBuf) -> SettingsWatcher {
        SettingsWatcher { path, seen: None, settings: Settings::default(), fault: None, is_read: false }
    }

    /// Returns the current settings. If the file cannot be read, they stay as they were, and the failure is returned
    /// once.
    pub fn reload(&mut self) -> (&Settings, Option<Failure>) {
        let now = FileStamp::of(&self.path);
        if self.seen == Some(now) {
            return (&self.settings, None);
        }
        self.seen = Some(now);
        let failure = match read(&self.path) {
            Ok(settings) => {
                (self.settings, self.fault) = (settings, None);
                self.is_read = true;
                None
            }
            Err(failure) => {
                if !self.is_read {
                    self.fault = Some(failure.message.visible_line().into_owned());
                }
                Some(failure)
            }
        };
        (&self.settings, failure)
    }

    /// Returns the current settings, for a use that must not go on with the default ones in place of a file that was
    /// never read.
    ///
    /// # Errors
    /// The fault of the file, if it was never read without one.
    pub fn reload_strictly(&mut self) -> Result<&Settings, &str> {
        self.reload();
        match &self.fault {
            Some(fault) => Err(fault),
            None => Ok(&self.settings),
        }
    }
}

/// Returns a function that returns the pace that servers have to keep now, and follows changes of the file.
pub fn pace_source(place: &Place) -> impl Fn() -> MinimumPace + Send + Sync + use<> {
    let watcher = Mutex::new(SettingsWatcher::new(path(place)));
    move || watcher.lock().unwrap_or_else(PoisonError::into_inner).reload().0.models.pace
}

impl FileStamp {
    fn of(path: &Path) -> FileStamp {
        use std::os::unix::fs::MetadataExt as _;
        match std::fs::metadata(path) {
            Ok(meta) => FileStamp::File {
                inode: meta.ino(),
                bytes: meta.len(),
                changed: meta.modified().ok(),
                mode: meta.mode(),
            },
            Err(_) => FileStamp::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const GOOD: &str = "[notify]\ncommand = [\"true\"]\n";

    #[test]
    fn missing_file_reads_as_default_settings() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(&dir.path().join("config/config.toml")).unwrap(), Settings::default());
    }

    #[test]
    fn file_writable_by_everybody_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        std::fs::write(&path, GOOD).unwrap();
        for (mode, good) in [(0o600, true), (0o664, true), (0o666, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(read(&path).is_ok(), good, "{mode:o}");
        }
        std::fs::write(&path, vec![b'#'; 65 << 10]).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(read(&path).unwrap_err().message.raw().contains("64 KiB"));
    }

    #[test]
    fn unreadable_file_keeps_last_settings() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let mut followed = SettingsWatcher::new(path.clone());
        let mut check = |text: Option<&str>, command: Option<&str>, told: bool| {
            match text {
                Some(text) => std::fs::write(&path, text).unwrap(),
                None => std::fs::remove_file(&path).unwrap_or_default(),
            }
            let (settings, failure) = followed.reload();
            assert_eq!(settings.notify.as_ref().map(|notify| notify.command.join(" ")).as_deref(), command);
            assert_eq!(failure.is_some(), told, "{text:?}");
        };
        check(None, None, false);
        check(Some(GOOD), Some("true"), false);
        check(Some("[notify]\ncomand = []\n"), Some("true"), true);
        check(Some(""), None, false);
        check(Some("[notify]\ncommand = [\"false\", \"{text}\"]"), Some("false {text}"), false);
        check(None, None, false);
    }

    #[test]
    fn file_never_read_without_fault_yields_no_strict_settings() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        std::fs::write(&path, "[netwrok]\n").unwrap();
        let mut followed = SettingsWatcher::new(path.clone());
        assert!(followed.reload_strictly().unwrap_err().contains("netwrok"));
        assert!(followed.reload_strictly().is_err(), "the fault stays while the file is the same");
        std::fs::write(&path, GOOD).unwrap();
        assert!(followed.reload_strictly().is_ok());
        std::fs::write(&path, "[netwrok]\n\n").unwrap();
        assert!(
            followed.reload_strictly().is_ok_and(|settings| settings.notify.is_some()),
            "the last ones hold"
        );
    }
}
