//! `list`: the names that `read` would take.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::bench::{Bench, outcome};

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
    let all = ".hidden a.md b.md in.md in/ ok%41 self/ sub/";
    for (args, expected) in [
        (&[][..], Ok(all)),
        (&["."], Ok(all)),
        (&[""], Ok(all)),
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
fn list_refuses_directories_with_too_many_names() {
    let bench = Bench::dir();
    for n in 0..1000 {
        fs::write(bench.root().join(format!("{n:04}")), "").unwrap();
    }
    assert_eq!(outcome(&bench.call("list", &[]).1).unwrap().split(' ').count(), 1000);
    fs::write(bench.root().join("one-more"), "").unwrap();
    check(&bench, &[], Err("dir/many"));
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
