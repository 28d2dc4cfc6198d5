//! Blobs: bytes addressed by their content. Each blob is a file that is named by its BLAKE3 hash and written once. A
//! small blob can be a row instead, in the transaction that names it ([`crate::inline_blob`]).
//!
//! A row may name a hash only after `put` has returned it. By then the bytes and the name of the file are on disk.
//! All bytes are verified when they are read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kernel::BlobHash;
use kernel::txn::StoreFault;
use rustix::io::Errno;

use crate::damage::DamageLatch;
use crate::failpoint;
use crate::inline_blob::BlobRows;
use crate::marks::{Hold, Marks};
use crate::place::{self, FILE_MODE};
use crate::stats::{Counters, add};

/// The maximum number of bytes of the first line of a list of other blobs.
const MAX_FIRST_LINE: u64 = 16;

/// The reason why bytes could not be stored or fetched.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// There is no such blob.
    #[error("there is no blob {hash}")]
    NotFound {
        /// The requested hash.
        hash: BlobHash,
    },
    /// The file no longer holds the bytes that were stored. Storing the same bytes again repairs it.
    #[error("the blob {} is damaged", path.display())]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
    },
    /// The source has more bytes than the caller allows. Nothing was kept.
    #[error("more than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The bytes would exceed the quota for files beside the database. Nothing was kept.
    #[error("{bytes} more bytes do not fit: {used} of {quota} are used")]
    OverQuota {
        /// The number of bytes to store.
        bytes: u64,
        /// The number of bytes that are stored already.
        used: u64,
        /// The quota, in bytes.
        quota: u64,
    },
    /// The disk or the user's disk quota is full. Nothing was kept.
    #[error("no space is left for {}", path.display())]
    Full {
        /// The path that could not be written.
        path: PathBuf,
    },
    /// The source of the bytes failed. Nothing was kept.
    #[error("the source could not be read: {0}")]
    Source(io::Error),
    /// The store is damaged, and takes no bytes.
    #[error(transparent)]
    DamagedStore(StoreFault),
    /// A failure of the file system of any other kind.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path of the failed operation.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl From<BlobError> for StoreFault {
    fn from(error: BlobError) -> StoreFault {
        let text = error.to_string();
        match error {
            BlobError::Corrupt { .. } | BlobError::NotFound { .. } => StoreFault::Corrupt(text),
            BlobError::Full { .. } | BlobError::OverQuota { .. } => StoreFault::Full(text),
            BlobError::Io { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                StoreFault::ReadOnly(text)
            }
            BlobError::DamagedStore(fault) => fault,
            BlobError::TooLarge { .. } | BlobError::Source(_) | BlobError::Io { .. } => StoreFault::Io(text),
        }
    }
}

/// A blob opened for reading. Its bytes were verified when it was opened.
#[derive(Debug)]
pub struct Blob {
    source: Source,
    len: u64,
}

/// The source of a blob's bytes.
#[derive(Debug)]
enum Source {
    File(File),
    Row(io::Cursor<Vec<u8>>),
}

impl Blob {
    /// Returns the number of bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the blob has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Read for Blob {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &mut self.source {
            Source::File(file) => file.read(buf),
            Source::Row(bytes) => bytes.read(buf),
        }
    }
}

impl Seek for Blob {
    fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
        match &mut self.source {
            Source::File(file) => file.seek(pos),
            Source::Row(bytes) => bytes.seek(pos),
        }
    }
}

/// The blobs of a store.
pub struct Blobs {
    root: PathBuf,
    temporary: PathBuf,
    serial: AtomicU64,
    /// Whether this process has made the name of each directory under `root` durable, by the first byte of the hashes
    /// in it.
    shelves: [AtomicBool; 256],
    counters: Arc<Counters>,
    /// The latch after which no bytes are taken.
    latch: Arc<DamageLatch>,
    marks: Arc<Marks>,
    rows: BlobRows,
    quota: Option<u64>,
    /// The number of bytes in files, or `None` until the first call that needs the number. Locked while a file is
    /// added or removed.
    used: Mutex<Option<u64>>,
}

