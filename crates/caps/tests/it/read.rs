//! `read`: text, from plain files, within the grant.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use kernel::id::BlobHash;
use kernel::provenance::{Provenance, Source};
use kernel::run::Completion;

use crate::bench::{Bench, is_root, outcome};

#[track_caller]
fn check(bench: &Bench, path: &str, expected: Result<&str, &str>) {
    let (facts, completion) = bench.call("read", &[path]);
    assert_eq!(outcome(&completion), expected.map(str::to_owned).map_err(str::to_owned), "{path:?}");
    // What can be known without reading is known before the call is made.
    let is_content = matches!(expected, Err("dir/binary" | "dir/not-utf8" | "file/denied"));
    let problem = facts.problems.first().map(|finding| finding.rule.as_str());
    assert_eq!(problem, expected.err().filter(|_| !is_content), "{path:?}");
    assert!(facts.pins.is_empty() && facts.line.starts_with("reads ") || problem.is_some(), "{facts:?}");
}

#[test]
fn text_is_read_and_everything_else_is_explained() {
    let bench = Bench::dir()
        .with(&[
            ("a.md", "hello"),
            ("empty", ""),
            ("sub/b.md", "Grüße"),
            ("50% off.md", "percent"),
            ("zero.bin", "a\0b"),
            ("doc.pdf", "%PDF-1.4\n\0"),
        ])
        .linked(&[
            ("inside.md", "a.md"),
            ("inside", "sub"),
            ("loop", "loop"),
            ("gone", "nowhere"),
            ("outside.md", "../outside/canary.md"),
            ("outside", "../outside"),
            ("up", ".."),
            ("absolute", "/etc/hostname"),
        ]);
    fs::write(bench.root().join("latin1.txt"), b"Gr\xfc\xdfe").unwrap();
    fs::write(bench.root().join("scan.pdf"), b"%PDF-1.7 \xff").unwrap();
    for (path, expected) in [
        ("a.md", Ok("hello")),
        ("./a.md", Ok("hello")),
        ("empty", Ok("")),
        ("sub/b.md", Ok("Grüße")),
        ("50% off.md", Ok("percent")),
        ("inside.md", Ok("hello")),
        ("inside/b.md", Ok("Grüße")),
        ("missing.md", Err("file/missing")),
        ("gone", Err("file/missing")),
        ("sub", Err("dir/kind")),
        ("a.md/b", Err("file/not-a-directory")),
        ("zero.bin", Err("dir/binary")),
        ("doc.pdf", Err("dir/binary")),
        ("scan.pdf", Err("dir/binary")),
        ("latin1.txt", Err("dir/not-utf8")),
        ("outside.md", Err("file/escape")),
        ("outside/canary.md", Err("file/escape")),
        ("up/outside/canary.md", Err("file/escape")),
        ("absolute", Err("file/escape")),
        ("loop", Err("file/link")),
        ("../outside/canary.md", Err("path/parent")),
        ("sub/../../outside/canary.md", Err("path/parent")),
        ("/etc/hostname", Err("path/absolute")),
        ("%2e%2e/outside/canary.md", Err("path/encoded")),
        ("..\\outside\\canary.md", Err("path/backslash")),
        ("a.md\0", Err("path/control")),
        ("", Err("path/empty")),
        ("/dev/null", Err("path/absolute")),
    ] {
        check(&bench, path, expected);
    }
}

#[test]
fn pipes_and_devices_are_never_opened() {
    let bench = Bench::dir();
    let fifo = bench.root().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(bench.root().join("socket")).unwrap();
    // A capability that waited for a writer would hang here.
    check(&bench, "pipe", Err("dir/kind"));
    check(&bench, "socket", Err("dir/kind"));
}

#[test]
fn limits_are_the_grants() {
    let bench = Bench::dir()
        .with(&[("a.md", "12345"), ("b.md", "123456"), ("c.txt", "1"), ("D.MD", "upper"), ("md", "no dot")])
        .linked(&[("disguise.md", "c.txt")])
        .attenuated(&[".md"], Some(5));
    for (path, expected) in [
        ("a.md", Ok("12345")),
        ("D.MD", Ok("upper")),
        ("b.md", Err("dir/size")),
        ("c.txt", Err("dir/suffix")),
        ("md", Err("dir/suffix")),
        // A link does not lend a file a suffix.
        ("disguise.md", Err("dir/suffix")),
    ] {
        check(&bench, path, expected);
    }
}

#[test]
fn a_huge_file_is_refused_without_being_read() {
    let bench = Bench::dir();
    fs::File::create(bench.root().join("huge")).unwrap().set_len(1 << 30).unwrap();
    let started = std::time::Instant::now();
    check(&bench, "huge", Err("dir/size"));
    assert!(started.elapsed().as_millis() < 500, "{:?}", started.elapsed());
}

#[test]
fn what_was_read_says_where_it_came_from() {
    let bench = Bench::dir().with(&[("sub/a.md", "hello")]);
    let (facts, completion) = bench.call("read", &["./sub//a.md"]);
    let Completion::Done { provenance, .. } = completion else { panic!("{completion:?}") };
    let source = Source::Document { name: "out/sub/a.md".into(), hash: BlobHash::of(b"hello") };
    assert_eq!(provenance, Provenance::of(source));
    assert_eq!(facts.line, "reads sub/a.md in `out` (5 bytes)");
    assert_eq!(facts.paths[0].path, "sub/a.md");
}

#[test]
fn a_link_inside_says_where_it_leads() {
    let bench = Bench::dir().with(&[("sub/a.md", "hello")]).linked(&[("here", "sub")]);
    let facts = bench.call("read", &["here/a.md"]).0;
    assert_eq!(facts.paths[0].leads_to.as_deref(), Some("sub/a.md"));
}

#[test]
fn permissions_are_explained() {
    let bench = Bench::dir().with(&[("a.md", "hello")]);
    fs::set_permissions(bench.root().join("a.md"), fs::Permissions::from_mode(0o000)).unwrap();
    if !is_root() {
        check(&bench, "a.md", Err("file/denied"));
    }
}

#[test]
fn arguments_that_do_not_fit_are_no_reason_to_panic() {
    use kernel::proposal::Value;
    let capability = Bench::dir().open();
    for method in ["list", "read", "write", "remove", ""] {
        for args in
            [vec![], vec![Value::Null], vec![Value::from("a"); 3], vec![Value::from("a"), Value::Bool(true)]]
        {
            let facts = capability.facts(method, &args);
            assert!(!facts.problems.is_empty() || (method == "list" && args.is_empty()), "{method} {args:?}");
        }
    }
}
