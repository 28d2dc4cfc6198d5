//! The reader of a backup. It trusts nothing in the file.
//!
//! An archive could name paths outside of the home, lead there by a link, or hold more than the disk has. So each name is
//! checked, each file is made where nothing was, and links come last. Nothing of it counts before the index at its end
//! has confirmed every entry.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use kernel::BlobHash;
use passable::visible_line;

use super::archive_writer::{PRIVATE_DIR, PRIVATE_FILE};
use super::manifest::{FORMAT, HEADER, Header, INDEX, Index, IndexEntry, MAX_HEADER_BYTES, MAX_INDEX_BYTES};
use super::part::{CONFIG, Part, STATE, is_inner_link, part_of};

/// The number of bytes that must stay free on the disk.
const MIN_FREE_BYTES: u64 = 64 << 20;

/// The number of bytes between two looks at the free space.
const FREE_CHECK_BYTES: u64 = 16 << 20;

/// The reason why a backup cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file is no backup.
    #[error("it is no backup of Almoner")]
    Foreign,
    /// A later build made the backup, in a format that this one does not know.
    #[error("a later build made it (format {0})")]
    Later(u32),
    /// The file was cut short or changed.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// An entry that no backup has.
    #[error("it holds an entry that no backup of Almoner has: {0}")]
    Entry(String),
    /// The disk has no room for the content.
    #[error("the disk has no room for it")]
    NoRoom,
    /// The file cannot be read, or its content cannot be written.
    #[error("{}: {source}", passable::visible_line(&.path.to_string_lossy()))]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// The directories into which a backup is unpacked. Both are empty.
pub struct UnpackTarget {
    /// The directory for the entries of the state directory.
    pub state: PathBuf,
    /// The directory for the entries of the configuration.
    pub config: PathBuf,
}

/// An unpacked backup.
pub struct UnpackedArchive {
    /// The origin of the backup.
    pub header: Header,
    /// The entries of the backup.
    pub index: Index,
    /// The permissions of directories of work, which are not set yet.
    modes: Vec<(PathBuf, u32)>,
}

impl UnpackedArchive {
    /// Sets the permissions of the directories of work. A directory could be closed for writing, so this comes last.
    pub fn set_modes(&self) -> Result<(), ArchiveError> {
        // Inner directories come later in the list, and are closed first.
        for (place, mode) in self.modes.iter().rev() {
            let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::DIRECTORY;
            let flags = i32::try_from(flags.bits()).unwrap_or(0);
            let opened = OpenOptions::new().read(true).custom_flags(flags).open(place);
            let set = opened.and_then(|dir| dir.set_permissions(Permissions::from_mode(*mode)));
            set.map_err(io_at(place))?;
        }
        Ok(())
    }
}

/// Unpacks a backup, and confirms every entry by the index. `is_wanted` selects the entries that are written.
///
/// # Errors
/// When the file is no whole backup, or cannot be unpacked.
pub fn unpack(
    file: &Path,
    to: &UnpackTarget,
    is_wanted: &dyn Fn(Part) -> bool,
) -> Result<UnpackedArchive, ArchiveError> {
    let opened = File::open(file).map_err(io_at(file))?;
    let mut tar = tar::Archive::new(GzDecoder::new(io::BufReader::new(opened)));
    let mut entries = tar.entries().map_err(|_| ArchiveError::Foreign)?;
    let header = match entries.next() {
        Some(Ok(mut entry)) if *entry.path_bytes() == *HEADER.as_bytes() => header(&mut entry)?,
        _ => return Err(ArchiveError::Foreign),
    };
    let mut unpacking =
        Unpacking { to, is_wanted, found: BTreeMap::new(), links: vec![], modes: vec![], unchecked: 0 };
    for entry in entries {
        let mut entry = entry.map_err(|error| damaged(&error))?;
        if *entry.path_bytes() == *INDEX.as_bytes() {
            let text = limited(&mut entry, MAX_INDEX_BYTES)?;
            let index: Index =
                serde_json::from_slice(&text).map_err(|error| ArchiveError::Damaged(error.to_string()))?;
            unpacking.confirm(&index)?;
            let modes = unpacking.finish()?;
            return Ok(UnpackedArchive { header, index, modes });
        }
        unpacking.take(&mut entry)?;
    }
    Err(ArchiveError::Damaged("its end is missing".to_owned()))
}

