//! The first state of a staged copy in which programs work, and the changes since.
//!
//! The state is a file beside the copy. It is complete before the run starts. So a killed daemon loses no change: the
//! changes are the difference between the copy and this file.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use kernel::BlobHash;
use passable::visible_line;

use crate::path::{Plain, Purpose, is_temporary};
use crate::undo::PathState;

/// The suffix of the file beside the copy.
const SUFFIX: &str = ".base";

/// The maximum number of files and directories in a copy when its changes are looked for.
const MAX_ENTRIES: usize = 1_000_000;

/// The state of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EntryBase {
    kind: EntryKind,
    /// The permissions.
    mode: u32,
    /// The size, inode and time of change of a file. If they are the same, so is the content.
    mark: (u64, u64, i128),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryKind {
    File(BlobHash),
    Directory,
    /// A symbolic link, with the digest of its target.
    Link(BlobHash),
    /// A pipe, a socket or a device.
    Other,
}

/// The first state of a staged copy.
pub struct StageBase {
    entries: BTreeMap<OsString, EntryBase>,
}

/// A change in a staged copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageChange {
    /// The path from the root of the copy.
    pub path: String,
    /// The state when the copy was made.
    pub before: PathState,
    /// The state now.
    pub after: PathState,
}

/// The changes in a staged copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageChanges {
    /// The changes, entries of a directory before the directory.
    pub changes: Vec<StageChange>,
    /// Descriptions of changes that cannot be applied, such as new symbolic links.
    pub beyond: Vec<String>,
}

impl StageBase {
    /// Returns whether a copy has a recorded first state, because programs work in it.
    pub fn is_recorded(stage: &Path) -> bool {
        file(stage).exists()
    }

    /// Removes the record, if there is one.
    pub(super) fn remove(stage: &Path) {
        // Without its copy, a record that stays has no meaning.
        let _ = fs::remove_file(file(stage));
    }

    /// Records the present state of a new copy.
    pub(super) fn record(stage: &Path) -> io::Result<()> {
        let place = file(stage);
        let mut out = io::BufWriter::new(fs::File::create(&place)?);
        for (path, now) in entries(stage)? {
            let kind = kind(&stage.join(&path), &now)?;
            let entry = EntryBase { kind, mode: now.mode(), mark: mark(&now) };
            writeln!(out, "{}", entry.line(&path))?;
        }
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }

    /// Reads the record of a copy.
    ///
    /// # Errors
    /// When there is no record, or it cannot be read.
    pub fn read(stage: &Path) -> io::Result<StageBase> {
        let mut entries = BTreeMap::new();
        for line in BufReader::new(fs::File::open(file(stage))?).lines() {
            let (path, entry) = EntryBase::read(&line?).ok_or(io::ErrorKind::InvalidData)?;
            entries.insert(path, entry);
        }
        Ok(StageBase { entries })
    }

    /// Returns the changes in the copy since then.
    ///
    /// # Errors
    /// When the copy cannot be read.
    pub fn changes(mut self, stage: &Path) -> io::Result<StageChanges> {
        let mut found = StageChanges::default();
        for (path, meta) in entries(stage)? {
            let base = self.entries.remove(&path);
            if let Some(base) = &base
                && matches!(base.kind, EntryKind::File(_))
                && meta.is_file()
                && base.mark == mark(&meta)
            {
                continue;
            }
            let now = kind(&stage.join(&path), &meta)?;
            let before = base.as_ref().map(|base| base.kind);
            if before != Some(now) {
                found.note(&path, before, Some(now));
            } else if base.is_some_and(|base| base.mode != meta.mode() && !meta.is_symlink()) {
                found.beyond.push(format!("`{}`: only its permissions were changed", shown(&path)));
            }
        }
        for (path, base) in self.entries {
            found.note(&path, Some(base.kind), None);
        }
        // The entries of a directory come before the directory, so that it is empty when it is removed.
        found.changes.sort_by(|one, other| other.path.cmp(&one.path));
        Ok(found)
    }
}

