//! Code that touches files which others can replace holds on to them by descriptors.
//!
//! A path that is looked up twice can lead to two places: somebody puts a link there in between. So the capabilities
//! walk through directories by descriptors alone, and no crate changes the mode of a file by its path.

use super::Problem;
use super::source::has_word;
use super::tree::Tree;

/// The crates that walk through directories of which others may replace parts meanwhile.
const WALKERS: &[&str] = &["caps"];

/// The functions of the standard library that reach the entries of a directory by paths.
const BY_PATH: &[&str] = &["read_dir", "hard_link", "copy"];

/// The ways of libraries to walk through a directory by paths. `Path::read_dir` has no argument; `Dir::read_dir` has.
const WALKS: &[&str] = &[".read_dir()", "WalkDir::", "WalkBuilder::", "glob::glob("];

/// The functions that change a mode or an owner by a path.
const MODES: &[&str] =
    &["fs::set_permissions", "fs::chmod(", "fs::chmodat(", "fs::chown(", "unix::fs::lchown("];

/// The files that change modes by paths, with the reason.
const MAY_CHANGE_MODES: &[(&str, &str)] = &[
    ("crates/caps/src/removal.rs", "the path is that of a descriptor"),
    ("crates/config/src/private_dir.rs", "the path is that of a descriptor"),
    ("crates/sandbox/src/linux/attempts.rs", "tries what a confined program must not do"),
    ("crates/sandbox/src/prove.rs", "makes the files for these tries"),
    ("crates/store/src/place.rs", "a descriptor of a database that is closed drops the locks of the process"),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, source, owner) in tree.rust() {
        let may_change_modes = MAY_CHANGE_MODES.iter().any(|(path, _)| *path == file.path);
        // Whether the line belongs to a list of imports from `std::fs`.
        let mut is_import = false;
        for (number, line) in source.shipped() {
            is_import |= line.contains("fs::{") && has_word(line, "use");
            if WALKERS.contains(&owner.name.as_str()) {
                let named = BY_PATH.iter().find(|name| {
                    has_word(line, &format!("fs::{name}")) || (is_import && has_word(line, name))
                });
                let walk = WALKS.iter().find(|way| line.contains(**way));
                if let Some(way) = named.or(walk) {
                    let wrong = format!("`{way}` reaches the entries of a directory by a path");
                    let way_out = "use `walk::names`, `walk::step`, `walk::open_file` and `linkat` on an open directory";
                    problems.push(Problem::fault(&file.path, number, wrong, way_out));
                }
                if line.contains("fs::*") {
                    let wrong = "an import of everything hides which functions reach files by paths";
                    problems.push(Problem::fault(&file.path, number, wrong, "name the functions"));
                }
            }
            if let Some(way) = MODES.iter().find(|way| line.contains(**way)).filter(|_| !may_change_modes) {
                let wrong = format!("`{way}` changes what a link at the path leads to");
                let way_out = "open the file without following links, and change the mode of the open file";
                problems.push(Problem::fault(&file.path, number, wrong, way_out));
            }
            is_import &= !line.contains('}');
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::{at, tree};

    #[test]
    fn walk_by_paths_in_a_capability_is_found() {
        let find = |path: &str, text: &str, is_found: bool| {
            let place = format!("{path}:1");
            let expected: &[&str] = if is_found { &[&place] } else { &[] };
            at(&check(&tree(&[(path, text)])), expected);
        };
        for bad in [
            "let a = std::fs::read_dir(&place)?;",
            "for entry in fs::read_dir(stage.join(way))? {",
            "match fs::hard_link(old, new) {",
            "fs::copy(old, new)?;",
            "use std::fs::{copy, File};",
            "use std::{fs::{File, hard_link}, io};",
            "use std::fs::read_dir;",
            "use std::fs::*;",
            "let all = place.read_dir()?;",
            "for entry in WalkDir::new(place) {",
        ] {
            find("crates/caps/src/stage.rs", bad, true);
            // Other crates own the files that they walk through.
            find("crates/store/src/blob.rs", bad, false);
        }
        for good in [
            "let entries = root.read_dir(&way)?;",
            "io::copy(&mut file, &mut copy)?;",
            "use cap_std::fs::{Dir, File};",
            "// fs::read_dir",
            "#[cfg(test)] mod tests { fn f() { fs::read_dir(x); } }",
        ] {
            find("crates/caps/src/stage.rs", good, false);
        }
        let split = "use std::fs::{\n    File,\n    read_dir,\n};\nlet copy = 1;";
        at(&check(&tree(&[("crates/caps/src/stage.rs", split)])), &["crates/caps/src/stage.rs:3"]);
    }

    #[test]
    fn mode_that_changes_by_a_path_is_found() {
        for (path, text, is_found) in [
            ("crates/daemon/src/captp/mod.rs", "std::fs::set_permissions(socket, mode)?;", true),
            ("crates/caps/src/program/scratch.rs", "rustix::fs::chmod(path, Mode::RWXU)?;", true),
            ("crates/caps/src/program/scratch.rs", "rustix::fs::fchmod(&file, Mode::RWXU)?;", false),
            ("crates/caps/src/stage.rs", "copy.set_permissions(mode)?;", false),
            ("crates/caps/src/removal.rs", "rustix::fs::chmod(own, Mode::RWXU)?;", false),
            ("crates/caps/tests/it/main.rs", "std::fs::set_permissions(socket, mode)?;", false),
        ] {
            let place = format!("{path}:1");
            let expected: &[&str] = if is_found { &[&place] } else { &[] };
            at(&check(&tree(&[(path, text)])), expected);
        }
    }
}
