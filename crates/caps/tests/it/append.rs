//! `append`: adds a text to the shown content exactly once, even after a crash.

use caps::{Probe, Settled, settle};
use kernel::id::BlobHash;
use kernel::proposal::Pin;
use kernel::run::Completion;

use crate::bench::{Bench, outcome, step, texts};

const TEMPORARY: &str = ".almoner-r17-9-01010101.tmp";

fn pin(content: Option<&str>) -> Pin {
    let digest = content.map(|text| BlobHash::of(text.as_bytes()));
    Pin { kind: "file".into(), name: "a.md".into(), digest }
}

#[test]
fn append_adds_text_only_inside_the_directory() {
    let bench = Bench::dir().with(&[("old.md", "old"), ("sub/x.md", "x")]).linked(&[
        ("link.md", "old.md"),
        ("out.md", "../outside/canary.md"),
        ("inside", "sub"),
    ]);
    let before = bench.others();
    for (path, expected) in [
        ("old.md", Ok("old, new")),
        ("old.md", Ok("old, new, new")),
        ("new.md", Ok(", new")),
        ("a/b/new.md", Ok(", new")),
        ("sub", Err("file/directory")),
        ("link.md", Err("file/link")),
        ("inside/x.md", Err("file/link")),
        ("out.md", Err("file/link")),
        ("../outside/canary.md", Err("path/parent")),
        (".almoner-r1-1.tmp", Err("path/reserved")),
    ] {
        let (facts, completion) = bench.call("append", &[path, ", new"]);
        assert_eq!(outcome(&completion).map(drop), expected.map(drop).map_err(str::to_owned), "{path}");
        let problem = facts.problems.first().map(|finding| finding.rule.as_str());
        assert_eq!(problem, expected.err(), "{path}");
        if let Ok(text) = expected {
            assert_eq!(bench.text(path), text);
            let Completion::Done { value, .. } = completion else { panic!("done") };
            let digest = value.get("digest").and_then(kernel::Value::as_str).unwrap().to_owned();
            assert_eq!(digest, BlobHash::of(text.as_bytes()).to_string(), "the whole file's");
        }
        assert!(!bench.names().iter().any(|name| name.starts_with(".almoner-")), "{:?}", bench.names());
        assert_eq!(bench.others(), before);
    }
}

#[test]
fn append_limits_apply_to_the_whole_file() {
    let bench = Bench::dir().attenuated(&[".md"], Some(5)).with(&[("a.md", "abcd"), ("a.txt", "a")]);
    for (path, text, expected) in [
        ("a.md", "ef", Err("dir/size")),
        ("a.txt", "b", Err("dir/suffix")),
        ("a.md", "e", Ok(())),
        ("a.md", "f", Err("dir/size")),
        ("b.md", "abcdef", Err("dir/size")),
    ] {
        let (facts, completion) = bench.call("append", &[path, text]);
        assert_eq!(outcome(&completion).map(drop), expected.map_err(str::to_owned), "{path} {text}");
        assert_eq!(
            facts.problems.first().map(|finding| finding.rule.as_str()),
            expected.err(),
            "{path} {text}"
        );
    }
    assert_eq!(bench.text("a.md"), "abcde");
}

/// Checks the outcome for the files that a crash has left; `done` is `None` if only the user can tell.
#[track_caller]
fn crash(left: &[(&str, &str)], pinned: Option<&str>, done: Option<bool>, after: &str) {
    let bench = Bench::dir().with(left);
    let begun = || bench.begun(step(9), "append", &texts(&["a.md", "++"]), [pin(pinned)].into(), true);
    let probe = bench.open().probe(&begun());
    match done {
        None => assert_eq!(probe, Probe::Unknown, "{left:?}"),
        Some(true) => assert!(matches!(probe, Probe::Done { .. }), "{left:?}: {probe:?}"),
        Some(false) => assert_eq!(probe, Probe::NotDone, "{left:?}"),
    }
    let settled = settle(&*bench.open(), &begun());
    assert_eq!(matches!(settled, Settled::Unknown), done.is_none(), "{left:?}");
    assert_eq!(bench.text("a.md"), after, "{left:?}");
}

#[test]
fn crashed_append_is_settled_without_adding_twice() {
    crash(&[("a.md", "old")], Some("old"), Some(false), "old++");
    crash(&[("a.md", "old"), (TEMPORARY, "old+")], Some("old"), Some(false), "old++");
    crash(&[("a.md", "old++"), (TEMPORARY, "old")], Some("old"), Some(true), "old++");
    crash(&[("a.md", "old++")], Some("old"), Some(true), "old++");
    crash(&[("a.md", "++")], None, Some(true), "++");
    // The old content ended in the same text; the pin tells the two apart.
    crash(&[("a.md", "old++")], Some("old++"), Some(false), "old++++");
    crash(&[("a.md", "old++++")], Some("old++"), Some(true), "old++++");
    // Torn, or changed by somebody else since: a person is asked.
    crash(&[("a.md", "old+")], Some("old"), None, "old+");
    crash(&[("a.md", "old++ and more")], Some("old"), None, "old++ and more");
    crash(&[("a.md", "theirs")], None, None, "theirs");
}

#[test]
fn append_refuses_files_changed_since_shown() {
    for (there, pinned) in [("theirs", Some("old")), ("theirs", None)] {
        let bench = Bench::dir().with(&[("a.md", there)]);
        let begun = bench.begun(step(9), "append", &texts(&["a.md", "++"]), [pin(pinned)].into(), false);
        let told = outcome(&bench.open().perform(&begun)).map(drop);
        assert_eq!(told, Err("dir/changed".to_owned()));
        assert_eq!(bench.text("a.md"), there);
    }
    let bench = Bench::read_only().with(&[("a.md", "a")]);
    assert_eq!(outcome(&bench.call("append", &["a.md", "++"]).1).map(drop), Err("dir/read-only".to_owned()));
}
