//! `write`: replaces whole files whose content was shown.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use caps::{Probe, Settled, settle};
use kernel::id::BlobHash;
use kernel::proposal::Pin;
use kernel::provenance::Provenance;
use kernel::run::Completion;

use crate::bench::{Bench, is_root, outcome, step, texts};

const TEMPORARY: &str = ".almoner-r17-9-01010101.tmp";

fn pin(name: &str, content: Option<&str>) -> Pin {
    Pin { kind: "file".into(), name: name.into(), digest: content.map(|text| BlobHash::of(text.as_bytes())) }
}

/// Writes "new" and checks the outcome; in every case, no temporary file is left over.
#[track_caller]
fn check(bench: &Bench, path: &str, expected: Result<(), &str>) {
    let before = bench.others();
    let (facts, completion) = bench.call("write", &[path, "new"]);
    assert_eq!(outcome(&completion).map(drop), expected.map_err(str::to_owned), "{path:?}");
    let problem = facts.problems.first().map(|finding| finding.rule.as_str());
    assert_eq!(problem, expected.err().filter(|rule| *rule != "file/denied"), "{path:?}");
    assert!(!bench.names().iter().any(|name| name.starts_with(".almoner-")), "{:?}", bench.names());
    assert_eq!(bench.others(), before);
    if expected.is_ok() {
        assert_eq!(bench.text(path), "new");
    }
}

#[test]
fn write_makes_and_replaces_files_only_inside() {
    let bench = Bench::dir()
        .with(&[("old.md", "old"), ("sub/x.md", ""), ("file", "")])
        .linked(&[
            ("link.md", "old.md"),
            ("inside", "sub"),
            ("out.md", "../outside/canary.md"),
            ("out", "../outside"),
        ])
        .linked(&[("dangling", "../outside/made.md"), ("up", "..")]);
    rustix::fs::mkfifoat(rustix::fs::CWD, bench.root().join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    for (path, expected) in [
        ("new.md", Ok(())),
        ("old.md", Ok(())),
        ("a/b/c/new.md", Ok(())),
        ("sub", Err("file/directory")),
        ("file/x", Err("file/not-a-directory")),
        ("pipe", Err("dir/kind")),
        // Writing follows no link, not even inside: the path that was shown is the path.
        ("link.md", Err("file/link")),
        ("inside/new.md", Err("file/link")),
        ("out.md", Err("file/link")),
        ("out/canary.md", Err("file/link")),
        ("dangling", Err("file/link")),
        ("up/outside/canary.md", Err("file/link")),
        ("../outside/canary.md", Err("path/parent")),
        ("/tmp/x", Err("path/absolute")),
        ("%2e%2e%2foutside%2fcanary.md", Err("path/encoded")),
        (".almoner-r1-1.tmp", Err("path/reserved")),
        ("a\u{202e}dm.exe", Err("path/invisible")),
        ("new/", Err("path/directory")),
    ] {
        check(&bench, path, expected);
    }
    assert_eq!(bench.text("old.md"), "new");
    assert!(!bench.outside().join("made.md").exists());
}

#[test]
fn limits_of_the_grant_apply() {
    let bench = Bench::dir().with(&[("big.md", "1234567890")]).attenuated(&[".md"], Some(3));
    check(&bench, "a.md", Ok(()));
    check(&bench, "a.txt", Err("dir/suffix"));
    // A file that the grant does not cover is not replaced either.
    check(&bench, "big.md", Err("dir/size"));
    let (facts, completion) = bench.call("write", &["b.md", "1234"]);
    assert_eq!(outcome(&completion), Err("dir/size".into()));
    assert_eq!(facts.problems.len(), 1);
    assert!(!bench.root().join("b.md").exists());
}

#[test]
fn write_facts_preview_the_change() {
    let bench = Bench::dir().with(&[("old.md", "before"), ("same.md", "12345")]);
    let capability = bench.open();
    for (path, line, pinned, overwrites) in [
        ("new.md", "writes new.md in `out` (5 bytes; new file)", None, None),
        ("a/b.md", "writes a/b.md in `out` (5 bytes; new file in a new folder)", None, None),
        ("old.md", "writes old.md in `out` (5 bytes; replaces 6 bytes)", Some("before"), Some(6)),
        ("same.md", "writes same.md in `out` (5 bytes; already there, the same)", Some("12345"), None),
    ] {
        let facts = capability.facts("write", &texts(&[path, "12345"]));
        assert_eq!(facts.line, line);
        assert_eq!(facts.pins, [pin(path, pinned)].into());
        assert_eq!(facts.overwrites.map(|lost| lost.bytes), overwrites, "{path}");
        assert_eq!((facts.bytes, facts.problems), (Some(5), vec![]));
    }
    assert_eq!(bench.names(), ["old.md", "same.md"], "looking changes nothing");
}

#[test]
fn write_returns_path_size_and_digest() {
    let bench = Bench::dir();
    let (_, completion) = bench.call("write", &["./a//b.md", "Grüße"]);
    let Completion::Done { value, provenance } = completion else { panic!("{completion:?}") };
    let digest = BlobHash::of("Grüße".as_bytes()).to_string();
    assert_eq!(value.get("path").and_then(|path| path.as_str()), Some("a/b.md"));
    assert_eq!(value.get("bytes").and_then(|bytes| bytes.as_f64()), Some(7.0));
    assert_eq!(value.get("digest").and_then(|digest| digest.as_str()), Some(digest.as_str()));
    assert_eq!(provenance, Provenance::host(), "it depends on the call alone");
}

/// Looks, lets the world change, then writes "new" to `a.md`.
#[track_caller]
fn check_changed(bench: Bench, change: impl FnOnce(&Bench), expected: Result<(), &str>) -> Bench {
    let capability = bench.open();
    let args = texts(&["a.md", "new"]);
    let pins = capability.facts("write", &args).pins;
    change(&bench);
    let before = bench.others();
    let completion = capability.perform(&bench.begun(step(9), "write", &args, pins, false));
    assert_eq!(outcome(&completion).map(drop), expected.map_err(str::to_owned));
    assert_eq!(bench.others(), before);
    assert!(!bench.root().join(TEMPORARY).exists());
    bench
}

#[test]
fn file_changed_since_shown_is_not_overwritten() {
    let put = |text: &'static str| move |bench: &Bench| fs::write(bench.root().join("a.md"), text).unwrap();
    let old = || Bench::dir().with(&[("a.md", "old")]);
    assert_eq!(check_changed(old(), put("mine"), Err("dir/changed")).text("a.md"), "mine");
    assert_eq!(check_changed(Bench::dir(), put("mine"), Err("dir/changed")).text("a.md"), "mine");
    check_changed(old(), |b| fs::remove_file(b.root().join("a.md")).unwrap(), Err("dir/changed"));
    // A file that holds the content already is fine, even if somebody else wrote it.
    check_changed(old(), put("new"), Ok(()));
    check_changed(Bench::dir(), put("new"), Ok(()));
    check_changed(old(), |_| {}, Ok(()));
}

#[test]
fn link_placed_after_the_look_is_not_followed() {
    let swap = |target: &'static str| {
        move |bench: &Bench| {
            let _ = fs::remove_file(bench.root().join("a.md"));
            std::os::unix::fs::symlink(target, bench.root().join("a.md")).unwrap();
        }
    };
    for target in ["../outside/canary.md", "../outside/made.md", "elsewhere.md"] {
        check_changed(Bench::dir(), swap(target), Err("file/link"));
        check_changed(Bench::dir().with(&[("a.md", "old")]), swap(target), Err("file/link"));
    }
    let bench = Bench::dir().with(&[("sub/a.md", "old")]);
    let capability = bench.open();
    let args = texts(&["sub/a.md", "new"]);
    let pins = capability.facts("write", &args).pins;
    fs::rename(bench.root().join("sub"), bench.root().join("moved")).unwrap();
    std::os::unix::fs::symlink("../outside", bench.root().join("sub")).unwrap();
    let before = bench.others();
    let completion = capability.perform(&bench.begun(step(9), "write", &args, pins, false));
    assert_eq!(outcome(&completion).map(drop), Err("file/link".into()));
    assert_eq!(bench.others(), before);
}

