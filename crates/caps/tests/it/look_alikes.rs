//! Lookups of names that are there in another form.

use std::fs;

use crate::bench::{Bench, outcome, texts};

/// Returns the message and the advice of the first problem of a call.
fn problem(bench: &Bench, method: &str, args: &[&str]) -> (String, String, String) {
    let (facts, completion) = bench.call(method, args);
    let found = facts.problems.first().cloned().unwrap_or_else(|| match completion {
        kernel::run::Completion::Failed(finding) => finding,
        kernel::run::Completion::Refused(findings) => findings[0].clone(),
        done => panic!("{method} {args:?}: {done:?}"),
    });
    (found.rule, found.message, found.allowed.unwrap())
}

/// Reports of others: `anthropics/claude-code#59381`, `earendil-works/pi#8877`, `mpfaffenberger/code_puppy#911`.
#[test]
fn missing_path_names_the_one_that_differs_only_in_form() {
    let files = [
        ("cafe\u{301}.txt", "é"),
        ("Screenshot 2026-04-15 at 1.01.11\u{202f}AM.png", "x"),
        ("Snímek v\u{a0}13.05.md", "x"),
        ("two  spaces.md", "x"),
        ("README.md", "x"),
        ("Docs/Guide\u{2019}s.md", "x"),
        ("1999\u{2013}2001.csv", "x"),
        ("zero\u{200b}width.md", "x"),
        ("\u{ff21}\u{ff22}.txt", "x"),
        ("end .md", "x"),
    ];
    for (path, exact, difference) in [
        ("café.txt", r#""cafe\u0301.txt""#, "Unicode form"),
        (
            "Screenshot 2026-04-15 at 1.01.11 AM.png",
            r#""Screenshot 2026-04-15 at 1.01.11\u202fAM.png""#,
            "spaces",
        ),
        ("Snímek v 13.05.md", r#""Sn\u00edmek v\u00a013.05.md""#, "spaces"),
        ("two spaces.md", r#""two  spaces.md""#, "spaces"),
        ("readme.md", r#""README.md""#, "upper and lower case"),
        (
            "docs/guide's.md",
            r#""Docs/Guide\u2019s.md""#,
            "case, spaces, Unicode form or look-alike characters",
        ),
        ("1999-2001.csv", r#""1999\u20132001.csv""#, "dashes or quotation marks"),
        ("zerowidth.md", r#""zero\u200bwidth.md""#, "invisible characters"),
        ("AB.txt", r#""\uff21\uff22.txt""#, "width or style of its characters"),
        ("slot/README.md", r#""README.md": paths begin inside of `slot`, without its name"#, ""),
    ] {
        let mut bench = Bench::dir().with(&files);
        bench.grant.slot = "slot".to_owned();
        for (method, more) in [
            ("read", &[][..]),
            ("stat", &[]),
            ("edit", &["x", "y"]),
            ("remove", &[]),
            ("move", &["new.md"]),
            ("list", &[]),
        ] {
            let args: Vec<&str> = [path].into_iter().chain(more.iter().copied()).collect();
            let (rule, message, allowed) = problem(&bench, method, &args);
            let what = format!("{method} {path}: {message} {allowed}");
            assert!(
                rule == "file/missing" && message.contains(difference) && allowed.contains(exact),
                "{what}"
            );
        }
        // The advice, read as JSON, is a path that works.
        let exact = exact.split_once(": ").map_or(exact, |(exact, _)| exact);
        let exact: String = serde_json::from_str(exact).unwrap();
        assert!(outcome(&bench.call("read", &[&exact]).1).is_ok(), "{exact}");
    }
    let bench = Bench::dir().with(&files);
    let (_, message, _) = problem(&bench, "read", &["other.md"]);
    assert!(!message.contains("differs only"), "{message}");
}

#[test]
fn look_alike_beyond_the_grant_is_not_named() {
    let bench = Bench::dir().with(&[("A.txt", "x"), ("B.md", "x")]).attenuated(&[".md"], None);
    assert!(!problem(&bench, "read", &["a.txt"]).1.contains("A.txt"));
    assert!(problem(&bench, "read", &["b.md"]).1.contains("`B.md`"));
}

#[test]
fn new_name_that_looks_like_an_existing_one_is_refused() {
    let bench = || {
        Bench::dir().with(&[
            ("cafe\u{301}.txt", "one"),
            ("a b.md", "two"),
            ("Docs/x.md", "three"),
            ("a.md", "four"),
        ])
    };
    for (method, args, exact) in [
        ("write", &["café.txt", "x"][..], Some(r#""cafe\u0301.txt""#)),
        ("append", &["A B.md", "x"], Some(r#""a b.md""#)),
        ("write", &["a  b.md", "x"], Some(r#""a b.md""#)),
        ("write", &["docs/new.md", "x"], Some(r#""Docs/new.md""#)),
        ("make_directory", &["docs"], Some(r#""Docs""#)),
        ("move", &["a.md", "a  b.md"], Some(r#""a b.md""#)),
        // A file may change the case of its own name, and a directory is no twin of a file.
        ("move", &["a.md", "A.md"], None),
        ("write", &["docs", "x"], None),
        ("write", &["c.md", "x"], None),
        ("write", &["a b.md", "new"], None),
        ("write", &["cafe\u{301}.txt", "new"], None),
    ] {
        let bench = bench();
        let facts = bench.open().facts(method, &texts(args));
        let rule = facts.problems.first().map(|found| (found.rule.as_str(), found.allowed.clone().unwrap()));
        match (exact, rule) {
            (None, None) => assert!(outcome(&bench.call(method, args).1).is_ok(), "{method} {args:?}"),
            (Some(exact), Some(("dir/look-alike", allowed))) => {
                assert!(allowed.contains(exact), "{method} {args:?}: {allowed}");
            }
            (exact, found) => panic!("{method} {args:?}: {exact:?} {found:?}"),
        }
    }
}

#[test]
fn existing_file_with_an_invisible_name_can_be_changed() {
    let name = "9.00\u{202f}AM.md";
    let bench = Bench::dir().with(&[(name, "one")]);
    for (method, args, text) in [
        ("edit", &[name, "one", "two"][..], "two"),
        ("append", &[name, "!"], "two!"),
        ("write", &[name, "three"], "three"),
    ] {
        outcome(&bench.call(method, args).1).unwrap_or_else(|rule| panic!("{method}: {rule}"));
        assert_eq!(bench.text(name), text);
    }
    fs::remove_file(bench.root().join(name)).unwrap();
    for (method, args) in [("write", &[name, "x"][..]), ("append", &[name, "x"]), ("make_directory", &[name])]
    {
        assert_eq!(outcome(&bench.call(method, args).1), Err("path/invisible".to_owned()), "{method}");
        assert_eq!(fs::read_dir(bench.root()).unwrap().count(), 0);
    }
}

#[test]
fn absolute_path_within_the_directory_is_answered_with_the_relative_one() {
    let bench = Bench::dir().with(&[("sub/a b.md", "x")]);
    let path = bench.root().join("sub/a b.md");
    let path = path.to_str().unwrap();
    for (path, advice) in [(path, "\"sub/a b.md\""), ("/etc/passwd", "a path relative to")] {
        let (rule, _, allowed) = problem(&bench, "read", &[path]);
        assert!(rule == "path/absolute" && allowed.contains(advice), "{path}: {allowed}");
    }
}
