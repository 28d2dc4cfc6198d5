//! The facts of a call before it is made: the paths that it names, their present state, and its problems.

use std::collections::BTreeSet;
use std::io;

use kernel::id::BlobHash;
use kernel::proposal::{Finding, Pin};
use policy::{Facts, KeySighting, Overwrite, PathFact};

use super::call::{self, Call};
use super::edit::Edit;
use super::glob::PathSearch;
use super::grep::{Search, Selection};
use super::range::Range;
use super::relocate::{self, EntryState};
use super::{DirCapability, FILE, FUTURE_FILE, append, look_alike, read, shown, stat, tree, write};
use crate::path::Plain;
use crate::walk;

/// Returns the fact of a path that an argument names.
fn named(argument: &str, path: &str, bytes: Option<u64>) -> PathFact {
    PathFact { argument: argument.to_owned(), path: path.to_owned(), leads_to: None, bytes }
}

/// Returns the fact of a path that was looked up.
fn found(path: &str, found: &walk::FoundEntry) -> PathFact {
    let leads_to = (found.resolved != path).then(|| found.resolved.clone());
    PathFact { leads_to, ..named("path", path, Some(found.bytes)) }
}

fn file_pin(path: &Plain, digest: Option<BlobHash>) -> Pin {
    Pin { kind: FILE.to_owned(), name: path.as_str().to_owned(), digest }
}

impl DirCapability {
    /// Returns the facts of a call. `slot` is the name of the directory on the card.
    pub(super) fn facts_of(&self, call: &Call<'_>, slot: &str) -> Facts {
        match call {
            Call::List { path, .. } => {
                let place = path.as_ref().map_or_else(String::new, |path| format!("{}/ in ", shown(path)));
                let at = path.as_ref().map_or("", Plain::as_str);
                let leads_to = walk::look(&self.root, at).ok().map(|found| found.resolved);
                let leads_to = leads_to.filter(|resolved| !at.is_empty() && resolved != at);
                let listed = PathFact { leads_to, ..named("path", at, None) };
                Facts { line: format!("lists {place}`{slot}`"), paths: vec![listed], ..Facts::default() }
            }
            Call::Read { path, range } => self.facts_of_read(slot, path, *range),
            Call::Stat { path } => {
                let mut facts =
                    Facts { line: format!("looks at {} in `{slot}`", shown(path)), ..Facts::default() };
                match stat::look(&self.root, path, &self.limits) {
                    Ok(there) => {
                        facts.paths.push(found(path.as_str(), &there));
                        facts.certificates.extend(self.certificate(path.as_str(), &there));
                    }
                    Err(finding) => facts.problems.push(finding),
                }
                facts
            }
            Call::Glob { search } => self.facts_of_glob(slot, search),
            Call::Grep { path, search } => self.facts_of_grep(slot, path.as_ref(), search),
            Call::Write { path, content } => self.facts_of_write(slot, path, content),
            Call::Append { path, content } => self.facts_of_append(slot, path, content),
            Call::Edit { path, edit } => self.facts_of_edit(slot, path, edit),
            Call::Move { from, to } => self.facts_of_move(slot, from, to),
            Call::Remove { path } => self.facts_of_remove(slot, path),
            Call::MakeDirectory { path } => self.facts_of_make(slot, path),
        }
    }

    fn facts_of_read(&self, slot: &str, path: &Plain, range: Range) -> Facts {
        let part = match range {
            Range::All => "",
            Range::Lines { .. } => "lines of ",
            Range::Bytes { .. } => "bytes of ",
        };
        let mut facts =
            Facts { line: format!("reads {part}{} in `{slot}`", shown(path)), ..Facts::default() };
        match read::look(&self.root, path, &self.limits) {
            Ok(there) => {
                facts.line.push_str(&format!(" ({} bytes)", there.bytes));
                facts.paths.push(found(path.as_str(), &there));
                facts.certificates.extend(self.certificate(path.as_str(), &there));
                facts.keys.extend(self.key_sighting(path.as_str(), &there, range));
            }
            Err(finding) => facts.problems.push(finding),
        }
        facts
    }

