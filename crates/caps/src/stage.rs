//! A staged copy of a directory. The run changes the copy freely, and the user decides later whether the changes are
//! applied to the real directory.
//!
//! Files are shared where possible: a file in the stage is a hard link to the real file. A capability never changes a
//! file in place, but replaces it with a new one, so the real file stays as it is. Bytes are copied only if the stage
//! lies on another file system, or the operating system refuses a hard link.
//!
//! Programs do change files in place. So a copy in which a program works shares nothing, and [`StageBase`] keeps its
//! first state, with which the changes are found again whatever happened meanwhile.

mod base;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use base::{StageBase, StageChange, StageChanges};

use crate::path::is_temporary;

/// The maximum number of files and directories in a staged directory.
const MAX_ENTRIES: usize = 50_000;

/// The maximum number of bytes that are copied where hard links are impossible.
const MAX_COPIED_BYTES: u64 = 1 << 30;

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
    /// The directory has to be copied and is too large for that.
    #[error("it has to be copied, and holds more than {} MiB", MAX_COPIED_BYTES >> 20)]
    Large,
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
/// When the directory holds too much, or the file system fails. The partial copy is removed.
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
    // If the removal fails, a remainder stays. No run uses it any more, and it takes up space until the user removes
    // it.
    let _ = fs::remove_dir_all(stage);
    StageBase::remove(stage);
}

fn fill(real: &Path, stage: &Path, purpose: StageUse) -> Result<(), StageError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| StageError::Io { path, source }
    };
    fs::create_dir_all(stage).map_err(failed(stage))?;
    let (mut entries, mut copied) = (0, 0);
    let mut ways = vec![PathBuf::new()];
    while let Some(way) = ways.pop() {
        let from = real.join(&way);
        let found = match fs::read_dir(&from) {
            Err(error) if way.as_os_str().is_empty() && error.kind() == io::ErrorKind::NotFound => {
                return Ok(());
            }
            found => found.map_err(failed(&from))?,
        };
        for entry in found {
            let entry = entry.map_err(failed(&from))?;
            entries += 1;
            if entries > MAX_ENTRIES {
                return Err(StageError::Many);
            }
            let (old, new) = (entry.path(), stage.join(&way).join(entry.file_name()));
            let kind = entry.file_type().map_err(failed(&old))?;
            if kind.is_dir() {
                fs::create_dir(&new).map_err(failed(&new))?;
                ways.push(way.join(entry.file_name()));
            } else if kind.is_symlink() {
                let to = fs::read_link(&old).map_err(failed(&old))?;
                std::os::unix::fs::symlink(to, &new).map_err(failed(&new))?;
            } else if kind.is_file() && !entry.file_name().to_str().is_some_and(is_temporary) {
                share(&old, &new, purpose, &mut copied)?;
            }
        }
    }
    Ok(())
}

/// Makes a hard link to a file, or a copy if a link is impossible or unwanted.
fn share(old: &Path, new: &Path, purpose: StageUse, copied: &mut u64) -> Result<(), StageError> {
    let failed = |source| StageError::Io { path: old.to_owned(), source };
    if purpose == StageUse::Capabilities {
        match fs::hard_link(old, new) {
            Ok(()) => return Ok(()),
            // The file has been removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) => {}
        }
    }
    let meta = match fs::symlink_metadata(old) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        meta => meta.map_err(failed)?,
    };
    *copied = copied.saturating_add(meta.len());
    if *copied > MAX_COPIED_BYTES {
        return Err(StageError::Large);
    }
    fs::copy(old, new).map_err(failed)?;
    // Programs such as `make` compare the times of files. A time that cannot be set only makes them work more.
    if let (Ok(time), Ok(file)) = (meta.modified(), fs::File::options().write(true).open(new)) {
        let _ = file.set_modified(time);
    }
    Ok(())
}
