//! `move`, `remove` and `make_directory`. The pinned states must still hold at the moment of effect. After a crash,
//! the present state tells whether the change was made.
//!
//! Only files are moved, and only files and empty directories are removed, because the user has not seen the contents
//! of a full directory. A move never replaces anything.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use cap_std::fs::Dir;
use kernel::id::BlobHash;
use kernel::proposal::{Finding, Pin, Value};
use passable::{quoting, visible_line};
use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;

use super::Limits;
use crate::atomic_write;
use crate::failure;
use crate::path::Plain;
use crate::walk::{self, FileSnapshot, Kind};

/// The state of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryState {
    /// The path does not exist.
    Nothing,
    /// A file: the digest of its content, and its size in bytes.
    File(BlobHash, u64),
    /// A directory.
    Directory,
}

impl EntryState {
    /// Returns the pin of this state in a proposal.
    pub(super) fn pin(self, path: &Plain) -> Pin {
        let (kind, digest) = match self {
            EntryState::Nothing => (super::FILE, None),
            EntryState::File(digest, _) => (super::FILE, Some(digest)),
            EntryState::Directory => (super::DIRECTORY, None),
        };
        Pin { kind: kind.to_owned(), name: path.as_str().to_owned(), digest }
    }
}

/// The reason why a change was not made.
pub(crate) enum MoveRefused {
    /// The present state is not the one that was judged.
    Changed,
    /// The change failed.
    Failed(Finding),
}

/// Returns the present state of a path, following no link. A link, a pipe, or a file that is larger than the grant
/// covers is a finding.
pub(crate) fn look(
    root: &Dir,
    path: &Plain,
    doing: &str,
    at: &str,
    limits: &Limits,
) -> Result<EntryState, Finding> {
    let shown = visible_line(path.as_str());
    let failed = |error: io::Error| failure::finding(&error, &format!("{doing} `{}`", path.as_str()), at);
    let Some(parent) = walk::parent(root, path).map_err(failed)? else { return Ok(EntryState::Nothing) };
    let name = path.split().1;
    match walk::kind(parent.as_fd(), name).map_err(failed)? {
        None => Ok(EntryState::Nothing),
        Some(Kind::Directory) => Ok(EntryState::Directory),
        Some(Kind::File) => match walk::present(parent.as_fd(), name, limits.bytes()) {
            Ok(Some(FileSnapshot { digest, bytes, .. })) => Ok(EntryState::File(digest, bytes)),
            Ok(None) => Ok(EntryState::Nothing),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                Err(Finding::new("dir/size", quoting!("`{}` has more than {} bytes", shown, limits.bytes()))
                    .at(at)
                    .counter_example(shown)
                    .allowed(format!("a file of at most {} bytes", limits.bytes())))
            }
            Err(error) => Err(failed(error)),
        },
        Some(Kind::Link) => Err(failed(Errno::LOOP.into())),
        Some(kind @ Kind::Other) => {
            Err(Finding::new("dir/kind", quoting!("`{}` is ", shown).and(kind.phrase()))
                .at(at)
                .counter_example(shown)
                .allowed("the path of a plain file or a directory"))
        }
    }
}

/// Returns whether a directory is empty.
pub(crate) fn is_empty(root: &Dir, path: &Plain) -> Result<bool, Finding> {
    let failed = |error: io::Error| failure::finding(&error, &format!("look at `{}`", path.as_str()), "path");
    Ok(root.read_dir(path.as_str()).map_err(failed)?.next().is_none())
}

/// Returns a finding that the entry at a path does not suit the call.
pub(crate) fn unfit(path: &Plain, at: &str, rule: &str, what: &str, allowed: &'static str) -> Finding {
    let shown = visible_line(path.as_str()).into_owned();
    Finding::new(rule, quoting!("`{}` ", shown).and(what)).at(at).counter_example(shown).allowed(allowed)
}

fn parent(root: &Dir, path: &Plain, doing: &str) -> Result<OwnedFd, MoveRefused> {
    match walk::parent(root, path) {
        Ok(Some(parent)) => Ok(parent),
        Ok(None) => Err(MoveRefused::Changed),
        Err(error) => Err(MoveRefused::Failed(failure::finding(&error, doing, "path"))),
    }
}

/// Removes the pinned entry. A file is renamed first, so that exactly the checked file is removed.
pub(crate) fn remove(
    root: &Dir,
    path: &Plain,
    was: EntryState,
    aside: &str,
    limits: &Limits,
) -> Result<(), MoveRefused> {
    let doing = format!("remove `{}`", path.as_str());
    let failed = |error: Errno| MoveRefused::Failed(failure::finding(&error.into(), &doing, "path"));
    let (at, name) = (parent(root, path, &doing)?, path.split().1);
    match was {
        EntryState::Nothing => return Err(MoveRefused::Changed),
        EntryState::Directory => match rustix::fs::unlinkat(&at, name, AtFlags::REMOVEDIR) {
            Ok(()) => {}
            // The directory has been filled, or replaced by something else.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => {
                return Err(MoveRefused::Changed);
            }
            Err(error) => return Err(failed(error)),
        },
        EntryState::File(digest, _) => {
            let is_it = |name: &str| matches!(walk::present(at.as_fd(), name, limits.bytes()), Ok(Some(now)) if now.digest == digest);
            if !is_it(name) {
                return Err(MoveRefused::Changed);
            }
            match rustix::fs::renameat_with(&at, name, &at, aside, RenameFlags::NOREPLACE) {
                Ok(()) if is_it(aside) => {
                    rustix::fs::unlinkat(&at, aside, AtFlags::empty()).map_err(failed)?
                }
                Ok(()) => {
                    rustix::fs::renameat_with(&at, aside, &at, name, RenameFlags::NOREPLACE)
                        .map_err(failed)?;
                    return Err(MoveRefused::Changed);
                }
                // The file system has no rename that keeps existing files, so the file is removed without this
                // protection.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    rustix::fs::unlinkat(&at, name, AtFlags::empty()).map_err(failed)?;
                }
                Err(Errno::NOENT) => return Err(MoveRefused::Changed),
                Err(error) => return Err(failed(error)),
            }
        }
    }
    rustix::fs::fsync(&at).map_err(failed)
}

