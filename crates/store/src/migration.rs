//! How an older store becomes a newer one: one file per step, each applied in one transaction.
//!
//! A file that has been released is never edited; what must change goes into a new one.

use kernel::txn::StoreFault;
use rusqlite::Connection;

use crate::fault;

/// The steps, in order; step `i` leads from version `i` to `i + 1`.
const STEPS: [&str; 4] = [
    include_str!("migrations/0001_tables.sql"),
    include_str!("migrations/0002_mail_and_retention.sql"),
    include_str!("migrations/0003_awaiting.sql"),
    include_str!("migrations/0004_bytes.sql"),
];

/// The schema version that this program writes, kept in `PRAGMA user_version`.
pub const VERSION: u32 = STEPS.len() as u32;

/// The version that a database has.
pub(crate) fn version(conn: &Connection) -> Result<u32, StoreFault> {
    conn.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(|e| fault::of(&e))
}

/// Applies every step that the database has not had.
pub(crate) fn migrate(conn: &Connection) -> Result<(), StoreFault> {
    apply(conn, &STEPS)
}

fn apply(conn: &Connection, steps: &[&str]) -> Result<(), StoreFault> {
    let done = version(conn)? as usize;
    for (i, step) in steps.iter().enumerate().skip(done) {
        let batch = format!("BEGIN IMMEDIATE;\n{step}\nPRAGMA user_version = {};\nCOMMIT;", i + 1);
        if let Err(error) = conn.execute_batch(&batch) {
            let fault = fault::of(&error);
            if !conn.is_autocommit() {
                conn.execute_batch("ROLLBACK").map_err(|e| fault::of(&e))?;
            }
            return Err(fault);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kernel::txn::Table;

    use super::*;

    #[test]
    fn every_table_of_the_kernel_is_there_after_migrating() {
        let conn = Connection::open_in_memory().unwrap();
        migrate(&conn).unwrap();
        migrate(&conn).unwrap();
        assert_eq!(version(&conn).unwrap(), VERSION);
        for table in Table::ALL {
            let sql = format!("SELECT owner, key, body, provenance FROM {}", table.name());
            assert!(conn.prepare(&sql).is_ok(), "a new table needs a new migration: {}", table.name());
        }
    }

    #[test]
    fn mail_of_an_older_store_still_waits() {
        let conn = Connection::open_in_memory().unwrap();
        apply(&conn, &STEPS[..2]).unwrap();
        for (key, row) in [("a", r#"{"needs_you":true}"#), ("b", r#"{"needs_you":false}"#), ("c", "{}")] {
            let put = "INSERT INTO message (owner, key, body) VALUES (x'01', ?1, ?2)";
            conn.execute(put, (key.as_bytes(), row.as_bytes())).unwrap();
        }
        migrate(&conn).unwrap();
        let found: (Vec<u8>, Vec<u8>, Vec<u8>) = conn
            .query_row("SELECT owner, key, body FROM awaiting", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .unwrap();
        assert_eq!(found, (vec![1], b"a".to_vec(), b"true".to_vec()));
        let count: u32 = conn.query_row("SELECT count(*) FROM awaiting", [], |row| row.get(0)).unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn a_step_that_fails_leaves_nothing_and_can_be_repeated() {
        let conn = Connection::open_in_memory().unwrap();
        let first = "CREATE TABLE a (x);";
        assert!(apply(&conn, &[first, "CREATE TABLE b (x); CREATE TABLE a (x);"]).is_err());
        assert_eq!(version(&conn).unwrap(), 1);
        assert!(conn.prepare("SELECT * FROM b").is_err());
        apply(&conn, &[first, "CREATE TABLE b (x); INSERT INTO a VALUES (1);"]).unwrap();
        apply(&conn, &[first, "CREATE TABLE b (x); INSERT INTO a VALUES (1);"]).unwrap();
        assert_eq!(version(&conn).unwrap(), 2);
        assert_eq!(conn.query_row("SELECT count(*) FROM a", [], |row| row.get::<_, u32>(0)).unwrap(), 1);
    }
}
