//! The changes of a group of writes that the database does not know yet.
//!
//! The closures of a group work on these rows, instead of in a savepoint each. If a closure is refused, its own
//! changes are undone. The changes of all others are written once, in the order of the keys, right before the commit.
//! So a row that every closure changes, such as a counter, is written once for all of them.
//!
//! Only this writer changes the database, so the rows that were read are cached until the group ends.

use std::collections::{BTreeMap, HashMap, btree_map};
use std::ops::Bound;
use std::rc::Rc;

use kernel::txn::{Owner, RawRow, ReadTxn, StoreFault, Table, Txn};
use rusqlite::Connection;

use crate::sql::SqlTxn;

/// A changed row: body and provenance, or `None` if the row was removed.
pub(crate) type Change = Option<(Vec<u8>, Option<Vec<u8>>)>;

/// Changed rows of one owner by key.
pub(crate) type ChangedRows = BTreeMap<Rc<[u8]>, Change>;

/// The table and the owner of a row.
type Part = (Table, Owner);

/// The maximum number of bytes of cached rows that were only read.
const MAX_CACHED_BYTES: usize = 4 << 20;

/// The maximum number of rows of a range that is cached. Such ranges ask for the first or the last rows of a table.
const MAX_CACHED_ROWS: usize = 4;

/// The changes of a group.
#[derive(Default)]
pub(crate) struct Overlay {
    changes: BTreeMap<Part, ChangedRows>,
    /// The entry of `changes` before each change of the running closure, oldest first.
    before: Vec<(Part, Rc<[u8]>, Option<Change>)>,
    /// The number of bytes put so far, including bytes that were replaced later.
    bytes: usize,
    read: HashMap<Part, HashMap<Vec<u8>, Option<Vec<u8>>>>,
    remembered: usize,
    scans: HashMap<Scope, Scan>,
}

/// The bounds of a range: table and owner, first key, end key, and whether the order is descending.
type Scope = (Part, Vec<u8>, Vec<u8>, bool);

/// The first rows of a range in the database.
#[derive(Default)]
struct Scan {
    rows: Vec<RawRow>,
    /// Whether the database has no further rows in the range.
    whole: bool,
}

impl Overlay {
    /// Returns the number of bytes that were put, as a measure of the group's size.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether the group has no changes to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Keeps the changes of the last closure, so that they cannot be undone.
    pub(crate) fn keep(&mut self) {
        self.before.clear();
    }

    /// Undoes the changes of the last closure.
    pub(crate) fn take_back(&mut self) {
        while let Some((part, key, before)) = self.before.pop() {
            let Some(rows) = self.changes.get_mut(&part) else { continue };
            match before {
                Some(change) => drop(rows.insert(key, change)),
                None => drop(rows.remove(&key)),
            }
            if rows.is_empty() {
                self.changes.remove(&part);
            }
        }
    }

    /// Writes all changes to the database.
    pub(crate) fn write(&self, txn: &mut SqlTxn<'_>) -> Result<(), StoreFault> {
        self.changes.iter().try_for_each(|((table, owner), rows)| txn.write(*table, owner, rows))
    }

    fn change(&mut self, part: Part, key: &[u8], change: Change) {
        if let Some((body, provenance)) = &change {
            self.bytes += key.len() + body.len() + provenance.as_ref().map_or(0, Vec::len);
        }
        let key: Rc<[u8]> = key.into();
        let before = self.changes.entry(part).or_default().insert(Rc::clone(&key), change);
        self.before.push((part, key, before));
    }

    /// Returns the known state of a row, or `None` if the database must be asked. The inner `None` means that there
    /// is no such row.
    fn known(&self, part: Part, key: &[u8]) -> Option<Option<&Vec<u8>>> {
        if let Some(change) = self.changes.get(&part).and_then(|rows| rows.get(key)) {
            return Some(change.as_ref().map(|(body, _)| body));
        }
        self.read.get(&part)?.get(key).map(Option::as_ref)
    }

    fn remember(&mut self, part: Part, key: &[u8], row: &Option<Vec<u8>>) {
        let size = key.len() + row.as_ref().map_or(0, Vec::len);
        if self.remembered + size <= MAX_CACHED_BYTES {
            self.remembered += size;
            self.read.entry(part).or_default().insert(key.to_vec(), row.clone());
        }
    }
}

