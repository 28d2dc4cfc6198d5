//! Bytes that clients and runs put beside the store.

use kernel::BlobHash;

use super::daemon::HostDaemon;
use super::errors::DaemonError;
use control::exit::Failure;

/// Stores bytes from a client, as long as the quota for clients has room. A caller that stores more than one blob
/// must hold on to them.
///
/// # Errors
/// When the disk or the quota does not take it.
pub fn upload(daemon: &HostDaemon, bytes: &[u8]) -> Result<BlobHash, Failure> {
    Ok(daemon.store.blobs().put_within(bytes).map_err(DaemonError::from)?)
}
