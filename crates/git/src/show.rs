//! `show`: a commit with its changes, or a file or directory at a commit.

use std::path::Path;

use git2::{ObjectType, Repository};
use serde_json::json;

use crate::diff::{self, RenderedDiff};
use crate::key_search::KeySearch;
use crate::order::Answer;
use crate::refusal::Refusal;
use crate::{log, part, paths};

/// The maximum number of names from one directory.
const MAX_NAMES: usize = 1000;

pub(crate) fn show(
    repository: &Repository,
    revision: &str,
    path: Option<&str>,
    offset: u64,
    search: KeySearch<'_>,
) -> Result<Answer, Refusal> {
    let commit = log::commit(repository, revision, "revision")?;
    let Some(path) = path else {
        let before = commit.parents().next().map(|parent| parent.tree()).transpose()?;
        let tree = commit.tree()?;
        let mut options = diff::options(None);
        let found = repository.diff_tree_to_tree(before.as_ref(), Some(&tree), Some(&mut options))?;
        let drawn = RenderedDiff::new(&found)?;
        let mut value = part::bytes(&drawn.text, offset, drawn.cut)?;
        if let Some(value) = value.as_object_mut() {
            value.insert("commit".to_owned(), log::commit_json(&commit));
        }
        let key = drawn.key(repository, &found, search);
        return Ok(Answer { value, line: drawn.line(), paths: drawn.paths, key, ..Answer::default() });
    };
    let path = paths::check(path, "path")?;
    let tree = commit.tree()?;
    let missing = || {
        let message = format!("there is no `{path}` in {}", commit.id());
        Refusal::new(
            "missing",
            "path",
            message,
            "a path that is in it; `show` of a directory says what is there",
        )
    };
    let entry = tree.get_path(Path::new(path)).map_err(|_| missing())?;
    match entry.kind() {
        Some(ObjectType::Tree) => {
            let inner = repository.find_tree(entry.id())?;
            let name = |entry: git2::TreeEntry<'_>| {
                let slash = if entry.kind() == Some(ObjectType::Tree) { "/" } else { "" };
                format!("{}{slash}", String::from_utf8_lossy(entry.name_bytes()))
            };
            let names: Vec<String> = inner.iter().take(MAX_NAMES).map(name).collect();
            // An entry with a slash in its name would look like one of another directory.
            let bare = names.iter().map(|name| name.strip_suffix('/').unwrap_or(name));
            paths::check_found(bare.clone(), "path")?;
            if let Some(odd) = bare.clone().find(|name| name.contains('/')) {
                return Err(paths::refuse_found(&[odd], "path"));
            }
            let truncated = inner.len() > names.len();
            let value = json!({ "names": names, "total": inner.len(), "truncated": truncated });
            Ok(Answer {
                value,
                line: "a directory".to_owned(),
                paths: vec![path.to_owned()],
                ..Answer::default()
            })
        }
        Some(ObjectType::Blob) => {
            let blob = repository.find_blob(entry.id())?;
            let text = std::str::from_utf8(blob.content()).ok().filter(|text| !text.contains('\0'));
            let Some(text) = text else {
                let message = format!("`{path}` is no text: {} bytes", blob.size());
                return Err(Refusal::new("binary", "path", message, "a file of text"));
            };
            let value = part::bytes(text, offset, false)?;
            let line = format!("{} bytes", text.len());
            let key = search(text.as_bytes()).map(str::to_owned);
            Ok(Answer { value, line, paths: vec![path.to_owned()], key, ..Answer::default() })
        }
        _ => Err(missing()),
    }
}
