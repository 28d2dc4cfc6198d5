//! The store itself, with its methods for opening, writing and reading.

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
}

/// The default lease, long enough for callers that are slow to name the bytes that they stored.
const LEASE: Duration = Duration::from_secs(15 * 60);

impl Default for Options {
    fn default() -> Self {
        Options { readers: 4, group: 256, checkpoint_pages: 4000, max_pages: None, lease: LEASE, quota: None }
    }
}

/// A directory of rows and blobs that this process owns. It is shared as `Arc<Store>`. Dropping the last one finishes
/// the queued writes, copies the log into the database file, and gives up the ownership.
pub struct Store {
    // Fields are dropped in this order. The writer's connection is closed last and so closes the database, and the
    // lock is released after that.
    readers: Readers,
    writer: Writer,
    blobs: Arc<Blobs>,
    counters: Arc<Counters>,
    place: StoreDirectory,
}

impl Store {
    /// Opens the store in `dir` and takes ownership of it. If there is no store, one is made.
    ///
    /// A store that another build wrote is refused, as by [`crate::inspect`], before anything is written. Permissions
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
        let mut txn = SqlTxn::new(lease.conn().map_err(ReadError::Store)?);
        closure(&mut txn).map_err(ReadError::Refused)
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

    /// Returns the paths that other users could read or write when the store was opened. Their permissions have been
    /// tightened.
    pub fn repaired(&self) -> &[PathBuf] {
        &self.place.repaired
    }

    /// Makes a backup of the whole store in `to`, which must not exist, while the store is in use. The backup is
    /// itself a store, with everything that had been acknowledged when the copying began.
    pub fn backup(&self, to: &Path) -> Result<(), BackupError> {
        backup::copy(&self.place.dir, &self.blobs, to)
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
