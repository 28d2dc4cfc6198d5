//! Small bytes, as rows beside those that name them.

use std::fs;
use std::path::Path;

use kernel::BlobHash;
use kernel::txn::{NO_OWNER, StoreFault, Table};
use store::{BlobError, Options, Store, WriteError};

use super::{open, put};

/// Keeps bytes in one transaction with a row that names them, or refuses it.
fn keep(store: &Store, bytes: &[u8], key: &'static [u8], refuse: bool) -> BlobHash {
    let kept = store.blobs().ready(bytes.to_vec()).unwrap();
    let hash = kept.hash();
    let done: Result<(), WriteError<StoreFault>> = store.write(move |txn| {
        kept.keep(txn)?;
        txn.put(Table::Meta, &NO_OWNER, key, format!("\"{hash}\"").as_bytes(), None)?;
        if refuse { Err(StoreFault::Full("no".to_owned())) } else { Ok(()) }
    });
    assert_eq!(done.is_err(), refuse);
    hash
}

fn sweep(store: &Store) -> u64 {
    let mut sweep = store.sweep(&[]).unwrap().unwrap();
    while !sweep.step().unwrap() {}
    sweep.swept().blobs
}

fn no_lease() -> Options {
    Options { lease: std::time::Duration::ZERO, ..Options::default() }
}

/// Returns whether any file of the store holds these bytes.
fn holds(dir: &Path, bytes: &[u8]) -> bool {
    fs::read_dir(dir).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => holds(&path, bytes),
            false => fs::read(&path).unwrap().windows(bytes.len()).any(|window| window == bytes),
        }
    })
}

#[test]
fn inline_blobs_commit_and_roll_back_with_their_row() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let before = store.stats();
    let hash = keep(&store, b"a small text", b"a", false);
    let refused = keep(&store, b"another one", b"b", true);
    let after = store.stats();
    assert_eq!((after.commits - before.commits, after.blob_syncs), (1, before.blob_syncs));
    let blobs = store.blobs();
    assert!(!blobs.path(&hash).exists());
    assert_eq!(blobs.get(&hash).unwrap(), b"a small text");
    assert_eq!(blobs.len(&hash).unwrap(), Some(12));
    assert_eq!(std::io::read_to_string(blobs.open(&hash).unwrap()).unwrap(), "a small text");
    assert!(matches!(blobs.get(&refused), Err(BlobError::NotFound { .. })));
    assert_eq!(blobs.list().unwrap(), [hash]);
    // Large ones lie in files by then.
    let large = keep(&store, &[7; 20_000], b"c", false);
    assert!(blobs.path(&large).exists());
    assert_eq!(blobs.get(&large).unwrap().len(), 20_000);
    drop(store);
    let store = open(dir.path());
    assert_eq!(store.blobs().get(&hash).unwrap(), b"a small text");
    assert_eq!(store.check(true).unwrap().blobs, Some(2));
}

#[test]
fn unnamed_inline_blobs_are_removed_without_traces() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), no_lease()).unwrap();
    let text = "words that nobody is to find again ".repeat(100);
    let (short, long) = ("a short secret of somebody's", text.as_bytes());
    let named = keep(&store, b"named", b"named", false);
    let hashes = [keep(&store, short.as_bytes(), b"x", false), keep(&store, long, b"y", false)];
    // The same bytes in a file go with the row.
    assert_eq!(store.blobs().put(long).unwrap(), hashes[1]);
    assert_eq!(sweep(&store), 0);
    assert_eq!(store.blobs().get(&hashes[0]).unwrap(), short.as_bytes());
    for key in ["x", "y"] {
        put(&store, key, b"0").unwrap();
    }
    assert!(holds(dir.path(), short.as_bytes()) && holds(dir.path(), &long[..35]));
    assert_eq!(sweep(&store), 2);
    for hash in hashes {
        assert!(matches!(store.blobs().get(&hash), Err(BlobError::NotFound { .. })), "{hash}");
    }
    assert!(!holds(dir.path(), short.as_bytes()) && !holds(dir.path(), &long[..35]));
    assert_eq!(store.blobs().list().unwrap(), [named]);
    // They may come again.
    assert_eq!(keep(&store, long, b"y", false), hashes[1]);
    assert_eq!(store.blobs().get(&hashes[1]).unwrap(), long);
}

#[test]
fn damaged_inline_blob_is_repaired_by_keeping_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let hash = keep(&store, b"as it was", b"a", false);
    let damaged: Result<(), WriteError<StoreFault>> =
        store.write(move |txn| txn.put(Table::Bytes, &NO_OWNER, &hash.0, b"as it is.", None));
    damaged.unwrap();
    assert!(matches!(store.blobs().get(&hash), Err(BlobError::Corrupt { .. })));
    let health = store.check(true).unwrap();
    assert_eq!(health.findings.len(), 1, "{:?}", health.findings);
    keep(&store, b"as it was", b"a", false);
    assert_eq!(store.blobs().get(&hash).unwrap(), b"as it was");
}

#[test]
fn backup_holds_inline_blobs() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("store"), dir.path().join("copy"));
    let store = open(&from);
    let hash = keep(&store, b"kept as a row", b"a", false);
    store.backup(&to).unwrap();
    drop(store);
    assert_eq!(open(&to).blobs().get(&hash).unwrap(), b"kept as a row");
}
