//! The places that calls reach: where a path leads on this machine, and what may be changed there.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use policy::{ChangeScope, Location, Place, PlaceMeaning, Places};
use resource::Resource;
use resource::mcp::ServerTransport;
use resource::programs::ProgramDirectory;

use crate::mount_table;

/// Directories of this machine whose files its services send, print or start. The Filesystem Hierarchy Standard gives
/// `/var/spool` to data that waits for later processing, and `/var/mail` to mailboxes.
const QUEUES: [&str; 2] = ["/var/spool", "/var/mail"];

/// Returns the place to which an absolute path leads now, with all links followed as far as it exists.
pub fn locate(path: &str) -> Location {
    let path = Path::new(path);
    let found = path.ancestors().find_map(|there| Some((there, fs::canonicalize(there).ok()?)));
    let (real, rest) = match found {
        Some((there, real)) => (real, path.strip_prefix(there).unwrap_or(Path::new("")).to_owned()),
        None => (path.to_owned(), PathBuf::new()),
    };
    let is_there = rest.as_os_str().is_empty();
    let mut ids = real.ancestors().map(directory_id);
    let id = if is_there { ids.next().flatten() } else { None };
    let above = ids.flatten().collect();
    // Joining an empty path would append a slash.
    let whole = if is_there { real } else { real.join(rest) };
    Location { path: whole.to_string_lossy().into_owned(), id, above }
}

/// Returns the place of an entry that a call may change. A link at the last name is not followed, because changes
/// follow none.
fn locate_entry(path: &str) -> Location {
    let Some((parent, name)) = path.trim_end_matches('/').rsplit_once('/') else { return locate(path) };
    let parent = locate(if parent.is_empty() { "/" } else { parent });
    let whole = format!("{}/{name}", parent.path.trim_end_matches('/'));
    let is_link = fs::symlink_metadata(&whole).is_ok_and(|entry| entry.is_symlink());
    let id = if is_link { None } else { directory_id(Path::new(&whole)) };
    Location { path: whole, id, above: parent.id.into_iter().chain(parent.above).collect() }
}

/// Returns the identity of the directory at a path. Some file systems number nothing.
fn directory_id(path: &Path) -> Option<(u64, u64)> {
    let found = fs::metadata(path).ok().filter(|found| found.is_dir() && found.ino() != 0)?;
    Some((found.dev(), found.ino()))
}

/// Returns the reach of a change at one path.
pub fn entry(argument: &'static str, path: &str) -> ChangeScope {
    ChangeScope { location: locate_entry(path), is_tree: false, argument }
}

/// Returns the reach of a change anywhere below a directory.
pub fn tree(argument: &'static str, path: &str) -> ChangeScope {
    ChangeScope { location: locate(path), is_tree: true, argument }
}

/// Returns the reaches of a program in its directories. A change in a staged copy reaches nothing before it is applied.
pub(crate) fn trees<'a>(
    argument: &'static str,
    directories: impl IntoIterator<Item = &'a ProgramDirectory>,
) -> Vec<ChangeScope> {
    let written = directories.into_iter().filter(|given| given.write && given.staged_slot.is_none());
    written.map(|given| tree(argument, &given.path)).collect()
}

/// Returns the mail spools at absolute paths, each also by the paths of the bind mounts that lead there.
pub fn spools<'a>(paths: impl IntoIterator<Item = &'a String>) -> Vec<Place> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut places = Vec::new();
    for path in paths {
        let location = locate(path);
        let others = mount_table::other_paths(&location.path, &table);
        let locations = std::iter::once(location).chain(others.iter().map(|path| locate(path)));
        places.extend(locations.map(|location| Place { location, meaning: PlaceMeaning::Spool }));
    }
    places
}

/// Returns the queues of this machine's services.
pub fn machine_queues() -> impl Iterator<Item = Place> {
    QUEUES.iter().map(|path| Place { location: locate(path), meaning: PlaceMeaning::Queue })
}

/// Returns the places in which the thing in a slot works, and in which other slots might meet it.
pub fn working_places(slot: &str, resource: &Resource) -> Vec<Place> {
    match resource {
        Resource::Repository(repository) => {
            let meaning = PlaceMeaning::Repository { slot: slot.to_owned() };
            vec![Place { location: locate(&repository.path), meaning }]
        }
        Resource::Mcp(server) => {
            let ServerTransport::Program(program) = &server.line else { return vec![] };
            let meaning = || PlaceMeaning::Server { slot: slot.to_owned(), server: server.name.clone() };
            let places = program.directories.iter().filter(|given| given.staged_slot.is_none());
            places.map(|given| Place { location: locate(&given.path), meaning: meaning() }).collect()
        }
        _ => vec![],
    }
}

/// Returns everything that a resource could change on this machine. `staged_from` is the directory behind a staged
/// copy, to which changes will be applied.
pub fn whole_reach(resource: &Resource, staged_from: Option<&str>) -> Vec<ChangeScope> {
    match resource {
        Resource::Directory { path, read_only: false } => vec![tree("path", staged_from.unwrap_or(path))],
        Resource::Programs(programs) => trees("argv", &programs.directories),
        Resource::Repository(repository) if repository.write => vec![tree("name", &repository.path)],
        Resource::Mcp(server) => match &server.line {
            ServerTransport::Program(program) => trees("method", &program.directories),
            ServerTransport::Web(_) => vec![],
        },
        _ => vec![],
    }
}

