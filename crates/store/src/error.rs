//! The errors of opening, reading and writing a store.

use std::io;
use std::path::{Path, PathBuf};

use kernel::txn::StoreFault;
use rustix::io::Errno;

use crate::backup_record::{BackupRecord, restore_advice, unused_name};

/// The reason why a store could not be opened. Nothing in the directory has been changed then, except that
/// permissions may have been tightened. A store of another build or program is left byte for byte.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process owns the store.
    #[error("cannot open the store: {} is in use{}", dir.display(), by(pid))]
    Owned {
        /// The store's directory.
        dir: PathBuf,
        /// The owner's process number, if the owner has already written it.
        pid: Option<u32>,
    },
    /// The directory belongs to another user.
    #[error("cannot open the store: {} belongs to another user (uid {uid})", dir.display())]
    NotYours {
        /// The store's directory.
        dir: PathBuf,
        /// The user who owns the directory.
        uid: u32,
    },
    /// Another kind of file is in the place of a directory or file of the store.
    #[error("cannot open the store: {} is not {expected}", path.display())]
    InTheWay {
        /// The path that is in the way.
        path: PathBuf,
        /// The kind that should be there: "a directory", "a regular file".
        expected: &'static str,
    },
    /// An earlier build, with an older schema, wrote the store.
    #[error("cannot open the store: an earlier build wrote it")]
    Earlier {
        /// The store's directory.
        dir: PathBuf,
    },
    /// A later build, with a newer schema, wrote the store.
    #[error("cannot open the store: a later build wrote it")]
    Newer {
        /// The store's directory.
        dir: PathBuf,
    },
    /// The database file is an SQLite file of another program.
    #[error("cannot open the store: {} is a database of another program", path.display())]
    Foreign {
        /// The database file.
        path: PathBuf,
    },
    /// There are blobs or a log, but no database beside them.
    #[error("cannot open the store: {} is missing, but other parts of the store are there", path.display())]
    Missing {
        /// The database file.
        path: PathBuf,
    },
    /// The content of the store differs from the content that was written.
    #[error("cannot open the store: {} is damaged: {detail}", path.display())]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// A description of the damage.
        detail: String,
    },
    /// The directory, a file in it, or the file system is not writable.
    #[error("cannot open the store: {} cannot be written: {detail}", path.display())]
    ReadOnly {
        /// The path that cannot be written.
        path: PathBuf,
        /// The system's reason.
        detail: String,
    },
    /// The disk or the quota is full.
    #[error("cannot open the store: no space is left for {}", path.display())]
    Full {
        /// The path that could not be written.
        path: PathBuf,
    },
    /// The path is longer than the system or the database accepts.
    #[error("cannot open the store: the path {} is too long", path.display())]
    PathTooLong {
        /// The path.
        path: PathBuf,
    },
    /// A failure of the file system or the database of any other kind.
    #[error("cannot open the store: {}: {detail}", path.display())]
    Io {
        /// The path of the failed operation.
        path: PathBuf,
        /// The system's or the database's reason.
        detail: String,
    },
}

/// The maximum length of a path of the store, in bytes. SQLite takes 512 with the endings of its own files.
const MAX_PATH_BYTES: usize = 480;

/// Returns a path in the form that a shell accepts, with quotation marks if needed.
pub(crate) fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// Returns the way to the newest backup of the store whose file is at `path`, if one is known.
fn known_backup(path: &Path) -> Option<String> {
    let dir = path.parent()?;
    BackupRecord::newest(dir).map(|_| restore_advice(dir))
}

fn by(pid: &Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" by process {pid}"))
}

