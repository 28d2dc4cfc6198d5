//! The changes of a granted directory. The present state must match the pins at the moment of effect. After a crash,
//! a probe finds out whether the change was made.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use kernel::id::BlobHash;
use kernel::proposal::{Finding, Pin, Value};
use kernel::started_effect::StartedEffect;
use passable::{quoting, visible_line};
use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;

use super::call::{Call, Op};
use super::prior_state::{self, PriorState};
use super::{GrantedDirectory, MAX_FILE_BYTES};
use crate::atomic_write::{self, AtomicWrite, AtomicWriteError};
use crate::failure;
use crate::mount::{Mount, something};
use crate::path::{self, Plain, Purpose};
use crate::walk;

/// The rule of the finding that a state differs from the judged one. In this case nothing has been changed.
pub(super) const CHANGED: &str = "mount/changed";

/// The maximum size of a file that is replaced, in bytes. The file is read first, so that a change made meanwhile is
/// not lost.
const MAX_REPLACED_BYTES: u64 = 1 << 30;

impl GrantedDirectory {
    /// Makes the change, and returns the value of the method.
    pub(super) fn change(
        &self,
        mount: &Mount,
        call: &Call<'_>,
        begun: &StartedEffect,
    ) -> Result<Value, Finding> {
        mount.check_writable()?;
        for way in call.op.ways() {
            expect_pinned(mount, call, way, begun)?;
        }
        match &call.op {
            Op::Look => {}
            Op::Write { way, content } => put(mount, call, way, content.as_bytes(), begun)?,
            Op::Put { way, digest, bytes } => {
                put(mount, call, way, &self.stored_bytes(digest, *bytes)?, begun)?
            }
            Op::Append { way, content } => {
                let before = before(mount, way)?;
                if before.as_deref().map(BlobHash::of) != pinned_digest(call, way, begun) {
                    return Err(changed(way));
                }
                let whole = [before.unwrap_or_default().as_slice(), content.as_bytes()].concat();
                put(mount, call, way, &whole, begun)?;
            }
            Op::Remove { way } => remove(mount, call, way, begun)?,
            Op::MakeDirectory { way } => mount.make_directory(way)?,
            Op::Move { from, to } => rename(mount, call, from, to, begun)?,
        }
        Ok(self.return_value(call))
    }

    /// Returns the value of the method after the change was made.
    pub(super) fn return_value(&self, call: &Call<'_>) -> Value {
        let record = |fields: Vec<(&str, Value)>| {
            let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
            Value::record_from_map(fields.collect::<BTreeMap<_, _>>())
        };
        let path = |way: &[String]| ("path", Value::from(call.path(way)));
        let written = |way: &[String], bytes: u64, digest: BlobHash| {
            let digest = Value::from(digest.to_string());
            record(vec![path(way), ("bytes", Value::number(bytes as f64)), ("digest", digest)])
        };
        match &call.op {
            Op::Look => Value::undefined(),
            Op::Write { way, content } => {
                written(way, content.len() as u64, BlobHash::of(content.as_bytes()))
            }
            Op::Put { way, digest, bytes } => written(way, *bytes, *digest),
            Op::Append { way, content } => {
                record(vec![path(way), ("appended", Value::number(content.len() as f64))])
            }
            Op::Remove { way } => record(vec![("removed", Value::from(call.path(way)))]),
            Op::MakeDirectory { way } => record(vec![("directory", Value::from(call.path(way)))]),
            Op::Move { from, to } => record(vec![path(to), ("from", Value::from(call.path(from)))]),
        }
    }

