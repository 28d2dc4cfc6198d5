//! Sweeping: bytes beside the store that no row names, and nobody holds on to, go.
//!
//! A sweep is taken step by step, each of a bounded number of rows or files, so that nobody waits for it. It looks at
//! every row for anything that has the form of a hash, whatever the row says, so a kind of row that is made up later is
//! looked at too; what only looks like a reference keeps bytes that could go, never the other way round. All that it
//! knows is in memory: a process that ends half way has removed only what nothing refers to.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kernel::BlobHash;
use kernel::run::Run;
use kernel::table::{self, Forgotten};
use kernel::txn::{NOBODY, Owner, StoreFault, Table, decode_row};
use rusqlite::params;

use crate::blob::BlobError;
use crate::failpoint;
use crate::fault;
use crate::store::Store;

/// How many rows are looked at in one step.
const ROWS: usize = 2000;

/// How many bytes of a file are looked at to see whether it is a list of others.
const BEGINNING: u64 = 16;

/// How many files are looked into or removed in one step.
const FILES: usize = 256;

/// A sweep under way. Dropping it ends it; what it has not removed stays.
pub struct Sweep<'s> {
    store: &'s Store,
    forgotten: Runs,
    phase: Phase,
    /// Those that were rows when the sweep began, with their sizes.
    rows: HashMap<BlobHash, u64>,
    swept: Swept,
}

/// Runs whose rows keep no bytes.
#[derive(Default)]
struct Runs {
    /// Whose each is, and its number as keys begin with it.
    runs: HashSet<(Owner, [u8; 8])>,
    /// The documents that they worked on: that something depends on one does not keep it.
    documents: HashSet<BlobHash>,
}

impl Runs {
    /// Whether a row of this table, which begins with a run's number, is one of theirs.
    fn have(&self, owner: &[u8], key: &[u8]) -> bool {
        let at = owner.try_into().ok().zip(key.first_chunk().copied());
        at.is_some_and(|at| self.runs.contains(&at))
    }
}

enum Phase {
    /// Rows are looked at: of which table, and behind which key.
    Rows {
        table: usize,
        behind: Option<(Vec<u8>, Vec<u8>)>,
    },
    /// Lists of other bytes are looked into.
    Lists,
    /// What is left goes.
    Removing,
    Done,
}

/// What a sweep has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many were removed.
    pub blobs: u64,
    /// How many bytes they had.
    pub bytes: u64,
    /// How many lists were found damaged: what they no longer say may have gone.
    pub damaged: u64,
}

impl Store {
    /// Begins a sweep; `None` if one is under way. What is in `pinned` stays, with all that it leads to.
    ///
    /// # Errors
    /// When the directory of the bytes cannot be read, or the store fails.
    pub fn sweep(&self, pinned: &[BlobHash]) -> Result<Option<Sweep<'_>>, StoreFault> {
        let marks = self.blobs().marks();
        // Counted before anything is locked: removing would wait for that.
        self.blobs().bytes()?;
        let rows = self.blobs().rows().all()?;
        let all = self.blobs().files()?.into_iter().chain(rows.keys().copied());
        if !marks.begin(all.collect()) {
            return Ok(None);
        }
        let mut sweep = Sweep {
            store: self,
            forgotten: Runs::default(),
            phase: Phase::Rows { table: 0, behind: None },
            rows,
            swept: Swept::default(),
        };
        pinned.iter().for_each(|hash| marks.look_at(hash.to_string().as_bytes()));
        // What was being written when the sweep began was not seen being written, and must be there to be read.
        let done: Result<(), crate::WriteError<StoreFault>> = self.write(|_| Ok(()));
        done.map_err(|e| StoreFault::Io(e.to_string()))?;
        sweep.forgotten = self.forgotten()?;
        Ok(Some(sweep))
    }
}