fn header(entry: &mut impl Read) -> Result<Header, ArchiveError> {
    /// The part of a header that every format has.
    #[derive(serde::Deserialize)]
    struct Version {
        almoner_backup: u32,
    }
    let text = limited(entry, MAX_HEADER_BYTES)?;
    let Version { almoner_backup } = serde_json::from_slice(&text).map_err(|_| ArchiveError::Foreign)?;
    if almoner_backup != FORMAT {
        return Err(ArchiveError::Later(almoner_backup));
    }
    let header: Header =
        serde_json::from_slice(&text).map_err(|error| ArchiveError::Damaged(error.to_string()))?;
    // Paths below these two are moved, also in texts. A root would move every path.
    if [&header.state, &header.config].iter().all(|path| is_directory_path(path)) {
        Ok(header)
    } else {
        Err(ArchiveError::Damaged("it names no directory of a home".to_owned()))
    }
}

/// Returns whether a text is the full path of a directory below the root, without `.`, `..`, empty names and control
/// characters.
fn is_directory_path(path: &str) -> bool {
    let names = path.strip_prefix('/').unwrap_or_default();
    names.split('/').all(|name| !matches!(name, "" | "." | "..") && !name.contains(char::is_control))
}

fn limited(entry: &mut impl Read, limit: u64) -> Result<Vec<u8>, ArchiveError> {
    let mut text = Vec::new();
    entry.take(limit + 1).read_to_end(&mut text).map_err(|error| damaged(&error))?;
    if text.len() as u64 > limit {
        return Err(ArchiveError::Damaged("a list in it is too long".to_owned()));
    }
    Ok(text)
}

fn damaged(error: &io::Error) -> ArchiveError {
    ArchiveError::Damaged(error.to_string())
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> ArchiveError {
    let path = path.to_owned();
    move |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ArchiveError::NoRoom,
        _ => ArchiveError::Io { path, source },
    }
}

/// The unpacking of one archive.
struct Unpacking<'a> {
    to: &'a UnpackTarget,
    is_wanted: &'a dyn Fn(Part) -> bool,
    /// The entries so far.
    found: BTreeMap<String, IndexEntry>,
    /// The links, which are made at the end: the place and the target. So no path goes through one.
    links: Vec<(PathBuf, String)>,
    /// The permissions of directories of work.
    modes: Vec<(PathBuf, u32)>,
    /// The number of bytes since the last look at the free space.
    unchecked: u64,
}