    /// Returns whether the change was made before a crash, or `None` if that cannot be known. A change that the crash
    /// left half done is completed.
    pub(super) fn was_done(&self, mount: &Mount, call: &Call<'_>, begun: &StartedEffect) -> Option<bool> {
        let found = |way: &[String]| prior_state::way_state(mount, way, "look at").ok();
        let pinned = |way: &[String], stood: &PriorState| is_pinned(call, way, stood, begun);
        match &call.op {
            Op::Look | Op::MakeDirectory { .. } => Some(false),
            Op::Write { way, content } => {
                self.was_written(mount, call, way, BlobHash::of(content.as_bytes()), begun)
            }
            Op::Put { way, digest, .. } => self.was_written(mount, call, way, *digest, begun),
            Op::Append { way, content } => {
                let now = before(mount, way).ok()?;
                let was = pinned_digest(call, way, begun);
                let whole = now.as_deref().unwrap_or_default();
                let is_old = now.as_deref().map(BlobHash::of) == was;
                let old = whole.strip_suffix(content.as_bytes());
                let is_new = now.is_some()
                    && old.is_some_and(|old| match was {
                        Some(was) => BlobHash::of(old) == was,
                        None => old.is_empty(),
                    });
                if is_new {
                    let known: Vec<BlobHash> = was.into_iter().chain([BlobHash::of(whole)]).collect();
                    tidy(mount, way, begun, &known);
                }
                (is_new || is_old).then_some(is_new)
            }
            Op::Remove { way } => match found(way)? {
                PriorState::Nothing => {
                    tidy(mount, way, begun, &pinned_digest(call, way, begun).into_iter().collect::<Vec<_>>());
                    Some(true)
                }
                there => pinned(way, &there).then_some(false),
            },
            Op::Move { from, to } => {
                let (there, new) = (found(from)?, found(to)?);
                if pinned(from, &there) && pinned(to, &new) {
                    return Some(false);
                }
                let has_come = is_pinned_as(call, from, &new, begun);
                match there {
                    PriorState::Nothing if has_come => {
                        sync(mount, &[to, from]);
                        Some(true)
                    }
                    // The two files were exchanged. The replaced file still lies at the old path of the moved one.
                    _ if has_come && is_pinned_as(call, to, &there, begun) => {
                        mount.remove(from).ok()?;
                        sync(mount, &[to, from]);
                        Some(true)
                    }
                    _ => None,
                }
            }
        }
    }

    fn was_written(
        &self,
        mount: &Mount,
        call: &Call<'_>,
        way: &[String],
        intended: BlobHash,
        begun: &StartedEffect,
    ) -> Option<bool> {
        let path = something(way, Purpose::Make).ok()?;
        let parent = walk::parent(mount.root(), &path).ok()??;
        let now = walk::present(parent.as_fd(), path.split().1, MAX_REPLACED_BYTES).ok()?;
        if now.is_some_and(|now| now.digest == intended) {
            let known = pinned_digest(call, way, begun).into_iter().chain([intended]).collect::<Vec<_>>();
            tidy(mount, way, begun, &known);
            return Some(true);
        }
        let stood = prior_state::way_state(mount, way, "look at").ok()?;
        is_pinned(call, way, &stood, begun).then_some(false)
    }
}

/// Returns the pin on a path.
fn pin_of<'a>(call: &Call<'_>, way: &[String], begun: &'a StartedEffect) -> Option<&'a Pin> {
    let name = call.path(way);
    begun.proposal().pins.iter().find(|pin| pin.name == name)
}

fn pinned_digest(call: &Call<'_>, way: &[String], begun: &StartedEffect) -> Option<BlobHash> {
    pin_of(call, way, begun).and_then(|pin| pin.digest)
}

fn is_pinned(call: &Call<'_>, way: &[String], stood: &PriorState, begun: &StartedEffect) -> bool {
    pin_of(call, way, begun) == Some(&stood.pin(call.path(way)))
}

/// Returns whether a state is the one that is pinned at a path. The state of a missing entry does not count.
fn is_pinned_as(call: &Call<'_>, way: &[String], stood: &PriorState, begun: &StartedEffect) -> bool {
    *stood != PriorState::Nothing && is_pinned(call, way, stood, begun)
}

fn expect_pinned(
    mount: &Mount,
    call: &Call<'_>,
    way: &[String],
    begun: &StartedEffect,
) -> Result<(), Finding> {
    let stood = prior_state::way_state(mount, way, "change")?;
    if is_pinned(call, way, &stood, begun) {
        return Ok(());
    }
    Err(changed(way))
}

