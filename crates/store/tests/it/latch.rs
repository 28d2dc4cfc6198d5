//! Damage that a start finds in the background, or a read later: from then on nothing is written, and what can be read
//! is given.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernel::txn::{NO_OWNER, StoreFault, Table, Txn};
use store::{Options, Store, WriteError};

const PAGE: usize = 4096;
const WAIT: Duration = Duration::from_secs(60);

fn options() -> Options {
    Options { has_json_rows: true, ..Options::default() }
}

/// Returns the directory of a closed store with rows in several tables, and with free pages.
fn sample(root: &Path) -> PathBuf {
    let dir = root.join("store");
    let store = Store::open(&dir, options()).unwrap();
    for table in [Table::Run, Table::Journal, Table::Event, Table::Meta] {
        let filled: Result<(), WriteError<StoreFault>> = store.write(move |txn: &mut dyn Txn| {
            for n in 0..100_u64 {
                let body = format!(r#"{{"number":{n},"text":"{}"}}"#, "x".repeat(400));
                txn.put(table, &NO_OWNER, &n.to_be_bytes(), body.as_bytes(), None)?;
            }
            Ok(())
        });
        filled.unwrap();
    }
    let emptied: Result<(), WriteError<StoreFault>> = store.write(|txn: &mut dyn Txn| {
        (0..100_u64).try_for_each(|n| txn.delete(Table::Meta, &NO_OWNER, &n.to_be_bytes()))
    });
    emptied.unwrap();
    store.blobs().put(b"blob").unwrap();
    drop(store);
    dir
}

fn image(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if !path.ends_with("lock") && !path.to_string_lossy().ends_with("-shm") {
                all.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    // An empty log is as good as none.
    all.retain(|(path, bytes)| !path.to_string_lossy().ends_with("-wal") || !bytes.is_empty());
    all.sort();
    all
}

/// Returns the numbers of the pages that hold rows of a table, by a text of its rows. The first page is number 0.
fn leaves(bytes: &[u8], text: &[u8]) -> Vec<usize> {
    let holds = |page: &[u8]| page[0] == 10 && page.windows(text.len()).any(|window| window == text);
    (1..bytes.len() / PAGE).filter(|n| holds(&bytes[n * PAGE..][..PAGE])).collect()
}

fn noise(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}

fn overwrite(path: &Path, at: usize, bytes: &[u8]) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at as u64).unwrap();
}

/// Flips bits of the characters behind `"number":7`, so that one row is no JSON any more.
fn flip(db: &Path, bits: usize) {
    let bytes = fs::read(db).unwrap();
    let text = br#"{"number":7,"text":""#;
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
    for bit in 0..bits {
        let place = at + [0, 9, 11][bit];
        overwrite(db, place, &[bytes[place] ^ 0x40]);
    }
}

