//! The schema of a store, and its version, which is in the header of the database file.

use kernel::txn::StoreFault;
use rusqlite::Connection;

use crate::fault;

/// The version of the schema, kept in `PRAGMA user_version`. A store with another version is refused. Versions 1 to 4
/// are of builds before this schema. Version 5 had a formula for each kind of resource, and version 6 had rows with
/// the old names. In version 7, commands took the numbers of messages. Version 8 is that of the first fixture, and
/// [`crate::migration`] has the way from each later version to the next.
///
/// Every change of the format of a row, here or in `kernel`, increases this number and adds a migration.
pub(crate) const VERSION: u32 = 9;

/// Makes all tables in an empty database.
pub(crate) fn create(conn: &Connection) -> Result<(), StoreFault> {
    let schema = include_str!("schema.sql");
    let batch = format!("BEGIN IMMEDIATE;\n{schema}\nPRAGMA user_version = {VERSION};\nCOMMIT;");
    conn.execute_batch(&batch).map_err(|e| fault::from_sqlite(&e))
}

#[cfg(test)]
mod tests {
    use kernel::txn::Table;

    use super::*;

    #[test]
    fn schema_has_every_table_of_the_kernel() {
        let conn = Connection::open_in_memory().unwrap();
        create(&conn).unwrap();
        let version: u32 = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version, VERSION);
        for table in Table::ALL {
            let sql = format!("SELECT owner, key, body, provenance FROM {}", table.name());
            assert!(conn.prepare(&sql).is_ok(), "the schema lacks {}", table.name());
        }
        let tables: u32 = conn
            .query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'table'", [], |row| row.get(0))
            .unwrap();
        assert_eq!(tables as usize, Table::ALL.len());
    }
}
