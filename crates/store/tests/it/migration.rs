//! A store of an earlier version is migrated in one step, after a copy, and a kill loses nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

use kernel::txn::{NO_OWNER, Table};
use rusqlite::Connection;

use crate::child::command;
use crate::{get, open, put};

/// The version before the present one, which has a migration.
const EARLIER: u32 = 8;

/// Makes a store of version 8 with one row and one blob.
fn earlier(dir: &Path) -> kernel::BlobHash {
    let store = open(dir);
    let hash = store.blobs().put(b"blob").unwrap();
    put(&store, "k", b"1").unwrap();
    drop(store);
    let conn = Connection::open(dir.join("almoner.sqlite")).unwrap();
    conn.execute_batch("DROP TABLE relocation").unwrap();
    conn.pragma_update(None, "user_version", EARLIER).unwrap();
    conn.close().unwrap();
    hash
}

fn version(db: &Path) -> u32 {
    Connection::open(db).unwrap().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

fn copy_of(dir: &Path) -> PathBuf {
    dir.with_file_name(format!("store.version-{EARLIER}.sqlite"))
}

#[test]
fn earlier_store_is_migrated_after_a_copy() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("store");
    let hash = earlier(&dir);
    let before = fs::read(dir.join("almoner.sqlite")).unwrap();
    store::inspect(&dir).unwrap();
    assert!(fs::read(dir.join("almoner.sqlite")).unwrap() == before, "a look changes nothing");
    let store = open(&dir);
    let report = store.migration().unwrap();
    assert_eq!((report.from, report.copy.as_path()), (EARLIER, copy_of(&dir).as_path()));
    assert_eq!(get(&store, "k").unwrap(), b"1");
    assert_eq!(store.blobs().get(&hash).unwrap(), b"blob");
    store.write(|txn| txn.put(Table::Relocation, &NO_OWNER, b"1", b"{}", None)).unwrap();
    assert!(store.read(|txn| txn.get(Table::Relocation, &NO_OWNER, b"1")).unwrap().is_some());
    drop(store);
    assert!(version(&dir.join("almoner.sqlite")) > EARLIER);
    // The copy is the store as it was: an earlier build opens it.
    let copy = copy_of(&dir);
    assert_eq!(version(&copy), EARLIER);
    assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o077, 0);
    let rows: u32 = Connection::open(&copy)
        .unwrap()
        .query_row("SELECT count(*) FROM meta WHERE key = CAST('k' AS BLOB)", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 1);
    assert!(open(&dir).migration().is_none(), "a migrated store is not migrated again");
}

#[test]
fn kill_at_any_point_of_a_migration_loses_nothing() {
    for point in store::migration::POINTS {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("store");
        let hash = earlier(&dir);
        let output = command("make", &dir).env("FAILPOINTS", format!("{point}=return")).output().unwrap();
        assert_eq!(output.status.signal(), Some(9), "{point}: {output:?}");
        // A partial copy of the killed process is in nobody's way.
        let store = open(&dir);
        let is_committed = point == "migrate.after_commit";
        assert_eq!(store.migration().is_none(), is_committed, "{point}");
        assert_eq!(get(&store, "k").unwrap(), b"1", "{point}");
        assert_eq!(store.blobs().get(&hash).unwrap(), b"blob", "{point}");
        put(&store, "l", b"2").unwrap();
        drop(store);
        assert_eq!(version(&copy_of(&dir)), EARLIER, "{point}");
        let names = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(!names.into_iter().any(|name| name.to_string_lossy().ends_with(".partial")), "{point}");
    }
}

/// A store whose last owner was killed has its newest rows in the log.
#[test]
fn killed_earlier_store_is_migrated_with_its_log() {
    let root = tempfile::tempdir().unwrap();
    let (dir, left) = (root.path().join("store"), root.path().join("left/store"));
    earlier(&dir);
    let conn = Connection::open(dir.join("almoner.sqlite")).unwrap();
    conn.execute_batch("INSERT INTO meta (owner, key, body) VALUES (zeroblob(32), x'6c', x'32')").unwrap();
    fs::create_dir_all(&left).unwrap();
    for name in ["almoner.sqlite", "almoner.sqlite-wal"] {
        fs::copy(dir.join(name), left.join(name)).unwrap();
    }
    assert!(fs::metadata(left.join("almoner.sqlite-wal")).unwrap().len() > 0);
    conn.close().unwrap();
    let store = open(&left);
    assert!(store.migration().is_some());
    assert_eq!(get(&store, "l").unwrap(), b"2");
    let copy = Connection::open(copy_of(&left)).unwrap();
    let rows: u32 =
        copy.query_row("SELECT count(*) FROM meta WHERE key = x'6c'", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}

/// A migration that cannot write its copy refuses, and the store stays as it is.
#[test]
fn migration_without_room_for_its_copy_changes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("store");
    earlier(&dir);
    fs::create_dir(copy_of(&dir).with_file_name("store.version-8.sqlite.partial")).unwrap();
    let before = fs::read(dir.join("almoner.sqlite")).unwrap();
    let error = store::Store::open(&dir, store::Options::default()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("version-8"), "{error}");
    assert_eq!(version(&dir.join("almoner.sqlite")), EARLIER);
    assert!(before == fs::read(dir.join("almoner.sqlite")).unwrap());
}
