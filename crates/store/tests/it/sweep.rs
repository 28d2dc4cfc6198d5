//! A sweep removes bytes without references. All others stay, even while other threads work.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kernel::BlobHash;
use kernel::txn::{NO_OWNER, StoreFault, Table};
use store::{BlobError, Options, Store, SweepReport, TREE};

use crate::{child, put};

fn open(dir: &Path) -> Store {
    Store::open(dir, Options { lease: Duration::ZERO, ..Options::default() }).unwrap()
}

/// Returns a row that names bytes, as rows do.
fn row(hash: &BlobHash) -> Vec<u8> {
    format!(r#"{{"type":"readable-blob","hash":"{hash}","bytes":1}}"#).into_bytes()
}

fn sweep(store: &Store) -> SweepReport {
    let mut sweep = store.sweep(&[]).unwrap().unwrap();
    while !sweep.step().unwrap() {}
    sweep.swept()
}

/// Returns a list of other bytes.
fn list(of: &[BlobHash]) -> Vec<u8> {
    let mut bytes = TREE.to_vec();
    of.iter().for_each(|hash| bytes.extend(format!(r#"["x","tree","{hash}"]"#).bytes()));
    bytes
}

fn there(store: &Store, hash: &BlobHash) -> bool {
    store.blobs().get(hash).is_ok()
}

#[test]
fn sweep_removes_garbage_and_keeps_named_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let blobs = store.blobs();
    let named = blobs.put(b"named").unwrap();
    put(&store, "a", &row(&named)).unwrap();
    let lost: Vec<BlobHash> = (0..600_u32).map(|n| blobs.put(&n.to_le_bytes()).unwrap()).collect();
    // Metadata of bytes does not keep them.
    let known = format!(r#"{{"bytes":4,"about":"{}"}}"#, lost[0]).into_bytes();
    let key = lost[0].0;
    let written: Result<(), store::WriteError<StoreFault>> =
        store.write(move |txn| txn.put(Table::Blob, &NO_OWNER, &key, &known, None));
    written.unwrap();
    assert_eq!(sweep(&store), SweepReport { blobs: 600, bytes: 2400, damaged: 0 });
    assert!(there(&store, &named));
    assert!(lost.iter().all(|hash| !there(&store, hash)));
    assert_eq!(blobs.list().unwrap(), [named]);
    assert_eq!(sweep(&store), SweepReport::default());
    // Once no row names it, it goes too.
    put(&store, "a", b"{}").unwrap();
    assert_eq!(sweep(&store).blobs, 1);
    assert_eq!(blobs.put(b"named").unwrap(), named, "and can come again");
    assert!(there(&store, &named));
}

#[test]
fn sweep_reads_every_table_and_row() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut named = Vec::new();
    for (n, table) in Table::ALL.into_iter().enumerate() {
        let hash = store.blobs().put(&[n as u8; 9]).unwrap();
        let owner = [n as u8; 32];
        let body = row(&hash);
        let written: Result<(), store::WriteError<StoreFault>> = store.write(move |txn| {
            for i in 0..2500_u32 {
                txn.put(table, &owner, &i.to_be_bytes(), b"filler", None)?;
            }
            txn.put(table, &owner, b"\xffbehind", &body, None)
        });
        written.unwrap();
        if !matches!(table, Table::Blob | Table::Bytes) {
            named.push(hash);
        }
    }
    assert_eq!(sweep(&store).blobs, 2);
    assert!(named.iter().all(|hash| there(&store, hash)));
}

#[test]
fn nested_lists_keep_their_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let blobs = store.blobs();
    let leaf = blobs.put(b"leaf").unwrap();
    let inner = blobs.put(&list(&[leaf])).unwrap();
    let root = blobs.put(&list(&[inner])).unwrap();
    let other = blobs.put(&list(&[leaf])).unwrap();
    // Only bytes that say that they are a list are one.
    let text = blobs.put(format!("about {}", blobs.put(b"gone").unwrap()).as_bytes()).unwrap();
    put(&store, "tree", &row(&root)).unwrap();
    put(&store, "text", &row(&text)).unwrap();
    assert_eq!(sweep(&store).blobs, 1);
    assert_eq!(other, inner);
    assert!([leaf, inner, root, text].iter().all(|hash| there(&store, hash)));
    put(&store, "tree", b"{}").unwrap();
    // Pinned bytes stay with all that they lead to.
    let mut pinned = store.sweep(&[root]).unwrap().unwrap();
    while !pinned.step().unwrap() {}
    assert_eq!(pinned.swept().blobs, 0);
    drop(pinned);
    assert_eq!(sweep(&store).blobs, 3);
}

#[test]
fn request_keeps_its_messages_and_the_request_before() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let blobs = store.blobs();
    let request = |parts: &[BlobHash]| {
        let mut bytes = kernel::blob_list::REQUEST_LIST.to_vec();
        parts.iter().for_each(|hash| bytes.extend(format!("\"{hash}\",").bytes()));
        blobs.put(&bytes).unwrap()
    };
    let [head, first, second] = [b"head", b"one.", b"two."].map(|bytes| blobs.put(bytes).unwrap());
    let before = request(&[head, first]);
    let last = request(&[head, before, second]);
    put(&store, "journal", &row(&last)).unwrap();
    assert_eq!(sweep(&store).blobs, 0);
    // A run that is forgotten names nothing any more.
    put(&store, "journal", &row(&before)).unwrap();
    assert_eq!(sweep(&store).blobs, 2);
    assert!([head, first, before].iter().all(|hash| there(&store, hash)));
    put(&store, "journal", b"{}").unwrap();
    assert_eq!(sweep(&store).blobs, 3);
}

#[test]
fn fresh_and_held_bytes_survive_a_sweep() {
    let dir = tempfile::tempdir().unwrap();
    let leased = Store::open(dir.path(), Options::default()).unwrap();
    leased.blobs().put(b"fresh").unwrap();
    assert_eq!(sweep(&leased), SweepReport::default());
    drop(leased);
    let store = open(dir.path());
    assert_eq!(sweep(&store).blobs, 1, "no process remembers what another put");
    let before = store.blobs().put(b"before").unwrap();
    let hold = store.blobs().hold();
    let held = store.blobs().put(b"held").unwrap();
    assert_eq!(sweep(&store).blobs, 1);
    assert!(there(&store, &held) && !there(&store, &before));
    drop(hold);
    assert_eq!(sweep(&store).blobs, 1);
    assert!(!there(&store, &held));
}

#[test]
fn hold_without_progress_lapses() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let blobs = store.blobs();
    // A day is never over in a test, and nothing is over at once.
    let (patient, hasty) =
        (blobs.hold_within(Duration::from_secs(86_400)), blobs.hold_within(Duration::ZERO));
    let kept = blobs.put(b"kept").unwrap();
    assert!(!hasty.has_lapsed() && hasty.moves(), "nothing has swept yet");
    assert_eq!(sweep(&store).blobs, 0, "the patient one still holds");
    assert!(hasty.has_lapsed() && !hasty.moves(), "it is never taken up again");
    assert!(!patient.has_lapsed() && patient.moves());
    drop(patient);
    assert_eq!(sweep(&store).blobs, 1);
    assert!(!there(&store, &kept));
    // One without a patience waits for ever.
    let hold = blobs.hold();
    blobs.put(b"held").unwrap();
    assert_eq!(sweep(&store).blobs, 0);
    assert!(!hold.has_lapsed());
}

