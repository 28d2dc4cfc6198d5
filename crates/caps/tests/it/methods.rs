//! The methods of a directory beside listing, reading and writing whole files: edits, moves, removals, new
//! directories, and searches.

use std::fs;
use std::os::unix::fs::symlink;

use caps::{Probe, Settled, settle};
use kernel::id::BlobHash;
use kernel::proposal::{Pin, Value};
use kernel::run::Completion;

use crate::bench::{Bench, outcome, step, texts};

const TEMPORARY: &str = ".almoner-r17-9-01010101.tmp";

/// Returns everything below the root, as paths; files with their contents.
fn tree(bench: &Bench) -> String {
    fn gather(at: &std::path::Path, before: &str, all: &mut Vec<String>) {
        for entry in fs::read_dir(at).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{before}{}", entry.file_name().into_string().unwrap());
            match entry.file_type().unwrap() {
                kind if kind.is_symlink() => all.push(format!("{name}@")),
                kind if kind.is_dir() => {
                    all.push(format!("{name}/"));
                    gather(&entry.path(), &format!("{name}/"), all);
                }
                _ => all.push(format!("{name}={}", fs::read_to_string(entry.path()).unwrap())),
            }
        }
    }
    let mut all = vec![];
    gather(&bench.root(), "", &mut all);
    all.sort();
    all.join(" ")
}

fn bench() -> Bench {
    Bench::dir()
        .with(&[("a.md", "one two one\n"), ("b.md", "b"), ("sub/c.md", "c"), ("empty/", "")])
        .linked(&[("link.md", "a.md"), ("in", "sub"), ("out", "../outside")])
}

const REST: &str = "empty/ in@ link.md@ out@ sub/ sub/c.md=c";

/// Returns every change, with the files afterwards or the rule that refuses it.
fn changes() -> Vec<(&'static str, Vec<&'static str>, Result<String, &'static str>)> {
    let after = |files: &str, rest: &str| Ok(format!("{files} {rest}"));
    let refused = Err;
    vec![
        ("edit", vec!["a.md", "two", "2"], after("a.md=one 2 one\n b.md=b", REST)),
        ("edit", vec!["a.md", "one two", ""], after("a.md= one\n b.md=b", REST)),
        ("edit", vec!["a.md", "one", "1"], refused("edit/ambiguous")),
        ("edit", vec!["a.md", "three", "3"], refused("edit/not-found")),
        ("edit", vec!["a.md", "", "3"], refused("edit/empty")),
        ("edit", vec!["a.md", "two", "two"], refused("edit/same")),
        ("edit", vec!["none.md", "two", "2"], refused("file/missing")),
        ("edit", vec!["none/x.md", "two", "2"], refused("file/missing")),
        ("edit", vec!["sub", "two", "2"], refused("file/directory")),
        ("edit", vec!["link.md", "two", "2"], refused("file/link")),
        ("edit", vec!["out/canary.md", "canary", "2"], refused("file/link")),
        ("edit", vec!["../outside/canary.md", "canary", "2"], refused("path/parent")),
        (
            "move",
            vec!["a.md", "z.md"],
            after("b.md=b", "empty/ in@ link.md@ out@ sub/ sub/c.md=c z.md=one two one\n"),
        ),
        (
            "move",
            vec!["b.md", "new/deep/z.md"],
            after(
                "a.md=one two one\n",
                "empty/ in@ link.md@ new/ new/deep/ new/deep/z.md=b out@ sub/ sub/c.md=c",
            ),
        ),
        ("move", vec!["a.md", "b.md"], refused("dir/exists")),
        ("move", vec!["a.md", "a.md"], refused("dir/exists")),
        ("move", vec!["a.md", "sub"], refused("dir/exists")),
        ("move", vec!["sub", "bus"], refused("dir/kind")),
        ("move", vec!["none.md", "z.md"], refused("file/missing")),
        ("move", vec!["link.md", "z.md"], refused("file/link")),
        ("move", vec!["a.md", "out/z.md"], refused("file/link")),
        ("move", vec!["out/canary.md", "z.md"], refused("file/link")),
        ("move", vec!["a.md", "../z.md"], refused("path/parent")),
        ("remove", vec!["b.md"], after("a.md=one two one\n", REST)),
        ("remove", vec!["empty"], after("a.md=one two one\n b.md=b", "in@ link.md@ out@ sub/ sub/c.md=c")),
        ("remove", vec!["sub"], refused("dir/not-empty")),
        ("remove", vec!["none.md"], refused("file/missing")),
        ("remove", vec!["link.md"], refused("file/link")),
        ("remove", vec!["out/canary.md"], refused("file/link")),
        ("remove", vec!["."], refused("path/empty")),
        ("make_directory", vec!["x/y/"], after("a.md=one two one\n b.md=b", &format!("{REST} x/ x/y/"))),
        ("make_directory", vec!["sub"], after("a.md=one two one\n b.md=b", REST)),
        ("make_directory", vec!["a.md"], refused("dir/exists")),
        ("make_directory", vec!["a.md/x"], refused("file/not-a-directory")),
        ("make_directory", vec!["out/x"], refused("file/link")),
        ("make_directory", vec!["in/x"], refused("file/link")),
    ]
}

