//! The files of the clone, in memory: the rules never touch the disk, so that a test can plant problems.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::source::Source;
use crate::workspace::{Crate, Workspace};

/// Everything that the rules look at.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
    pub(crate) crates: Vec<Crate>,
}

/// A text file of the project.
pub(crate) struct File {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// For Rust files.
    pub(crate) source: Option<Source>,
}

/// Folders that are built, fetched or left behind, and so not ours to judge.
const SKIPPED_FOLDERS: &[&str] = &[".git", "target", "almoner-demo", "node_modules"];

impl Tree {
    /// Reads the clone. Files that are no UTF-8 are not text and are left out.
    pub(crate) fn read(workspace: &Workspace) -> Result<Self> {
        let mut files = Vec::new();
        gather(&workspace.root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files, crates: workspace.crates.clone() })
    }

    /// Returns the crate in whose folder the file lies.
    pub(crate) fn owner(&self, file: &File) -> Option<&Crate> {
        self.crates
            .iter()
            .find(|each| file.path.strip_prefix(&each.folder).is_some_and(|rest| rest.starts_with('/')))
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns the Rust files with the crates they belong to.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&File, &Source, &Crate)> {
        self.files.iter().filter_map(|file| Some((file, file.source.as_ref()?, self.owner(file)?)))
    }

    /// Returns the root file of a crate.
    pub(crate) fn root_of(&self, member: &Crate) -> Option<&File> {
        ["lib.rs", "main.rs"].iter().find_map(|name| self.file(&format!("{}/src/{name}", member.folder)))
    }
}

impl File {
    pub(crate) fn new(path: &str, text: String) -> Self {
        let source = path.ends_with(".rs").then(|| Source::read(&text, is_test(path)));
        Self { path: path.to_owned(), text, source }
    }

    /// Returns whether it exists for tests only, by its path.
    pub(crate) fn is_test(&self) -> bool {
        is_test(&self.path)
    }
}

fn is_test(path: &str) -> bool {
    let folder = |name: &str| path.split('/').any(|part| part == name);
    folder("tests")
        || folder("benches")
        || folder("examples")
        || folder("fuzz")
        || path.ends_with("/tests.rs")
}

fn gather(root: &Path, folder: &str, files: &mut Vec<File>) -> Result<()> {
    let here = root.join(folder);
    for entry in fs::read_dir(&here).with_context(|| format!("cannot list {}", here.display()))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            // A target directory under another name bears cargo's mark.
            let built = entry.path().join("CACHEDIR.TAG").exists();
            if !built && !SKIPPED_FOLDERS.contains(&name.as_str()) {
                gather(root, &path, files)?;
            }
        } else if kind.is_file() {
            // A file that an editor removed meanwhile is no finding.
            let Ok(bytes) = fs::read(entry.path()) else { continue };
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File::new(&path, text));
            }
        }
    }
    Ok(())
}
