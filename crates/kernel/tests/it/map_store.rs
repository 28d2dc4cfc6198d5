//! A store that is a map: enough of a [`Txn`] for a state machine that never fails half way.

use std::collections::BTreeMap;
use std::ops::Bound;

use kernel::txn::{Owner, RawRow, ReadTxn, StoreFault, Table, Txn};

/// Rows by table, owner and key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MapStore(BTreeMap<(Table, Owner, Vec<u8>), Vec<u8>>);

impl MapStore {
    /// Returns how many rows a table has.
    pub(crate) fn count(&self, table: Table) -> usize {
        self.0.keys().filter(|(t, _, _)| *t == table).count()
    }

    /// Returns how many rows of a table belong to one owner.
    pub(crate) fn owned(&self, table: Table, owner: &Owner) -> usize {
        self.0.keys().filter(|(t, o, _)| *t == table && o == owner).count()
    }

    /// Returns whether a row without an owner lies under the key.
    pub(crate) fn has(&self, table: Table, key: &[u8]) -> bool {
        self.0.contains_key(&(table, kernel::txn::NO_OWNER, key.to_vec()))
    }

    /// Returns the rows of a table, for all owners.
    pub(crate) fn rows(&self, table: Table) -> Vec<RawRow> {
        self.0
            .iter()
            .filter(|((t, _, _), _)| *t == table)
            .map(|((_, _, key), row)| (key.clone(), row.clone()))
            .collect()
    }
}

impl ReadTxn for MapStore {
    fn get(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFault> {
        Ok(self.0.get(&(table, *owner, key.to_vec())).cloned())
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
        let start = Bound::Included((table, *owner, from.to_vec()));
        let in_range = self
            .0
            .range((start, Bound::Unbounded))
            .take_while(|((t, o, key), _)| *t == table && o == owner && (to.is_empty() || &key[..] < to))
            .map(|((_, _, key), row)| (key.clone(), row.clone()));
        let mut rows: Vec<RawRow> = in_range.collect();
        if reverse {
            rows.reverse();
        }
        rows.truncate(limit);
        Ok(rows)
    }
}

impl Txn for MapStore {
    fn put(
        &mut self,
        table: Table,
        owner: &Owner,
        key: &[u8],
        row: &[u8],
        _provenance: Option<&[u8]>,
    ) -> Result<(), StoreFault> {
        self.0.insert((table, *owner, key.to_vec()), row.to_vec());
        Ok(())
    }

    fn delete(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<(), StoreFault> {
        self.0.remove(&(table, *owner, key.to_vec()));
        Ok(())
    }
}
