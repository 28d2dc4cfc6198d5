//! The backup of a home while its daemon works.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, PermissionsExt as _};
use passable::visible_line;
use store::{Snapshot, StoreFile};
use tempfile::{NamedTempFile, TempPath};

use super::archive_writer::{ArchiveWriter, PRIVATE_DIR, PRIVATE_FILE};
use super::manifest::{FORMAT, Header};
use super::part::{CONFIG, LEFT_OUT, Part, STATE, STATE_PARTS, is_inner_link};
use crate::state::daemon::HostDaemon;
use crate::state::errors::DaemonError;
use config::{build, clock};
use control::backup_report::BackupReport;
use control::exit::{Exit, Failure};

/// The time limit for calls on staged copies to end before the copies are read.
const STAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of a record or a file of the configuration, in bytes.
const MAX_RECORD_BYTES: u64 = 128 << 20;

/// The maximum size of a file in a directory of work, in bytes. A program can leave larger ones that take no space.
const MAX_WORK_FILE_BYTES: u64 = 4 << 30;

/// The maximum number of directories in each other.
const MAX_DEPTH: usize = 128;

/// The maximum number of entries that are left out by name.
const MAX_NAMED: usize = 20;

/// Copies the home of a daemon to one file. If it fails, nothing is left at the path.
///
/// # Errors
/// When something is at the path already, a call on a staged copy does not end, or the copy cannot be made.
pub fn make(daemon: &HostDaemon, to: &Path, with_key: bool) -> Result<BackupReport, Failure> {
    check_target(daemon, to)?;
    let folder = to.parent().unwrap_or(Path::new("/"));
    let keys = if with_key { daemon.vault.key_copies(&daemon.place.state)? } else { vec![] };
    let has_key = !keys.is_empty();
    let needs_passphrase = keys.iter().any(|(_, key)| vault::is_wrapped(key));
    drop(keys);
    let unfinished = unfinished(daemon, to)?;
    let place = &daemon.place;
    let header = Header {
        almoner_backup: FORMAT,
        build: build::id(),
        made_ms: clock::now_ms(),
        state: resolved(&place.state)?,
        config: resolved(&place.config)?,
        has_key,
    };
    let file = unfinished.as_file().try_clone().map_err(|error| failed(to, &error))?;
    let mut writer = ArchiveWriter::new(file, &header).map_err(|error| failed(to, &error))?;
    let snapshot = {
        // No call changes a staged copy between the moment of the rows and the end of its reading.
        let _still = caps::stage::close_gate(STAGE_TIMEOUT).ok_or_else(|| {
            Failure::new(Exit::Conflict, "cannot copy the home: a program works in a staged copy")
                .help("wait until it has ended, or cancel its run; `almoner status` names it")
        })?;
        let snapshot = daemon.store.snapshot().map_err(DaemonError::from)?;
        let mut walk = WorkWalk { writer: &mut writer, left_out: 0 };
        for (name, _) in STATE_PARTS.iter().filter(|(_, part)| *part == Part::Work) {
            walk.take(&place.state, name).map_err(|error| failed(to, &error))?;
        }
        walk.end();
        snapshot
    };
    store::failpoint::reach("backup.rows_copied");
    take_store(&mut writer, &snapshot, to)?;
    // The vault is read after the rows: it holds every secret that they name.
    take_records(daemon, &mut writer, with_key, to)?;
    writer.left_out().extend(left_out_of(daemon, with_key));
    let left_out = writer.left_out().clone();
    let files = writer.finish().map_err(|error| failed(to, &error))?;
    let file = unfinished.persist_noclobber(to).map_err(|error| failed(to, &error.error))?;
    sync_folder(folder).map_err(|error| failed(to, &error))?;
    daemon.store.record_backup(to);
    let bytes = file.metadata().map_or(0, |meta| meta.len());
    Ok(BackupReport { files, bytes, has_key, needs_passphrase, left_out })
}

/// Opens the file in which the backup is written until it is complete. One that a killed backup has left is used again.
fn unfinished(daemon: &HostDaemon, to: &Path) -> Result<NamedTempFile, Failure> {
    let mut name = to.as_os_str().to_owned();
    name.push(".unfinished");
    let path = PathBuf::from(name);
    // It is readable only by its user from its first byte on. Another user may have made one before.
    let open = || {
        let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(PRIVATE_FILE).custom_flags(flags);
        let file = options.open(&path)?;
        let (meta, own) = (file.metadata()?, std::fs::metadata(&daemon.place.state)?.uid());
        let is_private = meta.mode() & 0o777 == PRIVATE_FILE;
        if !meta.is_file() || meta.nlink() != 1 || meta.uid() != own || !is_private {
            return Err(io::Error::other("its unfinished copy is not a file of this program's"));
        }
        Ok(file)
    };
    let file = open().map_err(|error| failed(to, &error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let shown = visible_line(&to.to_string_lossy()).into_owned();
            let what = format!("cannot make a backup: another one is being written to {shown}");
            return Err(Failure::new(Exit::Conflict, what).help("wait until it has ended"));
        }
        Err(TryLockError::Error(error)) => return Err(failed(to, &error)),
    }
    file.set_len(0).map_err(|error| failed(to, &error))?;
    Ok(NamedTempFile::from_parts(file, TempPath::try_from_path(path).map_err(|error| failed(to, &error))?))
}

