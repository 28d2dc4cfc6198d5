//! The endowment of a server: it is asked once for its tools, and the tools that the user named are pinned.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kernel::BlobHash;
use resource::mcp::{PinnedTool, ToolClass, ToolServer};

use super::interface::unfit;
use super::listing::ToolListing;
use super::mcp_error::McpError;
use super::session::Session;
use crate::http::HostServices;
use crate::walk::{Kind, kind, link_target, names, open_at_path, open_file, open_resolved, reopen, step};

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
    if let Some(finding) = super::managed_problem(server, &**outside) {
        return Err(McpError::Blocked(Box::new(finding)));
    }
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
    let is_fit = |meta: &std::fs::Metadata| meta.is_file() && meta.len() <= MAX_FILE_BYTES;
    // The kind is checked before the file is opened, since opening a device can have effects, and again on the open file.
    let file = std::fs::metadata(path).ok().filter(is_fit).and_then(|_| open_at_path(path).ok())?;
    if !is_fit(&file.metadata().ok()?) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(BlobHash::of(&bytes))
}

/// Returns the digest of all files below a directory: their paths, their contents, and where links lead. Returns `None`
/// if a part cannot be read, is neither a file nor a directory nor a link, or if there is too much.
pub fn tree_digest(directory: &Path) -> Option<BlobHash> {
    let mut tree = Tree { root: open_resolved(&directory.canonicalize().ok()?).ok()?, entries: Vec::new() };
    let mut ways = vec![PathBuf::new()];
    while let Some(way) = ways.pop() {
        ways.extend(tree.read(&way)?);
        if tree.entries.len() > MAX_TREE_FILES {
            return None;
        }
    }
    tree.entries.sort();
    let mut hasher = blake3::Hasher::new_derive_key("almoner mcp package v1");
    let mut left = MAX_TREE_BYTES;
    for (path, is_link) in &tree.entries {
        let content = match is_link {
            true => blake3::hash(link_target(tree.parent(path)?.as_fd(), path.file_name()?).ok()?.as_bytes()),
            false => tree.content(path, &mut left)?,
        };
        let name = path.as_os_str().as_bytes();
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name);
        hasher.update(&[u8::from(*is_link)]);
        hasher.update(content.as_bytes());
    }
    Some(BlobHash(*hasher.finalize().as_bytes()))
}

/// The files and links below an open directory.
struct Tree {
    root: OwnedFd,
    /// The paths of files and links, and whether each is a link.
    entries: Vec<(PathBuf, bool)>,
}

impl Tree {
    /// Adds the files and links of a directory, and returns its subdirectories.
    fn read(&mut self, way: &Path) -> Option<Vec<PathBuf>> {
        let at = self.enter(way)?;
        let mut below = Vec::new();
        for name in names(at.as_fd(), MAX_TREE_FILES + 1).ok()? {
            let path = way.join(OsStr::from_bytes(name.to_bytes()));
            match kind(at.as_fd(), &*name).ok()?? {
                Kind::Directory => below.push(path),
                Kind::File => self.entries.push((path, false)),
                Kind::Link => self.entries.push((path, true)),
                Kind::Other => return None,
            }
        }
        Some(below)
    }

    fn enter(&self, way: &Path) -> Option<OwnedFd> {
        let mut at = reopen(self.root.as_fd()).ok()?;
        for name in way {
            at = step(at.as_fd(), name).ok()?;
        }
        Some(at)
    }

    fn parent(&self, path: &Path) -> Option<OwnedFd> {
        self.enter(path.parent()?)
    }

    /// Returns the digest of a file. Its bytes are taken from the `left` ones.
    fn content(&self, path: &Path, left: &mut u64) -> Option<blake3::Hash> {
        let mut file =
            open_file(self.parent(path)?.as_fd(), path.file_name()?).ok()?.take(left.saturating_add(1));
        let (mut hasher, mut buffer) = (blake3::Hasher::new(), vec![0; 64 << 10]);
        loop {
            let count = file.read(&mut buffer).ok()?;
            if count == 0 {
                return Some(hasher.finalize());
            }
            *left = left.checked_sub(count as u64)?;
            hasher.update(&buffer[..count]);
        }
    }
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