    /// Returns the key that stands in a file of which a call reads a part.
    fn key_sighting(&self, path: &str, found: &walk::FoundEntry, range: Range) -> Option<KeySighting> {
        let kind = read::key(&self.root, found, range)?;
        Some(KeySighting { argument: "path".to_owned(), source: path.to_owned(), kind })
    }

    /// Returns a path if the file there has the ending of keys, and holds only certificates.
    fn certificate(&self, path: &str, found: &walk::FoundEntry) -> Option<String> {
        let has_ending = |name: &str| name.to_ascii_lowercase().ends_with(".pem");
        let is_certificate = found.kind == walk::Kind::File
            && (has_ending(path) || has_ending(&found.resolved))
            && read::is_certificate(&self.root, found);
        is_certificate.then(|| path.to_owned())
    }

    fn facts_of_glob(&self, slot: &str, search: &PathSearch) -> Facts {
        let mut facts = Facts { line: format!("looks for paths in `{slot}`"), ..Facts::default() };
        match search.run(&self.root, &self.names, &self.limits) {
            // The facts list every directory whose names are read, so a run learns no name in a directory that it may
            // not list.
            Ok(found) => facts.paths.extend(
                found
                    .seen
                    .into_iter()
                    .map(|(path, leads_to)| PathFact { leads_to, ..named("pattern", &path, None) }),
            ),
            Err(finding) => facts.problems.push(finding),
        }
        facts
    }

    fn facts_of_grep(&self, slot: &str, path: Option<&Plain>, search: &Search) -> Facts {
        let place = path.map_or_else(String::new, |path| format!("{} in ", shown(path)));
        let mut facts = Facts { line: format!("searches {place}`{slot}`"), ..Facts::default() };
        match search.files(&self.root, &self.names, &self.limits) {
            Err(finding) => facts.problems.push(finding),
            Ok(Selection { files, .. }) => {
                let start = path.map_or("", Plain::as_str);
                facts.paths.push(match walk::look(&self.root, if start.is_empty() { "." } else { start }) {
                    Ok(there) if !start.is_empty() => {
                        // A search of a directory leaves out the files with keys.
                        if there.kind == walk::Kind::File {
                            facts.certificates.extend(self.certificate(start, &there));
                            facts.keys.extend(self.key_sighting(start, &there, Range::All));
                        }
                        found(start, &there)
                    }
                    _ => named("path", start, None),
                });
                // Each searched file is judged like a file that is read.
                facts.paths.extend(
                    files
                        .iter()
                        .filter(|file| file.path != start)
                        .map(|file| named("path", &file.path, None)),
                );
            }
        }
        facts
    }

    /// Returns the problems of any change at a path, independent of its present state.
    fn problems_of(&self, path: &Plain) -> Vec<Finding> {
        let checks = [self.check_writable(), self.limits.check_name(path.as_str())];
        checks.into_iter().filter_map(Result::err).collect()
    }

    /// Returns the problems of a new entry: a name that nobody sees, or one that looks like another. `moved` is the
    /// entry that would get the name.
    pub(super) fn problems_of_new(
        &self,
        path: &Plain,
        is_directory: bool,
        moved: Option<&Plain>,
        at: &str,
    ) -> Vec<Finding> {
        let twin = look_alike::twin(&self.root, &self.names, &self.limits, path, is_directory, moved, at);
        call::visible(path).err().map(|finding| finding.at(at)).into_iter().chain(twin).collect()
    }

