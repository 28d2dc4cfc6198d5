//! `glob` and `grep` in trees as people have them: names with brackets, repositories, many files, unreadable parts.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use kernel::proposal::Value;
use kernel::run::Completion;

use crate::bench::{Bench, is_root, outcome, parts, set_time};

fn glob(bench: &Bench, pattern: &str) -> String {
    outcome(&bench.call("glob", &[pattern]).1).unwrap_or_else(|rule| rule)
}

/// Returns the words of a search, its matches as `path:line`, and the place to go on.
fn grep(bench: &Bench, args: &[Value]) -> (String, String, Option<String>) {
    let Completion::Done { value, .. } = bench.call_with("grep", args).1 else { panic!("{args:?}") };
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let matches = value.get("matches").and_then(Value::as_array).unwrap().iter().map(|found| {
        let line = found.get("line").and_then(Value::as_f64).unwrap();
        format!("{}:{line}", found.get("path").and_then(Value::as_str).unwrap())
    });
    let truncated = value.get("truncated") == Some(&Value::Bool(true));
    let answer = text("answer").unwrap();
    assert_eq!(answer.starts_with("partial: "), truncated, "{answer}");
    (answer, matches.collect::<Vec<_>>().join(" "), text("next"))
}

/// Arguments of `grep`: the pattern, the place to go on, and the number of matches.
fn args(pattern: &str, after: Option<&str>, most: f64) -> Vec<Value> {
    let after = after.map_or(Value::Undefined, Value::from);
    vec![Value::from(pattern), Value::Undefined, Value::Undefined, Value::number(most), after]
}

/// Reports of others: `githubnext/copilot-workspace-user-manual#79`, `sambernhardt/uifork#3`,
/// `serverless-nextjs/serverless-next.js#99`, `vercel/next.js#88660`.
#[test]
fn brackets_and_braces_in_names_are_matched_literally_too() {
    let files = [
        ("app/[id]/page.txt", ""),
        ("app/i/page.txt", ""),
        ("app/[...slug]/a.txt", ""),
        ("app/[[...all]]/b.txt", ""),
        ("app/(group)/c.txt", ""),
        ("app/{x}/d.txt", ""),
        ("app/x/d.txt", ""),
        ("app/[user-id]/e.txt", ""),
        ("app/@modal/f.txt", ""),
        ("app/what?.txt", ""),
    ];
    let bench = Bench::dir().with(&files);
    for (path, _) in files {
        set_time(&bench.root().join(path), 1);
    }
    for (pattern, expected) in [
        ("app/[id]/*.txt", "app/[id]/page.txt app/i/page.txt"),
        ("app/[id]/page.txt", "app/[id]/page.txt app/i/page.txt"),
        (r"app/\[id\]/*.txt", "app/[id]/page.txt"),
        ("**/[id]/*", "app/[id]/page.txt app/i/page.txt"),
        ("app/[...slug]/*", "app/[...slug]/a.txt"),
        ("app/[[...all]]/*.txt", "app/[[...all]]/b.txt"),
        ("app/(group)/*", "app/(group)/c.txt"),
        (r"app/\(group\)/*", "app/(group)/c.txt"),
        ("app/{x}/*", "app/x/d.txt app/{x}/d.txt"),
        (r"app/\{x\}/d.txt", "app/{x}/d.txt"),
        ("app/[user-id]/*", "app/[user-id]/e.txt"),
        ("app/@modal/*", "app/@modal/f.txt"),
        (r"app/what\?.txt", "app/what?.txt"),
        ("app/{i,x}/*.txt", "app/i/page.txt app/x/d.txt"),
        ("app/[id", "glob/pattern"),
        (r"app\i\page.txt", "path/absolute"),
    ] {
        assert_eq!(glob(&bench, pattern), expected, "{pattern}");
    }
    let within = [Value::from("^"), Value::Undefined, Value::from("app/[id]/*.txt")];
    assert!(grep(&bench, &within).0.contains("2 files searched"));
}

#[test]
fn glob_without_a_match_names_look_alikes() {
    let bench = Bench::dir().with(&[("Docs/README.md", ""), ("cafe\u{301}.txt", ""), ("a\u{202f}b.md", "")]);
    for (pattern, similar) in [
        ("**/readme.md", "`Docs/README.md`"),
        ("docs/*.md", "`Docs/`"),
        ("café.*", "`cafe\u{301}.txt`"),
        ("a b.md", r"`a\u{202F}b.md`"),
    ] {
        let (answer, paths, _) = parts(&bench.call("glob", &[pattern]).1, "paths");
        assert!(paths.is_empty() && answer.starts_with("complete: 0 paths match. "), "{answer}");
        assert!(
            answer.contains("differ only in case, spaces or Unicode form") && answer.contains(similar),
            "{answer}"
        );
    }
    assert_eq!(glob(&bench, "**/other.md"), "");
}