fn check_target(daemon: &HostDaemon, to: &Path) -> Result<(), Failure> {
    let shown = visible_line(&to.to_string_lossy()).into_owned();
    if !to.is_absolute() || to.file_name().is_none() {
        return Err(Failure::new(
            Exit::Usage,
            format!("cannot make a backup: {shown} is not an absolute path"),
        ));
    }
    if to.symlink_metadata().is_ok() {
        return Err(exists(to));
    }
    let folder = to.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
    let place = &daemon.place;
    let home = place.as_env().map(|(_, home)| home);
    let own = [Some(place.state.as_path()), Some(place.config.as_path()), home];
    let own = own.map(|dir| std::fs::canonicalize(dir?).ok());
    if folder.is_some_and(|folder| own.iter().flatten().any(|own| folder.starts_with(own))) {
        return Err(Failure::new(
            Exit::Usage,
            format!("cannot make a backup: {shown} lies in the home itself"),
        )
        .help("choose a path outside of it, such as another disk"));
    }
    Ok(())
}

fn exists(to: &Path) -> Failure {
    let shown = to.display().to_string();
    Failure::new(Exit::Conflict, format!("cannot make a backup: {} is there already", visible_line(&shown)))
        .help("choose a name at which there is nothing; no backup is ever replaced")
}

fn failed(to: &Path, error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return exists(to);
    }
    let exit = match error.kind() {
        io::ErrorKind::NotFound => Exit::NotFound,
        _ => Exit::Failure,
    };
    let shown = to.display().to_string();
    Failure::new(exit, format!("cannot make the backup {}: {error}", visible_line(&shown))).help(
        "the directory that it goes into must be there, writable, and have room; nothing was left behind",
    )
}

/// Returns a directory with all links followed, as the store names it.
fn resolved(dir: &Path) -> Result<String, Failure> {
    let real = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    real.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::new(Exit::Failure, "cannot make a backup: the path of the home is not UTF-8")
            .help("move the home to a path of plain text")
    })
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn take_store(writer: &mut ArchiveWriter, snapshot: &Snapshot<'_>, to: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| failed(to, &error);
    let name = |file: &StoreFile| format!("{STATE}/store/{}", file.path().display());
    let mut rows = File::open(snapshot.rows()).map_err(failed)?;
    let bytes = rows.metadata().map_err(failed)?.len();
    writer.file(&name(&StoreFile::Rows), PRIVATE_FILE, bytes, &mut rows).map_err(failed)?;
    writer.directory(&format!("{STATE}/store/blobs"), PRIVATE_DIR).map_err(failed)?;
    for hash in snapshot.blobs().map_err(DaemonError::from)? {
        let Some(mut blob) = snapshot.open(&hash).map_err(DaemonError::from)? else { continue };
        let (path, bytes) = (name(&StoreFile::Blob(hash)), blob.len());
        writer.file(&path, PRIVATE_FILE, bytes, &mut blob).map_err(|error| {
            // A blob that differs from its hash is damage, and a copy of damage is no backup.
            match error.kind() {
                io::ErrorKind::InvalidData => Failure::new(
                    Exit::Failure,
                    format!("cannot make a backup: stored bytes are damaged: {error}"),
                )
                .help("`almoner doctor` says what is damaged; nothing was copied"),
                _ => failed(error),
            }
        })?;
    }
    Ok(())
}

/// Takes the vault, the records of the daemon, and the configuration.
fn take_records(
    daemon: &HostDaemon,
    writer: &mut ArchiveWriter,
    with_key: bool,
    to: &Path,
) -> Result<(), Failure> {
    let place = &daemon.place;
    for (name, part) in STATE_PARTS {
        let is_taken = match part {
            Part::Vault | Part::Record => true,
            Part::Store | Part::Work | Part::Key => false,
        };
        if is_taken {
            take_record(writer, &place.state.join(name), &format!("{STATE}/{name}"))
                .map_err(|error| failed(to, &error))?;
        }
    }
    if with_key {
        for (name, key) in daemon.vault.key_copies(&place.state)? {
            writer
                .file(&format!("{STATE}/{name}"), PRIVATE_FILE, key.len() as u64, &mut key.as_slice())
                .map_err(|error| failed(to, &error))?;
        }
    }
    // The state directory may contain the configuration, and is no part of it.
    take_record(writer, &place.config, CONFIG).map_err(|error| failed(to, &error))
}

