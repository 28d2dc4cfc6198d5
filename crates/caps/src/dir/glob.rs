//! `glob`: the paths that match a pattern.

use std::ops::ControlFlow;

use cap_std::fs::Dir;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use kernel::proposal::Finding;
use passable::{Quoting, quoting, visible_line};

use super::{Limits, tree};
use crate::walk::{self, Kind};

/// The maximum length of a pattern, in UTF-16 units.
pub(super) const MAX_LEN: u64 = 512;

/// The maximum number of paths in one answer.
const MAX_ITEMS: usize = 1000;

/// A pattern for paths from the root of the directory.
#[derive(Debug)]
pub(super) struct Glob {
    set: GlobSet,
    /// The directory that contains everything that can match; `.` for the root.
    start: String,
}

impl Glob {
    /// Parses a pattern. With `anywhere`, a pattern without `/` matches names in any directory.
    pub(super) fn read(pattern: &str, at: &str, anywhere: bool) -> Result<Glob, Box<Finding>> {
        let refused = |rule: &str, what: Quoting, allowed: &'static str| {
            let shown: String = pattern.chars().take(200).collect();
            Box::new(Finding::new(rule, what).at(at).counter_example(visible_line(&shown)).allowed(allowed))
        };
        let wrong = |rule: &str, what: &'static str, allowed| refused(rule, what.into(), allowed);
        const PLAIN: &str = "a pattern of paths in the directory, such as `**/*.md`";
        let plain = pattern.strip_prefix("./").unwrap_or(pattern);
        if plain.is_empty() || plain.len() as u64 > MAX_LEN * 3 || plain.contains(char::is_control) {
            return Err(wrong(
                "glob/pattern",
                "the pattern is empty, too long or holds a control character",
                PLAIN,
            ));
        }
        if plain.starts_with('/') || plain.starts_with('~') || plain.contains('\\') {
            return Err(wrong("path/absolute", "the pattern leads out of the directory", PLAIN));
        }
        if plain.split(['/', '{', ',', '}']).any(|name| name == "..") {
            return Err(wrong("path/parent", "the pattern holds `..`, and there is no way out", PLAIN));
        }
        let whole = match anywhere && !plain.contains('/') {
            true => format!("**/{plain}"),
            false => plain.trim_end_matches('/').to_owned(),
        };
        let glob = GlobBuilder::new(&whole).literal_separator(true).build();
        // A `GlobSet` returns an error if the pattern is too large. A single matcher would panic.
        let set = glob.and_then(|glob| GlobSetBuilder::new().add(glob).build()).map_err(|error| {
            let what = quoting!("the pattern cannot be read: {}", error.kind());
            refused("glob/pattern", what, "`*`, `?`, `**`, `{a,b}` and `[a-z]`, each closed again")
        })?;
        let fixed = whole.rsplit_once('/').map_or("", |(before, _)| before);
        let names = fixed.split('/').take_while(|name| !name.contains(['*', '?', '[', '{']));
        let start = names.filter(|name| !matches!(*name, "" | ".")).collect::<Vec<_>>().join("/");
        Ok(Glob { set, start: if start.is_empty() { ".".to_owned() } else { start } })
    }

    /// Returns whether a path matches the pattern.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.set.is_match(path)
    }

    /// Returns the directory that contains everything that can match.
    pub(super) fn start(&self) -> &str {
        &self.start
    }
}

/// Returns the matching paths, and the directories whose names were read. The paths look as in `list`: files that
/// `read` would accept, and directories with a final `/`.
pub(super) fn glob(root: &Dir, glob: &Glob, limits: &Limits) -> Result<(Vec<String>, Vec<String>), Finding> {
    let (mut paths, mut seen) = (Vec::new(), vec![glob.start().trim_start_matches('.').to_owned()]);
    let mut is_full = false;
    let walked = tree::walk(root, glob.start(), &mut |entry| {
        if entry.kind == Kind::Directory {
            seen.push(entry.path.clone());
        }
        if glob.matches(&entry.path) {
            paths.extend(shown(root, entry, limits));
        }
        is_full = paths.len() > MAX_ITEMS;
        if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    match walked {
        // The start directory does not exist, so no path can match.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((vec![], seen)),
        Err(error) => {
            return Err(tree::finding(
                &error,
                "look for paths",
                "pattern",
                "a pattern that begins with a subdirectory",
            ));
        }
        Ok(()) => {}
    }
    if is_full {
        return Err(Finding::new("dir/many", Quoting::ours(format!("more than {MAX_ITEMS} paths match")))
            .at("pattern")
            .counter_example(format!("more than {MAX_ITEMS}"))
            .allowed("a narrower pattern, such as one that begins with a subdirectory"));
    }
    paths.sort();
    Ok((paths, seen))
}

/// Returns the path of an entry as it is shown, if the grant covers it.
fn shown(root: &Dir, entry: &tree::Entry, limits: &Limits) -> Option<String> {
    let covered = |resolved: &str, bytes| {
        (limits.cover(&entry.path, bytes) && limits.fit_name(resolved)).then(|| entry.path.clone())
    };
    match entry.kind {
        Kind::File => covered(&entry.path, entry.bytes),
        Kind::Directory => Some(format!("{}/", entry.path)),
        Kind::Link => {
            // A link that leads out of the directory does not exist for the holder.
            let found = walk::look(root, &entry.path).ok()?;
            match found.kind {
                Kind::File => covered(&found.resolved, found.bytes),
                Kind::Directory => Some(format!("{}/", entry.path)),
                _ => None,
            }
        }
        Kind::Other => None,
    }
}
