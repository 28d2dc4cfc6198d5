//! The files that browsers have uploaded and that no run uses yet. They are kept for a day, even across restarts of
//! the daemon. So an uploaded file is still there when the page uses it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernel::BlobHash;
use serde::{Deserialize, Serialize};

use crate::state::blobs;
use crate::state::daemon::HostDaemon;
use crate::state::private_file::write;
use config::clock;
use control::exit::Failure;

/// The name of the file with the list of uploads.
const FILE_NAME: &str = "web-brought.json";

/// The time for which an upload is kept, in milliseconds.
const UPLOAD_TIMEOUT_MS: i64 = 24 * 60 * 60 * 1000;

/// The maximum number of uploads. Beyond it, the oldest are dropped.
const MAX_UPLOADS: usize = 512;

/// The pending uploads of browsers.
pub struct PendingUploads {
    path: PathBuf,
    kept: Mutex<Vec<PendingUpload>>,
}

/// One uploaded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PendingUpload {
    /// The hash of the file's bytes.
    hash: BlobHash,
    /// The time until which the file is kept, in milliseconds since 1970.
    until_ms: i64,
}

impl HostDaemon {
    /// Returns the uploads of browsers that no run uses yet.
    pub fn uploads(&self) -> std::sync::Arc<PendingUploads> {
        self.extensions.get(|| PendingUploads::new(&self.place.state))
    }
}

impl PendingUploads {
    /// Returns the pending uploads from the list in this state directory. A list that cannot be read counts as empty,
    /// and browsers must upload its files again.
    pub fn new(state: &Path) -> PendingUploads {
        let path = state.join(FILE_NAME);
        let kept = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        PendingUploads { path, kept: Mutex::new(kept.unwrap_or_default()) }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PendingUpload>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores an uploaded file, and returns its hash. By then, the file is on the disk.
    ///
    /// # Errors
    /// When the disk is full or the quota is used up.
    pub fn add(&self, daemon: &HostDaemon, bytes: &[u8]) -> Result<BlobHash, Failure> {
        // The hold prevents a sweep between the storing of the bytes and the writing of the list.
        let _held = daemon.store.blobs().hold();
        let hash = blobs::upload(daemon, bytes)?;
        let now = clock::now_ms();
        let mut kept = self.lock();
        let mut all: Vec<PendingUpload> =
            kept.iter().filter(|one| one.hash != hash && one.until_ms > now).cloned().collect();
        all.push(PendingUpload { hash, until_ms: now.saturating_add(UPLOAD_TIMEOUT_MS) });
        all.drain(..all.len().saturating_sub(MAX_UPLOADS));
        write(&self.path, &all)?;
        *kept = all;
        Ok(hash)
    }

    /// Returns the blobs that no sweep may remove.
    pub fn pins(&self) -> BTreeSet<BlobHash> {
        let now = clock::now_ms();
        self.lock().iter().filter(|one| one.until_ms > now).map(|one| one.hash).collect()
    }
}
