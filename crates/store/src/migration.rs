//! The migrations: numbered steps that bring a store of an earlier version to the present one.
//!
//! All steps and the new version are one transaction, so a store is never between two versions. Before it, the rows are
//! copied to a file beside the store's directory. An earlier build still opens that copy.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use kernel::txn::StoreFault;
use rusqlite::Connection;

use crate::error::OpenError;
use crate::place::{self, FILE_MODE};
use crate::{failpoint, fault, schema};

/// The points that a migration passes, in this order.
pub const POINTS: [&str; 4] =
    ["migrate.before_copy", "migrate.after_copy", "migrate.before_commit", "migrate.after_commit"];

/// A step from one version of the schema to the next.
struct Migration {
    /// The version of the stores that the step takes.
    from: u32,
    /// The statements of the step. Rows are JSON, which SQLite can read and change.
    sql: &'static str,
}

/// The migrations, in order. A release never changes one that an earlier release had.
const MIGRATIONS: &[Migration] = &[Migration {
    from: 8,
    // Directories can move with a home, and the moves are kept.
    sql: "CREATE TABLE relocation (
              owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
              PRIMARY KEY (owner, key)
          ) WITHOUT ROWID;",
}];

/// A completed migration of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationReport {
    /// The version of the schema before.
    pub from: u32,
    /// The version now.
    pub to: u32,
    /// The file with the rows as they were before.
    pub copy: PathBuf,
}

/// Returns whether there is a way from a version of the schema to the present one.
pub(crate) fn is_known(version: u32) -> bool {
    MIGRATIONS.first().is_some_and(|first| (first.from..schema::VERSION).contains(&version))
}

/// Brings the database of the store in `dir` to the present version, if it has an earlier one.
///
/// # Errors
/// When the copy cannot be made, or a step fails. The database is unchanged then.
pub(crate) fn run(dir: &Path, conn: &Connection) -> Result<Option<MigrationReport>, OpenError> {
    let path = dir.join(place::DATABASE);
    let failed = |fault: StoreFault| OpenError::from_fault(&path, fault::refine(dir, fault));
    let from = version(conn).map_err(failed)?;
    if from == schema::VERSION {
        return Ok(None);
    }
    failpoint::reach(POINTS[0]);
    let copy = copy(dir, conn, from)?;
    failpoint::reach(POINTS[1]);
    migrate(conn, from).map_err(|error| failed(fault::from_sqlite(&error)))?;
    failpoint::reach(POINTS[3]);
    Ok(Some(MigrationReport { from, to: schema::VERSION, copy }))
}

fn version(conn: &Connection) -> Result<u32, StoreFault> {
    conn.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(|e| fault::from_sqlite(&e))
}

fn migrate(conn: &Connection, from: u32) -> Result<(), rusqlite::Error> {
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let mut steps = MIGRATIONS.iter().filter(|step| step.from >= from);
    let done = steps
        .try_for_each(|step| conn.execute_batch(step.sql))
        .and_then(|()| conn.pragma_update(None, "user_version", schema::VERSION));
    if done.is_err() {
        // The reason of the failure counts, and the end of the connection rolls back as well.
        let _ = conn.execute_batch("ROLLBACK");
        return done;
    }
    failpoint::reach(POINTS[2]);
    conn.execute_batch("COMMIT")
}

/// Copies the rows to a file beside the store's directory, and returns its path. An older copy of the same version is
/// replaced: the store has been there again since.
fn copy(dir: &Path, conn: &Connection, version: u32) -> Result<PathBuf, OpenError> {
    let to = place::beside(dir, &format!(".version-{version}.sqlite"));
    let partial = place::beside(&to, ".partial");
    let io = |error: io::Error| OpenError::from_io(&to, &error);
    match fs::remove_file(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
        _ => {}
    }
    // SQLite accepts an empty file, whose mode lets no other user read it.
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&partial).map_err(io)?;
    let name = partial
        .to_str()
        .ok_or_else(|| OpenError::Io { path: to.clone(), detail: "the path is not UTF-8".to_owned() })?;
    conn.execute("VACUUM INTO ?1", [name])
        .map_err(|error| OpenError::from_fault(&to, fault::refine(&to, fault::from_sqlite(&error))))?;
    File::open(&partial).and_then(|file| file.sync_all()).map_err(io)?;
    fs::rename(&partial, &to).map_err(io)?;
    place::sync_parent(&to).map_err(io)?;
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that is missing, or comes twice, would leave stores that no build opens.
    #[test]
    fn migrations_are_dense_and_end_at_the_present_version() {
        for (step, next) in MIGRATIONS.iter().zip(MIGRATIONS.iter().skip(1)) {
            assert_eq!(step.from + 1, next.from);
        }
        assert_eq!(MIGRATIONS.last().map(|last| last.from + 1), Some(schema::VERSION));
        assert!(is_known(8) && !is_known(7) && !is_known(schema::VERSION));
    }

    /// The tables of a migrated store and of a new one are the same, to the letter.
    #[test]
    fn migrated_schema_is_that_of_a_new_store() {
        let tables = |conn: &Connection| -> Vec<(String, String)> {
            let mut rows = conn.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").unwrap();
            let squeezed = |sql: String| sql.split_whitespace().collect::<Vec<_>>().join(" ");
            rows.query_map([], |row| Ok((row.get(0)?, squeezed(row.get(1)?))))
                .unwrap()
                .map(Result::unwrap)
                .collect()
        };
        let (old, new) = (Connection::open_in_memory().unwrap(), Connection::open_in_memory().unwrap());
        schema::create(&new).unwrap();
        let first = include_str!("schema.sql").split("-- The moves of directories").next().unwrap();
        old.execute_batch(first).unwrap();
        old.pragma_update(None, "user_version", 8).unwrap();
        migrate(&old, 8).unwrap();
        assert_eq!(tables(&old), tables(&new));
        assert_eq!(version(&old).unwrap(), schema::VERSION);
    }
}
