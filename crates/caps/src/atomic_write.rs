//! The atomic writing of a file: a reader finds the old content or the new one, even after a crash.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use kernel::id::BlobHash;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::walk::{self, FileSnapshot};

/// The function that every step of a write calls.
static STEP: OnceLock<fn()> = OnceLock::new();

/// Lets every step of a write of a file call `step`, so that a test can kill the process there.
///
/// The first call of a process counts, and later calls do nothing.
pub fn set_write_step(step: fn()) {
    let _ = STEP.set(step);
}

fn reach_step() {
    if let Some(step) = STEP.get() {
        step();
    }
}

/// The reason why a file was not written. The new content then leaves no trace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AtomicWriteError {
    /// The present content is not the expected one.
    #[error("what is there has changed")]
    Changed,
    /// The file system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for AtomicWriteError {
    fn from(error: Errno) -> AtomicWriteError {
        AtomicWriteError::Io(error.into())
    }
}

/// An atomic write of one file: the content, and the place where it goes.
pub(crate) struct AtomicWrite<'a> {
    /// The directory.
    pub(crate) directory: BorrowedFd<'a>,
    /// The file's name in it.
    pub(crate) name: &'a str,
    /// The name of the temporary file; a leftover under this name is replaced.
    pub(crate) temporary: &'a str,
    /// The content.
    pub(crate) bytes: &'a [u8],
    /// The content that must be there now; `None` if there must be no file.
    pub(crate) expected: Option<FileSnapshot>,
    /// The maximum number of bytes that are read to check the present content.
    pub(crate) limit: u64,
}

impl AtomicWrite<'_> {
    /// Writes a temporary file beside the place, makes it durable, moves it into the place in one step and makes that
    /// durable. A reader finds the old content or the new one at any moment, even after a crash.
    pub(crate) fn put(&self) -> Result<(), AtomicWriteError> {
        self.put_as(None)
    }

    /// Puts the file like `put`. `mode` sets the permissions where no file was. Without a mode, the file gets the
    /// permissions of any new file.
    pub(crate) fn put_as(&self, mode: Option<Mode>) -> Result<(), AtomicWriteError> {
        // Whether the temporary name may hold a file that another process has written.
        let mut is_foreign = false;
        let moved = self.write(mode).and_then(|()| match &self.expected {
            None => self.fill(),
            Some(expected) => self.replace(expected.digest, &mut is_foreign),
        });
        if moved.is_err() && !is_foreign {
            // Only the first error is reported. The next try replaces a leftover file.
            let _ = self.discard();
        }
        moved?;
        reach_step();
        rustix::fs::fsync(self.directory)?;
        reach_step();
        Ok(())
    }

    fn write(&self, mode: Option<Mode>) -> Result<(), AtomicWriteError> {
        let mode = self.expected.as_ref().map(|expected| expected.mode).or(mode);
        // A private file must be private from the first moment.
        let first = mode.map_or(Mode::from_raw_mode(0o666), |_| Mode::RUSR | Mode::WUSR);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || rustix::fs::openat(self.directory, self.temporary, flags, first);
        let file: OwnedFd = match create() {
            Err(Errno::EXIST) => {
                self.discard()?;
                create()?
            }
            made => made?,
        };
        reach_step();
        if let Some(mode) = mode {
            rustix::fs::fchmod(&file, mode)?;
        }
        let mut rest = self.bytes;
        while !rest.is_empty() {
            match rustix::io::write(&file, rest) {
                Ok(0) => return Err(AtomicWriteError::Io(io::ErrorKind::WriteZero.into())),
                Ok(count) => rest = &rest[count..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        reach_step();
        rustix::fs::fsync(file.as_fd())?;
        reach_step();
        Ok(())
    }

    /// Moves the temporary file to a name at which there is nothing.
    fn fill(&self) -> Result<(), AtomicWriteError> {
        match self.rename(RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(AtomicWriteError::Changed),
            // The file system has no rename that keeps an existing file. So this code first checks the name, then
            // renames.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                match walk::kind(self.directory, self.name)? {
                    None => Ok(self.rename(RenameFlags::empty())?),
                    Some(_) => Err(AtomicWriteError::Changed),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Moves the temporary file to a name at which the content `old` must be. The two files are exchanged in one
    /// step. If somebody has changed the file at the last moment, the exchange is undone, and the change is not lost.
    fn replace(&self, old: BlobHash, is_foreign: &mut bool) -> Result<(), AtomicWriteError> {
        let is_old = |name: &str| -> Result<bool, AtomicWriteError> {
            Ok(walk::present(self.directory, name, self.limit)?.is_some_and(|present| present.digest == old))
        };
        if !is_old(self.name)? {
            return Err(AtomicWriteError::Changed);
        }
        match self.rename(RenameFlags::EXCHANGE) {
            Ok(()) if is_old(self.temporary).unwrap_or(false) => {
                reach_step();
                Ok(self.discard()?)
            }
            Ok(()) => {
                *is_foreign = true;
                self.rename(RenameFlags::EXCHANGE)?;
                *is_foreign = false;
                Err(AtomicWriteError::Changed)
            }
            Err(Errno::NOENT) => Err(AtomicWriteError::Changed),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(self.rename(RenameFlags::empty())?),
            Err(error) => Err(error.into()),
        }
    }

    fn rename(&self, flags: RenameFlags) -> Result<(), Errno> {
        rustix::fs::renameat_with(self.directory, self.temporary, self.directory, self.name, flags)
    }

    fn discard(&self) -> Result<(), Errno> {
        match rustix::fs::unlinkat(self.directory, self.temporary, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            done => done,
        }
    }
}

/// Removes the temporary file of a write that a crash interrupted after the new content was in place. The file stays
/// if it has neither the old content nor the new one, because it then holds another process's change.
pub(crate) fn tidy(directory: BorrowedFd<'_>, temporary: &str, known: &[BlobHash], limit: u64) {
    let is_known =
        matches!(walk::present(directory, temporary, limit), Ok(Some(left)) if known.contains(&left.digest));
    if is_known {
        // A leftover does no harm: it is hidden, and the next try replaces it.
        let _ = rustix::fs::unlinkat(directory, temporary, AtFlags::empty());
    }
}