fn changed(way: &[String]) -> Finding {
    let shown = visible_line(&way.join("/")).into_owned();
    Finding::new(CHANGED, quoting!("`{}` is not what it was when the call was judged", shown))
        .at("path")
        .counter_example(shown)
        .allowed("the same call once more: it is judged with what is there now")
}

/// Returns the directory that contains the last name of a path.
fn parent(mount: &Mount, path: &Plain, doing: &str) -> Result<OwnedFd, Finding> {
    let failed = |error: io::Error| failure::finding(&error, doing, "path");
    let parent = walk::parent(mount.root(), path).map_err(failed)?;
    parent.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
}

/// Returns the content of a file, or `None` if the file does not exist.
fn before(mount: &Mount, way: &[String]) -> Result<Option<Vec<u8>>, Finding> {
    match prior_state::way_state(mount, way, "append to")? {
        PriorState::Nothing => Ok(None),
        PriorState::File(_) => mount.read(way, MAX_FILE_BYTES).map(Some),
        _ => {
            let shown = visible_line(&way.join("/")).into_owned();
            Err(Finding::new(
                "mount/size",
                quoting!("`{}` is no file to which anything is appended here", shown),
            )
            .at("path"))
        }
    }
}

/// Replaces the content of a file in one step.
fn put(
    mount: &Mount,
    call: &Call<'_>,
    way: &[String],
    bytes: &[u8],
    begun: &StartedEffect,
) -> Result<(), Finding> {
    let path = something(way, Purpose::Make)?;
    mount.limits.check_name(path.as_str())?;
    let most = mount.limits.bytes_or(MAX_FILE_BYTES).min(MAX_FILE_BYTES);
    if bytes.len() as u64 > most {
        let what = format!("{} bytes are more than the {most} that a file may have here", bytes.len());
        return Err(Finding::new("mount/size", what).at("content"));
    }
    let doing = format!("write `{}`", path.as_str());
    let failed = |error: io::Error| failure::finding(&error, &doing, "path");
    let parent = parent(mount, &path, &doing)?;
    let name = path.split().1;
    let expected = walk::present(parent.as_fd(), name, MAX_REPLACED_BYTES).map_err(failed)?;
    // A file that is too large for a pin on its content was checked just before, so it is not compared here.
    let pin = pin_of(call, way, begun).filter(|pin| pin.kind == "file");
    if pin.is_some_and(|pin| pin.digest != expected.as_ref().map(|present| present.digest)) {
        return Err(changed(way));
    }
    let temporary = path::temporary(begun);
    let directory = parent.as_fd();
    let placing =
        AtomicWrite { directory, name, temporary: &temporary, bytes, expected, limit: MAX_REPLACED_BYTES };
    placing.put().map_err(|error| match error {
        AtomicWriteError::Changed => changed(way),
        AtomicWriteError::Io(error) => failed(error),
    })
}

/// Removes an entry. The entry is renamed first, so that exactly the checked entry is removed.
fn remove(mount: &Mount, call: &Call<'_>, way: &[String], begun: &StartedEffect) -> Result<(), Finding> {
    let path = something(way, Purpose::Look)?;
    let doing = format!("remove `{}`", path.as_str());
    let failed = |error: io::Error| failure::finding(&error, &doing, "path");
    match prior_state::way_state(mount, way, "remove")? {
        PriorState::Nothing => return Err(failed(io::ErrorKind::NotFound.into())),
        // A directory is only removed if it is empty.
        PriorState::Directory => return mount.remove(way),
        _ => mount.limits.check_name(path.as_str())?,
    }
    let parent = parent(mount, &path, &doing)?;
    let (name, aside) = (path.split().1, path::temporary(begun));
    let aside = aside.as_str();
    match rename_new(parent.as_fd(), name, parent.as_fd(), aside) {
        Ok(()) => {}
        // The file system has no rename that keeps existing files, so the entry is removed without this protection.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => return mount.remove(way),
        Err(error) => return Err(failed(error.into())),
    }
    let gone = prior_state::entry_state(parent.as_fd(), aside).map_err(failed)?;
    if !is_pinned(call, way, &gone, begun) {
        rename_new(parent.as_fd(), aside, parent.as_fd(), name).map_err(|error| failed(error.into()))?;
        return Err(changed(way));
    }
    rustix::fs::unlinkat(&parent, aside, AtFlags::empty()).map_err(|error| failed(error.into()))?;
    rustix::fs::fsync(&parent).map_err(|error| failed(error.into()))
}