#[test]
fn moved_directory_stays_the_target_of_writes() {
    let bench = Bench::dir();
    let capability = bench.open();
    let moved = bench.outside().join("moved");
    fs::rename(bench.root(), &moved).unwrap();
    std::os::unix::fs::symlink("outside", bench.root()).unwrap();
    let args = texts(&["canary.md", "new"]);
    let pins = capability.facts("write", &args).pins;
    let completion = capability.perform(&bench.begun(step(9), "write", &args, pins, false));
    assert_eq!(outcome(&completion).map(drop), Ok(()));
    assert_eq!(fs::read_to_string(moved.join("canary.md")).unwrap(), "new");
    assert_eq!(fs::read_to_string(bench.outside().join("canary.md")).unwrap(), crate::bench::CANARY);
}

#[test]
fn unpinned_call_is_refused() {
    let bench = Bench::dir();
    let begun = bench.begun(step(9), "write", &texts(&["a.md", "new"]), [pin("b.md", None)].into(), false);
    assert_eq!(outcome(&bench.open().perform(&begun)).map(drop), Err("dir/unpinned".into()));
    let mut other = Bench::dir();
    other.grant.methods.remove("write");
    let begun = bench.begun(step(9), "write", &texts(&["a.md", "new"]), [pin("a.md", None)].into(), false);
    assert_eq!(outcome(&other.open().perform(&begun)).map(drop), Err("caps/grant".into()));
    assert!(bench.names().is_empty() && other.names().is_empty());
}

