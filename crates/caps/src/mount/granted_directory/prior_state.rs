//! The state of a path before a call, as a proposal pins it.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use kernel::id::BlobHash;
use kernel::proposal::{Finding, Pin};
use rustix::fs::AtFlags;

use crate::failure;
use crate::mount::{Mount, something};
use crate::path::Purpose;
use crate::walk::{self, FileSnapshot, Kind};

/// The maximum size of a file whose content is pinned, in bytes. A larger file is pinned by its identity, its size
/// and the time of its last change.
const MAX_READ_BYTES: u64 = 8 << 20;

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PriorState {
    Nothing,
    File(BlobHash),
    /// A file that is too large for its content to be read.
    Large(BlobHash),
    /// A symbolic link, with the digest of the path to which it leads.
    Link(BlobHash),
    Directory,
}

impl PriorState {
    /// Returns the pin of this state in a proposal.
    pub(super) fn pin(&self, name: String) -> Pin {
        let (kind, digest) = match self {
            PriorState::Nothing => ("file", None),
            PriorState::File(digest) => ("file", Some(*digest)),
            PriorState::Large(digest) => ("large file", Some(*digest)),
            PriorState::Link(digest) => ("link", Some(*digest)),
            PriorState::Directory => ("directory", None),
        };
        Pin { kind: kind.to_owned(), name, digest }
    }
}

/// Returns the state of an entry in a directory, following no link.
pub(super) fn entry_state(directory: BorrowedFd<'_>, name: &str) -> io::Result<PriorState> {
    Ok(match walk::kind(directory, name)? {
        None => PriorState::Nothing,
        Some(Kind::Directory) => PriorState::Directory,
        Some(Kind::Link) => {
            let to = rustix::fs::readlinkat(directory, name, Vec::new())?;
            PriorState::Link(BlobHash::of(to.as_bytes()))
        }
        Some(Kind::Other) => return Err(io::ErrorKind::InvalidInput.into()),
        Some(Kind::File) => {
            let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if u64::try_from(stat.st_size).is_ok_and(|size| size <= MAX_READ_BYTES) {
                match walk::present(directory, name, MAX_READ_BYTES) {
                    Ok(Some(FileSnapshot { digest, .. })) => return Ok(PriorState::File(digest)),
                    Ok(None) => return Ok(PriorState::Nothing),
                    // The file has grown meanwhile, and is too large now.
                    Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {}
                    Err(error) => return Err(error),
                }
            }
            let mut hasher = blake3::Hasher::new();
            for part in [stat.st_dev as i128, stat.st_ino as i128, stat.st_size as i128] {
                hasher.update(&part.to_le_bytes());
            }
            for part in [stat.st_mtime as i128, stat.st_mtime_nsec as i128] {
                hasher.update(&part.to_le_bytes());
            }
            PriorState::Large(BlobHash(*hasher.finalize().as_bytes()))
        }
    })
}

/// Returns the state of the entry at a path.
pub(super) fn way_state(mount: &Mount, way: &[String], doing: &str) -> Result<PriorState, Finding> {
    let path = something(way, Purpose::Look)?;
    let failed = |error: io::Error| failure::finding(&error, &format!("{doing} `{}`", path.as_str()), "path");
    match walk::parent(mount.root(), &path).map_err(failed)? {
        None => Ok(PriorState::Nothing),
        Some(parent) => entry_state(parent.as_fd(), path.split().1).map_err(failed),
    }
}
