//! The methods `add` and `unstage`, which change the index.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use git2::{AttrCheckFlags, IndexEntry, IndexTime, ObjectType, Oid, Repository, Status, StatusOptions};
use rustix::fs::OFlags;
use serde_json::json;

use crate::branch::expect_same;
use crate::order::{Answer, StatePin};
use crate::paths;
use crate::refusal::Refusal;

/// The maximum number of files in one call.
const MAX_ITEMS: usize = 1000;

/// The maximum size of a file that is added, in bytes.
const MAX_FILE_BYTES: u64 = 32 << 20;

/// The status flags for a path whose index entry differs from the checked-out commit.
const IN_INDEX: Status = Status::from_bits_truncate(
    Status::INDEX_NEW.bits()
        | Status::INDEX_MODIFIED.bits()
        | Status::INDEX_DELETED.bits()
        | Status::INDEX_TYPECHANGE.bits(),
);

/// The status flags for a file that differs from its index entry.
const IN_WORKTREE: Status = Status::from_bits_truncate(
    Status::WT_NEW.bits()
        | Status::WT_MODIFIED.bits()
        | Status::WT_DELETED.bits()
        | Status::WT_TYPECHANGE.bits(),
);

/// A file of the working tree, as it would be added.
pub(crate) enum WorktreeFile {
    /// No file at this path.
    Missing,
    /// The content of the file, and its mode in git.
    Present(Vec<u8>, u32),
}

/// The kind of the pin for the list of files that is shown to the user.
const DIFF_KIND: &str = "diff";

/// The maximum number of files that are listed by name for the user.
const MAX_NAMED_FILES: usize = 100;

/// Returns the lines for the user, and the number of further lines.
fn format_list(lines: impl ExactSizeIterator<Item = String>) -> String {
    let more = lines.len().saturating_sub(MAX_NAMED_FILES);
    let mut shown: String = lines.take(MAX_NAMED_FILES).collect();
    if more > 0 {
        shown += &format!("… and {more} more\n");
    }
    shown
}

pub(crate) fn add(
    repository: &Repository,
    root: &Path,
    asked: &[String],
    pinned: Option<&[StatePin]>,
) -> Result<Answer, Refusal> {
    let mut files = BTreeMap::new();
    for path in changed_paths(repository, asked, false)? {
        expect_no_filter(repository, &path)?;
        let found = read_worktree_file(root, &path)?;
        files.insert(path, found);
    }
    let mut pins: Vec<StatePin> = files
        .iter()
        .map(|(path, found)| match found {
            WorktreeFile::Missing => StatePin::new("gone", path, b""),
            WorktreeFile::Present(bytes, mode) => StatePin::new(&format!("file {mode:o}"), path, bytes),
        })
        .collect();
    let shown = |(path, found): (&String, &WorktreeFile)| match found {
        WorktreeFile::Missing => format!("{path}: is gone\n"),
        WorktreeFile::Present(bytes, _) => format!("{path}: {} bytes\n", bytes.len()),
    };
    let shown = format_list(files.iter().map(shown));
    pins.push(StatePin::new(DIFF_KIND, "what is staged", shown.as_bytes()));
    let paths: Vec<String> = files.keys().cloned().collect();
    if let Some(pinned) = pinned {
        expect_same(pinned, &pins)?;
        let mut index = repository.index()?;
        for (path, found) in &files {
            match found {
                WorktreeFile::Missing => index.remove_path(Path::new(path))?,
                WorktreeFile::Present(bytes, mode) => {
                    index.add(&index_entry(repository, path, bytes, *mode)?)?
                }
            }
        }
        index.write()?;
    }
    let line = format!("{} {}", paths.len(), if paths.len() == 1 { "file" } else { "files" });
    let value = json!({ "added": paths });
    Ok(Answer { value, paths, pins, line, shown: Some(shown), ..Answer::default() })
}