/// A transaction over a database and the changes of the group so far.
pub(crate) struct OverlayTxn<'a> {
    sql: SqlTxn<'a>,
    overlay: &'a mut Overlay,
    /// Whether the closure wrote or removed a row.
    wrote: bool,
}

impl<'a> OverlayTxn<'a> {
    /// Returns a transaction over a connection on which a database transaction has begun.
    pub(crate) fn new(conn: &'a Connection, overlay: &'a mut Overlay) -> Self {
        OverlayTxn { sql: SqlTxn::new(conn), overlay, wrote: false }
    }

    /// Returns whether the database has failed. If so, the closure's changes must not be kept, even if it returns
    /// success.
    pub(crate) fn has_failed(&self) -> bool {
        self.sql.fault.is_some()
    }

    /// Ends the transaction. Returns whether anything was changed, and the fault of the database, if it failed.
    pub(crate) fn end(self) -> (bool, Option<StoreFault>) {
        (self.wrote, self.sql.fault)
    }
}

impl ReadTxn for OverlayTxn<'_> {
    fn note_damage(&mut self, fault: &StoreFault) {
        self.sql.note_damage(fault);
    }

    fn get(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFault> {
        let part = (table, *owner);
        if let Some(known) = self.overlay.known(part, key) {
            return Ok(known.cloned());
        }
        let row = self.sql.get(table, owner, key)?;
        self.overlay.remember(part, key, &row);
        Ok(row)
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
        // The map's `range` panics if the range ends before it begins.
        if limit == 0 || (!to.is_empty() && from >= to) {
            return Ok(Vec::new());
        }
        let OverlayTxn { sql, overlay, .. } = self;
        let scope =
            (limit <= MAX_CACHED_ROWS).then(|| ((table, *owner), from.to_vec(), to.to_vec(), reverse));
        let mut scan = scope.as_ref().and_then(|scope| overlay.scans.remove(scope)).unwrap_or_default();
        let part = overlay.changes.get(&(table, *owner));
        let end = if to.is_empty() { Bound::Unbounded } else { Bound::Excluded(to) };
        let mut changes =
            Changes::new(part.map(|rows| rows.range::<[u8], _>((Bound::Included(from), end))), reverse);
        let (mut found, mut at, mut ask) = (Vec::new(), 0, limit);
        while found.len() < limit {
            if at == scan.rows.len() && !scan.whole {
                let more = match scan.rows.last() {
                    None => sql.range(table, owner, from, to, ask, reverse)?,
                    Some((last, _)) if reverse && last.is_empty() => Vec::new(),
                    Some((last, _)) if reverse => sql.range(table, owner, from, last, ask, reverse)?,
                    Some((last, _)) => {
                        // The range continues at the smallest key after the last one.
                        sql.range(table, owner, &[last, &[0][..]].concat(), to, ask, reverse)?
                    }
                };
                scan.whole = more.len() < ask;
                scan.rows.extend(more);
                // More rows are needed because the group has removed some. It may have removed many, so the number
                // doubles.
                ask = ask.saturating_mul(2);
                continue;
            }
            let theirs = scan.rows.get(at);
            let order = match (theirs, changes.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((theirs, _)), Some(ours)) if reverse => ours.cmp(theirs.as_slice()),
                (Some((theirs, _)), Some(ours)) => theirs.as_slice().cmp(ours),
            };
            if order.is_le() {
                if order.is_lt() {
                    found.extend(theirs.cloned());
                }
                at += 1;
            }
            if order.is_ge()
                && let Some((key, Some((body, _)))) = changes.next()
            {
                found.push((key.to_vec(), body.clone()));
            }
        }
        if let Some(scope) = scope {
            overlay.scans.insert(scope, scan);
        }
        Ok(found)
    }
}

impl Txn for OverlayTxn<'_> {
    fn put(
        &mut self,
        table: Table,
        owner: &Owner,
        key: &[u8],
        row: &[u8],
        provenance: Option<&[u8]>,
    ) -> Result<(), StoreFault> {
        self.wrote = true;
        let row = (row.to_vec(), provenance.map(<[u8]>::to_vec));
        self.overlay.change((table, *owner), key, Some(row));
        Ok(())
    }

    fn delete(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<(), StoreFault> {
        if self.get(table, owner, key)?.is_some() {
            self.wrote = true;
            self.overlay.change((table, *owner), key, None);
        }
        Ok(())
    }
}

/// The changes in a range, in ascending or descending order. The next change can be seen before it is taken.
struct Changes<'a> {
    range: Option<btree_map::Range<'a, Rc<[u8]>, Change>>,
    reverse: bool,
    next: Option<(&'a [u8], &'a Change)>,
}

