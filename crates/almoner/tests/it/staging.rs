//! Tests of `-e SLOT=PATH:stage`: a run changes a staged copy, and its one diff is the approval. Changes by others in
//! the meantime are shown and left alone.

use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::directories::{CHANGED, calls, changes, done, files, home, run};
use crate::kill_sweep::{AFTER, BEFORE, Doomed, until_it_survives};
use crate::test_home::TestHome;

/// Returns a home in which a run has made every kind of change in a staged copy, and the content of the directory.
fn staged() -> (TestHome, String) {
    let home = home(changes());
    let before = files(&home);
    let said = run(&home, "out:stage", &[]).expect(0);
    assert!(said.err.contains("almoner diff r1"), "{}", said.err);
    assert_eq!(files(&home), before, "nothing is changed, and nobody is asked");
    (home, before)
}

/// Returns the staged copies that there are.
fn copies(home: &TestHome) -> usize {
    let found = std::fs::read_dir(home.root().join("state/stages"));
    found.map_or(0, |found| found.count())
}

fn state(undone: &Json, name: &str) -> String {
    let entries = undone["entries"].as_array().unwrap();
    let found = entries.iter().find(|entry| entry["path"].as_str().unwrap().ends_with(name));
    found.unwrap_or_else(|| panic!("{name} in {undone}"))["state"]["state"].as_str().unwrap().to_owned()
}

#[test]
fn staged_changes_are_shown_applied_and_undone_as_one_diff() {
    let (home, before) = staged();
    assert_eq!(copies(&home), 1);
    let diff = home.almoner(&["diff", "r1"]).expect(0).out;
    for part in [
        "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-one two\n+one 2\n",
        "--- a/b.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n",
        "--- /dev/null\n+++ b/kept/b.md\n@@ -0,0 +1 @@\n+b\n",
        "--- a/sub/c.rs\n+++ /dev/null\n",
        "+++ b/sub/deep/ (a folder)",
    ] {
        assert!(diff.contains(part), "{part}\nis not in\n{diff}");
    }
    assert_eq!(files(&home), before, "looking changes nothing");
    let one = home.almoner(&["diff", "r1", "--only", "a.md"]).expect(0).out;
    assert!(one.contains("a/a.md") && !one.contains("b.md"), "{one}");
    let said = home.almoner(&["apply", "r1"]).expect(0).out;
    assert_eq!((said.matches("applied").count(), files(&home).as_str()), (5, CHANGED), "{said}");
    assert_eq!(copies(&home), 0, "the copy is not needed any more");
    let again = home.almoner(&["apply", "r1"]).expect(0).out;
    assert_eq!(again.matches("already in place").count(), 5, "{again}");
    assert_eq!(home.trace("r1").to_string().matches("\"applied\"").count(), 1);
    let why = home.almoner(&["why", "out/a.md"]).expect(0).out;
    assert!(why.contains("you had r1 applied") && why.contains("in a staged copy"), "{why}");
    // And it can be undone like any other change.
    home.almoner(&["undo", "r1"]).expect(0);
    assert_eq!(home.read("out/a.md"), "one two\n");
    assert_eq!(home.read("out/sub/c.rs"), "fn main() {}\n");
}

#[test]
fn staged_changes_are_visible_only_to_the_run() {
    let home = home(json!([
        calls(&[("out_write", json!({ "path": "new.md", "content": "staged words\n" }))]),
        calls(&[("out_edit", json!({ "path": "a.md", "old": "one", "new": "staged one" }))]),
        calls(&[
            ("out_read", json!({ "path": "new.md" })),
            ("out_grep", json!({ "pattern": "staged" })),
            ("out_list", json!({})),
            ("out_read", json!({ "path": "b.md" })),
        ]),
        done()
    ]));
    run(&home, "out:stage", &[]).expect(0);
    let seen = home.trace("r1").to_string();
    assert!(seen.contains("staged words") && seen.contains("staged one two"), "{seen}");
    assert_eq!(home.read("out/a.md"), "one two\n");
    assert!(!home.path("out/new.md").exists());
    // A file that was not changed is the file itself, not a copy; one that was is another.
    use std::os::unix::fs::MetadataExt as _;
    assert_eq!(std::fs::metadata(home.path("out/a.md")).unwrap().nlink(), 1);
}