/// Resets paths in the index to the checked-out commit.
pub(crate) fn unstage(
    repository: &Repository,
    asked: &[String],
    pinned: Option<&[StatePin]>,
) -> Result<Answer, Refusal> {
    let paths = changed_paths(repository, asked, true)?;
    let head = repository.head().ok().map(|head| head.peel(git2::ObjectType::Commit)).transpose()?;
    let index = repository.index()?;
    let mut pins: Vec<StatePin> = paths
        .iter()
        .map(|path| {
            let staged =
                index.get_path(Path::new(path), 0).map(|entry| entry.id.to_string()).unwrap_or_default();
            StatePin::new("staged", path, staged.as_bytes())
        })
        .collect();
    let shown = format_list(paths.iter().map(|path| format!("{path}\n")));
    pins.push(StatePin::new(DIFF_KIND, "what is not committed next", shown.as_bytes()));
    if let Some(pinned) = pinned {
        expect_same(pinned, &pins)?;
        match &head {
            Some(head) => repository.reset_default(Some(head), &paths)?,
            None => {
                let mut index = repository.index()?;
                for path in &paths {
                    index.remove_path(Path::new(path))?;
                }
                index.write()?;
            }
        }
    }
    let line = format!("{} {}", paths.len(), if paths.len() == 1 { "file" } else { "files" });
    let value = json!({ "unstaged": paths });
    Ok(Answer { value, paths, pins, line, shown: Some(shown), ..Answer::default() })
}

/// Checks whether an interrupted call was carried out: the index has the added files, or no longer has the unstaged
/// ones.
pub(crate) fn check_settled(
    repository: &Repository,
    root: &Path,
    pinned: &[StatePin],
) -> Result<Answer, Refusal> {
    let mut is_done = true;
    let pinned = || pinned.iter().filter(|pin| pin.kind != DIFF_KIND);
    for pin in pinned() {
        let status = repository.status_file(Path::new(&pin.name)).unwrap_or(Status::CURRENT);
        is_done &= match pin.kind.as_str() {
            "staged" => !status.intersects(IN_INDEX),
            kind => {
                let same = match read_worktree_file(root, &pin.name)? {
                    WorktreeFile::Missing => kind == "gone",
                    WorktreeFile::Present(bytes, mode) => {
                        StatePin::new(&format!("file {mode:o}"), &pin.name, &bytes) == *pin
                    }
                };
                same && !status.intersects(IN_WORKTREE)
            }
        };
    }
    let paths: Vec<&str> = pinned().map(|pin| pin.name.as_str()).collect();
    let verb = if pinned().any(|pin| pin.kind == "staged") { "unstaged" } else { "added" };
    let found = if is_done { json!({ verb: paths }) } else { json!(null) };
    Ok(Answer { value: json!({ "found": found, "certain": true }), ..Answer::default() })
}

/// Returns the changed files that the paths name. A directory stands for the files below it.
fn changed_paths(repository: &Repository, asked: &[String], staged: bool) -> Result<Vec<String>, Refusal> {
    if asked.is_empty() {
        return Err(Refusal::new(
            "path",
            "paths",
            "no path is named",
            "files or directories that `status` shows",
        ));
    }
    let mut all = Vec::new();
    for path in asked {
        let mut options = StatusOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(true).exclude_submodules(true);
        options.disable_pathspec_match(true);
        if path != "." {
            options.pathspec(paths::check(path, "paths")?);
        }
        let statuses = repository.statuses(Some(&mut options))?;
        let before = all.len();
        for entry in statuses.iter() {
            let status = entry.status();
            let Ok(name) = std::str::from_utf8(entry.path_bytes()) else {
                let message = "the name of a file is no text";
                return Err(Refusal::new("path", "paths", message, "other files, one by one"));
            };
            paths::check_found([name.trim_end_matches('/')], "paths")?;
            if status.is_conflicted() {
                let message = format!("`{name}` is in conflict");
                return Err(Refusal::new(
                    "conflict",
                    "paths",
                    message,
                    "other files: this one the user must settle",
                ));
            }
            if !status.intersects(if staged { IN_INDEX } else { IN_WORKTREE }) {
                continue;
            }
            if name.ends_with('/') {
                let message = format!("`{name}` is a repository of its own");
                return Err(Refusal::new("nested", "paths", message, "files, one by one"));
            }
            all.push(name.to_owned());
        }
        if all.len() == before {
            let message = format!("nothing has changed at `{path}`, or git ignores it");
            return Err(Refusal::new(
                "unchanged",
                "paths",
                message,
                "files or directories that `status` shows",
            ));
        }
        if all.len() > MAX_ITEMS {
            let message = format!("more than {MAX_ITEMS} files would be changed");
            return Err(Refusal::new("many", "paths", message, "some of the directories below, one by one"));
        }
    }
    all.sort();
    all.dedup();
    Ok(all)
}