    fn facts_of_write(&self, slot: &str, path: &Plain, content: &str) -> Facts {
        let bytes = content.len() as u64;
        let mut facts = Facts { bytes: Some(bytes), problems: self.problems_of(path), ..Facts::default() };
        facts.problems.extend(self.limits.check_bytes(path.as_str(), bytes).err());
        if !self.limits.fit_name(path.as_str()) {
            // A file that the grant does not cover is not described.
            facts.line = format!("writes {} in `{slot}` ({bytes} bytes; cannot be written)", shown(path));
            return facts;
        }
        let state = match write::look(&self.root, path, &self.limits) {
            Err(finding) => {
                facts.problems.push(finding);
                "cannot be written".to_owned()
            }
            Ok(before) => {
                let now = before.present.as_ref();
                let there = now.map(|present| present.bytes);
                facts.problems.extend(self.limits.check_total(&self.root, bytes, there.unwrap_or(0)).err());
                facts.pins = BTreeSet::from([file_pin(path, now.map(|present| present.digest))]);
                facts.paths.push(named("path", path.as_str(), there));
                if now.is_none() {
                    facts.problems.extend(self.problems_of_new(path, false, None, "path"));
                }
                match now {
                    None if before.has_parent => "new file".to_owned(),
                    None => "new file in a new folder".to_owned(),
                    Some(present) if present.digest == BlobHash::of(content.as_bytes()) => {
                        "already there, the same".to_owned()
                    }
                    Some(present) => {
                        facts.overwrites = Some(Overwrite {
                            path: path.as_str().to_owned(),
                            digest: present.digest,
                            bytes: present.bytes,
                        });
                        format!("replaces {} bytes", present.bytes)
                    }
                }
            }
        };
        facts.line = format!("writes {} in `{slot}` ({bytes} bytes; {state})", shown(path));
        facts
    }

    fn facts_of_append(&self, slot: &str, path: &Plain, content: &str) -> Facts {
        if !self.limits.fit_name(path.as_str()) {
            // A file that the grant does not cover is not described.
            let line = format!("appends to {} in `{slot}` (cannot be written)", shown(path));
            let bytes = Some(content.len() as u64);
            return Facts { line, bytes, problems: self.problems_of(path), ..Facts::default() };
        }
        let added = append::added(&self.root, path, content, &self.limits);
        let bytes = added.as_ref().map_or(content.len(), |added| added.len()) as u64;
        let mut facts = Facts { bytes: Some(bytes), problems: self.problems_of(path), ..Facts::default() };
        facts.problems.extend(added.err());
        let state = match write::look(&self.root, path, &self.limits) {
            Err(finding) => {
                facts.problems.push(finding);
                "cannot be written".to_owned()
            }
            Ok(before) => {
                let now = before.present.as_ref();
                let there = now.map_or(0, |present| present.bytes);
                let whole = there.saturating_add(bytes);
                facts.problems.extend(self.limits.check_bytes(path.as_str(), whole).err());
                facts.problems.extend(self.limits.check_total(&self.root, whole, there).err());
                facts.pins = BTreeSet::from([file_pin(path, now.map(|present| present.digest))]);
                facts.paths.push(named("path", path.as_str(), now.map(|present| present.bytes)));
                if now.is_none() {
                    facts.problems.extend(self.problems_of_new(path, false, None, "path"));
                }
                match now {
                    None => "new file".to_owned(),
                    Some(_) => format!("behind {there} bytes"),
                }
            }
        };
        facts.line = format!("appends to {} in `{slot}` ({bytes} bytes; {state})", shown(path));
        facts
    }

