//! Path lookups from one open directory to files beneath it, which no rename and no symbolic link can divert.
//!
//! There are two kinds of lookup. [`look`] follows links as long as they stay beneath the directory, and returns the
//! path with all links followed. [`parent`] and [`make_parent`] follow no link at all: a new file goes to the path
//! that the user saw.
//!
//! A whole tree is walked with one descriptor for each directory: [`names`], [`step`] and [`open_file`] reach one entry
//! of an open directory. A path is not looked up twice, so that no entry can be replaced between the two lookups.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path};

use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt as _};
use kernel::id::BlobHash;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::path::Plain;

/// The number of bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A plain file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl Kind {
    pub(crate) fn of(mode: rustix::fs::RawMode) -> Kind {
        match FileType::from_raw_mode(mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        }
    }

    /// Returns the kind as a phrase.
    pub(crate) fn phrase(self) -> &'static str {
        match self {
            Kind::File => "a file",
            Kind::Directory => "a directory",
            Kind::Link => "a symbolic link",
            Kind::Other => "a pipe, a socket or a device",
        }
    }
}

/// The entry that [`look`] has found.
pub(crate) struct FoundEntry {
    /// The path with all links followed.
    pub(crate) resolved: String,
    /// The kind of the entry.
    pub(crate) kind: Kind,
    /// The size of the entry, in bytes.
    pub(crate) bytes: u64,
}

/// Looks up a path, following links beneath the directory.
pub(crate) fn look(root: &Dir, path: &str) -> io::Result<FoundEntry> {
    let resolved = root.canonicalize(path)?;
    let resolved = resolved.to_str().ok_or(io::ErrorKind::InvalidFilename)?.to_owned();
    let stat = root.symlink_metadata(&resolved)?;
    let kind = match stat.file_type() {
        kind if kind.is_file() => Kind::File,
        kind if kind.is_dir() => Kind::Directory,
        kind if kind.is_symlink() => Kind::Link,
        _ => Kind::Other,
    };
    Ok(FoundEntry { resolved, kind, bytes: stat.len() })
}

/// Opens a plain file that [`look`] has found. It does not wait, as opening a pipe otherwise would, and it follows no
/// link at the last name. So it opens the entry that was found, or fails.
pub(crate) fn open(root: &Dir, found: &FoundEntry) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    let file = root.open_with(Path::new(&found.resolved), &options)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// Opens the directory that holds the last name of `path`, without following links. Returns `None` if the directory
/// does not exist.
pub(crate) fn parent(root: &Dir, path: &Plain) -> io::Result<Option<OwnedFd>> {
    let mut at = reopen(root.as_fd())?;
    for name in path.split().0 {
        at = match step(at.as_fd(), name) {
            Ok(next) => next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
    }
    Ok(Some(at))
}

/// Opens the same directory as [`parent`], and creates missing directories. Each new directory is synced to disk
/// before this function returns.
pub(crate) fn make_parent(root: &Dir, path: &Plain) -> io::Result<OwnedFd> {
    make_ways(root, path.split().0)
}

/// Opens the directory at the path. Creates the directory and its parents if they are missing.
pub(crate) fn make_all(root: &Dir, path: &Plain) -> io::Result<OwnedFd> {
    make_ways(root, path.as_str().split('/'))
}

fn make_ways<'a>(root: &Dir, names: impl Iterator<Item = &'a str>) -> io::Result<OwnedFd> {
    let mut at = reopen(root.as_fd())?;
    for name in names {
        at = match step(at.as_fd(), name) {
            Ok(next) => next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) => rustix::fs::fsync(&at)?,
                    // Another process has created the directory. The next step checks its kind.
                    Err(rustix::io::Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                step(at.as_fd(), name)?
            }
            Err(error) => return Err(error),
        };
    }
    Ok(at)
}

/// Opens the directory at the end of these names, following no link.
pub(crate) fn enter<'a>(
    directory: BorrowedFd<'_>,
    names: impl Iterator<Item = &'a str>,
) -> io::Result<OwnedFd> {
    let mut at = reopen(directory)?;
    for name in names {
        if matches!(name, "" | "." | "..") || name.contains('/') {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        at = step(at.as_fd(), name)?;
    }
    Ok(at)
}

/// The flags for a directory whose entries are read.
pub(crate) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens the same directory once more, for reading. The open `Dir` may not allow a sync.
pub(crate) fn reopen(directory: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(directory, ".", DIRECTORY, Mode::empty())?)
}

/// Opens a subdirectory. For a link, the error is `ELOOP`; for a file, it is `ENOTDIR`.
pub(crate) fn step(at: BorrowedFd<'_>, name: impl Arg + Copy) -> io::Result<OwnedFd> {
    step_with(at, name, DIRECTORY)
}

fn step_with(at: BorrowedFd<'_>, name: impl Arg + Copy, flags: OFlags) -> io::Result<OwnedFd> {
    match rustix::fs::openat(at, name, flags, Mode::empty()) {
        Ok(next) => Ok(next),
        Err(Errno::NOTDIR) if kind(at, name)? == Some(Kind::Link) => Err(Errno::LOOP.into()),
        Err(error) => Err(error.into()),
    }
}

/// The flags for a directory on the way to another one. They need no right to read it.
const WAY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a directory by its absolute path, in which no link may stand. Its entries can be read after [`reopen`].
///
/// A person's path is resolved once, when a directory is bound. A link that stands in the resolved path by now was put
/// there since, and is an error (`ELOOP`).
pub(crate) fn open_resolved(path: &Path) -> io::Result<OwnedFd> {
    resolved(path, |_, _| Err(Errno::NOENT.into()))
}

