//! The endowment of a server: it is asked once for its tools, and the tools that the user named are pinned.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use kernel::BlobHash;
use resource::mcp::{PinnedTool, ToolClass, ToolServer};

use super::interface::unfit;
use super::listing::ToolListing;
use super::mcp_error::McpError;
use super::session::Session;
use crate::http::HostServices;

/// The maximum size of a file that is pinned because a server's arguments name it.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// The maximum number of files of an installed package, and of bytes in them.
const MAX_TREE_FILES: usize = 200_000;
const MAX_TREE_BYTES: u64 = 4 << 30;

/// Starts or reaches a server, and asks it for its tools. The server has the time `start_ms` until it is ready.
///
/// # Errors
/// When the server cannot be asked.
pub fn ask_tools(server: &ToolServer, outside: &Arc<dyn HostServices>) -> Result<ToolListing, McpError> {
    let mut session = Session::open(server, outside)?;
    match session.tools() {
        Ok(tools) => Ok(tools),
        Err(error) => Err(session.close_with_error(error)),
    }
}

/// Returns the pins of the server's tools that the user named.
///
/// # Errors
/// The name of a tool, and its problem.
pub fn endow_server(
    told: &ToolListing,
    named: &[(String, ToolClass)],
) -> Result<Vec<PinnedTool>, (String, String)> {
    let mut pinned: Vec<PinnedTool> = Vec::new();
    for (name, class) in named {
        let wrong = |what: &str| Err((name.clone(), what.to_owned()));
        let mut same = told.tools.iter().filter(|told| told.name == *name);
        let Some(first) = same.next() else { return wrong(&told.absence(name)) };
        if same.next().is_some() {
            return wrong("it has two tools of this name");
        }
        if let Some(why) = unfit(first) {
            return wrong(&why);
        }
        let tool = first.pin(*class);
        if pinned.iter().any(|other| other.method == tool.method) {
            return wrong("another tool has the same name as a model writes it, or it is named twice");
        }
        pinned.push(tool);
    }
    Ok(pinned)
}

/// Returns the digest of a file that a server is told to run. Returns `None` if it is no file, or too large.
pub(super) fn file_digest(path: &Path) -> Option<BlobHash> {
    if !std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_FILE_BYTES) {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(BlobHash::of(&bytes))
}

/// Returns the digest of all files below a directory: their paths, their contents, and where links lead. Returns `None`
/// if a part cannot be read, or if there is too much.
pub fn tree_digest(directory: &Path) -> Option<BlobHash> {
    let mut hasher = blake3::Hasher::new_derive_key("almoner mcp package v1");
    let (mut places, mut entries) = (vec![directory.to_owned()], Vec::new());
    while let Some(place) = places.pop() {
        for entry in std::fs::read_dir(&place).ok()? {
            let entry = entry.ok()?;
            let kind = entry.file_type().ok()?;
            if kind.is_dir() {
                places.push(entry.path());
            } else {
                entries.push((entry.path(), kind.is_symlink()));
            }
        }
        if entries.len() > MAX_TREE_FILES {
            return None;
        }
    }
    entries.sort();
    let mut left = MAX_TREE_BYTES;
    let mut buffer = vec![0; 64 << 10];
    for (path, is_link) in entries {
        let name = path.strip_prefix(directory).ok()?.as_os_str().as_encoded_bytes().to_owned();
        let content = match is_link {
            true => blake3::hash(std::fs::read_link(&path).ok()?.as_os_str().as_encoded_bytes()),
            false => {
                left = left.checked_sub(std::fs::metadata(&path).ok()?.len())?;
                let mut file = File::open(&path).ok()?.take(MAX_TREE_BYTES);
                let mut hasher = blake3::Hasher::new();
                loop {
                    let count = file.read(&mut buffer).ok()?;
                    if count == 0 {
                        break hasher.finalize();
                    }
                    hasher.update(&buffer[..count]);
                }
            }
        };
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(&name);
        hasher.update(&[u8::from(is_link)]);
        hasher.update(content.as_bytes());
    }
    Some(BlobHash(*hasher.finalize().as_bytes()))
}

/// Returns the files that arguments name, such as the script of an interpreter. Files in places that the server may
/// write are not pinned, because the server may change them.
pub fn named_files(arguments: &[String], writable: &[&str]) -> BTreeMap<String, BlobHash> {
    let files = arguments.iter().filter_map(|argument| {
        let path = Path::new(argument);
        let real = path.is_absolute().then(|| path.canonicalize().ok()).flatten()?;
        if writable.iter().any(|place| real.starts_with(place)) {
            return None;
        }
        let digest = file_digest(&real)?;
        Some((real.into_os_string().into_string().ok()?, digest))
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_of_a_tree_covers_names_contents_and_links() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        std::fs::create_dir_all(tree.join("a")).unwrap();
        let digest = || tree_digest(&tree).unwrap();
        let mut seen = vec![digest()];
        let mut changed = |what: &str| {
            assert!(!seen.contains(&digest()), "{what}");
            assert_eq!(digest(), digest(), "{what}");
            seen.push(digest());
        };
        std::fs::write(tree.join("a/b.js"), "1").unwrap();
        changed("a file");
        std::fs::write(tree.join("a/b.js"), "2").unwrap();
        changed("a content");
        std::fs::rename(tree.join("a/b.js"), tree.join("a/c.js")).unwrap();
        changed("a name");
        std::os::unix::fs::symlink("c.js", tree.join("a/d.js")).unwrap();
        changed("a link");
        std::fs::remove_file(tree.join("a/d.js")).unwrap();
        std::os::unix::fs::symlink("../x", tree.join("a/d.js")).unwrap();
        changed("the place of a link");
        assert_eq!(tree_digest(&dir.path().join("missing")), None);
    }
}