/// The places that send and that a slot could change, for the person who fills the slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolReach {
    /// One phrase for each place that sends and that the slot could change.
    pub phrases: Vec<String>,
    /// Whether every change through the slot counts as sending.
    pub is_whole: bool,
}

/// Returns the places that send and that a slot could change. `judges_paths` tells whether the calls of the slot name
/// their paths, so that each call is judged by its own.
pub fn spool_reach(places: &Places, scopes: &[ChangeScope], judges_paths: bool) -> SpoolReach {
    let mut all = SpoolReach::default();
    for (place, scope) in places.sending(scopes) {
        let shown = place.meaning.phrase(&place.location.path);
        let is_whole = !judges_paths || scope.lies_in(&place.location);
        all.is_whole |= is_whole;
        all.phrases.push(match (judges_paths, is_whole) {
            (false, _) => format!("it could write in {shown}, so each call counts as sending and asks"),
            (true, true) => format!("all that it changes lies in {shown} and is sent, so each change asks"),
            (true, false) => format!("a change in {shown} is sent, so each such change asks"),
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn slot_that_reaches_a_spool_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let at = |path: &str| root.join(path).to_string_lossy().into_owned();
        fs::create_dir_all(root.join("outbox/sub")).unwrap();
        fs::create_dir_all(root.join("out")).unwrap();
        let places: Places = spools([&at("outbox")]).into_iter().collect();
        for (path, judges_paths, phrase, is_whole) in [
            ("", true, "a change in the mail spool", false),
            ("outbox", true, "all that it changes lies in the mail spool", true),
            ("outbox/sub", true, "all that it changes", true),
            ("out", true, "", false),
            ("", false, "it could write in the mail spool", true),
            ("outbox", false, "it could write in the mail spool", true),
            ("out", false, "", false),
        ] {
            let scope = spool_reach(&places, &[tree("path", &at(path))], judges_paths);
            assert_eq!(scope.phrases.is_empty(), phrase.is_empty(), "{path}: {scope:?}");
            assert!(scope.phrases.iter().all(|said| said.contains(phrase)), "{path}: {scope:?}");
            assert_eq!(scope.is_whole, is_whole, "{path}");
        }
    }

    #[test]
    fn entry_above_a_spool_reaches_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let at = |path: &str| root.join(path).to_string_lossy().into_owned();
        fs::create_dir_all(root.join("mail/outbox")).unwrap();
        fs::create_dir_all(root.join("new/outbox")).unwrap();
        symlink("mail", root.join("link")).unwrap();
        let reached = |path: &str| {
            let places: Places = spools([&at("mail/outbox")]).into_iter().collect();
            let facts = places.met(&[entry("name", &at(path))], "");
            facts.first().map(|fact| fact.is_certain)
        };
        for (path, certain) in [
            ("mail", Some(false)),
            ("mail/outbox", Some(true)),
            ("mail/outbox/a.eml", Some(true)),
            ("link/outbox", Some(true)),
            ("mail/other", None),
            ("new", None),
            // A change of a link changes the link.
            ("link", None),
        ] {
            assert_eq!(reached(path), certain, "{path}");
        }
        // The spool has gone, and another directory takes the place of the one above it.
        fs::remove_dir_all(root.join("mail")).unwrap();
        assert_eq!(reached("mail"), Some(false));
        assert_eq!(reached("new"), None);
    }

    #[test]
    fn path_is_located_behind_its_links() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let at = |path: &str| root.join(path).to_string_lossy().into_owned();
        fs::create_dir_all(root.join("outbox/sub")).unwrap();
        symlink("outbox", root.join("link")).unwrap();
        symlink(root.join("outbox"), root.join("outbox/sub/back")).unwrap();
        let id = |path: &str| directory_id(&root.join(path));
        // Reported of other programs: anomalyco/opencode#43336 (a link called `outbox`), langchain-ai/deepagentsjs#633
        // (a link in the middle of a path), cosmicstack-labs/mercury-agent#127 (a file that is not there yet).
        for (path, real, is_directory) in [
            ("outbox", "outbox", true),
            ("link", "outbox", true),
            ("link/new.eml", "outbox/new.eml", false),
            ("link/new/deep.eml", "outbox/new/deep.eml", false),
            ("outbox/sub/back/sub", "outbox/sub", true),
            ("nowhere/x", "nowhere/x", false),
        ] {
            let found = locate(&at(path));
            assert_eq!(found.path, at(real), "{path}");
            assert_eq!(found.id, id(real).filter(|_| is_directory), "{path}");
            let in_spool = real.starts_with("outbox/");
            assert_eq!(found.above.contains(&id("outbox").unwrap()), in_spool, "{path}");
        }
        // A change of a link changes the link.
        let changed = locate_entry(&at("link"));
        assert_eq!((changed.path, changed.id), (at("link"), None));
        assert_eq!(locate_entry(&at("link/a.eml")).path, at("outbox/a.eml"));
        assert_eq!(locate_entry(&at("outbox/sub")).id, id("outbox/sub"));
    }
}
