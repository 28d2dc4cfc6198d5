//! The store itself, with its methods for opening, writing and reading.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use kernel::txn::{ReadTxn, StoreFault, Txn};

use crate::backend::Backend;
use crate::backup::{self, BackupError};
use crate::backup_record::BackupRecord;
use crate::blob::Blobs;
use crate::check::{self, Health};
use crate::damage::DamageLatch;
use crate::database::{self, WriterDatabase};
use crate::error::{OpenError, ReadError, WriteError};
use crate::examiner::Examiner;
use crate::marks::Marks;
use crate::migration::MigrationReport;
use crate::place::{self, StoreDirectory};
use crate::reader::Readers;
use crate::snapshot::Snapshot;
use crate::sql::SqlTxn;
use crate::stats::{Counters, Stats, add};
use crate::writer::{Limits, SharedState, Writer};

/// The options of opening a store. The default is right for a daemon.
#[derive(Clone, Debug)]
pub struct Options {
    /// The maximum number of connections for reading, which are opened when needed. At least 1.
    pub readers: usize,
    /// The maximum number of closures that are committed together. At least 1, which means a sync for every write.
    pub group: usize,
    /// The number of log pages (4 KiB each) after which the log is copied into the database file.
    pub checkpoint_pages: u64,
    /// The maximum size of the database file in pages of 4 KiB, beyond which it counts as full. Used in tests.
    pub max_pages: Option<u32>,
    /// The time for which stored bytes are kept although no row names them.
    pub lease: Duration,
    /// The maximum number of bytes in blob files, beyond which [`Blobs::put_within`] refuses more. `None` means no
    /// limit.
    pub quota: Option<u64>,
    /// Whether every row is JSON, as the kernel writes rows. The rows are then examined after each start.
    pub has_json_rows: bool,
}

/// The default lease, long enough for callers that are slow to name the bytes that they stored.
const LEASE: Duration = Duration::from_secs(15 * 60);

impl Default for Options {
    fn default() -> Self {
        Options {
            readers: 4,
            group: 256,
            checkpoint_pages: 4000,
            max_pages: None,
            lease: LEASE,
            quota: None,
            has_json_rows: false,
        }
    }
}

/// A directory of rows and blobs that this process owns. It is shared as `Arc<Store>`. Dropping the last one finishes
/// the queued writes, copies the log into the database file, and gives up the ownership.
pub struct Store {
    // Fields are dropped in this order. The writer's connection is closed last and so closes the database, and the
    // lock is released after that.
    _examiner: Examiner,
    latch: Arc<DamageLatch>,
    readers: Readers,
    writer: Writer,
    blobs: Arc<Blobs>,
    counters: Arc<Counters>,
    migration: Option<MigrationReport>,
    /// The number of snapshots so far, by which their files are told apart.
    snapshots: AtomicU64,
    place: StoreDirectory,
}

impl Store {
    /// Opens the store in `dir` and takes ownership of it. If there is no store, one is made.
    ///
    /// A store of an earlier version is migrated, if there is a way ([`Store::migration`]). Any other store that another
    /// build wrote is refused, as by [`crate::inspect`], before anything is written. Permissions
    /// that let other users in are tightened (see [`Store::repaired`]). If the last owner ended without closing the
    /// store, the database file is checked first.
    pub fn open(dir: &Path, options: Options) -> Result<Store, OpenError> {
        #[cfg(feature = "failpoints")]
        crate::failpoint::install().map_err(|detail| OpenError::Io {
            path: dir.to_path_buf(),
            detail: format!("FAILPOINTS: {detail}"),
        })?;
        crate::inspect(dir)?;
        let place = StoreDirectory::claim(dir)?;
        let dir = place.dir.as_path();
        empty(&dir.join(place::TEMPORARY))?;
        let WriterDatabase { conn, is_sound, migration } = database::writer(dir, options.max_pages)?;
        let latch = Arc::new(DamageLatch::default());
        // The whole file is examined later. Damage at the roots of its tables keeps even the first write away.
        if let Err(fault) = database::check_roots(&conn) {
            latch.note(&fault);
        }
        let counters = Arc::new(Counters::default());
        let limits =
            Limits { group: options.group.max(1), checkpoint_pages: options.checkpoint_pages.max(1) };
        let marks = Arc::new(Marks::new(options.lease));
        let shared = SharedState {
            counters: Arc::clone(&counters),
            marks: Arc::clone(&marks),
            latch: Arc::clone(&latch),
        };
        let writer =
            Writer::start(conn, &place, limits, shared).map_err(|fault| OpenError::from_fault(dir, fault))?;
        let readers = Readers::new(dir.join(place::DATABASE), options.readers);
        let blobs =
            Arc::new(Blobs::new(dir, Arc::clone(&counters), marks, options.quota, Arc::clone(&latch)));
        let file = dir.join(place::DATABASE);
        let examiner = Examiner::start(file, is_sound, options.has_json_rows, Arc::clone(&latch));
        Ok(Store {
            _examiner: examiner,
            latch,
            readers,
            writer,
            blobs,
            counters,
            migration,
            snapshots: AtomicU64::new(0),
            place,
        })
    }

