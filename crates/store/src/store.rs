//! The store itself: opening, writing, reading.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use kernel::txn::{ReadTxn, StoreFault, Txn};

use crate::backend::Backend;
use crate::backup::{self, BackupError};
use crate::blob::Blobs;
use crate::check::{self, Health};
use crate::database;
use crate::error::{OpenError, ReadError, WriteError};
use crate::marks::Marks;
use crate::place::{self, StoreDirectory};
use crate::reader::Readers;
use crate::sql::SqlTxn;
use crate::stats::{Counters, Stats, add};
use crate::writer::{Limits, Writer};

/// How a store is opened. The default is right for a daemon.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections for reading, opened when needed. At least 1.
    pub readers: usize,
    /// Closures committed together at most. At least 1; 1 means a sync for every write.
    pub group: usize,
    /// Pages of 4 KiB in the log after which it is copied into the database file.
    pub checkpoint_pages: u64,
    /// Size of the database file in pages of 4 KiB beyond which it counts as full. For tests.
    pub max_pages: Option<u32>,
    /// How long bytes that were put stay although no row names them.
    pub lease: Duration,
    /// How many bytes there may be beside the store before [`Blobs::put_within`] refuses more; `None` means any number.
    pub quota: Option<u64>,
}

/// The lease for callers that are slow to name the bytes that they put. Others name them at once.
const LEASE: Duration = Duration::from_secs(15 * 60);

impl Default for Options {
    fn default() -> Self {
        Options { readers: 4, group: 256, checkpoint_pages: 4000, max_pages: None, lease: LEASE, quota: None }
    }
}

/// A directory of rows and blobs that this process owns. Share it as `Arc<Store>`. Dropping the last one finishes the
/// queued writes, copies the log into the database file, and gives up the ownership.
pub struct Store {
    // Fields are dropped in this order: the database is closed by the last connection, the writer's, and the
    // lock is given up last.
    readers: Readers,
    writer: Writer,
    blobs: Arc<Blobs>,
    counters: Arc<Counters>,
    place: StoreDirectory,
}

impl Store {
    /// Opens the store in `dir`, making it if there is none, and takes ownership of it.
    ///
    /// A store that another build wrote is refused, as by [`crate::inspect`], before anything is written. Permissions
    /// that let others in are tightened (see [`Store::repaired`]). If the last owner ended without closing, the
    /// database file is checked first.
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
        let conn = database::writer(dir, options.max_pages)?;
        let counters = Arc::new(Counters::default());
        let limits =
            Limits { group: options.group.max(1), checkpoint_pages: options.checkpoint_pages.max(1) };
        let marks = Arc::new(Marks::new(options.lease));
        let writer = Writer::start(conn, &place, limits, Arc::clone(&counters), Arc::clone(&marks))
            .map_err(|fault| OpenError::from_fault(dir, fault))?;
        let readers = Readers::new(dir.join(place::DATABASE), options.readers);
        let blobs = Arc::new(Blobs::new(dir, Arc::clone(&counters), marks, options.quota));
        Ok(Store { readers, writer, blobs, counters, place })
    }

    /// Runs a closure in a transaction and returns when it is durable. An `Err` of the closure rolls back its changes
    /// and records nothing; so does a panic.
    ///
    /// The closure runs on the writer's thread, in a group with others. It must be quick. It must not call `write`
    /// again (that is refused) nor wait for anything that does.
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
        // The receiver below waits for as long as the sender lives, so sending cannot fail.
        self.writer.submit(closure, move |result| drop(answer.send(result)));
        answered.recv().unwrap_or(Err(WriteError::Store(StoreFault::Closed)))
    }

    /// Runs a closure as [`Store::write`] does, but returns at once; `done` gets the answer when it is durable. This
    /// is for callers that have many pending writes and no thread to spare for each.
    ///
    /// `done` runs on the writer's thread: it should pass the answer on and return. Closures are run in the order in
    /// which one thread submits them.
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
    /// The connection is one of a few: do not read inside a read, nor wait in one.
    pub fn read<T, E, F>(&self, closure: F) -> Result<T, ReadError<E>>
    where
        F: FnOnce(&mut dyn ReadTxn) -> Result<T, E>,
    {
        add(&self.counters.reads, 1);
        let lease = self.readers.lease().map_err(ReadError::Store)?;
        let mut txn = SqlTxn::new(lease.conn().map_err(ReadError::Store)?);
        closure(&mut txn).map_err(ReadError::Refused)
    }

    /// Returns the bytes addressed by content.
    pub fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Returns the bytes, for a closure that the writer runs.
    pub(crate) fn shared_blobs(&self) -> Arc<Blobs> {
        Arc::clone(&self.blobs)
    }

    /// Overwrites the traces of deleted rows in the log. Rows themselves are overwritten when they are deleted.
    pub(crate) fn scrub(&self) -> Result<(), StoreFault> {
        self.writer.scrub();
        // The log is cut behind the first of these; the second is answered after that.
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

    /// Returns the directory, with links resolved.
    pub fn dir(&self) -> &Path {
        &self.place.dir
    }

    /// Paths that other users could read or write when the store was opened, and no longer can.
    pub fn repaired(&self) -> &[PathBuf] {
        &self.place.repaired
    }

    /// Makes a copy of the whole store in `to`, which must not exist yet, while work goes on. The copy is a store
    /// and is complete: it has all that had been acknowledged when the copying began.
    pub fn backup(&self, to: &Path) -> Result<(), BackupError> {
        backup::copy(&self.place.dir, &self.blobs, to)
    }

    /// Examines the whole store, for `doctor`. Takes as long as reading the database file does; `blobs` also
    /// reads and verifies every blob.
    pub fn check(&self, blobs: bool) -> Result<Health, StoreFault> {
        let lease = self.readers.lease()?;
        check::examine(&self.place.dir, lease.conn()?, blobs.then_some(&self.blobs))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SQLite removes the log when the last connection closes, and that should be the writer's.
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

/// Removes the half-written files of a process that was killed.
fn empty(dir: &Path) -> Result<(), OpenError> {
    let clear = || {
        for entry in fs::read_dir(dir)? {
            fs::remove_file(entry?.path())?;
        }
        Ok(())
    };
    clear().map_err(|error| OpenError::from_io(dir, &error))
}
