//! The database file. Its creation is atomic, and its settings keep every acknowledged write.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use kernel::txn::{StoreFault, Table};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use crate::error::OpenError;
use crate::migration::{self, MigrationReport};
use crate::place::{self, FILE_MODE};
use crate::sql::MAX_CACHED_STATEMENTS;
use crate::{fault, header, schema};

/// The maximum time to wait for another program's lock on the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The database of the writer.
pub(crate) struct WriterDatabase {
    pub(crate) conn: Connection,
    /// Whether the structure of the file was examined, which happens if the last owner ended without closing the store.
    pub(crate) is_sound: bool,
    /// The migration, if an earlier build wrote the store.
    pub(crate) migration: Option<MigrationReport>,
}

/// Opens the database for the writer. A new one is created, and one of an earlier version is migrated.
pub(crate) fn writer(dir: &Path, max_pages: Option<u32>) -> Result<WriterDatabase, OpenError> {
    let path = dir.join(place::DATABASE);
    let failed = |error: rusqlite::Error| failure(dir, &path, fault::from_sqlite(&error));
    if !path.exists() {
        header::is_absent_whole(dir)?;
        create(dir, &path)?;
    }
    let unclean = header::recognise(dir)?;

    let conn = connect(&path).map_err(failed)?;
    if unclean {
        let problems = quick_check(&conn, 1).map_err(|f| failure(dir, &path, f))?;
        if let Some(detail) = problems.into_iter().next() {
            return Err(OpenError::Corrupt { path, detail });
        }
    }
    // A backup, or a database recovered from a damaged file, does not have this mode.
    conn.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    if let Some(pages) = max_pages {
        conn.pragma_update(None, "max_page_count", pages).map_err(failed)?;
    }
    let migration = migration::run(dir, &conn)?;
    Ok(WriterDatabase { conn, is_sound: unclean, migration })
}

/// Opens a read-only connection for copying the database.
pub(crate) fn source(path: &Path) -> Result<Connection, StoreFault> {
    let conn =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX);
    conn.and_then(|conn| conn.busy_timeout(BUSY_TIMEOUT).map(|()| conn)).map_err(|e| fault::from_sqlite(&e))
}

/// Opens a further connection, which can only read.
pub(crate) fn reader(path: &Path) -> Result<Connection, StoreFault> {
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(BUSY_TIMEOUT)?;
        settle_plans(&conn)?;
        conn.pragma_update(None, "query_only", true)?;
        Ok(conn)
    };
    open().map_err(|e: rusqlite::Error| fault::from_sqlite(&e))
}

/// Copies the log into the database file and closes the connection. If the copying fails, the log stays, and the next
/// opening reads it.
pub(crate) fn close(conn: Connection) {
    let _ = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    let _ = conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
    drop(conn);
}

/// Returns the inconsistencies that SQLite finds in the structure of the file, at most `limit`.
pub(crate) fn quick_check(conn: &Connection, limit: usize) -> Result<Vec<String>, StoreFault> {
    let run = || {
        let mut statement = conn.prepare(&format!("PRAGMA quick_check({limit})"))?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
        rows.collect::<Result<Vec<_>, _>>()
    };
    let mut found = run().map_err(|e| fault::from_sqlite(&e))?;
    found.retain(|line| line != "ok");
    Ok(found)
}

/// Reads the first and the last row of every table, and so the pages above them. This takes no longer for a large
/// store.
pub(crate) fn check_roots(conn: &Connection) -> Result<(), StoreFault> {
    for table in Table::ALL {
        for order in ["ASC", "DESC"] {
            let name = table.name();
            let sql = format!("SELECT body FROM {name} ORDER BY owner {order}, key {order} LIMIT 1");
            let row = conn.query_row(&sql, [], |row| row.get_ref(0).map(drop)).optional();
            row.map_err(|e| fault::from_sqlite(&e))?;
        }
    }
    Ok(())
}

