//! The walk through a directory and everything below it, as far as its holder may see. No link is followed on the way
//! down, so no entry is met twice, and none lies outside.

use std::io;
use std::ops::ControlFlow;

use cap_std::fs::Dir;
use kernel::proposal::Finding;

use crate::path::{Plain, Purpose, is_temporary};
use crate::walk::Kind;

/// The maximum number of entries that one walk meets.
const MAX_ENTRIES: usize = 50_000;

/// An entry of the tree.
pub(super) struct Entry {
    /// The path of the entry from the root.
    pub(super) path: String,
    /// The kind of the entry itself; a link is a link.
    pub(super) kind: Kind,
    /// The size of the entry in bytes.
    pub(super) bytes: u64,
}

/// Visits everything below `start` (`.` for the root) in order, each directory before its contents. Almoner's
/// temporary files and names that `read` would refuse are left out.
pub(super) fn walk(
    root: &Dir,
    start: &str,
    see: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
) -> Result<(), io::Error> {
    let mut ways = vec![start.to_owned()];
    let mut met = 0;
    while let Some(way) = ways.pop() {
        let entries = match root.read_dir(&way) {
            Ok(entries) => entries,
            // A directory that vanishes meanwhile or cannot be read does not exist for the run. The start is
            // different, because the run asked for it.
            Err(error) if way == start => return Err(error),
            Err(_) => continue,
        };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            met += 1;
            if met > MAX_ENTRIES {
                return Err(io::ErrorKind::QuotaExceeded.into());
            }
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let path = if way == "." { name.clone() } else { format!("{way}/{name}") };
            if is_temporary(&name) || Plain::check(&path, Purpose::Look).is_err() {
                continue;
            }
            let Ok(meta) = entry.metadata() else { continue };
            let kind = match meta.file_type() {
                kind if kind.is_file() => Kind::File,
                kind if kind.is_dir() => Kind::Directory,
                kind if kind.is_symlink() => Kind::Link,
                _ => Kind::Other,
            };
            found.push(Entry { path, kind, bytes: meta.len() });
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        for entry in &found {
            if see(entry).is_break() {
                return Ok(());
            }
        }
        let below = found.into_iter().filter(|entry| entry.kind == Kind::Directory);
        ways.extend(below.map(|entry| entry.path).rev());
    }
    Ok(())
}

/// Returns the reason why a walk was not completed, as a finding.
pub(super) fn finding(error: &io::Error, doing: &str, at: &str, narrower: &'static str) -> Finding {
    if error.kind() == io::ErrorKind::QuotaExceeded && error.raw_os_error().is_none() {
        let what = format!("could not {doing}: there are more than {MAX_ENTRIES} files and directories");
        return Finding::new("dir/many", what)
            .at(at)
            .counter_example(format!("more than {MAX_ENTRIES}"))
            .allowed(narrower);
    }
    crate::failure::finding(error, doing, at)
}
