//! Small bytes: rows of the database, kept in the transaction of the first row that names them.
//!
//! A file of its own costs two syncs before a row may name it. The requests and replies of a model are mostly a few
//! kilobytes, and there are two of them for each turn. As rows they go out with the commit that names them.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::BlobHash;
use kernel::txn::{NO_OWNER, StoreFault, Table, Txn};
use rusqlite::{OptionalExtension as _, params};

use crate::blob::{BlobError, Blobs};
use crate::fault;
use crate::reader::Readers;

/// How many bytes are small.
const MAX_INLINE_BYTES: usize = 16 << 10;

/// How many bytes of those that were read lately are remembered.
const MAX_CACHED_BYTES: usize = 4 << 20;

/// The number of connections that read rows of small bytes. They are not the store's own: bytes may be needed in the
/// middle of a read.
const MAX_READERS: usize = 2;

/// Bytes on their way into a transaction.
pub struct InlineBlob {
    hash: BlobHash,
    /// `None` if they are large, and lie in a file already.
    bytes: Option<Vec<u8>>,
}

impl InlineBlob {
    /// Returns the hash of the bytes.
    pub fn hash(&self) -> BlobHash {
        self.hash
    }

    /// Keeps them, as durable as everything else that this transaction writes.
    ///
    /// # Errors
    /// When the store fails.
    pub fn keep(&self, txn: &mut dyn Txn) -> Result<(), StoreFault> {
        let Some(bytes) = &self.bytes else { return Ok(()) };
        let there = txn.get(Table::Bytes, &NO_OWNER, &self.hash.0)?;
        // A damaged row is repaired.
        match there.is_some_and(|there| there == *bytes) {
            true => Ok(()),
            false => txn.put(Table::Bytes, &NO_OWNER, &self.hash.0, bytes, None),
        }
    }
}

impl Blobs {
    /// Makes bytes ready to be kept by the transaction that names them. Large ones are durable when this returns; small
    /// ones when the transaction is in which they are kept ([`InlineBlob::keep`]).
    ///
    /// # Errors
    /// When large bytes cannot be stored.
    pub fn ready(&self, bytes: Vec<u8>) -> Result<InlineBlob, BlobError> {
        if bytes.len() > MAX_INLINE_BYTES {
            return self.put(&bytes).map(|hash| InlineBlob { hash, bytes: None });
        }
        let hash = BlobHash::of(&bytes);
        // From here on no sweep takes them away.
        self.marks().put(&hash);
        Ok(InlineBlob { hash, bytes: Some(bytes) })
    }
}

/// The rows of small bytes, as they are read.
pub(crate) struct BlobRows {
    file: PathBuf,
    readers: Readers,
    recent: Mutex<RecentBlobs>,
}

/// The bytes that were read lately, verified.
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

    /// Returns the bytes, verified, if there is such a row.
    pub(crate) fn get(&self, hash: &BlobHash) -> Result<Option<Vec<u8>>, BlobError> {
        let Some(bytes) = self.raw(hash)? else { return Ok(None) };
        if BlobHash::of(&bytes) != *hash {
            return Err(BlobError::Corrupt { path: self.file.clone() });
        }
        self.recent().add(hash, &bytes);
        Ok(Some(bytes))
    }

    /// Returns the bytes, if they were read lately.
    pub(crate) fn remembered(&self, hash: &BlobHash) -> Option<Vec<u8>> {
        self.recent().bytes.get(hash).map(|bytes| bytes.to_vec())
    }

    /// Forgets bytes that are about to be removed.
    pub(crate) fn forget(&self, hash: &BlobHash) {
        self.recent().forget(hash);
    }

    /// Returns the bytes as they are.
    pub(crate) fn raw(&self, hash: &BlobHash) -> Result<Option<Vec<u8>>, BlobError> {
        self.ask(hash, "SELECT body FROM bytes WHERE owner = ?1 AND key = ?2")
    }

    /// Returns how many they are.
    pub(crate) fn len(&self, hash: &BlobHash) -> Result<Option<u64>, BlobError> {
        let len: Option<i64> =
            self.ask(hash, "SELECT length(body) FROM bytes WHERE owner = ?1 AND key = ?2")?;
        Ok(len.map(i64::unsigned_abs))
    }

    /// Returns all that there are, and how many bytes each has.
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
        // A row whose key is no hash is none of ours.
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
