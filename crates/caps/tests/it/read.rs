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
    // A problem that can be known without reading is known before the call is made.
    let is_content = matches!(expected, Err("dir/binary" | "dir/not-utf8" | "file/denied"));
    let problem = facts.problems.first().map(|finding| finding.rule.as_str());
    assert_eq!(problem, expected.err().filter(|_| !is_content), "{path:?}");
    assert!(facts.pins.is_empty() && facts.line.starts_with("reads ") || problem.is_some(), "{facts:?}");
}

#[test]
fn read_returns_text_and_refuses_everything_else() {
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
    use rustix::fs::inotify;
    let bench = Bench::dir().with(&[("a.md", "x")]);
    let fifo = bench.root().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(bench.root().join("socket")).unwrap();
    // Only the superuser can make a device, and not everywhere.
    let zero = rustix::fs::makedev(1, 5);
    let kind = rustix::fs::FileType::CharacterDevice;
    let device =
        rustix::fs::mknodat(rustix::fs::CWD, bench.root().join("device"), kind, rustix::fs::Mode::RWXU, zero);
    // Waiting for a writer would hang here; an opening without waiting is told by the system.
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&watch, &fifo, inotify::WatchFlags::OPEN).unwrap();
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
    let mut opened = || inotify::Reader::new(&watch, &mut buffer).next().is_ok();
    if device.is_ok() {
        inotify::add_watch(&watch, bench.root().join("device"), inotify::WatchFlags::OPEN).unwrap();
    }
    for path in ["pipe", "socket"].into_iter().chain(device.is_ok().then_some("device")) {
        check(&bench, path, Err("dir/kind"));
        for (method, args) in [
            ("stat", vec![path]),
            ("list", vec![path]),
            ("list", vec![]),
            ("glob", vec!["**"]),
            ("grep", vec!["x"]),
            ("grep", vec!["x", path]),
            ("write", vec![path, "x"]),
            ("append", vec![path, "x"]),
            ("edit", vec![path, "x", "y"]),
            ("move", vec![path, "b.md"]),
            ("move", vec!["a.md", path]),
            ("remove", vec![path]),
        ] {
            let (_, completion) = bench.call(method, &args);
            assert!(!opened(), "{method} {args:?} opened it: {completion:?}");
            assert!(bench.root().join(path).exists(), "{method} {args:?}: {completion:?}");
        }
    }
    // The control: an opening is noticed.
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
    rustix::fs::open(&fifo, flags, rustix::fs::Mode::empty()).unwrap();
    assert!(opened());
}

#[test]
fn limits_of_the_grant_apply() {
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
        // A link does not lend a file a suffix: it leads to nothing.
        ("disguise.md", Err("file/missing")),
    ] {
        check(&bench, path, expected);
    }
}

/// Returns a record's field.
fn field(completion: &Completion, name: &str) -> kernel::Value {
    match completion {
        Completion::Done { value, .. } => value.get(name).cloned(),
        Completion::Refused(_) | Completion::Failed(_) => None,
    }
    .unwrap_or(kernel::Value::Undefined)
}

#[test]
fn long_file_gives_its_head_and_the_next_offset() {
    let text: String = (0..40_000).map(|n| format!("line {n}\n")).collect();
    let bench = Bench::dir().with(&[("long.md", &text)]);
    let (facts, completion) = bench.call("read", &["long.md"]);
    assert_eq!(facts.problems, vec![]);
    let head = field(&completion, "text");
    let mut read = head.as_str().unwrap().to_owned();
    assert!(read.ends_with('\n'), "lines are not cut");
    assert_eq!(field(&completion, "truncated"), kernel::Value::Bool(true));
    assert_eq!(field(&completion, "total").as_f64(), Some(text.len() as f64));
    let to = field(&completion, "to").as_f64().unwrap();
    let told = field(&completion, "next");
    assert!(told.as_str().unwrap().contains(&format!("offset: {to}")), "{told:?}");
    let rest = bench.call_with("read", &range("long.md", [None, None, Some(to), Some(200_000.0)])).1;
    read.push_str(field(&rest, "text").as_str().unwrap());
    assert_eq!(read, text);
    // For a file of any size, no more of it is read than that.
    std::fs::File::create(bench.root().join("huge")).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(outcome(&bench.call("read", &["huge"]).1), Err("dir/binary".to_owned()));
    let lines = range("huge", [Some(1.0), Some(1.0), None, None]);
    assert_eq!(outcome(&bench.call_with("read", &lines).1), Err("dir/size".to_owned()));
}

fn range(path: &str, [from, lines, offset, bytes]: [Option<f64>; 4]) -> Vec<kernel::Value> {
    let number = |n: Option<f64>| n.map_or(kernel::Value::Undefined, kernel::Value::number);
    vec![kernel::Value::from(path), number(from), number(lines), number(offset), number(bytes)]
}

