//! A staged copy of a directory. The run changes the copy freely, and the user decides later whether the changes are
//! applied to the real directory.
//!
//! Files are shared where possible: a file in the stage is a hard link to the real file. A capability never changes a
//! file in place, but replaces it with a new one, so the real file stays as it is. Bytes are copied only if the stage
//! lies on another file system, or the operating system refuses a hard link.
//!
//! Programs do change files in place. So a copy in which a program works shares nothing, and [`StageBase`] keeps its
//! first state, with which the changes are found again whatever happened meanwhile.
//!
//! Other processes may change the directory while it is copied. So each directory is entered by its descriptor, and
//! nothing in it is reached by a path: what is found is what is copied.

mod base;
mod gate;

use std::ffi::{CStr, CString, OsStr};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

pub use base::{StageBase, StageChange, StageChanges};
pub use gate::{ClosedGate, StageCall, begin_call, close_gate};

use crate::path::is_temporary;
use crate::removal;
use crate::walk::{self, Kind};

/// The maximum number of files and directories in a staged directory.
const MAX_ENTRIES: usize = 50_000;

/// The maximum number of bytes that are copied where hard links are impossible.
const MAX_COPIED_BYTES: u64 = 1 << 30;

/// The maximum number of directories in each other. Each of them is open while its contents are copied.
const MAX_DEPTH: usize = 128;

/// The maximum number of times that an entry is looked at again because another process has just replaced it.
const MAX_TRIES: usize = 1000;

/// The use of a staged copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageUse {
    /// Only capabilities change the copy. They replace files, so the files are shared with the real directory.
    Capabilities,
    /// Programs change the copy too, so that every file is copied.
    Programs,
}

/// The reason why a directory cannot be staged.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The directory holds too many files and directories.
    #[error("it holds more than {MAX_ENTRIES} files and directories")]
    Many,
    /// The directory holds too many directories in each other.
    #[error("it holds more than {MAX_DEPTH} directories in each other")]
    Deep,
    /// The directory has to be copied and is too large for that.
    #[error("it has to be copied, and holds more than {} MiB", MAX_COPIED_BYTES >> 20)]
    Large,
    /// Another process replaces an entry again and again.
    #[error("{}: another process keeps replacing it", passable::visible_line(&.path.to_string_lossy()))]
    Unsteady {
        /// The path of the entry.
        path: PathBuf,
    },
    /// The file system fails.
    #[error("{}: {source}", passable::visible_line(&.path.to_string_lossy()))]
    Io {
        /// The path at which the file system fails.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
}

/// Makes a staged copy of the directory `real` at `stage`, which must not exist. Links stay links; a link out of the
/// directory leads nowhere for the run. Pipes, sockets and devices are left out. If `real` does not exist, the copy
/// is empty.
///
/// # Errors
/// When the directory holds too much, a link stands in its path, or the file system fails. The partial copy is removed.
pub fn make(real: &Path, stage: &Path, purpose: StageUse) -> Result<(), StageError> {
    let made = fill(real, stage, purpose).and_then(|()| match purpose {
        StageUse::Capabilities => Ok(()),
        StageUse::Programs => {
            StageBase::record(stage).map_err(|source| StageError::Io { path: stage.to_owned(), source })
        }
    });
    if made.is_err() {
        remove(stage);
    }
    made
}

/// Removes a staged copy, if it exists.
pub fn remove(stage: &Path) {
    let _call = begin_call();
    // If the removal fails, a remainder stays. No run uses it any more, and it takes up space until the user removes
    // it.
    let _ = removal::remove(stage);
    StageBase::remove(stage);
}

fn fill(real: &Path, stage: &Path, purpose: StageUse) -> Result<(), StageError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| StageError::Io { path, source }
    };
    fs::create_dir_all(stage).map_err(failed(stage))?;
    let opened = walk::open_resolved(real).and_then(|way| walk::reopen(way.as_fd()));
    let from = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // A link stands in a path that had none when its directory was bound, a moment ago.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            return Err(StageError::Unsteady { path: real.to_owned() });
        }
        from => from.map_err(failed(real))?,
    };
    let to = rustix::fs::open(stage, walk::DIRECTORY, Mode::empty());
    let to = to.map_err(|error| failed(stage)(error.into()))?;
    let mut copying = Copying { real, purpose, entries: 0, copied: 0 };
    let mut levels = vec![copying.enter(from, to, PathBuf::new())?];
    while let Some(level) = levels.last_mut() {
        let Some(name) = level.names.next() else {
            levels.pop();
            continue;
        };
        if let Some((from, to, way)) = copying.copy(level, &name)? {
            if levels.len() == MAX_DEPTH {
                return Err(StageError::Deep);
            }
            levels.push(copying.enter(from, to, way)?);
        }
    }
    Ok(())
}

/// A directory that is being copied.
struct Level {
    /// The directory.
    from: OwnedFd,
    /// Its copy.
    to: OwnedFd,
    /// The path from the root, for errors.
    way: PathBuf,
    /// The names in it that are still to be copied.
    names: std::vec::IntoIter<CString>,
}

/// The state of an entry of the copy after one try to make it.
enum CopiedEntry {
    /// The entry is there, or is left out.
    Complete,
    /// The entry is a directory, which is now open, together with its empty copy.
    Directory(OwnedFd, OwnedFd),
    /// Another process has replaced the entry between two looks at it.
    Replaced,
}

