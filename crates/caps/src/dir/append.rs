//! `append`: adds text at the end of a file, in one step.

use std::borrow::Cow;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};

use cap_std::fs::Dir;
use kernel::id::BlobHash;
use kernel::proposal::Finding;
use passable::{quoting, visible_line};

use super::write::{WriteOutcome, WriteTarget, look};
use super::{Limits, line_ends};
use crate::atomic_write::{self, AtomicWrite, AtomicWriteError};
use crate::failure;
use crate::path::Plain;
use crate::walk;

/// The outcome of an append.
pub(super) enum AppendOutcome {
    /// The append was made, and this is the file's content now.
    Done(Vec<u8>),
    /// The append was not made, for this reason.
    NotWritten(WriteOutcome),
}

/// Appends `content` to a file whose content still matches `pinned`. The whole file is replaced, so a crash leaves
/// the old content or the new one.
pub(super) fn append(
    root: &Dir,
    path: &Plain,
    content: &str,
    pinned: Option<BlobHash>,
    temporary: &str,
    limits: &Limits,
) -> AppendOutcome {
    let failed = |error: &io::Error| {
        AppendOutcome::NotWritten(WriteOutcome::Failed(failure::finding(
            error,
            &format!("append to `{}`", path.as_str()),
            "path",
        )))
    };
    let present = match look(root, path, limits) {
        Ok(WriteTarget { present, .. }) => present,
        Err(finding) => return AppendOutcome::NotWritten(WriteOutcome::Failed(finding)),
    };
    if present.as_ref().map(|present| present.digest) != pinned {
        return AppendOutcome::NotWritten(WriteOutcome::Changed);
    }
    let parent = match walk::make_parent(root, path) {
        Ok(parent) => parent,
        Err(error) => return failed(&error),
    };
    let name = path.split().1;
    let mut whole = match held(parent.as_fd(), name, limits.bytes()) {
        Ok(held) if held.as_deref().map(BlobHash::of) == pinned => held.unwrap_or_default(),
        Ok(_) => return AppendOutcome::NotWritten(WriteOutcome::Changed),
        Err(error) => return failed(&error),
    };
    let before = whole.len() as u64;
    let content = match fitted(path, &whole, content) {
        Ok(content) => content,
        Err(finding) => return AppendOutcome::NotWritten(WriteOutcome::Failed(finding)),
    };
    whole.extend_from_slice(content.as_bytes());
    let total = || limits.check_total(root, whole.len() as u64, before);
    if let Err(finding) = limits.check_bytes(path.as_str(), whole.len() as u64).and_then(|()| total()) {
        return AppendOutcome::NotWritten(WriteOutcome::Failed(finding));
    }
    let placing = AtomicWrite {
        directory: parent.as_fd(),
        name,
        temporary,
        bytes: &whole,
        expected: present,
        limit: limits.bytes(),
    };
    match placing.put() {
        Ok(()) => AppendOutcome::Done(whole),
        Err(AtomicWriteError::Changed) => AppendOutcome::NotWritten(WriteOutcome::Changed),
        Err(AtomicWriteError::Io(error)) => failed(&error),
    }
}

/// Returns the content with the line ends of the file.
///
/// # Errors
/// When the file is in UTF-16, to which no text in UTF-8 can be added.
fn fitted<'a>(path: &Plain, there: &[u8], content: &'a str) -> Result<Cow<'a, str>, Finding> {
    if there.starts_with(&[0xff, 0xfe]) || there.starts_with(&[0xfe, 0xff]) {
        let shown = visible_line(path.as_str()).into_owned();
        return Err(Finding::new(
            "dir/not-utf8",
            quoting!("`{}` is in UTF-16, and the text is in UTF-8", shown),
        )
        .at("path")
        .counter_example(shown)
        .allowed("`write` with the whole text, which makes a new file in UTF-8, or another file"));
    }
    Ok(line_ends::fitted(there, content))
}

/// Returns the bytes that an append would add to the file as it is now.
///
/// # Errors
/// When the file is in UTF-16.
pub(super) fn added<'a>(
    root: &Dir,
    path: &Plain,
    content: &'a str,
    limits: &Limits,
) -> Result<Cow<'a, str>, Finding> {
    let there = walk::parent(root, path).ok().flatten();
    let there = there.and_then(|parent| held(parent.as_fd(), path.split().1, limits.bytes()).ok()?);
    fitted(path, &there.unwrap_or_default(), content)
}

/// The state of an append that a crash interrupted.
pub(super) enum AppendState {
    /// The append was made. This is the file's content now.
    Done(Vec<u8>),
    /// The file still has the old content.
    NotDone,
    /// The file has another content, or cannot be read.
    Unknown,
}

/// Returns the state of an append that a crash interrupted. Leftovers of the crash beside the file are removed.
pub(super) fn find(
    root: &Dir,
    path: &Plain,
    content: &str,
    pinned: Option<BlobHash>,
    temporary: &str,
    limits: &Limits,
) -> AppendState {
    let Ok(parent) = walk::parent(root, path) else { return AppendState::Unknown };
    let Some(parent) = parent else {
        return if pinned.is_none() { AppendState::NotDone } else { AppendState::Unknown };
    };
    let Ok(now) = held(parent.as_fd(), path.split().1, limits.bytes()) else { return AppendState::Unknown };
    // The content may have got the line ends of the file.
    let is_new = [content.into(), line_ends::to_crlf(content)].iter().any(|added: &Cow<'_, str>| {
        let before = now.as_deref().and_then(|now| now.strip_suffix(added.as_bytes()));
        before.is_some_and(|before| match pinned {
            Some(pinned) => BlobHash::of(before) == pinned && line_ends::fitted(before, content) == *added,
            None => before.is_empty() && *added == content,
        })
    });
    match now {
        Some(now) if is_new => {
            let known: Vec<BlobHash> = pinned.into_iter().chain([BlobHash::of(&now)]).collect();
            atomic_write::tidy(parent.as_fd(), temporary, &known, limits.bytes());
            // The rename may have been seen but not yet be durable.
            let _ = rustix::fs::fsync(&parent);
            AppendState::Done(now)
        }
        now if now.as_deref().map(BlobHash::of) == pinned => AppendState::NotDone,
        _ => AppendState::Unknown,
    }
}

/// Returns the content of the plain file under a name, or `None` if the name does not exist. Links are not followed.
pub(crate) fn held(directory: BorrowedFd<'_>, name: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
    // `present` fails for anything but a plain file.
    let Some(present) = walk::present(directory, name, limit)? else { return Ok(None) };
    let file = walk::open_file(directory, name)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if BlobHash::of(&bytes) != present.digest {
        // Another process is writing the file at this moment.
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    Ok(Some(bytes))
}