#[test]
fn replacing_keeps_permissions_and_breaks_hard_links() {
    let bench = Bench::dir().with(&[("a.md", "old")]);
    let file = bench.root().join("a.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    fs::hard_link(&file, bench.outside().join("same.md")).unwrap();
    check(&bench, "a.md", Ok(()));
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o640);
    assert_eq!(fs::read_to_string(bench.outside().join("same.md")).unwrap(), "old");
}

#[test]
fn leftover_of_an_earlier_try_is_replaced() {
    for leftover in ["", "ne", "something else"] {
        let bench = Bench::dir().with(&[("a.md", "old"), (TEMPORARY, leftover)]);
        check(&bench, "a.md", Ok(()));
        assert_eq!(bench.names(), ["a.md"]);
    }
    // A trap in its place leads nowhere.
    let bench = Bench::dir().linked(&[(TEMPORARY, "../outside/canary.md")]);
    check(&bench, "a.md", Ok(()));
}

#[test]
fn temporary_file_of_another_host_is_kept() {
    let bench = Bench::dir().with(&[(TEMPORARY, "half of the other's")]).of_host(2);
    let (_, completion) = bench.call("write", &["a.md", "new"]);
    assert!(outcome(&completion).is_ok(), "{completion:?}");
    assert_eq!(bench.names(), [TEMPORARY, "a.md"]);
    assert_eq!(bench.text(TEMPORARY), "half of the other's");
}

#[test]
fn unwritable_directory_gives_a_finding() {
    let bench = Bench::dir().with(&[("locked/x", "")]);
    fs::set_permissions(bench.root().join("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    if !is_root() {
        check(&bench, "locked/a.md", Err("file/denied"));
        check(&bench, "locked/sub/a.md", Err("file/denied"));
    }
    fs::set_permissions(bench.root().join("locked"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Checks a write of "new" to `a.md`, where `old` was, that a crash has cut off. Checks the answer of the probe, and
/// the files after the call is settled.
#[track_caller]
fn check_crash(files: &[(&str, &str)], old: Option<&str>, is_done: bool, expected: &[&str]) {
    let bench = Bench::dir().with(files);
    let capability = bench.open();
    let begun = || bench.begun(step(9), "write", &texts(&["a.md", "new"]), [pin("a.md", old)].into(), true);
    let probe = capability.probe(&begun());
    assert_eq!(matches!(probe, Probe::Done { .. }), is_done, "{files:?}: {probe:?}");
    let Settled::Completed(settled) = settle(&*capability, &begun()) else {
        panic!("a write is never unknown")
    };
    assert!(matches!(settled, Completion::Done { .. }), "{files:?}: {settled:?}");
    assert_eq!(bench.names(), expected, "{files:?}");
    assert_eq!(bench.text("a.md"), "new");
    // Settling a call once more changes nothing.
    let Settled::Completed(again) = settle(&*capability, &begun()) else {
        panic!("a write is never unknown")
    };
    assert_eq!(again, settled);
}

#[test]
fn write_crashed_at_any_moment_is_settled() {
    // Before the temporary file, while it was written, and before it was moved.
    check_crash(&[], None, false, &["a.md"]);
    check_crash(&[(TEMPORARY, "ne")], None, false, &["a.md"]);
    check_crash(&[(TEMPORARY, "new")], None, false, &["a.md"]);
    check_crash(&[("a.md", "old"), (TEMPORARY, "new")], Some("old"), false, &["a.md"]);
    // After it was moved, and after it was exchanged with the old file.
    check_crash(&[("a.md", "new")], None, true, &["a.md"]);
    check_crash(&[("a.md", "new"), (TEMPORARY, "old")], Some("old"), true, &["a.md"]);
    // Exchanged with a file that somebody else had put there in the last instant: that one is kept.
    check_crash(&[("a.md", "new"), (TEMPORARY, "theirs")], Some("old"), true, &[TEMPORARY, "a.md"]);
}

#[test]
fn crashed_write_keeps_a_concurrent_change() {
    let bench = Bench::dir().with(&[("a.md", "theirs"), (TEMPORARY, "new")]);
    let begun =
        bench.begun(step(9), "write", &texts(&["a.md", "new"]), [pin("a.md", Some("old"))].into(), true);
    let Settled::Completed(settled) = settle(&*bench.open(), &begun) else {
        panic!("a write is never unknown")
    };
    assert_eq!(outcome(&settled).map(drop), Err("dir/changed".into()));
    assert_eq!(bench.text("a.md"), "theirs");
}

#[test]
fn read_only_directory_refuses_writes() {
    let bench = Bench::read_only().with(&[("old.md", "old")]);
    for path in ["old.md", "new.md"] {
        check(&bench, path, Err("dir/read-only"));
    }
    assert_eq!(bench.names(), ["old.md"]);
    let (_, read) = bench.call("read", &["old.md"]);
    assert!(outcome(&read).is_ok());
}
