//! The method `commit`, and the search for a commit after a crash.

use git2::{Oid, Repository, Signature};
use serde_json::json;

use crate::branch::expect_same;
use crate::diff::{self, RenderedDiff};
use crate::order::{Answer, Author, StatePin};
use crate::refusal::Refusal;
use crate::status;

/// The maximum size of a diff that the user is shown, in bytes. A larger change must be split into several commits.
const MAX_SHOWN_BYTES: usize = 256 << 10;

/// The maximum length of a message, in bytes.
const MAX_LEN: usize = 32 << 10;

/// The maximum number of commits that are searched for one commit.
const MAX_SEARCHED_COMMITS: usize = 10_000;

/// Returns whether a character controls the screen of a reader, or the direction of the text around it.
fn acts_on_screens(c: char) -> bool {
    let changes_order =
        matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    changes_order || (c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Commits the index: exactly the tree that was shown, on the commit that was checked out at that time.
pub(crate) fn commit(
    repository: &Repository,
    message: &str,
    author: &Author,
    trailer: &str,
    pinned: Option<&[StatePin]>,
) -> Result<Answer, Refusal> {
    status::expect_clean(repository)?;
    if message.trim().is_empty() || message.len() > MAX_LEN || message.contains('\0') {
        let allowed = format!("a text of at most {MAX_LEN} bytes");
        return Err(Refusal::new("message", "message", "there is no message, or it is too long", allowed));
    }
    if let Some(hidden) = message.chars().find(|c| acts_on_screens(*c)) {
        let said = format!("the message has a character that nobody sees: {}", hidden.escape_unicode());
        return Err(Refusal::new("message", "message", said, "letters, spaces, tabs and new lines"));
    }
    let mut index = repository.index()?;
    if index.has_conflicts() {
        let allowed = "the same call, once the user has settled them";
        return Err(Refusal::new("conflict", "method", "there are files in conflict", allowed));
    }
    if pinned.is_none() {
        // A preview writes nothing. The objects that it creates stay in memory.
        repository.odb()?.add_new_mempack_backend(1000)?;
    }
    // This tree is committed, even if the index changes in the meantime.
    let tree = repository.find_tree(index.write_tree()?)?;
    let parent = repository.head().ok().map(|head| head.peel_to_commit()).transpose()?;
    let before = parent.as_ref().map(|parent| parent.tree()).transpose()?;
    let mut options = diff::options(None);
    let drawn = RenderedDiff::new(&repository.diff_tree_to_tree(
        before.as_ref(),
        Some(&tree),
        Some(&mut options),
    )?)?;
    if drawn.paths.is_empty() {
        let allowed = "`add` first; `status` says what has changed";
        return Err(Refusal::new("nothing", "method", "there is nothing to commit", allowed));
    }
    if drawn.cut || drawn.text.len() > MAX_SHOWN_BYTES {
        let message =
            format!("what would be committed is more than can be shown: more than {MAX_SHOWN_BYTES} bytes");
        return Err(Refusal::new("large", "method", message, "several commits: `unstage` some of it first"));
    }
    let tree_id = tree.id().to_string();
    let pins = vec![
        head_pin(repository),
        StatePin::new("tree", &tree_id, tree_id.as_bytes()),
        StatePin::new("diff", "what is committed", drawn.text.as_bytes()),
    ];
    let mut value = json!({ "tree": tree_id, "files": drawn.paths });
    if let Some(pinned) = pinned {
        expect_same(pinned, &pins)?;
        let signature = Signature::now(&author.name, &author.email)?;
        let parents: Vec<_> = parent.iter().collect();
        let whole = with_trailer(message, trailer);
        let id = repository.commit(Some("HEAD"), &signature, &signature, &whole, &tree, &parents)?;
        value = commit_value(id, &tree_id, &drawn.paths);
    }
    let line = format!("{}, as {} <{}>", drawn.line(), author.name, author.email);
    Ok(Answer { value, paths: drawn.paths, pins, line, shown: Some(drawn.text), ..Answer::default() })
}

fn commit_value(id: Oid, tree: &str, paths: &[String]) -> serde_json::Value {
    json!({ "commit": id.to_string(), "tree": tree, "files": paths })
}

/// Returns the pin of the checked-out branch and its commit.
pub(crate) fn head_pin(repository: &Repository) -> StatePin {
    let (branch, id) = status::head_position(repository);
    head(branch.as_deref(), id.as_deref())
}

fn head(branch: Option<&str>, id: Option<&str>) -> StatePin {
    let what = format!("{} {}", branch.unwrap_or("(no branch)"), id.unwrap_or("(no commit)"));
    StatePin::new("head", "what is checked out", what.as_bytes())
}

/// Returns the message with our own trailer as its last line.
fn with_trailer(message: &str, trailer: &str) -> String {
    let message = message.trim_end();
    let last = message.rsplit("\n\n").next().unwrap_or_default();
    let is_trailer = |line: &str| {
        line.split_once(": ").is_some_and(|(key, _)| !key.is_empty() && !key.contains(char::is_whitespace))
    };
    let follows = message.contains("\n\n") && last.lines().all(is_trailer);
    format!("{message}\n{}{trailer}\n", if follows { "" } else { "\n" })
}

/// Searches for a commit with this trailer, from the checked-out commit back to the one that `was` identifies. The
/// answer has the commit, or tells whether it is certain that no such commit exists.
pub(crate) fn find(repository: &Repository, trailer: &str, was: &str) -> Result<Answer, Refusal> {
    let told = |value| Ok(Answer { value, ..Answer::default() });
    let (branch, id) = status::head_position(repository);
    let Some(id) = id else {
        let same = head(branch.as_deref(), None).digest == was;
        return told(json!({ "found": null, "certain": same }));
    };
    let mut walk = repository.revwalk()?;
    walk.set_sorting(git2::Sort::TOPOLOGICAL)?;
    walk.push(Oid::from_str(&id)?)?;
    for id in walk.take(MAX_SEARCHED_COMMITS) {
        let commit = repository.find_commit(id?)?;
        let text = commit.id().to_string();
        if head(branch.as_deref(), Some(&text)).digest == was {
            return told(json!({ "found": null, "certain": true }));
        }
        let message = String::from_utf8_lossy(commit.message_raw_bytes()).into_owned();
        if message.lines().any(|line| line == trailer) {
            let tree = commit.tree()?;
            let before = commit.parents().next().map(|parent| parent.tree()).transpose()?;
            let mut options = diff::options(None);
            let found = repository.diff_tree_to_tree(before.as_ref(), Some(&tree), Some(&mut options))?;
            let drawn = RenderedDiff::new(&found)?;
            let value = commit_value(commit.id(), &tree.id().to_string(), &drawn.paths);
            return told(json!({ "found": value, "certain": true }));
        }
    }
    // The search did not reach the commit that was checked out at that time. Either no commit existed then, or the
    // history has changed.
    let unborn = head(branch.as_deref(), None).digest == was;
    told(json!({ "found": null, "certain": unborn }))
}

#[cfg(test)]
mod tests {
    use super::with_trailer;

    #[test]
    fn trailer_joins_others_or_forms_a_paragraph() {
        for (message, expected) in [
            ("One", "One\n\nX: y\n"),
            ("One\n\nWhy.\n", "One\n\nWhy.\n\nX: y\n"),
            ("One\n\nSigned-off-by: a\n", "One\n\nSigned-off-by: a\nX: y\n"),
            ("fix: one", "fix: one\n\nX: y\n"),
        ] {
            assert_eq!(with_trailer(message, "X: y"), expected);
        }
    }
}
