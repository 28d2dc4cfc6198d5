//! A copy of a store in use is a store.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use store::{BackupError, BlobError};

use crate::{get, keys, open, put};

#[test]
fn backup_holds_every_acknowledged_write() {
    let root = tempfile::tempdir().unwrap();
    let store = open(&root.path().join("store"));
    let hash = store.blobs().put(b"blob").unwrap();
    for n in 0..50 {
        put(&store, &format!("{n:03}"), &[n; 2000]).unwrap();
    }
    let before = BTreeSet::from_iter(keys(&store));
    let (copy, stop) = (root.path().join("copy"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 50.. {
                put(&store, &format!("{n:03}"), b"meanwhile").unwrap();
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        store.backup(&copy).unwrap();
        stop.store(true, Ordering::Relaxed);
    });
    assert!(matches!(store.backup(&copy), Err(BackupError::Exists { .. })));

    let mut look = vec![copy.clone()];
    while let Some(path) = look.pop() {
        let meta = fs::metadata(&path).unwrap();
        assert_eq!(meta.permissions().mode() & 0o077, 0, "{}", path.display());
        if meta.is_dir() {
            look.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    let copy = open(&copy);
    assert!(copy.repaired().is_empty());
    assert!(before.is_subset(&BTreeSet::from_iter(keys(&copy))));
    assert_eq!(get(&copy, "007").unwrap(), [7; 2000]);
    assert_eq!(copy.blobs().get(&hash).unwrap(), b"blob");
    put(&copy, "on", b"its own").unwrap();
    assert_eq!(get(&store, "on"), None);
    assert!(copy.check(true).unwrap().findings.is_empty());
}

#[test]
fn backup_of_damaged_bytes_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let store = open(&root.path().join("store"));
    let hash = store.blobs().put(b"blob").unwrap();
    fs::write(store.blobs().path(&hash), b"blot").unwrap();
    let error = store.backup(&root.path().join("copy")).unwrap_err();
    assert!(matches!(error, BackupError::Blob(BlobError::Corrupt { .. })), "{error:?}");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "nothing is left of the attempt");
}
