//! `stat`: the kind and properties of a path.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::UNIX_EPOCH;

use cap_std::fs::Dir;
use cap_std::time::SystemTime;
use kernel::id::BlobHash;
use kernel::proposal::{Finding, Value};
use passable::{quoting, visible_line};

use super::Limits;
use crate::failure;
use crate::path::Plain;
use crate::walk::{self, FoundEntry, Kind};

/// Looks up a path for `stat`, which must be a directory or a file that the grant covers.
pub(super) fn look(root: &Dir, path: &Plain, limits: &Limits) -> Result<FoundEntry, Finding> {
    let shown = path.as_str();
    let found = limits.look(root, shown, &format!("look at `{shown}`"))?;
    match found.kind {
        Kind::Directory => {}
        Kind::File => {
            if !limits.cover(shown, found.bytes) {
                limits.check_bytes(shown, found.bytes)?;
            }
        }
        kind => {
            return Err(Finding::new(
                "dir/kind",
                quoting!("`{}` is ", visible_line(shown)).and(kind.phrase()),
            )
            .at("path")
            .counter_example(visible_line(shown))
            .allowed("the path of a file or a directory; `list` shows them"));
        }
    }
    Ok(found)
}

/// Returns the properties of a path as a record, and the digest alone. The record holds the path, the kind and the
/// time of the last change, in milliseconds since 1970. For a file it also holds the size, and the digest if the file
/// is small enough to be read.
pub(super) fn stat(root: &Dir, path: &Plain, limits: &Limits) -> Result<(Value, Option<BlobHash>), Finding> {
    let found = look(root, path, limits)?;
    let failed =
        |error: std::io::Error| failure::finding(&error, &format!("look at `{}`", path.as_str()), "path");
    let mut fields = BTreeMap::from([("path".to_owned(), Value::from(path.as_str()))]);
    let meta = root.symlink_metadata(&found.resolved).map_err(failed)?;
    if let Some(ms) = meta.modified().ok().and_then(since_1970) {
        fields.insert("modified_ms".to_owned(), Value::number(ms));
    }
    let mut digest = None;
    match found.kind {
        Kind::File => {
            fields.insert("kind".to_owned(), Value::from("file"));
            fields.insert("bytes".to_owned(), Value::number(found.bytes as f64));
            if found.bytes <= limits.bytes() {
                let mut bytes = Vec::new();
                let file = walk::open(root, &found).map_err(failed)?;
                file.take(limits.bytes().saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
                limits.check_bytes(path.as_str(), bytes.len() as u64)?;
                digest = Some(BlobHash::of(&bytes));
            }
        }
        _ => drop(fields.insert("kind".to_owned(), Value::from("directory"))),
    }
    if let Some(digest) = digest {
        fields.insert("digest".to_owned(), Value::from(digest.to_string()));
    }
    Ok((Value::record_from_map(fields), digest))
}

/// Returns the milliseconds since 1970, or `None` for an earlier time.
fn since_1970(time: SystemTime) -> Option<f64> {
    let since = time.into_std().duration_since(UNIX_EPOCH).ok()?;
    Some(since.as_millis() as f64)
}