/// Reports of others: `apache/maka#5597`, `mpfaffenberger/code_puppy#904`.
#[test]
fn long_answers_go_on_at_a_cursor_newest_first() {
    let bench = Bench::dir();
    let count = 2300u64;
    for at in 0..count {
        let path = bench.root().join(format!("{at:05}.txt"));
        fs::write(&path, "hit\nmiss\nhit\n").unwrap();
        // Several files have the same time, as after a checkout.
        set_time(&path, 1000 + at / 3);
    }
    let (mut seen, mut after, mut calls) = (Vec::new(), None, 0);
    loop {
        let args: Vec<&str> = ["**/*.txt"].into_iter().chain(after.as_deref()).collect();
        let (answer, paths, next) = parts(&bench.call("glob", &args).1, "paths");
        assert_eq!(answer.starts_with("partial: 1000 of the 2300 paths match"), next.is_some(), "{answer}");
        seen.extend(paths.split(' ').map(str::to_owned));
        calls += 1;
        // A file that appears meanwhile is newer, and moves nothing.
        fs::write(bench.root().join(format!("new{calls}.md")), "").unwrap();
        match next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let mut expected: Vec<String> = (0..count).map(|at| format!("{at:05}.txt")).collect();
    expected.sort_by_key(|name| (std::cmp::Reverse(name[..5].parse::<u64>().unwrap() / 3), name.clone()));
    assert_eq!((seen, calls), (expected.clone(), 3));
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let (answer, matches, next) = grep(&bench, &args("hit", after.as_deref(), 499.0));
        found.extend(matches.split(' ').map(str::to_owned));
        match next {
            Some(next) => {
                assert!(answer.starts_with("partial: 499 matching lines, newest files first; "), "{answer}");
                after = Some(next);
            }
            None => break,
        }
    }
    let wanted: Vec<String> =
        expected.iter().flat_map(|name| [format!("{name}:1"), format!("{name}:3")]).collect();
    assert_eq!(found, wanted);
    // An answer with long paths and lines has fewer of them, so that a model reads all of it.
    let long = Bench::dir();
    fs::create_dir(long.root().join("d".repeat(200))).unwrap();
    for at in 0..400 {
        let name = format!("{}/{at:03}{}.txt", "d".repeat(200), "x".repeat(40));
        fs::write(long.root().join(name), "hit".repeat(90)).unwrap();
    }
    let (_, paths, next) = parts(&long.call("glob", &["**/*.txt"]).1, "paths");
    assert!(paths.len() < 50_000 && next.is_some(), "{}", paths.len());
    let (_, matches, next) = grep(&long, &args("hit", None, 400.0));
    assert!(matches.split(' ').count() < 100 && next.is_some());
    // Exactly as many as fit is complete.
    let exact = Bench::dir().with(&[("a.txt", "hit\nhit\n"), ("b.txt", "no\n")]);
    assert_eq!(grep(&exact, &args("hit", None, 2.0)).2, None);
    assert!(grep(&exact, &args("hit", None, 1.0)).2.is_some());
}

