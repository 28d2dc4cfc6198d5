//! Directories of which another process swaps parts all the time. Nothing that walks through them leads out or waits.
//!
//! Reported of other programs: BurntSushi/walkdir#209 (a walk follows a link that was put in the place of a directory),
//! uutils/coreutils#10017 (a copy follows a link that was put in the place of a file), ollama/ollama#16755 (the same
//! of an agent's file between the check and the use), duplicati/duplicati#876, multikernel/sandlock#158 (a copy waits for a pipe).

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use caps::found_file;
use caps::stage::{self, StageUse};
use caps::undo::{PathState, SavedFile, Undo};
use kernel::id::{BlobHash, RunNumber};
use rustix::fs::{Mode, RenameFlags};

use crate::bench::CANARY;

/// The longest time that a part of these tests may take. Waiting for a pipe would take for ever.
const PART_TIMEOUT: Duration = Duration::from_secs(120);

#[expect(clippy::exit, reason = "a thread that waits for ever cannot be ended otherwise")]
/// Exchanges the two names of each pair in a directory, again and again, while `work` is done.
fn while_swapping(place: &Path, pairs: &[(&str, &str)], work: impl FnOnce() + Send) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (over, finished) = mpsc::channel();
        let swapping = &is_over;
        scope.spawn(move || {
            let directory = fs::File::open(place).unwrap();
            while !swapping.load(Ordering::Relaxed) {
                for (one, other) in pairs {
                    rustix::fs::renameat_with(&directory, *one, &directory, *other, RenameFlags::EXCHANGE)
                        .unwrap();
                }
            }
        });
        scope.spawn(move || {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            let _ = over.send(done.is_ok());
        });
        let done = finished.recv_timeout(PART_TIMEOUT);
        is_over.store(true, Ordering::Relaxed);
        if done == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("something waits for ever");
            std::process::exit(1);
        }
        assert_eq!(done, Ok(true));
    });
}

/// Returns the texts of all files in a directory, following no link.
fn texts(at: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(at).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => all.extend(texts(&entry.path())),
            kind if kind.is_file() => all.push(fs::read_to_string(entry.path()).unwrap()),
            _ => {}
        }
    }
    all
}

/// Makes `outside/canary.md`, and `root` with a directory, a link out, files, a pipe and many directories.
fn scene() -> tempfile::TempDir {
    let base = tempfile::tempdir().unwrap();
    let path = |name: &str| base.path().join(name);
    for dir in ["outside", "root/real"] {
        fs::create_dir_all(path(dir)).unwrap();
    }
    fs::write(path("outside/canary.md"), CANARY).unwrap();
    for file in ["root/real/canary.md", "root/file.md", "root/plain.md"] {
        fs::write(path(file), "inside").unwrap();
    }
    for (link, to) in
        [("root/link", "../outside"), ("root/leak.md", "../outside/canary.md"), ("other", "outside")]
    {
        std::os::unix::fs::symlink(to, path(link)).unwrap();
    }
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path("root/pipe"),
        rustix::fs::FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    // They take time between two looks at the same name.
    for number in 0..60 {
        fs::create_dir(path(&format!("root/aa{number}"))).unwrap();
        fs::write(path(&format!("root/aa{number}/f.md")), "inside").unwrap();
    }
    base
}

/// The maximum number of tries until one falls between two swaps.
const MAX_ROUNDS: usize = 200_000;

fn only_the_canary_is_outside(base: &Path) {
    use std::os::unix::fs::MetadataExt as _;
    assert_eq!(texts(&base.join("outside")), [CANARY]);
    assert_eq!(fs::metadata(base.join("outside/canary.md")).unwrap().nlink(), 1);
}

#[test]
fn copy_of_a_swapped_directory_never_leads_out() {
    for purpose in [StageUse::Capabilities, StageUse::Programs] {
        let base = scene();
        let (root, stage) = (base.path().join("root"), base.path().join("stage"));
        let pairs = [("real", "link"), ("file.md", "leak.md"), ("plain.md", "pipe")];
        while_swapping(&root, &pairs, || {
            for _ in 0..30 {
                stage::make(&root, &stage, purpose).unwrap();
                let all = texts(&stage);
                assert!(all.len() >= 60 && all.iter().all(|text| text == "inside"), "{all:?}");
                stage::remove(&stage);
                assert!(!stage.exists());
            }
        });
        only_the_canary_is_outside(base.path());
    }
}