    /// Runs a closure in a transaction, and returns when its changes are durable. If the closure returns `Err` or
    /// panics, its changes are rolled back, and nothing is recorded.
    ///
    /// The closure runs on the writer's thread, in a group with other closures. It must be quick. It must not call
    /// `write` again, which is refused. It must not wait for anything that calls `write`.
    pub fn write<T, E, F>(&self, closure: F) -> Result<T, WriteError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: FnOnce(&mut dyn Txn) -> Result<T, E> + Send + 'static,
    {
        if self.writer.is_me() {
            return Err(WriteError::Store(StoreFault::Io("a write inside a write".into())));
        }
        let (answer, answered) = sync_channel(1);
        // The receiver lives as long as the sender, so sending cannot fail.
        self.writer.submit(closure, move |result| drop(answer.send(result)));
        answered.recv().unwrap_or(Err(WriteError::Store(StoreFault::Closed)))
    }

    /// Runs a closure as [`Store::write`] does, but returns at once. `done` gets the result when the changes are
    /// durable. This is for callers that have many pending writes and not a thread for each.
    ///
    /// `done` runs on the writer's thread, and should only pass the result on and return. Closures that one thread
    /// submits are run in that order.
    pub fn submit<T, E, F, D>(&self, closure: F, done: D)
    where
        T: Send + 'static,
        E: Send + 'static,
        F: FnOnce(&mut dyn Txn) -> Result<T, E> + Send + 'static,
        D: FnOnce(Result<T, WriteError<E>>) + Send + 'static,
    {
        self.writer.submit(closure, done);
    }

    /// Runs a closure on one consistent committed state, on the caller's thread. The closure sees every write that
    /// was acknowledged before the call. From the first row read on, it sees no later commit.
    ///
    /// There are only a few connections, so a closure must not start another read, and must not wait for anything.
    pub fn read<T, E, F>(&self, closure: F) -> Result<T, ReadError<E>>
    where
        F: FnOnce(&mut dyn ReadTxn) -> Result<T, E>,
    {
        add(&self.counters.reads, 1);
        let lease = self.readers.lease().map_err(ReadError::Store)?;
        let conn = lease.conn().map_err(ReadError::Store)?;
        // After the first damage, a read gives what can be read. Nothing begins any more because of it.
        let mut txn = if self.latch.is_closed() { SqlTxn::salvaging(conn) } else { SqlTxn::new(conn) };
        let result = closure(&mut txn).map_err(ReadError::Refused);
        if let Some(fault) = &txn.fault {
            self.latch.note(fault);
        }
        result
    }

    /// Returns the first damage that was found since the store was opened. From then on, the store takes no writes,
    /// and reads leave out the rows that cannot be read ([`crate::take_left_out`]).
    pub fn damage(&self) -> Option<String> {
        self.latch.found()
    }

    /// Returns the first damage like [`Store::damage`]. If the store was opened less than `time` ago, this waits until
    /// its structure has been examined.
    pub fn examined_damage(&self, time: Duration) -> Option<String> {
        self.latch.await_examination(time);
        self.latch.found()
    }

    /// Calls a function with the first damage, now or when it is found. Only the first call counts.
    pub fn watch_damage(&self, watcher: impl Fn(&str) + Send + Sync + 'static) {
        self.latch.watch(Box::new(watcher));
    }

    pub(crate) fn latch(&self) -> &DamageLatch {
        &self.latch
    }

