//! The directories of this machine, listed for a user who chooses one on a page. The daemon reads them with the rights
//! of its user, and with no others.

use std::path::{Path, PathBuf};

use passable::Untrusted;

use crate::state::protected_paths::ProtectedPaths;
use config::place;
use control::exit::{Exit, Failure};
use control::folders::{FolderEntry, FolderList};

/// The maximum number of entries in a list.
const MAX_ENTRIES: usize = 500;

/// The maximum number of entries of a directory that are looked at.
const MAX_EXAMINED: usize = 20_000;

/// Returns the directories below a directory, and its files with this ending. Without a path, or if the path leads
/// nowhere, the list is that of the nearest directory above, or of the user's home.
///
/// # Errors
/// When the path is relative, or the directory cannot be read.
pub fn list(own: &ProtectedPaths, at: Option<&str>, ending: Option<&str>) -> Result<FolderList, Failure> {
    let wanted = match at.map(str::trim).filter(|at| !at.is_empty()) {
        Some(at) if !at.starts_with('/') => return Err(place::relative_path_failure(at)),
        Some(at) => PathBuf::from(at),
        None => std::env::home_dir().filter(|home| home.is_absolute()).unwrap_or_else(|| PathBuf::from("/")),
    };
    let dir = nearest(&wanted);
    let shown = dir.to_string_lossy();
    let fail = |error: &std::io::Error| {
        Failure::new(Exit::Failure, format!("cannot list {shown}: {error}")).help("choose another directory")
    };
    let (mut entries, mut left_out) = (Vec::new(), 0);
    for (at, entry) in std::fs::read_dir(&dir).map_err(|error| fail(&error))?.enumerate() {
        // An entry that has just gone is no entry.
        let Ok(entry) = entry else { continue };
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let read = (at < MAX_EXAMINED).then(|| read(&entry, ending)).flatten();
        match read {
            Some(Some(read)) => entries.push(read),
            Some(None) => {}
            None => left_out += 1,
        }
    }
    entries.sort_by(|a, b| {
        (a.is_file, a.name.raw().to_lowercase()).cmp(&(b.is_file, b.name.raw().to_lowercase()))
    });
    left_out += entries.len().saturating_sub(MAX_ENTRIES);
    entries.truncate(MAX_ENTRIES);
    let Some(path) = dir.to_str() else {
        let error = std::io::Error::other("its path is no text");
        return Err(fail(&error));
    };
    Ok(FolderList {
        path: path.to_owned(),
        parent: dir.parent().and_then(Path::to_str).map(str::to_owned),
        entries,
        left_out,
        refusal: own.check(&dir).err().map(|failure| failure.message),
    })
}

/// Returns the real path of the nearest directory at or above a path.
fn nearest(path: &Path) -> PathBuf {
    path.ancestors()
        .filter_map(|above| std::fs::canonicalize(above).ok())
        .find(|real| real.is_dir())
        .unwrap_or_else(|| PathBuf::from("/"))
}

/// Returns an entry that can be chosen, or `Some(None)` for one that cannot. Returns `None` if its path is no text.
fn read(entry: &std::fs::DirEntry, ending: Option<&str>) -> Option<Option<FolderEntry>> {
    // The target of a link decides what it is. A link that leads nowhere cannot be chosen.
    let Ok(meta) = std::fs::metadata(entry.path()) else { return Some(None) };
    let name = entry.file_name();
    let is_wanted = |name: &str| ending.is_some_and(|ending| name.ends_with(ending));
    let can_be_chosen = meta.is_dir() || (meta.is_file() && name.to_str().is_some_and(is_wanted));
    if !can_be_chosen {
        return Some(None);
    }
    let Ok(real) = std::fs::canonicalize(entry.path()) else { return Some(None) };
    Some(Some(FolderEntry {
        name: Untrusted::new(name.to_str()?),
        path: real.to_str()?.to_owned(),
        is_file: meta.is_file(),
        is_link: entry.file_type().is_ok_and(|kind| kind.is_symlink()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::place::Place;

    #[test]
    fn folder_list_names_directories_and_wanted_files() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in ["b", "A", ".hidden", "home/state", "c/deep"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        for file in ["note.worker", "other.txt"] {
            std::fs::write(root.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink(root.join("c/deep"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(root.join("nowhere"), root.join("dangling")).unwrap();
        let own = ProtectedPaths::new(&Place::under(&root.join("home")));
        let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
        let names = |list: &FolderList| -> Vec<String> {
            list.entries.iter().map(|one| one.name.raw().to_owned()).collect()
        };
        let found = list(&own, Some(&path("")), None).unwrap();
        assert_eq!(names(&found), ["A", "b", "c", "home", "link"]);
        assert!(found.refusal.is_some(), "the daemon's own files lie below it");
        let link = &found.entries[4];
        assert_eq!((link.path.as_str(), link.is_link), (path("c/deep").as_str(), true));
        let found = list(&own, Some(&path("")), Some(".worker")).unwrap();
        assert_eq!(names(&found), ["A", "b", "c", "home", "link", "note.worker"]);
        // A path that does not exist yet opens the directory above it.
        let found = list(&own, Some(&path("b/new/newer")), None).unwrap();
        assert_eq!((found.path.as_str(), found.refusal), (path("b").as_str(), None));
        assert_eq!(found.parent.as_deref(), root.to_str());
        assert!(list(&own, Some("relative"), None).is_err());
    }
}
