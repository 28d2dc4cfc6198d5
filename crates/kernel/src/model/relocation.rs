//! Relocations: the moves of directories that the rows of a store name.

use serde::{Deserialize, Serialize};

use crate::id::BlobHash;

/// A directory that has moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectoryMove {
    /// The absolute path before.
    pub from: String,
    /// The absolute path now.
    pub to: String,
}

/// The directories that have moved. If one lies in another, the longer path counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct PathMap(Vec<DirectoryMove>);

/// A move of directories, as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Relocation {
    /// The directories.
    pub moves: PathMap,
    /// The time of the move, in milliseconds since 1970.
    pub at_ms: i64,
    /// The number of records that were changed and that events report by their hashes.
    pub records: u64,
    /// The hash over the hashes of these records before and after the move.
    pub digest: BlobHash,
}

impl PathMap {
    /// Returns the map of these moves. Moves that change nothing, and slashes at the ends of paths, are left out.
    pub fn new(moves: impl IntoIterator<Item = DirectoryMove>) -> PathMap {
        let trimmed = |path: &str| match path.trim_end_matches('/') {
            "" => "/".to_owned(),
            path => path.to_owned(),
        };
        let moves =
            moves.into_iter().map(|one| DirectoryMove { from: trimmed(&one.from), to: trimmed(&one.to) });
        let mut all: Vec<DirectoryMove> = moves.filter(|one| one.from != one.to).collect();
        all.sort_by(|a, b| b.from.len().cmp(&a.from.len()).then_with(|| a.from.cmp(&b.from)));
        PathMap(all)
    }

    /// Returns the moves, the longest path first.
    pub fn moves(&self) -> &[DirectoryMove] {
        &self.0
    }

    /// Returns whether no directory has moved.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the present path for a path of before. Returns `None` if the path has not moved.
    pub fn moved(&self, path: &str) -> Option<String> {
        self.0.iter().find_map(|one| {
            let rest = path.strip_prefix(one.from.as_str())?;
            match rest.starts_with('/') || rest.is_empty() {
                true => Some(format!("{}{rest}", one.to)),
                false if one.from == "/" => Some(format!("{}/{rest}", one.to.trim_end_matches('/'))),
                false => None,
            }
        })
    }

    /// Returns the text with each path in it that has moved. Returns `None` if it names none.
    ///
    /// A path in a text begins where no part of a path comes before it, and a name in it ends where no letter, digit or
    /// sign of a name follows.
    pub fn moved_in_text(&self, text: &str) -> Option<String> {
        let mut moved = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = None;
        let mut is_changed = false;
        while let Some(next) = rest.chars().next() {
            let found = self
                .0
                .iter()
                .find(|one| next == '/' && !before.is_some_and(is_of_name) && ends_name(rest, &one.from));
            let length = match found {
                Some(one) => {
                    moved.push_str(&one.to);
                    is_changed = true;
                    one.from.len()
                }
                None => {
                    moved.push(next);
                    next.len_utf8()
                }
            };
            before = rest[..length].chars().next_back();
            rest = &rest[length..];
        }
        is_changed.then_some(moved)
    }
}

/// Returns whether a character can be a part of a path's name. Other characters end a path in a text.
fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "/._-+~".contains(c)
}

/// Returns whether a text begins with a path, and the last name of the path ends there. A full stop at the end of a
/// sentence follows the path, and is no part of it.
fn ends_name(text: &str, path: &str) -> bool {
    let Some(rest) = text.strip_prefix(path) else { return false };
    let mut after = rest.chars();
    match after.next() {
        None | Some('/') => true,
        Some('.') => !after.next().is_some_and(is_of_name),
        Some(next) => !is_of_name(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(moves: &[(&str, &str)]) -> PathMap {
        let one = |(from, to): &(&str, &str)| DirectoryMove { from: (*from).into(), to: (*to).into() };
        PathMap::new(moves.iter().map(one))
    }

    #[test]
    fn path_moves_by_whole_names_and_longest_prefix() {
        let map = map(&[("/a", "/x"), ("/a/b/", "/y"), ("/same", "/same")]);
        for (path, expected) in [
            ("/a", Some("/x")),
            ("/a/c", Some("/x/c")),
            ("/a/b", Some("/y")),
            ("/a/b/c", Some("/y/c")),
            ("/ab", None),
            ("/same/c", None),
            ("a/b", None),
        ] {
            assert_eq!(map.moved(path).as_deref(), expected, "{path}");
        }
        assert_eq!(map.moves().len(), 2);
        assert_eq!(self::map(&[("/", "/new")]).moved("/a").as_deref(), Some("/new/a"));
    }

    #[test]
    fn text_moves_paths_and_nothing_else() {
        let map = map(&[("/a/b", "/y")]);
        for (text, expected) in [
            ("directory /a/b (rw)", Some("directory /y (rw)")),
            (r#"path like "/a/b/*""#, Some(r#"path like "/y/*""#)),
            ("it lies in /a/b.", Some("it lies in /y.")),
            ("/a/b:rw /a/b/c", Some("/y:rw /y/c")),
            ("/a/b.txt /a/bc x/a/b /a/b-c", None),
            ("über /a/b", Some("über /y")),
            ("", None),
        ] {
            assert_eq!(map.moved_in_text(text).as_deref(), expected, "{text}");
        }
    }
}