/// Reports of others: `modelcontextprotocol/servers#2219`, `bytedance/UI-TARS-desktop#1258`, `bytedance/deer-flow#5427`.
#[test]
fn repositories_are_searched_without_builds_and_dependencies() {
    let bench = Bench::dir().with(&[
        (".gitignore", "/dist/\n*.log\n!keep.log\n"),
        ("src/main.rs", "needle"),
        ("src/a.log", "needle"),
        ("src/keep.log", "needle"),
        ("src/.gitignore", "generated.rs\n"),
        ("src/generated.rs", "needle"),
        ("dist/out.js", "needle"),
        ("web/dist/in.js", "needle"),
        ("web/node_modules/x/index.js", "needle"),
        (".git/objects/aa", "needle"),
        ("target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55"),
        ("target/debug/out.txt", "needle"),
        ("venv/pyvenv.cfg", "home = /usr/bin"),
        ("venv/lib/x.py", "needle"),
    ]);
    let (answer, matches, _) = grep(&bench, &[Value::from("needle")]);
    let mut found: Vec<&str> = matches.split(' ').collect();
    found.sort_unstable();
    assert_eq!(found, ["src/keep.log:1", "src/main.rs:1", "web/dist/in.js:1"]);
    for left in ["`.git/`", "`dist/`", "`target/`", "`src/a.log`", "7 files and directories were left out"] {
        assert!(answer.contains(left), "{left}: {answer}");
    }
    let all = [
        Value::from("needle"),
        Value::Undefined,
        Value::Undefined,
        Value::Undefined,
        Value::Undefined,
        Value::Bool(true),
    ];
    assert_eq!(grep(&bench, &all).1.split(' ').count(), 10);
    // A place that the call names is searched whatever it is.
    for (place, count) in [("dist", 1), ("web/node_modules", 1), ("target", 1), (".git", 1), ("src/a.log", 1)]
    {
        let (_, matches, _) = grep(&bench, &[Value::from("needle"), Value::from(place)]);
        assert_eq!(matches.split(' ').filter(|found| !found.is_empty()).count(), count, "{place}");
    }
    let (answer, paths, _) = parts(&bench.call("glob", &["**/*.js"]).1, "paths");
    assert_eq!(paths, "web/dist/in.js");
    assert!(answer.contains("`web/node_modules/`"), "{answer}");
    assert_eq!(glob(&bench, "dist/*.js"), "dist/out.js");
    assert_eq!(outcome(&bench.call("list", &[]).1).unwrap().split(' ').count(), 7, "`list` shows everything");
}

#[test]
fn glob_looks_into_no_directory_of_keys_unless_it_begins_there() {
    let bench = Bench::dir().with(&[("src/main.rs", ""), ("src/secrets/find.rs", ""), (".ssh/config", "")]);
    let (answer, paths, _) = parts(&bench.call("glob", &["**/*.rs"]).1, "paths");
    assert_eq!(paths, "src/main.rs");
    assert!(
        answer.contains("2 directories were not looked into") && answer.contains("`src/secrets/`"),
        "{answer}"
    );
    assert_eq!(glob(&bench, "src/secrets/*.rs"), "src/secrets/find.rs");
    // The gates judge each directory whose names are read.
    let seen = |pattern: &str| -> Vec<String> {
        let paths = bench.open().facts("glob", &[Value::from(pattern)]).paths;
        paths.into_iter().map(|path| path.path).collect()
    };
    assert_eq!(seen("**/*.rs"), ["", "src"]);
    assert_eq!(seen("src/secrets/*.rs"), ["src/secrets"]);
}

/// Reports of others: `sharkdp/fd#295`, `GitJournal/GitJournal#926`, `he-yufeng/CoreCoder#15`, `Canop/broot#1094`,
/// `s3tools/s3cmd#803`.
#[test]
fn entries_that_a_search_leaves_out_are_counted() {
    let bench = Bench::dir().with(&[
        ("a.txt", "hit"),
        ("x\ny.txt", "hit"),
        ("tab\there.txt", "hit"),
        ("sub/back\\slash.txt", "hit"),
        ("bin", "hit\0"),
        ("locked/in.txt", "hit"),
        ("big.txt", &"hit and more\n".repeat(400_000)),
    ]);
    fs::write(bench.root().join(std::ffi::OsStr::from_bytes(b"latin-\xe9.txt")), "hit").unwrap();
    fs::write(bench.root().join("latin.txt"), b"hit \xe9").unwrap();
    std::os::unix::fs::symlink("loop", bench.root().join("loop")).unwrap();
    let locked = bench.root().join("locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let (answer, matches, _) = grep(&bench, &[Value::from("hit")]);
    let (globbed, _, _) = parts(&bench.call("glob", &["**/*.txt"]).1, "paths");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(matches.contains("a.txt:1") && !matches.contains("latin"), "{matches}");
    for said in [
        "4 names cannot be shown",
        r"`sub/back\slash.txt`",
        r"`x\u{A}y.txt`",
        r"`latin-\xe9.txt`",
        "2 files were not searched: they are not UTF-8 text",
        "1 file was not searched: it is too large (name it as `path` to search it): `big.txt`",
    ] {
        assert!(answer.contains(said), "{said}: {answer}");
    }
    assert!(globbed.contains("4 names cannot be shown"), "{globbed}");
    if !is_root() {
        assert!(
            answer.contains("1 file or directory cannot be read") && answer.contains("`locked/`"),
            "{answer}"
        );
        assert!(globbed.contains("`locked/`"), "{globbed}");
    }
    let named = [Value::from("hit"), Value::from("big.txt"), Value::Undefined, Value::number(1.0)];
    assert_eq!(grep(&bench, &named).1, "big.txt:1");
}
