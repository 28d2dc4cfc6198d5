//! The examination of the store after each start, in the background.
//!
//! The structure of the database file is examined first, then the rows, in small transactions. The examination ends
//! with the store, however far it has come.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use kernel::txn::{StoreFault, Table};
use rusqlite::{Connection, InterruptHandle, params};
use serde::de::IgnoredAny;

use crate::damage::DamageLatch;
use crate::{database, fault};

/// The maximum number of rows that are read in one transaction, so that the log can be copied meanwhile.
const MAX_ROWS: usize = 256;

/// The examination of an open store. Dropping it ends the examination.
pub(crate) struct Examiner {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Stop {
    flag: AtomicBool,
    /// The handle that stops a statement under way.
    handle: Mutex<Option<InterruptHandle>>,
}

impl Examiner {
    /// Begins to examine a database file. With `is_sound`, its structure was examined before. With `rows`, the rows
    /// are examined too.
    pub(crate) fn start(file: PathBuf, is_sound: bool, rows: bool, latch: Arc<DamageLatch>) -> Examiner {
        let stop = Arc::new(Stop::default());
        let stopped = Arc::clone(&stop);
        if is_sound {
            latch.end_examination();
        }
        let waits = Arc::clone(&latch);
        let thread = std::thread::Builder::new().name("store-examiner".into()).spawn(move || {
            let outcome = examine(file, is_sound, rows, &latch, &stopped);
            // An examination that was stopped, or that could not read the file, has found no damage.
            if let Err(fault) = outcome
                && !stopped.flag.load(Ordering::SeqCst)
            {
                latch.note(&fault);
            }
            latch.end_examination();
        });
        if thread.is_err() {
            // Without a thread, damage is found when it is read.
            waits.end_examination();
        }
        Examiner { stop, thread: thread.ok() }
    }
}

impl Drop for Examiner {
    fn drop(&mut self) {
        self.stop.flag.store(true, Ordering::SeqCst);
        if let Some(handle) = &*self.stop.handle.lock().unwrap_or_else(PoisonError::into_inner) {
            handle.interrupt();
        }
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported where it happened.
            let _ = thread.join();
        }
    }
}

fn examine(
    file: PathBuf,
    is_sound: bool,
    rows: bool,
    latch: &DamageLatch,
    stop: &Stop,
) -> Result<(), StoreFault> {
    let conn = database::reader(&file)?;
    *stop.handle.lock().unwrap_or_else(PoisonError::into_inner) = Some(conn.get_interrupt_handle());
    if !is_sound && !stop.flag.load(Ordering::SeqCst) {
        if let Some(problem) = database::quick_check(&conn, 1)?.into_iter().next() {
            return Err(StoreFault::Corrupt(problem));
        }
        latch.end_examination();
    }
    for table in Table::ALL.into_iter().filter(|_| rows) {
        // These rows hold bytes, which are verified by their hash when they are read.
        if table != Table::Bytes {
            examine_rows(&conn, table, stop)?;
        }
    }
    Ok(())
}

/// Checks that every row of a table can be read as JSON.
fn examine_rows(conn: &Connection, table: Table, stop: &Stop) -> Result<(), StoreFault> {
    let name = table.name();
    let sql = format!(
        "SELECT owner, key, body FROM {name} WHERE (owner, key) > (?1, ?2) ORDER BY owner, key LIMIT {MAX_ROWS}"
    );
    let mut statement = conn.prepare(&sql).map_err(|e| fault::from_sqlite(&e))?;
    let (mut owner, mut key): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    loop {
        if stop.flag.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut count = 0;
        let mut rows = statement.query(params![owner, key]).map_err(|e| fault::from_sqlite(&e))?;
        let mut last = None;
        while let Some(row) = rows.next().map_err(|e| fault::from_sqlite(&e))? {
            let of = |e: rusqlite::Error| fault::from_sqlite(&e);
            last = Some((row.get(0).map_err(of)?, row.get(1).map_err(of)?));
            let body: Vec<u8> = row.get(2).map_err(of)?;
            if table != Table::Collector && serde_json::from_slice::<IgnoredAny>(&body).is_err() {
                return Err(StoreFault::Corrupt(format!("a row of `{name}` cannot be read")));
            }
            count += 1;
        }
        match last {
            Some(end) if count == MAX_ROWS => (owner, key) = end,
            _ => return Ok(()),
        }
    }
}