/// Takes a record, or a directory of records. A missing one is left out.
fn take_record(writer: &mut ArchiveWriter, from: &Path, path: &str) -> io::Result<()> {
    let mut left = VecDeque::from([(from.to_owned(), path.to_owned(), 0)]);
    while let Some((from, path, depth)) = left.pop_front() {
        let meta = match from.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            meta => meta?,
        };
        if meta.is_dir() && depth < MAX_DEPTH {
            writer.directory(&path, PRIVATE_DIR)?;
            let mut names: Vec<PathBuf> = std::fs::read_dir(&from)?
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<Result<_, _>>()?;
            names.sort();
            for from in names {
                match from.file_name().and_then(|name| name.to_str()) {
                    Some(name) => left.push_back((from.clone(), format!("{path}/{name}"), depth + 1)),
                    None => note(writer, &path, "a name in it is no text"),
                }
            }
        } else if meta.is_file() && meta.len() <= MAX_RECORD_BYTES {
            // The whole file is read first, because a program may replace it meanwhile.
            let mut bytes = zeroize::Zeroizing::new(Vec::new());
            File::open(&from)?.take(MAX_RECORD_BYTES).read_to_end(&mut bytes)?;
            writer.file(&path, PRIVATE_FILE, bytes.len() as u64, &mut bytes.as_slice())?;
        } else {
            let is_large = meta.is_file() && meta.len() > MAX_RECORD_BYTES;
            let large = format!("it is larger than {} MiB", MAX_RECORD_BYTES >> 20);
            note(
                writer,
                &path,
                if is_large { &large } else { "it is no file, or lies in too many directories" },
            );
        }
    }
    Ok(())
}

/// Notes an entry that is left out.
fn note(writer: &mut ArchiveWriter, path: &str, why: &str) {
    if writer.left_out().len() < MAX_NAMED {
        let line = format!("{}: {why}", visible_line(path));
        writer.left_out().push(line);
    }
}

/// The reading of directories in which runs and clients work. Programs choose the names and links in them, so nothing is
/// reached by a path from outside.
struct WorkWalk<'a> {
    writer: &'a mut ArchiveWriter,
    /// The number of entries that were left out and are not named.
    left_out: usize,
}

impl WorkWalk<'_> {
    fn take(&mut self, state: &Path, name: &str) -> io::Result<()> {
        let root = match Dir::open_ambient_dir(state.join(name), ambient_authority()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            root => root?,
        };
        let path = format!("{STATE}/{name}");
        self.writer.directory(STATE, PRIVATE_DIR)?;
        self.writer.directory(&path, PRIVATE_DIR)?;
        let mut left = VecDeque::from([(root, path, 0)]);
        while let Some((dir, path, depth)) = left.pop_front() {
            let mut entries = dir.entries()?.collect::<io::Result<Vec<DirEntry>>>()?;
            entries.sort_by_key(DirEntry::file_name);
            for entry in entries {
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                    self.skip(&path, "a name in it is no text");
                    continue;
                };
                let path = format!("{path}/{name}");
                if let Some(inner) = self.entry(&dir, &entry, &name, &path)? {
                    match depth < MAX_DEPTH {
                        true => left.push_back((inner, path, depth + 1)),
                        false => self.skip(&path, "it lies in too many directories"),
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes one entry. Returns a directory, whose entries follow.
    fn entry(&mut self, dir: &Dir, entry: &DirEntry, name: &str, path: &str) -> io::Result<Option<Dir>> {
        let meta = match entry.metadata() {
            // Another process has just removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            meta => meta?,
        };
        let mode = meta.permissions().mode() & 0o777;
        if meta.is_symlink() {
            let target = dir.read_link_contents(name)?;
            match target.to_str().filter(|target| is_inner_link(path, target)) {
                Some(target) => self.writer.link(path, target)?,
                None => self.skip(path, "it is a link that leads out of the copy"),
            }
            return Ok(None);
        }
        if meta.is_dir() {
            self.writer.directory(path, mode)?;
            return entry.open_dir().map(Some);
        }
        if !meta.is_file() || meta.len() > MAX_WORK_FILE_BYTES {
            self.skip(path, "it is no regular file, or too large");
            return Ok(None);
        }
        // The file that was opened counts, whatever has happened to its name.
        let mut file = match entry.open() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.skip(path, "its permissions let nobody read it");
                return Ok(None);
            }
            file => file?,
        };
        let bytes = file.metadata()?.len();
        self.writer.file(path, mode, bytes, &mut file)?;
        Ok(None)
    }

    fn skip(&mut self, path: &str, why: &str) {
        match self.writer.left_out().len() < MAX_NAMED {
            true => note(self.writer, path, why),
            false => self.left_out += 1,
        }
    }

    fn end(self) {
        if self.left_out > 0 {
            self.writer.left_out().push(format!("{} more entries of directories of work", self.left_out));
        }
    }
}

/// Returns the parts of the home that no backup holds, and that are there.
fn left_out_of(daemon: &HostDaemon, with_key: bool) -> Vec<String> {
    let state = &daemon.place.state;
    let mut lines =
        vec!["sockets, and files that can be fetched again, such as the weights of models".to_owned()];
    let there = LEFT_OUT.iter().filter(|(name, _)| state.join(name).exists());
    lines.extend(there.map(|(_, words)| (*words).to_owned()));
    if !with_key && state.join("vault.age").exists() {
        lines.push(
            "the key of the vault, without which its secrets stay closed (`--with-key` takes it along)"
                .to_owned(),
        );
    }
    lines.push("your own directories, to which grants lead".to_owned());
    lines
}
