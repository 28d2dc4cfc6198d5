//! Stores that are in use, damaged, read-only or full.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::server::{Server, calls, says};
use super::{RunFixture, check, files, namespace, runs};
use crate::test_home::{Said, TestHome};

fn store(home: &TestHome) -> PathBuf {
    home.root().join("state/store")
}

/// Returns the parts of a store that must not be lost.
fn kept(home: &TestHome) -> BTreeMap<PathBuf, (u64, Vec<u8>)> {
    let mut kept = files(&store(home));
    // The lock of the store's present owner is no such part, and neither is the memory that SQLite's processes share.
    kept.retain(|path, _| !path.ends_with("lock") && !path.to_string_lossy().ends_with("-shm"));
    kept
}

#[test]
fn second_daemon_yields_to_the_first() {
    let desk = RunFixture::new();
    let pid = desk.home.almoner(&["status", "--json"]).expect(0).json()["pid"].clone();
    let by = format!("in use by process {pid}");
    for args in [&["daemon"][..], &["daemon", "--idle", "5"]] {
        desk.refused(args, 8, &[&by], &format!("`kill {pid}`"));
    }
    // One that was started by a client says it to the client.
    let said = desk.home.almoner(&["daemon", "--on-demand"]);
    assert_eq!((said.code, said.err.as_str()), (8, ""));
    assert_eq!(said.json()["exit"], "conflict");
    // Even when its socket is gone, the first keeps the store.
    std::fs::remove_file(desk.home.root().join("run/control.sock")).unwrap();
    desk.refused(&["runs"], 8, &[&by], &format!("`kill {pid}`"));
    let first = rustix::process::Pid::from_raw(i32::try_from(pid.as_i64().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(first, rustix::process::Signal::TERM).unwrap();
    // While it goes, the next command waits for it.
    desk.nothing_happened();
}

#[test]
fn damaged_store_is_untouched_and_recovery_is_explained() {
    type Damage = fn(&Path);
    let damages: &[(&str, Damage, &[&str], &str)] = &[
        (
            "garbage",
            |db| std::fs::write(db, [0x5a; 9000]).unwrap(),
            &["almoner.sqlite is damaged", "not a database"],
            "Restore a backup",
        ),
        (
            "cut short",
            |db| std::fs::File::options().write(true).open(db).unwrap().set_len(40).unwrap(),
            &["almoner.sqlite is damaged", "cut short"],
            ".recover",
        ),
        (
            "half",
            |db| {
                let file = std::fs::File::options().write(true).open(db).unwrap();
                file.set_len(file.metadata().unwrap().len() / 2).unwrap();
            },
            &["almoner.sqlite is damaged"],
            ".recover",
        ),
        ("empty", |db| std::fs::write(db, "").unwrap(), &["almoner.sqlite is damaged"], "Restore a backup"),
        (
            "gone",
            |db| std::fs::remove_file(db).unwrap(),
            &["almoner.sqlite is missing"],
            "back from a backup",
        ),
        (
            "of another program",
            |db| {
                let mut bytes = std::fs::read(db).unwrap();
                bytes[68..72].copy_from_slice(b"MINE");
                std::fs::write(db, bytes).unwrap();
            },
            &["a database of another program"],
            "Choose another directory",
        ),
        (
            "a directory",
            |db| {
                std::fs::remove_file(db).unwrap();
                std::fs::create_dir(db).unwrap();
            },
            &["almoner.sqlite is not a regular file"],
            "Move",
        ),
    ];
    let desk = RunFixture::new();
    desk.home.almoner(&["stop"]).expect(0);
    let whole = kept(&desk.home);
    let db = store(&desk.home).join("almoner.sqlite");
    for (name, damage, says, help) in damages {
        damage(&db);
        let damaged = kept(&desk.home);
        desk.refused(&["runs"], 1, says, help);
        desk.refused(&super::RUN_HELLO, 1, says, help);
        check(&desk.home.almoner(&["daemon"]), &["daemon"], 1, says, help);
        let report = desk.home.almoner(&["doctor", "daemon"]).expect(1).out;
        assert!(says.iter().all(|part| report.contains(part)), "{name}: {report}");
        assert_eq!(kept(&desk.home), damaged, "{name}: a byte was changed");
        // The way back: the file as a backup would restore it.
        let _ = std::fs::remove_dir(&db);
        std::fs::write(&db, &whole[&db].1).unwrap();
        assert_eq!(runs(&desk.home), desk.runs, "{name}");
        desk.home.almoner(&["stop"]).expect(0);
    }
    desk.nothing_happened();
}

/// Returns all of a home that a process can change: the mode, the time and the bytes of each file and directory.
fn traces(home: &TestHome) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
    use std::os::unix::fs::MetadataExt as _;
    let mut found = BTreeMap::new();
    let mut look = vec![home.root()];
    while let Some(path) = look.pop() {
        let meta = path.symlink_metadata().unwrap();
        if meta.is_dir() {
            look.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let bytes = if meta.is_file() { std::fs::read(&path).unwrap() } else { vec![] };
        found.insert(path, (meta.mode(), meta.mtime(), meta.mtime_nsec(), bytes));
    }
    found
}

/// Checks that every command that would open the store reports the same error, and that nothing in the home is
/// touched.
///
/// The earlier build was killed, other users may read its files, and its log has rows that the database file lacks.
#[test]
fn store_of_an_earlier_build_is_refused_by_every_command() {
    use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
    let desk = RunFixture::new();
    let copy = desk.home.path("copy");
    let pid = desk.home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_i64().unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let (db, log) = (store(&desk.home).join("almoner.sqlite"), store(&desk.home).join("almoner.sqlite-wal"));
    super::wait_until("the lock is free", || {
        std::fs::File::open(store(&desk.home).join("lock")).unwrap().try_lock().is_ok()
    });
    assert!(log.metadata().unwrap().len() > 0);
    let file = std::fs::File::options().write(true).open(&db).unwrap();
    file.write_all_at(&4_u32.to_be_bytes(), 60).unwrap();
    std::fs::create_dir(&copy).unwrap();
    crate::test_home::copy(&store(&desk.home), &copy);
    for open in [desk.home.root().join("state"), store(&desk.home), db.clone()] {
        let mode = if open.is_dir() { 0o755 } else { 0o644 };
        std::fs::set_permissions(open, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let before = traces(&desk.home);
    let says = ["cannot open the store: an earlier build wrote it"];
    let help = "begins anew; the build that wrote it still opens it";
    let verbs: [&[&str]; 7] = [
        &["runs"],
        &["status"],
        &["daemon"],
        &["backup", "other"],
        &["inbox"],
        &["demo", "--live", "--yes"],
        &super::RUN_HELLO,
    ];
    for verb in verbs {
        desk.refused(verb, 1, &says, help);
    }
    // A client that has started the daemon reads the same from it.
    let said = desk.home.almoner(&["daemon", "--on-demand"]);
    assert_eq!((said.code, said.json()["message"].as_str()), (1, Some(says[0])), "{said:?}");
    let report = desk.home.almoner(&["doctor", "place", "daemon"]).expect(1).out;
    assert_eq!(report.matches(says[0]).count(), 2, "{report}");
    assert!(report.contains("`mv "), "{report}");
    assert!(traces(&desk.home) == before, "something was touched");
    // The way out that is shown; and a backup of an earlier build is no way back.
    std::fs::rename(store(&desk.home), desk.home.root().join("state/store.earlier")).unwrap();
    assert!(runs(&desk.home).is_empty());
    desk.home.almoner(&["stop"]).expect(0);
    std::fs::remove_dir_all(store(&desk.home)).unwrap();
    std::fs::rename(&copy, store(&desk.home)).unwrap();
    desk.refused(&["runs"], 1, &says, help);
}

#[test]
fn damaged_document_stalls_only_its_run() {
    let desk = RunFixture::new();
    desk.home.almoner(&["stop"]).expect(0);
    // The one blob that holds the keeper's definition.
    let blobs = files(&store(&desk.home).join("blobs"));
    let (path, (_, bytes)) = blobs.iter().find(|(_, (_, bytes))| bytes == super::KEEPER.as_bytes()).unwrap();
    std::fs::write(path, "damaged").unwrap();
    desk.home.almoner(&["approve", &desk.card]).expect(0);
    let said = desk.home.almoner(&["resume", "r2"]);
    check(&said, &["resume"], 1, &["damaged"], "almoner doctor");
    desk.home.almoner(&super::RUN_HELLO).expect(0);
    let report = desk.home.almoner(&["doctor", "daemon"]).expect(1).out;
    assert!(report.contains(path.file_name().unwrap().to_str().unwrap()), "{report}");
    std::fs::write(path, bytes).unwrap();
    assert_eq!(desk.home.almoner(&["resume", "r2"]).expect(0).out, "written\n");
    super::assert_healthy(&desk.home);
}

#[test]
fn unwritable_store_is_refused_and_unchanged() {
    let plain = super::place::Plain::new();
    plain.almoner(&super::RUN_HELLO).expect(0);
    plain.almoner(&["stop"]).expect(0);
    let before = kept(&plain.home);
    for path in ["state/store/almoner.sqlite", "state/store"] {
        plain.chmod(path, if path.ends_with("sqlite") { 0o400 } else { 0o500 });
        let said = plain.almoner(&super::RUN_HELLO);
        check(&said, &["run"], 1, &["cannot be written", "Permission denied"], "Nothing is lost");
        plain.chmod(path, if path.ends_with("sqlite") { 0o600 } else { 0o700 });
        assert_eq!(kept(&plain.home), before, "{path}");
    }
    let runs = plain.almoner(&["runs"]).expect(0).out;
    assert_eq!(runs.lines().count(), 1, "{runs}");
    plain.almoner(&super::RUN_HELLO).expect(0);
}

#[test]
fn read_only_disk_is_refused_and_store_unchanged() {
    if !namespace::inside("bad_input::store::read_only_disk_is_refused_and_store_unchanged") {
        return;
    }
    let home = TestHome::new();
    namespace::small_disk(&home.root(), 32 << 10);
    let desk = RunFixture::in_home(home);
    desk.home.almoner(&["stop"]).expect(0);
    let before = kept(&desk.home);
    namespace::read_only(&desk.home.root(), true);
    for args in [&["runs"][..], &super::RUN_HELLO, &["approve", &desk.card]] {
        let said = desk.home.almoner(args);
        assert!(matches!(said.code, 1 | 3), "{said:?}");
        check(&said, args, said.code, &["the disk is read-only"], "writable");
    }
    let said = desk.home.almoner(&["daemon"]);
    check(&said, &["daemon"], 1, &["cannot be written", "the disk is read-only"], "Nothing is lost");
    assert_eq!(kept(&desk.home), before);
    namespace::read_only(&desk.home.root(), false);
    desk.nothing_happened();
}

#[test]
fn full_disk_stalls_runs_and_loses_nothing() {
    if !namespace::inside("bad_input::store::full_disk_stalls_runs_and_loses_nothing") {
        return;
    }
    let home = TestHome::new();
    namespace::small_disk(&home.root(), 16 << 10);
    let desk = RunFixture::in_home(home);
    let (home, filler) = (&desk.home, desk.home.root().join("filler"));

    // The disk fills up while a model thinks; its answer is long.
    let target = filler.clone();
    let write = serde_json::json!({"path": "long.md", "content": "word ".repeat(40_000)}).to_string();
    let server = Server::start(move |number, request| match number {
        0 => calls("out_list", "{}"),
        1 => {
            namespace::fill(&target);
            calls("out_write", &write)
        }
        _ if request.to_string().contains("long.md") => says("written"),
        _ => calls("out_write", &write),
    });
    let model = server.model();
    let run = ["run", "keeper.worker", "-e", "out=full:rw", "--allow", "out.write", "-m", &model];
    let said = home.almoner(&run);
    check(&said, &["run"], 1, &["no space is left"], "nothing that was acknowledged is lost");
    assert!(!home.path("full/long.md").exists());

    // Nothing new can begin, nothing can be answered, and nothing is pretended.
    let full = |said: &Said, args: &[&str]| {
        assert_ne!(said.code, 0, "{args:?}: {said:?}");
        assert!(said.err.contains("space") || said.err.contains("full"), "{args:?}: {}", said.err);
        assert!(said.err.contains("help:"), "{args:?}: {}", said.err);
    };
    home.write("other.worker", "---\ndescription: Another.\n---\nSay hello again.\n");
    let begin = ["run", "other.worker", "-m", "scripted:hello.json"];
    full(&home.almoner(&begin), &begin);
    // Reading goes on.
    assert!(home.almoner(&["runs"]).expect(0).out.contains("waits for you"));
    home.almoner(&["inbox", &desk.card]).expect(0);
    // Not even the end of the daemon loses anything. Closing its store may have made a little room.
    home.almoner(&["stop"]).expect(0);
    namespace::fill(&filler);
    let said = home.almoner(&["runs"]);
    if said.code != 0 {
        full(&said, &["runs"]);
    }

    std::fs::remove_file(&filler).unwrap();
    assert_eq!(home.almoner(&["resume", "r3"]).expect(0).out, "written\n");
    assert_eq!(home.read("full/long.md").len(), 200_000);
    // The call of the list was recorded, so no model is asked for it again. The call that could not be recorded is
    // asked for with the same request.
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|request| **request == requests[0]).count(), 1);
    let last = requests.len() - 1;
    assert!(requests[1..last].iter().all(|request| *request == requests[1]), "{requests:#?}");
    home.almoner(&begin).expect(0);
    desk.nothing_lost();
}
