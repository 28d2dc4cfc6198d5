//! The walk through a directory and everything below it, as far as its holder may see. No link is followed on the way
//! down, so no entry is met twice, and none lies outside.

use std::io;
use std::ops::ControlFlow;
use std::time::UNIX_EPOCH;

use cap_std::fs::{Dir, Metadata};
use kernel::proposal::Finding;
use policy::protected::{ProtectionReason, protected, protected_directory};

use super::Limits;
use super::ignore_rules::IgnoreRules;
use super::omissions::{Omissions, Reason};
use crate::path::{Plain, Purpose, is_temporary};
use crate::walk::{self, Kind};

/// The maximum number of entries that one walk meets.
pub(super) const MAX_ENTRIES: usize = 500_000;

/// An entry of the tree.
pub(super) struct Entry {
    /// The path of the entry from the root.
    pub(super) path: String,
    /// The kind of the entry itself; a link is a link.
    pub(super) kind: Kind,
    /// The size of the entry in bytes.
    pub(super) bytes: u64,
    /// The time of the last change, in nanoseconds since 1970.
    pub(super) modified: i64,
}

/// The extent of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Everything.
    All,
    /// Everything but what [`IgnoreRules`] leave out. The start itself is never left out.
    Tracked,
}

/// The result of a walk.
#[derive(Debug, Default)]
pub(super) struct WalkReport {
    /// The entries that were left out.
    pub(super) omitted: Omissions,
    /// Whether there are more than [`MAX_ENTRIES`] entries, so that some were not met.
    pub(super) is_cut: bool,
}

/// Visits everything below `start` (`.` for the root) in order, each directory before its contents. Almoner's
/// temporary files are left out without a note. Names that `read` would refuse are counted. A directory for which
/// `is_closed` holds is visited, and what is in it is not.
pub(super) fn walk(
    root: &Dir,
    start: &str,
    extent: Extent,
    limits: &Limits,
    is_closed: &dyn Fn(&str) -> bool,
    see: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
) -> Result<WalkReport, io::Error> {
    let mut report = WalkReport::default();
    let rules = match extent {
        Extent::All => IgnoreRules::default(),
        Extent::Tracked => IgnoreRules::above(root, start),
    };
    let mut ways = vec![(start.to_owned(), rules)];
    let mut met = 0;
    while let Some((way, rules)) = ways.pop() {
        let entries = match root.read_dir(&way) {
            Ok(entries) => entries,
            // The run asked for the start, so it learns why it cannot be read.
            Err(error) if way == start => return Err(error),
            // A directory that vanishes meanwhile does not exist for the run.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => {
                report.omitted.note(Reason::Unreadable, &format!("{way}/"));
                continue;
            }
        };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            met += 1;
            if met > MAX_ENTRIES {
                report.is_cut = true;
                break;
            }
            let name = entry.file_name();
            let place =
                name.to_str().map(|name| if way == "." { name.to_owned() } else { format!("{way}/{name}") });
            if name.to_str().is_some_and(is_temporary) {
                continue;
            }
            let Ok(meta) = entry.metadata() else { continue };
            let kind = kind(&meta);
            let Some(path) = place.filter(|path| Plain::check(path, Purpose::Look).is_ok()) else {
                // A file that the grant does not cover is not mentioned either.
                if kind == Kind::Directory || limits.cover(&name.to_string_lossy(), meta.len()) {
                    report.omitted.note_unnameable(&way, &name);
                }
                continue;
            };
            found.push(Entry { path, kind, bytes: meta.len(), modified: modified(&meta) });
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let mut rules = rules;
        if extent == Extent::Tracked {
            let names = found.iter().map(|entry| entry.path.rsplit('/').next().unwrap_or_default());
            if way != start && IgnoreRules::is_marked(names) {
                report.omitted.note(Reason::Ignored, &format!("{way}/"));
                continue;
            }
            if found.iter().any(|entry| entry.path.rsplit('/').next() == Some(super::ignore_rules::FILE)) {
                rules = rules.within(root, &way);
            }
            found.retain(|entry| {
                let is_directory = entry.kind == Kind::Directory;
                let is_left_out = rules.leave_out(&entry.path, is_directory);
                // A file that the grant does not cover is not mentioned either.
                if is_left_out && (is_directory || limits.cover(&entry.path, entry.bytes)) {
                    let slash = if is_directory { "/" } else { "" };
                    report.omitted.note(Reason::Ignored, &format!("{}{slash}", entry.path));
                }
                !is_left_out
            });
        }
        for entry in &found {
            if see(entry).is_break() {
                return Ok(report);
            }
        }
        if report.is_cut {
            break;
        }
        let below = found.into_iter().filter(|entry| entry.kind == Kind::Directory);
        let below = below.filter(|entry| {
            let is_closed = is_closed(&entry.path);
            if is_closed {
                report.omitted.note(Reason::KeyDirectory, &format!("{}/", entry.path));
            }
            !is_closed
        });
        let below: Vec<_> = below.map(|entry| (entry.path, rules.clone())).collect();
        ways.extend(below.into_iter().rev());
    }
    Ok(report)
}