fn sorted(text: &str) -> Vec<String> {
    // A file's own spaces are part of its entry; compared as a set of characters in order of entries.
    let mut all: Vec<String> = text.split(' ').map(str::to_owned).collect();
    all.sort();
    all
}

#[test]
fn each_change_is_applied_or_refused_with_advice() {
    for (method, args, expected) in changes() {
        let bench = bench();
        let (before, outside) = (tree(&bench), bench.others());
        let facts = bench.open().facts(method, &texts(&args));
        assert_eq!(tree(&bench), before, "{method} {args:?}: looking changes nothing");
        let problem = facts.problems.first().map(|finding| finding.rule.as_str());
        assert_eq!(problem, expected.as_ref().err().copied(), "{method} {args:?}");
        let (_, completion) = bench.call(method, &args);
        let got = outcome(&completion).map(|_| sorted(&tree(&bench)));
        let wanted = expected.as_ref().map(|after| sorted(after)).map_err(|rule| (*rule).to_owned());
        assert_eq!(got, wanted, "{method} {args:?}");
        if expected.is_err() {
            assert_eq!(tree(&bench), before, "{method} {args:?}: what is refused changes nothing");
        }
        assert_eq!(bench.others(), outside, "{method} {args:?}");
    }
}

#[test]
fn failed_edit_names_matching_and_similar_lines() {
    let bench = Bench::dir().with(&[("a.rs", "fn main() {\n    let total = 1;\n    let total = 1;\n}\n")]);
    let said = |args: &[Value]| bench.open().facts("edit", args).problems[0].message.clone();
    let edit = |old: &str, new: &str| texts(&["a.rs", old, new]);
    assert!(
        said(&edit("let total = 1;", "x")).contains("2 times: lines 2, 3"),
        "{}",
        said(&edit("let total = 1;", "x"))
    );
    let near = said(&edit("let  total = 1;", "x"));
    assert!(near.contains(r#"line 2 is "    let total = 1;""#), "{near}");
    let other = said(&edit("let total = 7;", "x"));
    assert!(other.contains("line 2: `let total = 1;`"), "{other}");
    assert!(said(&edit("zebra", "x")).contains("nothing like it"));
    let mut everywhere = edit("let total = 1;", "let sum = 2;");
    everywhere.push(Value::Bool(true));
    let (facts, completion) = bench.call_with("edit", &everywhere);
    assert!(facts.line.contains("2 places; 52 → 48 bytes"), "{}", facts.line);
    assert!(outcome(&completion).is_ok());
    assert_eq!(bench.text("a.rs"), "fn main() {\n    let sum = 2;\n    let sum = 2;\n}\n");
}

#[test]
fn limits_hold_for_every_change() {
    let bench = || {
        Bench::dir()
            .with(&[("a.md", "abc"), ("k.txt", "k"), ("long.md", "123456")])
            .attenuated(&[".md"], Some(5))
    };
    for (method, args, rule) in [
        ("edit", &["k.txt", "k", "x"][..], "dir/suffix"),
        ("edit", &["a.md", "abc", "abcdef"], "dir/size"),
        ("edit", &["long.md", "1", "2"], "dir/size"),
        ("move", &["k.txt", "k.md"], "dir/suffix"),
        ("move", &["a.md", "a.txt"], "dir/suffix"),
        ("move", &["long.md", "l.md"], "dir/size"),
        ("remove", &["k.txt"], "dir/suffix"),
        ("remove", &["long.md"], "dir/size"),
        ("stat", &["k.txt"], "dir/suffix"),
        ("stat", &["long.md"], "dir/size"),
        ("grep", &["k", "k.txt"], "dir/suffix"),
    ] {
        let bench = bench();
        let before = tree(&bench);
        assert_eq!(bench.open().facts(method, &texts(args)).problems[0].rule, rule, "{method} {args:?}");
        assert_eq!(outcome(&bench.call(method, args).1).map(drop), Err(rule.to_owned()), "{method} {args:?}");
        assert_eq!(tree(&bench), before);
    }
    assert_eq!(outcome(&bench().call("glob", &["**"]).1).unwrap(), "a.md");
    let found = outcome(&bench().call("grep", &["[a-z0-9]"]).1).unwrap();
    assert!(found.contains("abc") && !found.contains("123456") && !found.contains("k.txt"), "{found}");
}

#[test]
fn changes_beyond_the_total_size_are_refused() {
    let bench = Bench::dir().with(&[("a.md", "12345"), ("sub/b.md", "123")]).holding(10);
    for (method, args, expected) in [
        ("write", &["c.md", "123"][..], Err("dir/total")),
        ("write", &["c.md", "12"], Ok(())),
        ("append", &["c.md", "3"], Err("dir/total")),
        ("edit", &["a.md", "12345", "123456"], Err("dir/total")),
        ("edit", &["a.md", "12345", "1234"], Ok(())),
        ("append", &["c.md", "3"], Ok(())),
        ("write", &["sub/b.md", "1234"], Err("dir/total")),
        // A change that makes nothing larger is allowed, even where there is too much already.
        ("write", &["sub/b.md", "xyz"], Ok(())),
        ("move", &["a.md", "m.md"], Ok(())),
        ("remove", &["m.md"], Ok(())),
        ("write", &["sub/b.md", "1234"], Ok(())),
    ] {
        let problem =
            bench.open().facts(method, &texts(args)).problems.first().map(|found| found.rule.clone());
        assert_eq!(problem.as_deref(), expected.err(), "{method} {args:?}");
        assert_eq!(
            outcome(&bench.call(method, args).1).map(drop),
            expected.map_err(str::to_owned),
            "{method} {args:?}"
        );
    }
    // The total is counted when the call is made, even if it was fine when judged.
    let bench = Bench::dir().holding(10);
    let args = texts(&["a.md", "123456"]);
    let pins = bench.open().facts("write", &args).pins;
    fs::write(bench.root().join("other.md"), "12345").unwrap();
    let begun = bench.begun(step(9), "write", &args, pins, false);
    assert_eq!(outcome(&bench.open().perform(&begun)).map(drop), Err("dir/total".to_owned()));
    assert!(!bench.root().join("a.md").exists());
}

#[test]
fn read_only_directory_refuses_every_change() {
    for (method, args, expected) in changes() {
        let bench = Bench::read_only().with(&[("a.md", "one two one\n"), ("b.md", "b"), ("empty/", "")]);
        let before = tree(&bench);
        let (facts, completion) = bench.call(method, &args);
        assert!(outcome(&completion).is_err() && !facts.problems.is_empty(), "{method} {args:?}");
        if expected.is_ok() {
            assert!(
                facts.problems.iter().any(|finding| finding.rule == "dir/read-only"),
                "{method} {args:?}"
            );
        }
        assert_eq!(tree(&bench), before);
    }
}

#[test]
fn probe_recognizes_each_change_after_a_crash() {
    for (method, args, expected) in changes() {
        if expected.is_err() {
            continue;
        }
        let bench = bench();
        let args = texts(&args);
        let what = format!("{method} {args:?}");
        let pins = bench.open().facts(method, &args).pins;
        let begun = |again| bench.begun(step(9), method, &args, pins.clone(), again);
        assert_eq!(bench.open().probe(&begun(true)), Probe::NotDone, "{what}: before");
        let Completion::Done { value, .. } = bench.open().perform(&begun(false)) else { panic!("{what}") };
        let after = tree(&bench);
        // Done, and cut off before it was recorded: it is not made again, and returns the same.
        let Settled::Completed(Completion::Done { value: settled, .. }) =
            settle(&*bench.open(), &begun(true))
        else {
            panic!("{what}: not settled")
        };
        assert_eq!((settled, tree(&bench)), (value, after), "{what}");
    }
}

#[test]
fn concurrent_change_is_kept_and_the_probe_is_unknown() {
    for (method, args, changed) in [
        ("edit", &["a.md", "two", "2"][..], "a.md"),
        ("move", &["a.md", "z.md"], "z.md"),
        ("move", &["a.md", "z.md"], "a.md"),
        ("remove", &["a.md"], "a.md"),
    ] {
        let bench = bench();
        let args = texts(args);
        let pins = bench.open().facts(method, &args).pins;
        fs::write(bench.root().join(changed), "somebody else's").unwrap();
        let before = tree(&bench);
        let begun = |again| bench.begun(step(9), method, &args, pins.clone(), again);
        let what = format!("{method} {args:?} {changed}");
        assert_eq!(
            outcome(&bench.open().perform(&begun(false))).map(drop),
            Err("dir/changed".to_owned()),
            "{what}"
        );
        assert_eq!(tree(&bench), before, "{what}");
        assert_eq!(bench.open().probe(&begun(true)), Probe::Unknown, "{what}");
        assert_eq!(tree(&bench), before, "{what}");
    }
    // A directory that is filled meanwhile.
    let bench = bench();
    let args = texts(&["empty"]);
    let pins = bench.open().facts("remove", &args).pins;
    fs::write(bench.root().join("empty/x"), "").unwrap();
    let begun = bench.begun(step(9), "remove", &args, pins, false);
    assert_eq!(outcome(&bench.open().perform(&begun)).map(drop), Err("dir/changed".to_owned()));
    assert!(bench.root().join("empty/x").exists());
}

#[test]
fn leftovers_of_a_crash_are_removed() {
    for (method, args, left, expected) in [
        (
            "edit",
            &["a.md", "two", "2"][..],
            &[("a.md", "one 2 one\n"), (TEMPORARY, "one two one\n")][..],
            true,
        ),
        ("edit", &["a.md", "two", "2"], &[(TEMPORARY, "one 2")], false),
        ("edit", &["a.md", "two", "2"], &[(TEMPORARY, "one 2 one\n")], false),
    ] {
        let bench = bench();
        let args = texts(args);
        let pins = bench.open().facts(method, &args).pins;
        let bench = bench.with(left);
        let begun = bench.begun(step(9), method, &args, pins, true);
        assert_eq!(matches!(bench.open().probe(&begun), Probe::Done { .. }), expected, "{left:?}");
        let Settled::Completed(Completion::Done { .. }) = settle(&*bench.open(), &begun) else {
            panic!("{left:?}")
        };
        assert_eq!(bench.text("a.md"), "one 2 one\n");
        assert!(!bench.root().join(TEMPORARY).exists(), "{left:?}");
    }
    // A file set aside for removal goes; a file that somebody else put under that name stays.
    let bench = bench();
    let args = texts(&["a.md"]);
    let pins = bench.open().facts("remove", &args).pins;
    let begun = bench.begun(step(9), "remove", &args, pins, true);
    fs::rename(bench.root().join("a.md"), bench.root().join(TEMPORARY)).unwrap();
    assert!(matches!(bench.open().probe(&begun), Probe::Done { .. }));
    assert!(!bench.root().join(TEMPORARY).exists());
    fs::write(bench.root().join(TEMPORARY), "theirs").unwrap();
    assert!(matches!(bench.open().probe(&begun), Probe::Done { .. }));
    assert_eq!(bench.text(TEMPORARY), "theirs");
}

#[test]
fn unpinned_call_is_refused() {
    for (method, args) in [
        ("edit", &["a.md", "two", "2"][..]),
        ("move", &["a.md", "z.md"]),
        ("remove", &["a.md"]),
        ("make_directory", &["x"]),
    ] {
        let bench = bench();
        let before = tree(&bench);
        let unrelated = Pin { kind: "file".into(), name: "b.md".into(), digest: Some(BlobHash::of(b"b")) };
        let begun = bench.begun(step(9), method, &texts(args), [unrelated].into(), false);
        assert_eq!(
            outcome(&bench.open().perform(&begun)).map(drop),
            Err("dir/unpinned".to_owned()),
            "{method}"
        );
        assert_eq!(tree(&bench), before);
    }
}

/// Gives everything below a directory the same time, so that the order is that of the paths.
fn same_time(root: &std::path::Path) {
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let time = rustix::fs::Timespec { tv_sec: 1_000_000, tv_nsec: 0 };
        let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
        let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
        if path.is_dir() && !path.is_symlink() {
            same_time(&path);
        }
        rustix::fs::utimensat(rustix::fs::CWD, &path, &times, flags).unwrap();
    }
}

#[test]
fn glob_finds_listed_names_and_descends_into_no_link() {
    let bench =
        bench().with(&[("sub/deep/d.rs", ""), (".hidden", ""), ("x y.md", ""), (".almoner-r1-2.tmp", "")]);
    symlink("../outside/canary.md", bench.root().join("leak.md")).unwrap();
    same_time(&bench.root());
    for (pattern, expected) in [
        ("*.md", Ok("a.md b.md link.md x y.md")),
        ("**/*.md", Ok("a.md b.md link.md sub/c.md x y.md")),
        ("sub/**", Ok("sub/c.md sub/deep/ sub/deep/d.rs")),
        ("./sub/*", Ok("sub/c.md sub/deep/")),
        ("{a,b}.md", Ok("a.md b.md")),
        ("?.md", Ok("a.md b.md")),
        ("[ab].*", Ok("a.md b.md")),
        ("*", Ok(".hidden a.md b.md empty/ in/ link.md sub/ x y.md")),
        ("in/**", Ok("in/c.md in/deep/ in/deep/d.rs")),
        ("nowhere/**", Ok("")),
        ("out/*", Err("file/escape")),
        ("../*", Err("path/parent")),
        ("sub/../../*", Err("path/parent")),
        ("{..,x}/*", Err("path/parent")),
        ("/etc/*", Err("path/absolute")),
        ("sub\\*.md\\x", Err("path/absolute")),
        ("[a", Err("glob/pattern")),
        ("{a", Err("glob/pattern")),
        ("", Err("glob/pattern")),
    ] {
        let (facts, completion) = bench.call("glob", &[pattern]);
        assert_eq!(outcome(&completion), expected.map(str::to_owned).map_err(str::to_owned), "{pattern}");
        assert_eq!(facts.problems.first().map(|found| found.rule.as_str()), expected.err(), "{pattern}");
    }
    for pattern in
        ["{".repeat(100), "**/".repeat(150), "{a,b}".repeat(90), "[a-z]*".repeat(80), "*".repeat(500)]
    {
        // However it is built, it comes to an end.
        let _ = bench.call("glob", &[&pattern]);
    }
}

/// Matches as `path:line`, and whether there is more.
fn matches(completion: &Completion) -> (String, bool, f64) {
    let Completion::Done { value, .. } = completion else { panic!("{completion:?}") };
    let all = value.get("matches").and_then(Value::as_array).unwrap();
    let one = |found: &Value| {
        let number = found.get("line").and_then(Value::as_f64).unwrap();
        format!("{}:{number}", found.get("path").and_then(Value::as_str).unwrap())
    };
    let truncated = value.get("truncated") == Some(&Value::Bool(true));
    let skipped = value.get("skipped").and_then(Value::as_f64).unwrap();
    (all.iter().map(one).collect::<Vec<_>>().join(" "), truncated, skipped)
}

#[test]
fn path_with_slot_name_is_reported_without_it() {
    let bench = Bench::dir().with(&[("a.txt", "x"), ("sub/b.txt", "y"), ("out/c.txt", "z")]);
    let root = bench.root().to_str().unwrap().to_owned();
    for (method, path, inner) in [
        // NorthlandPositronics/Cogtrix#527, bytedance/deer-flow#1452, xorbitsai/xagent#2541,
        // Significant-Gravitas/AutoGPT#572: with the name of the mount. vybestack/llxprt-code#980: absolute.
        ("read", "out/a.txt", Some("a.txt")),
        ("read", "./out/a.txt", Some("a.txt")),
        ("read", "/out/a.txt", Some("a.txt")),
        ("stat", "out/sub", Some("sub")),
        ("list", "/out", Some(".")),
        ("remove", "out/sub/b.txt", Some("sub/b.txt")),
        ("read", "root/a.txt", Some("a.txt")),
        ("read", &format!("{root}/sub/b.txt"), Some("sub/b.txt")),
        ("read", "out/none.txt", None),
        ("read", "outer/a.txt", None),
        ("read", "/etc/passwd", None),
    ] {
        let (facts, _) = bench.call(method, &[path]);
        let allowed = facts.problems[0].allowed.clone().unwrap();
        let is_named =
            |inner: &str| allowed == format!("{inner:?}: paths begin inside of `out`, without its name");
        match inner {
            Some(inner) => assert!(is_named(inner), "{method} {path}: {allowed}"),
            None => {
                assert!(!is_named("a.txt") && !allowed.contains("without its"), "{method} {path}: {allowed}")
            }
        }
    }
    // An entry of that name comes first.
    assert!(bench.call("read", &["out/c.txt"]).0.problems.is_empty());
}

#[test]
fn grep_finds_lines_only_in_readable_files() {
    let bench = Bench::dir()
        .with(&[("a.rs", "use x;\nfn main() {}\n"), ("sub/b.rs", "fn b() {}"), ("n.md", "no fn here\nFN\n")])
        .with(&[(".env", "fn KEY=1"), ("bin.rs", "fn\0"), ("sub/.ssh/config", "fn")])
        .linked(&[("out", "../outside"), ("leak.rs", "../outside/canary.md"), ("in.rs", "a.rs")]);
    same_time(&bench.root());
    for (args, expected) in [
        (&["fn "][..], Ok(("a.rs:2 n.md:1 sub/b.rs:1", false, 2.0))),
        (&["(?i)^fn"], Ok(("a.rs:2 n.md:2 sub/b.rs:1", false, 2.0))),
        (&["fn", "sub"], Ok(("sub/b.rs:1", false, 0.0))),
        (&["fn", "a.rs"], Ok(("a.rs:2", false, 0.0))),
        (&["fn", "in.rs"], Ok(("in.rs:2", false, 0.0))),
        (&["fn", ".", "*.md"], Ok(("n.md:1", false, 0.0))),
        (&["fn", ".", "sub/*.rs"], Ok(("sub/b.rs:1", false, 0.0))),
        // By its own name it is searched: whether that may be is said by its name.
        (&["fn", ".env"], Ok((".env:1", false, 0.0))),
        (&["canary"], Ok(("", false, 2.0))),
        (&["fn", "out"], Err("file/escape")),
        (&["fn", "leak.rs"], Err("file/escape")),
        (&["fn", "none"], Err("file/missing")),
        (&["fn", ".."], Err("path/parent")),
        (&["(", "."], Err("grep/pattern")),
        (&["(?=x)"], Err("grep/pattern")),
        (&["fn", ".", "../*"], Err("path/parent")),
    ] {
        let (facts, completion) = bench.call("grep", args);
        match expected {
            Ok((found, truncated, skipped)) => {
                assert_eq!(matches(&completion), (found.to_owned(), truncated, skipped), "{args:?}");
            }
            Err(rule) => assert_eq!(outcome(&completion), Err(rule.to_owned()), "{args:?}"),
        }
        assert_eq!(facts.problems.first().map(|found| found.rule.as_str()), expected.err(), "{args:?}");
    }
    // Every file that is searched is named, so that each is judged as one that is read.
    let facts = bench.open().facts("grep", &texts(&["fn"]));
    let named: Vec<&str> = facts.paths.iter().map(|path| path.path.as_str()).collect();
    assert_eq!(named, ["", "a.rs", "bin.rs", "n.md", "sub/b.rs"]);
}

#[test]
fn grep_is_bounded() {
    let bench = Bench::dir().with(&[("a.txt", &"x".repeat(200_000)), ("many.md", &"hit\n".repeat(1000))]);
    let three = [Value::from("hit"), Value::Undefined, Value::Undefined, Value::number(3.0)];
    assert_eq!(
        matches(&bench.call_with("grep", &three).1),
        ("many.md:1 many.md:2 many.md:3".to_owned(), true, 0.0)
    );
    let (found, truncated, _) = matches(&bench.call("grep", &["hit"]).1);
    assert_eq!((found.split(' ').count(), truncated), (100, true));
    // Expressions that grow without bound are refused, those that take long elsewhere do not here.
    for (pattern, is_read) in [("(x+x+)+y", true), ("(a{1000}){1000}", false), ("((((x*)*)*)*)*$", true)] {
        assert_eq!(outcome(&bench.call("grep", &[pattern]).1).is_ok(), is_read, "{pattern}");
    }
    let shown = outcome(&bench.call("grep", &["x", "a.txt"]).1).unwrap();
    assert!(shown.len() < 2000, "a long line is cut: {}", shown.len());
}

#[test]
fn stat_reports_kind_and_digest() {
    let bench = bench();
    for (path, expected) in [
        ("a.md", Ok("file")),
        ("link.md", Ok("file")),
        ("sub", Ok("directory")),
        ("in", Ok("directory")),
        ("none", Err("file/missing")),
        ("out", Err("file/escape")),
        ("../outside", Err("path/parent")),
    ] {
        let (_, completion) = bench.call("stat", &[path]);
        match (&completion, expected) {
            (Completion::Done { value, .. }, Ok(kind)) => {
                assert_eq!(value.get("kind").and_then(Value::as_str), Some(kind), "{path}");
                assert_eq!(value.get("digest").is_some(), kind == "file", "{path}");
                assert!(value.get("modified_ms").and_then(Value::as_f64).unwrap() > 1e12, "{path}");
            }
            (_, Err(rule)) => assert_eq!(outcome(&completion), Err(rule.to_owned()), "{path}"),
            (other, Ok(_)) => panic!("{path}: {other:?}"),
        }
    }
}