/// Returns whether the pinned entry was removed, or `None` if that cannot be known. A file that a crash left under
/// the temporary name is removed.
pub(super) fn was_removed(
    root: &Dir,
    path: &Plain,
    was: EntryState,
    aside: &str,
    limits: &Limits,
) -> Option<bool> {
    match look(root, path, "look at", "path", limits).ok()? {
        EntryState::Nothing => {
            if let (EntryState::File(digest, _), Ok(Some(at))) = (was, walk::parent(root, path)) {
                atomic_write::tidy(at.as_fd(), aside, &[digest], limits.bytes());
                let _ = rustix::fs::fsync(&at);
            }
            Some(true)
        }
        now => (now.pin(path) == was.pin(path)).then_some(false),
    }
}

/// Moves the pinned file to a path that must not exist.
pub(super) fn relocate(
    root: &Dir,
    from: &Plain,
    to: &Plain,
    digest: BlobHash,
    limits: &Limits,
) -> Result<(), MoveRefused> {
    let doing = format!("move `{}` to `{}`", from.as_str(), to.as_str());
    let failed = |error: Errno| MoveRefused::Failed(failure::finding(&error.into(), &doing, "to"));
    let old = parent(root, from, &doing)?;
    let (old_name, new_name) = (from.split().1, to.split().1);
    let is_it = |at: &OwnedFd, name: &str| matches!(walk::present(at.as_fd(), name, limits.bytes()), Ok(Some(now)) if now.digest == digest);
    if !is_it(&old, old_name) {
        return Err(MoveRefused::Changed);
    }
    let new = walk::make_parent(root, to)
        .map_err(|error| MoveRefused::Failed(failure::finding(&error, &doing, "to")))?;
    match rustix::fs::renameat_with(&old, old_name, &new, new_name, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::EXIST | Errno::NOENT) => return Err(MoveRefused::Changed),
        // The file system has no rename that keeps an existing file. So this code first checks the new name, then
        // renames.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            if !matches!(walk::kind(new.as_fd(), new_name), Ok(None)) {
                return Err(MoveRefused::Changed);
            }
            rustix::fs::renameat(&old, old_name, &new, new_name).map_err(failed)?;
        }
        Err(error) => return Err(failed(error)),
    }
    // Another file may have replaced the pinned one at the last moment. That file was not approved, so it is moved
    // back.
    if !is_it(&new, new_name) {
        let back = rustix::fs::renameat_with(&new, new_name, &old, old_name, RenameFlags::NOREPLACE);
        return Err(back.map_or_else(failed, |()| MoveRefused::Changed));
    }
    for directory in [&new, &old] {
        rustix::fs::fsync(directory).map_err(failed)?;
    }
    Ok(())
}

/// Returns whether the pinned file was moved, or `None` if that cannot be known.
pub(super) fn was_relocated(
    root: &Dir,
    from: &Plain,
    to: &Plain,
    digest: BlobHash,
    limits: &Limits,
) -> Option<bool> {
    let at = |path: &Plain| look(root, path, "look at", "path", limits).ok();
    let is_it = |stood: EntryState| matches!(stood, EntryState::File(now, _) if now == digest);
    match (at(from)?, at(to)?) {
        (there, EntryState::Nothing) if is_it(there) => Some(false),
        (EntryState::Nothing, there) if is_it(there) => {
            for path in [to, from] {
                if let Ok(Some(parent)) = walk::parent(root, path) {
                    // The rename may have been seen but not yet be durable.
                    let _ = rustix::fs::fsync(&parent);
                }
            }
            Some(true)
        }
        _ => None,
    }
}

/// Makes a directory and those above it, following no link. An existing directory is no error.
pub(crate) fn make(root: &Dir, path: &Plain) -> Result<(), MoveRefused> {
    walk::make_all(root, path).map(drop).map_err(|error| {
        MoveRefused::Failed(failure::finding(&error, &format!("make `{}`", path.as_str()), "path"))
    })
}

/// Returns a record of paths, as methods that change paths return it.
pub(super) fn paths<const N: usize>(fields: [(&str, &Plain); N]) -> Value {
    let fields = fields.map(|(name, path)| (name.to_owned(), Value::from(path.as_str())));
    Value::record_from_map(BTreeMap::from(fields))
}

/// Returns the value of `remove`.
pub(super) fn removed(path: &Plain) -> Value {
    let fields = [("path".to_owned(), Value::from(path.as_str())), ("removed".to_owned(), Value::Bool(true))];
    Value::record_from_map(BTreeMap::from(fields))
}