#[test]
fn damaged_list_keeps_its_readable_hashes_in_a_sweep() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let blobs = store.blobs();
    let [leaf, other, garbage] = [&b"leaf"[..], b"other", b"garbage"].map(|text| blobs.put(text).unwrap());
    let (damaged, whole) = (blobs.put(&list(&[leaf])).unwrap(), blobs.put(&list(&[other])).unwrap());
    put(&store, "damaged", &row(&damaged)).unwrap();
    put(&store, "whole", &row(&whole)).unwrap();
    let mut bytes = std::fs::read(blobs.path(&damaged)).unwrap();
    bytes.push(b' ');
    std::fs::write(blobs.path(&damaged), bytes).unwrap();
    let swept = sweep(&store);
    assert_eq!((swept.blobs, swept.damaged), (1, 1));
    assert!([leaf, other, whole].iter().all(|hash| there(&store, hash)) && blobs.path(&damaged).exists());
    assert!(!there(&store, &garbage));
    // Putting the same bytes again repairs it.
    blobs.put(&list(&[leaf])).unwrap();
    assert_eq!(sweep(&store).damaged, 0);
}

#[test]
fn bytes_put_or_named_during_a_sweep_survive() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let blobs = store.blobs();
    let texts = [&b"put again"[..], b"named late", b"moved", b"leaf", b"garbage"];
    let [again, late, moved, leaf, garbage] = texts.map(|text| blobs.put(text).unwrap());
    let tree = blobs.put(&list(&[leaf])).unwrap();
    let outbox = |body: Vec<u8>| {
        let written: Result<(), store::WriteError<StoreFault>> =
            store.write(move |txn| txn.put(Table::Outbox, &NO_OWNER, b"z", &body, None));
        written.unwrap();
    };
    outbox(row(&moved));
    let mut under_way = store.sweep(&[]).unwrap().unwrap();
    assert!(store.sweep(&[]).unwrap().is_none(), "one at a time");
    // The first table is looked at; then the only reference moves there from one that is not yet.
    under_way.step().unwrap();
    put(&store, "a", &row(&moved)).unwrap();
    outbox(b"{}".to_vec());
    put(&store, "b", &row(&late)).unwrap();
    put(&store, "t", &row(&tree)).unwrap();
    blobs.put(b"put again").unwrap();
    let new = blobs.put(b"new").unwrap();
    while !under_way.step().unwrap() {}
    assert_eq!(under_way.swept().blobs, 1);
    assert!([again, late, moved, leaf, tree, new].iter().all(|hash| there(&store, hash)));
    assert!(!there(&store, &garbage));
    // One that is left half way leaves everything.
    drop(under_way);
    drop(store.sweep(&[]).unwrap().unwrap());
    assert_eq!(sweep(&store).blobs, 2, "what was put and never named");
}

