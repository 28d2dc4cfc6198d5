//! The entries of a tree that a search leaves out unless it is asked for them: the ones that `.gitignore` names, and
//! directories of dependencies, builds and history.

use std::io::Read as _;

use cap_std::fs::Dir;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::walk::{self, Kind};

/// The name of the file with the patterns.
pub(super) const FILE: &str = ".gitignore";

/// The maximum size of such a file in bytes. A larger one is not used.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// The directories that are left out by their name: histories of repositories, and dependencies.
const NAMES: [&str; 5] = [".git", ".hg", ".svn", ".jj", "node_modules"];

/// The files that mark their directory as something that a program can make again. The first is the mark of caches
/// (<https://bford.info/cachedir/>), which Cargo and others set, the second the mark of Python's environments.
const MARKS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];

/// The patterns that apply in one directory: those of the directory itself, then those of its parents.
#[derive(Clone, Default)]
pub(super) struct IgnoreRules {
    levels: Vec<std::rc::Rc<Gitignore>>,
}

impl IgnoreRules {
    /// Returns the patterns that apply at `start`, which is `.` or a path from the root. Patterns of `start` itself are
    /// not among them.
    pub(super) fn above(root: &Dir, start: &str) -> IgnoreRules {
        let mut rules = IgnoreRules::default();
        let mut way = String::from(".");
        for name in start.split('/').filter(|name| !matches!(*name, "" | ".")) {
            rules = rules.within(root, &way);
            way = if way == "." { name.to_owned() } else { format!("{way}/{name}") };
        }
        rules
    }

    /// Returns the patterns that apply in a directory, given those of its parent.
    pub(super) fn within(&self, root: &Dir, way: &str) -> IgnoreRules {
        let mut rules = self.clone();
        if let Some(own) = load(root, way) {
            rules.levels.push(std::rc::Rc::new(own));
        }
        rules
    }

    /// Returns whether an entry is left out. The patterns of the innermost directory decide.
    pub(super) fn leave_out(&self, path: &str, is_directory: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        if is_directory && NAMES.contains(&name) {
            return true;
        }
        let decided = self.levels.iter().rev().map(|level| level.matched(path, is_directory));
        decided.into_iter().find(|found| !found.is_none()).is_some_and(|found| found.is_ignore())
    }

    /// Returns whether the names in a directory mark it as something that a program can make again.
    pub(super) fn is_marked<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
        names.any(|name| MARKS.contains(&name))
    }
}

/// Returns the patterns of a directory, if it has a file with patterns.
fn load(root: &Dir, way: &str) -> Option<Gitignore> {
    let place = if way == "." { FILE.to_owned() } else { format!("{way}/{FILE}") };
    let found = walk::look(root, &place).ok()?;
    if found.kind != Kind::File || found.bytes > MAX_FILE_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    walk::open(root, &found).ok()?.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    let mut builder = GitignoreBuilder::new(if way == "." { "" } else { way });
    for line in String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').lines() {
        // A pattern that cannot be read matches nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
