//! The parts of a home that a backup holds.

use std::path::{Component, Path};

/// A part of a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The store: its rows and blobs.
    Store,
    /// A directory with files of runs or clients, which keep their permissions and their links.
    Work,
    /// The vault, whose key is another part.
    Vault,
    /// The key of the vault.
    Key,
    /// A record of the daemon, or a file of the user's configuration.
    Record,
}

/// The prefix of the state directory's entries in a backup.
pub const STATE: &str = "state";

/// The prefix of the configuration directory's entries in a backup.
pub const CONFIG: &str = "config";

/// The parts of the state directory, by name. Nothing else of the state directory is ever in a backup.
pub const STATE_PARTS: &[(&str, Part)] = &[
    ("store", Part::Store),
    ("stages", Part::Work),
    ("mounts", Part::Work),
    ("vault.age", Part::Vault),
    ("vault.key", Part::Key),
    ("secret.key", Part::Key),
    ("trusted", Part::Record),
    ("web-brought.json", Part::Record),
];

/// The parts of a home that no backup holds: the name in the state directory, and the words about it.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("daemon.log", "the log of the daemon"),
    ("web.json", "the sessions and passkeys of the web pages; `almoner open` lets a browser in again"),
    ("tool-servers", "the packages of tool servers; `almoner mcp add` installs them again"),
];

/// Returns the part to which an entry of a backup belongs. Returns `None` if no backup has such an entry.
pub fn part_of(path: &str) -> Option<Part> {
    let mut names = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => names.push(name.to_str()?),
            _ => return None,
        }
    }
    // A path that is written in another way, such as `a//b`, is the name of no entry.
    if names.join("/") != path {
        return None;
    }
    match names.as_slice() {
        [STATE] | [CONFIG] => Some(Part::Record),
        [STATE, name, ..] => STATE_PARTS.iter().find(|(one, _)| one == name).map(|(_, part)| *part),
        [CONFIG, ..] => Some(Part::Record),
        _ => None,
    }
}

/// Returns whether a link in a directory of work leads nowhere but into that directory. `path` is the path of the link
/// in the backup. A target that goes up after a name is refused: the name may be another link, from whose target it would
/// go up further than the text shows.
pub fn is_inner_link(path: &str, target: &str) -> bool {
    // The first three names are those of the state directory, the part, and the copy.
    let mut levels = path.split('/').count().saturating_sub(4);
    if target.is_empty() || target.starts_with('/') {
        return false;
    }
    let mut is_below = false;
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." if is_below || levels == 0 => return false,
            ".." => levels -= 1,
            _ => is_below = true,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_outside_of_a_home_belong_to_no_part() {
        for (path, part) in [
            ("state/store/almoner.sqlite", Some(Part::Store)),
            ("state/stages/ab/a/b.txt", Some(Part::Work)),
            ("state/vault.key", Some(Part::Key)),
            ("config/policy.cedar", Some(Part::Record)),
            ("state/run/control.sock", None),
            ("state/../../etc/passwd", None),
            ("/state/store", None),
            ("state//store", None),
            ("state/./store", None),
            ("cache/models", None),
            ("", None),
        ] {
            assert_eq!(part_of(path), part, "{path}");
        }
    }

    #[test]
    fn link_that_leads_out_of_its_copy_is_none() {
        for (path, target, expected) in [
            ("state/stages/ab/link", "file", true),
            ("state/stages/ab/link", "../other", false),
            ("state/stages/ab/d/link", "../file", true),
            ("state/stages/ab/d/link", "../../file", false),
            ("state/stages/ab/d/link", "../e/file", true),
            ("state/stages/ab/d/link", "./../e/./file", true),
            ("state/stages/ab/d/link", "x/../../../file", false),
            // The name may be a link to `.`, so that each `..` leads out.
            ("state/stages/ab/link", "p/p/../../file", false),
            ("state/stages/ab/link", "/etc/passwd", false),
            ("state/stages/ab/link", "", false),
        ] {
            assert_eq!(is_inner_link(path, target), expected, "{path} -> {target}");
        }
    }
}
