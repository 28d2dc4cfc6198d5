//! The restore of a home from a backup.
//!
//! Everything is unpacked and changed beside the home. One rename of the state directory then makes it the home, so a
//! process that is killed before leaves nothing of it in place. The configuration follows. If a process is killed between
//! the two, a note in the state directory says so, and the next command of any kind completes the restore.
//!
//! A restored store takes the place of the present one, which moves to a name with the time. The note comes before both
//! renames, so no start between them finds a home without a store.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernel::command::Fault;
use kernel::relocation::{DirectoryMove, PathMap};
use passable::visible_line;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use store::{OpenError, Options, Store, StoreLock, WriteError};

use super::archive_reader::{ArchiveError, UnpackTarget, UnpackedArchive, unpack};
use super::archive_writer::{PRIVATE_DIR, PRIVATE_FILE};
use super::authority::RestoredAuthority;
use super::config_texts::{ChangedText, changed_texts, is_plain};
use super::manifest::Header;
use super::part::Part;
use super::plan::{RestorePlan, StoreSurvey};
use crate::state::daemon::environment;
use crate::state::errors::DaemonError;
use config::place::{Place, open_failure, private_dir};
use config::place_lock::PlaceLock;
use config::private_dir::private_dir_among_others;
use config::trust::{self, TrustedFile};
use config::{mcp_file, policy_file, settings};
use control::exit::{Exit, Failure};

/// The name of the note that says which renames a restore has still to make.
const NOTE: &str = "restore.json";

/// The entries of a state directory that hold nothing of a home.
const TRACES: [&str; 2] = ["run", "daemon.log"];

/// The maximum size of the note, in bytes. It holds four paths.
const MAX_NOTE_BYTES: u64 = 64 << 10;

/// The time limit for another process to open or rename the store.
const RENAME_TIMEOUT: Duration = Duration::from_secs(10);

/// The parts of a backup that are restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreScope {
    /// The whole home, which must be empty.
    Home,
    /// The store, and the directories of work that are gone. The present store is kept beside it, and the rest stays.
    Store,
}

/// An unpacked backup beside a home.
pub struct Restore {
    place: Place,
    scope: RestoreScope,
    /// The place of the unpacked home, with which its files are read and changed.
    staged: Place,
    archive: UnpackedArchive,
    /// The unpacked store, until it is complete. It is closed before the directories go.
    store: Option<Store>,
    staging: Staging,
}

/// The directories beside a home that hold everything until the end. They go with the value.
struct Staging {
    /// The directory with the unpacked state directory, and with the lock of this process.
    dir: PathBuf,
    /// The directory of the unpacked configuration.
    config: PathBuf,
    /// The directory above, if it was made for the restore.
    made: Option<PathBuf>,
    /// The note by which the next command completes the restore, with what lies here.
    note: PathBuf,
    _lock: File,
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.note.exists() {
            return;
        }
        // The next restore removes what is left.
        let _ = clear(&self.config);
        let _ = clear(&self.dir);
        if let Some(made) = &self.made {
            // It stays if it holds the restored home.
            let _ = fs::remove_dir(made);
        }
    }
}

/// The renames that a restore has still to make.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// The unpacked configuration, or the unpacked store.
    from: PathBuf,
    /// Its place.
    to: PathBuf,
    /// The name to which the present store moves, if the store alone is restored.
    #[serde(default)]
    aside: Option<PathBuf>,
    /// The directory that goes at the end.
    staging: PathBuf,
}

impl Restore {
    /// Unpacks a backup beside a home. Nothing of it counts before [`Restore::commit`].
    ///
    /// # Errors
    /// When the home holds something, a daemon uses the store, the file is no whole backup, or it cannot be unpacked.
    pub fn open(place: &Place, file: &Path, scope: RestoreScope) -> Result<Restore, Failure> {
        match scope {
            RestoreScope::Home => check_vacant(place)?,
            RestoreScope::Store => {
                private_dir(&place.state)?;
                drop(hold_store(place)?);
            }
        }
        let staging = Staging::take(place)?;
        let target = UnpackTarget { state: staging.dir.join("state"), config: staging.config.clone() };
        let failed = |error: ArchiveError| archive_failure(file, error);
        for dir in [&target.state, &target.config] {
            private_dir_among_others(dir)?;
        }
        let mut staged = place.clone();
        (staged.state, staged.config) = (target.state.clone(), target.config.clone());
        let is_wanted = |part: Part| match scope {
            RestoreScope::Home => true,
            RestoreScope::Store => matches!(part, Part::Store | Part::Work),
        };
        let archive = unpack(file, &target, &is_wanted).map_err(failed)?;
        // A store of an earlier version is migrated here, beside the home.
        let options = Options { has_json_rows: true, ..Options::default() };
        let store = Store::open(&staged.store(), options).map_err(open_failure)?;
        store::failpoint::reach("restore.unpacked");
        Ok(Restore { place: place.clone(), scope, staged, archive, store: Some(store), staging })
    }

