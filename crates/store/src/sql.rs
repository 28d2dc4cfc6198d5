//! The kernel's transaction, implemented on a SQLite connection.

use kernel::txn::{Owner, RawRow, ReadTxn, StoreFault, Table};
use rusqlite::{Connection, OptionalExtension, params};

use crate::marks::Marks;
use crate::overlay::ChangedRows;
use crate::{fault, left_out};

/// The texts of the statements for one table. They are made once per process, so that preparing a statement is a
/// look-up in a cache.
struct Statements {
    get: String,
    put: String,
    delete: String,
    /// The range statements, indexed by [`shape`].
    range: [String; 4],
}

/// Returns the index of a range statement: bit 0 for "has an end", bit 1 for "reverse".
fn shape(bounded: bool, reverse: bool) -> usize {
    usize::from(bounded) | usize::from(reverse) << 1
}

impl Statements {
    fn new(table: &str) -> Self {
        let range = |bounded: bool, reverse: bool| {
            let end = if bounded { " AND key < ?4" } else { "" };
            let order = if reverse { "DESC" } else { "ASC" };
            format!(
                "SELECT key, body FROM {table} WHERE owner = ?1 AND key >= ?2{end} ORDER BY key {order} LIMIT ?3"
            )
        };
        Statements {
            get: format!("SELECT body FROM {table} WHERE owner = ?1 AND key = ?2"),
            put: format!(
                "INSERT OR REPLACE INTO {table} (owner, key, body, provenance) VALUES (?1, ?2, ?3, ?4)"
            ),
            delete: format!("DELETE FROM {table} WHERE owner = ?1 AND key = ?2"),
            range: [range(false, false), range(true, false), range(false, true), range(true, true)],
        }
    }
}

fn statements(table: Table) -> &'static Statements {
    use std::sync::OnceLock;
    static ALL: [OnceLock<Statements>; Table::ALL.len()] = [const { OnceLock::new() }; Table::ALL.len()];
    ALL[table as usize].get_or_init(|| Statements::new(table.name()))
}

/// The number of statements that a connection keeps prepared: enough for all statements.
pub(crate) const MAX_CACHED_STATEMENTS: usize = Table::ALL.len() * 7 + 16;

/// A transaction that the caller has begun and will end.
pub(crate) struct SqlTxn<'a> {
    conn: &'a Connection,
    /// The first fault. After a fault, the closure must not be committed, even if it returns success.
    pub(crate) fault: Option<StoreFault>,
    /// Whether rows that cannot be read are left out and counted.
    salvages: bool,
    /// The marks that are told of every row that is written.
    marks: Option<&'a Marks>,
}

impl<'a> SqlTxn<'a> {
    pub(crate) fn new(conn: &'a Connection) -> Self {
        SqlTxn { conn, fault: None, salvages: false, marks: None }
    }

    /// Returns a transaction for a damaged database. Rows that cannot be read are left out and counted.
    pub(crate) fn salvaging(conn: &'a Connection) -> Self {
        SqlTxn { salvages: true, ..SqlTxn::new(conn) }
    }

    /// Returns a transaction that tells `marks` of every row that is written.
    pub(crate) fn with_marks(conn: &'a Connection, marks: &'a Marks) -> Self {
        SqlTxn { marks: Some(marks), ..SqlTxn::new(conn) }
    }

    fn note<T>(&mut self, outcome: Result<T, rusqlite::Error>) -> Result<T, StoreFault> {
        outcome.map_err(|error| {
            let fault = fault::from_sqlite(&error);
            self.fault.get_or_insert_with(|| fault.clone());
            fault
        })
    }
}

impl SqlTxn<'_> {
    /// Writes changed rows of one owner. A change is a body with its provenance, or `None` for a removed row.
    pub(crate) fn write(
        &mut self,
        table: Table,
        owner: &Owner,
        changes: &ChangedRows,
    ) -> Result<(), StoreFault> {
        let conn = self.conn;
        let marks = self.marks.filter(|_| !matches!(table, Table::Blob | Table::Bytes));
        let outcome = conn.prepare_cached(&statements(table).put).and_then(|mut put| {
            for (key, change) in changes {
                if let (Some(marks), Some((body, _))) = (marks, change) {
                    marks.mark_row(body);
                }
                match change {
                    Some((body, provenance)) => put.execute(params![owner, &key[..], body, provenance])?,
                    None => {
                        conn.prepare_cached(&statements(table).delete)?.execute(params![owner, &key[..]])?
                    }
                };
            }
            Ok(())
        });
        self.note(outcome)
    }
}