#[test]
fn apply_skips_files_modified_since_the_run_as_conflicts() {
    let (home, _) = staged();
    home.write("out/a.md", "mine\n");
    home.write("out/kept/b.md", "also mine\n");
    let diff = home.almoner(&["diff", "r1"]).expect(0).out;
    assert_eq!(diff.matches("CONFLICT").count(), 2, "{diff}");
    let applied = home.almoner(&["apply", "r1", "--json"]).expect(8).json();
    for (name, expected) in [
        ("out/a.md", "conflict"),
        ("kept/b.md", "conflict"),
        // It is the other end of the move to `kept/b.md`.
        ("out/b.md", "failed"),
        ("sub/c.rs", "done"),
        ("sub/deep", "done"),
    ] {
        assert_eq!(state(&applied, name), expected, "{name}");
    }
    assert_eq!(
        (home.read("out/a.md").as_str(), home.read("out/kept/b.md").as_str()),
        ("mine\n", "also mine\n")
    );
    assert_eq!(copies(&home), 1, "what could not be applied is still there");
    // Put back as it was, the rest can be applied.
    home.write("out/a.md", "one two\n");
    home.almoner(&["apply", "r1", "--only", "a.md"]).expect(0);
    assert_eq!(home.read("out/a.md"), "one 2\n");
    home.almoner(&["discard", "r1"]).expect(0);
    assert_eq!(copies(&home), 0);
    assert_eq!(home.read("out/kept/b.md"), "also mine\n");
}

#[test]
fn discard_removes_the_staged_copy_and_changes_no_file() {
    let (home, before) = staged();
    home.almoner(&["apply", "r1", "--only", "nothing.md"]).expect(4);
    home.almoner(&["discard", "r1"]).expect(0);
    assert_eq!((files(&home), copies(&home)), (before, 0));
    home.almoner(&["discard", "r1"]).expect(0);
    for verb in ["diff", "apply"] {
        assert!(home.almoner(&[verb, "r1"]).expect(8).err.contains("thrown away"), "{verb}");
    }
    assert!(home.almoner(&["undo", "r1"]).expect(0).out.contains("already as it was"));
}

#[test]
fn missing_staged_directory_is_created_only_on_apply() {
    let home = home(json!([calls(&[("out_write", json!({ "path": "a/b.md", "content": "x" }))]), done()]));
    run(&home, "fresh:stage", &[]).expect(0);
    assert!(!home.path("fresh").exists());
    home.almoner(&["apply", "r1"]).expect(0);
    assert_eq!(home.read("fresh/a/b.md"), "x");
}

#[test]
fn dry_run_announces_staging_and_makes_no_copy() {
    let home = home(json!([done()]));
    let plan = run(&home, "out:stage", &["--dry-run"]).expect(0);
    assert!(format!("{}{}", plan.out, plan.err).contains("changes are staged"), "{}", plan.out);
    assert_eq!(copies(&home), 0);
    // A run that does not start leaves no copy behind.
    run(&home, "out:stage", &["nothing-there.txt"]).expect(4);
    run(&home, "out:stage", &["--allow", "out.frob"]).expect(2);
    assert_eq!(copies(&home), 0);
    run(&home, "out:rw", &[]).expect(0);
    assert!(home.almoner(&["diff", "r1"]).expect(4).err.contains("no staged copy"));
}