    /// Returns the origin of the backup.
    pub fn header(&self) -> &Header {
        &self.archive.header
    }

    /// Returns the parts that the backup leaves out.
    pub fn left_out(&self) -> &[String] {
        &self.archive.index.left_out
    }

    /// Returns whether the backup holds a vault.
    pub fn has_vault(&self) -> bool {
        self.archive.index.entries.contains_key("state/vault.age")
    }

    /// Returns the plan for these moves of directories.
    ///
    /// # Errors
    /// When the unpacked home cannot be read, or a text cannot hold a new path.
    pub fn plan(&self, moves: &[DirectoryMove]) -> Result<RestorePlan, Failure> {
        let header = &self.archive.header;
        let own = [(&header.state, &self.place.state), (&header.config, &self.place.config)];
        let own = own.map(|(from, to)| -> Result<DirectoryMove, Failure> {
            Ok(DirectoryMove { from: from.clone(), to: future_path(to)? })
        });
        let mut all: Vec<DirectoryMove> = own.into_iter().collect::<Result<_, _>>()?;
        // The user's own word about a directory of the home would lead past it.
        all.extend(moves.iter().filter(|one| one.from != header.state && one.from != header.config).cloned());
        let map = PathMap::new(all);
        let survey = StoreSurvey::new(self.open_store()?).map_err(store_failure)?;
        let unused = moves.iter().filter(|one| !survey.names(&one.from)).map(|one| one.from.clone());
        let unused: Vec<String> = unused.collect();
        let mut plan = survey.plan(map, &header.state);
        if self.scope == RestoreScope::Home {
            let texts = self.texts(&plan.moves)?;
            plan.texts = texts.iter().flat_map(|text| text.lines.clone()).collect();
            let moved = |path: String| plan.moves.moved(&path).unwrap_or_else(|| path.clone());
            let trusted = trust::all(&self.staged)?.into_iter().map(|one| one.path.display().to_string());
            plan.trusted = trusted.map(|path| (path.clone(), moved(path))).collect();
            plan.authority = self.authority(&texts)?;
        }
        let in_texts = |from: &String| plan.texts.iter().any(|line| line.before.contains(from.as_str()));
        let in_trust = |from: &String| plan.trusted.iter().any(|(path, _)| path.starts_with(from.as_str()));
        plan.unused = unused.into_iter().filter(|from| !in_texts(from) && !in_trust(from)).collect();
        Ok(plan)
    }

    /// Makes the unpacked home the home. Returns the path of the store that was there, if there was one.
    ///
    /// # Errors
    /// When something has come into its place meanwhile, or the file system fails. The home is as it was then.
    pub fn commit(mut self, plan: &RestorePlan) -> Result<Option<PathBuf>, Failure> {
        let env = environment()?;
        let moves = plan.moves.clone();
        let moved = self.open_store()?.write(move |txn| kernel::relocate(txn, &env, &moves));
        moved.map_err(|error: WriteError<Fault>| Failure::from(DaemonError::from(error)))?;
        // The store is closed, so its last change is in its file.
        self.store = None;
        if self.scope == RestoreScope::Home {
            self.write_config(plan)?;
        }
        match self.scope {
            RestoreScope::Home => self.commit_home().map(|()| None),
            RestoreScope::Store => self.commit_store(),
        }
    }

    fn open_store(&self) -> Result<&Store, Failure> {
        self.store.as_ref().ok_or_else(|| Failure::new(Exit::Failure, "the unpacked store is closed"))
    }

    /// Returns the texts of the configuration that change.
    fn texts(&self, moves: &PathMap) -> Result<Vec<ChangedText>, Failure> {
        let config = &self.staged.config;
        let texts = changed_texts(config, moves).map_err(|error| io_failure(config, &error))?;
        let strange = moves.moves().iter().find(|one| !is_plain(&one.to));
        match strange.filter(|_| !texts.is_empty()) {
            None => Ok(texts),
            Some(strange) => {
                let shown = visible_line(&strange.to);
                Err(Failure::new(
                    Exit::Invalid,
                    format!("cannot write {shown} into the configuration: it has quotation marks"),
                )
                .help("choose a path without quotation marks and backslashes"))
            }
        }
    }

