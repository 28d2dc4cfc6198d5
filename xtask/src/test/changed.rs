//! The crates that a change touches, and the crates above them.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::process::output;
use crate::workspace::{Crate, Workspace};

/// Describes what has to be checked after a change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everything: a file was touched on which all crates rest.
    Everything,
    /// These crates, by name; none when only documents were touched.
    Crates(BTreeSet<String>),
}

/// The files and folders in the root that change how each crate is built or tested.
const FOR_ALL: [&str; 6] = ["Cargo.toml", "Cargo.lock", "clippy.toml", "rustfmt.toml", ".config/", ".cargo/"];

/// Folders that tests of a crate read, beside its own.
const READ_BY: [(&str, &str); 1] = [("examples/", "almoner")];

/// Returns what these files, relative to the root, touch.
pub(crate) fn scope(files: &[String], crates: &[Crate]) -> Scope {
    let for_all = |file: &String| {
        FOR_ALL.iter().any(|part| file == part || file.starts_with(part) && part.ends_with('/'))
    };
    if files.iter().any(for_all) {
        return Scope::Everything;
    }
    let mut touched = BTreeSet::new();
    for file in files {
        let within = |folder: &str| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        touched.extend(crates.iter().filter(|each| within(&each.folder)).map(|each| each.name.clone()));
        let readers = READ_BY.iter().filter(|(folder, _)| file.starts_with(folder));
        touched.extend(readers.map(|(_, reader)| (*reader).to_owned()));
    }
    // An arrow of tests counts as well: they are tests of what is below.
    loop {
        let above = crates.iter().filter(|each| each.arrows.iter().any(|arrow| touched.contains(&arrow.to)));
        let found: Vec<String> =
            above.map(|each| each.name.clone()).filter(|name| !touched.contains(name)).collect();
        if found.is_empty() {
            return Scope::Crates(touched);
        }
        touched.extend(found);
    }
}

/// Returns the files that differ from `base`: committed, uncommitted, and not yet known to git.
pub(crate) fn files(workspace: &Workspace, base: Option<&str>) -> Result<Vec<String>> {
    let git = |arguments: &[&str]| output(Command::new("git").args(arguments).current_dir(&workspace.root));
    let base = match base {
        Some(base) => base.to_owned(),
        None => ["origin/main", "main", "origin/master", "master"]
            .iter()
            .find_map(|branch| git(&["merge-base", "HEAD", branch]).ok())
            .unwrap_or_else(|| "HEAD".to_owned()),
    };
    let base = base.trim();
    println!("changes since {base}");
    // Without renames both the old and the new place of a file are told.
    let differ = git(&["diff", "--name-only", "--no-renames", "-z", base, "--"]).with_context(|| {
        format!("cannot compare with `{base}`; name a commit: cargo xtask test --changed HEAD~1")
    })?;
    let unknown = git(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    let names = differ.split('\0').chain(unknown.split('\0')).filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::{Scope, scope};
    use crate::workspace::{Arrow, ArrowKind, Crate};

    fn member(name: &str, folder: &str, arrows: &[(&str, ArrowKind)]) -> Crate {
        let arrows = arrows.iter().map(|&(to, kind)| Arrow { to: to.to_owned(), kind });
        Crate { folder: folder.to_owned(), arrows: arrows.collect(), ..Crate::named(name) }
    }

    #[track_caller]
    fn check(files: &[&str], expected: &[&str]) {
        let crates = [
            member("passable", "crates/passable", &[]),
            member("kernel", "crates/kernel", &[("passable", ArrowKind::Shipped)]),
            member("git", "crates/git", &[]),
            member("git-web", "crates/git-web", &[("kernel", ArrowKind::Tests)]),
            member(
                "almoner",
                "crates/almoner",
                &[("git", ArrowKind::Shipped), ("kernel", ArrowKind::Shipped)],
            ),
            member("xtask", "xtask", &[]),
        ];
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        let expected = expected.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(scope(&files, &crates), Scope::Crates(expected), "{files:?}");
    }

    #[test]
    fn changed_crate_brings_all_crates_above_it() {
        check(&[], &[]);
        check(&["docs/claims.md", "README.md"], &[]);
        check(&["crates/passable/src/lib.rs"], &["almoner", "git-web", "kernel", "passable"]);
        check(&["crates/kernel/tests/it/runs.rs"], &["almoner", "git-web", "kernel"]);
        check(&["crates/git/Cargo.toml"], &["almoner", "git"]);
        check(&["crates/git-web/src/lib.rs"], &["git-web"]);
        check(&["examples/note/note.worker"], &["almoner"]);
        check(&["xtask/src/main.rs", "docs/x.md"], &["xtask"]);
    }

    #[test]
    fn change_of_root_settings_touches_everything() {
        for file in ["Cargo.lock", "Cargo.toml", ".config/nextest.toml", ".cargo/config.toml", "clippy.toml"]
        {
            assert_eq!(scope(&["docs/a.md".to_owned(), file.to_owned()], &[]), Scope::Everything, "{file}");
        }
        check(&["Cargo.toml.orig"], &[]);
    }
}
