//! The crates that a change touches, and the crates above them.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::process::output;
use crate::workspace::{Crate, Workspace};

/// The crates to check after a change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everything: a file was touched on which all crates rest.
    Everything,
    /// These crates, by name; none when only documents were touched.
    Crates(BTreeSet<String>),
}

impl Scope {
    /// Returns whether the crate of this name has to be checked.
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Scope::Everything => true,
            Scope::Crates(names) => names.contains(name),
        }
    }
}

/// The files and folders in the root that change how each crate is built or tested.
const FOR_ALL: [&str; 6] = ["Cargo.toml", "Cargo.lock", "clippy.toml", "rustfmt.toml", ".config/", ".cargo/"];

/// Files and folders that a crate or its tests read, beside its own folder and those of the crates below it.
const READ_BY: [(&str, &str); 13] = [
    ("clients/python/", "almoner"),
    // Its tests look at the files of all crates.
    ("crates/", "xtask"),
    ("docs/embedding.md", "almoner"),
    ("docs/guides/", "almoner"),
    ("docs/models.md", "model"),
    ("docs/policy.md", "almoner"),
    ("docs/protocol/", "almoner"),
    ("docs/protocol/", "conformance"),
    ("examples/", "almoner"),
    ("examples/", "daemon"),
    ("examples/inbox/", "document"),
    ("examples/inbox/", "policy"),
    ("examples/inbox/", "worker"),
];

/// Returns the crates that these files, relative to the root, touch.
fn scope(files: &[String], crates: &[Crate]) -> Scope {
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
    // An arrow of tests counts as well: they are tests of the crate below.
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

/// The files that differ from a commit.
pub(crate) struct Difference {
    base: String,
    /// Relative to the root.
    files: Vec<String>,
}

impl Difference {
    /// Returns the crates to check, or an error if no file differs.
    pub(crate) fn scope(&self, crates: &[Crate]) -> Result<Scope, String> {
        if self.files.is_empty() {
            return Err(format!(
                "no file differs from {}, so nothing was checked; `--changed BASE` compares with another commit: \
                 cargo xtask test --changed HEAD~1",
                self.base
            ));
        }
        Ok(scope(&self.files, crates))
    }
}

/// Returns the files that differ from `base`: committed, uncommitted, and not yet known to git.
pub(crate) fn difference(workspace: &Workspace, base: Option<&str>) -> Result<Difference> {
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
    Ok(Difference { base: base.to_owned(), files: names.map(str::to_owned).collect() })
}

#[cfg(test)]
mod tests {
    use super::{Difference, READ_BY, Scope, scope};
    use crate::tidy::Tree;
    use crate::workspace::{Arrow, ArrowKind, Crate, Workspace};

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
        check(&["crates/passable/src/lib.rs"], &["almoner", "git-web", "kernel", "passable", "xtask"]);
        check(&["crates/kernel/tests/it/runs.rs"], &["almoner", "git-web", "kernel", "xtask"]);
        check(&["crates/git/Cargo.toml"], &["almoner", "git", "xtask"]);
        check(&["crates/git-web/benches/git.rs"], &["git-web", "xtask"]);
        check(&["xtask/src/main.rs", "docs/x.md"], &["xtask"]);
    }

    #[test]
    fn changed_file_brings_the_crates_that_read_it() {
        check(&["docs/policy.md"], &["almoner"]);
        check(&["examples/note/note.worker"], &["almoner", "daemon"]);
        check(&["examples/inbox/mail/a.eml"], &["almoner", "daemon", "document", "policy", "worker"]);
    }

    #[test]
    fn crate_that_reads_a_shared_folder_is_in_the_table() {
        let tree = Tree::read(&Workspace::read().unwrap()).unwrap();
        for (file, _, owner) in tree.rust() {
            for folder in ["docs", "examples"] {
                for (at, _) in file.text.match_indices(&format!("../../{folder}")) {
                    let path: String = file.text[at + "../../".len()..]
                        .chars()
                        .take_while(|c| !matches!(c, '"' | '`' | ' ' | '\n'))
                        .collect();
                    // A folder is named without the slash.
                    let place = format!("{path}/");
                    let is_listed =
                        READ_BY.iter().any(|(read, reader)| *reader == owner.name && place.starts_with(read));
                    assert!(is_listed, "{} reads {path}: add `{}` to READ_BY", file.path, owner.name);
                }
            }
        }
    }

    #[test]
    fn difference_without_files_names_a_base() {
        let difference = |files: &[&str]| Difference {
            base: "abc".to_owned(),
            files: files.iter().map(|&file| file.to_owned()).collect(),
        };
        let why = difference(&[]).scope(&[]).unwrap_err();
        assert!(why.contains("no file differs from abc") && why.contains("--changed BASE"), "{why}");
        assert_eq!(difference(&["README.md"]).scope(&[]), Ok(Scope::Crates([].into())));
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