    /// Returns what the configuration gives once its paths have moved. A text can hold other entries then than before.
    fn authority(&self, texts: &[ChangedText]) -> Result<RestoredAuthority, Failure> {
        let mut moved = self.staged.clone();
        moved.config = self.staging.dir.join("moved");
        let failed = |error: io::Error| io_failure(&moved.config, &error);
        clear(&moved.config).and_then(|()| make_dir(&moved.config)).map_err(failed)?;
        for name in [mcp_file::FILE, settings::FILE, policy_file::NAME] {
            let (from, to) = (self.staged.config.join(name), moved.config.join(name));
            match texts.iter().find(|text| text.path == from) {
                Some(text) => write_new(&to, text.text.as_bytes()).map_err(failed)?,
                None if is_there(&from) => drop(fs::copy(&from, &to).map_err(failed)?),
                None => {}
            }
        }
        let authority = RestoredAuthority::read(&moved);
        clear(&moved.config).map_err(failed)?;
        Ok(authority)
    }

    fn write_config(&self, plan: &RestorePlan) -> Result<(), Failure> {
        let place = &self.staged;
        let is_read = |place: &Place| {
            settings::read(&settings::path(place)).is_ok()
                && mcp_file::read(&place.config).is_ok()
                && policy_file::load(&place.config.join(policy_file::NAME), operator::PolicyOwner::Operator)
                    .is_ok()
        };
        let was_read = is_read(place);
        for text in self.texts(&plan.moves)? {
            fs::write(&text.path, text.text).map_err(|error| io_failure(&text.path, &error))?;
        }
        if was_read && !is_read(place) {
            return Err(Failure::new(
                Exit::Invalid,
                "cannot move the paths in the configuration: it could not be read afterwards",
            )
            .help("restore without `--map` of these paths, and change the files yourself"));
        }
        for (old, new) in self.moved_trust(&plan.moves)? {
            trust::revoke(place, &old.path)?;
            trust::keep_record(place, &new)?;
        }
        Ok(())
    }

    /// Returns the trusted files that move, before and afterwards.
    fn moved_trust(&self, moves: &PathMap) -> Result<Vec<(TrustedFile, TrustedFile)>, Failure> {
        let moved = |old: TrustedFile| {
            let path = moves.moved(old.path.to_str()?)?;
            Some((old.clone(), TrustedFile { path: path.into(), ..old }))
        };
        Ok(trust::all(&self.staged)?.into_iter().filter_map(moved).collect())
    }

    fn set_modes(&self) -> Result<(), Failure> {
        self.archive.set_modes().map_err(|error| match error {
            ArchiveError::Io { path, source } => io_failure(&path, &source),
            error => archive_failure(&self.staging.dir, error),
        })
    }

    fn commit_home(&self) -> Result<(), Failure> {
        let (state, config) = (&self.place.state, &self.place.config);
        let note = Note {
            from: self.staged.config.clone(),
            to: config.clone(),
            aside: None,
            staging: self.staging.dir.clone(),
        };
        let path = self.staged.state.join(NOTE);
        let is_inside = config.starts_with(state);
        let prepared = if is_inside { Ok(()) } else { note.write(&path) };
        prepared.and_then(|()| sync_tree(&self.staged.state)).map_err(|error| io_failure(&path, &error))?;
        if !is_inside {
            sync_tree(&self.staged.config).map_err(|error| io_failure(&self.staged.config, &error))?;
        }
        self.set_modes()?;
        store::failpoint::reach("restore.prepared");
        check_vacant(&self.place)?;
        for trace in TRACES {
            clear(&state.join(trace)).map_err(|error| io_failure(state, &error))?;
        }
        // An empty directory in its place is replaced. Anything else stays, and the restore fails.
        fs::rename(&self.staged.state, state)
            .and_then(|()| sync_parent(state))
            .map_err(|error| io_failure(state, &error))?;
        store::failpoint::reach("restore.state_moved");
        if is_inside {
            return clear(&self.staging.dir).map_err(|error| io_failure(&self.staging.dir, &error));
        }
        finish(&self.place)
    }

