//! The files that the workers of a store include. They are parts of prompts, whatever their names are.

use std::collections::BTreeSet;

use kernel::id::BlobHash;

use super::Compared;

/// The size from which a file with the content of an included one counts as that file, in bytes. Shorter texts also
/// stand elsewhere.
const MIN_SAME_BYTES: u64 = 32;

/// The files that the workers of a store include.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IncludedFiles {
    /// The paths of the files, relative to the directories of their worker files, by their appearance.
    names: BTreeSet<String>,
    /// The digests of their contents.
    contents: BTreeSet<BlobHash>,
    /// Whether the store could not be asked, so that every file may be one.
    is_unknown: bool,
}

impl IncludedFiles {
    /// Returns the state in which every file may be one that a worker includes.
    pub fn unknown() -> IncludedFiles {
        IncludedFiles { is_unknown: true, ..IncludedFiles::default() }
    }

    /// Adds a file. `name` is its path relative to the directory of the worker file.
    pub fn add(&mut self, name: &str, content: BlobHash) {
        self.names.extend(Compared::new(name).map(|compared| compared.path()));
        self.contents.insert(content);
    }

    /// Returns whether a worker includes a file of this path, whatever the directory of the worker file is.
    pub(crate) fn has_path(&self, path: &str) -> bool {
        let path = Compared::new(path).map(|compared| compared.path()).unwrap_or_default();
        let begins = path.match_indices('/').map(|(at, _)| at + 1);
        self.is_unknown
            || std::iter::once(0)
                .chain(begins)
                .filter_map(|at| path.get(at..))
                .any(|end| self.names.contains(end))
    }

    /// Returns whether a worker includes a file with this content.
    pub(crate) fn has_content(&self, content: &BlobHash, bytes: u64) -> bool {
        self.is_unknown || (bytes >= MIN_SAME_BYTES && self.contents.contains(content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_file_is_found_by_path_and_content() {
        let mut files = IncludedFiles::default();
        files.add("lib/Style.md", BlobHash::of(b"x"));
        for (path, expected) in [
            ("lib/style.md", true),
            ("a/b/LIB/style.md", true),
            ("/home/me/p/lib/style.md", true),
            ("style.md", false),
            ("xlib/style.md", false),
            ("", false),
        ] {
            assert_eq!(files.has_path(path), expected, "{path}");
            assert!(IncludedFiles::unknown().has_path(path), "{path}");
        }
        for (text, bytes, expected) in [(&b"x"[..], 100, true), (b"x", 1, false), (b"y", 100, false)] {
            assert_eq!(files.has_content(&BlobHash::of(text), bytes), expected);
        }
    }
}