#[test]
fn copy_of_a_swapped_root_never_leads_out() {
    for purpose in [StageUse::Capabilities, StageUse::Programs] {
        let base = scene();
        let (root, stage) = (base.path().join("root"), base.path().join("stage"));
        let mut made = 0;
        while_swapping(base.path(), &[("root", "other")], || {
            // On a busy machine the other thread swaps most of the time.
            for round in 0..MAX_ROUNDS {
                if round >= 60 && made > 0 {
                    break;
                }
                if stage::make(&root, &stage, purpose).is_ok() {
                    made += 1;
                    assert!(texts(&stage).iter().all(|text| text == "inside"));
                }
                stage::remove(&stage);
            }
        });
        assert!(made > 0, "no copy was made between two swaps");
        only_the_canary_is_outside(base.path());
    }
}

#[test]
fn restored_file_in_a_swapped_directory_stays_inside() {
    let old = PathState::File(BlobHash::of(b"inside"));
    let new = PathState::File(BlobHash::of(b"new"));
    for (place, pair, path) in [
        ("root", ("real", "link"), "real/canary.md"),
        ("root", ("file.md", "leak.md"), "file.md"),
        ("", ("root", "other"), "real/canary.md"),
        ("", ("root", "other"), "fresh/canary.md"),
        ("", ("root", "other"), "canary.md"),
    ] {
        let base = scene();
        let root = base.path().join("root").to_str().unwrap().to_owned();
        let mut done = 0;
        while_swapping(&base.path().join(place), &[pair], || {
            for round in 0..MAX_ROUNDS {
                if round >= 2000 && done > 0 {
                    break;
                }
                // As `apply` and `undo` do it: they look, and go on with another look at the directory.
                let Ok(Ok(now)) = Undo::open(&root).map(|undo| undo.look(path)) else { continue };
                let target = if now == new { old } else { new };
                let bytes: &[u8] = if target == new { b"new" } else { b"inside" };
                let file = SavedFile { bytes, mode: None, run: RunNumber(1) };
                let Ok(undo) = Undo::make(&root) else { continue };
                done += usize::from(undo.put_back(path, now, target, &file).is_ok());
                if let PathState::File(digest) = now {
                    assert_ne!(undo.bytes(path, &digest).as_deref(), Some(CANARY.as_bytes()));
                }
            }
        });
        assert!(done > 0, "{path}: nothing was restored between two swaps");
        only_the_canary_is_outside(base.path());
    }
}

#[test]
fn document_of_a_swapped_directory_stays_inside() {
    for (place, pair, path) in [
        ("root", ("real", "link"), "real/canary.md"),
        ("root", ("file.md", "leak.md"), "file.md"),
        ("root", ("plain.md", "pipe"), "plain.md"),
        // The person's own path leads elsewhere by now, so that this is another directory of theirs.
        ("", ("root", "other"), "aa0/f.md"),
    ] {
        let base = scene();
        let root = base.path().join("root");
        let mut read = 0;
        while_swapping(&base.path().join(place), &[pair], || {
            for _ in 0..3000 {
                let Ok(mut found) = found_file::open(&root, &root.join(path)) else { continue };
                let mut text = String::new();
                found.file.read_to_string(&mut text).unwrap();
                assert_eq!(text, "inside");
                read += 1;
            }
        });
        assert!(read > 0, "{path}: nothing was read between two swaps");
    }
}

#[test]
fn removed_copy_leaves_everything_outside() {
    let base = scene();
    let stage = base.path().join("stage");
    stage::make(&base.path().join("root"), &stage, StageUse::Programs).unwrap();
    // A program has put links where directories were, and closed directories to everybody.
    std::os::unix::fs::symlink("../../outside", stage.join("real/away")).unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    let mode = || fs::metadata(base.path().join("outside")).unwrap().permissions().mode() & 0o777;
    let before = mode();
    for closed in ["real", "aa1"] {
        fs::set_permissions(stage.join(closed), fs::Permissions::from_mode(0o000)).unwrap();
    }
    stage::remove(&stage);
    assert!(!stage.exists());
    assert_eq!(mode(), before);
    only_the_canary_is_outside(base.path());
}
