//! Changes in a mounted directory. Files are written in one step, and no link is followed.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use kernel::proposal::Finding;
use passable::visible_line;
use rustix::fs::AtFlags;

use super::{Mount, something};
use crate::atomic_write::{AtomicWrite, AtomicWriteError};
use crate::failure;
use crate::path::{Plain, Purpose};
use crate::walk::{self, Kind};

/// The maximum number of times that a write is tried if another process changes the file at the same time.
const MAX_TRIES: usize = 5;

/// The maximum size of a file that is replaced. The file is read first, so that a change made meanwhile is not lost.
const MAX_REPLACED_BYTES: u64 = 1 << 30;

/// A counter that gives the temporary files of one process different names.
static SERIAL: AtomicU64 = AtomicU64::new(0);

impl Mount {
    /// Replaces the content of a file in one step. The directory of the file must exist.
    ///
    /// # Errors
    /// When nothing may be changed, the path leads to something else than a file, or the file system fails.
    pub fn write(&self, way: &[String], bytes: &[u8], most: u64) -> Result<(), Finding> {
        self.check_writable()?;
        let path = something(way, Purpose::Make)?;
        self.limits.check_name(path.as_str())?;
        let most = self.limits.bytes_or(most).min(most);
        if bytes.len() as u64 > most {
            let what = format!("{} bytes are more than the {most} that a file may have here", bytes.len());
            return Err(Finding::new("mount/size", what).at("content"));
        }
        let doing = format!("write `{}`", path.as_str());
        let failed = |error: io::Error| failure::finding(&error, &doing, "path");
        for _ in 0..MAX_TRIES {
            let parent = self.parent(&path, &doing)?;
            let name = path.split().1;
            let expected = walk::present(parent.as_fd(), name, MAX_REPLACED_BYTES).map_err(failed)?;
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
            let temporary = format!(".almoner-m{}-{serial}.tmp", std::process::id());
            let directory = parent.as_fd();
            let placing = AtomicWrite {
                directory,
                name,
                temporary: &temporary,
                bytes,
                expected,
                limit: MAX_REPLACED_BYTES,
            };
            match placing.put() {
                Ok(()) => return Ok(()),
                Err(AtomicWriteError::Changed) => {}
                Err(AtomicWriteError::Io(error)) => return Err(failed(error)),
            }
        }
        let what = format!("could not {}: somebody else writes it all the time", visible_line(&doing));
        Err(Finding::new("mount/busy", what).at("path"))
    }

    /// Removes a file, a link or an empty directory.
    ///
    /// # Errors
    /// When nothing may be changed, the path does not exist, or the directory is not empty.
    pub fn remove(&self, way: &[String]) -> Result<(), Finding> {
        self.check_writable()?;
        let path = something(way, Purpose::Look)?;
        let doing = format!("remove `{}`", path.as_str());
        let failed = |error: io::Error| failure::finding(&error, &doing, "path");
        let parent = self.parent(&path, &doing)?;
        let name = path.split().1;
        let kind = walk::kind(parent.as_fd(), name).map_err(failed)?;
        let flags = match kind {
            Some(Kind::Directory) => AtFlags::REMOVEDIR,
            Some(_) => {
                self.limits.check_name(path.as_str())?;
                AtFlags::empty()
            }
            None => return Err(failed(io::ErrorKind::NotFound.into())),
        };
        rustix::fs::unlinkat(&parent, name, flags).map_err(|error| failed(error.into()))?;
        rustix::fs::fsync(&parent).map_err(|error| failed(error.into()))
    }

    /// Moves a file or a directory. A file at the new path is replaced in one step.
    ///
    /// # Errors
    /// When nothing may be changed, the path does not exist, or the directory of the new path is missing.
    pub fn rename(&self, from: &[String], to: &[String]) -> Result<(), Finding> {
        self.check_writable()?;
        let (from, to) = (something(from, Purpose::Look)?, something(to, Purpose::Make)?);
        let doing = format!("move `{}` to `{}`", from.as_str(), to.as_str());
        let failed = |error: io::Error| failure::finding(&error, &doing, "path");
        let (source, target) = (self.parent(&from, &doing)?, self.parent(&to, &doing)?);
        match self.kind_at(&from).map_err(failed)? {
            Some(Kind::Directory) => {}
            Some(Kind::File) => self.check_moved(&from, &to, &doing)?,
            Some(kind) => {
                let what = format!("could not {}: it is {}", visible_line(&doing), kind.phrase());
                return Err(Finding::new("mount/kind", what).at("path"));
            }
            None => return Err(failed(io::ErrorKind::NotFound.into())),
        }
        rustix::fs::renameat(&source, from.split().1, &target, to.split().1)
            .map_err(|error| failed(error.into()))?;
        for directory in [&target, &source] {
            rustix::fs::fsync(directory).map_err(|error| failed(error.into()))?;
        }
        Ok(())
    }

    /// Checks that the grant covers both names and the size of a moved file.
    pub(super) fn check_moved(&self, from: &Plain, to: &Plain, doing: &str) -> Result<(), Finding> {
        self.limits.check_name(from.as_str())?;
        self.limits.check_name(to.as_str())?;
        let source = self.parent(from, doing)?;
        let stat = rustix::fs::statat(&source, from.split().1, AtFlags::SYMLINK_NOFOLLOW);
        let stat = stat.map_err(|error| failure::finding(&error.into(), doing, "path"))?;
        let bytes = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if bytes > self.limits.bytes_or(u64::MAX) {
            let what = format!("could not {}: the file is too large for the grant", visible_line(doing));
            return Err(Finding::new("mount/size", what).at("path"));
        }
        Ok(())
    }

    /// Makes a directory and those above it. An existing directory is no error.
    ///
    /// # Errors
    /// When nothing may be changed, the path leads to something else than a directory, or the file system fails.
    pub fn make_directory(&self, way: &[String]) -> Result<(), Finding> {
        self.check_writable()?;
        let path = something(way, Purpose::Make)?;
        let failed =
            |error: io::Error| failure::finding(&error, &format!("make `{}`", path.as_str()), "path");
        // All parents of a file in the directory are made. The last of them is the directory itself.
        let inside = Plain::check(&format!("{}/x", path.as_str()), Purpose::Make)?;
        walk::make_parent(self.root(), &inside).map(drop).map_err(failed)
    }

    /// Returns the directory that contains the last name of a path. It is entered without following a link.
    fn parent(&self, path: &Plain, doing: &str) -> Result<OwnedFd, Finding> {
        let failed = |error: io::Error| failure::finding(&error, doing, "path");
        let parent = walk::parent(self.root(), path).map_err(failed)?;
        parent.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
    }
}
