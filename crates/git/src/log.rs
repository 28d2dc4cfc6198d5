//! The method `log`, which lists commits, newest first.

use git2::{Commit, Oid, Repository, Sort};
use serde_json::{Value as Json, json};

use crate::diff;
use crate::order::Answer;
use crate::part::{format_time, shorten};
use crate::paths;
use crate::refusal::Refusal;

/// The maximum number of commits in one answer.
const MAX_ITEMS: u64 = 100;

/// The maximum number of commits that are searched for one answer.
const MAX_SEARCHED_COMMITS: u64 = 50_000;

/// The maximum length of a revision's name, in bytes.
const MAX_LEN: usize = 200;

pub(crate) fn log(
    repository: &Repository,
    range: Option<&str>,
    path: Option<&str>,
    skip: u64,
    most: u64,
) -> Result<Answer, Refusal> {
    let path = path.map(|path| paths::check(path, "path")).transpose()?;
    let most = most.clamp(1, MAX_ITEMS);
    let mut walk = repository.revwalk()?;
    walk.set_sorting(Sort::TIME | Sort::TOPOLOGICAL)?;
    match range.map(|range| (range, range.split_once(".."))) {
        None if repository.head().is_err() => {
            let value = json!({ "commits": [], "truncated": false, "next": null });
            return Ok(Answer { value, line: "no commits".to_owned(), ..Answer::default() });
        }
        None => walk.push_head()?,
        Some((_, Some((hidden, shown)))) if !shown.starts_with('.') => {
            let of = |name: &str| commit(repository, if name.is_empty() { "HEAD" } else { name }, "range");
            walk.hide(of(hidden)?.id())?;
            walk.push(of(shown)?.id())?;
        }
        Some((range, _)) => walk.push(commit(repository, range, "range")?.id())?,
    }
    let (mut commits, mut passed, mut more, mut looked_at) = (Vec::new(), 0, false, 0);
    for id in walk {
        looked_at += 1;
        if looked_at > MAX_SEARCHED_COMMITS {
            more = true;
            break;
        }
        let found = repository.find_commit(id?)?;
        if let Some(path) = path
            && !touches(repository, &found, path)?
        {
            continue;
        }
        if passed < skip {
            passed += 1;
        } else if (commits.len() as u64) < most {
            commits.push(commit_json(&found));
        } else {
            more = true;
            break;
        }
    }
    let next = match more && looked_at <= MAX_SEARCHED_COMMITS {
        true => json!(format!("to read on: the same call, skip: {}", skip + commits.len() as u64)),
        false if more => json!(format!("{MAX_SEARCHED_COMMITS} commits were looked at: name a range")),
        false => Json::Null,
    };
    let line = format!("{} commits", commits.len());
    let value = json!({ "commits": commits, "truncated": more, "next": next });
    Ok(Answer { value, line, paths: path.map(str::to_owned).into_iter().collect(), ..Answer::default() })
}

fn touches(repository: &Repository, commit: &Commit<'_>, path: &str) -> Result<bool, Refusal> {
    let before = commit.parents().next().map(|parent| parent.tree()).transpose()?;
    let mut options = diff::options(Some(path));
    let tree = commit.tree()?;
    let found = repository.diff_tree_to_tree(before.as_ref(), Some(&tree), Some(&mut options))?;
    Ok(found.deltas().len() > 0)
}

/// Returns a commit as JSON for the model.
pub(crate) fn commit_json(commit: &Commit<'_>) -> Json {
    let author = commit.author();
    let name = format!("{} <{}>", shorten(author.name_bytes(), 100), shorten(author.email_bytes(), 100));
    let message = shorten(commit.message_raw_bytes(), 4000);
    json!({
        "commit": commit.id().to_string(),
        "parents": commit.parent_ids().map(|id: Oid| id.to_string()).collect::<Vec<_>>(),
        "author": name,
        "when": format_time(author.when()),
        "message": message.trim(),
    })
}

/// Returns the commit that a revision names. Other objects are rejected, because files have separate path arguments.
pub(crate) fn commit<'r>(repository: &'r Repository, name: &str, at: &str) -> Result<Commit<'r>, Refusal> {
    let none = || {
        let message = format!("`{}` names no commit", shorten(name.as_bytes(), 100));
        Refusal::new(
            "revision",
            at,
            message,
            "a branch, a tag, `HEAD~2`, or the digits of a commit that `log` shows",
        )
    };
    if name.is_empty() || name.len() > MAX_LEN || name.contains(':') {
        return Err(none());
    }
    repository.revparse_single(name).and_then(|object| object.peel_to_commit()).map_err(|_| none())
}