/// The choice whether the quota applies to new bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Always,
    WithinQuota,
}

impl Blobs {
    pub(crate) fn new(
        dir: &Path,
        counters: Arc<Counters>,
        marks: Arc<Marks>,
        quota: Option<u64>,
        latch: Arc<DamageLatch>,
    ) -> Self {
        let (root, temporary) = (dir.join(place::BLOBS), dir.join(place::TEMPORARY));
        let shelves = [const { AtomicBool::new(false) }; 256];
        Blobs {
            root,
            temporary,
            serial: AtomicU64::new(0),
            shelves,
            counters,
            marks,
            latch,
            rows: BlobRows::new(dir.join(place::DATABASE)),
            quota,
            used: Mutex::new(None),
        }
    }

    /// Stores bytes and returns their hash when they are durable. If the bytes are stored already, this changes
    /// nothing, except that a damaged file is repaired.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobHash, BlobError> {
        self.put_where(bytes, Room::Always)
    }

    /// Stores bytes from outside. Does the same as [`Blobs::put`], but refuses bytes that would exceed the quota.
    pub fn put_within(&self, bytes: &[u8]) -> Result<BlobHash, BlobError> {
        self.put_where(bytes, Room::WithinQuota)
    }

    /// Checks that the store takes bytes.
    fn expect_sound(&self) -> Result<(), BlobError> {
        self.latch.fault().map_or(Ok(()), |fault| Err(BlobError::DamagedStore(fault)))
    }

    fn put_where(&self, bytes: &[u8], room: Room) -> Result<BlobHash, BlobError> {
        self.expect_sound()?;
        let hash = BlobHash::of(bytes);
        // From here on, a sweep does not remove these bytes.
        self.marks.put(&hash);
        if self.confirm(&hash)? {
            return Ok(hash);
        }
        // Bytes that do not fit are refused before they are written.
        if room == Room::WithinQuota {
            self.expect_room(&hash, bytes.len() as u64, *self.used()?)?;
        }
        let mut temporary = self.temporary()?;
        temporary.write(bytes)?;
        self.keep(temporary, &hash, room)?;
        Ok(hash)
    }

    /// Returns the number of bytes in files.
    pub fn bytes(&self) -> Result<u64, BlobError> {
        Ok(*self.used()?)
    }

    /// Returns a hold. While it lives, a sweep does not remove bytes that were stored after it was made, even if no
    /// row names them.
    pub fn hold(&self) -> Hold {
        self.marks.hold(None)
    }

    /// Returns a hold for a caller that may hang. After `patience` without progress ([`Hold::moves`]), a sweep
    /// ignores the hold. The caller must then not name the bytes that it stored ([`Hold::has_lapsed`]).
    pub fn hold_within(&self, patience: Duration) -> Hold {
        self.marks.hold(Some(patience))
    }

    /// Returns the bytes of a blob without verifying them.
    pub(crate) fn raw(&self, hash: &BlobHash) -> Result<Vec<u8>, BlobError> {
        match fs::read(self.path(hash)).map_err(|e| self.missing(hash, e)) {
            Err(missing @ BlobError::NotFound { .. }) => self.rows.raw(hash)?.ok_or(missing),
            found => found,
        }
    }

    /// Returns the rows of small blobs.
    pub(crate) fn rows(&self) -> &BlobRows {
        &self.rows
    }

    pub(crate) fn marks(&self) -> &Arc<Marks> {
        &self.marks
    }

    /// Returns whether a blob is a list of other blobs, by its first line. Nothing is verified.
    pub(crate) fn is_list(&self, hash: &BlobHash) -> Result<bool, BlobError> {
        let is_list = |bytes: &[u8]| crate::LISTS.iter().any(|line| bytes.starts_with(line));
        let path = self.path(hash);
        let file = match File::open(&path).map_err(|e| self.missing(hash, e)) {
            Err(missing @ BlobError::NotFound { .. }) => {
                return self.rows.raw(hash)?.map(|bytes| is_list(&bytes)).ok_or(missing);
            }
            found => found?,
        };
        let mut beginning = Vec::new();
        file.take(MAX_FIRST_LINE)
            .read_to_end(&mut beginning)
            .map_err(|source| BlobError::Io { path, source })?;
        Ok(is_list(&beginning))
    }

    /// Locks the number of bytes in files for a change. The number is unknown if the files have not been counted.
    fn known(&self) -> UsedBytes<'_> {
        UsedBytes(self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Locks the number of bytes in files for a change. Counts the files if they have not been counted.
    fn used(&self) -> Result<UsedBytes<'_>, BlobError> {
        let UsedBytes(mut used) = self.known();
        if used.is_none() {
            let mut sum = 0;
            for hash in self.files()? {
                sum += self.len_of_file(&hash)?.unwrap_or(0);
            }
            *used = Some(sum);
        }
        Ok(UsedBytes(used))
    }

    fn expect_room(&self, hash: &BlobHash, bytes: u64, used: u64) -> Result<(), BlobError> {
        let Some(quota) = self.quota else { return Ok(()) };
        // Replacing a damaged file frees the space that it uses.
        let others = used.saturating_sub(self.len_of_file(hash)?.unwrap_or(0));
        match others.saturating_add(bytes) > quota {
            true => Err(BlobError::OverQuota { bytes, used, quota }),
            false => Ok(()),
        }
    }

    /// Stores the bytes of a reader, at most `limit`, without holding all of them in memory. Returns the hash and the
    /// length when the bytes are durable.
    pub fn put_reader(&self, mut reader: impl Read, limit: u64) -> Result<(BlobHash, u64), BlobError> {
        self.expect_sound()?;
        let mut temporary = self.temporary()?;
        let mut hasher = blake3::Hasher::new();
        let mut len = 0_u64;
        let mut chunk = vec![0; 1 << 16];
        loop {
            let n = match reader.read(&mut chunk) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(BlobError::Source(error)),
            };
            len += n as u64;
            if len > limit {
                return Err(BlobError::TooLarge { limit });
            }
            let bytes = chunk.get(..n).unwrap_or_default();
            hasher.update(bytes);
            temporary.write(bytes)?;
        }
        let hash = BlobHash(*hasher.finalize().as_bytes());
        self.marks.put(&hash);
        if !self.confirm(&hash)? {
            self.keep(temporary, &hash, Room::Always)?;
        }
        Ok((hash, len))
    }

    /// Returns all bytes of a blob, after verifying them.
    pub fn get(&self, hash: &BlobHash) -> Result<Vec<u8>, BlobError> {
        if let Some(bytes) = self.rows.remembered(hash) {
            return Ok(bytes);
        }
        let path = self.path(hash);
        let bytes = match fs::read(&path).map_err(|e| self.missing(hash, e)) {
            Err(missing @ BlobError::NotFound { .. }) => return self.rows.get(hash)?.ok_or(missing),
            found => found?,
        };
        match BlobHash::of(&bytes) == *hash {
            true => Ok(bytes),
            false => Err(BlobError::Corrupt { path }),
        }
    }

    /// Returns a blob for reading piece by piece. All of its bytes are read and verified first, so that no caller
    /// acts on damaged bytes.
    pub fn open(&self, hash: &BlobHash) -> Result<Blob, BlobError> {
        match self.open_file(hash) {
            Err(missing @ BlobError::NotFound { .. }) => {
                let bytes = self.rows.get(hash)?.ok_or(missing)?;
                let len = bytes.len() as u64;
                Ok(Blob { source: Source::Row(io::Cursor::new(bytes)), len })
            }
            Err(error) => Err(error),
            Ok((file, len)) => Ok(Blob { source: Source::File(file), len }),
        }
    }

    fn open_file(&self, hash: &BlobHash) -> Result<(File, u64), BlobError> {
        let path = self.path(hash);
        let mut file = File::open(&path).map_err(|e| self.missing(hash, e))?;
        let io = |source| BlobError::Io { path: path.clone(), source };
        let (found, len) = digest(&mut file).map_err(io)?;
        if found != *hash {
            return Err(BlobError::Corrupt { path });
        }
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        Ok((file, len))
    }

    /// Returns the number of bytes of a blob, or `None` if there is no such blob. Nothing is verified.
    pub fn len(&self, hash: &BlobHash) -> Result<Option<u64>, BlobError> {
        match self.len_of_file(hash)? {
            None => self.rows.len(hash),
            found => Ok(found),
        }
    }

    fn len_of_file(&self, hash: &BlobHash) -> Result<Option<u64>, BlobError> {
        let path = self.path(hash);
        match fs::metadata(&path) {
            Ok(meta) => Ok(Some(meta.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(BlobError::Io { path, source }),
        }
    }

    /// Removes the file of a blob to which nothing refers any more. A missing file is no error. The file may come
    /// back after a power failure, which harms nothing. A small blob is a row, and a transaction removes the row.
    pub fn remove(&self, hash: &BlobHash) -> Result<(), BlobError> {
        let path = self.path(hash);
        let mut used = self.known();
        let bytes = self.len_of_file(hash)?.unwrap_or(0);
        match fs::remove_file(&path) {
            Ok(()) => {
                used.change(|used| used.saturating_sub(bytes));
                Ok(())
            }
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(BlobError::Io { path, source }),
            _ => Ok(()),
        }
    }

    /// Returns the hashes of all blobs, in no order.
    pub fn list(&self) -> Result<Vec<BlobHash>, BlobError> {
        let mut all = self.rows.all()?;
        all.extend(self.files()?.into_iter().map(|hash| (hash, 0)));
        Ok(all.into_keys().collect())
    }

    /// Returns the hashes of the blobs that are files. Files whose names are not hashes are left out.
    pub(crate) fn files(&self) -> Result<Vec<BlobHash>, BlobError> {
        let io = |source| BlobError::Io { path: self.root.clone(), source };
        let mut hashes = Vec::new();
        for shelf in fs::read_dir(&self.root).map_err(io)? {
            let shelf = shelf.map_err(io)?;
            for entry in fs::read_dir(shelf.path()).map_err(io)? {
                let entry = entry.map_err(io)?;
                let (a, b) = (shelf.file_name(), entry.file_name());
                hashes.extend(
                    a.to_str().zip(b.to_str()).and_then(|(a, b)| format!("{a}{b}").parse::<BlobHash>().ok()),
                );
            }
        }
        Ok(hashes)
    }

    /// Returns the path that a blob has, or would have, as a file.
    pub fn path(&self, hash: &BlobHash) -> PathBuf {
        Self::path_in(&self.root, hash)
    }

    /// Returns the path that a blob has under another root directory.
    pub(crate) fn path_in(root: &Path, hash: &BlobHash) -> PathBuf {
        let name = hash.to_string();
        let (shelf, rest) = name.split_at(2);
        root.join(shelf).join(rest)
    }

    /// Returns whether the file of a blob exists, undamaged and durable. Another process may have died between its
    /// rename and its sync of the directory, so the directories are synced here as well.
    fn confirm(&self, hash: &BlobHash) -> Result<bool, BlobError> {
        match self.open_file(hash) {
            Ok((file, _)) => {
                let path = self.path(hash);
                let io = |source| BlobError::Io { path: path.clone(), source };
                file.sync_all().map_err(io)?;
                add(&self.counters.blob_syncs, 1);
                self.sync_names(hash)?;
                Ok(true)
            }
            Err(BlobError::NotFound { .. } | BlobError::Corrupt { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn keep(&self, temporary: Temporary, hash: &BlobHash, room: Room) -> Result<(), BlobError> {
        let path = self.path(hash);
        temporary.file.sync_all().map_err(|e| medium(&temporary.path, e))?;
        add(&self.counters.blob_syncs, 1);
        if let Some(shelf) = path.parent() {
            place::make_dir(shelf).map_err(|e| medium(shelf, e))?;
        }
        let new = temporary.file.metadata().map_err(|e| medium(&temporary.path, e))?.len();
        let mut used = match room {
            Room::WithinQuota => self.used()?,
            // Without a quota, the files need not be counted.
            Room::Always => self.known(),
        };
        if room == Room::WithinQuota {
            self.expect_room(hash, new, *used)?;
        }
        let old = self.len_of_file(hash)?.unwrap_or(0);
        failpoint::reach("blob.before_rename");
        fs::rename(&temporary.path, &path).map_err(|e| medium(&path, e))?;
        used.change(|used| used.saturating_sub(old).saturating_add(new));
        drop(used);
        failpoint::reach("blob.after_rename");
        add(&self.counters.blobs, 1);
        self.sync_names(hash)
    }

    /// Makes the name of a file durable, and, once per process, the name of its directory.
    fn sync_names(&self, hash: &BlobHash) -> Result<(), BlobError> {
        let path = self.path(hash);
        let sync = |dir: &Path| {
            add(&self.counters.blob_syncs, 1);
            place::sync_dir(dir).map_err(|e| medium(dir, e))
        };
        if let Some(shelf) = path.parent() {
            sync(shelf)?;
        }
        let known = &self.shelves[usize::from(hash.0[0])];
        if !known.load(Ordering::Relaxed) {
            sync(&self.root)?;
            known.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn temporary(&self) -> Result<Temporary, BlobError> {
        let path = self.temporary.join(self.serial.fetch_add(1, Ordering::Relaxed).to_string());
        let open = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path);
        let file = open.map_err(|e| medium(&path, e))?;
        Ok(Temporary { file, path })
    }

    fn missing(&self, hash: &BlobHash, source: io::Error) -> BlobError {
        match source.kind() {
            io::ErrorKind::NotFound => BlobError::NotFound { hash: *hash },
            _ => BlobError::Io { path: self.path(hash), source },
        }
    }
}

/// The number of bytes in files, locked.
struct UsedBytes<'a>(MutexGuard<'a, Option<u64>>);

impl std::ops::Deref for UsedBytes<'_> {
    type Target = u64;

    fn deref(&self) -> &u64 {
        self.0.as_ref().unwrap_or(&0)
    }
}

impl UsedBytes<'_> {
    /// Applies a change to the number, if the files have been counted.
    fn change(&mut self, change: impl FnOnce(u64) -> u64) {
        *self.0 = self.0.map(change);
    }
}

/// A file that is removed when this value is dropped, unless the file has been renamed.
struct Temporary {
    file: File,
    path: PathBuf,
}

impl Temporary {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.file.write_all(bytes).map_err(|e| medium(&self.path, e))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename, the file has another name. If this fails, the file is removed when the store opens.
        let _ = fs::remove_file(&self.path);
    }
}

fn digest(reader: &mut impl Read) -> io::Result<(BlobHash, u64)> {
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; 1 << 16];
    let mut len = 0;
    loop {
        match reader.read(&mut chunk) {
            Ok(0) => return Ok((BlobHash(*hasher.finalize().as_bytes()), len)),
            Ok(n) => {
                hasher.update(chunk.get(..n).unwrap_or_default());
                len += n as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn medium(path: &Path, source: io::Error) -> BlobError {
    let path = path.to_path_buf();
    match source.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC | Errno::DQUOT) => BlobError::Full { path },
        _ => BlobError::Io { path, source },
    }
}
