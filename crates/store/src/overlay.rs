//! The changes of a group of writes that the database does not know yet.
//!
//! The closures of a group work on these rows instead of in a savepoint each. A closure that is refused takes its own
//! changes back. The changes of all others are written once, in the order of the keys, right before the commit. So a
//! row that every closure changes, such as a counter, is written once for all of them.
//!
//! Only this writer changes the database, so the rows that were read are remembered until the group ends.

use std::collections::{BTreeMap, HashMap, btree_map};
use std::ops::Bound;
use std::rc::Rc;

use kernel::txn::{Owner, RawRow, ReadTxn, StoreFault, Table, Txn};
use rusqlite::Connection;

use crate::sql::SqlTxn;

/// A changed row: body and provenance, or `None` if it was removed.
pub(crate) type Change = Option<(Vec<u8>, Option<Vec<u8>>)>;

/// Changed rows of one owner by key.
pub(crate) type ChangedRows = BTreeMap<Rc<[u8]>, Change>;

/// Where a row lies, but for its key.
type Part = (Table, Owner);

/// How many bytes of rows are remembered that were only read.
const MAX_CACHED_BYTES: usize = 4 << 20;

/// Ranges of at most so many rows are remembered: those that ask for the first or the last of something.
const MAX_CACHED_ROWS: usize = 4;

/// The changes of a group.
#[derive(Default)]
pub(crate) struct Overlay {
    changes: BTreeMap<Part, ChangedRows>,
    /// The entry of `changes` before each change of the running closure, oldest first.
    before: Vec<(Part, Rc<[u8]>, Option<Change>)>,
    /// Bytes put so far, also those that were replaced.
    bytes: usize,
    read: HashMap<Part, HashMap<Vec<u8>, Option<Vec<u8>>>>,
    remembered: usize,
    scans: HashMap<Scope, Scan>,
}

/// The bounds of a range: part, from, to, whether it falls.
type Scope = (Part, Vec<u8>, Vec<u8>, bool);

/// The first rows of a range as the database has them.
#[derive(Default)]
struct Scan {
    rows: Vec<RawRow>,
    /// Whether there are no more.
    whole: bool,
}

impl Overlay {
    /// Bytes that were put, a measure of how large the group has become.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Keeps the changes of the last closure.
    pub(crate) fn keep(&mut self) {
        self.before.clear();
    }

    /// Takes back the changes of the last closure.
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

    /// Returns the known state of a row: `None` if the database must be asked.
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
    /// Whether a row was written or removed.
    wrote: bool,
}

impl<'a> OverlayTxn<'a> {
    /// Returns a transaction over a connection on which one has begun.
    pub(crate) fn new(conn: &'a Connection, overlay: &'a mut Overlay) -> Self {
        OverlayTxn { sql: SqlTxn::new(conn), overlay, wrote: false }
    }

    /// Returns whether the database has failed. The closure must not be kept then, even if it returns success.
    pub(crate) fn has_failed(&self) -> bool {
        self.sql.fault.is_some()
    }

    /// Ends it: whether anything was changed, and how the database failed if it did.
    pub(crate) fn end(self) -> (bool, Option<StoreFault>) {
        (self.wrote, self.sql.fault)
    }
}

impl ReadTxn for OverlayTxn<'_> {
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
        // A map panics at a range that ends before it begins.
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
                        // The next key in order.
                        sql.range(table, owner, &[last, &[0][..]].concat(), to, ask, reverse)?
                    }
                };
                scan.whole = more.len() < ask;
                scan.rows.extend(more);
                // More rows are needed because some were removed; there may be many of those.
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

/// Changes of a range, rising or falling, with a look at the next one.
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

    /// A generator that only its seed decides.
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

    /// Makes one operation on each transaction, and checks that their answers are the same.
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
