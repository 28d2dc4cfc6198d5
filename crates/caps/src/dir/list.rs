//! `list`: the names in one directory that the grant lets its holder use.

use std::io;

use cap_std::fs::Dir;
use kernel::proposal::Finding;
use passable::quoting;

use super::Limits;
use crate::failure;
use crate::path::{Plain, Purpose, is_temporary};
use crate::walk::{self, Kind};

/// The maximum number of names in one answer.
pub(super) const MAX_NAMES: usize = 1000;

/// The maximum number of entries of a directory that are looked at, shown or not.
const MAX_ENTRIES: usize = 100_000;

/// Returns the sorted names in a directory: plain files that `read` would accept, and directories with a `/` at the
/// end. Left out are pipes, devices, links that lead out, and Almoner's temporary files. Also left out are files that
/// the grant does not cover, and names that `read` would refuse.
pub(super) fn list(root: &Dir, path: Option<&Plain>, limits: &Limits) -> Result<Vec<String>, Finding> {
    let shown = path.map_or(".", Plain::as_str);
    let failed = |error: &io::Error| failure::finding(error, &format!("list `{shown}`"), "path");
    let entries = root.read_dir(shown).map_err(|error| failed(&error))?;
    let mut names = Vec::new();
    for (seen, entry) in entries.enumerate() {
        if seen == MAX_ENTRIES || names.len() > MAX_NAMES {
            return Err(too_many(shown));
        }
        let entry = entry.map_err(|error| failed(&error))?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let place = path.map_or_else(|| name.clone(), |path| format!("{}/{name}", path.as_str()));
        if is_temporary(&name) || Plain::check(&place, Purpose::Look).is_err() {
            continue;
        }
        // An entry does not exist for the run if it vanishes meanwhile, leads out of the directory, or cannot be
        // looked at.
        let Ok(found) = walk::look(root, &place) else { continue };
        match found.kind {
            Kind::Directory => names.push(format!("{name}/")),
            Kind::File if limits.cover(&name, found.bytes) && limits.fit_name(&found.resolved) => {
                names.push(name)
            }
            _ => {}
        }
    }
    if names.len() > MAX_NAMES {
        return Err(too_many(shown));
    }
    names.sort();
    Ok(names)
}

fn too_many(shown: &str) -> Finding {
    Finding::new("dir/many", quoting!("`{}` holds more than {} files and directories", shown, MAX_NAMES))
        .at("path")
        .counter_example(shown)
        .allowed("one of its subdirectories, or the path of a file that you know")
}