/// The making of one copy.
struct Copying<'a> {
    real: &'a Path,
    purpose: StageUse,
    /// The number of entries so far.
    entries: usize,
    /// The number of bytes copied so far.
    copied: u64,
}

impl Copying<'_> {
    fn enter(&mut self, from: OwnedFd, to: OwnedFd, way: PathBuf) -> Result<Level, StageError> {
        let names = walk::names(from.as_fd(), MAX_ENTRIES - self.entries + 1);
        let names = names.map_err(|source| StageError::Io { path: self.real.join(&way), source })?;
        self.entries += names.len();
        if self.entries > MAX_ENTRIES {
            return Err(StageError::Many);
        }
        Ok(Level { from, to, way, names: names.into_iter() })
    }

    /// Copies one entry. Returns a directory with its empty copy, so that its contents can follow.
    fn copy(
        &mut self,
        level: &Level,
        name: &CStr,
    ) -> Result<Option<(OwnedFd, OwnedFd, PathBuf)>, StageError> {
        let way = level.way.join(OsStr::from_bytes(name.to_bytes()));
        for _ in 0..MAX_TRIES {
            match self.try_copy(level, name) {
                Ok(CopiedEntry::Complete) => return Ok(None),
                Ok(CopiedEntry::Directory(from, to)) => return Ok(Some((from, to, way))),
                Ok(CopiedEntry::Replaced) => {}
                Err(error) => {
                    return Err(match error {
                        CopyError::Large => StageError::Large,
                        CopyError::Io(source) => StageError::Io { path: self.real.join(&way), source },
                    });
                }
            }
        }
        Err(StageError::Unsteady { path: self.real.join(way) })
    }

    fn try_copy(&mut self, level: &Level, name: &CStr) -> Result<CopiedEntry, CopyError> {
        let (from, to) = (level.from.as_fd(), level.to.as_fd());
        match walk::kind(from, name)? {
            None | Some(Kind::Other) => Ok(CopiedEntry::Complete),
            Some(Kind::Directory) => match walk::step(from, name) {
                Ok(below) => {
                    rustix::fs::mkdirat(to, name, Mode::from_raw_mode(0o777))?;
                    Ok(CopiedEntry::Directory(below, walk::step(to, name)?))
                }
                Err(error) if is_replaced(&error) => Ok(CopiedEntry::Replaced),
                Err(error) => Err(error.into()),
            },
            Some(Kind::Link) => match walk::link_target(from, name) {
                Ok(target) => {
                    rustix::fs::symlinkat(target, to, name)?;
                    Ok(CopiedEntry::Complete)
                }
                Err(error) if is_replaced(&error) => Ok(CopiedEntry::Replaced),
                Err(error) => Err(error.into()),
            },
            Some(Kind::File) if name.to_str().is_ok_and(is_temporary) => Ok(CopiedEntry::Complete),
            Some(Kind::File) => self.share(level, name),
        }
    }

    /// Makes a hard link to a file, or a copy if a link is impossible or unwanted.
    fn share(&mut self, level: &Level, name: &CStr) -> Result<CopiedEntry, CopyError> {
        let (from, to) = (level.from.as_fd(), level.to.as_fd());
        if self.purpose == StageUse::Capabilities {
            match rustix::fs::linkat(from, name, to, name, AtFlags::empty()) {
                Ok(()) if walk::kind(to, name)? == Some(Kind::File) => return Ok(CopiedEntry::Complete),
                // Another process has put something else at the name after it was looked at.
                Ok(()) => {
                    rustix::fs::unlinkat(to, name, AtFlags::empty())?;
                    return Ok(CopiedEntry::Replaced);
                }
                // The file has been removed meanwhile.
                Err(Errno::NOENT) => return Ok(CopiedEntry::Replaced),
                Err(_) => {}
            }
        }
        let file = match walk::open_file(from, name) {
            Ok(file) => file,
            Err(error) if is_replaced(&error) || error.kind() == io::ErrorKind::InvalidInput => {
                return Ok(CopiedEntry::Replaced);
            }
            Err(error) => return Err(error.into()),
        };
        let meta = file.metadata()?;
        let room = MAX_COPIED_BYTES.saturating_sub(self.copied);
        if meta.len() > room {
            return Err(CopyError::Large);
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut copy = File::from(rustix::fs::openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
        // The file may grow while it is copied.
        let count = io::copy(&mut file.take(room.saturating_add(1)), &mut copy)?;
        if count > room {
            return Err(CopyError::Large);
        }
        self.copied += count;
        copy.set_permissions(fs::Permissions::from_mode(meta.permissions().mode() & 0o777))?;
        // Programs such as `make` compare the times of files. A time that cannot be set only makes them work more.
        if let Ok(time) = meta.modified() {
            let _ = copy.set_modified(time);
        }
        Ok(CopiedEntry::Complete)
    }
}

/// The reason why an entry cannot be copied.
enum CopyError {
    Large,
    Io(io::Error),
}

impl From<io::Error> for CopyError {
    fn from(error: io::Error) -> CopyError {
        CopyError::Io(error)
    }
}

impl From<Errno> for CopyError {
    fn from(error: Errno) -> CopyError {
        CopyError::Io(error.into())
    }
}

/// Returns whether an error means that an entry is another one than a moment ago.
fn is_replaced(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL | Errno::ISDIR))
}
