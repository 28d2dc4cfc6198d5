//! A damaged store is refused with its reason, is not touched, and opens again when it has been put back.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use kernel::txn::{NO_OWNER, StoreFault, Table};
use store::{OpenError, Options, ReadError, Store, WriteError};

use crate::{get, keys, open, put};

/// Returns a store with enough rows that every kind of page is in use, closed.
fn sample(root: &Path) -> PathBuf {
    let dir = root.join("store");
    let store = open(&dir);
    for n in 0..200 {
        put(&store, &format!("{n:03}"), &[n; 500]).unwrap();
    }
    store.blobs().put(b"blob").unwrap();
    drop(store);
    assert!(!dir.join("almoner.sqlite-wal").exists(), "closing copies the log and removes it");
    dir
}

fn image(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    // The lock names the last process that tried, and SQLite makes its index anew.
    let files = files
        .filter(|path| path.is_file() && !path.ends_with("lock") && !path.ends_with("almoner.sqlite-shm"));
    let mut all: Vec<_> = files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect();
    // An empty log is as good as none.
    all.retain(|(path, bytes)| path.ends_with("almoner.sqlite") || !bytes.is_empty());
    all.sort();
    all
}

fn is_corrupt(error: &OpenError) -> bool {
    matches!(error, OpenError::Corrupt { .. })
}

fn is_foreign(error: &OpenError) -> bool {
    matches!(error, OpenError::Foreign { .. })
}

fn is_missing(error: &OpenError) -> bool {
    matches!(error, OpenError::Missing { .. })
}