    fn commit_store(&self) -> Result<Option<PathBuf>, Failure> {
        sync_tree(&self.staged.state).map_err(|error| io_failure(&self.staging.dir, &error))?;
        self.set_modes()?;
        let state = &self.place.state;
        private_dir(state)?;
        // No daemon begins to use the store before it has moved.
        let _held = hold_store(&self.place)?;
        for name in ["stages", "mounts"] {
            let Ok(copies) = fs::read_dir(self.staged.state.join(name)) else { continue };
            make_dir(&state.join(name)).map_err(|error| io_failure(state, &error))?;
            for copy in copies.flatten() {
                let to = state.join(name).join(copy.file_name());
                if to.symlink_metadata().is_err() {
                    fs::rename(copy.path(), &to).map_err(|error| io_failure(&to, &error))?;
                }
            }
        }
        let _lock = lock_renames(&self.place)?;
        let to = self.place.store();
        let aside = to.symlink_metadata().is_ok().then(|| store::unused_name(&to, "replaced"));
        let note = Note { from: self.staged.store(), to, aside, staging: self.staging.dir.clone() };
        // Each command reads the note, so it comes whole.
        let (path, unplaced) = (state.join(NOTE), self.staging.dir.join(NOTE));
        clear(&self.staging.config)
            .and_then(|()| clear(&unplaced))
            .and_then(|()| note.write(&unplaced))
            .and_then(|()| fs::rename(&unplaced, &path))
            .and_then(|()| sync_parent(&path))
            .map_err(|error| io_failure(&path, &error))?;
        store::failpoint::reach("restore.noted");
        note.complete(&self.place)?;
        Ok(note.aside)
    }
}

impl Note {
    /// Reads the note in a state directory, if there is one.
    ///
    /// # Errors
    /// When the note or its directory is not this user's, or names other paths than a restore of this home would.
    fn read(place: &Place) -> Result<Option<Note>, Failure> {
        let path = place.state.join(NOTE);
        if !is_there(&path) {
            return Ok(None);
        }
        // Another user could have made the directory, and the note in it.
        private_dir(&place.state)?;
        let failed = |error: io::Error| io_failure(&path, &error);
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        let opened = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(&path);
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let meta = file.metadata().map_err(failed)?;
        let strange = || {
            let shown = path.to_string_lossy();
            Failure::new(Exit::Denied, format!("cannot complete the restore of {}", visible_line(&shown)))
                .help("it names other paths than this home's: use the environment in which the restore began")
        };
        let own = fs::metadata(&place.state).map_err(failed)?.uid();
        if !meta.is_file() || meta.uid() != own {
            return Err(strange());
        }
        let mut text = Vec::new();
        file.take(MAX_NOTE_BYTES).read_to_end(&mut text).map_err(failed)?;
        let note: Note = serde_json::from_slice(&text).map_err(|_| strange())?;
        if note.is_of(place) { Ok(Some(note)) } else { Err(strange()) }
    }

    /// Returns whether a restore of this home would make these renames.
    fn is_of(&self, place: &Place) -> bool {
        let (dir, config) = staging_of(place);
        let mut staged = place.clone();
        staged.state = dir.join("state");
        let staged_store = staged.store();
        let (from, to, is_aside) = match &self.aside {
            None if self.to == place.config => (config, &place.config, true),
            None => (staged_store, &place.store(), true),
            Some(aside) => {
                let store = place.store();
                let name = aside.file_name().unwrap_or_default().to_string_lossy();
                (
                    staged_store,
                    &store.clone(),
                    aside.parent() == store.parent() && name.starts_with("store.replaced-"),
                )
            }
        };
        self.staging == dir && self.from == from && self.to == *to && is_aside
    }

    /// Makes the renames that are left, and removes the note and the staging directory.
    fn complete(&self, place: &Place) -> Result<(), Failure> {
        let path = place.state.join(NOTE);
        if is_there(&self.from)
            && let Err(error) = self.make_renames()
        {
            let failure = io_failure(&self.to, &error);
            if self.undo_renames() {
                fs::remove_file(&path).map_err(|error| io_failure(&path, &error))?;
                return Err(failure.help("the store is as it was, and the backup too"));
            }
            let shown = |path: &Path| visible_line(&path.to_string_lossy()).into_owned();
            let earlier = self.aside.as_ref().map(|aside| format!(", the earlier one in {}", shown(aside)));
            return Err(failure.help(format!(
                "the restored part lies in {}{}; move what is in its place away, and try again",
                shown(&self.from),
                earlier.unwrap_or_default()
            )));
        }
        fs::remove_file(&path)
            .and_then(|()| clear(&self.staging))
            .map_err(|error| io_failure(&path, &error))?;
        sync_parent(&path).map_err(|error| io_failure(&path, &error))
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        write_new(path, &serde_json::to_vec(self)?)
    }

