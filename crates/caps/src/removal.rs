//! The removal of a directory in which a program has worked, with all its contents.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::walk;

/// The maximum number of names that are held in memory at a time.
const MAX_NAMES: usize = 1024;

/// Removes a directory with all its contents. No other process may use it any more.
///
/// It holds only a few descriptors, even for deeply nested directories. The contents of a directory are moved up before
/// the directory is removed. A program can nest directories deeper than the stack allows, and make directories that
/// their owner may not open.
///
/// # Errors
/// When the path is no directory, or the file system fails. Then a part may be left.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let (Some(place), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let place = rustix::fs::open(place, flags, Mode::empty())?;
    let top = open_owned(place.as_fd(), name)?;
    let mut moved = 0;
    loop {
        let names = walk::names(top.as_fd(), MAX_NAMES)?;
        if names.is_empty() {
            return Ok(rustix::fs::unlinkat(&place, name, AtFlags::REMOVEDIR)?);
        }
        for name in names {
            if remove_non_directory(&top, &name)? {
                continue;
            }
            let inner = open_owned(top.as_fd(), &*name)?;
            raise(&inner, &top, &mut moved)?;
            rustix::fs::unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Opens a directory after its owner got all rights to it. The mode changes through a descriptor, so that no link can
/// divert the change.
fn open_owned(at: BorrowedFd<'_>, name: impl Arg + Copy) -> io::Result<OwnedFd> {
    match walk::step(at, name) {
        Ok(directory) => {
            rustix::fs::fchmod(&directory, Mode::RWXU)?;
            return Ok(directory);
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        Err(error) => return Err(error),
    }
    // A directory that its owner may not read is opened without any right. The mode of such a descriptor can be changed
    // only through its own name.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let closed = rustix::fs::openat(at, name, flags, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", closed.as_raw_fd()), Mode::RWXU)?;
    walk::reopen(closed.as_fd())
}

/// Empties a directory: files are removed, and directories are moved to `top`.
fn raise(inner: &OwnedFd, top: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    loop {
        let names = walk::names(inner.as_fd(), MAX_NAMES)?;
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            if remove_non_directory(inner, &name)? {
                continue;
            }
            // Moving a directory changes its `..` entry, which takes write permission.
            open_owned(inner.as_fd(), &*name)?;
            loop {
                *moved += 1;
                let to = format!("{moved}");
                match rustix::fs::renameat_with(inner, &*name, top, to, RenameFlags::NOREPLACE) {
                    Err(Errno::EXIST) => {}
                    done => break done?,
                }
            }
        }
    }
}

/// Removes an entry that is no directory. Returns `false` for a directory.
fn remove_non_directory(directory: &OwnedFd, name: &CStr) -> io::Result<bool> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
