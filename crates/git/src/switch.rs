//! `switch`: checks a branch out, and loses nothing.

use std::path::Path;

use git2::build::CheckoutBuilder;
use git2::{BranchType, DiffDelta, ObjectType, Oid, Repository, Status};
use serde_json::json;

use crate::branch::{expect_name, expect_same};
use crate::commit::head_pin;
use crate::diff;
use crate::order::{Answer, Pinned};
use crate::refusal::Refusal;
use crate::status;

/// The most files of one call.
const MOST: usize = 5000;

/// Whether a path is in the index and in the directory what the branch has there, or still what it was in the index:
/// nothing that is not committed is lost then.
fn is_there(repository: &Repository, path: &str, delta: &DiffDelta<'_>) -> bool {
    let wanted = match delta.status() {
        git2::Delta::Deleted => None,
        _ => Some((delta.new_file().id(), u32::from(delta.new_file().mode()))),
    };
    let old = match delta.status() {
        git2::Delta::Added => None,
        _ => Some((delta.old_file().id(), u32::from(delta.old_file().mode()))),
    };
    let Ok(index) = repository.index() else { return false };
    let staged = index.get_path(Path::new(path), 0).map(|entry| (entry.id, entry.mode));
    (staged == wanted || staged == old)
        && in_directory(repository, path).is_ok_and(|found| found == wanted.map(|(id, _)| id))
}

/// The blob that a path of the directory would be; nothing if nothing is there.
fn in_directory(repository: &Repository, path: &str) -> std::io::Result<Option<Oid>> {
    let Some(root) = repository.workdir() else { return Ok(None) };
    let path = root.join(path);
    let blob = |bytes: &[u8]| Oid::hash_object(ObjectType::Blob, bytes).map_err(std::io::Error::other);
    match std::fs::symlink_metadata(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
        Ok(meta) if meta.is_symlink() => {
            use std::os::unix::ffi::OsStrExt as _;
            blob(std::fs::read_link(&path)?.as_os_str().as_bytes()).map(Some)
        }
        Ok(meta) if meta.is_file() => {
            Oid::hash_file(ObjectType::Blob, &path).map(Some).map_err(std::io::Error::other)
        }
        Ok(_) => Err(std::io::ErrorKind::InvalidInput.into()),
    }
}

pub(crate) fn switch(
    repository: &Repository,
    name: &str,
    pinned: Option<&[Pinned]>,
) -> Result<Answer, Refusal> {
    expect_name(name)?;
    status::expect_clean(repository)?;
    let missing = |_| {
        let message = format!("there is no branch `{name}` here");
        Refusal::new("missing", "name", message, "one that `branches` shows as not remote")
    };
    let branch = repository.find_branch(name, BranchType::Local).map_err(missing)?;
    let commit = branch.get().peel_to_commit()?;
    let value = json!({ "branch": name, "commit": commit.id().to_string() });
    if branch.is_head() {
        let line = "checked out already".to_owned();
        return Ok(Answer { value, pins: vec![], line, ..Answer::default() });
    }
    let (old, new) = (repository.head().ok().map(|head| head.peel_to_tree()).transpose()?, commit.tree()?);
    let mut options = diff::options(None);
    let found = repository.diff_tree_to_tree(old.as_ref(), Some(&new), Some(&mut options))?;
    let mut lost = Vec::new();
    let (mut paths, mut shown) = (Vec::new(), String::new());
    for delta in found.deltas() {
        let path = delta.new_file().path_bytes().or(delta.old_file().path_bytes()).unwrap_or_default();
        let Ok(path) = std::str::from_utf8(path) else { continue };
        // What is not there, and is to come, has no status.
        let status = repository.status_file(Path::new(path)).unwrap_or(Status::CURRENT);
        // What was cut off is done again: what has been checked out by then is what is to be there.
        let is_done = || pinned.is_some() && is_there(repository, path, &delta);
        if !status.is_empty() && !is_done() {
            lost.push(path.to_owned());
        }
        let what = match delta.status() {
            git2::Delta::Added => "comes",
            git2::Delta::Deleted => "goes",
            _ => "becomes another",
        };
        shown += &format!("{path}: {what}\n");
        paths.push(path.to_owned());
    }
    if paths.len() > MOST {
        let message = format!("more than {MOST} files would be changed");
        return Err(Refusal::new("many", "name", message, "nothing: the user does it by hand"));
    }
    if !lost.is_empty() {
        lost.truncate(5);
        let message = format!("what is not committed would be lost: {}", lost.join(", "));
        return Err(Refusal::new("would-lose", "name", message, "`commit` it first, or another branch"));
    }
    let id = commit.id().to_string();
    let pins = vec![
        head_pin(repository),
        Pinned::of("commit", &id, id.as_bytes()),
        Pinned::of("diff", "what becomes of the files", shown.as_bytes()),
    ];
    if let Some(pinned) = pinned {
        expect_same(pinned, &pins)?;
        let mut checkout = CheckoutBuilder::new();
        checkout.safe();
        repository.checkout_tree(commit.as_object(), Some(&mut checkout)).map_err(|error| {
            match error.code() {
                git2::ErrorCode::Conflict => {
                    let message = "what is not committed would be lost";
                    Refusal::new("would-lose", "name", message, "`commit` it first, or another branch")
                }
                _ => error.into(),
            }
        })?;
        repository.set_head(&format!("refs/heads/{name}"))?;
    }
    let line = format!("{} {}", paths.len(), if paths.len() == 1 { "file changes" } else { "files change" });
    Ok(Answer { value, paths, pins, line, shown: Some(shown) })
}
