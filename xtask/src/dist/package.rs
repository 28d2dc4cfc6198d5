//! The files of an installation below its prefix, which the tarball, the Debian package and the image share.

use std::fs;

use anyhow::{Context as _, Result};

use super::archive::{FileTree, gzip};
use super::pages::Pages;
use super::source::Source;

/// The documents that go with the program.
const DOCUMENTS: &[&str] = &["README.md", "CHANGELOG.md", "SECURITY.md", "NOTICE"];

/// Folders whose files go with the program.
const FOLDERS: &[&str] = &["docs", "examples"];

/// The folder of the documents.
pub(super) const DOC: &str = "share/doc/almoner";

/// The parts of an installation.
pub(super) struct Parts {
    pub(super) binary: Vec<u8>,
    pub(super) pages: Pages,
    /// The licences of the packages in the binary.
    pub(super) notices: String,
    /// The documents and examples by their places below [`DOC`].
    pub(super) documents: FileTree,
}

/// Reads the documents of the clone.
pub(super) fn documents(source: &Source) -> Result<FileTree> {
    let mut tree = FileTree::default();
    for name in DOCUMENTS {
        let bytes = fs::read(source.root.join(name)).with_context(|| format!("cannot read {name}"))?;
        tree.add(name, bytes);
    }
    for folder in FOLDERS {
        gather(source, folder, &mut tree)?;
    }
    Ok(tree)
}

fn gather(source: &Source, folder: &str, tree: &mut FileTree) -> Result<()> {
    let entries = fs::read_dir(source.root.join(folder)).with_context(|| format!("cannot list {folder}"))?;
    for entry in entries {
        let entry = entry?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            gather(source, &path, tree)?;
        } else {
            tree.add(&path, fs::read(entry.path()).with_context(|| format!("cannot read {path}"))?);
        }
    }
    Ok(())
}

impl Parts {
    /// Returns the files below a prefix, as users of any system unpack them.
    pub(super) fn portable(&self, license: &str) -> FileTree {
        let mut tree = self.documents.below(DOC);
        tree.add_program("bin/almoner", &self.binary);
        for (name, page) in &self.pages.manual {
            tree.add(&format!("share/man/man1/{name}"), page.clone());
        }
        for (shell, script) in &self.pages.completions {
            if let Some(place) = shell.place {
                tree.add(place, script.clone());
            }
        }
        tree.add(&format!("{DOC}/LICENSE"), license);
        tree.add(&format!("{DOC}/THIRD-PARTY.txt"), self.notices.as_str());
        tree
    }

    /// Returns the files below `/usr`, as Debian's policy has them.
    pub(super) fn debian(&self) -> Result<FileTree> {
        let mut tree = self.documents.below(DOC);
        tree.add_program("bin/almoner", &self.binary);
        for (name, page) in &self.pages.manual {
            tree.add(&format!("share/man/man1/{name}.gz"), gzip(page)?);
        }
        for (shell, script) in &self.pages.completions {
            if let Some(place) = shell.debian_place.or(shell.place) {
                tree.add(place, script.clone());
            }
        }
        tree.add(&format!("{DOC}/THIRD-PARTY.txt.gz"), gzip(self.notices.as_bytes())?);
        Ok(tree)
    }
}
