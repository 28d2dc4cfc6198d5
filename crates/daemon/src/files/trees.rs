//! Trees of files that never change. A tree is a list of files and directories, stored by the hash of its content.
//!
//! The bytes of a tree are a first line that names the format, and a list. An entry of the list has a name, a type,
//! the hash of its bytes in the store, and their number. It also has the SHA-256 by which Endo's clients know the
//! bytes. A directory in a tree is a tree of its own. So two trees share their common parts, and garbage collection
//! finds all of a tree from its root.

use kernel::BlobHash;
use kernel::formula::Tree;
use passable::{Quoting, visible_line};
use sha2::Digest as _;
use store::{Blobs, TREE};

use control::exit::{Exit, Failure};

/// The maximum number of names in one directory of a tree.
const MAX_NAMES: usize = 10_000;

/// The maximum number of files and directories in a new tree.
pub const MAX_ENTRIES: usize = 20_000;

/// The maximum depth of a tree, in directories.
pub const MAX_DEPTH: usize = 32;

/// One entry of a directory in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// The name.
    pub name: String,
    /// Whether the entry is a directory.
    pub is_tree: bool,
    /// The hash of a file's bytes, or of the bytes of a directory's list.
    pub hash: BlobHash,
    /// The size of a file, in bytes. It is 0 for a directory.
    pub bytes: u64,
    /// The SHA-256 of a file's bytes. For a directory, it is the SHA-256 of the list in the form that Endo's clients
    /// use.
    pub sha256: String,
}

fn tree_failure(what: impl Into<Quoting>) -> Failure {
    Failure::new(Exit::Failure, what)
}

/// Returns the SHA-256 of bytes, as hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A place that stores the bytes of trees.
pub trait BlobSink {
    /// Stores bytes, and returns their hash.
    ///
    /// # Errors
    /// When the disk is full or the quota is used up.
    fn put(&self, bytes: &[u8]) -> Result<BlobHash, Failure>;
}

/// Stores one directory of a tree. Its files and directories must be stored already.
///
/// # Errors
/// When there are too many names, or the bytes cannot be stored.
pub fn store(shelf: &dyn BlobSink, mut entries: Vec<TreeEntry>) -> Result<Tree, Failure> {
    if entries.len() > MAX_NAMES {
        return Err(tree_failure(format!("a directory of a tree can have {MAX_NAMES} names")));
    }
    entries.sort_by(|a, b| a.name.encode_utf16().cmp(b.name.encode_utf16()));
    let kind = |entry: &TreeEntry| if entry.is_tree { "tree" } else { "blob" };
    let theirs: Vec<_> = entries.iter().map(|entry| (&entry.name, kind(entry), &entry.sha256)).collect();
    let theirs = serde_json::to_vec(&theirs).map_err(|e| tree_failure(e.to_string()))?;
    let ours: Vec<_> = entries
        .iter()
        .map(|entry| (&entry.name, kind(entry), entry.hash.to_string(), entry.bytes, &entry.sha256))
        .collect();
    let mut bytes = TREE.to_vec();
    bytes.extend(serde_json::to_vec(&ours).map_err(|e| tree_failure(e.to_string()))?);
    Ok(Tree { hash: shelf.put(&bytes)?, sha256: sha256(&theirs) })
}

/// Returns the entries of one directory of a tree.
///
/// # Errors
/// When the bytes are missing or damaged.
pub fn entries(blobs: &Blobs, hash: &BlobHash) -> Result<Vec<TreeEntry>, Failure> {
    let damaged =
        || tree_failure(format!("the bytes of the tree {hash} say nothing")).help("`almoner doctor`");
    let bytes = blobs.get(hash).map_err(|e| tree_failure(e.to_string()).help("`almoner doctor`"))?;
    let list = bytes.strip_prefix(TREE).ok_or_else(damaged)?;
    let list: Vec<(String, String, String, u64, String)> =
        serde_json::from_slice(list).map_err(|_| damaged())?;
    list.into_iter()
        .map(|(name, kind, hash, bytes, sha256)| {
            let hash = hash.parse().map_err(|_| damaged())?;
            Ok(TreeEntry { name, is_tree: kind == "tree", hash, bytes, sha256 })
        })
        .collect()
}

/// Returns the entry at the end of a path, or `None` if there is no such entry. An empty path leads to the tree
/// itself.
///
/// # Errors
/// When bytes are missing or damaged.
pub fn find(blobs: &Blobs, tree: &Tree, way: &[String]) -> Result<Option<TreeEntry>, Failure> {
    let mut at = TreeEntry {
        name: String::new(),
        is_tree: true,
        hash: tree.hash,
        bytes: 0,
        sha256: tree.sha256.clone(),
    };
    for name in way {
        if !at.is_tree {
            return Ok(None);
        }
        match entries(blobs, &at.hash)?.into_iter().find(|entry| entry.name == *name) {
            Some(entry) => at = entry,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// Returns the entry at the end of a path.
///
/// # Errors
/// When there is no such entry, or bytes are missing or damaged.
pub fn expect_entry(blobs: &Blobs, tree: &Tree, way: &[String]) -> Result<TreeEntry, Failure> {
    find(blobs, tree, way)?.ok_or_else(|| {
        let shown = way.join("/");
        Failure::new(Exit::NotFound, format!("there is no `{}` in the tree", visible_line(&shown)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NullSink;

    impl BlobSink for NullSink {
        fn put(&self, bytes: &[u8]) -> Result<BlobHash, Failure> {
            Ok(BlobHash::of(bytes))
        }
    }

    #[test]
    fn tree_hash_matches_the_hash_of_endo_clients() {
        let file = |name: &str, text: &[u8]| TreeEntry {
            name: name.to_owned(),
            is_tree: false,
            hash: BlobHash::of(text),
            bytes: text.len() as u64,
            sha256: sha256(text),
        };
        let tree = store(&NullSink, vec![file("b", b"two"), file("a", b"one")]).unwrap();
        let list = format!(r#"[["a","blob","{}"],["b","blob","{}"]]"#, sha256(b"one"), sha256(b"two"));
        assert_eq!(tree.sha256, sha256(list.as_bytes()));
        // The order of the entries does not change the hash.
        assert_eq!(store(&NullSink, vec![file("a", b"one"), file("b", b"two")]).unwrap(), tree);
    }
}
