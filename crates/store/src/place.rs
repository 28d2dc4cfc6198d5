//! The directory of a store: its owner, the process that uses it, and its permissions.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, OFlags, access};
use rustix::process::geteuid;

use crate::error::OpenError;

/// The mode of every directory of a store.
pub(crate) const DIR_MODE: u32 = 0o700;
/// The mode of every file of a store.
pub(crate) const FILE_MODE: u32 = 0o600;

/// The names of the files and directories of a store.
pub(crate) const LOCK: &str = "lock";
pub(crate) const DATABASE: &str = "almoner.sqlite";
pub(crate) const BLOBS: &str = "blobs";
pub(crate) const TEMPORARY: &str = "tmp";

/// A directory that this process owns for as long as the value lives.
pub(crate) struct StoreDirectory {
    pub(crate) dir: PathBuf,
    /// The paths whose permissions let other users in, and were tightened.
    pub(crate) repaired: Vec<PathBuf>,
    /// The lock file, kept open for its lock. The writer has it too, because the writer may live a little longer.
    pub(crate) lock: Arc<File>,
}

impl StoreDirectory {
    /// Takes the directory and its lock, and makes the directory if it is missing. Permissions that let other users
    /// in are tightened.
    pub(crate) fn claim(dir: &Path) -> Result<StoreDirectory, OpenError> {
        let io = |path: &Path| {
            let path = path.to_path_buf();
            move |error: io::Error| OpenError::from_io(&path, &error)
        };
        if !dir.exists() {
            DirBuilder::new().recursive(true).mode(DIR_MODE).create(dir).map_err(io(dir))?;
            sync_parent(dir).map_err(io(dir))?;
        }
        let dir = fs::canonicalize(dir).map_err(io(dir))?;
        let meta = fs::metadata(&dir).map_err(io(&dir))?;
        if !meta.is_dir() {
            return Err(OpenError::InTheWay { path: dir, expected: "a directory" });
        }
        if meta.uid() != geteuid().as_raw() {
            return Err(OpenError::NotYours { dir, uid: meta.uid() });
        }
        let lock = lock(&dir)?;

        let mut repaired = Vec::new();
        for (path, kind) in parts(&dir) {
            let Some(meta) = examine(&path, kind)? else { continue };
            if is_open(&meta, kind) {
                fs::set_permissions(&path, Permissions::from_mode(kind.mode())).map_err(io(&path))?;
                repaired.push(path.clone());
            }
            // SQLite opens a file without write permission for reading, without any error.
            access(&path, Access::WRITE_OK).map_err(|error| OpenError::from_io(&path, &error.into()))?;
        }
        let mut made = false;
        for name in [BLOBS, TEMPORARY] {
            made |= make_dir(&dir.join(name)).map_err(io(&dir.join(name)))?;
        }
        if made {
            sync_dir(&dir).map_err(io(&dir))?;
        }
        Ok(StoreDirectory { dir, repaired, lock: Arc::new(lock) })
    }
}

/// The required kind of a part of the store.
#[derive(Clone, Copy)]
pub(crate) enum PartKind {
    /// A directory, mode 0700.
    Dir,
    /// A regular file, mode 0600.
    File,
}

impl PartKind {
    pub(crate) fn mode(self) -> u32 {
        match self {
            PartKind::Dir => DIR_MODE,
            PartKind::File => FILE_MODE,
        }
    }
}

/// Returns the parts of a store whose permissions are checked whenever the store opens. The permissions of the
/// directories protect the files inside, and only `check` looks at those files.
pub(crate) fn parts(dir: &Path) -> Vec<(PathBuf, PartKind)> {
    let database = dir.join(DATABASE);
    vec![
        (dir.to_path_buf(), PartKind::Dir),
        (dir.join(LOCK), PartKind::File),
        (log_of(&database), PartKind::File),
        (beside(&database, "-shm"), PartKind::File),
        (database, PartKind::File),
        (dir.join(BLOBS), PartKind::Dir),
        (dir.join(TEMPORARY), PartKind::Dir),
    ]
}

/// Returns the path with more at the end of its name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns whether the mode allows more than the mode of this kind of part.
pub(crate) fn is_open(meta: &fs::Metadata, kind: PartKind) -> bool {
    meta.mode() & 0o7777 & !kind.mode() != 0
}

/// Returns the path of the log beside the database.
pub(crate) fn log_of(database: &Path) -> PathBuf {
    beside(database, "-wal")
}

/// Returns the metadata of a part of the store, which must belong to this user and must not be a link. Returns `None`
/// if there is no such file.
fn examine(path: &Path, kind: PartKind) -> Result<Option<fs::Metadata>, OpenError> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(OpenError::from_io(path, &error)),
    };
    let (right, expected) = match kind {
        PartKind::Dir => (meta.is_dir(), "a directory"),
        PartKind::File => (meta.is_file(), "a regular file"),
    };
    if !right {
        return Err(OpenError::InTheWay { path: path.to_path_buf(), expected });
    }
    if meta.uid() != geteuid().as_raw() {
        return Err(OpenError::NotYours { dir: path.to_path_buf(), uid: meta.uid() });
    }
    Ok(Some(meta))
}

/// The lock of a store that is not opened. No other process opens the store while the value lives.
#[derive(Debug)]
pub struct StoreLock(#[expect(dead_code, reason = "the lock lasts as long as the file is open")] File);

impl StoreLock {
    /// Takes the lock of the store in a directory. Returns `None` if there is no such directory.
    ///
    /// # Errors
    /// When another process uses the store, it is no directory of this user, or its lock file cannot be opened.
    pub fn take(dir: &Path) -> Result<Option<StoreLock>, OpenError> {
        let is_there = examine(dir, PartKind::Dir)?.is_some();
        let lock = is_there.then(|| lock(dir)).transpose()?;
        Ok(lock.map(StoreLock))
    }
}

fn lock(dir: &Path) -> Result<File, OpenError> {
    let path = dir.join(LOCK);
    let io = |error: io::Error| OpenError::from_io(&path, &error);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(&path)
        .map_err(io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            // An owner that has just started has not written its number yet.
            let _ = file.take(32).read_to_string(&mut text);
            return Err(OpenError::Owned { dir: dir.to_path_buf(), pid: text.trim().parse().ok() });
        }
        Err(TryLockError::Error(error)) => return Err(io(error)),
    }
    file.set_len(0).map_err(io)?;
    file.write_all(format!("{}\n", std::process::id()).as_bytes()).map_err(io)?;
    Ok(file)
}

/// Makes a directory that only this user can enter. Returns `false` if the directory exists already.
pub(crate) fn make_dir(path: &Path) -> io::Result<bool> {
    match DirBuilder::new().mode(DIR_MODE).create(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes the names of the files in a directory durable.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => sync_dir(parent),
        None => sync_dir(Path::new(".")),
    }
}
