//! `write`: writes one whole file, in one step.

use std::os::fd::AsFd as _;

use cap_std::fs::Dir;
use kernel::id::BlobHash;
use kernel::proposal::Finding;
use passable::{quoting, visible_line};

use super::Limits;
use crate::atomic_write::{self, AtomicWrite, AtomicWriteError};
use crate::failure;
use crate::path::Plain;
use crate::walk::{self, FileSnapshot};

/// The present state of the place where a file is to be written.
pub(super) struct WriteTarget {
    /// The file that is at the path now, if one exists.
    pub(super) present: Option<FileSnapshot>,
    /// Whether the directory of the file exists.
    pub(super) has_parent: bool,
}

/// Looks at the place of a file, following no link. A problem of writing at this place is a finding.
pub(super) fn look(root: &Dir, path: &Plain, limits: &Limits) -> Result<WriteTarget, Finding> {
    let shown = path.as_str();
    let name = path.split().1;
    let doing = format!("write `{shown}`");
    let failed = |error: std::io::Error| failure::finding(&error, &doing, "path");
    let Some(parent) = walk::parent(root, path).map_err(failed)? else {
        return Ok(WriteTarget { present: None, has_parent: false });
    };
    let present =
        walk::present(parent.as_fd(), name, limits.bytes()).map_err(|error| match error.kind() {
            std::io::ErrorKind::FileTooLarge => Finding::new(
                "dir/size",
                quoting!("the file at `{}` is larger than {} bytes", visible_line(shown), limits.bytes()),
            )
            .at("path")
            .counter_example(visible_line(shown))
            .allowed("a path at which there is no file, or a smaller one"),
            std::io::ErrorKind::InvalidInput => Finding::new(
                "dir/kind",
                quoting!("`{}` is a pipe, a socket or a device", visible_line(shown)),
            )
            .at("path")
            .counter_example(visible_line(shown))
            .allowed("the path of a plain file"),
            _ => failure::finding(&error, &doing, "path"),
        })?;
    Ok(WriteTarget { present, has_parent: true })
}

/// The outcome of a write.
pub(super) enum WriteOutcome {
    /// The file holds the content.
    Done,
    /// The present content is not the one that the user or the gates were shown.
    Changed,
    /// The write failed, and the old content is still there.
    Failed(Finding),
}

/// Writes a file if its present content still matches `pinned`, or already equals the new content.
pub(super) fn write(
    root: &Dir,
    path: &Plain,
    content: &[u8],
    pinned: Option<BlobHash>,
    temporary: &str,
    limits: &Limits,
) -> WriteOutcome {
    let before = match look(root, path, limits) {
        Ok(before) => before,
        Err(finding) => return WriteOutcome::Failed(finding),
    };
    let now = before.present.as_ref().map(|present| present.digest);
    if now == Some(BlobHash::of(content)) {
        return WriteOutcome::Done;
    }
    if now != pinned {
        return WriteOutcome::Changed;
    }
    let old = before.present.as_ref().map_or(0, |present| present.bytes);
    if let Err(finding) = limits.check_total(root, content.len() as u64, old) {
        return WriteOutcome::Failed(finding);
    }
    let failed = |error: &std::io::Error| {
        WriteOutcome::Failed(failure::finding(error, &format!("write `{}`", path.as_str()), "path"))
    };
    let parent = match walk::make_parent(root, path) {
        Ok(parent) => parent,
        Err(error) => return failed(&error),
    };
    let placing = AtomicWrite {
        directory: parent.as_fd(),
        name: path.split().1,
        temporary,
        bytes: content,
        expected: before.present,
        limit: limits.bytes(),
    };
    match placing.put() {
        Ok(()) => WriteOutcome::Done,
        Err(AtomicWriteError::Changed) => WriteOutcome::Changed,
        Err(AtomicWriteError::Io(error)) => failed(&error),
    }
}

/// Returns whether the file already holds the content. Leftovers of a crash beside the file are removed.
pub(super) fn is_done(
    root: &Dir,
    path: &Plain,
    content: &[u8],
    pinned: Option<BlobHash>,
    temporary: &str,
    limits: &Limits,
) -> bool {
    let intended = BlobHash::of(content);
    let Ok(Some(parent)) = walk::parent(root, path) else { return false };
    let present = walk::present(parent.as_fd(), path.split().1, limits.bytes());
    let is_done = matches!(present, Ok(Some(present)) if present.digest == intended);
    if is_done {
        let known: Vec<BlobHash> = pinned.into_iter().chain([intended]).collect();
        atomic_write::tidy(parent.as_fd(), temporary, &known, limits.bytes());
        // The rename may have been seen but not yet be durable.
        let _ = rustix::fs::fsync(&parent);
    }
    is_done
}
