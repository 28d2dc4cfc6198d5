//! The working directory of one call, which is removed with its contents when the call ends.
//!
//! The process that uses such a directory holds a lock on it, and the lock ends with the process. So [`sweep`]
//! recognizes the directories of a killed daemon by their missing locks, and removes them.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// The maximum number of names that are held in memory at a time.
const MAX_NAMES: usize = 1024;

/// The prefix of the names of these directories among the temporary files.
const PREFIX: &str = "almoner-call-";
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
        for _ in 0..MAX_TRIES {
            // No other user may enter, even if the usual mode of new directories allows it.
            let mode = std::fs::Permissions::from_mode(0o700);
            let path = tempfile::Builder::new().prefix(PREFIX).permissions(mode).tempdir_in(place)?.keep();
            match try_lock(&path) {
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
    let Ok(entries) = std::fs::read_dir(place) else { return 0 };
    let ours = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        entry.file_name().to_str()?.starts_with(PREFIX).then(|| entry.path())
    });
    let mut removed = 0;
    for path in ours {
        // A locked directory is in use.
        let Ok(Some(_lock)) = try_lock(&path) else { continue };
        removed += usize::from(remove(&path).is_ok());
    }
    removed
}

/// Returns the lock on a directory of this user, if it still exists and no other process holds the lock.
fn try_lock(path: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
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
    Ok((rustix::fs::fstat(&directory)?.st_nlink > 0 && path.exists()).then_some(directory))
}

/// Removes a directory with all its contents. No other process may use it any more.
///
/// It holds only two descriptors, even for deeply nested directories. The contents of a directory are moved up before
/// the directory is removed. A program can nest directories deeper than the stack allows, and make directories that
/// their owner may not open.
fn remove(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::chmod(path, Mode::RWXU)?;
    let top = rustix::fs::open(path, flags, Mode::empty())?;
    let mut moved = 0;
    loop {
        let names = names(&top)?;
        if names.is_empty() {
            return Ok(rustix::fs::rmdir(path)?);
        }
        for name in names {
            if remove_non_directory(&top, &name)? {
                continue;
            }
            rustix::fs::chmodat(&top, &name, Mode::RWXU, AtFlags::empty())?;
            let inner = rustix::fs::openat(&top, &name, flags, Mode::empty())?;
            raise(&inner, &top, &mut moved)?;
            rustix::fs::unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Empties a directory: files are removed, and directories are moved to `top`.
fn raise(inner: &OwnedFd, top: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    loop {
        let names = names(inner)?;
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            if remove_non_directory(inner, &name)? {
                continue;
            }
            // Moving a directory changes its `..` entry, which takes write permission.
            rustix::fs::chmodat(inner, &name, Mode::RWXU, AtFlags::empty())?;
            loop {
                *moved += 1;
                let to = format!("{moved}");
                match rustix::fs::renameat_with(inner, &name, top, to, RenameFlags::NOREPLACE) {
                    Err(Errno::EXIST) => {}
                    done => break done?,
                }
            }
        }
    }
}

/// Removes an entry that is no directory. Returns `false` for a directory.
fn remove_non_directory(directory: &OwnedFd, name: &CString) -> io::Result<bool> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns some of the names in a directory. The list is empty only if the directory is empty.
fn names(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory.as_fd())? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.as_bytes(), b"." | b"..") {
            names.push(name);
        }
        if names.len() == MAX_NAMES {
            break;
        }
    }
    Ok(names)
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
