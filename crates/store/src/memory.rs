//! A store in memory, for tests of code that uses the store's traits.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use kernel::txn::{Owner, RawRow, ReadTxn, StoreFault, Table, Txn};

use crate::backend::Backend;
use crate::error::{ReadError, WriteError};

/// The stored part of a row: body and provenance.
pub(crate) type Row = (Vec<u8>, Option<Vec<u8>>);
/// The full key of a row.
pub(crate) type Key = (Table, Owner, Vec<u8>);

/// All rows of a store. The type is itself a transaction that cannot be rolled back, which is enough for a test of a
/// single command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The rows by table and owner. No inner map is empty, so that equal contents are equal values.
    parts: BTreeMap<(Table, Owner), BTreeMap<Vec<u8>, Row>>,
}

impl Rows {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.parts.values().map(BTreeMap::len).sum()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns all rows in order: table, owner, key, body, provenance.
    pub fn iter(&self) -> impl Iterator<Item = (Table, &Owner, &[u8], &[u8], Option<&[u8]>)> {
        self.parts.iter().flat_map(|((table, owner), part)| {
            part.iter().map(move |(key, (body, provenance))| {
                (*table, owner, key.as_slice(), body.as_slice(), provenance.as_deref())
            })
        })
    }

    /// Sets or removes a row, and returns the previous row.
    pub(crate) fn set(&mut self, (table, owner, key): Key, row: Option<Row>) -> Option<Row> {
        match row {
            Some(row) => self.parts.entry((table, owner)).or_default().insert(key, row),
            None => {
                let part = self.parts.get_mut(&(table, owner))?;
                let before = part.remove(&key);
                if part.is_empty() {
                    self.parts.remove(&(table, owner));
                }
                before
            }
        }
    }

    fn row(&self, table: Table, owner: &Owner, key: &[u8]) -> Option<Vec<u8>> {
        self.parts.get(&(table, *owner))?.get(key).map(|(body, _)| body.clone())
    }

    fn between(
        &self,
        (table, owner): (Table, &Owner),
        (from, to): (&[u8], &[u8]),
        limit: usize,
        reverse: bool,
    ) -> Vec<RawRow> {
        let part = self.parts.get(&(table, *owner));
        // The map's `range` panics if the range ends before it begins.
        let Some(part) = part.filter(|_| to.is_empty() || from < to) else { return Vec::new() };
        let end = if to.is_empty() { Bound::Unbounded } else { Bound::Excluded(to) };
        let rows = part.range::<[u8], _>((Bound::Included(from), end));
        let rows = rows.map(|(key, (body, _))| (key.clone(), body.clone()));
        if reverse { rows.rev().take(limit).collect() } else { rows.take(limit).collect() }
    }
}

impl ReadTxn for Rows {
    fn get(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFault> {
        Ok(self.row(table, owner, key))
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
        Ok(self.between((table, owner), (from, to), limit, reverse))
    }
}

impl Txn for Rows {
    fn put(
        &mut self,
        table: Table,
        owner: &Owner,
        key: &[u8],
        row: &[u8],
        provenance: Option<&[u8]>,
    ) -> Result<(), StoreFault> {
        self.set((table, *owner, key.to_vec()), Some((row.to_vec(), provenance.map(<[u8]>::to_vec))));
        Ok(())
    }

    fn delete(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<(), StoreFault> {
        self.set((table, *owner, key.to_vec()), None);
        Ok(())
    }
}

/// A transaction over [`Rows`]. Its changes are undone when it is dropped, unless they were kept.
#[derive(Debug)]
pub struct MemTxn<'a> {
    rows: &'a mut Rows,
    /// The row before each change, oldest first.
    before: Vec<(Key, Option<Row>)>,
}

impl<'a> MemTxn<'a> {
    /// Returns a new transaction without changes.
    pub fn new(rows: &'a mut Rows) -> Self {
        MemTxn { rows, before: Vec::new() }
    }

    /// Keeps the changes, so that they are not undone.
    pub fn keep(mut self) {
        self.before.clear();
    }

    /// Returns the changed rows in their present state.
    pub(crate) fn changes(&self) -> Vec<(Key, Option<Row>)> {
        let now = |(table, owner, key): &Key| self.rows.parts.get(&(*table, *owner))?.get(key).cloned();
        self.before.iter().map(|(key, _)| (key.clone(), now(key))).collect()
    }

    fn change(&mut self, key: Key, row: Option<Row>) {
        let before = self.rows.set(key.clone(), row);
        self.before.push((key, before));
    }
}

impl Drop for MemTxn<'_> {
    fn drop(&mut self) {
        for (key, row) in self.before.drain(..).rev() {
            self.rows.set(key, row);
        }
    }
}

impl ReadTxn for MemTxn<'_> {
    fn get(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFault> {
        self.rows.get(table, owner, key)
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
        self.rows.range(table, owner, from, to, limit, reverse)
    }
}

impl Txn for MemTxn<'_> {
    fn put(
        &mut self,
        table: Table,
        owner: &Owner,
        key: &[u8],
        row: &[u8],
        provenance: Option<&[u8]>,
    ) -> Result<(), StoreFault> {
        let row = (row.to_vec(), provenance.map(<[u8]>::to_vec));
        self.change((table, *owner, key.to_vec()), Some(row));
        Ok(())
    }

    fn delete(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<(), StoreFault> {
        self.change((table, *owner, key.to_vec()), None);
        Ok(())
    }
}

/// A backend in memory. It is fast, and its rows are lost when the process ends.
#[derive(Debug, Default)]
pub struct MemStore {
    /// The committed state. A read keeps the state that was current when it began.
    rows: Mutex<Arc<Rows>>,
}

impl MemStore {
    /// Returns a copy of all rows.
    pub fn rows(&self) -> Arc<Rows> {
        Arc::clone(&self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Backend for MemStore {
    fn write<T, E, F>(&self, closure: F) -> Result<T, WriteError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: FnOnce(&mut dyn Txn) -> Result<T, E> + Send + 'static,
    {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let mut txn = MemTxn::new(Arc::make_mut(&mut rows));
        match catch_unwind(AssertUnwindSafe(|| closure(&mut txn))) {
            Ok(Ok(value)) => {
                txn.keep();
                Ok(value)
            }
            Ok(Err(refusal)) => Err(WriteError::Refused(refusal)),
            Err(payload) => Err(WriteError::Panicked(crate::writer::message(&*payload))),
        }
    }

    fn read<T, E, F>(&self, closure: F) -> Result<T, ReadError<E>>
    where
        F: FnOnce(&mut dyn ReadTxn) -> Result<T, E>,
    {
        closure(&mut Snapshot(self.rows())).map_err(ReadError::Refused)
    }
}

/// A snapshot of one committed state.
pub(crate) struct Snapshot(pub(crate) Arc<Rows>);

impl ReadTxn for Snapshot {
    fn get(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFault> {
        Ok(self.0.row(table, owner, key))
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
        Ok(self.0.between((table, owner), (from, to), limit, reverse))
    }
}
