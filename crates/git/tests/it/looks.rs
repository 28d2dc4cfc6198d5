//! Tests of the reports on a repository.

use git::{Call, DiffSides};
use serde_json::json;

use crate::test_repository::TestRepository;

fn log(range: Option<&str>, path: Option<&str>, skip: u64, most: u64) -> Call {
    Call::Log { range: range.map(str::to_owned), path: path.map(str::to_owned), skip, most }
}

fn diff(between: DiffSides, path: Option<&str>) -> Call {
    Call::Diff { between, path: path.map(str::to_owned), offset: 0 }
}

fn show(revision: &str, path: Option<&str>) -> Call {
    Call::Show { revision: revision.to_owned(), path: path.map(str::to_owned), offset: 0 }
}

#[test]
fn status_lists_staged_changed_and_new_files() {
    let yard = TestRepository::new();
    yard.write("a.txt", "one\n");
    yard.write("new.txt", "new\n");
    yard.write("src/d.rs", "d\n");
    yard.git(&["add", "src/d.rs"]);
    let told = yard.value(Call::Status);
    assert_eq!(told["branch"], "main");
    assert_eq!(told["head"], yard.git(&["rev-parse", "HEAD"]));
    assert_eq!(told["staged"], json!([{ "path": "src/d.rs", "change": "new" }]));
    assert_eq!(told["changed"], json!([{ "path": "a.txt", "change": "changed" }]));
    assert_eq!((&told["untracked"], &told["truncated"]), (&json!(["new.txt"]), &json!(false)));
    let told = TestRepository::empty().value(Call::Status);
    assert_eq!((&told["branch"], &told["head"]), (&json!("main"), &json!(null)));
}