#[test]
fn range_returns_the_requested_lines_or_bytes() {
    let bench = Bench::dir().with(&[("a.md", "one\ntwo\nthree\n"), ("u.md", "aé€𝄞z"), ("empty", "")]);
    for (path, asked, expected) in [
        ("a.md", [Some(2.0), Some(1.0), None, None], Ok(("two\n", 2.0, 2.0, 3.0, true))),
        ("a.md", [Some(2.0), None, None, None], Ok(("two\nthree\n", 2.0, 3.0, 3.0, false))),
        ("a.md", [None, Some(2.0), None, None], Ok(("one\ntwo\n", 1.0, 2.0, 3.0, true))),
        ("a.md", [Some(3.0), Some(9e15), None, None], Ok(("three\n", 3.0, 3.0, 3.0, false))),
        ("a.md", [Some(4.0), None, None, None], Err("dir/range")),
        ("a.md", [None, None, Some(4.0), Some(3.0)], Ok(("two", 4.0, 7.0, 14.0, true))),
        ("a.md", [None, None, Some(14.0), None], Ok(("", 14.0, 14.0, 14.0, false))),
        ("a.md", [None, None, Some(15.0), None], Err("dir/range")),
        ("a.md", [Some(1.0), None, Some(1.0), None], Err("dir/range")),
        ("a.md", [Some(1.5), None, None, None], Err("dir/arguments")),
        ("a.md", [Some(-1.0), None, None, None], Err("dir/arguments")),
        ("a.md", [Some(f64::NAN), None, None, None], Err("dir/arguments")),
        ("empty", [Some(1.0), None, None, None], Ok(("", 1.0, 0.0, 0.0, false))),
        // Characters are not cut: a range begins with the next whole one, and ends with the last.
        ("u.md", [None, None, Some(0.0), Some(2.0)], Ok(("a", 0.0, 1.0, 11.0, true))),
        ("u.md", [None, None, Some(2.0), Some(4.0)], Ok(("€", 3.0, 6.0, 11.0, true))),
        ("u.md", [None, None, Some(6.0), Some(1.0)], Ok(("𝄞", 6.0, 10.0, 11.0, true))),
        ("u.md", [None, None, Some(8.0), Some(1.0)], Ok(("z", 10.0, 11.0, 11.0, false))),
    ] {
        let (_, completion) = bench.call_with("read", &range(path, asked));
        let got = match outcome(&completion) {
            Err(rule) => Err(rule),
            Ok(_) => {
                let number = |name| field(&completion, name).as_f64().unwrap();
                let text = field(&completion, "text").as_str().unwrap().to_owned();
                let truncated = field(&completion, "truncated") == kernel::Value::Bool(true);
                Ok((text, number("from"), number("to"), number("total"), truncated))
            }
        };
        let expected = expected.map(|(text, from, to, total, cut)| (text.to_owned(), from, to, total, cut));
        assert_eq!(got, expected.map_err(str::to_owned), "{path} {asked:?}");
    }
}

#[test]
fn read_value_names_its_source() {
    let bench = Bench::dir().with(&[("sub/a.md", "hello")]);
    let (facts, completion) = bench.call("read", &["./sub//a.md"]);
    let Completion::Done { provenance, .. } = completion else { panic!("{completion:?}") };
    let source = Source::Document { name: "out/sub/a.md".into(), hash: BlobHash::of(b"hello") };
    assert_eq!(provenance, Provenance::of(source));
    assert_eq!(facts.line, "reads sub/a.md in `out` (5 bytes)");
    assert_eq!(facts.paths[0].path, "sub/a.md");
}

#[test]
fn facts_name_the_target_of_an_inner_link() {
    let bench = Bench::dir().with(&[("sub/a.md", "hello")]).linked(&[("here", "sub")]);
    let facts = bench.call("read", &["here/a.md"]).0;
    assert_eq!(facts.paths[0].leads_to.as_deref(), Some("sub/a.md"));
}

#[test]
fn unreadable_file_gives_a_finding() {
    let bench = Bench::dir().with(&[("a.md", "hello")]);
    fs::set_permissions(bench.root().join("a.md"), fs::Permissions::from_mode(0o000)).unwrap();
    if !is_root() {
        check(&bench, "a.md", Err("file/denied"));
    }
}

#[test]
fn mismatched_arguments_give_a_finding_without_panic() {
    use kernel::proposal::Value;
    let capability = Bench::dir().open();
    for method in ["list", "read", "write", "edit", "move", "remove", "glob", "grep", "stat", "burn", ""] {
        for args in
            [vec![], vec![Value::Null], vec![Value::from("a"); 6], vec![Value::Bool(true), Value::from("a")]]
        {
            let facts = capability.facts(method, &args);
            assert!(!facts.problems.is_empty() || (method == "list" && args.is_empty()), "{method} {args:?}");
        }
    }
}