/// Sets a connection so that each statement is prepared only once. Without the first setting, SQLite looks at the
/// bound values and prepares statements with a range or a limit again for each. Here every statement has one good
/// plan: the primary key.
fn settle_plans(conn: &Connection) -> Result<(), rusqlite::Error> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_prepared_statement_cache_capacity(MAX_CACHED_STATEMENTS);
    Ok(())
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    // If opening is refused, a damaged file must stay unchanged. So only `close` copies the log.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    settle_plans(&conn)?;
    // With FULL, a commit returns after the log has been synced. With NORMAL, a power failure loses acknowledged
    // commits.
    conn.pragma_update(None, "synchronous", "FULL")?;
    // On macOS, a sync reaches the disk only with these settings. On other systems they do nothing.
    conn.pragma_update(None, "fullfsync", true)?;
    conn.pragma_update(None, "checkpoint_fullfsync", true)?;
    conn.pragma_update(None, "foreign_keys", true)?;
    // Deleted rows are overwritten, because a user may want their content to be gone.
    conn.pragma_update(None, "secure_delete", true)?;
    conn.pragma_update(None, "journal_size_limit", 64 << 20)?;
    // This is for the journal of a savepoint, which is lost in a crash in any case. A file would cost system calls.
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    // The unit is KiB. Formulas have random keys, so their pages are needed again and again. With 2 MiB, loading a
    // million rows took more than twice as long. The cache grows only as needed.
    conn.pragma_update(None, "cache_size", -16_384)?;
    Ok(conn)
}

/// Creates the database under another name, and renames it when it is complete. So an empty or incomplete file under
/// the real name is always damage, and never an interrupted creation.
fn create(dir: &Path, path: &Path) -> Result<(), OpenError> {
    let new = dir.join(place::TEMPORARY).join("new.sqlite");
    let io = |error: io::Error| OpenError::from_io(path, &error);
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&new).map_err(io)?;
    let fill = || -> Result<(), StoreFault> {
        let of = |e: rusqlite::Error| fault::from_sqlite(&e);
        let conn = connect(&new).map_err(of)?;
        // No process opens the file before the rename, and the file is synced once before that.
        conn.pragma_update(None, "synchronous", "OFF").map_err(of)?;
        conn.pragma_update(None, "application_id", header::APPLICATION).map_err(of)?;
        conn.pragma_update(None, "journal_mode", "WAL").map_err(of)?;
        schema::create(&conn)?;
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(of)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(of)?;
        conn.close().map_err(|(_, e)| of(e))
    };
    fill().map_err(|f| failure(dir, path, f))?;
    File::open(&new).and_then(|file| file.sync_all()).map_err(io)?;
    fs::rename(&new, path).map_err(io)?;
    place::sync_dir(dir).map_err(io)
}

fn failure(dir: &Path, path: &Path, fault: StoreFault) -> OpenError {
    OpenError::from_fault(path, fault::refine(dir, fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks settings whose lack would only show at a power failure. The value 2 of `synchronous` is FULL.
    #[test]
    fn every_commit_is_synced() {
        let dir = std::env::temp_dir().join(format!("store-settings-{}", std::process::id()));
        let place = place::StoreDirectory::claim(&dir).unwrap();
        let conn = writer(&place.dir, None).unwrap().conn;
        let value = |pragma: &str| {
            conn.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, rusqlite::types::Value>(0))
                .unwrap()
        };
        assert_eq!(value("journal_mode"), "wal".to_owned().into());
        assert_eq!(value("synchronous"), 2.into());
        assert_eq!(value("foreign_keys"), 1.into());
        assert_eq!(value("busy_timeout"), 5000.into());
        assert_eq!(value("application_id"), header::APPLICATION.into());
        assert_eq!(value("user_version"), schema::VERSION.into());
        for conn in [&conn, &reader(&place.dir.join(place::DATABASE)).unwrap()] {
            // Without this setting, statements are prepared again for each value.
            assert!(conn.db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG).unwrap());
        }
        close(conn);
        assert!(!header::recognise(&place.dir).unwrap());
        fs::remove_dir_all(&dir).unwrap();
    }
}