impl<'a> Changes<'a> {
    fn new(range: Option<btree_map::Range<'a, Rc<[u8]>, Change>>, reverse: bool) -> Self {
        let mut changes = Changes { range, reverse, next: None };
        changes.next();
        changes
    }

    fn peek(&self) -> Option<&'a [u8]> {
        self.next.map(|(key, _)| key)
    }

    fn next(&mut self) -> Option<(&'a [u8], &'a Change)> {
        let range = self.range.as_mut();
        let next = range.and_then(|range| if self.reverse { range.next_back() } else { range.next() });
        std::mem::replace(&mut self.next, next.map(|(key, change)| (&**key, change)))
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::{MemTxn, Rows};
    use crate::schema;

    use super::*;

    /// A random number generator that depends only on its seed.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % n
        }

        fn key(&mut self) -> Vec<u8> {
            let len = self.below(3);
            (0..len).map(|_| [0, 1, 2, 0xfe, 0xff][self.below(5) as usize]).collect()
        }
    }

    /// Makes one operation on each transaction, and checks that all return the same.
    fn step(random: &mut Random, txns: &mut [&mut dyn Txn]) {
        let table = Table::ALL[random.below(2) as usize];
        let owner = [random.below(2) as u8; 32];
        let (key, other) = (random.key(), random.key());
        let (body, what) = (random.below(u64::MAX).to_le_bytes(), random.below(10));
        let limit = [0, 1, 1, 2, 3, 7, usize::MAX][random.below(7) as usize];
        let reverse = random.below(2) == 0;
        let provenance = (random.below(2) == 0).then_some(&body[..3]);
        let mut answers = Vec::new();
        for txn in txns {
            answers.push(match what {
                0..3 => txn.put(table, &owner, &key, &body, provenance).map(|()| vec![]).unwrap(),
                3..6 => txn.delete(table, &owner, &key).map(|()| vec![]).unwrap(),
                6 => txn.get(table, &owner, &key).unwrap().into_iter().map(|row| (vec![], row)).collect(),
                _ => txn.range(table, &owner, &key, &other, limit, reverse).unwrap(),
            });
        }
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{what}: {key:?} {other:?} {answers:?}");
    }

    fn all(conn: &Connection) -> Vec<String> {
        let mut found = Vec::new();
        for table in Table::ALL {
            let sql = format!("SELECT owner, key, body, provenance FROM {} ORDER BY 1, 2", table.name());
            let mut statement = conn.prepare(&sql).unwrap();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let parts: Vec<rusqlite::types::Value> = (0..4).map(|i| row.get(i).unwrap()).collect();
                found.push(format!("{table:?} {parts:?}"));
            }
        }
        found
    }

    #[test]
    fn groups_leave_the_same_rows_as_savepoints() {
        for seed in 0..300 {
            let random = &mut Random(seed);
            let [ours, plain] = [(); 2].map(|()| Connection::open_in_memory().unwrap());
            for conn in [&ours, &plain] {
                schema::create(conn).unwrap();
            }
            let mut rows = Rows::default();
            for _ in 0..4 {
                ours.execute_batch("BEGIN").unwrap();
                plain.execute_batch("BEGIN").unwrap();
                let mut overlay = Overlay::default();
                for _ in 0..random.below(6) {
                    plain.execute_batch("SAVEPOINT one").unwrap();
                    let before = rows.clone();
                    let mut first = OverlayTxn::new(&ours, &mut overlay);
                    let (mut second, mut third) = (SqlTxn::new(&plain), MemTxn::new(&mut rows));
                    for _ in 0..random.below(40) {
                        step(random, &mut [&mut first, &mut second, &mut third]);
                    }
                    let wrote = first.end().0;
                    if random.below(3) == 0 {
                        overlay.take_back();
                        plain.execute_batch("ROLLBACK TO one; RELEASE one").unwrap();
                    } else {
                        overlay.keep();
                        third.keep();
                        plain.execute_batch("RELEASE one").unwrap();
                        assert!(wrote || rows == before);
                    }
                }
                overlay.write(&mut SqlTxn::new(&ours)).unwrap();
                ours.execute_batch("COMMIT").unwrap();
                plain.execute_batch("COMMIT").unwrap();
                assert_eq!(all(&ours), all(&plain), "seed {seed}");
            }
        }
    }
}
