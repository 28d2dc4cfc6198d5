//! Sweeping: the removal of blobs that no row names and no caller holds.
//!
//! A sweep is taken in steps, each with a bounded number of rows or files, so that no caller waits for it. The sweep
//! searches every row for anything that has the form of a hash. So it also covers kinds of rows that are added later.
//! A false reference keeps a blob that could go, but a true reference is never missed. All state of a sweep is in
//! memory. A process that ends half way has removed only garbage.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use kernel::BlobHash;
use kernel::run::Run;
use kernel::table::{self, ForgottenRun};
use kernel::txn::{NO_OWNER, Owner, StoreFault, Table, decode_row};
use rusqlite::params;

use crate::blob::BlobError;
use crate::failpoint;
use crate::fault;
use crate::store::Store;

/// The maximum number of rows that one step searches.
const MAX_ROWS_PER_STEP: usize = 2000;

/// The maximum number of blobs that one step searches or removes.
const MAX_FILES_PER_STEP: usize = 256;

/// A sweep under way. Dropping it ends the sweep, and the remaining garbage stays.
pub struct Sweep<'s> {
    store: &'s Store,
    forgotten: ForgottenRuns,
    phase: Phase,
    /// The blobs that were rows when the sweep began, with their sizes.
    rows: HashMap<BlobHash, u64>,
    swept: SweepReport,
}

/// The runs that the user has had forgotten. Their rows keep no blobs.
#[derive(Default)]
struct ForgottenRuns {
    /// The owner of each run, and the run's number in the form that keys begin with.
    runs: HashSet<(Owner, [u8; 8])>,
    /// The documents that the runs worked on. A dependency on such a document does not keep the document.
    documents: HashSet<BlobHash>,
}

impl ForgottenRuns {
    /// Returns whether a row belongs to one of these runs. The row's table must have keys that begin with a run's
    /// number.
    fn have(&self, owner: &[u8], key: &[u8]) -> bool {
        let at = owner.try_into().ok().zip(key.first_chunk().copied());
        at.is_some_and(|at| self.runs.contains(&at))
    }
}

enum Phase {
    /// The sweep searches the rows of this table, after this key.
    Rows {
        table: usize,
        behind: Option<(Vec<u8>, Vec<u8>)>,
    },
    /// The sweep searches lists of other blobs.
    Lists,
    /// The sweep removes the garbage.
    Removing,
    Done,
}

/// The result of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// The number of blobs that were removed.
    pub blobs: u64,
    /// The number of bytes in the removed blobs.
    pub bytes: u64,
    /// The number of damaged lists. Blobs whose names could not be read may have been removed.
    pub damaged: u64,
}

impl Store {
    /// Begins a sweep, or returns `None` if one is under way. The blobs in `pinned` are kept, with all blobs that
    /// they lead to.
    ///
    /// # Errors
    /// When the directory of the blobs cannot be read, or the store fails.
    pub fn sweep(&self, pinned: &[BlobHash]) -> Result<Option<Sweep<'_>>, StoreFault> {
        // The rows of a damaged store do not name everything that they should, so nothing is removed. The rows of a
        // store that is still being examined may be such.
        if let Some(fault) = self.latch().fault() {
            return Err(fault);
        }
        self.latch().await_examination(Duration::from_secs(2));
        if !self.latch().is_examined() {
            return Ok(None);
        }
        let marks = self.blobs().marks();
        // The files are counted before the sweep begins, because a removal would wait for the count.
        self.blobs().bytes()?;
        let rows = self.blobs().rows().all()?;
        let all = self.blobs().files()?.into_iter().chain(rows.keys().copied());
        if !marks.begin(all.collect()) {
            return Ok(None);
        }
        let mut sweep = Sweep {
            store: self,
            forgotten: ForgottenRuns::default(),
            phase: Phase::Rows { table: 0, behind: None },
            rows,
            swept: SweepReport::default(),
        };
        pinned.iter().for_each(|hash| marks.mark_hashes(hash.to_string().as_bytes()));
        // A write that was under way before the sweep began has not marked its rows. So the write must end before
        // rows are read.
        let done: Result<(), crate::WriteError<StoreFault>> = self.write(|_| Ok(()));
        done.map_err(|e| StoreFault::Io(e.to_string()))?;
        sweep.forgotten = self.forgotten()?;
        Ok(Some(sweep))
    }
}

