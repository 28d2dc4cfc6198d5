//! Bytes that clients and runs put beside the store.

use kernel::BlobHash;

use super::daemon::HostDaemon;
use control::exit::{Exit, Failure};

/// Stores bytes from a client, as long as the quota for clients has room. A caller that stores more than one blob
/// must hold on to them.
///
/// # Errors
/// When the disk or the quota does not take it.
pub fn upload(daemon: &HostDaemon, bytes: &[u8]) -> Result<BlobHash, Failure> {
    daemon.store.blobs().put_within(bytes).map_err(|e| match e {
        store::BlobError::OverQuota { .. } => Failure::new(Exit::Failure, e.to_string())
            .help("remove what is not needed any more, or start the daemon with a larger ALMONER_BLOB_QUOTA"),
        e => store_failure(&e.to_string()),
    })
}

/// Returns the failure for bytes that the disk does not take.
pub fn store_failure(what: &str) -> Failure {
    Failure::new(Exit::Failure, what).help("nothing was started; `almoner doctor` examines the store")
}
