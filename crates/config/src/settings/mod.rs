//! What the user writes in `config.toml`.
//!
//! The file is optional and read strictly: what is not known is an error that says where and what to do. Whoever finds
//! one goes on with the settings that were read last; nothing ends because of it.

mod models;
pub mod project;
mod read;
mod tighter;
mod web;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use model::Price;

use crate::place::Place;
use control::exit::{Exit, Failure};

/// The name of the file in the directory of what the user writes.
pub const FILE: &str = "config.toml";

/// The largest file that is read.
const LARGEST: u64 = 64 << 10;

/// What notifications are called where their health is told.
pub const NOTIFY: &str = "notify";

/// All settings. The default is what holds without a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How a person is told that something waits.
    pub notify: Option<Notify>,
    /// What is known of models beside what Almoner knows.
    pub models: Models,
    /// Where the web pages are served, if not at a port of this machine that is chosen when they are opened.
    pub web: Option<Web>,
}

/// Where the web pages are served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Web {
    /// The address and port. One that other machines reach needs `hosts`, and TLS before it.
    pub bind: Option<SocketAddr>,
    /// The names under which browsers come, as they write them; served behind a proxy that ends TLS.
    pub hosts: Vec<String>,
}

/// What the user says of models, by their references as runs store them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Models {
    /// The model for runs that name none.
    pub default: Option<String>,
    /// The user's own names for models, each with the reference that it stands for.
    pub names: BTreeMap<String, String>,
    /// What they cost: before the table of prices.
    pub prices: BTreeMap<String, Price>,
    /// Those that take pictures as they are.
    pub images: BTreeSet<String>,
    /// Those that take PDFs as they are.
    pub pdfs: BTreeSet<String>,
    /// Those that may read what is private.
    pub private: BTreeSet<String>,
}

/// How a person is told that something waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notify {
    /// The program and its arguments, with places for what is told. It goes to no shell.
    pub command: Vec<String>,
}

/// Where the file is.
pub fn path(place: &Place) -> PathBuf {
    place.config.join(FILE)
}

/// Reads the settings.
///
/// # Errors
/// When there is a file that cannot be read or understood.
pub fn read(path: &Path) -> Result<Settings, Failure> {
    let fail = |what: &str, help: &str| {
        Failure::new(Exit::Invalid, format!("{}: {what}", path.display())).help(help)
    };
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Settings::default()),
        Err(e) => return Err(fail(&e.to_string(), "the file must be yours to read")),
    };
    trusted(&meta).map_err(|(what, help)| fail(what, help))?;
    let bytes = std::fs::read(path).map_err(|e| fail(&e.to_string(), "the file must be yours to read"))?;
    let text = String::from_utf8(bytes).map_err(|_| fail("this is not UTF-8", "save it as plain text"))?;
    read::parse(&text).map_err(|trouble| {
        let at = trouble.line.map(|line| format!(":{line}")).unwrap_or_default();
        Failure::new(Exit::Invalid, format!("{}{at}: {}", path.display(), trouble.what)).help(trouble.help)
    })
}

/// Whether nobody else can have written the file: it names programs that are run.
///
/// # Errors
/// What is wrong with it, and what to do.
pub fn trusted(meta: &std::fs::Metadata) -> Result<(), (&'static str, &'static str)> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    if !meta.is_file() {
        return Err(("this is no file", "move it away, or write a file there"));
    }
    if meta.len() > LARGEST {
        return Err(("it has more than 64 KiB", "settings are short; is it the right file?"));
    }
    if ![rustix::process::getuid().as_raw(), 0].contains(&meta.uid()) {
        return Err(("it belongs to another user", "a file that names programs to run must be yours"));
    }
    if meta.permissions().mode() & 0o002 != 0 {
        return Err(("everybody may write it", "it names programs to run: `chmod o-w` it"));
    }
    Ok(())
}

/// The settings as they are followed while a daemon runs.
pub struct Followed {
    path: PathBuf,
    seen: Option<Seen>,
    settings: Settings,
}

/// By what a changed file is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    None,
    File { inode: u64, bytes: u64, changed: Option<SystemTime>, mode: u32 },
}

impl Followed {
    /// The settings of this file, none of which have been read.
    pub fn new(path: PathBuf) -> Followed {
        Followed { path, seen: None, settings: Settings::default() }
    }

    /// The settings now. A file that cannot be read leaves those that were read last, and is told of once.
    pub fn look(&mut self) -> (&Settings, Option<Failure>) {
        let now = Seen::of(&self.path);
        if self.seen == Some(now) {
            return (&self.settings, None);
        }
        self.seen = Some(now);
        let failure = match read(&self.path) {
            Ok(settings) => {
                self.settings = settings;
                None
            }
            Err(failure) => Some(failure),
        };
        (&self.settings, failure)
    }
}

impl Seen {
    fn of(path: &Path) -> Seen {
        use std::os::unix::fs::MetadataExt as _;
        match std::fs::metadata(path) {
            Ok(meta) => Seen::File {
                inode: meta.ino(),
                bytes: meta.len(),
                changed: meta.modified().ok(),
                mode: meta.mode(),
            },
            Err(_) => Seen::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const GOOD: &str = "[notify]\ncommand = [\"true\"]\n";

    #[test]
    fn without_a_file_there_are_no_settings() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(&dir.path().join("config/config.toml")).unwrap(), Settings::default());
    }

    #[test]
    fn a_file_that_others_may_write_is_not_followed() {
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
    fn what_was_read_last_holds_until_something_better_comes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let mut followed = Followed::new(path.clone());
        let mut check = |text: Option<&str>, command: Option<&str>, told: bool| {
            match text {
                Some(text) => std::fs::write(&path, text).unwrap(),
                None => std::fs::remove_file(&path).unwrap_or_default(),
            }
            let (settings, failure) = followed.look();
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
}
