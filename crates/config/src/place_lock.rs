//! Locks of a place: one process at a time does what would go wrong if two did it.
//!
//! The system releases a lock when its process ends, however it ends.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::place::{Place, private_dir};

/// The time between two tries to have a lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

/// A thing that one process of a place does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceLock {
    /// A client replaces a daemon of another build.
    Handover,
    /// A restore brings a store into its place, or a daemon opens the store that lies there.
    StoreRename,
}

/// Another process has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another process has the lock")]
pub struct LockedByAnother;

impl PlaceLock {
    fn file_name(self) -> &'static str {
        match self {
            PlaceLock::Handover => "handovers.lock",
            PlaceLock::StoreRename => "store-renames.lock",
        }
    }

    /// Waits for the lock, and keeps it while the file lives. A place that takes no file has no lock.
    ///
    /// # Errors
    /// When another process still has the lock after this time.
    pub fn take(self, place: &Place, timeout: Duration) -> Result<Option<File>, LockedByAnother> {
        let path = place.runtime.join(self.file_name());
        let open = || File::options().create(true).append(true).mode(0o600).open(path);
        let Some(lock) = private_dir(&place.runtime).ok().and_then(|()| open().ok()) else { return Ok(None) };
        for _ in 0..=timeout.as_millis() / LOCK_INTERVAL.as_millis() {
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
                return Ok(Some(lock));
            }
            std::thread::sleep(LOCK_INTERVAL);
        }
        Err(LockedByAnother)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_process_waits_for_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::under(dir.path());
        let soon = Duration::from_millis(20);
        let first = PlaceLock::Handover.take(&place, soon).unwrap();
        assert!(first.is_some());
        assert_eq!(PlaceLock::Handover.take(&place, soon).map(drop), Err(LockedByAnother));
        assert!(PlaceLock::StoreRename.take(&place, soon).unwrap().is_some());
        drop(first);
        assert!(PlaceLock::Handover.take(&place, soon).unwrap().is_some());
        std::fs::remove_dir_all(&place.runtime).unwrap();
        std::fs::write(&place.runtime, "").unwrap();
        assert!(PlaceLock::Handover.take(&place, soon).unwrap().is_none());
    }
}