impl StageChanges {
    fn note(&mut self, path: &OsStr, before: Option<EntryKind>, after: Option<EntryKind>) {
        let state = |kind: Option<EntryKind>| match kind {
            None => Some(PathState::Nothing),
            Some(EntryKind::File(digest)) => Some(PathState::File(digest)),
            Some(EntryKind::Directory) => Some(PathState::Directory),
            Some(EntryKind::Link(_) | EntryKind::Other) => None,
        };
        let shown = shown(path);
        let plain = path.to_str().filter(|path| Plain::check(path, Purpose::Look).is_ok());
        let why = match (plain, state(before), state(after)) {
            (Some(path), Some(before), Some(after)) => {
                let is_swap = matches!(
                    (before, after),
                    (PathState::File(_), PathState::Directory) | (PathState::Directory, PathState::File(_))
                );
                if !is_swap {
                    self.changes.push(StageChange { path: path.to_owned(), before, after });
                    return;
                }
                "a file and a directory changed places"
            }
            (None, ..) => "its name cannot be applied",
            _ => match (before, after) {
                (_, Some(EntryKind::Link(_))) => "it is a symbolic link now",
                (Some(EntryKind::Link(_)), _) => "it was a symbolic link",
                _ => "it is a pipe, a socket or a device",
            },
        };
        self.beyond.push(format!("`{shown}`: {why}"));
    }
}

impl EntryBase {
    fn line(&self, path: &OsStr) -> String {
        let (size, inode, changed) = self.mark;
        let (letter, digest) = match self.kind {
            EntryKind::File(digest) => ('f', digest.to_string()),
            EntryKind::Link(digest) => ('l', digest.to_string()),
            EntryKind::Directory => ('d', String::new()),
            EntryKind::Other => ('o', String::new()),
        };
        format!("{letter} {} {size} {inode} {changed} {digest} {}", self.mode, encoded(path))
    }