#[test]
fn log_lists_commits_and_the_next_page() {
    let yard = TestRepository::new();
    let messages = |call: Call| -> Vec<String> {
        let told = yard.value(call);
        let all = told["commits"].as_array().unwrap();
        all.iter().map(|commit| commit["message"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(messages(log(None, None, 0, 20)), ["Second", "First\n\nWith a body."]);
    assert_eq!(messages(log(None, Some("a.txt"), 0, 20)), ["First\n\nWith a body."]);
    assert_eq!(messages(log(Some("HEAD~1..HEAD"), None, 0, 20)), ["Second"]);
    assert_eq!(messages(log(Some("HEAD~1"), None, 0, 20)), ["First\n\nWith a body."]);
    let first = yard.value(log(None, None, 0, 1));
    assert_eq!(
        (&first["truncated"], &first["next"]),
        (&json!(true), &json!("to read on: the same call, skip: 1"))
    );
    assert_eq!(first["commits"][0]["author"], "Ada <ada@example.org>");
    assert_eq!(messages(log(None, None, 1, 1)), ["First\n\nWith a body."]);
    assert_eq!(TestRepository::empty().value(log(None, None, 0, 5))["commits"], json!([]));
    for bad in ["nowhere", "HEAD:a.txt", "a..b", "HEAD...HEAD", ""] {
        assert_eq!(yard.refused(log(Some(bad), None, 0, 5)), "git/revision", "{bad}");
    }
}

#[test]
fn differences_match_git() {
    let yard = TestRepository::new();
    yard.write("a.txt", "one\nzwei\n");
    yard.git(&["add", "a.txt"]);
    yard.write("src/b.rs", "fn b() {}\n");
    let revisions = |from: &str, to: Option<&str>| DiffSides::Revisions {
        from: from.to_owned(),
        to: to.map(str::to_owned),
    };
    for (between, path, words) in [
        (DiffSides::Worktree, None, &["diff"][..]),
        (DiffSides::Staged, None, &["diff", "--cached"]),
        (revisions("HEAD~1", Some("HEAD")), None, &["diff", "HEAD~1", "HEAD"]),
        (revisions("HEAD", None), None, &["diff", "HEAD"]),
        (revisions("HEAD", None), Some("src"), &["diff", "HEAD", "--", "src"]),
        (DiffSides::Worktree, Some("a.txt"), &["diff", "--", "a.txt"]),
    ] {
        let told = yard.value(diff(between, path));
        let mut words = words.to_vec();
        words.insert(1, "--abbrev=12");
        assert_eq!(told["text"].as_str().unwrap().trim_end(), yard.git(&words), "{words:?}");
        assert_eq!(told["truncated"], false);
    }
}

#[test]
fn long_text_is_returned_in_parts() {
    let yard = TestRepository::new();
    let long: String = (0..20_000).map(|line| format!("line {line}\n")).collect();
    yard.write("a.txt", &long);
    let first = yard.value(diff(DiffSides::Worktree, None));
    assert_eq!(first["truncated"], true);
    let to = first["to"].as_u64().unwrap();
    assert!(to <= git::MOST_TEXT as u64 && first["next"].as_str().unwrap().contains(&to.to_string()));
    let mut all = first["text"].as_str().unwrap().to_owned();
    let mut offset = to;
    loop {
        let part = yard.value(Call::Diff { between: DiffSides::Worktree, path: None, offset });
        all += part["text"].as_str().unwrap();
        offset = part["to"].as_u64().unwrap();
        if part["truncated"] == false {
            break;
        }
    }
    assert_eq!(all.trim_end(), yard.git(&["diff", "--abbrev=12"]));
}

#[test]
fn show_returns_commits_and_old_files() {
    let yard = TestRepository::new();
    let told = yard.ask(show("HEAD", None)).unwrap();
    assert!(told.value["text"].as_str().unwrap().contains("+fn c() {}"));
    assert_eq!(told.value["commit"]["message"], "Second");
    assert_eq!(told.paths, ["src/b.rs"]);
    let told = yard.ask(show("HEAD~1", Some("src/b.rs"))).unwrap();
    assert_eq!((&told.value["text"], told.paths), (&json!("fn b() {}\n"), vec!["src/b.rs".to_owned()]));
    assert_eq!(yard.value(show("HEAD", Some("src")))["names"], json!(["b.rs"]));
    for (revision, path, rule) in [
        ("HEAD", Some("gone"), "git/missing"),
        ("HEAD", Some("../x"), "git/path"),
        ("HEAD", Some(".git/config"), "git/path"),
        ("HEAD:a.txt", None, "git/revision"),
        ("nowhere", None, "git/revision"),
    ] {
        assert_eq!(yard.refused(show(revision, path)), rule, "{revision} {path:?}");
    }
}

#[test]
fn blame_names_the_commit_of_each_line() {
    let yard = TestRepository::new();
    let blame = |from, lines| Call::Blame { path: "src/b.rs".to_owned(), from, lines };
    let told = yard.value(blame(1, 10));
    let (first, second) = (yard.git(&["rev-parse", "HEAD~1"]), yard.git(&["rev-parse", "HEAD"]));
    let lines: Vec<&str> = told["text"].as_str().unwrap().lines().collect();
    assert!(lines[0].starts_with(&first[..12]) && lines[0].ends_with("1: fn b() {}"), "{lines:?}");
    assert!(lines[1].starts_with(&second[..12]) && lines[1].contains("Ada "), "{lines:?}");
    let told = yard.value(blame(1, 1));
    assert_eq!((&told["to"], &told["total"], &told["truncated"]), (&json!(1), &json!(2), &json!(true)));
    assert_eq!(yard.refused(blame(3, 1)), "git/range");
}

#[test]
fn key_anywhere_in_a_shown_file_is_reported() {
    let yard = TestRepository::new();
    let text: String = (0..20_000).map(|line| format!("line {line}\n")).collect();
    yard.write("a.txt", &format!("KEY-\n{text}"));
    yard.git(&["commit", "-qam", "Third"]);
    yard.write("a.txt", &format!("KEY-\n{text}more\n"));
    let offset = 100_000;
    let show = |revision: &str, path: Option<&str>| Call::Show {
        revision: revision.to_owned(),
        path: path.map(str::to_owned),
        offset: if revision == "HEAD" { offset } else { 0 },
    };
    let blame = |path: &str, from| Call::Blame { path: path.to_owned(), from, lines: 1 };
    for (call, has_key) in [
        (show("HEAD", Some("a.txt")), true),
        (show("HEAD", None), true),
        (show("HEAD~1", Some("a.txt")), false),
        (show("HEAD~1", None), false),
        (blame("a.txt", 19_000), true),
        (blame("src/b.rs", 1), false),
        // The key stands on no line that is shown.
        (diff(DiffSides::Worktree, None), true),
        (diff(DiffSides::Worktree, Some("src")), false),
        (diff(DiffSides::Revisions { from: "HEAD".to_owned(), to: None }, None), true),
        (diff(DiffSides::Staged, None), false),
    ] {
        let shown = format!("{call:?}");
        let answer = yard.ask(call).unwrap();
        assert_eq!(answer.key.is_some(), has_key, "{shown}");
        if shown.contains("offset: 100000") || shown.contains("Blame") || shown.contains("Diff") {
            assert!(!answer.value["text"].as_str().unwrap().contains("KEY-"), "{shown}");
        }
    }
    // Once it is staged, the new side has an object.
    yard.git(&["add", "a.txt"]);
    assert!(yard.ask(diff(DiffSides::Staged, None)).unwrap().key.is_some());
}

#[test]
fn branches_mark_the_checked_out_one() {
    let yard = TestRepository::new();
    yard.git(&["branch", "topic", "HEAD~1"]);
    let told = yard.value(Call::Branches);
    let all: Vec<_> = told["branches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].clone(), one["current"].clone()))
        .collect();
    assert_eq!(all, [(json!("main"), json!(true)), (json!("topic"), json!(false))]);
}