    fn facts_of_edit(&self, slot: &str, path: &Plain, edit: &Edit<'_>) -> Facts {
        let mut facts = Facts { problems: self.problems_of(path), ..Facts::default() };
        // A file that the grant does not cover is not described.
        let edited = match facts.problems.is_empty() {
            true => edit.preview(&self.root, path, &self.limits, self.shows_lines(path)),
            false => {
                facts.line = format!("edits {} in `{slot}` (cannot be edited)", shown(path));
                return facts;
            }
        };
        let state = match (edited, self.digest_of_keys(path, edit)) {
            (Err(finding), Some(digest)) => {
                // Even the answer that the text does not stand there tells something, so a person is asked first.
                facts.pins = BTreeSet::from([file_pin(path, Some(digest))]);
                facts.paths.push(named("path", path.as_str(), None));
                let there = walk::look(&self.root, path.as_str()).ok();
                facts
                    .keys
                    .extend(there.and_then(|there| self.key_sighting(path.as_str(), &there, Range::All)));
                format!("nothing would change: {}", finding.message)
            }
            (Err(finding), None) => {
                facts.problems.push(finding);
                // A policy may forbid to read the file, and then forbids this answer too.
                facts.paths.push(named("path", path.as_str(), None));
                "cannot be edited".to_owned()
            }
            (Ok(edited), _) => {
                let becomes = Some(BlobHash::of(&edited.whole));
                facts.pins = BTreeSet::from([
                    file_pin(path, Some(edited.digest)),
                    Pin { kind: FUTURE_FILE.to_owned(), name: path.as_str().to_owned(), digest: becomes },
                ]);
                facts.paths.push(named("path", path.as_str(), Some(edited.before)));
                facts.bytes = Some(edited.whole.len() as u64);
                let places = if edited.places == 1 { "place" } else { "places" };
                format!("{} {places}; {} → {} bytes", edited.places, edited.before, edited.whole.len())
            }
        };
        facts.line = format!("edits {} in `{slot}` ({state})", shown(path));
        facts
    }

    /// Returns whether a file holds keys, by its name or its content.
    pub(super) fn holds_keys(&self, path: &Plain) -> bool {
        let has_key = |there| read::key(&self.root, &there, Range::All).is_some();
        tree::holds_keys(&self.names, path.as_str())
            || walk::look(&self.root, path.as_str())
                .is_ok_and(|there| there.kind == walk::Kind::File && has_key(there))
    }

    /// Returns the digest of a file of keys whose content decides what comes of an edit.
    fn digest_of_keys(&self, path: &Plain, edit: &Edit<'_>) -> Option<BlobHash> {
        if edit.check().is_err() || !self.holds_keys(path) {
            return None;
        }
        let there = write::look(&self.root, path, &self.limits).ok()?;
        there.present.map(|present| present.digest)
    }

