//! A store that another build wrote is refused with one sentence, and stays byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use kernel::txn::Table;
use rusqlite::Connection;
use store::{OpenError, Options, Store};

use crate::{get, open, put};

/// The mark of the program in the head of the file.
const ALMO: i32 = 0x414c_4d4f;

/// Everything about a file that a process can change: its mode, the times of its last change, and its bytes.
type Trace = (u32, (i64, i64), (i64, i64), Vec<u8>);

/// Returns the traces of all files and directories below `dir`.
fn traces(dir: &Path) -> BTreeMap<PathBuf, Trace> {
    let mut found = BTreeMap::new();
    let mut look = vec![dir.to_path_buf()];
    while let Some(path) = look.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let times = ((meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
        let bytes = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        if meta.is_dir() {
            look.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.insert(path, (meta.mode(), times.0, times.1, bytes));
    }
    found
}

/// Refuses the store in `dir`, twice, without leaving a trace in it.
#[track_caller]
fn refused(dir: &Path) -> OpenError {
    let before = traces(dir);
    let first = store::inspect(dir).unwrap_err();
    let error = Store::open(dir, Options::default()).map(|_| ()).unwrap_err();
    assert_eq!(first.to_string(), error.to_string());
    assert!(traces(dir) == before, "a byte, a mode or a time was changed");
    error
}

/// Makes the database of a store with the schema that earlier builds had at `version`, and leaves it open.
fn make(dir: &Path, application: i32, version: u32) -> Connection {
    fs::create_dir_all(dir.join("blobs/ab")).unwrap();
    fs::write(dir.join("blobs/ab/cd"), "bytes").unwrap();
    fs::write(dir.join("lock"), "4711\n").unwrap();
    let conn = Connection::open(dir.join("almoner.sqlite")).unwrap();
    conn.pragma_update(None, "application_id", application).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    // Earlier builds had other modes at first, which a newer one tightened.
    fs::set_permissions(dir.join("almoner.sqlite"), fs::Permissions::from_mode(0o644)).unwrap();
    let added_later = |table: &Table| match table {
        Table::Edge | Table::Held | Table::Token | Table::Collector => 2,
        Table::Awaiting => 3,
        Table::Bytes => 4,
        _ => 1,
    };
    for table in Table::ALL.iter().filter(|table| added_later(table) <= version) {
        let name = table.name();
        let columns = "owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB";
        conn.execute_batch(&format!(
            "CREATE TABLE {name} ({columns}, PRIMARY KEY (owner, key)) WITHOUT ROWID;
             INSERT INTO {name} (owner, key, body) VALUES (x'01', x'02', '{{}}');"
        ))
        .unwrap();
    }
    conn.pragma_update(None, "user_version", version).unwrap();
    conn
}

/// Copies the files of a database as a killed process leaves them: with a log that no checkpoint has emptied.
fn killed(conn: &Connection, dir: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in ["almoner.sqlite", "almoner.sqlite-wal"] {
        fs::copy(dir.join(name), to.join(name)).unwrap();
    }
    assert!(fs::metadata(to.join("almoner.sqlite-wal")).unwrap().len() > 0);
    conn.execute_batch("SELECT 1").unwrap();
}

#[test]
fn earlier_store_is_refused_unchanged() {
    let root = tempfile::tempdir().unwrap();
    for version in 0..=5 {
        let dir = root.path().join(format!("closed {version}/store"));
        make(&dir, ALMO, version).close().unwrap();
        let error = refused(&dir);
        assert!(matches!(error, OpenError::Earlier { .. }), "{version}: {error:?}");
        assert_eq!(error.to_string(), "cannot open the store: an earlier build wrote it");
        let help = error.help();
        let aside = format!("`mv -T '{0}' '{0}.earlier-20", dir.display());
        assert!(help.starts_with(&aside) && help.ends_with("Nothing was changed."), "{help}");
    }
}

/// Checks that opening leaves the log alone. SQLite would copy the log into the file, or make an index beside it, if
/// it were asked for the version.
#[test]
fn killed_earlier_store_keeps_its_log() {
    let root = tempfile::tempdir().unwrap();
    for version in 1..=5 {
        let dir = root.path().join(format!("{version}"));
        let conn = make(&dir, ALMO, version);
        let left = root.path().join(format!("{version}-killed"));
        killed(&conn, &dir, &left);
        let error = refused(&left);
        // The mark itself is in the log alone when nothing was ever copied.
        assert!(matches!(error, OpenError::Earlier { .. } | OpenError::Foreign { .. }), "{error:?}");
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        conn.execute_batch("INSERT INTO meta (owner, key, body) VALUES (x'02', x'02', '{}')").unwrap();
        let left = root.path().join(format!("{version}-killed-later"));
        killed(&conn, &dir, &left);
        assert!(matches!(refused(&left), OpenError::Earlier { .. }), "{version}");
        conn.close().unwrap();
    }
}

/// Checks a file that says that it is ours, while the last commit in its log is one of another build.
#[test]
fn committed_version_in_the_log_counts() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("store");
    put(&open(&dir), "k", b"1").unwrap();
    let of_ours = Connection::open(dir.join("almoner.sqlite")).unwrap();
    let version: u32 = of_ours.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    // Version 7 has no migration. Version 8 has one, and is of no other build in this sense.
    for (other, is_earlier) in [(version + 1, false), (7, true)] {
        of_ours.pragma_update(None, "user_version", other).unwrap();
        let left = root.path().join(format!("left {other}"));
        killed(&of_ours, &dir, &left);
        let error = refused(&left);
        assert_eq!(matches!(error, OpenError::Earlier { .. }), is_earlier, "{error:?}");
        assert_eq!(matches!(error, OpenError::Newer { .. }), !is_earlier, "{error:?}");
        // A commit that was cut off never happened: then the one before it counts.
        let log = left.join("almoner.sqlite-wal");
        let bytes = fs::read(&log).unwrap();
        let frame = 24 + 4096;
        fs::write(&log, &bytes[..32 + (bytes.len() - 32) / frame * frame - 1]).unwrap();
        match other > version {
            true => drop(open(&left)),
            false => assert!(matches!(refused(&left), OpenError::Newer { .. })),
        }
    }
    of_ours.pragma_update(None, "user_version", version).unwrap();
    of_ours.close().unwrap();
    assert_eq!(get(&open(&dir), "k").as_deref(), Some(&b"1"[..]));
}

#[test]
fn later_and_foreign_stores_are_refused_unchanged() {
    let root = tempfile::tempdir().unwrap();
    let (later, foreign) = (root.path().join("later"), root.path().join("foreign"));
    make(&later, ALMO, 1000).close().unwrap();
    let error = refused(&later);
    assert_eq!(error.to_string(), "cannot open the store: a later build wrote it");
    assert!(error.help().ends_with("Nothing was changed."), "{}", error.help());
    make(&foreign, 17, 4).close().unwrap();
    let error = refused(&foreign);
    assert!(error.to_string().starts_with("cannot open the store: "), "{error}");
    assert!(matches!(error, OpenError::Foreign { .. }), "{error:?}");
}

#[test]
fn damaged_heads_are_refused_unchanged() {
    let root = tempfile::tempdir().unwrap();
    let cases: [(&str, &[u8]); 4] =
        [("empty", b""), ("short", b"SQLite format 3\0"), ("noise", &[7; 5000]), ("text", &[b'\n'; 80])];
    for (name, bytes) in cases {
        let dir = root.path().join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("almoner.sqlite"), bytes).unwrap();
        let error = refused(&dir);
        assert!(matches!(error, OpenError::Corrupt { .. }), "{name}: {error:?}");
    }
    let dir = root.path().join("gone");
    make(&dir, ALMO, 4).close().unwrap();
    fs::remove_file(dir.join("almoner.sqlite")).unwrap();
    assert!(matches!(refused(&dir), OpenError::Missing { .. }));
}

#[test]
fn backup_of_an_earlier_build_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let (dir, copy) = (root.path().join("store"), root.path().join("copy"));
    let conn = make(&dir, ALMO, 4);
    fs::create_dir(&copy).unwrap();
    conn.execute("VACUUM INTO ?1", [copy.join("almoner.sqlite").to_str().unwrap()]).unwrap();
    conn.close().unwrap();
    assert!(matches!(refused(&copy), OpenError::Earlier { .. }));
}