/// Rejects a file that a filter program changes before it is committed, because this process runs no programs.
fn expect_no_filter(repository: &Repository, path: &str) -> Result<(), Refusal> {
    let filter = repository.get_attr_bytes(Path::new(path), "filter", AttrCheckFlags::FILE_THEN_INDEX)?;
    match git2::AttrValue::from_bytes(filter) {
        git2::AttrValue::Unspecified | git2::AttrValue::False => Ok(()),
        _ => {
            let message =
                format!("`{path}` passes through a program before it is committed (the attribute `filter`)");
            Err(Refusal::new("filter", "paths", message, "other files; this one the user adds by hand"))
        }
    }
}

/// Returns the present content of a file in the working tree, reached without following a link.
pub(crate) fn read_worktree_file(root: &Path, path: &str) -> Result<WorktreeFile, Refusal> {
    let mut at = root.to_owned();
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        if parts.peek().is_some() && at.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
            let message = format!("a name on the way to `{path}` is a link");
            return Err(Refusal::new("link", "paths", message, "a path without links"));
        }
    }
    let meta = match at.symlink_metadata() {
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            return Ok(WorktreeFile::Missing);
        }
        meta => meta?,
    };
    if meta.is_symlink() {
        return Ok(WorktreeFile::Present(
            std::fs::read_link(&at)?.as_os_str().as_bytes().to_vec(),
            0o120_000,
        ));
    }
    if !meta.is_file() {
        let message = format!("`{path}` is no file");
        return Err(Refusal::new("kind", "paths", message, "files and directories"));
    }
    // Links are not followed, and opening the file never blocks.
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(&at)?;
    let meta = file.metadata()?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let message = format!("`{path}` has more than {MAX_FILE_BYTES} bytes");
        return Err(Refusal::new("size", "paths", message, "smaller files; this one the user adds by hand"));
    }
    let mode = if meta.mode() & 0o100 != 0 { 0o100_755 } else { 0o100_644 };
    Ok(WorktreeFile::Present(bytes, mode))
}

/// Returns the index entry of a file, and stores the content as a blob. Line ends are converted as the repository's
/// settings say.
fn index_entry(repository: &Repository, path: &str, bytes: &[u8], mode: u32) -> Result<IndexEntry, Refusal> {
    let id: Oid = match mode {
        0o120_000 => repository.blob(bytes)?,
        _ => {
            let mut writer = repository.blob_writer(Some(Path::new(path)))?;
            writer.write_all(bytes)?;
            writer.commit()?
        }
    };
    Ok(staged_entry(path, id, mode))
}

/// Returns the blob and the mode of a file in the working tree, or `None` if no file exists at the path.
pub(crate) fn blob_at(root: &Path, path: &str) -> Result<Option<(Oid, u32)>, Refusal> {
    Ok(match read_worktree_file(root, path)? {
        WorktreeFile::Missing => None,
        WorktreeFile::Present(bytes, mode) => Some((Oid::hash_object(ObjectType::Blob, &bytes)?, mode)),
    })
}

/// Returns an index entry without times, so that git examines the file again.
pub(crate) fn staged_entry(path: &str, id: Oid, mode: u32) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}
