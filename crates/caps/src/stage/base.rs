//! The first state of a staged copy in which programs work, and the changes since.
//!
//! The state is a file beside the copy. It is complete before the run starts. So a killed daemon loses no change: the
//! changes are the difference between the copy and this file.
//!
//! A program of another run may still work in the copy. So each entry is reached from the open directory, name by name.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use kernel::BlobHash;
use passable::visible_line;
use rustix::fs::{AtFlags, Mode};

use crate::path::{Plain, Purpose, is_temporary};
use crate::undo::PathState;
use crate::walk::{self, Kind};

/// The suffix of the file beside the copy.
const SUFFIX: &str = ".base";

/// The maximum number of files and directories in a copy when its changes are looked for.
const MAX_ENTRIES: usize = 1_000_000;

/// The maximum number of directories in each other in a copy when its changes are looked for.
const MAX_DEPTH: usize = 256;

/// The maximum length of a path in a copy, in bytes. This is the limit of file systems.
const MAX_PATH_BYTES: usize = 4096;

/// The maximum size of a file whose changes are looked for, in bytes.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// The maximum number of bytes that are read of a copy when its changes are looked for. A program can leave files that
/// have any size and take no space.
const MAX_READ_BYTES: u64 = 1 << 30;

/// The maximum number of characters of a path in a description.
const MAX_SHOWN_CHARS: usize = 200;

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
        let copy = Copy::open(stage)?;
        let CopyEntries { all, left_out } = copy.entries()?;
        if let Some((_, error)) = left_out.into_iter().next() {
            return Err(error);
        }
        for (path, now) in all {
            let kind = copy.kind(&path, &now, u64::MAX - 1)?;
            let entry = EntryBase { kind, mode: now.mode, mark: now.mark };
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

    /// Returns the changes in the copy since then. A part of the copy that cannot be read, or is too large, is left out
    /// and named.
    ///
    /// # Errors
    /// When the directory of the copy cannot be read.
    pub fn changes(self, stage: &Path) -> io::Result<StageChanges> {
        self.changes_within(stage, MAX_FILE_BYTES, MAX_READ_BYTES)
    }

    fn changes_within(mut self, stage: &Path, most: u64, most_in_all: u64) -> io::Result<StageChanges> {
        let mut found = StageChanges::default();
        let copy = Copy::open(stage)?;
        let CopyEntries { mut all, left_out } = copy.entries()?;
        for (directory, error) in &left_out {
            found.beyond.push(format!(
                "`{}` is left out with all that is in it: {}",
                shown(directory),
                reason(error)
            ));
            // The present entries of this directory are unknown, so no change is claimed of any.
            self.entries.retain(|path, _| !Path::new(path).starts_with(directory) || path == directory);
        }
        // The small files come first, so that one large file does not hide the others.
        all.sort_by_key(|(_, state)| state.bytes());
        let mut read = 0_u64;
        for (path, state) in all {
            let base = self.entries.remove(&path);
            if let Some(base) = &base
                && matches!(base.kind, EntryKind::File(_))
                && state.kind == Kind::File
                && base.mark == state.mark
            {
                continue;
            }
            if state.kind == Kind::File {
                let size = state.bytes();
                let sum = read.saturating_add(size);
                if size > most || sum > most_in_all {
                    found.beyond.push(format!("`{}`: it is too large, with {size} bytes", shown(&path)));
                    continue;
                }
                read = sum;
            }
            let now = match copy.kind(&path, &state, most) {
                Ok(now) => now,
                Err(error) => {
                    found.beyond.push(format!("`{}`: {}", shown(&path), reason(&error)));
                    continue;
                }
            };
            let before = base.as_ref().map(|base| base.kind);
            if before != Some(now) {
                found.note(&path, before, Some(now));
            } else if base.is_some_and(|base| base.mode != state.mode && state.kind != Kind::Link) {
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
    let shown = path
        .to_str()
        .map_or_else(|| path.as_bytes().escape_ascii().to_string(), |path| visible_line(path).into_owned());
    match shown.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
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

/// Returns the reason why a part of a copy cannot be read.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidFilename => "its path is too long".to_owned(),
        io::ErrorKind::PermissionDenied => "its permissions let nobody read it".to_owned(),
        io::ErrorKind::FileTooLarge => "it grows while it is read".to_owned(),
        _ => format!("it cannot be read: {error}"),
    }
}

/// The present state of one entry of a copy.
struct EntryStat {
    kind: Kind,
    mode: u32,
    /// The size, inode and time of change.
    mark: (u64, u64, i128),
}

impl EntryStat {
    fn bytes(&self) -> u64 {
        self.mark.0
    }
}

/// The entries of a copy.
struct CopyEntries {
    /// The entries, by their paths.
    all: Vec<(OsString, EntryStat)>,
    /// The directories that cannot be read, each with the reason.
    left_out: Vec<(OsString, io::Error)>,
}

/// A copy that is open.
struct Copy(OwnedFd);

impl Copy {
    fn open(stage: &Path) -> io::Result<Copy> {
        Ok(Copy(rustix::fs::open(stage, walk::DIRECTORY, Mode::empty())?))
    }

    /// Opens the directory at a path, following no link.
    fn enter(&self, way: &Path) -> io::Result<OwnedFd> {
        let mut at = walk::reopen(self.0.as_fd())?;
        for name in way {
            at = walk::step(at.as_fd(), name)?;
        }
        Ok(at)
    }

    /// Returns every entry with its path, following no link. Almoner's temporary files are not among them.
    ///
    /// # Errors
    /// When the directory of the copy cannot be read.
    fn entries(&self) -> io::Result<CopyEntries> {
        let mut found = CopyEntries { all: Vec::new(), left_out: Vec::new() };
        let mut ways = vec![(PathBuf::new(), 0)];
        while let Some((way, depth)) = ways.pop() {
            match self.read_entries(&way, depth, &mut found.all, &mut ways) {
                Ok(()) => {}
                Err(error) if way.as_os_str().is_empty() => return Err(error),
                Err(error) => found.left_out.push((way.into_os_string(), error)),
            }
        }
        Ok(found)
    }

    /// Adds the entries of one directory, and its subdirectories to `ways`.
    fn read_entries(
        &self,
        way: &Path,
        depth: usize,
        all: &mut Vec<(OsString, EntryStat)>,
        ways: &mut Vec<(PathBuf, usize)>,
    ) -> io::Result<()> {
        if way.as_os_str().len() >= MAX_PATH_BYTES || depth > MAX_DEPTH {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        // Each directory is entered from the top, so that a deep copy needs few descriptors.
        let directory = self.enter(way)?;
        for name in walk::names(directory.as_fd(), MAX_ENTRIES + 1)? {
            if name.to_str().is_ok_and(is_temporary) {
                continue;
            }
            let stat = match rustix::fs::statat(&directory, &*name, AtFlags::SYMLINK_NOFOLLOW) {
                // The entry has been removed meanwhile.
                Err(rustix::io::Errno::NOENT) => continue,
                stat => stat?,
            };
            if all.len() == MAX_ENTRIES {
                return Err(io::Error::other(format!(
                    "there are more than {MAX_ENTRIES} files and directories"
                )));
            }
            let path = way.join(OsStr::from_bytes(name.to_bytes()));
            let changed = i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec);
            let entry = EntryStat {
                kind: Kind::of(stat.st_mode),
                mode: stat.st_mode,
                mark: (u64::try_from(stat.st_size).unwrap_or(0), stat.st_ino, changed),
            };
            if entry.kind == Kind::Directory {
                ways.push((path.clone(), depth + 1));
            }
            all.push((path.into_os_string(), entry));
        }
        Ok(())
    }

    /// Returns the kind of an entry with its content. An entry that is of another kind by now is an error, and so is a
    /// file of more than `most` bytes.
    fn kind(&self, path: &OsStr, state: &EntryStat, most: u64) -> io::Result<EntryKind> {
        let (Some(parent), Some(name)) = (Path::new(path).parent(), Path::new(path).file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        match state.kind {
            Kind::Directory => Ok(EntryKind::Directory),
            Kind::Other => Ok(EntryKind::Other),
            Kind::Link => {
                let target = walk::link_target(self.enter(parent)?.as_fd(), name)?;
                Ok(EntryKind::Link(BlobHash::of(target.as_bytes())))
            }
            Kind::File => {
                let file = walk::open_file(self.enter(parent)?.as_fd(), name)?;
                digest(file, most).map(EntryKind::File)
            }
        }
    }
}

/// Returns the digest of a file of at most `most` bytes.
fn digest(file: fs::File, most: u64) -> io::Result<BlobHash> {
    let (mut file, mut bytes) = (file.take(most.saturating_add(1)), 0);
    let (mut hasher, mut chunk) = (blake3::Hasher::new(), vec![0; 256 << 10]);
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(BlobHash(*hasher.finalize().as_bytes())),
            count => {
                bytes += count as u64;
                if bytes > most {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                hasher.update(&chunk[..count]);
            }
        }
    }
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

    /// Returns a copy of a directory with `kept/a.md` and `b.md`.
    fn copy(base: &Path) -> PathBuf {
        let (real, stage) = (base.join("real"), base.join("stages/1"));
        fs::create_dir_all(real.join("kept")).unwrap();
        fs::write(real.join("kept/a.md"), "a").unwrap();
        fs::write(real.join("b.md"), "b").unwrap();
        make(&real, &stage, StageUse::Programs).unwrap();
        stage
    }

    fn paths(found: &StageChanges) -> Vec<&str> {
        found.changes.iter().map(|change| change.path.as_str()).collect()
    }

    #[test]
    fn too_deep_directory_is_named_and_the_rest_found() {
        use rustix::fs::{Mode, OFlags, mkdirat, openat};
        let base = tempfile::tempdir().unwrap();
        let stage = copy(base.path());
        fs::write(stage.join("b.md"), "new").unwrap();
        // The system takes paths of 4096 bytes at most. A program goes deeper step by step.
        let name = "d".repeat(250);
        let mut directory = rustix::fs::open(&stage, OFlags::DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..20 {
            mkdirat(&directory, &name, Mode::RWXU).unwrap();
            directory = openat(&directory, &name, OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        let found = StageBase::read(&stage).unwrap().changes(&stage).unwrap();
        assert!(paths(&found).contains(&"b.md"), "{found:?}");
        let [left_out] = found.beyond.iter().filter(|one| one.contains("left out")).collect::<Vec<_>>()[..]
        else {
            panic!("{:?}", found.beyond)
        };
        assert!(left_out.len() < 400 && left_out.starts_with("`ddd"), "{left_out}");
        remove(&stage);
        assert!(!stage.exists());
    }

    #[test]
    fn unread_directory_claims_no_removed_file() {
        use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
        let base = tempfile::tempdir().unwrap();
        let stage = copy(base.path());
        let kept = stage.join("kept");
        fs::write(stage.join("b.md"), "new").unwrap();
        fs::set_permissions(&kept, fs::Permissions::from_mode(0o000)).unwrap();
        // For root, permissions hold only in a thread without capabilities.
        let read = || {
            let none = CapabilitySet::empty();
            set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
                .unwrap();
            StageBase::read(&stage).unwrap().changes(&stage).unwrap()
        };
        let found = std::thread::scope(|scope| scope.spawn(read).join().unwrap());
        assert_eq!(paths(&found), ["b.md"]);
        let left_out = "`kept` is left out with all that is in it: its permissions let nobody read it";
        assert!(found.beyond.iter().any(|one| one == left_out), "{:?}", found.beyond);
        fs::set_permissions(&kept, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Reported of other programs: markfasheh/duperemove#8, hpc/mpifileutils#299 (holes are read as data).
    #[test]
    fn sparse_file_is_named_and_not_read() {
        let base = tempfile::tempdir().unwrap();
        let stage = copy(base.path());
        fs::write(stage.join("b.md"), "new").unwrap();
        let sparse =
            |name: &str, size: u64| fs::File::create(stage.join(name)).unwrap().set_len(size).unwrap();
        sparse("huge", 1 << 40);
        sparse("kept/a.md", 1 << 40);
        let changes = || StageBase::read(&stage).unwrap();
        let begun = std::time::Instant::now();
        let found = changes().changes(&stage).unwrap();
        assert!(begun.elapsed() < std::time::Duration::from_secs(20));
        assert_eq!(paths(&found), ["b.md"]);
        let mut beyond = found.beyond;
        beyond.sort();
        let large = |name: &str| format!("`{name}`: it is too large, with 1099511627776 bytes");
        assert_eq!(beyond, [large("huge"), large("kept/a.md")]);
        // Many files of a smaller size have a limit, too.
        sparse("huge", 3000);
        sparse("kept/a.md", 4000);
        let found = changes().changes_within(&stage, 5000, 6000).unwrap();
        assert_eq!((paths(&found), found.beyond.len()), (vec!["huge", "b.md"], 1));
    }
}
