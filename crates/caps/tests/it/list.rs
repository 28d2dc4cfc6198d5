//! `list`: the names that `read` would take.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::bench::{Bench, outcome, parts};

#[track_caller]
fn check(bench: &Bench, args: &[&str], expected: Result<&str, &str>) {
    let (_, completion) = bench.call("list", args);
    assert_eq!(outcome(&completion), expected.map(str::to_owned).map_err(str::to_owned), "{args:?}");
}

#[test]
fn names_are_sorted_and_confined() {
    let bench = Bench::dir()
        .with(&[
            ("b.md", ""),
            ("a.md", ""),
            ("sub/deep/c.md", ""),
            (".hidden", ""),
            (".almoner-r1-2.tmp", ""),
        ])
        .with(&[("bad\nname", ""), ("bad\\name", ""), ("ok%41", "")])
        .linked(&[
            ("in.md", "a.md"),
            ("in", "sub"),
            ("out.md", "../outside/canary.md"),
            ("out", "../outside"),
        ])
        .linked(&[("gone", "nowhere"), ("loop", "loop"), ("self", ".")]);
    fs::write(bench.root().join(std::ffi::OsStr::from_bytes(b"not-utf8-\xff")), "").unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, bench.root().join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    // The names that cannot be shown are counted: <https://github.com/GitJournal/GitJournal/issues/926>.
    let all = ".hidden a.md b.md in.md in/ ok%41 self/ sub/";
    for args in [&[][..], &["."], &[""]] {
        let (answer, names, next) = parts(&bench.call("list", args).1, "names");
        assert_eq!((names.as_str(), next), (all, None));
        assert!(answer.starts_with("complete: 8 names. 3 names cannot be shown: "), "{answer}");
        for name in [r"`bad\u{A}name`", r"`bad\name`", r"`not-utf8-\xff`"] {
            assert!(answer.contains(name), "{answer}");
        }
    }
    for (args, expected) in [
        (&["sub"], Ok("deep/")),
        (&["sub/"], Ok("deep/")),
        (&["in/deep"], Ok("c.md")),
        (&["self/self/sub"], Ok("deep/")),
        (&["out"], Err("file/escape")),
        (&["missing"], Err("file/missing")),
        (&["a.md"], Err("file/not-a-directory")),
        (&[".."], Err("path/parent")),
        (&["../outside"], Err("path/parent")),
        (&["sub/../.."], Err("path/parent")),
        (&["/"], Err("path/absolute")),
        (&["%2e%2e"], Err("path/encoded")),
    ] {
        check(&bench, args, expected);
    }
}

#[test]
fn list_shows_exactly_the_readable_names() {
    let bench = Bench::dir()
        .with(&[("a.md", "1"), ("long.md", "123456"), ("b.txt", "1"), ("sub/c.md", "1")])
        .linked(&[("disguise.md", "b.txt"), ("honest.md", "a.md")])
        .attenuated(&[".md"], Some(5));
    check(&bench, &[], Ok("a.md honest.md sub/"));
    for name in bench.names() {
        let shown = ["a.md", "honest.md"].contains(&name.as_str());
        assert_eq!(outcome(&bench.call("read", &[&name]).1).is_ok(), shown, "{name}");
    }
}

#[test]
fn long_list_is_given_in_parts() {
    let bench = Bench::dir();
    for n in 0..1000 {
        fs::write(bench.root().join(format!("{n:04}")), "").unwrap();
    }
    assert_eq!(outcome(&bench.call("list", &[]).1).unwrap().split(' ').count(), 1000);
    fs::write(bench.root().join("one more"), "").unwrap();
    let (answer, names, next) = parts(&bench.call("list", &[]).1, "names");
    assert!(answer.starts_with("partial: 1000 of 1001 names"), "{answer}");
    assert!(names.ends_with(" 0999"), "{names}");
    let next = next.unwrap();
    let (answer, names, next) = parts(&bench.call("list", &["", &next]).1, "names");
    assert_eq!((answer.as_str(), names.as_str(), next), ("the last part: 1 of 1001 names", "one more", None));
    check(&bench, &["", "yesterday"], Err("dir/cursor"));
}

#[test]
fn grant_for_some_suffixes_counts_no_other_names() {
    let bench = Bench::dir().with(&[("a.md", ""), ("b\nc.txt", "")]).attenuated(&[".md"], None);
    check(&bench, &[], Ok("a.md"));
}

#[test]
fn removed_directory_gives_a_finding() {
    let bench = Bench::dir();
    let capability = bench.open();
    fs::remove_dir(bench.root()).unwrap();
    let begun =
        bench.begun(crate::bench::step(1), "read", &crate::bench::texts(&["a"]), Default::default(), false);
    assert_eq!(outcome(&capability.perform(&begun)), Err("file/missing".into()));
}