/// A range of the rows of one owner.
struct RowRange<'r> {
    table: Table,
    owner: &'r Owner,
    from: &'r [u8],
    to: &'r [u8],
    limit: usize,
}

impl RowRange<'_> {
    /// Reads the rows of the range one after the other, and adds them to `found` until there are no more or one cannot
    /// be read.
    fn read(&self, conn: &Connection, reverse: bool, found: &mut Vec<RawRow>) -> Result<(), rusqlite::Error> {
        let limit = i64::try_from(self.limit).unwrap_or(i64::MAX);
        let sql = &statements(self.table).range[shape(!self.to.is_empty(), reverse)];
        let mut statement = conn.prepare_cached(sql)?;
        let mut rows = match self.to.is_empty() {
            true => statement.query(params![self.owner, self.from, limit])?,
            false => statement.query(params![self.owner, self.from, limit, self.to])?,
        };
        while let Some(row) = rows.next()? {
            found.push((row.get(0)?, row.get(1)?));
        }
        Ok(())
    }

    /// Reads the rows of the range from both ends, as far as they can be read.
    fn salvage(&self, conn: &Connection, reverse: bool) -> Result<Vec<RawRow>, StoreFault> {
        let mut found = Vec::new();
        let Err(error) = self.read(conn, reverse, &mut found) else { return Ok(found) };
        match fault::from_sqlite(&error) {
            StoreFault::Corrupt(_) => left_out::count_part(self.table),
            other => return Err(other),
        }
        // The rows behind the damage are read from the other end. The first error is counted already.
        let mut behind = Vec::new();
        let all = RowRange { limit: usize::MAX, ..*self };
        let _ = all.read(conn, !reverse, &mut behind);
        let is_new = |key: &[u8]| match found.last() {
            Some((last, _)) if reverse => key < last.as_slice(),
            Some((last, _)) => key > last.as_slice(),
            None => true,
        };
        behind.retain(|(key, _)| is_new(key));
        found.extend(behind.into_iter().rev());
        found.truncate(self.limit);
        Ok(found)
    }
}

impl ReadTxn for SqlTxn<'_> {
    fn get(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFault> {
        let conn = self.conn;
        let outcome = conn
            .prepare_cached(&statements(table).get)
            .and_then(|mut statement| statement.query_row(params![owner, key], |row| row.get(0)).optional());
        match outcome {
            Err(error) if self.salvages && is_damage(&error) => {
                left_out::count_part(table);
                Ok(None)
            }
            outcome => self.note(outcome),
        }
    }

    fn leaves_out(&mut self, table: Table, row: &[u8]) -> bool {
        if self.salvages {
            left_out::count_row(table, row);
        }
        self.salvages
    }

    fn note_damage(&mut self, fault: &StoreFault) {
        self.fault.get_or_insert_with(|| fault.clone());
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
        let range = RowRange { table, owner, from, to, limit };
        if self.salvages {
            return range.salvage(self.conn, reverse);
        }
        let mut found = Vec::new();
        let outcome = range.read(self.conn, reverse, &mut found);
        self.note(outcome).map(|()| found)
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(fault::from_sqlite(error), StoreFault::Corrupt(_))
}

/// The reference implementation, with which the tests compare the changes of a group.
#[cfg(test)]
impl kernel::txn::Txn for SqlTxn<'_> {
    fn put(
        &mut self,
        table: Table,
        owner: &Owner,
        key: &[u8],
        row: &[u8],
        provenance: Option<&[u8]>,
    ) -> Result<(), StoreFault> {
        let conn = self.conn;
        let outcome = conn
            .prepare_cached(&statements(table).put)
            .and_then(|mut statement| statement.execute(params![owner, key, row, provenance]));
        self.note(outcome).map(drop)
    }

    fn delete(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<(), StoreFault> {
        let conn = self.conn;
        let outcome = conn
            .prepare_cached(&statements(table).delete)
            .and_then(|mut statement| statement.execute(params![owner, key]));
        self.note(outcome).map(drop)
    }
}
