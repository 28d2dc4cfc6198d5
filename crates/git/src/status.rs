//! `status`: the changed files.

use git2::{Repository, Status, StatusOptions};
use serde_json::{Value as Json, json};

use crate::order::Answer;
use crate::paths;
use crate::refusal::Refusal;

/// The maximum number of files of one kind in one answer.
const MAX_ITEMS: usize = 300;

/// Returns the branch, the commit, and the lists of changed files.
pub(crate) fn status(repository: &Repository) -> Result<Answer, Refusal> {
    let mut options = StatusOptions::new();
    options.include_untracked(true).exclude_submodules(true).renames_head_to_index(true);
    let statuses = repository.statuses(Some(&mut options))?;
    let (mut staged, mut changed, mut untracked, mut conflicts) = (vec![], vec![], vec![], vec![]);
    let (mut paths, mut left_out) = (Vec::new(), 0);
    for entry in statuses.iter() {
        let status = entry.status();
        let path = String::from_utf8_lossy(entry.path_bytes()).into_owned();
        let mut put = |list: &mut Vec<Json>, value: Json| match list.len() < MAX_ITEMS {
            true => list.push(value),
            false => left_out += 1,
        };
        if status.is_conflicted() {
            put(&mut conflicts, json!(path));
        }
        if let Some(change) = in_index(status) {
            put(&mut staged, json!({ "path": path, "change": change }));
        }
        if let Some(change) = in_worktree(status) {
            put(&mut changed, json!({ "path": path, "change": change }));
        }
        if status.is_wt_new() {
            put(&mut untracked, json!(path));
        }
        paths.push(path);
    }
    let (branch, head) = head_position(repository);
    let value = json!({
        "branch": branch, "head": head, "state": state(repository), "staged": staged, "changed": changed,
        "untracked": untracked, "conflicts": conflicts, "truncated": left_out > 0, "left_out": left_out,
    });
    // A file of the working tree can have a backslash in its name. Only an index that was tampered with leads elsewhere.
    let misleading =
        paths.iter().filter(|path| paths::is_impossible(&path.trim_end_matches('/').replace('\\', "_")));
    paths::check_found(misleading.map(String::as_str), "method")?;
    // The answer has no `paths`: the names of files are shown in any case, like the names in a directory.
    Ok(Answer { value, line: format!("{} files", paths.len()), ..Answer::default() })
}

fn in_index(status: Status) -> Option<&'static str> {
    let all = [
        (Status::INDEX_NEW, "new"),
        (Status::INDEX_MODIFIED, "changed"),
        (Status::INDEX_DELETED, "removed"),
        (Status::INDEX_RENAMED, "renamed"),
        (Status::INDEX_TYPECHANGE, "of another kind"),
    ];
    all.into_iter().find(|(flag, _)| status.contains(*flag)).map(|(_, word)| word)
}

fn in_worktree(status: Status) -> Option<&'static str> {
    let all = [
        (Status::WT_MODIFIED, "changed"),
        (Status::WT_DELETED, "removed"),
        (Status::WT_RENAMED, "renamed"),
        (Status::WT_TYPECHANGE, "of another kind"),
    ];
    all.into_iter().find(|(flag, _)| status.contains(*flag)).map(|(_, word)| word)
}

/// Returns the branch that is checked out, and the commit that is checked out.
pub(crate) fn head_position(repository: &Repository) -> (Option<String>, Option<String>) {
    let head = repository.find_reference("HEAD").ok();
    let branch = head.as_ref().and_then(|head| head.symbolic_target_bytes());
    let branch = branch.map(|name| String::from_utf8_lossy(name).into_owned());
    let branch = branch.map(|name| name.strip_prefix("refs/heads/").map(str::to_owned).unwrap_or(name));
    (branch, repository.head().ok().and_then(|head| head.target()).map(|id| id.to_string()))
}

/// Returns a description of the operation that is unfinished in the repository.
pub(crate) fn state(repository: &Repository) -> &'static str {
    use git2::RepositoryState as State;
    match repository.state() {
        State::Clean => "nothing unfinished",
        State::Merge => "an unfinished merge",
        State::Revert | State::RevertSequence => "an unfinished revert",
        State::CherryPick | State::CherryPickSequence => "an unfinished cherry-pick",
        State::Bisect => "an unfinished bisect",
        State::Rebase | State::RebaseInteractive | State::RebaseMerge => "an unfinished rebase",
        State::ApplyMailbox | State::ApplyMailboxOrRebase => "an unfinished application of patches",
    }
}

/// Refuses the call if an operation in the repository is unfinished, such as a merge.
pub(crate) fn expect_clean(repository: &Repository) -> Result<(), Refusal> {
    if repository.state() == git2::RepositoryState::Clean {
        return Ok(());
    }
    let message = format!("there is {} in the repository", state(repository));
    Err(Refusal::new("unfinished", "method", message, "the same call, once the user has finished it"))
}