type Damage = (&'static str, fn(&Path), fn(&OpenError) -> bool);

#[test]
fn damaged_store_is_refused_and_not_changed() {
    let cases: [Damage; 11] = [
        ("empty", |db| fs::write(db, b"").unwrap(), is_corrupt),
        ("a text", |db| fs::write(db, "hello\n".repeat(100)).unwrap(), is_corrupt),
        ("random bytes", |db| fs::write(db, blake3_noise(9000)).unwrap(), is_corrupt),
        ("cut in its head", |db| cut(db, 50), is_corrupt),
        ("cut in its first page", |db| cut(db, 1000), is_corrupt),
        ("cut in the middle", |db| cut(db, fs::metadata(db).unwrap().len() / 2), is_corrupt),
        ("one page short", |db| cut(db, fs::metadata(db).unwrap().len() - 4096), is_corrupt),
        ("a first page of noise", |db| overwrite(db, 100, &blake3_noise(3996)), is_corrupt),
        ("of another program", |db| overwrite(db, 68, b"GIT "), is_foreign),
        ("gone", |db| fs::remove_file(db).unwrap(), is_missing),
        ("with a log of noise", |db| fs::write(log(db), blake3_noise(9000)).unwrap(), is_corrupt),
    ];
    let root = tempfile::tempdir().unwrap();
    let dir = sample(root.path());
    let good = image(&dir);
    for (name, damage, expected) in cases {
        damage(&dir.join("almoner.sqlite"));
        let before = image(&dir);
        let error = Store::open(&dir, Options::default()).map(|_| ()).unwrap_err();
        assert!(expected(&error), "{name}: {error:?}");
        assert!(error.help().ends_with("Nothing was changed."), "{name}: {}", error.help());
        assert!(before == image(&dir), "{name}: something was changed");
        for (path, _) in before {
            fs::remove_file(path).unwrap();
        }
        for (path, bytes) in &good {
            fs::write(path, bytes).unwrap();
        }
    }
    let store = open(&dir);
    assert_eq!(keys(&store).len(), 200);
    assert_eq!(get(&store, "007").unwrap(), [7; 500]);
}

/// Checks that opening finds damage inside a page when the last owner ended without closing.
#[test]
fn damage_is_found_after_an_unclean_end() {
    let root = tempfile::tempdir().unwrap();
    let dir = sample(root.path());
    let database = dir.join("almoner.sqlite");
    let store = open(&dir);
    put(&store, "new", b"1").unwrap();
    let wal = fs::read(log(&database)).unwrap();
    drop(store);
    // Bend a leaf page, and put the log back as a killed process would have left it.
    let pages = fs::metadata(&database).unwrap().len() / 4096;
    overwrite(&database, (pages / 2) * 4096, &blake3_noise(4096));
    fs::write(log(&database), &wal).unwrap();
    let before = image(&dir);
    let error = Store::open(&dir, Options::default()).map(|_| ()).unwrap_err();
    assert!(is_corrupt(&error), "{error:?}");
    assert!(before == image(&dir), "something was changed");
}

/// Checks that `check` finds damage in an open store, and that a write that runs into it is not committed.
#[test]
fn check_reports_damage_and_the_write_fails() {
    let root = tempfile::tempdir().unwrap();
    let dir = sample(root.path());
    let database = dir.join("almoner.sqlite");
    let pages = fs::metadata(&database).unwrap().len() / 4096;
    overwrite(&database, (pages / 2) * 4096, &blake3_noise(4096));
    let store = open(&dir);
    let blob = store.blobs().path(&store.blobs().list().unwrap()[0]);
    overwrite(&blob, 0, b"B");
    let health = store.check(true).unwrap();
    assert_eq!(health.blobs, Some(1));
    let paths: Vec<_> = health.findings.iter().map(|finding| finding.path.as_path()).collect();
    assert!(paths.contains(&store.dir().join("almoner.sqlite").as_path()), "{paths:?}");
    assert!(paths.contains(&blob.as_path()), "{paths:?}");

    // A closure that overlooks a failed read must not be committed.
    let answer: Result<(), WriteError<StoreFault>> = store.write(|txn| {
        let _ = txn.range(Table::Meta, &NO_OWNER, b"", b"", usize::MAX, false);
        txn.put(Table::Event, &NO_OWNER, b"k", b"v", None)
    });
    assert!(matches!(answer, Err(WriteError::Store(StoreFault::Corrupt(_)))), "{answer:?}");
    assert_eq!(
        store.read(|txn| txn.get(Table::Event, &NO_OWNER, b"k")),
        Ok::<_, ReadError<StoreFault>>(None)
    );
}

/// Checks that a log that was cut off anywhere, or whose end is noise, gives exactly the commits before the cut.
#[test]
fn torn_log_keeps_synced_commits() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("store");
    let store = open(&dir);
    let database = dir.join("almoner.sqlite");
    let size = || fs::metadata(log(&database)).map_or(0, |meta| meta.len());
    let mut ends = vec![size()];
    for n in 0..12 {
        put(&store, &format!("{n:03}"), &[n; 3000]).unwrap();
        ends.push(size());
    }
    let (rows, wal) = (fs::read(&database).unwrap(), fs::read(log(&database)).unwrap());
    drop(store);
    let torn = root.path().join("torn");
    drop(open(&torn));
    let check = |wal: &[u8], expected: usize, what: String| {
        fs::write(torn.join("almoner.sqlite"), &rows).unwrap();
        fs::write(torn.join("almoner.sqlite-wal"), wal).unwrap();
        assert_eq!(keys(&open(&torn)).len(), expected, "{what}");
    };
    for (n, pair) in ends.windows(2).enumerate() {
        let (from, to) = (pair[0] as usize, pair[1] as usize);
        for cut in [from, from + 1, (from + to) / 2, to - 1] {
            check(&wal[..cut], n, format!("cut at {cut}, between {from} and {to}"));
            let mut noisy = wal[..cut].to_vec();
            noisy.extend(blake3_noise(8192));
            // The head of the log is synced by itself before anything is written behind it.
            if cut >= 32 {
                check(&noisy, n, format!("noise after {cut}, between {from} and {to}"));
            }
        }
    }
    check(&wal, 12, "whole".into());
}

fn log(database: &Path) -> PathBuf {
    database.with_extension("sqlite-wal")
}

fn cut(path: &Path, len: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}

/// Bytes that look like nothing, the same every time.
fn blake3_noise(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}