    /// Moves the present store aside, if this is about the store, and brings the unpacked part into its place.
    fn make_renames(&self) -> io::Result<()> {
        self.to.parent().map_or(Ok(()), make_dir)?;
        if let Some(aside) = self.aside.as_ref().filter(|aside| !is_there(aside) && is_there(&self.to)) {
            fs::rename(&self.to, aside)?;
            store::failpoint::reach("restore.moved_aside");
        }
        fs::rename(&self.from, &self.to)?;
        sync_parent(&self.to)
    }

    /// Moves the store that was there back into its place. Returns whether it is there.
    fn undo_renames(&self) -> bool {
        let Some(aside) = &self.aside else { return false };
        match (is_there(&self.to), is_there(aside)) {
            (true, false) => true,
            (false, true) => fs::rename(aside, &self.to).and_then(|()| sync_parent(&self.to)).is_ok(),
            _ => false,
        }
    }
}

/// Completes a restore that was interrupted between its renames. Without one, this does nothing.
///
/// # Errors
/// When the configuration or the store cannot come into its place. The store that was there is there again then, or
/// the failure says where it is.
pub fn finish(place: &Place) -> Result<(), Failure> {
    if !is_there(&place.state.join(NOTE)) {
        return Ok(());
    }
    let _lock = lock_renames(place)?;
    finish_locked(place)
}

/// Waits until no other process renames the store or opens it.
///
/// # Errors
/// When another process has the lock for too long.
pub fn lock_renames(place: &Place) -> Result<Option<File>, Failure> {
    PlaceLock::StoreRename.take(place, RENAME_TIMEOUT).map_err(|_| {
        Failure::new(Exit::Conflict, "cannot open the store: another process opens or restores it")
            .help("wait a moment, and try again")
    })
}

/// Does what [`finish`] does, for a process that has [`PlaceLock::StoreRename`].
///
/// # Errors
/// As [`finish`], and when a daemon uses the store.
pub fn finish_locked(place: &Place) -> Result<(), Failure> {
    let Some(note) = Note::read(place)? else { return Ok(()) };
    let _held = if note.aside.is_some() { hold_store(place)? } else { None };
    note.complete(place)
}

/// Checks that nothing lies where a restored home goes.
fn check_vacant(place: &Place) -> Result<(), Failure> {
    for (dir, traces) in [(&place.state, &TRACES[..]), (&place.config, &[])] {
        let names = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let is_inner = |name: &std::ffi::OsStr| place.config == dir.join(name) && *dir == place.state;
        let mut names = names.filter(|name| !traces.iter().any(|trace| name == trace) && !is_inner(name));
        if names.next().is_some() || dir.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
            let shown = dir.display().to_string();
            return Err(Failure::new(
                Exit::Conflict,
                format!("cannot restore: {} holds something already", visible_line(&shown)),
            )
            .help(
                "name an empty home: `ALMONER_HOME=DIR almoner restore FILE`; for a damaged store alone, \
                 `almoner stop && almoner restore FILE --store`",
            ));
        }
    }
    Ok(())
}

/// Keeps daemons from the present store, if there is one, for as long as the value lives.
fn hold_store(place: &Place) -> Result<Option<StoreLock>, Failure> {
    StoreLock::take(&place.store()).map_err(|error| match error {
        OpenError::Owned { .. } => Failure::new(Exit::Conflict, "cannot restore: a daemon uses the store")
            .help("`almoner stop`, then the same command"),
        error => open_failure(error),
    })
}

impl Staging {
    /// Takes the directories beside a home. The remains of a killed restore are removed.
    fn take(place: &Place) -> Result<Staging, Failure> {
        let (dir, config) = staging_of(place);
        let failed = |error: io::Error| io_failure(&dir, &error);
        let above = dir.parent().unwrap_or(Path::new("/")).to_owned();
        let made = (!above.exists()).then(|| above.clone());
        make_dir(&above).map_err(failed)?;
        // Another user who could write there, or put another directory in its place, could change the home before a person
        // says yes.
        private_dir_among_others(&dir)?;
        let path = dir.join("lock");
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(PRIVATE_FILE).open(&path);
        let lock = lock.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(
                    Exit::Conflict,
                    "cannot restore: another restore of this home is at work",
                )
                .help("wait until it has ended"));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        clear(&dir.join("state")).and_then(|()| clear(&config)).map_err(failed)?;
        Ok(Staging { note: place.state.join(NOTE), dir, config, made, _lock: lock })
    }
}