impl Sweep<'_> {
    /// Takes one step; `true` once nothing is left to do.
    ///
    /// # Errors
    /// When the store or a file cannot be read. The sweep is over then.
    pub fn step(&mut self) -> Result<bool, StoreFault> {
        let next = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Rows { table, behind } => self.rows(table, behind)?,
            Phase::Lists => self.lists()?,
            Phase::Removing => self.remove()?,
            Phase::Done => Phase::Done,
        };
        self.phase = next;
        Ok(matches!(self.phase, Phase::Done))
    }

    /// What was removed so far.
    pub fn swept(&self) -> Swept {
        self.swept
    }

    fn rows(&self, table: usize, behind: Option<(Vec<u8>, Vec<u8>)>) -> Result<Phase, StoreFault> {
        let Some(which) = Table::ALL.get(table) else { return Ok(Phase::Lists) };
        // What is known of bytes does not keep them, and bytes are looked into only once they are kept.
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
            let mut rows = statement.query(params![owner, key, ROWS as i64])?;
            let (mut last, mut count) = (None, 0);
            while let Some(row) = rows.next()? {
                let (owner, key) = (row.get_ref(0)?.as_bytes()?, row.get_ref(1)?.as_bytes()?);
                self.look_at(*which, owner, key, row.get_ref(2)?.as_bytes()?);
                count += 1;
                last = Some((row.get(0)?, row.get(1)?));
            }
            Ok(last.filter(|_| count == ROWS))
        })?;
        Ok(match last {
            Some(behind) => Phase::Rows { table, behind: Some(behind) },
            None => Phase::Rows { table: table + 1, behind: None },
        })
    }

    /// Marks what a row names. What a run that is forgotten worked on is named by nothing of it, but what it was made
    /// from is: others may be made from it too.
    fn look_at(&self, table: Table, owner: &[u8], key: &[u8], body: &[u8]) {
        let marks = self.store.blobs().marks();
        match table {
            Table::Meta if key.starts_with(table::FORGOTTEN) => {}
            Table::Journal if self.forgotten.have(owner, key) => {}
            Table::Run if self.forgotten.have(owner, key) => {
                let Ok(run) = decode_row::<Run>(table, body) else { return marks.look_at(body) };
                std::iter::once(&run.definition)
                    .chain(run.includes.values())
                    .for_each(|hash| marks.look_at(hash.to_string().as_bytes()));
            }
            _ if self.forgotten.documents.is_empty() => marks.look_at(body),
            _ => {
                let mut rest = body;
                while let Some((before, hash, after)) = next_source(rest) {
                    marks.look_at(before);
                    if !self.forgotten.documents.contains(&hash) {
                        marks.look_at(hash.to_string().as_bytes());
                    }
                    rest = after;
                }
                marks.look_at(rest);
            }
        }
    }

    /// Looks into a list. One that is damaged keeps what can still be read of it, and ends no sweep.
    fn look_into(&mut self, hash: &BlobHash) -> Result<(), StoreFault> {
        let (marks, blobs) = (self.store.blobs().marks(), self.store.blobs());
        match blobs.get(hash) {
            Ok(bytes) => marks.look_at(&bytes),
            Err(BlobError::Corrupt { .. }) => {
                self.swept.damaged += 1;
                marks.look_at(&blobs.raw(hash)?);
            }
            Err(BlobError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn lists(&mut self) -> Result<Phase, StoreFault> {
        let (marks, blobs) = (self.store.blobs().marks(), self.store.blobs());
        for _ in 0..FILES {
            let Some(hash) = marks.next_marked() else { return Ok(Phase::Removing) };
            match blobs.begins_with(&hash, crate::TREE, BEGINNING) {
                Ok(true) => self.look_into(&hash)?,
                // What is gone names nothing.
                Ok(false) | Err(BlobError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Phase::Lists)
    }

    fn remove(&mut self) -> Result<Phase, StoreFault> {
        let (marks, blobs) = (self.store.blobs().marks(), self.store.blobs());
        // A row that was written meanwhile may name a list.
        if let Some(hash) = marks.next_marked() {
            if blobs.begins_with(&hash, crate::TREE, BEGINNING).unwrap_or(false) {
                self.look_into(&hash)?;
            }
            return Ok(Phase::Removing);
        }
        let some = marks.garbage(FILES);
        if some.is_empty() {
            // Also if nothing has gone: an earlier sweep may have been cut off before it came to this.
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

    /// Removes those that are rows. It is the writer that looks whether they are still garbage: whoever keeps the same
    /// bytes in a transaction has said so before, or finds them gone.
    fn remove_rows(&mut self, some: Vec<BlobHash>) -> Result<(), StoreFault> {
        if some.is_empty() {
            return Ok(());
        }
        failpoint::reach("sweep.before_remove");
        let (marks, blobs) = (Arc::clone(self.store.blobs().marks()), self.store.shared_blobs());
        let gone: Result<Vec<BlobHash>, crate::WriteError<StoreFault>> = self.store.write(move |txn| {
            let mut gone = Vec::new();
            for hash in some {
                // The same bytes may lie in a file as well.
                if marks.remove(&hash, || blobs.remove(&hash))? {
                    blobs.rows().forget(&hash);
                    txn.delete(Table::Bytes, &NOBODY, &hash.0)?;
                    gone.push(hash);
                }
            }
            Ok(gone)
        });
        let gone = gone.map_err(|e| StoreFault::Io(e.to_string()))?;
        for hash in &gone {
            // Somebody may have read it until now.
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

/// What stands before the hash of a document on which something depends, if there is one; the hash; and what follows.
///
/// Rows are JSON: in a text of somebody's the quotation marks would be written with a backslash. A value can have this
/// form, and then it keeps a document that is forgotten no more than what depends on it does.
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

/// Where what follows a JSON text begins, behind its closing quotation mark.
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
    /// The runs that are forgotten.
    fn forgotten(&self) -> Result<Runs, StoreFault> {
        let sql = format!("SELECT key, body FROM {} WHERE key >= ?1 AND key < ?2", Table::Meta.name());
        let rows = self.scan(|conn| {
            let mut statement = conn.prepare_cached(&sql)?;
            let rows = statement
                .query_map(params![table::FORGOTTEN, table::behind(table::FORGOTTEN)], |row| {
                    Ok((row.get::<_, Vec<u8>>(0)?, row.get_ref(1)?.as_bytes()?.to_vec()))
                })?;
            rows.collect::<Result<Vec<_>, _>>()
        })?;
        let mut all = Runs::default();
        for (key, body) in rows {
            let row: Forgotten = decode_row(Table::Meta, &body)?;
            all.runs.extend(table::forgotten(&key));
            all.documents.extend(row.documents);
        }
        Ok(all)
    }

    /// Reads with the connection itself.
    fn scan<T>(
        &self,
        read: impl FnOnce(&rusqlite::Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, StoreFault> {
        let lease = self.readers().lease()?;
        read(lease.conn()?).map_err(|e| fault::of(&e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_something_depends_on_is_found() {
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