/// Opens a directory like [`open_resolved`]. Creates the directory and its parents if they are missing.
pub(crate) fn make_resolved(path: &Path) -> io::Result<OwnedFd> {
    resolved(path, |at, name| match rustix::fs::mkdirat(at, name, Mode::from_raw_mode(0o777)) {
        // Another process has created the directory. The next step checks its kind.
        Ok(()) | Err(Errno::EXIST) => step_with(at, name, WAY),
        Err(error) => Err(error.into()),
    })
}

fn resolved(
    path: &Path,
    missing: impl Fn(BorrowedFd<'_>, &OsStr) -> io::Result<OwnedFd>,
) -> io::Result<OwnedFd> {
    let mut at = rustix::fs::open("/", WAY, Mode::empty())?;
    let mut parts = path.components();
    if parts.next() != Some(Component::RootDir) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for part in parts {
        let Component::Normal(name) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
        at = match step_with(at.as_fd(), name, WAY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing(at.as_fd(), name)?,
            next => next?,
        };
    }
    Ok(at)
}

/// Returns the names in a directory, at most `most` of them.
pub(crate) fn names(directory: BorrowedFd<'_>, most: usize) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.as_bytes(), b"." | b"..") {
            names.push(name);
        }
        if names.len() == most {
            break;
        }
    }
    Ok(names)
}

/// Opens an entry of a directory for reading if it is a plain file, following no link and waiting for no writer. For a
/// link, the error is `ELOOP`; for everything else that is no file, it is of the kind `InvalidInput`.
pub(crate) fn open_file(directory: BorrowedFd<'_>, name: impl Arg) -> io::Result<std::fs::File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(directory, name, flags, Mode::empty()) {
        // A socket cannot be opened, and nor can a pipe's other end or a device without a driver.
        Err(Errno::NXIO | Errno::NODEV) => return Err(io::ErrorKind::InvalidInput.into()),
        opened => std::fs::File::from(opened?),
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Opens a file by a path that a person chose. Opening a pipe does not wait for its writer.
pub(crate) fn open_at_path(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or(0);
    std::fs::File::options().read(true).custom_flags(flags).open(path)
}

/// Returns the target of a link in a directory, as it stands in the link.
pub(crate) fn link_target(directory: BorrowedFd<'_>, name: impl Arg) -> io::Result<OsString> {
    Ok(OsString::from_vec(rustix::fs::readlinkat(directory, name, Vec::new())?.into_bytes()))
}

/// Returns the kind of a directory entry, following no link, or `None` if no entry has that name.
pub(crate) fn kind(directory: BorrowedFd<'_>, name: impl Arg) -> io::Result<Option<Kind>> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Kind::of(stat.st_mode))),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A plain file in its present state.
pub(crate) struct FileSnapshot {
    /// The digest of the content.
    pub(crate) digest: BlobHash,
    /// The size in bytes.
    pub(crate) bytes: u64,
    /// The permissions.
    pub(crate) mode: Mode,
}

/// Returns the plain file with a name in a directory, following no link, or `None` if no entry has that name. A file
/// of more than `limit` bytes is not read: it is an error of kind `FileTooLarge`.
pub(crate) fn present(directory: BorrowedFd<'_>, name: &str, limit: u64) -> io::Result<Option<FileSnapshot>> {
    match kind(directory, name)? {
        None => return Ok(None),
        Some(Kind::File) => {}
        Some(Kind::Directory) => return Err(io::ErrorKind::IsADirectory.into()),
        Some(Kind::Link) => return Err(rustix::io::Errno::LOOP.into()),
        Some(Kind::Other) => return Err(io::ErrorKind::InvalidInput.into()),
    }
    let file = match open_file(directory, name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let stat = rustix::fs::fstat(&file)?;
    if u64::try_from(stat.st_size).is_ok_and(|size| size > limit) {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut hasher = blake3::Hasher::new();
    let mut bytes = 0u64;
    let mut chunk = vec![0; CHUNK];
    loop {
        match rustix::io::read(&file, &mut chunk[..]) {
            Ok(0) => break,
            Ok(count) => {
                bytes += count as u64;
                if bytes > limit {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                hasher.update(&chunk[..count]);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mode = Mode::from_raw_mode(stat.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
    Ok(Some(FileSnapshot { digest: BlobHash(*hasher.finalize().as_bytes()), bytes, mode }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_fails_if_the_path_changed_since_the_look() {
        let base = tempfile::tempdir().unwrap();
        let root = Dir::open_ambient_dir(base.path(), cap_std::ambient_authority()).unwrap();
        root.create_dir("sub").unwrap();
        for name in ["a.md", "secret.key", "sub/b.md"] {
            root.write(name, name).unwrap();
        }
        let found = look(&root, "a.md").unwrap();
        assert!(open(&root, &found).is_ok());
        // The name that was checked now leads to another file.
        root.remove_file("a.md").unwrap();
        root.symlink("secret.key", "a.md").unwrap();
        assert!(open(&root, &found).is_err());
        root.remove_file("a.md").unwrap();
        root.create_dir("a.md").unwrap();
        assert!(open(&root, &found).is_err());
        let found = look(&root, "sub/b.md").unwrap();
        root.rename("sub", &root, "moved").unwrap();
        root.symlink_contents("/etc", "sub").unwrap();
        assert!(open(&root, &found).is_err());
    }
}
