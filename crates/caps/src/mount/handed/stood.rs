//! The prior state of a place, as a proposal pins it.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use kernel::id::BlobHash;
use kernel::proposal::{Finding, Pin};
use rustix::fs::AtFlags;

use crate::failure;
use crate::mount::{Mount, something};
use crate::path::Purpose;
use crate::walk::{self, Kind, Present};

/// The largest file that is read to know it again, in bytes. Of larger ones it is known which they are, how large, and
/// when they were written last.
const READ: u64 = 8 << 20;

/// The state of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stood {
    Nothing,
    File(BlobHash),
    /// A file that is too large to be read for this.
    Large(BlobHash),
    /// A symbolic link: where it leads.
    Link(BlobHash),
    Directory,
}

impl Stood {
    /// Returns the pin of this state in a proposal.
    pub(super) fn pin(&self, name: String) -> Pin {
        let (kind, digest) = match self {
            Stood::Nothing => ("file", None),
            Stood::File(digest) => ("file", Some(*digest)),
            Stood::Large(digest) => ("large file", Some(*digest)),
            Stood::Link(digest) => ("link", Some(*digest)),
            Stood::Directory => ("directory", None),
        };
        Pin { kind: kind.to_owned(), name, digest }
    }
}

/// Returns the state of an entry in a directory, following no link.
pub(super) fn under(directory: BorrowedFd<'_>, name: &str) -> io::Result<Stood> {
    Ok(match walk::kind(directory, name)? {
        None => Stood::Nothing,
        Some(Kind::Directory) => Stood::Directory,
        Some(Kind::Link) => {
            let to = rustix::fs::readlinkat(directory, name, Vec::new())?;
            Stood::Link(BlobHash::of(to.as_bytes()))
        }
        Some(Kind::Other) => return Err(io::ErrorKind::InvalidInput.into()),
        Some(Kind::File) => {
            let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if u64::try_from(stat.st_size).is_ok_and(|size| size <= READ) {
                match walk::present(directory, name, READ) {
                    Ok(Some(Present { digest, .. })) => return Ok(Stood::File(digest)),
                    Ok(None) => return Ok(Stood::Nothing),
                    // It grows.
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
            Stood::Large(BlobHash(*hasher.finalize().as_bytes()))
        }
    })
}

/// Returns the state at the end of a way.
pub(super) fn at(mount: &Mount, way: &[String], doing: &str) -> Result<Stood, Finding> {
    let path = something(way, Purpose::Look)?;
    let failed = |error: io::Error| failure::finding(&error, &format!("{doing} `{}`", path.as_str()), "path");
    match walk::parent(mount.root(), &path).map_err(failed)? {
        None => Ok(Stood::Nothing),
        Some(parent) => under(parent.as_fd(), path.split().1).map_err(failed),
    }
}