/// Returns the directories beside a home in which a restore unpacks: that of the state directory, and the configuration.
fn staging_of(place: &Place) -> (PathBuf, PathBuf) {
    let dir = beside(&place.state, ".restoring");
    let config = match place.config.strip_prefix(&place.state) {
        Ok(inner) => dir.join("state").join(inner),
        Err(_) => beside(&place.config, ".restoring"),
    };
    (dir, config)
}

/// Returns the path that a directory will have, with all links in its existing part followed: rows name such paths.
fn future_path(dir: &Path) -> Result<String, Failure> {
    let found = dir.ancestors().find_map(|there| {
        let rest = dir.strip_prefix(there).ok()?;
        Some(fs::canonicalize(there).ok()?.join(rest))
    });
    let path = found.unwrap_or_else(|| dir.to_owned());
    path.to_str().map(|path| path.trim_end_matches('/').to_owned()).ok_or_else(|| {
        Failure::new(Exit::Failure, "cannot restore: the path of the home is not UTF-8")
            .help("choose a path of plain text")
    })
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(path)
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use io::Write as _;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Removes a file or a directory with everything in it. A link is removed, and not followed.
fn clear(path: &Path) -> io::Result<()> {
    let Ok(meta) = path.symlink_metadata() else { return Ok(()) };
    match meta.is_dir() {
        true => caps::remove_tree(path),
        false => fs::remove_file(path),
    }
}

/// Waits until everything in a directory is on the disk.
fn sync_tree(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_tree(&entry.path())?;
        } else if kind.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(dir)?.sync_all()
}

fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |above| File::open(above)?.sync_all())
}

fn archive_failure(file: &Path, error: ArchiveError) -> Failure {
    let (exit, help) = match &error {
        ArchiveError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            (Exit::NotFound, "name a file that `almoner backup FILE` has made")
        }
        ArchiveError::Io { .. } => (Exit::Failure, "nothing was restored; the file stays as it is"),
        ArchiveError::NoRoom => (Exit::Failure, "free some space; nothing was restored"),
        ArchiveError::Later(_) => (Exit::Failure, "install that build; nothing was restored"),
        ArchiveError::Foreign => {
            (Exit::Invalid, "name a file that `almoner backup FILE` has made; nothing was restored")
        }
        ArchiveError::Damaged(_) | ArchiveError::Entry(_) => {
            (Exit::Invalid, "take another backup; nothing was restored")
        }
    };
    let reason = match error {
        // The failure names the file already.
        ArchiveError::Io { path, source } if path == file => source.to_string(),
        error => error.to_string(),
    };
    let shown = file.display().to_string();
    Failure::new(exit, format!("cannot restore {}: {reason}", visible_line(&shown))).help(help)
}

fn io_failure(path: &Path, error: &io::Error) -> Failure {
    let shown = path.display().to_string();
    Failure::new(Exit::Failure, format!("cannot restore {}: {error}", visible_line(&shown)))
        .help("the directory must be yours, and writable; the backup stays as it is")
}

fn store_failure(fault: kernel::txn::StoreFault) -> Failure {
    Failure::from_error(Exit::Failure, fault).help("take another backup; nothing was restored")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory cannot move into itself, so the second rename fails.
    #[test]
    fn store_moves_back_if_the_restored_one_cannot_come() {
        let home = tempfile::tempdir().unwrap();
        let place = Place::under(home.path());
        fs::create_dir_all(place.store()).unwrap();
        fs::write(place.store().join("kept"), "kept").unwrap();
        let aside = place.state.join("store.replaced-1");
        let note = Note {
            from: place.state.clone(),
            to: place.store(),
            aside: Some(aside.clone()),
            staging: home.path().join("state.restoring"),
        };
        note.write(&place.state.join(NOTE)).unwrap();
        let failure = note.complete(&place).unwrap_err();
        assert!(failure.help.starts_with("the store is as it was"), "{failure:?}");
        assert_eq!(fs::read_to_string(place.store().join("kept")).unwrap(), "kept");
        assert!(!is_there(&aside));
        finish(&place).unwrap();
    }
}
