//! The method `diff`, which returns differences as text.

use std::collections::BTreeSet;

use git2::{Diff, DiffFormat, DiffOptions, Repository};
use serde_json::json;

use crate::key_search::{self, KeySearch};
use crate::order::{Answer, DiffSides};
use crate::refusal::Refusal;
use crate::{log, part, paths};

/// The maximum length of a rendered diff, in bytes.
const MAX_TEXT_BYTES: usize = 8 << 20;

/// The size above which a file counts as binary, in bytes.
const MAX_FILE_BYTES: i64 = 4 << 20;

pub(crate) fn diff(
    repository: &Repository,
    between: &DiffSides,
    path: Option<&str>,
    offset: u64,
    search: KeySearch<'_>,
) -> Result<Answer, Refusal> {
    let path = path.map(|path| paths::check(path, "path")).transpose()?;
    let mut options = options(path);
    let options = Some(&mut options);
    let found = match between {
        DiffSides::Worktree => repository.diff_index_to_workdir(None, options)?,
        DiffSides::Staged => {
            let tree = repository.head().ok().map(|head| head.peel_to_tree()).transpose()?;
            repository.diff_tree_to_index(tree.as_ref(), None, options)?
        }
        DiffSides::Revisions { from, to } => {
            let from = log::commit(repository, from, "from")?.tree()?;
            match to {
                None => repository.diff_tree_to_workdir_with_index(Some(&from), options)?,
                Some(to) => {
                    let to = log::commit(repository, to, "to")?.tree()?;
                    repository.diff_tree_to_tree(Some(&from), Some(&to), options)?
                }
            }
        }
    };
    let drawn = RenderedDiff::new(&found)?;
    let mut value = part::bytes(&drawn.text, offset, drawn.cut)?;
    if let Some(value) = value.as_object_mut() {
        value.insert("files".to_owned(), json!(drawn.paths.len()));
    }
    let key = drawn.key(repository, &found, search);
    Ok(Answer { value, line: drawn.line(), paths: drawn.paths, key, ..Answer::default() })
}

/// Returns the options for all diffs here, which do not depend on the repository's settings.
pub(crate) fn options(path: Option<&str>) -> DiffOptions {
    let mut options = DiffOptions::new();
    options
        .ignore_submodules(true)
        .include_typechange(true)
        .disable_pathspec_match(true)
        .context_lines(3)
        .interhunk_lines(0)
        .id_abbrev(12)
        .max_size(MAX_FILE_BYTES)
        .old_prefix("a")
        .new_prefix("b");
    if let Some(path) = path {
        options.pathspec(path);
    }
    options
}

/// A diff as text.
pub(crate) struct RenderedDiff {
    pub(crate) text: String,
    /// The paths of all changed files. A renamed file has both paths.
    pub(crate) paths: Vec<String>,
    /// Whether the text was cut off.
    pub(crate) cut: bool,
    added: usize,
    removed: usize,
}

impl RenderedDiff {
    pub(crate) fn new(diff: &Diff<'_>) -> Result<RenderedDiff, Refusal> {
        let mut paths = BTreeSet::new();
        for delta in diff.deltas() {
            let both = [delta.old_file().path_bytes(), delta.new_file().path_bytes()];
            paths.extend(both.into_iter().flatten().map(|path| String::from_utf8_lossy(path).into_owned()));
        }
        paths::check_found(paths.iter().map(String::as_str), "method")?;
        let (mut text, mut cut, mut added, mut removed) = (String::new(), false, 0, 0);
        let printed = diff.print(DiffFormat::Patch, |_, _, line| {
            let origin = line.origin();
            match origin {
                '+' => added += 1,
                '-' => removed += 1,
                _ => {}
            }
            if matches!(origin, '+' | '-' | ' ') {
                text.push(origin);
            }
            text.push_str(&String::from_utf8_lossy(line.content()));
            cut = text.len() > MAX_TEXT_BYTES;
            !cut
        });
        match printed {
            Err(error) if !cut => return Err(error.into()),
            _ => {}
        }
        Ok(RenderedDiff { text, paths: paths.into_iter().collect(), cut, added, removed })
    }

    /// Returns the kind of a key in the text, or in one of the compared files.
    pub(crate) fn key(
        &self,
        repository: &Repository,
        diff: &Diff<'_>,
        search: KeySearch<'_>,
    ) -> Option<String> {
        let kind = search(self.text.as_bytes()).or_else(|| key_search::key_in_diff(repository, diff, search));
        kind.map(str::to_owned)
    }

    pub(crate) fn line(&self) -> String {
        let files = if self.paths.len() == 1 { "file" } else { "files" };
        format!("{} {files}, {} lines more, {} lines less", self.paths.len(), self.added, self.removed)
    }
}