impl OpenError {
    /// Returns one line for the user: the way to fix the problem, and the state of the data.
    pub fn help(&self) -> String {
        match self {
            OpenError::Owned { pid: Some(pid), .. } => format!(
                "Talk to that process instead, or end it with `kill {pid}`; it loses nothing by that. \
                 Nothing was changed."
            ),
            OpenError::Owned { pid: None, .. } => {
                "Wait until it has started, then talk to it instead. Nothing was changed.".into()
            }
            OpenError::NotYours { .. } => {
                "Run as that user, or choose another directory. Nothing was changed.".into()
            }
            OpenError::InTheWay { path, .. } => {
                format!("Move {} away, or choose another directory. Nothing was changed.", path.display())
            }
            OpenError::Earlier { dir } => {
                let (dir, aside) = (quoted(dir), quoted(&unused_name(dir, "earlier")));
                format!(
                    "`mv -T {dir} {aside}` begins anew; the build that wrote it still opens it. Nothing was changed."
                )
            }
            OpenError::Newer { dir } => {
                let (dir, aside) = (quoted(dir), quoted(&unused_name(dir, "later")));
                format!(
                    "Install the later build again, or begin anew: `mv -T {dir} {aside}`. Nothing was changed."
                )
            }
            OpenError::Foreign { .. } => {
                "Choose another directory, or move that file away. Nothing was changed.".into()
            }
            OpenError::Missing { path } if known_backup(path).is_some() => {
                format!("{}. Nothing was changed.", known_backup(path).unwrap_or_default())
            }
            OpenError::Missing { path } => format!(
                "Put {} back from a backup (`almoner backup` makes one), or move the whole directory away to begin anew. Nothing was changed.",
                path.display()
            ),
            OpenError::Corrupt { path, .. } if known_backup(path).is_some() => format!(
                "{}. `sqlite3 {} .recover` reads out what is left. Nothing was changed.",
                known_backup(path).unwrap_or_default(),
                path.display()
            ),
            OpenError::Corrupt { path, .. } => format!(
                "Restore a backup (`almoner backup` makes one), or read out what is left with `sqlite3 {} .recover`, or move the directory \
                 away to begin anew. Nothing was changed.",
                path.display()
            ),
            OpenError::ReadOnly { path, .. } => format!(
                "Make {} writable (permissions, a read-only mount), or choose another directory. \
                 Nothing is lost.",
                path.display()
            ),
            OpenError::Full { .. } => {
                "Free some space on that disk and try again. Everything acknowledged is kept.".into()
            }
            OpenError::PathTooLong { .. } => {
                "Choose a directory with a shorter path (`ALMONER_HOME`). Nothing was changed.".into()
            }
            OpenError::Io { .. } => {
                "See whether the disk is healthy, then try again. Nothing was changed.".into()
            }
        }
    }

    /// Returns the error for a failure of the operating system. The variants differ by the remedy.
    pub(crate) fn from_io(path: &Path, error: &io::Error) -> OpenError {
        let path = path.to_path_buf();
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOSPC | Errno::DQUOT) => OpenError::Full { path },
            Some(Errno::ROFS | Errno::ACCESS | Errno::PERM) => {
                OpenError::ReadOnly { path, detail: error.to_string() }
            }
            // This error means that the path is a link. Only regular files are opened without following links.
            Some(Errno::LOOP) => OpenError::InTheWay { path, expected: "a regular file" },
            Some(Errno::NAMETOOLONG) => OpenError::PathTooLong { path },
            Some(Errno::NOTDIR) => OpenError::InTheWay { path, expected: "a directory" },
            _ => OpenError::Io { path, detail: error.to_string() },
        }
    }

    /// Returns the error for a failure of the database. The variants differ by the remedy.
    pub(crate) fn from_fault(path: &Path, fault: StoreFault) -> OpenError {
        let path = path.to_path_buf();
        match fault {
            StoreFault::Full(_) => OpenError::Full { path },
            StoreFault::ReadOnly(detail) => OpenError::ReadOnly { path, detail },
            StoreFault::Corrupt(detail) => OpenError::Corrupt { path, detail },
            StoreFault::Closed => OpenError::Io { path, detail: "closed".into() },
            StoreFault::Io(_) if path.as_os_str().len() > MAX_PATH_BYTES => OpenError::PathTooLong { path },
            StoreFault::Io(detail) => OpenError::Io { path, detail },
        }
    }
}

/// The reason why a write failed. In every case, the store has none of the closure's changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError<E> {
    /// The closure refused, and its changes were rolled back.
    #[error("{0}")]
    Refused(E),
    /// The store failed, either in the closure (even if the closure ignored the error) or at COMMIT. A failed COMMIT
    /// is the result of every closure of the group.
    #[error(transparent)]
    Store(StoreFault),
    /// The closure panicked, and its changes were rolled back. The writer continues.
    #[error("a write panicked: {0}")]
    Panicked(String),
}

impl<E: From<StoreFault>> WriteError<E> {
    /// Converts the error to the closure's own type, for callers that treat all three variants alike.
    pub fn into_inner(self) -> E {
        match self {
            WriteError::Refused(e) => e,
            WriteError::Store(fault) => fault.into(),
            WriteError::Panicked(message) => StoreFault::Io(format!("a write panicked: {message}")).into(),
        }
    }
}

/// The reason why a read failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError<E> {
    /// The closure refused.
    #[error("{0}")]
    Refused(E),
    /// The store could not begin the read. Failures inside the closure are returned by the closure.
    #[error(transparent)]
    Store(StoreFault),
}

impl<E: From<StoreFault>> ReadError<E> {
    /// Converts the error to the closure's own type, for callers that treat both variants alike.
    pub fn into_inner(self) -> E {
        match self {
            ReadError::Refused(e) => e,
            ReadError::Store(fault) => fault.into(),
        }
    }
}