fn kind(meta: &Metadata) -> Kind {
    match meta.file_type() {
        kind if kind.is_file() => Kind::File,
        kind if kind.is_dir() => Kind::Directory,
        kind if kind.is_symlink() => Kind::Link,
        _ => Kind::Other,
    }
}

/// Returns the time of the last change, in nanoseconds since 1970, or 0 if it is not known.
pub(super) fn modified(meta: &Metadata) -> i64 {
    let Ok(time) = meta.modified() else { return 0 };
    match time.into_std().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    }
}

/// Returns whether the name of a path says that it holds keys. `names` are the absolute paths of the root.
pub(super) fn holds_keys(names: &[String], path: &str) -> bool {
    let is_key = |path: &str| protected(path) == Some(ProtectionReason::Keys);
    is_key(path) || names.iter().any(|root| is_key(&format!("{root}/{path}")))
}

/// The directory in which a walk starts.
pub(super) struct WalkStart<'a> {
    /// The path as the call names it; `.` for the root.
    path: &'a str,
    /// The path with all links followed, if that is another one.
    resolved: Option<String>,
}

impl<'a> WalkStart<'a> {
    pub(super) fn look(root: &Dir, path: &'a str) -> WalkStart<'a> {
        let resolved = walk::look(root, path).ok().map(|found| found.resolved);
        WalkStart { path, resolved: resolved.filter(|resolved| path != "." && resolved != path) }
    }

    /// Returns the path to which the links in the path of an entry lead, if that is another one. The entry must lie
    /// at the start or below it.
    pub(super) fn leads_to(&self, entry: &str) -> Option<String> {
        let rest = entry.strip_prefix(self.path)?;
        self.resolved.as_ref().map(|resolved| format!("{resolved}{rest}"))
    }

    /// Returns whether the name of an entry, or the path to which it leads, says that it holds keys.
    pub(super) fn holds_keys(&self, names: &[String], entry: &str) -> bool {
        holds_keys(names, entry) || self.leads_to(entry).is_some_and(|entry| holds_keys(names, &entry))
    }

    /// Returns whether a directory, or the one to which it leads, holds nothing but keys by its name.
    pub(super) fn is_closed(&self, names: &[String], entry: &str) -> bool {
        let holds_keys = |path: &str| protected_directory(path) == Some(ProtectionReason::Keys);
        let is_of_keys = |entry: &str| {
            holds_keys(entry) || names.iter().any(|root| holds_keys(&format!("{root}/{entry}")))
        };
        is_of_keys(entry) || self.leads_to(entry).is_some_and(|entry| is_of_keys(&entry))
    }

    /// Returns whether the start itself lies in a directory of keys. The gates then judge it. The root is never one,
    /// because a person named it.
    pub(super) fn is_of_keys(&self, names: &[String]) -> bool {
        self.path != "." && self.holds_keys(names, self.path)
    }
}

/// Returns whether a hint may name a path, which no gate has judged. It names directories and files that the grant
/// covers, and nothing that holds keys.
pub(super) fn is_nameable(root: &Dir, names: &[String], path: &str, limits: &Limits) -> bool {
    let Ok(found) = walk::look(root, path) else { return false };
    let is_known = match found.kind {
        Kind::Directory => true,
        Kind::File => limits.cover(path, found.bytes) && limits.fit_name(&found.resolved),
        _ => false,
    };
    is_known && !holds_keys(names, path) && !holds_keys(names, &found.resolved)
}

/// Returns the error about a path that its holder may know. Where a directory is expected, a file that the grant does
/// not cover does not exist for the holder.
pub(super) fn known(root: &Dir, path: &str, error: io::Error, limits: &Limits) -> io::Error {
    if error.kind() != io::ErrorKind::NotADirectory {
        return error;
    }
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let mut found = ends.filter_map(|end| Some((&path[..end], walk::look(root, path.get(..end)?).ok()?)));
    let blocking = found.find(|(_, found)| found.kind != Kind::Directory);
    let is_known = blocking.is_some_and(|(path, found)| {
        found.kind == Kind::File && limits.cover(path, found.bytes) && limits.fit_name(&found.resolved)
    });
    if is_known { error } else { io::ErrorKind::NotFound.into() }
}

/// Returns the finding that there are more entries than one walk meets.
pub(super) fn too_many(doing: &str, at: &str, narrower: &'static str) -> Finding {
    let what = format!("could not {doing}: there are more than {MAX_ENTRIES} files and directories");
    Finding::new("dir/many", what)
        .at(at)
        .counter_example(format!("more than {MAX_ENTRIES}"))
        .allowed(narrower)
}
