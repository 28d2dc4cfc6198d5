//! Small blobs: rows of the database, kept in the transaction of the first row that names them.
//!
//! A separate file costs two syncs before a row may name it. The requests and replies of a model are mostly a few
//! kilobytes, and each turn has two of them. As rows, they are made durable by the commit that names them.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::BlobHash;
use kernel::txn::{NO_OWNER, StoreFault, Table, Txn};
use rusqlite::{OptionalExtension as _, params};

use crate::blob::{BlobError, Blobs};
use crate::fault;
use crate::reader::Readers;

/// The maximum size of a small blob, in bytes.
const MAX_INLINE_BYTES: usize = 16 << 10;

/// The maximum number of bytes in the cache of small blobs that were read recently.
const MAX_CACHED_BYTES: usize = 4 << 20;

/// The maximum number of connections that read the rows of small blobs. They are separate from the store's
/// connections, because a blob may be needed in the middle of a read.
const MAX_READERS: usize = 2;

/// A blob that a transaction is going to keep.
pub struct InlineBlob {
    hash: BlobHash,
    /// The bytes of a small blob. `None` for a large one, which is in a file already.
    bytes: Option<Vec<u8>>,
}

impl InlineBlob {
    /// Returns the hash of the blob.
    pub fn hash(&self) -> BlobHash {
        self.hash
    }

    /// Keeps the blob, as durable as everything else that this transaction writes.
    ///
    /// # Errors
    /// When the store fails.
    pub fn keep(&self, txn: &mut dyn Txn) -> Result<(), StoreFault> {
        let Some(bytes) = &self.bytes else { return Ok(()) };
        let there = txn.get(Table::Bytes, &NO_OWNER, &self.hash.0)?;
        // A damaged row is replaced.
        match there.is_some_and(|there| there == *bytes) {
            true => Ok(()),
            false => txn.put(Table::Bytes, &NO_OWNER, &self.hash.0, bytes, None),
        }
    }
}

impl Blobs {
    /// Prepares bytes for the transaction that names them. Large bytes are durable when this returns. Small ones
    /// become durable with the transaction that keeps them ([`InlineBlob::keep`]).
    ///
    /// # Errors
    /// When large bytes cannot be stored.
    pub fn ready(&self, bytes: Vec<u8>) -> Result<InlineBlob, BlobError> {
        if bytes.len() > MAX_INLINE_BYTES {
            return self.put(&bytes).map(|hash| InlineBlob { hash, bytes: None });
        }
        let hash = BlobHash::of(&bytes);
        // From here on, a sweep does not remove these bytes.
        self.marks().put(&hash);
        Ok(InlineBlob { hash, bytes: Some(bytes) })
    }
}

/// The reader of the rows of small blobs.
pub(crate) struct BlobRows {
    file: PathBuf,
    readers: Readers,
    recent: Mutex<RecentBlobs>,
}

/// The small blobs that were read recently, verified.
#[derive(Default)]
struct RecentBlobs {
    bytes: HashMap<BlobHash, Arc<[u8]>>,
    order: VecDeque<BlobHash>,
    sum: usize,
}

impl RecentBlobs {
    fn add(&mut self, hash: &BlobHash, bytes: &[u8]) {
        if self.bytes.insert(*hash, bytes.into()).is_none() {
            self.sum += bytes.len();
            self.order.push_back(*hash);
        }
        while self.sum > MAX_CACHED_BYTES
            && let Some(oldest) = self.order.pop_front()
        {
            self.sum -= self.bytes.remove(&oldest).map_or(0, |bytes| bytes.len());
        }
    }

    fn forget(&mut self, hash: &BlobHash) {
        if let Some(bytes) = self.bytes.remove(hash) {
            self.sum -= bytes.len();
            self.order.retain(|other| other != hash);
        }
    }
}

impl BlobRows {
    pub(crate) fn new(file: PathBuf) -> BlobRows {
        BlobRows { readers: Readers::new(file.clone(), MAX_READERS), file, recent: Mutex::default() }
    }

    /// Closes the connections that are not in use.
    pub(crate) fn close(&self) {
        self.readers.close();
    }

    /// Returns the bytes of a small blob, verified, or `None` if there is no such row.
    pub(crate) fn get(&self, hash: &BlobHash) -> Result<Option<Vec<u8>>, BlobError> {
        let Some(bytes) = self.raw(hash)? else { return Ok(None) };
        if BlobHash::of(&bytes) != *hash {
            return Err(BlobError::Corrupt { path: self.file.clone() });
        }
        self.recent().add(hash, &bytes);
        Ok(Some(bytes))
    }

    /// Returns the bytes of a small blob, if they were read recently.
    pub(crate) fn remembered(&self, hash: &BlobHash) -> Option<Vec<u8>> {
        self.recent().bytes.get(hash).map(|bytes| bytes.to_vec())
    }

    /// Removes a blob from the cache, because its row is about to be removed.
    pub(crate) fn forget(&self, hash: &BlobHash) {
        self.recent().forget(hash);
    }

    /// Returns the bytes of a small blob without verifying them, or `None` if there is no such row.
    pub(crate) fn raw(&self, hash: &BlobHash) -> Result<Option<Vec<u8>>, BlobError> {
        self.ask(hash, "SELECT body FROM bytes WHERE owner = ?1 AND key = ?2")
    }

    /// Returns the number of bytes of a small blob, or `None` if there is no such row.
    pub(crate) fn len(&self, hash: &BlobHash) -> Result<Option<u64>, BlobError> {
        let len: Option<i64> =
            self.ask(hash, "SELECT length(body) FROM bytes WHERE owner = ?1 AND key = ?2")?;
        Ok(len.map(i64::unsigned_abs))
    }

    /// Returns the hashes of all small blobs, each with its number of bytes.
    pub(crate) fn all(&self) -> Result<HashMap<BlobHash, u64>, BlobError> {
        let lease = self.readers.lease().map_err(|fault| self.failed(fault))?;
        let read = |conn: &rusqlite::Connection| {
            let mut statement =
                conn.prepare_cached("SELECT key, length(body) FROM bytes WHERE owner = ?1")?;
            let rows = statement
                .query_map([NO_OWNER], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?)))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        let conn = lease.conn().map_err(|fault| self.failed(fault))?;
        let found = read(conn).map_err(|error| self.failed(fault::from_sqlite(&error)))?;
        // A row whose key is not a hash is not a blob.
        let named = |(key, len): (Vec<u8>, i64)| Some((BlobHash(key.try_into().ok()?), len.unsigned_abs()));
        Ok(found.into_iter().filter_map(named).collect())
    }

    fn ask<T: rusqlite::types::FromSql>(&self, hash: &BlobHash, sql: &str) -> Result<Option<T>, BlobError> {
        let lease = self.readers.lease().map_err(|fault| self.failed(fault))?;
        let conn = lease.conn().map_err(|fault| self.failed(fault))?;
        conn.prepare_cached(sql)
            .and_then(|mut statement| {
                statement.query_row(params![NO_OWNER, hash.0], |row| row.get(0)).optional()
            })
            .map_err(|error| self.failed(fault::from_sqlite(&error)))
    }

    fn failed(&self, fault: StoreFault) -> BlobError {
        let path = self.file.clone();
        match fault {
            StoreFault::Corrupt(_) => BlobError::Corrupt { path },
            other => BlobError::Io { path, source: std::io::Error::other(other.to_string()) },
        }
    }

    fn recent(&self) -> MutexGuard<'_, RecentBlobs> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
