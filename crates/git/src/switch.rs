//! `switch`: checks a branch out without the loss of uncommitted changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use git2::build::CheckoutBuilder;
use git2::{BranchType, DiffDelta, ObjectType, Oid, Repository, Status, Tree};
use serde_json::json;

use crate::add::{blob_at, staged_entry};
use crate::branch::{expect_name, expect_same};
use crate::commit::head_pin;
use crate::diff;
use crate::order::{Answer, StatePin};
use crate::paths;
use crate::refusal::Refusal;
use crate::status;

/// The maximum number of files that one call changes.
const MAX_ITEMS: usize = 5000;

/// The maximum number of entries of a branch whose names are checked.
const MAX_ENTRIES: usize = 1_000_000;

/// The maximum number of directories in each other in a branch.
const MAX_DEPTH: usize = 128;

/// The blob and mode of a path in the branch. `None` means that the branch does not have the path.
type BranchEntry = Option<(Oid, u32)>;

/// Returns the branch's entry for a path, if the working tree already has that content. The index must have the new
/// entry, or still the old one. Then no uncommitted change is lost.
fn already_checked_out(repository: &Repository, path: &str, delta: &DiffDelta<'_>) -> Option<BranchEntry> {
    let wanted = match delta.status() {
        git2::Delta::Deleted => None,
        _ => Some((delta.new_file().id(), u32::from(delta.new_file().mode()))),
    };
    let old = match delta.status() {
        git2::Delta::Added => None,
        _ => Some((delta.old_file().id(), u32::from(delta.old_file().mode()))),
    };
    let index = repository.index().ok()?;
    let staged = index.get_path(Path::new(path), 0).map(|entry| (entry.id, entry.mode));
    let found = blob_at(repository.workdir()?, path).ok()?;
    let is_there = found == wanted && (staged == wanted || staged == old);
    is_there.then_some(wanted)
}

/// Stages the files that an interrupted call had already checked out.
fn stage(repository: &Repository, done: &BTreeMap<String, BranchEntry>) -> Result<(), Refusal> {
    let mut index = repository.index()?;
    for (path, wanted) in done {
        match wanted {
            None => index.remove_path(Path::new(path))?,
            Some((id, mode)) => index.add(&staged_entry(path, *id, *mode))?,
        }
    }
    Ok(index.write()?)
}

/// Checks that all files of a tree can lie in a working tree.
fn check_names(repository: &Repository, tree: &Tree<'_>) -> Result<(), Refusal> {
    let (mut ways, mut met) = (vec![(tree.id(), 0)], 0);
    let mut seen = BTreeSet::new();
    while let Some((id, depth)) = ways.pop() {
        // A tree that is in many places is looked at once: a repository can name it more often than it could be walked.
        if !seen.insert(id) {
            continue;
        }
        for entry in repository.find_tree(id)?.iter() {
            met += 1;
            let name = String::from_utf8_lossy(entry.name_bytes());
            if name.contains('/') || paths::is_impossible(&name) {
                return Err(paths::refuse_found(&[&*name], "name"));
            }
            if entry.kind() == Some(ObjectType::Tree) {
                ways.push((entry.id(), depth + 1));
            }
        }
        if met > MAX_ENTRIES || depth > MAX_DEPTH {
            let message = "the branch has more files, or deeper directories, than are looked at";
            return Err(Refusal::new("many", "name", message, "nothing: the user does it by hand"));
        }
    }
    Ok(())
}

pub(crate) fn switch(
    repository: &Repository,
    name: &str,
    pinned: Option<&[StatePin]>,
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
    for tree in old.iter().chain([&new]) {
        check_names(repository, tree)?;
    }
    let mut options = diff::options(None);
    let found = repository.diff_tree_to_tree(old.as_ref(), Some(&new), Some(&mut options))?;
    let (mut lost, mut done) = (Vec::new(), BTreeMap::new());
    let (mut paths, mut shown) = (Vec::new(), String::new());
    for delta in found.deltas() {
        let path = delta.new_file().path_bytes().or(delta.old_file().path_bytes()).unwrap_or_default();
        // A file that cannot be named can be neither shown nor judged.
        let path = std::str::from_utf8(path).map_err(|_| {
            let message = "a file that would change has a name that is not UTF-8";
            Refusal::new("path", "name", message, "nothing: the user does it by hand")
        })?;
        // A missing file that the branch would create has no status.
        let status = repository.status_file(Path::new(path)).unwrap_or(Status::CURRENT);
        // An interrupted call is repeated: the files that it had already checked out count as done.
        match pinned
            .and_then(|_| already_checked_out(repository, path, &delta))
            .filter(|_| !status.is_empty())
        {
            Some(wanted) => drop(done.insert(path.to_owned(), wanted)),
            None if !status.is_empty() => lost.push(path.to_owned()),
            None => {}
        }
        let what = match delta.status() {
            git2::Delta::Added => "comes",
            git2::Delta::Deleted => "goes",
            _ => "becomes another",
        };
        shown += &format!("{path}: {what}\n");
        paths.push(path.to_owned());
    }
    if paths.len() > MAX_ITEMS {
        let message = format!("more than {MAX_ITEMS} files would be changed");
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
        StatePin::new("commit", &id, id.as_bytes()),
        StatePin::new("diff", "what becomes of the files", shown.as_bytes()),
    ];
    if let Some(pinned) = pinned {
        expect_same(pinned, &pins)?;
        let mut checkout = CheckoutBuilder::new();
        checkout.safe();
        let rest: Vec<&String> = paths.iter().filter(|path| !done.contains_key(*path)).collect();
        if !done.is_empty() {
            checkout.disable_pathspec_match(true);
            for path in &rest {
                checkout.path(path.as_str());
            }
        }
        let checked_out = match rest.is_empty() && !done.is_empty() {
            true => Ok(()),
            false => repository.checkout_tree(commit.as_object(), Some(&mut checkout)),
        };
        checked_out.map_err(|error| match error.code() {
            git2::ErrorCode::Conflict => {
                let message = "what is not committed would be lost";
                Refusal::new("would-lose", "name", message, "`commit` it first, or another branch")
            }
            _ => error.into(),
        })?;
        if !done.is_empty() {
            stage(repository, &done)?;
        }
        repository.set_head(&format!("refs/heads/{name}"))?;
    }
    let line = format!("{} {}", paths.len(), if paths.len() == 1 { "file changes" } else { "files change" });
    Ok(Answer { value, paths, pins, line, shown: Some(shown), ..Answer::default() })
}
