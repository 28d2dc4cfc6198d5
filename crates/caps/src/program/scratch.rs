//! The working directory of one call, which is removed with its contents when the call ends.
//!
//! The process that uses such a directory holds a lock on it, and the lock ends with the process. So [`sweep`]
//! recognizes the directories of a killed daemon by their missing locks, and removes them.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::removal::remove;
use crate::walk;

/// The prefix of the names of these directories among the temporary files.
const PREFIX: &str = "almoner-call-";

/// The owner that the system reports for files of users who do not exist in this container, such as its host's root.
const UNKNOWN_OWNER: u32 = 65534;

/// The map of users of a process outside of all containers, in which every user exists.
const ALL_USERS: [&str; 3] = ["0", "0", "4294967295"];

/// The maximum number of names that one sweep looks at.
const MAX_NAMES: usize = 1_000_000;

/// The maximum number of tries to make a directory. A sweep may remove a new directory before it is locked.
const MAX_TRIES: usize = 8;

/// A guard that owns a new directory. The directory is removed when the guard is dropped.
pub(crate) struct Scratch {
    path: PathBuf,
    /// The lock on the directory, which is held until the directory is removed.
    _lock: Option<OwnedFd>,
}

impl Scratch {
    /// Makes a new directory among the temporary files of this user.
    pub(crate) fn new() -> io::Result<Scratch> {
        Scratch::within(&std::env::temp_dir())
    }

    fn within(place: &Path) -> io::Result<Scratch> {
        let shared = open_shared(place)?;
        for _ in 0..MAX_TRIES {
            // No other user may enter, even if the usual mode of new directories allows it.
            let mode = std::fs::Permissions::from_mode(0o700);
            let path = tempfile::Builder::new().prefix(PREFIX).permissions(mode).tempdir_in(place)?.keep();
            match try_lock(shared.as_fd(), path.file_name().unwrap_or_default()) {
                Ok(None) => {}
                Ok(lock) => return Ok(Scratch { path, _lock: lock }),
                // The file system has no locks, so no sweep removes directories there either.
                Err(_) => return Ok(Scratch { path, _lock: None }),
            }
        }
        Err(io::Error::other("it is removed as soon as it is made"))
    }

    /// Returns the path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If the directory cannot be removed, it is left behind, because the call is over.
        let _ = remove(&self.path);
    }
}

/// Removes the directories of calls whose process is gone, and returns their number. Directories that cannot be
/// removed, or that another user has made, stay.
pub fn sweep() -> usize {
    sweep_in(&std::env::temp_dir())
}

fn sweep_in(place: &Path) -> usize {
    let Ok(shared) = open_shared(place) else { return 0 };
    let Ok(names) = walk::names(shared.as_fd(), MAX_NAMES) else { return 0 };
    let mut removed = 0;
    for name in names.iter().filter(|name| name.to_bytes().starts_with(PREFIX.as_bytes())) {
        let name = OsStr::from_bytes(name.to_bytes());
        // A locked directory is in use.
        let Ok(Some(_lock)) = try_lock(shared.as_fd(), name) else { continue };
        removed += usize::from(remove(&place.join(name)).is_ok());
    }
    removed
}

/// Opens the directory of temporary files, in which other users may make files of their own.
///
/// # Errors
/// When another user could rename or remove the files of this user there.
fn open_shared(place: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let shared = rustix::fs::open(place, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&shared)?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    let own = rustix::process::geteuid().as_raw();
    let is_trusted_owner = [0, own].contains(&stat.st_uid) || is_unknown(stat.st_uid);
    let is_open = mode.contains(Mode::WOTH) && !mode.contains(Mode::SVTX);
    if is_trusted_owner && !is_open {
        return Ok(shared);
    }
    let what = format!(
        "other users can replace files in {} (it needs the mode 1777, or 0700 and yourself as the owner)",
        passable::visible_line(&place.to_string_lossy())
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
}

/// Returns whether an owner stands for users who do not exist in this container. Outside of containers, it is a user.
fn is_unknown(owner: u32) -> bool {
    let users = std::fs::read_to_string("/proc/self/uid_map");
    owner == UNKNOWN_OWNER && users.is_ok_and(|users| !users.split_whitespace().eq(ALL_USERS))
}

/// Returns the lock on a directory of this user, if it still exists and no other process holds the lock.
fn try_lock(shared: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    let directory = match walk::step(shared, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let meta = rustix::fs::fstat(&directory)?;
    if meta.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(None),
        locked => locked?,
    }
    // The directory may have been removed after it was opened and before it was locked.
    let is_there = walk::kind(shared, name)?.is_some();
    Ok((rustix::fs::fstat(&directory)?.st_nlink > 0 && is_there).then_some(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes directories in each other, deeper than a path can express.
    fn dig(path: &Path, depth: usize) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = rustix::fs::open(path, flags, Mode::empty()).unwrap();
        for _ in 0..depth {
            rustix::fs::mkdirat(&at, "1", Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, "1", flags, Mode::empty()).unwrap();
        }
    }

    #[test]
    fn sweep_removes_only_unlocked_call_directories() {
        let place = tempfile::tempdir().unwrap();
        let held = Scratch::within(place.path()).unwrap();
        let left = Scratch::within(place.path()).unwrap();
        assert_eq!(std::fs::metadata(held.path()).unwrap().permissions().mode() & 0o777, 0o700);
        // This is the state after a process is killed: the lock is gone, and the directory is left.
        let Scratch { path, _lock } = &left;
        let path = path.clone();
        rustix::fs::flock(_lock.as_ref().unwrap(), FlockOperation::Unlock).unwrap();
        std::mem::forget(left);
        dig(&path, 50);
        std::fs::write(path.join("file"), "x").unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("kept"), "kept").unwrap();
        std::os::unix::fs::symlink(outside.path(), place.path().join(format!("{PREFIX}link"))).unwrap();
        std::fs::write(place.path().join(format!("{PREFIX}file")), "x").unwrap();
        std::fs::create_dir(place.path().join("almoner-other")).unwrap();
        assert_eq!(sweep_in(place.path()), 1);
        assert!(!path.exists() && held.path().exists());
        assert!(outside.path().join("kept").exists() && place.path().join("almoner-other").exists());
        drop(held);
        assert_eq!(sweep_in(place.path()), 0);
    }

    #[test]
    fn dropped_scratch_is_removed_with_all_its_contents() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.path().to_owned();
        dig(&path, 5000);
        for name in ["a", "b/c", "b/d/e"] {
            let file = path.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "x").unwrap();
        }
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("kept"), "kept").unwrap();
        std::os::unix::fs::symlink(outside.path(), path.join("b/link")).unwrap();
        // The first directory can be filled but not listed, and the second cannot be used at all.
        for (name, mode) in [("b/d", 0o300), ("b", 0o000)] {
            rustix::fs::chmod(path.join(name), Mode::from_raw_mode(mode)).unwrap();
        }
        drop(scratch);
        assert!(!path.exists());
        assert_eq!(std::fs::read(outside.path().join("kept")).unwrap(), b"kept");
    }
}