impl Unpacking<'_> {
    fn take<R: Read>(&mut self, entry: &mut tar::Entry<'_, R>) -> Result<(), ArchiveError> {
        let bytes = entry.path_bytes().into_owned();
        let shown = visible_line(&String::from_utf8_lossy(&bytes)).into_owned();
        let refused = || ArchiveError::Entry(shown.clone());
        // The name of a directory ends with a slash in some archives.
        let path = std::str::from_utf8(&bytes).map_err(|_| refused())?.trim_end_matches('/').to_owned();
        let part = part_of(&path).ok_or_else(refused)?;
        let is_work = part == Part::Work;
        let mode = entry.header().mode().map_err(|error| damaged(&error))? & 0o777;
        let (kind, size) = (entry.header().entry_type(), entry.size());
        let to = self.place_of(&path).ok_or_else(refused)?;
        let is_wanted = (self.is_wanted)(part);
        let found = match kind {
            tar::EntryType::Directory => {
                if is_wanted {
                    make_directory(&to)?;
                    self.modes.extend(is_work.then_some((to, mode)));
                }
                IndexEntry::Directory { mode }
            }
            tar::EntryType::Regular => {
                let digest = match is_wanted {
                    true => self.file(&to, if is_work { mode } else { PRIVATE_FILE }, size, entry)?,
                    false => copy_hashed(entry, &mut io::sink(), &mut |_| Ok(()))?,
                };
                IndexEntry::File { mode, bytes: size, digest }
            }
            tar::EntryType::Symlink if is_work => {
                let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                let target = String::from_utf8(target).map_err(|_| refused())?;
                if !is_inner_link(&path, &target) {
                    return Err(refused());
                }
                self.links.extend(is_wanted.then(|| (to, target.clone())));
                IndexEntry::Link { target }
            }
            _ => return Err(refused()),
        };
        match self.found.insert(path, found) {
            None => Ok(()),
            Some(_) => Err(refused()),
        }
    }

    /// Returns the place of an entry. The directory above it must have come before.
    fn place_of(&self, path: &str) -> Option<PathBuf> {
        let (root, rest) = path.split_once('/').unwrap_or((path, ""));
        let root = match root {
            STATE => &self.to.state,
            CONFIG => &self.to.config,
            _ => return None,
        };
        if rest.is_empty() {
            return Some(root.clone());
        }
        let above = path.rsplit_once('/').map(|(above, _)| above)?;
        let is_directory = matches!(self.found.get(above), Some(IndexEntry::Directory { .. }));
        is_directory.then(|| root.join(rest))
    }

    fn file(
        &mut self,
        to: &Path,
        mode: u32,
        size: u64,
        from: &mut dyn Read,
    ) -> Result<BlobHash, ArchiveError> {
        self.check_room(size)?;
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(to).map_err(io_at(to))?;
        let mut room = |bytes| self.check_room(bytes);
        let digest = copy_hashed(from, &mut file, &mut room)?;
        // The mask of this process must not take permissions away that the changes of a run are compared with.
        file.set_permissions(Permissions::from_mode(mode)).map_err(io_at(to))?;
        Ok(digest)
    }

    /// Checks now and then that the disk has room.
    fn check_room(&mut self, bytes: u64) -> Result<(), ArchiveError> {
        self.unchecked = self.unchecked.saturating_add(bytes);
        if self.unchecked < FREE_CHECK_BYTES {
            return Ok(());
        }
        self.unchecked = 0;
        let disk =
            rustix::fs::statvfs(&self.to.state).map_err(|error| io_at(&self.to.state)(error.into()))?;
        match disk.f_bavail.saturating_mul(disk.f_frsize) < bytes.min(FREE_CHECK_BYTES) + MIN_FREE_BYTES {
            true => Err(ArchiveError::NoRoom),
            false => Ok(()),
        }
    }

    /// Compares all entries with those of the index.
    fn confirm(&self, index: &Index) -> Result<(), ArchiveError> {
        if self.found == index.entries {
            return Ok(());
        }
        let differs = |path: &&String| self.found.get(*path) != index.entries.get(*path);
        let first = index.entries.keys().chain(self.found.keys()).find(differs);
        let first = first.map(|path| visible_line(path).into_owned()).unwrap_or_default();
        Err(ArchiveError::Damaged(format!("{first} is not what its index says")))
    }

    /// Makes the links. Returns the permissions that are still to be set.
    fn finish(self) -> Result<Vec<(PathBuf, u32)>, ArchiveError> {
        for (place, target) in &self.links {
            std::os::unix::fs::symlink(target, place).map_err(io_at(place))?;
        }
        Ok(self.modes)
    }
}

fn make_directory(path: &Path) -> Result<(), ArchiveError> {
    // The two roots are there already.
    if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return Ok(());
    }
    DirBuilder::new().mode(PRIVATE_DIR).create(path).map_err(io_at(path))
}

/// Copies a source, and returns the digest of its bytes.
fn copy_hashed(
    from: &mut dyn Read,
    to: &mut dyn io::Write,
    room: &mut dyn FnMut(u64) -> Result<(), ArchiveError>,
) -> Result<BlobHash, ArchiveError> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 128 << 10];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(BlobHash(*hasher.finalize().as_bytes())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(|error| damaged(&error))?,
        };
        room(count as u64)?;
        hasher.update(&buffer[..count]);
        to.write_all(&buffer[..count]).map_err(io_at(Path::new("the unpacked backup")))?;
    }
}