type Damage = (&'static str, fn(&Path));

/// Reported of other programs: pocketbase/pocketbase#7727 (writes go on against a malformed file),
/// VorlonCD/bi-aidetection#343 (each insert fails, and the program goes on), aaronwmorris/indi-allsky#1534 (no backup is
/// named when it counts).
#[test]
fn damage_closes_the_store_for_writes() {
    let damages: [Damage; 8] = [
        ("a page of zeroes", |db| {
            overwrite(db, leaves(&fs::read(db).unwrap(), b"text")[1] * PAGE, &[0; PAGE])
        }),
        ("a page of noise", |db| {
            overwrite(db, leaves(&fs::read(db).unwrap(), b"text")[2] * PAGE, &noise(PAGE))
        }),
        ("an inner page", |db| {
            let bytes = fs::read(db).unwrap();
            let inner = (1..bytes.len() / PAGE).find(|n| bytes[n * PAGE] == 2).unwrap();
            overwrite(db, inner * PAGE, &noise(PAGE));
        }),
        ("the list of free pages", |db| {
            let bytes = fs::read(db).unwrap();
            let trunk = u32::from_be_bytes(bytes[32..36].try_into().unwrap()) as usize;
            assert!(trunk > 0, "there are free pages");
            overwrite(db, (trunk - 1) * PAGE, &[0xff; 64]);
        }),
        ("one bit of a row", |db| flip(db, 1)),
        ("three bits of a row", |db| flip(db, 3)),
        ("a page short", |db| {
            let file = OpenOptions::new().write(true).open(db).unwrap();
            file.set_len(file.metadata().unwrap().len() - PAGE as u64).unwrap();
        }),
        ("half of the file", |db| {
            let file = OpenOptions::new().write(true).open(db).unwrap();
            file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        }),
    ];
    let root = tempfile::tempdir().unwrap();
    let dir = sample(root.path());
    let db = dir.join("almoner.sqlite");
    let whole = fs::read(&db).unwrap();
    for (name, damage) in damages {
        fs::write(&db, &whole).unwrap();
        damage(&db);
        let before = image(&dir);
        match Store::open(&dir, options()) {
            // The length of the file is checked before it is opened.
            Err(error) => {
                assert!(error.to_string().contains("cut short"), "{name}: {error}");
                assert!(name.contains("short") || name.contains("half"), "{name}");
            }
            Ok(store) => {
                await_damage(&store, name);
                let put: Result<(), WriteError<StoreFault>> =
                    store.write(|txn: &mut dyn Txn| txn.put(Table::Meta, &NO_OWNER, b"new", b"{}", None));
                assert!(matches!(put, Err(WriteError::Store(StoreFault::Corrupt(_)))), "{name}: {put:?}");
                assert!(store.blobs().put(b"other").is_err(), "{name}: a blob was taken");
                assert!(matches!(store.sweep(&[]), Err(StoreFault::Corrupt(_))), "{name}: it was swept");
                assert!(store.backup(&root.path().join("copy")).is_err(), "{name}: a backup was made");
                assert!(!root.path().join("copy").exists(), "{name}");
                // Reads go on, whatever they find.
                let _ = store::take_left_out();
                for table in [Table::Run, Table::Journal, Table::Event] {
                    let all = store.read(|txn| txn.range(table, &NO_OWNER, b"", b"", usize::MAX, false));
                    assert!(all.is_ok_and(|rows| rows.len() <= 100), "{name}");
                }
                drop(store);
            }
        }
        assert!(image(&dir) == before, "{name}: something was written");
    }
}

/// Waits until the examination has found damage.
#[track_caller]
fn await_damage(store: &Store, name: &str) {
    let begun = std::time::Instant::now();
    while store.damage().is_none() {
        assert!(begun.elapsed() < WAIT, "{name}: no damage was found");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn damaged_page_hides_only_its_own_rows() {
    let root = tempfile::tempdir().unwrap();
    let dir = sample(root.path());
    let db = dir.join("almoner.sqlite");
    let bytes = fs::read(&db).unwrap();
    // A leaf in the middle of the table of runs, which comes before the journal.
    overwrite(&db, leaves(&bytes, br#"{"number":50,"#)[0] * PAGE, &[0; PAGE]);
    let store = Store::open(&dir, options()).unwrap();
    await_damage(&store, "a page of zeroes");
    let _ = store::take_left_out();
    for reverse in [false, true] {
        let mut found: Vec<u64> = [Table::Run, Table::Journal, Table::Event]
            .into_iter()
            .flat_map(|table| {
                let rows = store.read(|txn| txn.range(table, &NO_OWNER, b"", b"", usize::MAX, reverse));
                let keys: Vec<u64> = rows
                    .unwrap()
                    .into_iter()
                    .map(|(key, _)| u64::from_be_bytes(key.try_into().unwrap()))
                    .collect();
                assert!(keys.is_sorted_by(|a, b| if reverse { a > b } else { a < b }), "{keys:?}");
                keys
            })
            .collect();
        found.sort_unstable();
        // Each row has some 440 bytes, so a leaf holds fewer than ten of them.
        assert!((290..300).contains(&found.len()), "{}", found.len());
        assert!(store::take_left_out().to_string().starts_with("some "));
    }
}

#[test]
fn log_damaged_after_a_kill_keeps_the_store_closed_or_sound() {
    let root = tempfile::tempdir().unwrap();
    let dir = sample(root.path());
    let db = dir.join("almoner.sqlite");
    let store = Store::open(&dir, options()).unwrap();
    let filled: Result<(), WriteError<StoreFault>> = store.write(|txn: &mut dyn Txn| {
        (0..50_u64).try_for_each(|n| txn.put(Table::Meta, &NO_OWNER, &n.to_be_bytes(), &[b'1'; 300], None))
    });
    filled.unwrap();
    let log = fs::read(db.with_extension("sqlite-wal")).unwrap();
    drop(store);
    let whole = fs::read(&db).unwrap();
    for at in [40, log.len() / 3, log.len() / 2, log.len() - 100] {
        fs::write(&db, &whole).unwrap();
        let mut damaged = log.clone();
        damaged[at] ^= 0x10;
        fs::write(db.with_extension("sqlite-wal"), &damaged).unwrap();
        // Its checksums tell where the log ends, so that the rest of it does not count.
        let store = Store::open(&dir, options()).unwrap();
        assert_eq!(store.examined_damage(WAIT), None, "{at}");
        let rows = store.read(|txn| txn.range(Table::Run, &NO_OWNER, b"", b"", usize::MAX, false));
        assert_eq!(rows.unwrap().len(), 100);
        drop(store);
    }
}

#[test]
fn sound_store_is_examined_and_stays_open_for_writes() {
    let root = tempfile::tempdir().unwrap();
    let dir = sample(root.path());
    let store = Store::open(&dir, options()).unwrap();
    assert_eq!(store.examined_damage(WAIT), None);
    store.backup(&root.path().join("copy")).unwrap();
    assert_eq!(store::BackupRecord::newest(store.dir()).unwrap().path, root.path().join("copy"));
    assert!(store.sweep(&[]).unwrap().is_some());
    // The store can be dropped at any moment of its examination.
    drop(store);
    for _ in 0..20 {
        drop(Store::open(&dir, options()).unwrap());
    }
}