fn rename_new(from: BorrowedFd<'_>, old: &str, to: BorrowedFd<'_>, new: &str) -> Result<(), Errno> {
    rustix::fs::renameat_with(from, old, to, new, RenameFlags::NOREPLACE)
}

/// Moves a file. It is first exchanged with a file at the target, so that exactly the checked file is replaced.
fn rename(
    mount: &Mount,
    call: &Call<'_>,
    from: &[String],
    to: &[String],
    begun: &StartedEffect,
) -> Result<(), Finding> {
    let (source, target) = (something(from, Purpose::Look)?, something(to, Purpose::Make)?);
    let doing = format!("move `{}` to `{}`", source.as_str(), target.as_str());
    let failed = |error: io::Error| failure::finding(&error, &doing, "path");
    match (prior_state::way_state(mount, from, "move")?, prior_state::way_state(mount, to, "move")?) {
        (PriorState::File(_) | PriorState::Large(_), PriorState::File(_) | PriorState::Large(_))
            if source != target => {}
        // No file is replaced, so a plain rename without replacement is enough.
        (PriorState::File(_) | PriorState::Large(_), PriorState::Nothing) => {}
        (PriorState::Nothing, _) => return Err(failed(io::ErrorKind::NotFound.into())),
        _ => return mount.rename(from, to),
    }
    mount.check_moved(&source, &target, &doing)?;
    let (old, new) = (parent(mount, &source, &doing)?, parent(mount, &target, &doing)?);
    let (old_name, new_name) = (source.split().1, target.split().1);
    let replaces = pinned_digest(call, to, begun).is_some();
    let flags = if replaces { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
    match rustix::fs::renameat_with(&old, old_name, &new, new_name, flags) {
        Ok(()) if replaces => {
            let gone = prior_state::entry_state(old.as_fd(), old_name).map_err(failed)?;
            if !is_pinned(call, to, &gone, begun) {
                rustix::fs::renameat_with(&old, old_name, &new, new_name, flags)
                    .map_err(|error| failed(error.into()))?;
                return Err(changed(to));
            }
            rustix::fs::unlinkat(&old, old_name, AtFlags::empty()).map_err(|error| failed(error.into()))?;
        }
        Ok(()) => {}
        Err(Errno::EXIST | Errno::NOENT) => return Err(changed(to)),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => return mount.rename(from, to),
        Err(error) => return Err(failed(error.into())),
    }
    for directory in [&new, &old] {
        rustix::fs::fsync(directory).map_err(|error| failed(error.into()))?;
    }
    Ok(())
}

/// Removes leftovers of a crash beside a file, and makes the seen state durable.
fn tidy(mount: &Mount, way: &[String], begun: &StartedEffect, known: &[BlobHash]) {
    let Ok(path) = something(way, Purpose::Look) else { return };
    if let Ok(Some(parent)) = walk::parent(mount.root(), &path) {
        let aside = path::temporary(begun);
        atomic_write::tidy(parent.as_fd(), &aside, known, MAX_REPLACED_BYTES);
        // A link, or a file that is too large to be read, is recognized by its identity.
        if let Ok(left @ (PriorState::Large(_) | PriorState::Link(_))) =
            prior_state::entry_state(parent.as_fd(), &aside)
            && left.pin(String::new()).digest.is_some_and(|digest| known.contains(&digest))
        {
            let _ = rustix::fs::unlinkat(&parent, aside.as_str(), AtFlags::empty());
        }
        let _ = rustix::fs::fsync(&parent);
    }
}

fn sync(mount: &Mount, ways: &[&[String]]) {
    for way in ways {
        if let Ok(path) = something(way, Purpose::Look)
            && let Ok(Some(parent)) = walk::parent(mount.root(), &path)
        {
            let _ = rustix::fs::fsync(&parent);
        }
    }
}
