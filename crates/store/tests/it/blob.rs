//! Bytes by content.

use std::fs;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use kernel::BlobHash;
use store::BlobError;

use crate::open;

fn leftovers(dir: &Path) -> usize {
    fs::read_dir(dir.join("tmp")).unwrap().count()
}

#[test]
fn put_blob_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let blobs = store.blobs();
    for bytes in [b"".to_vec(), b"one".to_vec(), vec![7; 1 << 20]] {
        let hash = blobs.put(&bytes).unwrap();
        assert_eq!(hash, BlobHash::of(&bytes));
        assert_eq!(blobs.get(&hash).unwrap(), bytes);
        assert_eq!(blobs.len(&hash).unwrap(), Some(bytes.len() as u64));
        let mut blob = blobs.open(&hash).unwrap();
        let mut read = Vec::new();
        blob.read_to_end(&mut read).unwrap();
        assert_eq!((blob.len(), &read), (bytes.len() as u64, &bytes));
        assert_eq!(blob.seek(SeekFrom::Start(0)).unwrap(), 0);
        let written = store.stats().blobs;
        assert_eq!(blobs.put_reader(Cursor::new(&bytes), 1 << 20).unwrap(), (hash, bytes.len() as u64));
        assert_eq!(store.stats().blobs, written, "putting it again writes nothing");
    }
    let mut list = blobs.list().unwrap();
    assert_eq!(list.len(), 3);
    for hash in list.drain(..) {
        blobs.remove(&hash).unwrap();
        blobs.remove(&hash).unwrap();
        assert_eq!(blobs.len(&hash).unwrap(), None);
        assert!(matches!(blobs.get(&hash), Err(BlobError::NotFound { .. })));
        assert!(matches!(blobs.open(&hash), Err(BlobError::NotFound { .. })));
    }
    assert_eq!(leftovers(dir.path()), 0);
}

#[test]
fn damaged_blob_is_detected_and_repaired_by_put() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let blobs = store.blobs();
    let hash = blobs.put(b"some bytes").unwrap();
    let path = blobs.path(&hash);
    for damage in [b"some bytez".as_slice(), b"some byte", b"some bytes!", b""] {
        fs::write(&path, damage).unwrap();
        let named = |error: BlobError| matches!(error, BlobError::Corrupt { path: p } if p == path);
        assert!(named(blobs.get(&hash).unwrap_err()));
        assert!(named(blobs.open(&hash).unwrap_err()));
        assert_eq!(blobs.put(b"some bytes").unwrap(), hash);
        assert_eq!(blobs.get(&hash).unwrap(), b"some bytes");
    }
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("broken"))
    }
}

#[test]
fn failed_put_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let blobs = store.blobs();
    let error = blobs.put_reader(Cursor::new(vec![0; 101]), 100).unwrap_err();
    assert!(matches!(error, BlobError::TooLarge { limit: 100 }));
    // An endless source ends at the limit.
    assert!(matches!(blobs.put_reader(io::repeat(1), 1 << 20), Err(BlobError::TooLarge { .. })));
    let error = blobs.put_reader(Cursor::new(b"begun").chain(Broken), 100).unwrap_err();
    assert!(matches!(error, BlobError::Source(_)));
    assert!(blobs.list().unwrap().is_empty());
    assert_eq!(leftovers(dir.path()), 0);
    assert!(blobs.put_reader(Cursor::new(vec![0; 100]), 100).is_ok());

    fs::write(dir.path().join("tmp/0"), b"left by a killed process").unwrap();
    drop(store);
    open(dir.path());
    assert_eq!(leftovers(dir.path()), 0, "opening clears what was left");
}

#[test]
fn concurrent_puts_of_equal_bytes_succeed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for n in 0..10_u8 {
                    let hash = store.blobs().put(&[n; 100]).unwrap();
                    assert_eq!(store.blobs().get(&hash).unwrap(), [n; 100]);
                }
            });
        }
    });
    assert_eq!(store.blobs().list().unwrap().len(), 10);
    assert_eq!(leftovers(dir.path()), 0);
}
