//! Tests of the changes to a repository, and of the cases that leave it alone.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use git::Call;
use serde_json::json;

use crate::test_repository::{TRAILER, TestRepository, add, branch, commit, switch, unstage};

/// Returns everything below `.git`, to see whether anything was written.
fn inside(yard: &TestRepository) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut left = vec![yard.root().join(".git")];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => left.push(path),
                false => all.push((path.display().to_string(), std::fs::read(&path).unwrap())),
            }
        }
    }
    all.sort();
    all
}

#[test]
fn added_files_are_committed_as_shown() {
    let yard = TestRepository::new();
    yard.write("a.txt", "one\nzwei\n");
    yard.write("docs/new.md", "new\n");
    std::fs::remove_file(yard.root().join("src/b.rs")).unwrap();
    std::os::unix::fs::symlink("a.txt", yard.root().join("link")).unwrap();
    let before = inside(&yard);
    let looked = yard.ask(add(&["."])(None)).unwrap();
    assert_eq!(looked.paths, ["a.txt", "docs/new.md", "link", "src/b.rs"]);
    assert_eq!(inside(&yard), before, "whoever only looks changes nothing");
    yard.ask(add(&["."])(Some(looked.pins.clone()))).unwrap();
    // After a crash it is seen that it was done.
    assert_eq!(yard.value(Call::Settled { pinned: looked.pins })["found"], json!({ "added": looked.paths }));
    yard.change(unstage(&["docs"]));
    assert_eq!(yard.git(&["diff", "--cached", "--name-status"]), "M\ta.txt\nA\tlink\nD\tsrc/b.rs");
    let before = inside(&yard);
    let looked = yard.ask(commit("Why not")(None)).unwrap();
    assert_eq!(inside(&yard), before, "whoever only looks changes nothing");
    assert_eq!(looked.shown.unwrap().trim_end(), yard.git(&["diff", "--cached", "--abbrev=12"]));
    let head = looked.pins.iter().find(|pin| pin.kind == "head").unwrap().digest.clone();
    let find = || Call::Find { trailer: TRAILER.to_owned(), head: head.clone() };
    assert_eq!(yard.value(find()), json!({ "found": null, "certain": true }));
    let made = yard.ask(commit("Why not")(Some(looked.pins))).unwrap().value;
    assert_eq!(made["commit"], yard.git(&["rev-parse", "HEAD"]));
    assert_eq!(made["tree"], yard.git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!(
        yard.git(&["log", "-1", "--format=%B|%an <%ae>"]),
        format!("Why not\n\n{TRAILER}\n|Almoner run r1 <almoner@localhost>")
    );
    assert_eq!(yard.value(find())["found"], made);
    assert_eq!(yard.git(&["status", "--porcelain"]), "?? docs/");
    yard.git(&["fsck", "--strict"]);
    // Another branch was checked out meanwhile, so the answer is not certain.
    yard.git(&["checkout", "-q", "--orphan", "other"]);
    yard.git(&["commit", "-qm", "Elsewhere"]);
    assert_eq!(yard.value(find()), json!({ "found": null, "certain": false }));
}

#[test]
fn first_commit_is_made_and_found() {
    let yard = TestRepository::empty();
    yard.write("a", "a\n");
    yard.change(add(&["a"]));
    let looked = yard.ask(commit("First")(None)).unwrap();
    let head = looked.pins.iter().find(|pin| pin.kind == "head").unwrap().digest.clone();
    let find = || Call::Find { trailer: TRAILER.to_owned(), head: head.clone() };
    assert_eq!(yard.value(find()), json!({ "found": null, "certain": true }));
    let made = yard.ask(commit("First")(Some(looked.pins))).unwrap().value;
    assert_eq!(yard.value(find())["found"], made);
}

#[test]
fn call_with_outdated_pins_changes_nothing() {
    let yard = TestRepository::new();
    yard.write("a.txt", "eins\n");
    let looked = yard.ask(add(&["a.txt"])(None)).unwrap().pins;
    yard.write("a.txt", "evil\n");
    assert_eq!(yard.refused(add(&["a.txt"])(Some(looked))), "git/changed");
    assert_eq!(yard.git(&["diff", "--cached"]), "");
    yard.change(add(&["a.txt"]));
    let looked = yard.ask(commit("x")(None)).unwrap().pins;
    yard.write("evil", "evil\n");
    yard.git(&["add", "evil"]);
    assert_eq!(yard.refused(commit("x")(Some(looked))), "git/changed");
    let looked = yard.ask(commit("x")(None)).unwrap().pins;
    yard.git(&["commit", "-qm", "meanwhile", "src/b.rs", "--allow-empty"]);
    assert_eq!(yard.refused(commit("x")(Some(looked))), "git/changed");
    assert_eq!(yard.git(&["log", "-1", "--format=%s"]), "meanwhile");
    yard.git(&["branch", "topic"]);
    yard.git(&["reset", "-q", "--hard"]);
    let looked = yard.ask(switch("topic")(None)).unwrap().pins;
    yard.git(&["branch", "-f", "topic", "HEAD~1"]);
    assert_eq!(yard.refused(switch("topic")(Some(looked))), "git/changed");
}

#[test]
fn branch_with_a_name_that_cannot_be_shown_is_refused() {
    let yard = TestRepository::new();
    yard.git(&["checkout", "-qb", "odd"]);
    // No card could show this file, and no policy could judge it by its name.
    std::fs::write(yard.root().join(OsStr::from_bytes(b"x\xff.sh")), "x\n").unwrap();
    yard.git(&["add", "."]);
    yard.git(&["commit", "-qm", "Odd"]);
    yard.git(&["checkout", "-q", "main"]);
    assert_eq!(yard.refused(switch("odd")(None)), "git/path");
}

#[test]
fn branches_switch_without_losing_changes() {
    let yard = TestRepository::new();
    yard.change(branch("topic"));
    assert_eq!(yard.refused(branch("topic")(None)), "git/exists");
    assert_eq!(yard.refused(branch("-x..y")(None)), "git/name");
    yard.git(&["checkout", "-q", "topic"]);
    yard.write("a.txt", "topic\n");
    yard.write("only.txt", "topic\n");
    yard.git(&["add", "."]);
    yard.git(&["commit", "-qm", "Topic"]);
    yard.git(&["checkout", "-q", "main"]);
    assert_eq!(yard.refused(switch("nowhere")(None)), "git/missing");
    for (file, text) in [("a.txt", "mine\n"), ("only.txt", "mine\n")] {
        yard.write(file, text);
        assert_eq!(yard.refused(switch("topic")(None)), "git/would-lose", "{file}");
        // Also if it comes between the look and the change.
        yard.git(&["stash", "-qu"]);
        let looked = yard.ask(switch("topic")(None)).unwrap().pins;
        yard.write(file, text);
        assert_eq!(yard.refused(switch("topic")(Some(looked))), "git/would-lose", "{file}");
        assert_eq!(yard.read(file).as_deref(), Some(text));
        yard.git(&["reset", "-q", "--hard"]);
        yard.git(&["clean", "-qfd"]);
    }
    // Cut off after the files were checked out, and before the branch was: it is done again.
    for cut in ["git checkout -q topic -- a.txt only.txt", "git show topic:a.txt > a.txt"] {
        let looked = yard.ask(switch("topic")(None)).unwrap().pins;
        let done = std::process::Command::new("sh").args(["-c", cut]).current_dir(yard.root()).status();
        assert!(done.unwrap().success());
        // A first preview reports the files that are there.
        assert_eq!(yard.refused(switch("topic")(None)), "git/would-lose", "{cut}");
        yard.ask(switch("topic")(Some(looked))).unwrap();
        assert_eq!(yard.git(&["branch", "--show-current"]), "topic");
        assert_eq!(yard.git(&["status", "--porcelain"]), "", "{cut}");
        yard.git(&["checkout", "-q", "main"]);
    }
    // A file that the switch does not touch stays.
    yard.write("src/b.rs", "mine\n");
    let looked = yard.change(switch("topic"));
    assert_eq!(looked.paths, ["a.txt", "only.txt"]);
    assert_eq!(yard.git(&["branch", "--show-current"]), "topic");
    assert_eq!(
        (yard.read("a.txt").as_deref(), yard.read("src/b.rs").as_deref()),
        (Some("topic\n"), Some("mine\n"))
    );
}

#[test]
fn impossible_calls_are_refused_with_a_rule() {
    let yard = TestRepository::new();
    yard.write(".gitignore", "*.log\n");
    yard.write("x.log", "ignored\n");
    yard.write("nested/a", "a\n");
    let nested = yard.root().join("nested");
    assert!(
        std::process::Command::new("git")
            .args(["init", "-q"])
            .current_dir(nested)
            .status()
            .unwrap()
            .success()
    );
    for (paths, rule) in [
        (&["x.log"][..], "git/unchanged"),
        (&["a.txt"], "git/unchanged"),
        (&["gone"], "git/unchanged"),
        (&[], "git/path"),
        (&["/etc/passwd"], "git/path"),
        (&["../home"], "git/path"),
        (&[".git/config"], "git/path"),
        (&["nested"], "git/nested"),
        (&["*"], "git/unchanged"),
    ] {
        assert_eq!(yard.refused(add(paths)(None)), rule, "{paths:?}");
    }
    assert_eq!(yard.refused(commit("x")(None)), "git/nothing");
    yard.change(add(&[".gitignore"]));
    for hidden in ["  \n", "a\u{7}", "a\rb", "a\u{202e}b", "a\u{2066}b", "\u{200f}", "\u{9b}31m"] {
        assert_eq!(yard.refused(commit(hidden)(None)), "git/message", "{hidden:?}");
    }
    let long: String = (0..40_000).map(|line| format!("line {line}\n")).collect();
    yard.write("long", &long);
    yard.change(add(&["long"]));
    assert_eq!(yard.refused(commit("x")(None)), "git/large");
    std::fs::write(yard.root().join(".git/MERGE_HEAD"), yard.git(&["rev-parse", "HEAD"])).unwrap();
    assert_eq!(yard.refused(commit("x")(None)), "git/unfinished");
    std::fs::write(yard.root().join(".git/index.lock"), "").unwrap();
    let looked = yard.ask(unstage(&["long"])(None)).unwrap().pins;
    assert_eq!(yard.refused(unstage(&["long"])(Some(looked))), "git/locked");
}
