//! A store that behaves like a group-committing one. Every command sees the live image. The changes of commands can
//! be rolled back, one command after the other, down to the durable image.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use kernel::table::prefix_end;
use kernel::txn::{Owner, RawRow, ReadTxn, StoreFault, Table, Txn};

type Rows = BTreeMap<Vec<u8>, Arc<[u8]>>;

/// One row as it was before it was written.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) table: Table,
    /// The owner, then the key.
    pub(crate) place: Vec<u8>,
    pub(crate) before: Option<Arc<[u8]>>,
}

impl Change {
    pub(crate) fn owner(&self) -> Owner {
        self.place[..32].try_into().unwrap()
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.place[32..]
    }
}

/// The live image, and the changes of the current command in it.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    tables: Vec<Rows>,
    changes: Vec<Change>,
    /// After so many more writes the disk is full.
    pub(crate) room: Option<usize>,
}

fn place(owner: &Owner, key: &[u8]) -> Vec<u8> {
    let mut place = Vec::with_capacity(32 + key.len());
    place.extend_from_slice(owner);
    place.extend_from_slice(key);
    place
}

impl Image {
    pub(crate) fn new() -> Image {
        Image { tables: vec![Rows::new(); Table::ALL.len()], changes: Vec::new(), room: None }
    }

    /// Returns the changes since the last call, oldest first.
    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Rolls back the changes since [`Image::take_changes`].
    pub(crate) fn roll_back(&mut self) {
        let changes = self.take_changes();
        self.undo(changes);
    }

    /// Takes changes back, the newest first.
    pub(crate) fn undo(&mut self, changes: Vec<Change>) {
        for change in changes.into_iter().rev() {
            let rows = &mut self.tables[change.table as usize];
            match change.before {
                Some(row) => rows.insert(change.place, row),
                None => rows.remove(&change.place),
            };
        }
    }

    /// Returns every row of a table: owner and key in one, and the row.
    pub(crate) fn rows(&self, table: Table) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.tables[table as usize].iter().map(|(place, row)| (&place[..], &row[..]))
    }

    /// Returns the row of a table at an owner and key in one.
    pub(crate) fn rows_at(&self, table: Table, place: &[u8]) -> Option<&[u8]> {
        self.tables[table as usize].get(place).map(|row| &row[..])
    }

    pub(crate) fn at(&self, change: &Change) -> Option<&[u8]> {
        self.tables[change.table as usize].get(&change.place).map(|row| &row[..])
    }

    /// Returns a hash over everything.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for table in Table::ALL {
            for (place, row) in self.rows(table) {
                hasher.update(&place.len().to_le_bytes()).update(place);
                hasher.update(&row.len().to_le_bytes()).update(row);
            }
        }
        *hasher.finalize().as_bytes()
    }

    fn change(&mut self, table: Table, owner: &Owner, key: &[u8], row: Option<&[u8]>) {
        let place = place(owner, key);
        let rows = &mut self.tables[table as usize];
        let before = match row {
            Some(row) => rows.insert(place.clone(), row.into()),
            None => rows.remove(&place),
        };
        self.changes.push(Change { table, place, before });
    }

    fn make_room(&mut self) -> Result<(), StoreFault> {
        match &mut self.room {
            Some(0) => Err(StoreFault::Full("no room is left".to_owned())),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl ReadTxn for Image {
    fn get(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFault> {
        Ok(self.tables[table as usize].get(&place(owner, key)).map(|row| row.to_vec()))
    }

    fn range(
        &mut self,
        table: Table,
        owner: &Owner,
        from: &[u8],
        to: &[u8],
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<RawRow>, StoreFault> {
        let start = place(owner, from);
        let end = if to.is_empty() { prefix_end(owner) } else { place(owner, to) };
        if !end.is_empty() && end <= start {
            return Ok(vec![]);
        }
        let end = if end.is_empty() { Bound::Unbounded } else { Bound::Excluded(end) };
        let rows = self.tables[table as usize].range((Bound::Included(start), end));
        let copy = |(place, row): (&Vec<u8>, &Arc<[u8]>)| (place[32..].to_vec(), row.to_vec());
        Ok(if reverse {
            rows.rev().take(limit).map(copy).collect()
        } else {
            rows.take(limit).map(copy).collect()
        })
    }
}

impl Txn for Image {
    fn put(
        &mut self,
        table: Table,
        owner: &Owner,
        key: &[u8],
        row: &[u8],
        _provenance: Option<&[u8]>,
    ) -> Result<(), StoreFault> {
        self.make_room()?;
        self.change(table, owner, key, Some(row));
        Ok(())
    }

    fn delete(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<(), StoreFault> {
        self.make_room()?;
        self.change(table, owner, key, None);
        Ok(())
    }
}