#[test]
fn concurrent_writers_lose_no_bytes_to_sweeps() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let is_over = AtomicBool::new(false);
    let swept = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3_u32)
            .map(|worker| {
                let store = &store;
                scope.spawn(move || {
                    for n in 0..150_u32 {
                        let hold = store.blobs().hold();
                        // The same bytes come again and again, named and not.
                        let bytes = format!("{worker} {}", n % 7);
                        let hash = store.blobs().put(bytes.as_bytes()).unwrap();
                        std::thread::yield_now();
                        let key = format!("{worker}");
                        put(store, &key, &row(&hash)).unwrap();
                        drop(hold);
                        assert!(there(store, &hash), "{bytes}");
                        if n % 3 == 0 {
                            put(store, &key, b"{}").unwrap();
                        }
                    }
                })
            })
            .collect();
        let sweeping = scope.spawn(|| {
            let mut gone = 0;
            while !is_over.load(Ordering::SeqCst) {
                gone += sweep(&store).blobs;
            }
            gone
        });
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        is_over.store(true, Ordering::SeqCst);
        sweeping.join().unwrap()
    });
    assert!(swept > 0, "nothing was ever garbage");
}

/// Puts the child's bytes into the store before it sweeps, and returns the hashes that rows name.
fn prepare(store: &Store) -> Vec<BlobHash> {
    let named: Vec<BlobHash> = (0..20_u32)
        .map(|n| {
            let hash = store.blobs().put(format!("named {n}").as_bytes()).unwrap();
            put(store, &format!("{n}"), &row(&hash)).unwrap();
            hash
        })
        .collect();
    for n in 0..20_u32 {
        store.blobs().put(format!("garbage {n}").as_bytes()).unwrap();
    }
    named
}

pub(crate) fn child(dir: &Path) {
    let store = open(dir);
    prepare(&store);
    sweep(&store);
}

#[test]
fn killed_sweep_has_removed_only_garbage() {
    for point in store::failpoint::SWEEP {
        for after in [0, 1, 7, 19] {
            let dir = tempfile::tempdir().unwrap();
            let armed = format!("{point}={after}*off->return");
            let output = child::command("sweep", dir.path()).env("FAILPOINTS", armed).output().unwrap();
            assert_eq!(output.status.signal(), Some(9), "{point} after {after}");
            let store = open(dir.path());
            let gone = if point == "sweep.after_remove" { after + 1 } else { after };
            assert_eq!(store.blobs().list().unwrap().len(), 40 - gone, "{point} after {after}");
            assert_eq!(sweep(&store).blobs as usize, 20 - gone, "{point} after {after}");
            let named = (0..20_u32).map(|n| BlobHash::of(format!("named {n}").as_bytes()));
            assert!(named.into_iter().all(|hash| there(&store, &hash)), "{point} after {after}");
        }
    }
}

#[test]
fn quota_limits_only_put_within() {
    let dir = tempfile::tempdir().unwrap();
    let options = || Options { quota: Some(100), lease: Duration::ZERO, ..Options::default() };
    let store = Store::open(dir.path(), options()).unwrap();
    let blobs = store.blobs();
    let first = blobs.put_within(&[1; 60]).unwrap();
    assert_eq!(blobs.bytes().unwrap(), 60);
    let refused = blobs.put_within(&[2; 41]).unwrap_err();
    assert!(matches!(refused, BlobError::OverQuota { bytes: 41, used: 60, quota: 100 }), "{refused:?}");
    assert_eq!(std::fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);
    blobs.put_within(&[3; 40]).unwrap();
    // Bytes that are there take no more room, and repaired bytes take only their own.
    blobs.put_within(&[1; 60]).unwrap();
    std::fs::write(blobs.path(&first), [9; 60]).unwrap();
    blobs.put_within(&[1; 60]).unwrap();
    assert_eq!(blobs.bytes().unwrap(), 100);
    assert!(there(&store, &first));
    // Records are kept all the same.
    blobs.put(&[4; 500]).unwrap();
    assert_eq!(blobs.bytes().unwrap(), 600);
    assert!(blobs.put_within(&[5; 1]).is_err());
    assert_eq!(sweep(&store), SweepReport { blobs: 3, bytes: 600, damaged: 0 });
    assert_eq!(blobs.bytes().unwrap(), 0);
    blobs.put_within(&[5; 100]).unwrap();
    drop(store);
    // It is counted anew by the next process.
    let store = Store::open(dir.path(), options()).unwrap();
    assert!(store.blobs().put_within(&[6; 1]).is_err());
    assert_eq!(store.blobs().bytes().unwrap(), 100);
}
