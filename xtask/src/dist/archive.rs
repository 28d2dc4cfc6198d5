//! Archives that are the same bytes for the same files: sorted, without owners, with one time.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

/// The files of a package by their paths, which are relative and have no `.` or `..`.
#[derive(Clone, Default)]
pub(super) struct FileTree(pub(super) BTreeMap<String, Node>);

/// A file, a link or a directory.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) mode: u32,
    /// User and group; 0 in most cases.
    pub(super) owner: u64,
}

/// The content of a node.
#[derive(Clone)]
pub(super) enum NodeKind {
    Directory,
    File(Vec<u8>),
    /// A symbolic link, with the path that it leads to.
    Link(String),
}

impl FileTree {
    /// Adds a file that everybody may read.
    pub(super) fn add(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.add_node(path, NodeKind::File(bytes.into()), 0o644);
    }

    /// Adds a program.
    pub(super) fn add_program(&mut self, path: &str, bytes: &[u8]) {
        self.add_node(path, NodeKind::File(bytes.to_vec()), 0o755);
    }

    pub(super) fn add_node(&mut self, path: &str, kind: NodeKind, mode: u32) {
        self.0.insert(path.to_owned(), Node { kind, mode, owner: 0 });
    }

    /// Returns the same files below a folder.
    pub(super) fn below(&self, folder: &str) -> FileTree {
        FileTree(self.0.iter().map(|(path, node)| (format!("{folder}/{path}"), node.clone())).collect())
    }

    /// Returns the tree with the directories in which its files lie.
    fn with_directories(&self) -> FileTree {
        let mut whole = self.clone();
        for path in self.0.keys() {
            for parent in Path::new(path).ancestors().skip(1).filter(|parent| *parent != Path::new("")) {
                let directory = Node { kind: NodeKind::Directory, mode: 0o755, owner: 0 };
                whole.0.entry(parent.to_string_lossy().into_owned()).or_insert(directory);
            }
        }
        whole
    }

    /// Returns the files as a tar archive, all of one time.
    pub(super) fn tar(&self, epoch: u64) -> Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, node) in &self.with_directories().0 {
            let mut header = Header::new_gnu();
            header.set_mtime(epoch);
            header.set_uid(node.owner);
            header.set_gid(node.owner);
            header.set_mode(node.mode);
            header.set_size(0);
            let written = match &node.kind {
                NodeKind::Directory => {
                    header.set_entry_type(EntryType::Directory);
                    archive.append_data(&mut header, format!("{path}/"), std::io::empty())
                }
                NodeKind::File(bytes) => {
                    header.set_entry_type(EntryType::Regular);
                    header.set_size(bytes.len() as u64);
                    archive.append_data(&mut header, path, bytes.as_slice())
                }
                NodeKind::Link(target) => {
                    header.set_entry_type(EntryType::Symlink);
                    archive.append_link(&mut header, path, target)
                }
            };
            written.with_context(|| format!("cannot archive {path}"))?;
        }
        archive.into_inner().context("cannot end the archive")
    }
}

/// Compresses bytes without a name and a time.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::{FileTree, NodeKind, gzip};

    fn tree() -> FileTree {
        let mut tree = FileTree::default();
        tree.add("share/doc/almoner/README.md", "text");
        tree.add_program("bin/almoner", b"program");
        tree.add_node("bin/alm", NodeKind::Link("almoner".to_owned()), 0o777);
        tree
    }

    #[test]
    fn archive_is_sorted_and_has_one_time() {
        let bytes = tree().below("almoner-1").tar(1_700_000_000).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let mut listed = Vec::new();
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap()), (1_700_000_000, 0));
            assert_eq!((header.username().unwrap(), header.groupname().unwrap()), (Some(""), Some("")));
            listed.push(format!("{:o} {}", header.mode().unwrap(), entry.path().unwrap().display()));
        }
        assert_eq!(
            listed,
            [
                "755 almoner-1/",
                "755 almoner-1/bin/",
                "777 almoner-1/bin/alm",
                "755 almoner-1/bin/almoner",
                "755 almoner-1/share/",
                "755 almoner-1/share/doc/",
                "755 almoner-1/share/doc/almoner/",
                "644 almoner-1/share/doc/almoner/README.md",
            ]
        );
    }

    #[test]
    fn compressed_bytes_hold_no_time() {
        let bytes = gzip(b"text").unwrap();
        assert_eq!(bytes[4..8], [0; 4]);
        let mut text = String::new();
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
    }
}
