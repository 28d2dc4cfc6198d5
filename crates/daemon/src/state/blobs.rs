//! Bytes that clients and runs put beside the store.

use kernel::BlobHash;

use super::daemon::HostDaemon;
use control::exit::{Exit, Failure};

/// Keeps what a client brings, as long as there is room for what clients bring. Whoever puts more than one thing holds
/// on to them.
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

/// What is said when the disk does not take something.
pub fn store_failure(what: &str) -> Failure {
    Failure::new(Exit::Failure, what).help("nothing was started; `almoner doctor` examines the store")
}
