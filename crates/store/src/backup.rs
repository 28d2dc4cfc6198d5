//! The backup of a store while the store is in use.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use kernel::BlobHash;
use kernel::txn::StoreFault;

use crate::blob::{BlobError, Blobs};
use crate::place::{self, DIR_MODE, FILE_MODE};
use crate::{database, fault};

/// The reason why a backup could not be made. The target path never has an incomplete backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The target path already exists.
    #[error("{} is there already", path.display())]
    Exists {
        /// The target path.
        path: PathBuf,
    },
    /// The rows could not be read or copied.
    #[error(transparent)]
    Rows(#[from] StoreFault),
    /// A blob could not be read. Damaged blobs are not copied.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The backup could not be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path that could not be written.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// Copies the rows in their present state, then the blobs. Every blob that the copied rows name is durable by then.
pub(crate) fn copy(from: &Path, blobs: &Blobs, to: &Path) -> Result<(), BackupError> {
    // The blobs that the copied rows name must not be removed before they are copied.
    let _frozen = blobs.marks().freeze();
    let exists = |path: &Path| BackupError::Exists { path: path.to_path_buf() };
    if to.symlink_metadata().is_ok() {
        return Err(exists(to));
    }
    let mut name = to.file_name().ok_or_else(|| exists(to))?.to_owned();
    name.push(".partial");
    let partial = to.with_file_name(name);
    match fs::remove_dir_all(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&partial)(error)),
        _ => {}
    }
    let outcome = fill(from, blobs, &partial).and_then(|()| {
        fs::rename(&partial, to).map_err(failed(to))?;
        place::sync_parent(to).map_err(failed(to))
    });
    if outcome.is_err() {
        // If this fails, the next backup to the same path removes the remains.
        let _ = fs::remove_dir_all(&partial);
    }
    outcome
}

fn fill(from: &Path, blobs: &Blobs, to: &Path) -> Result<(), BackupError> {
    make_dir(to)?;
    copy_rows(from, &to.join(place::DATABASE))?;

    let shelves = to.join(place::BLOBS);
    make_dir(&shelves)?;
    // Blobs that are stored as rows were copied with the other rows.
    for hash in blobs.files()? {
        copy_blob(blobs, &hash, &shelves)?;
    }
    place::sync_dir(&shelves).and_then(|()| place::sync_dir(to)).map_err(failed(to))
}

/// Copies the rows of the store in `from` to a new file.
pub(crate) fn copy_rows(from: &Path, to: &Path) -> Result<(), BackupError> {
    // The file is made before SQLite opens it, so that its mode never lets others read it. SQLite accepts an empty
    // file.
    new_file(to)?;
    let source = database::source(&from.join(place::DATABASE))?;
    let path = to.to_str().ok_or_else(|| StoreFault::Io("the path is not UTF-8".into()))?;
    source.execute("VACUUM INTO ?1", [path]).map_err(|e| fault::refine(to, fault::from_sqlite(&e)))?;
    File::open(to).and_then(|file| file.sync_all()).map_err(failed(to))
}

fn copy_blob(blobs: &Blobs, hash: &BlobHash, shelves: &Path) -> Result<(), BackupError> {
    let mut source = match blobs.open(hash) {
        // The blob was removed after it was listed, so no row names it.
        Err(BlobError::NotFound { .. }) => return Ok(()),
        other => other?,
    };
    let path = Blobs::path_in(shelves, hash);
    if let Some(shelf) = path.parent() {
        place::make_dir(shelf).map_err(failed(shelf))?;
    }
    let mut copy = new_file(&path)?;
    io::copy(&mut source, &mut copy).and_then(|_| copy.sync_all()).map_err(failed(&path))?;
    path.parent().map_or(Ok(()), place::sync_dir).map_err(failed(&path))
}

fn make_dir(path: &Path) -> Result<(), BackupError> {
    DirBuilder::new().mode(DIR_MODE).create(path).map_err(failed(path))
}

fn new_file(path: &Path) -> Result<File, BackupError> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path).map_err(failed(path))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> BackupError {
    move |source| BackupError::Io { path: path.to_path_buf(), source }
}