#[test]
fn staged_copy_guards_protected_files_and_follows_no_links() {
    let home = home(json!([
        calls(&[
            ("out_read", json!({ "path": "leak.md" })),
            ("out_write", json!({ "path": "link/x.md", "content": "x" })),
            ("out_list", json!({ "path": "link" })),
        ]),
        calls(&[("out_write", json!({ "path": ".env", "content": "KEY=1" }))]),
        done()
    ]));
    home.write("secret.txt", "PERIWINKLE\n");
    std::os::unix::fs::symlink("../secret.txt", home.path("out/leak.md")).unwrap();
    std::os::unix::fs::symlink("..", home.path("out/link")).unwrap();
    run(&home, "out:stage", &[]).expect(7);
    let seen = home.trace("r1").to_string();
    assert!(!seen.contains("PERIWINKLE") && !seen.contains("secret.txt"), "{seen}");
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    // It goes by the directory that it is a copy of, and not by where it lies.
    let copy = format!("staged copy of directory {}", home.path("out").display());
    let card = card.replace("\n    ", "");
    assert!(card.contains("paths/protected") && card.contains(&copy) && !card.contains("/stages/"), "{card}");
    assert!(home.almoner(&["diff", "r1"]).expect(8).err.contains("is not over"));
    home.almoner(&["deny", "1", "-r", "no"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(0);
    assert!(home.almoner(&["diff", "r1"]).expect(0).out.contains("changed nothing"));
    // A link that somebody puts into the directory afterwards is not followed either.
    let (home, _) = staged();
    home.write("elsewhere/x", "");
    std::os::unix::fs::symlink("elsewhere", home.path("other")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", home.path("out/kept")).unwrap();
    let applied = home.almoner(&["apply", "r1", "--json"]).expect(8).json();
    assert_eq!(state(&applied, "kept/b.md"), "failed");
    assert_eq!(std::fs::read_dir(home.path("elsewhere")).unwrap().count(), 1);
}

#[test]
fn diff_escapes_control_characters_and_forged_headers() {
    let content = "x\u{1b}[2K\u{202e}\n--- a/harmless\n+++ b/harmless\rAPPLIED /etc/passwd\n";
    let home = home(json!([
        calls(&[("out_write", json!({ "path": "a.md", "content": content }))]),
        calls(&[("out_write", json!({ "path": "bin", "content": "a\u{0}b" }))]),
        done()
    ]));
    run(&home, "out:stage", &[]).expect(0);
    let diff = home.almoner(&["diff", "r1"]).expect(0).out;
    assert!(!diff.contains(['\u{1b}', '\u{202e}', '\r']), "{diff:?}");
    assert_eq!(diff.lines().filter(|line| line.starts_with("--- ")).count(), 2, "{diff}");
    assert!(!diff.lines().any(|line| line.starts_with("APPLIED")), "{diff}");
    assert!(diff.contains("binary: 0 bytes before, 3 after"), "{diff}");
}

#[test]
fn staging_and_apply_survive_kills_around_commits() {
    for point in [BEFORE, AFTER] {
        until_it_survives(point, 1, |nth| {
            let (home, _) = staged();
            home.almoner(&["stop"]).expect(0);
            let mut daemon = Doomed::start(&home, point, nth);
            home.almoner(&["apply", "r1"]);
            let died = daemon.dies_within(Duration::from_secs(1));
            daemon.end();
            home.almoner(&["apply", "r1"]).expect(0);
            assert_eq!((files(&home).as_str(), copies(&home)), (CHANGED, 0), "{point} {nth}");
            died
        });
        until_it_survives(point, 9, |nth| {
            let home = home(changes());
            let before = files(&home);
            let mut daemon = Doomed::start(&home, point, nth);
            run(&home, "out:stage", &[]);
            let died = daemon.dies_within(Duration::from_secs(1));
            daemon.end();
            if home.almoner(&["runs", "--all", "--json"]).expect(0).json().as_array().unwrap().is_empty() {
                run(&home, "out:stage", &[]).expect(0);
            } else {
                home.almoner(&["resume"]).expect(0);
            }
            assert_eq!(files(&home), before, "{point} {nth}");
            home.almoner(&["apply", "r1"]).expect(0);
            assert_eq!(files(&home), CHANGED, "{point} {nth}");
            died
        });
    }
}

/// Returns a home in which a run has written one new file in a staged copy.
fn one_new_file() -> TestHome {
    let home = home(json!([calls(&[("out_write", json!({ "path": "n.md", "content": "x\n" }))]), done()]));
    run(&home, "out:stage", &[]).expect(0);
    home
}

#[test]
fn undo_keeps_a_users_file_unless_the_run_stays_applied() {
    // Thrown away; never applied; applied, undone, and made again by hand.
    for before in [&["discard"][..], &[], &["apply", "undo"]] {
        let home = one_new_file();
        for verb in before {
            home.almoner(&[verb, "r1"]).expect(0);
        }
        home.write("out/n.md", "x\n");
        home.almoner(&["undo", "r1"]).expect(0);
        assert_eq!(home.read("out/n.md"), "x\n", "{before:?}");
    }
    let home = one_new_file();
    home.almoner(&["apply", "r1"]).expect(0);
    assert!(home.path("out/n.md").exists());
    home.almoner(&["undo", "r1"]).expect(0);
    assert!(!home.path("out/n.md").exists());
}

#[test]
fn interrupted_undo_of_an_applied_run_completes_on_retry() {
    for point in [BEFORE, AFTER] {
        until_it_survives(point, 2, |nth| {
            let (home, before) = staged();
            home.almoner(&["apply", "r1"]).expect(0);
            home.almoner(&["stop"]).expect(0);
            let mut daemon = Doomed::start(&home, point, nth);
            home.almoner(&["undo", "r1"]);
            let died = daemon.dies_within(Duration::from_secs(1));
            daemon.end();
            home.almoner(&["undo", "r1"]).expect(0);
            let after = files(&home);
            assert!(before.split(' ').all(|file| after.contains(file)), "{point} {nth}: {after}");
            assert!(!after.contains("kept/b.md") && !after.contains("deep"), "{point} {nth}: {after}");
            died
        });
    }
}

#[test]
fn staged_move_applies_both_ends_and_keeps_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let moves = calls(&[("out_move", json!({ "from": "a.md", "to": "sub/z.md" }))]);
    for only in ["a.md", "sub/z.md"] {
        let home = home(json!([moves.clone(), done()]));
        std::fs::set_permissions(home.path("out/a.md"), PermissionsExt::from_mode(0o600)).unwrap();
        let mode = |path: &str| std::fs::metadata(home.path(path)).unwrap().permissions().mode() & 0o777;
        run(&home, "out:stage", &[]).expect(0);
        home.almoner(&["apply", "r1", "--only", only]).expect(0);
        home.almoner(&["discard", "r1"]).expect(0);
        assert!(!home.path("out/a.md").exists());
        assert_eq!((home.read("out/sub/z.md").as_str(), mode("out/sub/z.md")), ("one two\n", 0o600));
        home.almoner(&["undo", "r1"]).expect(0);
        assert_eq!((home.read("out/a.md").as_str(), mode("out/a.md")), ("one two\n", 0o600));
    }
}

#[test]
fn move_with_a_conflict_at_one_end_changes_neither() {
    let moves = calls(&[("out_move", json!({ "from": "a.md", "to": "sub/z.md" }))]);
    for (theirs, only) in [("sub/z.md", None), ("a.md", None), ("sub/z.md", Some("a.md"))] {
        let home = home(json!([moves.clone(), done()]));
        run(&home, "out:stage", &[]).expect(0);
        home.write(&format!("out/{theirs}"), "theirs\n");
        let before = files(&home);
        let diff = home.almoner(&["diff", "r1"]).expect(0).out;
        assert!(diff.contains("the other end of its move"), "{diff}");
        let only = only.map_or(vec![], |only| vec!["--only", only]);
        home.almoner(&[&["apply", "r1"], &only[..]].concat()).expect(8);
        assert_eq!(files(&home), before);
        // Both ends can be applied once nothing is in the way.
        match theirs {
            "a.md" => home.write("out/a.md", "one two\n"),
            _ => std::fs::remove_file(home.path("out/sub/z.md")).unwrap(),
        }
        home.almoner(&["apply", "r1"]).expect(0);
        assert!(!home.path("out/a.md").exists());
        assert_eq!(home.read("out/sub/z.md"), "one two\n");
    }
}

#[test]
fn staged_slot_cannot_share_its_directory() {
    let home = home(json!([done()]));
    home.write("clerk.worker", "---\nslots: { out: dir rw, other: dir rw }\n---\nDo it.\n");
    std::os::unix::fs::symlink("out", home.path("link")).unwrap();
    for (out, other) in [
        ("out:stage", "out:stage"),
        ("out:stage", "out:rw"),
        ("out:stage", "link:rw"),
        ("out:stage", "out/sub:rw"),
        ("out/sub:stage", "out:rw"),
        ("out/not/there:stage", "link/not:rw"),
        ("out:rw", "link/sub:stage"),
    ] {
        let other = format!("other={other}");
        let said = run(&home, out, &["-e", &other]).expect(2).err;
        assert!(said.contains("reaches the same directory") && said.contains("apart"), "{said}");
    }
    assert_eq!(copies(&home), 0);
    run(&home, "out:stage", &["-e", "other=outside:rw"]).expect(0);
}

/// Runs a worker that writes one file, in a directory or in a staged copy of it.
fn writes(home: &TestHome, out: &str, content: &str) {
    let turns = json!([{ "turns": [
        calls(&[("out_write", json!({ "path": "a.md", "content": content }))]),
        done(),
    ] }]);
    home.write("script.json", turns.to_string());
    run(home, out, &["--allow", "out.write"]).expect(0);
}

#[test]
fn why_names_the_run_that_changed_a_file_not_a_staged_one() {
    let home = one_new_file();
    writes(&home, "out:rw", "real\n");
    writes(&home, "out:stage", "staged\n");
    let why = home.almoner(&["why", "out/a.md"]).expect(0).out;
    let lines: Vec<&str> = why.lines().collect();
    assert!(lines[0].contains("was written by an effect"), "{why}");
    assert!(lines[1].contains("r3#") && lines[1].contains("in a staged copy alone"), "{why}");
    assert!(why.contains("r2#") && !why.contains("was written in a staged copy"), "{why}");
    // Once the copy is applied, its run is the origin of the file.
    home.almoner(&["apply", "r3"]).expect(0);
    let why = home.almoner(&["why", "out/a.md"]).expect(0).out;
    assert!(why.contains("you had r3 applied") && !why.contains("r2#"), "{why}");
}

#[test]
fn identical_change_by_the_user_is_not_marked_applied() {
    let (home, _) = staged();
    home.write("out/a.md", "one 2\n");
    let diff = home.almoner(&["diff", "r1"]).expect(0).out;
    assert!(diff.contains("out/a.md: the place already holds this"), "{diff}");
    assert!(!diff.contains("APPLIED"), "{diff}");
    let marks = |home: &TestHome| {
        let diff = home.almoner(&["diff", "r1", "--json"]).expect(0).json();
        let files = diff["files"].as_array().unwrap().clone();
        files.iter().filter(|file| file["applied"] == true).count()
    };
    assert_eq!(marks(&home), 0);
    home.almoner(&["apply", "r1", "--only", "sub/c.rs"]).expect(0);
    assert_eq!(marks(&home), 1, "what was applied is told from it");
    let said = home.almoner(&["apply", "r1"]).expect(0).out;
    assert!(said.contains("already in place") && files(&home) == CHANGED, "{said}");
}
