//! A small pool of connections that only read.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use kernel::txn::StoreFault;
use rusqlite::Connection;

use crate::database;
use crate::fault;

/// The timeout of a read that waits for a connection. A read inside a read may run into it too.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A pool of connections that only read. Connections are opened when they are first needed, and kept.
pub(crate) struct Readers {
    file: PathBuf,
    limit: usize,
    pool: Mutex<Pool>,
    returned: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Connection>,
    open: usize,
}

impl Readers {
    pub(crate) fn new(file: PathBuf, limit: usize) -> Self {
        Readers { file, limit: limit.max(1), pool: Mutex::default(), returned: Condvar::new() }
    }

    /// Returns a connection on which a transaction has begun. The connection goes back to the pool when the lease is
    /// dropped.
    pub(crate) fn lease(&self) -> Result<Lease<'_>, StoreFault> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        while pool.idle.is_empty() && pool.open >= self.limit {
            let waited = self.returned.wait_timeout(pool, TIMEOUT).unwrap_or_else(PoisonError::into_inner);
            pool = waited.0;
            if waited.1.timed_out() && pool.idle.is_empty() && pool.open >= self.limit {
                return Err(StoreFault::Io(format!("all {} readers are busy", self.limit)));
            }
        }
        let idle = pool.idle.pop();
        if idle.is_none() {
            pool.open += 1;
        }
        drop(pool);
        // From here on, the lease counts as an open connection. If it is dropped without a connection, the count is
        // corrected.
        let mut lease = Lease { readers: self, conn: idle };
        if lease.conn.is_none() {
            lease.conn = Some(database::reader(&self.file)?);
        }
        if let Some(conn) = &lease.conn {
            conn.prepare_cached("BEGIN")
                .and_then(|mut begin| begin.execute([]))
                .map_err(|e| fault::from_sqlite(&e))?;
        }
        Ok(lease)
    }

    /// Closes the idle connections.
    pub(crate) fn close(&self) {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = pool.idle.drain(..).count();
        pool.open -= closed;
    }
}

/// A connection that is borrowed from the pool.
pub(crate) struct Lease<'a> {
    readers: &'a Readers,
    conn: Option<Connection>,
}

impl Lease<'_> {
    pub(crate) fn conn(&self) -> Result<&Connection, StoreFault> {
        self.conn.as_ref().ok_or(StoreFault::Closed)
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // A connection whose transaction cannot be ended would show an old state for ever, so it is closed.
        let usable = self.conn.take().filter(|conn| {
            conn.is_autocommit() || conn.prepare_cached("COMMIT").and_then(|mut c| c.execute([])).is_ok()
        });
        let mut pool = self.readers.pool.lock().unwrap_or_else(PoisonError::into_inner);
        match usable {
            Some(conn) => pool.idle.push(conn),
            None => pool.open -= 1,
        }
        drop(pool);
        self.readers.returned.notify_one();
    }
}
