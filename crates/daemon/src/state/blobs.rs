//! Bytes that clients upload, which are stored in files next to the store.

use kernel::BlobHash;

use super::daemon::HostDaemon;
use super::errors::DaemonError;
use control::exit::Failure;

/// Stores bytes from a client, as long as the quota for clients has room. A caller that stores several blobs must
/// hold on to all of them.
///
/// # Errors
/// When the disk is full or fails, or the quota is used up.
pub fn upload(daemon: &HostDaemon, bytes: &[u8]) -> Result<BlobHash, Failure> {
    Ok(daemon.store.blobs().put_within(bytes).map_err(DaemonError::from)?)
}