impl Sweep<'_> {
    /// Takes one step. Returns `true` when nothing is left to do.
    ///
    /// # Errors
    /// When the store or a file cannot be read. The sweep is over then.
    pub fn step(&mut self) -> Result<bool, StoreFault> {
        if let Some(fault) = self.store.latch().fault() {
            return Err(fault);
        }
        let next = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Rows { table, behind } => self.rows(table, behind)?,
            Phase::Lists => self.lists()?,
            Phase::Removing => self.remove()?,
            Phase::Done => Phase::Done,
        };
        self.phase = next;
        Ok(matches!(self.phase, Phase::Done))
    }

    /// Returns the result so far.
    pub fn swept(&self) -> SweepReport {
        self.swept
    }

    fn rows(&self, table: usize, behind: Option<(Vec<u8>, Vec<u8>)>) -> Result<Phase, StoreFault> {
        let Some(which) = Table::ALL.get(table) else { return Ok(Phase::Lists) };
        // The metadata of a blob does not keep the blob. Blobs themselves are searched only once they are marked.
        if matches!(which, Table::Blob | Table::Bytes) {
            return Ok(Phase::Rows { table: table + 1, behind: None });
        }
        let sql = format!(
            "SELECT owner, key, body FROM {} WHERE (owner, key) > (?1, ?2) ORDER BY owner, key LIMIT ?3",
            which.name()
        );
        let (owner, key) = behind.unwrap_or_default();
        let last = self.store.scan(|conn| {
            let mut statement = conn.prepare_cached(&sql)?;
            let mut rows = statement.query(params![owner, key, MAX_ROWS_PER_STEP as i64])?;
            let (mut last, mut count) = (None, 0);
            while let Some(row) = rows.next()? {
                let (owner, key) = (row.get_ref(0)?.as_bytes()?, row.get_ref(1)?.as_bytes()?);
                self.look_at(*which, owner, key, row.get_ref(2)?.as_bytes()?);
                count += 1;
                last = Some((row.get(0)?, row.get(1)?));
            }
            Ok(last.filter(|_| count == MAX_ROWS_PER_STEP))
        })?;
        Ok(match last {
            Some(behind) => Phase::Rows { table, behind: Some(behind) },
            None => Phase::Rows { table: table + 1, behind: None },
        })
    }

    /// Marks the hashes that a row names. The rows of a forgotten run do not keep the documents on which the run
    /// worked. They do keep its definition and includes, because other runs may use those too.
    fn look_at(&self, table: Table, owner: &[u8], key: &[u8], body: &[u8]) {
        let marks = self.store.blobs().marks();
        match table {
            Table::Meta if key.starts_with(table::FORGOTTEN) => {}
            Table::Journal if self.forgotten.have(owner, key) => {}
            Table::Run if self.forgotten.have(owner, key) => {
                let Ok(run) = decode_row::<Run>(table, body) else { return marks.mark_hashes(body) };
                std::iter::once(&run.definition)
                    .chain(run.includes.values())
                    .for_each(|hash| marks.mark_hashes(hash.to_string().as_bytes()));
            }
            _ if self.forgotten.documents.is_empty() => marks.mark_hashes(body),
            _ => {
                let mut rest = body;
                while let Some((before, hash, after)) = next_source(rest) {
                    marks.mark_hashes(before);
                    if !self.forgotten.documents.contains(&hash) {
                        marks.mark_hashes(hash.to_string().as_bytes());
                    }
                    rest = after;
                }
                marks.mark_hashes(rest);
            }
        }
    }

    /// Marks the hashes in a list. A damaged list keeps the blobs whose hashes can still be read, and does not end
    /// the sweep.
    fn mark_list(&mut self, hash: &BlobHash) -> Result<(), StoreFault> {
        let (marks, blobs) = (self.store.blobs().marks(), self.store.blobs());
        match blobs.get(hash) {
            Ok(bytes) => marks.mark_hashes(&bytes),
            Err(BlobError::Corrupt { .. }) => {
                self.swept.damaged += 1;
                marks.mark_hashes(&blobs.raw(hash)?);
            }
            Err(BlobError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn lists(&mut self) -> Result<Phase, StoreFault> {
        let (marks, blobs) = (self.store.blobs().marks(), self.store.blobs());
        for _ in 0..MAX_FILES_PER_STEP {
            let Some(hash) = marks.next_marked() else { return Ok(Phase::Removing) };
            match blobs.is_list(&hash) {
                Ok(true) => self.mark_list(&hash)?,
                // A blob that is missing names nothing.
                Ok(false) | Err(BlobError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Phase::Lists)
    }

    fn remove(&mut self) -> Result<Phase, StoreFault> {
        let (marks, blobs) = (self.store.blobs().marks(), self.store.blobs());
        // A row that was written in the meantime may name a list.
        if let Some(hash) = marks.next_marked() {
            if blobs.is_list(&hash).unwrap_or(false) {
                self.mark_list(&hash)?;
            }
            return Ok(Phase::Removing);
        }
        let some = marks.garbage(MAX_FILES_PER_STEP);
        if some.is_empty() {
            // This is done even if nothing was removed, because an earlier sweep may have ended before this point.
            self.store.scrub()?;
            return Ok(Phase::Done);
        }
        let (rows, files): (Vec<_>, Vec<_>) = some.into_iter().partition(|hash| self.rows.contains_key(hash));
        self.remove_rows(rows)?;
        for hash in files {
            let bytes = blobs.len(&hash)?.unwrap_or(0);
            failpoint::reach("sweep.before_remove");
            if marks.remove(&hash, || blobs.remove(&hash))? {
                self.swept.blobs += 1;
                self.swept.bytes += bytes;
            }
            failpoint::reach("sweep.after_remove");
        }
        Ok(Phase::Removing)
    }

    /// Removes the garbage that is stored as rows. The writer checks again that it is garbage. A caller that keeps
    /// the same bytes in a transaction has either marked them before the removal, or finds them gone.
    fn remove_rows(&mut self, some: Vec<BlobHash>) -> Result<(), StoreFault> {
        if some.is_empty() {
            return Ok(());
        }
        failpoint::reach("sweep.before_remove");
        let (marks, blobs) = (Arc::clone(self.store.blobs().marks()), self.store.shared_blobs());
        let gone: Result<Vec<BlobHash>, crate::WriteError<StoreFault>> = self.store.write(move |txn| {
            let mut gone = Vec::new();
            for hash in some {
                // The same blob may also exist as a file.
                if marks.remove(&hash, || blobs.remove(&hash))? {
                    blobs.rows().forget(&hash);
                    txn.delete(Table::Bytes, &NO_OWNER, &hash.0)?;
                    gone.push(hash);
                }
            }
            Ok(gone)
        });
        let gone = gone.map_err(|e| StoreFault::Io(e.to_string()))?;
        for hash in &gone {
            // Another thread may have read the blob into the cache in the meantime.
            self.store.blobs().rows().forget(hash);
            self.swept.blobs += 1;
            self.swept.bytes += self.rows.get(hash).copied().unwrap_or(0);
        }
        failpoint::reach("sweep.after_remove");
        Ok(())
    }
}

impl Drop for Sweep<'_> {
    fn drop(&mut self) {
        self.store.blobs().marks().end();
    }
}

/// Returns the part of a row before the hash of the next source document, the hash, and the part after it. Returns
/// `None` if there is no such document.
///
/// Rows are JSON, so a quotation mark inside a text has a backslash before it. A value can have the form of a source
/// too. Like a true dependency, it does not keep a forgotten document.
fn next_source(body: &[u8]) -> Option<(&[u8], BlobHash, &[u8])> {
    const BEGIN: &[u8] = b"{\"document\":{\"name\":\"";
    const BETWEEN: &[u8] = b",\"hash\":\"";
    const DIGITS: usize = 64;
    let mut from = 0;
    loop {
        let name = from + find(body.get(from..)?, BEGIN)? + BEGIN.len();
        from = name;
        let Some(end) = end_of_text(&body[name..]) else { continue };
        let Some(hash) = body[name + end..].strip_prefix(BETWEEN).and_then(<[u8]>::first_chunk::<DIGITS>)
        else {
            continue;
        };
        let at = name + end + BETWEEN.len();
        if let Some(hash) = std::str::from_utf8(hash).ok().and_then(|hash| hash.parse().ok()) {
            return Some((&body[..at], hash, &body[at + DIGITS..]));
        }
    }
}

fn find(body: &[u8], what: &[u8]) -> Option<usize> {
    body.windows(what.len()).position(|window| window == what)
}

/// Returns the position after the closing quotation mark of a JSON text.
fn end_of_text(body: &[u8]) -> Option<usize> {
    let mut escaped = false;
    body.iter()
        .position(|byte| {
            let ends = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            ends
        })
        .map(|at| at + 1)
}

impl Store {
    /// Returns the forgotten runs and their documents.
    fn forgotten(&self) -> Result<ForgottenRuns, StoreFault> {
        let sql = format!("SELECT key, body FROM {} WHERE key >= ?1 AND key < ?2", Table::Meta.name());
        let rows = self.scan(|conn| {
            let mut statement = conn.prepare_cached(&sql)?;
            let rows = statement
                .query_map(params![table::FORGOTTEN, table::prefix_end(table::FORGOTTEN)], |row| {
                    Ok((row.get::<_, Vec<u8>>(0)?, row.get_ref(1)?.as_bytes()?.to_vec()))
                })?;
            rows.collect::<Result<Vec<_>, _>>()
        })?;
        let mut all = ForgottenRuns::default();
        for (key, body) in rows {
            let row: ForgottenRun = decode_row(Table::Meta, &body)?;
            all.runs.extend(table::forgotten(&key));
            all.documents.extend(row.documents);
        }
        Ok(all)
    }

    /// Runs a query directly on a reading connection.
    fn scan<T>(
        &self,
        read: impl FnOnce(&rusqlite::Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, StoreFault> {
        let lease = self.readers().lease()?;
        read(lease.conn()?).map_err(|e| fault::from_sqlite(&e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_documents_in_a_row_are_found() {
        macro_rules! json {
            ($row:expr) => {
                String::from_utf8(kernel::txn::encode_row($row).unwrap()).unwrap()
            };
        }
        let hash = BlobHash::of(b"x");
        let source =
            |name: &str| json!(&kernel::provenance::Source::Document { name: name.to_owned(), hash });
        for (body, found) in [
            (format!("[1,{},2]", source("a.txt")), true),
            (format!("[{}]", source("quote \" and \\ end\\")), true),
            (json!(&source("a")), false),
            (format!("[\"{hash}\"]"), false),
            ("{\"document\":{\"name\":\"".to_owned(), false),
            (format!("[{},{}]", r#"{"document":{"name":"a","hash":"short"}}"#, source("b")), true),
        ] {
            let source = next_source(body.as_bytes());
            assert_eq!(source.map(|(_, hash, _)| hash), found.then_some(hash), "{body}");
            if let Some((before, _, after)) = source {
                assert_eq!([before, hash.to_string().as_bytes(), after].concat(), body.as_bytes());
            }
        }
    }
}