    /// Returns the present state of an entry to move or to remove. Below a file that the grant does not cover, there is
    /// nothing for the holder.
    fn entry(&self, path: &Plain, doing: &str, at: &str) -> Result<EntryState, Finding> {
        let known = |error| tree::known(&self.root, path.as_str(), error, &self.limits);
        match walk::parent(&self.root, path).map_err(known) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(EntryState::Nothing),
            _ => relocate::look(&self.root, path, doing, at, &self.limits),
        }
    }

    fn facts_of_move(&self, slot: &str, from: &Plain, to: &Plain) -> Facts {
        let line = format!("moves {} to {} in `{slot}`", shown(from), shown(to));
        let mut facts = Facts { line, problems: self.problems_of(from), ..Facts::default() };
        let named_to = self.limits.check_name(to.as_str());
        if !self.limits.fit_name(from.as_str()) || named_to.is_err() {
            // Files that the grant does not cover are not described.
            facts.problems.extend(named_to.err());
            return facts;
        }
        let there = self.entry(from, "move", "from");
        let there = there.and_then(|there| movable(from, there));
        let new = relocate::look(&self.root, to, "move to", "to", &self.limits);
        let new = new.and_then(|new| free(to, new));
        match (there, new) {
            (Ok((digest, bytes)), Ok(())) => {
                facts.pins = BTreeSet::from([file_pin(from, Some(digest)), file_pin(to, None)]);
                facts.paths = vec![named("from", from.as_str(), Some(bytes)), named("to", to.as_str(), None)];
                facts.problems.extend(self.problems_of_new(to, false, Some(from), "to"));
                facts.line.push_str(&format!(" ({bytes} bytes)"));
            }
            (there, new) => facts.problems.extend([there.err(), new.err()].into_iter().flatten()),
        }
        facts
    }

    fn facts_of_remove(&self, slot: &str, path: &Plain) -> Facts {
        let mut facts = Facts { problems: self.problems_of_removal(path), ..Facts::default() };
        if facts.problems.iter().any(|finding| finding.rule == "dir/suffix") {
            // A file that the grant does not cover is not described.
            facts.line = format!("removes {} in `{slot}` (cannot be removed)", shown(path));
            return facts;
        }
        let there = self.entry(path, "remove", "path");
        let there = there.and_then(|there| self.removable(path, there));
        let state = match there {
            Err(finding) => {
                facts.problems.push(finding);
                "cannot be removed".to_owned()
            }
            Ok(there) => {
                facts.pins = BTreeSet::from([there.pin(path)]);
                match there {
                    EntryState::File(digest, bytes) => {
                        facts.paths.push(named("path", path.as_str(), Some(bytes)));
                        let path = path.as_str().to_owned();
                        facts.overwrites = Some(Overwrite { path, digest, bytes });
                        format!("{bytes} bytes")
                    }
                    _ => {
                        facts.paths.push(named("path", path.as_str(), None));
                        "an empty folder".to_owned()
                    }
                }
            }
        };
        facts.line = format!("removes {} in `{slot}` ({state})", shown(path));
        facts
    }

    /// Returns the problems of a removal at a path. The limit on suffixes does not apply to a directory.
    pub(super) fn problems_of_removal(&self, path: &Plain) -> Vec<Finding> {
        let is_directory =
            walk::look(&self.root, path.as_str()).is_ok_and(|found| found.kind == walk::Kind::Directory);
        match is_directory {
            true => self.check_writable().err().into_iter().collect(),
            false => self.problems_of(path),
        }
    }

    /// Returns the state of a path that can be removed: a file, or an empty directory.
    fn removable(&self, path: &Plain, there: EntryState) -> Result<EntryState, Finding> {
        match there {
            EntryState::Nothing => Err(missing(path, "path")),
            EntryState::Directory if !relocate::is_empty(&self.root, path)? => Err(relocate::unfit(
                path,
                "path",
                "dir/not-empty",
                "is a directory with something in it",
                "a file, or an empty directory: remove what is in it first, one by one",
            )),
            there => Ok(there),
        }
    }

    fn facts_of_make(&self, slot: &str, path: &Plain) -> Facts {
        let mut facts = Facts::default();
        facts.problems.extend(self.check_writable().err());
        let state = match relocate::look(&self.root, path, "make", "path", &self.limits) {
            Err(finding) => {
                facts.problems.push(finding);
                "cannot be made"
            }
            Ok(EntryState::File(..)) => {
                facts.problems.push(relocate::unfit(
                    path,
                    "path",
                    "dir/exists",
                    "is a file",
                    "a path at which there is nothing",
                ));
                "cannot be made"
            }
            Ok(there) => {
                facts.pins = BTreeSet::from([there.pin(path)]);
                facts.paths.push(named("path", path.as_str(), None));
                if there == EntryState::Nothing {
                    facts.problems.extend(self.problems_of_new(path, true, None, "path"));
                }
                if there == EntryState::Directory { "already there" } else { "new" }
            }
        };
        facts.line = format!("makes the folder {} in `{slot}` ({state})", shown(path));
        facts
    }
}

fn missing(path: &Plain, at: &str) -> Finding {
    relocate::unfit(path, at, "file/missing", "is not there", "a path that `list` or `glob` shows")
}

/// Returns the digest and size of a path that can be moved: a file.
fn movable(path: &Plain, there: EntryState) -> Result<(BlobHash, u64), Finding> {
    match there {
        EntryState::File(digest, bytes) => Ok((digest, bytes)),
        EntryState::Nothing => Err(missing(path, "from")),
        EntryState::Directory => Err(relocate::unfit(
            path,
            "from",
            "dir/kind",
            "is a directory",
            "the files in it, one by one: each is judged by its own name",
        )),
    }
}

/// Checks that a file can be moved to a path: nothing must be there.
fn free(path: &Plain, there: EntryState) -> Result<(), Finding> {
    match there {
        EntryState::Nothing => Ok(()),
        _ => Err(relocate::unfit(
            path,
            "to",
            "dir/exists",
            "is there already",
            "a path at which there is nothing; what is there can be removed first",
        )),
    }
}
