//! A snapshot: the rows of a store at one moment, and the blobs that they name.

use std::fs;
use std::path::{Path, PathBuf};

use kernel::BlobHash;

use crate::backup::BackupError;
use crate::blob::{Blob, BlobError, Blobs};
use crate::marks::Freeze;
use crate::place::{self, StoreDirectory};

/// The rows of a store at one moment. As long as it lives, no blob is removed.
pub struct Snapshot<'a> {
    blobs: &'a Blobs,
    rows: PathBuf,
    _frozen: Freeze,
}

/// A file of a store, by its path in the store's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreFile {
    /// The database with the rows.
    Rows,
    /// A blob.
    Blob(BlobHash),
}

impl StoreFile {
    /// Returns the path in the directory of a store.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match self {
            StoreFile::Rows => place::DATABASE.into(),
            StoreFile::Blob(hash) => Blobs::path_in(Path::new(place::BLOBS), hash),
        }
    }
}

impl<'a> Snapshot<'a> {
    /// Copies the rows in their present state to a file in the store's directory of unfinished files.
    pub(crate) fn new(place: &StoreDirectory, blobs: &'a Blobs, number: u64) -> Result<Self, BackupError> {
        // The blobs that the copied rows name must not be removed before they are read.
        let frozen = blobs.marks().freeze();
        let rows = place.dir.join(place::TEMPORARY).join(format!("snapshot-{number}.sqlite"));
        let snapshot = Snapshot { blobs, rows, _frozen: frozen };
        crate::backup::copy_rows(&place.dir, &snapshot.rows)?;
        Ok(snapshot)
    }

    /// Returns the file with the rows, which goes with the snapshot.
    #[must_use]
    pub fn rows(&self) -> &Path {
        &self.rows
    }

    /// Returns the blobs that are files. Smaller ones are rows.
    ///
    /// # Errors
    /// When the directories cannot be read.
    pub fn blobs(&self) -> Result<Vec<BlobHash>, BackupError> {
        Ok(self.blobs.files()?)
    }

    /// Opens a blob. Returns `None` if it was removed before the snapshot, so that no row names it.
    ///
    /// # Errors
    /// When the blob is damaged, or cannot be read.
    pub fn open(&self, hash: &BlobHash) -> Result<Option<Blob>, BackupError> {
        match self.blobs.open(hash) {
            Err(BlobError::NotFound { .. }) => Ok(None),
            other => Ok(Some(other?)),
        }
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // The next start of the store removes the file otherwise.
        let _ = fs::remove_file(&self.rows);
    }
}
