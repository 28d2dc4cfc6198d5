//! A staged copy of a directory. The run changes the copy freely, and the user decides later whether the changes are
//! applied to the real directory.
//!
//! Files are shared where possible: a file in the stage is a hard link to the real file. A capability never changes a
//! file in place, but replaces it with a new one, so the real file stays as it is. Bytes are copied only if the stage
//! lies on another file system, or the operating system refuses a hard link.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::path::is_temporary;

/// The maximum number of files and directories in a staged directory.
const MAX_ENTRIES: usize = 50_000;

/// The maximum number of bytes that are copied where hard links are impossible.
const MAX_COPIED_BYTES: u64 = 1 << 30;

/// The reason why a directory cannot be staged.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The directory holds too many files and directories.
    #[error("it holds more than {MAX_ENTRIES} files and directories")]
    Many,
    /// The directory lies on another file system and is too large to be copied.
    #[error("it lies on another file system and holds more than {} MiB", MAX_COPIED_BYTES >> 20)]
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
pub fn make(real: &Path, stage: &Path) -> Result<(), StageError> {
    let made = fill(real, stage);
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
}

fn fill(real: &Path, stage: &Path) -> Result<(), StageError> {
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
                share(&old, &new, &mut copied)?;
            }
        }
    }
    Ok(())
}

/// Makes a hard link to a file, or a copy if a link is impossible.
fn share(old: &Path, new: &Path, copied: &mut u64) -> Result<(), StageError> {
    let failed = |source| StageError::Io { path: old.to_owned(), source };
    match fs::hard_link(old, new) {
        Ok(()) => return Ok(()),
        // The file has been removed meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(_) => {}
    }
    *copied = copied.saturating_add(fs::symlink_metadata(old).map_err(failed)?.len());
    if *copied > MAX_COPIED_BYTES {
        return Err(StageError::Large);
    }
    fs::copy(old, new).map(drop).map_err(failed)
}
