//! The search for keys in the whole texts of which an answer shows a part. A part alone may be the middle of a key.

use git2::{Diff, DiffFile, Repository};

use crate::add::{WorktreeFile, read_worktree_file};

/// A function that returns the kind of the first key in a text, in words.
pub type KeySearch<'a> = &'a dyn Fn(&[u8]) -> Option<&'static str>;

/// Returns the kind of a key in one of the files that a diff compares, on either side. A diff shows only some lines of
/// them.
pub(crate) fn key_in_diff(
    repository: &Repository,
    diff: &Diff<'_>,
    search: KeySearch<'_>,
) -> Option<&'static str> {
    diff.deltas().find_map(|delta| {
        [delta.old_file(), delta.new_file()]
            .iter()
            .filter(|side| side.exists())
            .find_map(|side| search(&content(repository, side)?))
    })
}

/// Returns the content of a file on one side of a diff: as it is committed or staged, or as it is in the working tree.
fn content(repository: &Repository, file: &DiffFile<'_>) -> Option<Vec<u8>> {
    if let Ok(blob) = repository.find_blob(file.id()) {
        return Some(blob.content().to_vec());
    }
    let path = std::str::from_utf8(file.path_bytes()?).ok()?;
    match read_worktree_file(repository.workdir()?, path).ok()? {
        WorktreeFile::Present(bytes, _) => Some(bytes),
        WorktreeFile::Missing => None,
    }
}
