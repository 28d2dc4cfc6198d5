//! Sweeping: bytes beside the store that no row names, and nobody holds on to, go.
//!
//! A sweep is taken step by step, each of a bounded number of rows or files, so that nobody waits for it. It looks at
//! every row for anything that has the form of a hash, whatever the row says, so a kind of row that is made up later is
//! looked at too; what only looks like a reference keeps bytes that could go, never the other way round. All that it
//! knows is in memory: a process that ends half way has removed only what nothing refers to.

use kernel::BlobHash;
use kernel::txn::{StoreFault, Table};
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
    phase: Phase,
    swept: Swept,
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
        if !marks.begin(self.blobs().list()?) {
            return Ok(None);
        }
        let sweep =
            Sweep { store: self, phase: Phase::Rows { table: 0, behind: None }, swept: Swept::default() };
        pinned.iter().for_each(|hash| marks.look_at(hash.to_string().as_bytes()));
        // What was being written when the sweep began was not seen being written, and must be there to be read.
        let done: Result<(), crate::WriteError<StoreFault>> = self.write(|_| Ok(()));
        done.map_err(|e| StoreFault::Io(e.to_string()))?;
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
        // What is known of bytes does not keep them.
        if *which == Table::Blob {
            return Ok(Phase::Rows { table: table + 1, behind: None });
        }
        let sql = format!(
            "SELECT owner, key, body FROM {} WHERE (owner, key) > (?1, ?2) ORDER BY owner, key LIMIT ?3",
            which.name()
        );
        let (owner, key) = behind.unwrap_or_default();
        let marks = self.store.blobs().marks();
        let last = self.store.scan(|conn| {
            let mut statement = conn.prepare_cached(&sql)?;
            let mut rows = statement.query(params![owner, key, ROWS as i64])?;
            let (mut last, mut count) = (None, 0);
            while let Some(row) = rows.next()? {
                marks.look_at(row.get_ref(2)?.as_bytes()?);
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
            return Ok(Phase::Done);
        }
        for hash in some {
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
}

impl Drop for Sweep<'_> {
    fn drop(&mut self) {
        self.store.blobs().marks().end();
    }
}

impl Store {
    /// Reads with the connection itself.
    fn scan<T>(
        &self,
        read: impl FnOnce(&rusqlite::Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, StoreFault> {
        let lease = self.readers().lease()?;
        read(lease.conn()?).map_err(|e| fault::of(&e))
    }
}
