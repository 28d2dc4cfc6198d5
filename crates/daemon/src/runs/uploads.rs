//! Files that browsers have uploaded and that nothing names yet. They are kept for a day, also across restarts of the
//! daemon. So a file that a page has reported as uploaded is there when it is used.

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

/// The file that lists them.
const FILE_NAME: &str = "web-brought.json";

/// How long one is kept, in milliseconds.
const UPLOAD_TIMEOUT_MS: i64 = 24 * 60 * 60 * 1000;

/// How many are kept; the oldest go first.
const MAX_UPLOADS: usize = 512;

/// The pending uploads of browsers.
pub struct PendingUploads {
    path: PathBuf,
    kept: Mutex<Vec<PendingUpload>>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PendingUpload {
    /// Its bytes.
    hash: BlobHash,
    /// Until when it is kept, in milliseconds since 1970.
    until_ms: i64,
}

impl HostDaemon {
    /// Returns the uploads that no run names yet.
    pub fn uploads(&self) -> std::sync::Arc<PendingUploads> {
        self.extensions.get(|| PendingUploads::new(&self.place.state))
    }
}

impl PendingUploads {
    /// Returns the pending uploads of the daemon with this state directory. A list that cannot be read counts as
    /// empty: browsers upload its files again.
    pub fn new(state: &Path) -> PendingUploads {
        let path = state.join(FILE_NAME);
        let kept = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        PendingUploads { path, kept: Mutex::new(kept.unwrap_or_default()) }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PendingUpload>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a file; when this returns, it is on the disk.
    ///
    /// # Errors
    /// When the disk or the quota does not take it.
    pub fn add(&self, daemon: &HostDaemon, bytes: &[u8]) -> Result<BlobHash, Failure> {
        // No sweep comes between the bytes and the list.
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