    /// Returns the blobs of the store.
    pub fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Returns the blobs, for a closure that the writer runs.
    pub(crate) fn shared_blobs(&self) -> Arc<Blobs> {
        Arc::clone(&self.blobs)
    }

    /// Overwrites what the log still holds of deleted rows. In the database file, rows are overwritten when they are
    /// deleted.
    pub(crate) fn scrub(&self) -> Result<(), StoreFault> {
        self.writer.scrub();
        // The log is cut after the first of these writes. The second write is answered after that.
        for _ in 0..2 {
            let done: Result<(), WriteError<StoreFault>> = self.write(|_| Ok(()));
            done.map_err(|e| StoreFault::Io(e.to_string()))?;
        }
        Ok(())
    }

    pub(crate) fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Returns the counters of the store's work since it was opened.
    pub fn stats(&self) -> Stats {
        self.counters.snapshot()
    }

    /// Returns the directory of the store, with links resolved.
    pub fn dir(&self) -> &Path {
        &self.place.dir
    }

    /// Returns the migration that opening the store has made, if an earlier build wrote it.
    pub fn migration(&self) -> Option<&MigrationReport> {
        self.migration.as_ref()
    }

    /// Returns the paths that other users could read or write when the store was opened. Their permissions have been
    /// tightened.
    pub fn repaired(&self) -> &[PathBuf] {
        &self.place.repaired
    }

    /// Makes a backup of the whole store in `to`, which must not exist, while the store is in use. The backup is
    /// itself a store, with everything that had been acknowledged when the copying began. The store remembers it
    /// ([`BackupRecord::newest`]).
    ///
    /// # Errors
    /// When the backup cannot be made, or the store is damaged: a copy of damage is no backup.
    pub fn backup(&self, to: &Path) -> Result<(), BackupError> {
        if let Some(fault) = self.latch.fault() {
            return Err(fault.into());
        }
        let copied = backup::copy(&self.place.dir, &self.blobs, to);
        if let Err(BackupError::Rows(fault)) = &copied {
            self.latch.note(fault);
        }
        copied?;
        // The backup is complete. Without the record, only its name is not shown later.
        let _ = BackupRecord::add(&self.place.dir, to);
        Ok(())
    }

    /// Returns the rows of the store at this moment, and the blobs that they name, for a backup of the whole home.
    ///
    /// # Errors
    /// When the rows cannot be copied, or the store is damaged: a copy of damage is no backup.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, BackupError> {
        if let Some(fault) = self.latch.fault() {
            return Err(fault.into());
        }
        let made = Snapshot::new(&self.place, &self.blobs, self.snapshots.fetch_add(1, Ordering::Relaxed));
        if let Err(BackupError::Rows(fault)) = &made {
            self.latch.note(fault);
        }
        made
    }

    /// Records that a backup of the store was made at a path now ([`BackupRecord::newest`]).
    pub fn record_backup(&self, path: &Path) {
        // The backup is complete. Without the record, only its name is not shown later.
        let _ = BackupRecord::add(&self.place.dir, path);
    }

    /// Checks the whole store, for `doctor`. Takes as long as reading the database file. With `blobs`, every blob is
    /// read and verified too.
    pub fn check(&self, blobs: bool) -> Result<Health, StoreFault> {
        let lease = self.readers.lease()?;
        check::examine(&self.place.dir, lease.conn()?, blobs.then_some(&self.blobs))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SQLite removes the log when the last connection closes, and the last one should be the writer's.
        self.readers.close();
        self.blobs.rows().close();
    }
}

impl Backend for Store {
    fn write<T, E, F>(&self, closure: F) -> Result<T, WriteError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: FnOnce(&mut dyn Txn) -> Result<T, E> + Send + 'static,
    {
        Store::write(self, closure)
    }

    fn read<T, E, F>(&self, closure: F) -> Result<T, ReadError<E>>
    where
        F: FnOnce(&mut dyn ReadTxn) -> Result<T, E>,
    {
        Store::read(self, closure)
    }
}

/// Removes the unfinished files of a process that was killed.
fn empty(dir: &Path) -> Result<(), OpenError> {
    let clear = || {
        for entry in fs::read_dir(dir)? {
            fs::remove_file(entry?.path())?;
        }
        Ok(())
    };
    clear().map_err(|error| OpenError::from_io(dir, &error))
}