    fn read(line: &str) -> Option<(OsString, EntryBase)> {
        let mut words = line.split(' ');
        let letter = words.next()?;
        let mode = words.next()?.parse().ok()?;
        let mark = (words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let digest = words.next()?;
        let kind = match letter {
            "f" => EntryKind::File(digest.parse().ok()?),
            "l" => EntryKind::Link(digest.parse().ok()?),
            "d" => EntryKind::Directory,
            "o" => EntryKind::Other,
            _ => return None,
        };
        Some((decoded(words.next()?)?, EntryBase { kind, mode, mark }))
    }
}

/// Returns the file with the record of a copy.
fn file(stage: &Path) -> PathBuf {
    let mut name = stage.as_os_str().to_owned();
    name.push(SUFFIX);
    name.into()
}

fn shown(path: &OsStr) -> String {
    path.to_str()
        .map_or_else(|| path.as_bytes().escape_ascii().to_string(), |path| visible_line(path).into_owned())
}

/// Returns a path without spaces and line breaks.
fn encoded(path: &OsStr) -> String {
    let mut out = String::new();
    for byte in path.as_bytes() {
        match byte {
            b'!'..=b'~' if *byte != b'%' => out.push(char::from(*byte)),
            _ => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

fn decoded(text: &str) -> Option<OsString> {
    let mut path = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            path.push(*first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        path.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = behind;
    }
    Some(OsString::from_vec(path))
}

/// Returns every entry of a copy with its path, following no link. Almoner's temporary files are left out.
fn entries(stage: &Path) -> io::Result<Vec<(OsString, fs::Metadata)>> {
    let mut all = Vec::new();
    let mut ways = vec![PathBuf::new()];
    while let Some(way) = ways.pop() {
        for entry in fs::read_dir(stage.join(&way))? {
            let entry = entry?;
            let meta = entry.metadata()?;
            let path = way.join(entry.file_name());
            if entry.file_name().to_str().is_some_and(is_temporary) {
                continue;
            }
            if all.len() == MAX_ENTRIES {
                return Err(io::ErrorKind::QuotaExceeded.into());
            }
            if meta.is_dir() {
                ways.push(path.clone());
            }
            all.push((path.into_os_string(), meta));
        }
    }
    Ok(all)
}

fn mark(meta: &fs::Metadata) -> (u64, u64, i128) {
    let changed = i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec());
    (meta.len(), meta.ino(), changed)
}

fn kind(path: &Path, meta: &fs::Metadata) -> io::Result<EntryKind> {
    Ok(match meta.file_type() {
        kind if kind.is_dir() => EntryKind::Directory,
        kind if kind.is_symlink() => {
            EntryKind::Link(BlobHash::of(fs::read_link(path)?.as_os_str().as_bytes()))
        }
        kind if kind.is_file() => {
            let mut hasher = blake3::Hasher::new();
            let mut file = fs::File::open(path)?;
            let mut chunk = vec![0; 256 << 10];
            loop {
                match file.read(&mut chunk)? {
                    0 => break EntryKind::File(BlobHash(*hasher.finalize().as_bytes())),
                    count => drop(hasher.update(&chunk[..count])),
                }
            }
        }
        _ => EntryKind::Other,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::super::{StageUse, make, remove};
    use super::*;

    #[test]
    fn changes_are_the_difference_to_the_first_state() {
        let base = tempfile::tempdir().unwrap();
        let (real, stage) = (base.path().join("real"), base.path().join("stages/1"));
        for (path, text) in [
            ("kept.md", "kept"),
            ("in place.md", "old"),
            ("gone/a.md", "a"),
            ("sub/same size", "1234"),
            ("run.sh", "sh"),
            ("odd %20\n.md", "x"),
        ] {
            let path = real.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink("kept.md", real.join("link")).unwrap();
        make(&real, &stage, StageUse::Programs).unwrap();
        let changes = || StageBase::read(&stage).unwrap().changes(&stage).unwrap();
        assert_eq!(changes(), StageChanges::default());
        // A program writes into the file itself, and the real file stays as it is.
        fs::write(stage.join("in place.md"), "new").unwrap();
        fs::write(stage.join("sub/same size"), "4321").unwrap();
        fs::write(stage.join("kept.md"), "kept").unwrap();
        fs::remove_dir_all(stage.join("gone")).unwrap();
        fs::create_dir_all(stage.join("made/deep")).unwrap();
        fs::write(stage.join("made/deep/b.md"), "b").unwrap();
        fs::set_permissions(stage.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("/etc/passwd", stage.join("made/link")).unwrap();
        fs::write(stage.join("odd %20\n.md"), "y").unwrap();
        fs::remove_file(stage.join("link")).unwrap();
        assert_eq!(fs::read_to_string(real.join("in place.md")).unwrap(), "old");
        let StageChanges { changes, mut beyond } = changes();
        let file = |text: &str| PathState::File(BlobHash::of(text.as_bytes()));
        let expected = [
            ("sub/same size", file("1234"), file("4321")),
            ("made/deep/b.md", PathState::Nothing, file("b")),
            ("made/deep", PathState::Nothing, PathState::Directory),
            ("made", PathState::Nothing, PathState::Directory),
            ("in place.md", file("old"), file("new")),
            ("gone/a.md", file("a"), PathState::Nothing),
            ("gone", PathState::Directory, PathState::Nothing),
        ];
        let expected =
            expected.map(|(path, before, after)| StageChange { path: path.to_owned(), before, after });
        assert_eq!(changes, expected);
        beyond.sort();
        assert_eq!(
            beyond,
            [
                "`link`: it was a symbolic link",
                "`made/link`: it is a symbolic link now",
                "`odd %20\\u{A}.md`: its name cannot be applied",
                "`run.sh`: only its permissions were changed",
            ]
        );
        remove(&stage);
        assert_eq!(fs::read_dir(base.path().join("stages")).unwrap().count(), 0);
    }
}
