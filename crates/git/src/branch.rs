//! The methods `branches` and `branch`. The latter creates a branch.

use git2::{Branch, BranchType, Repository};
use serde_json::json;

use crate::log;
use crate::order::{Answer, StatePin};
use crate::part::shorten;
use crate::refusal::Refusal;

/// The maximum number of branches in one answer.
const MAX_ITEMS: usize = 300;

pub(crate) fn branches(repository: &Repository) -> Result<Answer, Refusal> {
    let (mut all, mut left_out) = (Vec::new(), 0);
    for branch in repository.branches(None)? {
        let (branch, kind) = branch?;
        if all.len() == MAX_ITEMS {
            left_out += 1;
            continue;
        }
        let name = String::from_utf8_lossy(branch.name_bytes()?).into_owned();
        // A branch may point to nothing.
        let Ok(commit) = branch.get().peel_to_commit() else { continue };
        all.push(json!({
            "name": name,
            "remote": kind == BranchType::Remote,
            "current": branch.is_head(),
            "commit": commit.id().to_string(),
            "subject": shorten(commit.summary_bytes().unwrap_or_default(), 200),
        }));
    }
    let line = format!("{} branches", all.len());
    let value = json!({ "branches": all, "truncated": left_out > 0, "left_out": left_out });
    Ok(Answer { value, line, ..Answer::default() })
}

/// Creates a branch without checking it out.
pub(crate) fn branch(
    repository: &Repository,
    name: &str,
    at: Option<&str>,
    pinned: Option<&[StatePin]>,
) -> Result<Answer, Refusal> {
    expect_name(name)?;
    let commit = log::commit(repository, at.unwrap_or("HEAD"), "at")?;
    let id = commit.id().to_string();
    let pins = vec![StatePin::new("commit", &id, id.as_bytes())];
    let value = json!({ "branch": name, "commit": id });
    let line = format!("at {}, {}", &id[..12], shorten(commit.summary_bytes().unwrap_or_default(), 100));
    if let Ok(there) = repository.find_branch(name, BranchType::Local) {
        let is_it = there.get().target() == Some(commit.id());
        // If this call created the branch before a crash, or someone else created it, the result is the same.
        if pinned.is_none() || !is_it {
            let message = format!("there is a branch `{name}` already");
            return Err(Refusal::new("exists", "name", message, "another name, or `switch` to it"));
        }
        return Ok(Answer { value, pins, line, ..Answer::default() });
    }
    if let Some(pinned) = pinned {
        expect_same(pinned, &pins)?;
        repository.branch(name, &commit, false)?;
    }
    Ok(Answer { value, pins, line, ..Answer::default() })
}

pub(crate) fn expect_name(name: &str) -> Result<(), Refusal> {
    match name.len() <= 200 && Branch::name_is_valid(name).unwrap_or(false) {
        true => Ok(()),
        false => {
            Err(Refusal::new("name", "name", "this cannot be the name of a branch", "such as `fix/typo`"))
        }
    }
}

/// Checks that the pinned state is still the present state.
pub(crate) fn expect_same(pinned: &[StatePin], now: &[StatePin]) -> Result<(), Refusal> {
    let changed =
        now.iter().find(|pin| !pinned.contains(pin)).or_else(|| pinned.iter().find(|pin| !now.contains(pin)));
    match changed {
        None => Ok(()),
        Some(pin) => Err(Refusal::new(
            "changed",
            "method",
            format!("the repository is not as it was when this was looked at: {} {}", pin.kind, pin.name),
            "the same call again: it is looked at anew",
        )),
    }
}
