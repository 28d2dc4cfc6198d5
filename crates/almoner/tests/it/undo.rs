//! Tests of `almoner undo`: it restores the run's changes, leaves later changes of others alone, and completes an
//! interrupted undo when it is repeated.

use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::directories::{ALLOWED, CHANGED, calls, changes, done, files, home, run};
use crate::kill_sweep::{AFTER, BEFORE, Doomed, until_it_survives};
use crate::test_home::TestHome;

/// Returns the state of each entry of an undo, by file name.
fn states(undone: &Json) -> Vec<(String, String)> {
    let entries = undone["entries"].as_array().unwrap();
    let mut all: Vec<(String, String)> = entries
        .iter()
        .map(|entry| {
            let path = entry["path"].as_str().unwrap();
            let name = path.rsplit_once("/out/").unwrap().1.to_owned();
            (name, entry["state"]["state"].as_str().unwrap().to_owned())
        })
        .collect();
    all.sort();
    all
}

fn state(name: &str, state: &str) -> (String, String) {
    (name.to_owned(), state.to_owned())
}

/// Returns a home in which the run has made every kind of change, and the content before these changes.
fn changed() -> (TestHome, String) {
    let home = home(changes());
    let before = files(&home);
    run(&home, "out:rw", &ALLOWED).expect(0);
    assert_eq!(files(&home), CHANGED);
    (home, before)
}

#[test]
fn undo_restores_the_changes_of_a_run_once_and_records_it() {
    let (home, before) = changed();
    let plan = home.almoner(&["undo", "r1", "--dry-run"]).expect(0).out;
    assert!(plan.contains("would put back") && plan.contains("out/a.md"), "{plan}");
    assert_eq!(files(&home), CHANGED, "looking changes nothing");
    let undone = home.almoner(&["undo", "r1", "--json"]).expect(0).json();
    let done = ["a.md", "b.md", "kept/b.md", "sub/c.rs", "sub/deep"].map(|name| state(name, "done"));
    assert_eq!(states(&undone), done);
    // A folder that the run made on the way to a file is not counted as a change, and stays.
    assert_eq!(
        files(&home),
        before.replace(" sub/", " kept/ sub/").replacen("kept/ sub/ kept/", "kept/ sub/", 1)
    );
    let again = home.almoner(&["undo", "r1"]).expect(0).out;
    assert_eq!(again.matches("already as it was").count(), 5, "{again}");
    assert_eq!(
        home.trace("r1").to_string().matches("\"reverted\"").count(),
        1,
        "only what is put back is written down"
    );
    let why = home.almoner(&["why", "out/a.md"]).expect(0).out;
    assert!(why.contains("you had r1 undone") && why.contains("edit"), "{why}");
    assert!(home.almoner(&["inbox", "--all"]).expect(0).out.contains("almoner undo r1"));
    assert!(home.almoner(&["trace", "r1"]).expect(0).out.contains("you had put back"));
    home.almoner(&["audit", "verify"]).expect(0);
}

#[test]
fn undo_skips_files_modified_since_the_run() {
    let (home, _) = changed();
    home.write("out/a.md", "mine\n");
    home.write("out/sub/deep/mine.md", "mine too\n");
    let undone = home.almoner(&["undo", "r1", "--json"]).expect(8).json();
    let expected = [
        state("a.md", "conflict"),
        state("b.md", "done"),
        state("kept/b.md", "done"),
        state("sub/c.rs", "done"),
        state("sub/deep", "failed"),
    ];
    assert_eq!(states(&undone), expected);
    assert_eq!((home.read("out/a.md").as_str(), home.read("out/b.md").as_str()), ("mine\n", "b\n"));
    assert_eq!(home.read("out/sub/deep/mine.md"), "mine too\n");
    let said = home.almoner(&["undo", "r1"]).expect(8).out;
    assert!(said.contains("CONFLICT, left alone"), "{said}");
    // The obstacles are gone, and the repeated undo succeeds.
    home.write("out/a.md", "one 2\n");
    std::fs::remove_file(home.path("out/sub/deep/mine.md")).unwrap();
    home.almoner(&["undo", "r1"]).expect(0);
    assert_eq!(home.read("out/a.md"), "one two\n");
}

#[test]
fn undo_restores_only_the_named_files() {
    let (home, _) = changed();
    home.almoner(&["undo", "r1", "--only", "nothing.md"]).expect(4);
    assert_eq!(files(&home), CHANGED);
    let absolute = home.path("out/sub/c.rs").display().to_string();
    let undone =
        home.almoner(&["undo", "r1", "--only", "a.md", "--only", &absolute, "--json"]).expect(0).json();
    assert_eq!(states(&undone), [state("a.md", "done"), state("sub/c.rs", "done")]);
    assert_eq!(home.read("out/a.md"), "one two\n");
    assert!(home.path("out/kept/b.md").exists());
}

#[test]
fn undo_restores_the_first_version_or_the_users_edit() {
    let write = |content: &str| calls(&[("out_write", json!({ "path": "a.md", "content": content }))]);
    let append = calls(&[("out_append", json!({ "path": "a.md", "content": "more\n" }))]);
    let made = calls(&[("out_write", json!({ "path": "new.md", "content": "new\n" }))]);
    let gone = calls(&[("out_remove", json!({ "path": "new.md" }))]);
    let home = home(json!([write("1\n"), append.clone(), write("2\n"), made, gone, done()]));
    run(&home, "out:rw", &[&ALLOWED[..], &["--allow", "out.append"]].concat()).expect(0);
    let undone = home.almoner(&["undo", "r1", "--json"]).expect(0).json();
    assert_eq!(states(&undone), [state("a.md", "done")], "what was made and removed again is no change");
    assert_eq!(home.read("out/a.md"), "one two\n");
    // Somebody writes between two of the run's changes.
    let home = self::home(json!([write("1\n"), append, done()]));
    run(&home, "out:rw", &["--allow", "out.write"]).expect(7);
    home.write("out/a.md", "theirs\n");
    home.almoner(&["approve", "1"]).expect(0);
    // The run goes on by itself; followed until it asks again, it has asked before the undo is tried.
    home.almoner(&["resume", "r1"]).expect(7);
    home.almoner(&["undo", "r1"]).expect(8);
    let asked_again = crate::sends::wait_for_mail(&home, "approval").to_string();
    home.almoner(&["approve", &asked_again]).expect(0);
    home.almoner(&["resume", "r1"]).expect(0);
    assert_eq!(home.read("out/a.md"), "theirs\nmore\n");
    home.almoner(&["undo", "r1"]).expect(0);
    assert_eq!(home.read("out/a.md"), "theirs\n");
}

#[test]
fn undo_restores_changes_of_children_and_lists_sent_mail() {
    let home = home(json!([
        calls(&[
            ("out_write", json!({ "path": "a.md", "content": "changed\n" })),
            ("outbox_send", json!({ "to": "a@b.example", "subject": "s", "body": "b" })),
        ]),
        done()
    ]));
    home.write("clerk.worker", "---\nslots: { out: dir rw, outbox: outbox }\n---\nDo it.\n");
    home.write("mail/letter.txt", "Dear all\n");
    let slots = ["-e", "outbox=outbox", "--each", "mail", "--allow", "out.write"];
    run(&home, "out:rw", &slots).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert_eq!(home.read("out/a.md"), "changed\n");
    let said = home.almoner(&["undo", "r1"]).expect(0).out;
    assert!(
        said.contains("cannot be undone") && said.contains("outbox.send") && said.contains("a@b.example"),
        "{said}"
    );
    assert_eq!(home.read("out/a.md"), "one two\n");
    assert!(home.almoner(&["why", "out/a.md"]).expect(0).out.contains("you had r1 undone"));
}

#[test]
fn undo_of_an_unfinished_or_unknown_run_is_refused() {
    let home = home(json!([calls(&[("out_write", json!({ "path": "a.md", "content": "x" }))]), done()]));
    run(&home, "out:rw", &[]).expect(7);
    assert!(home.almoner(&["undo", "r1"]).expect(8).err.contains("is not over"));
    home.almoner(&["undo", "r9"]).expect(4);
    home.almoner(&["undo", "nonsense"]).expect(2);
    home.almoner(&["cancel", "r1"]).expect(0);
    assert!(home.almoner(&["undo", "r1"]).expect(0).out.contains("changed no file"));
}

#[test]
fn undo_follows_no_symlink_out_of_the_directory() {
    let (home, _) = changed();
    home.write("elsewhere/c.rs", "not yours\n");
    std::fs::remove_dir_all(home.path("out/sub")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", home.path("out/sub")).unwrap();
    std::fs::remove_file(home.path("out/a.md")).unwrap();
    std::os::unix::fs::symlink("../elsewhere/c.rs", home.path("out/a.md")).unwrap();
    let undone = home.almoner(&["undo", "r1", "--json"]).expect(8).json();
    assert!(states(&undone).contains(&state("a.md", "failed")), "{undone}");
    assert!(states(&undone).contains(&state("sub/c.rs", "failed")), "{undone}");
    assert_eq!(home.read("elsewhere/c.rs"), "not yours\n");
    assert_eq!(std::fs::read_dir(home.path("elsewhere")).unwrap().count(), 1);
}

#[test]
fn undo_survives_a_kill_around_its_commit() {
    for point in [BEFORE, AFTER] {
        until_it_survives(point, 1, |nth| {
            let (home, before) = changed();
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
fn undo_restores_file_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let home = home(json!([
        calls(&[("out_move", json!({ "from": "a.md", "to": "z.md" }))]),
        calls(&[("out_move", json!({ "from": "sub/c.rs", "to": "y.rs" }))]),
        calls(&[("out_remove", json!({ "path": "b.md" }))]),
        done()
    ]));
    let set = |path: &str, mode| {
        std::fs::set_permissions(home.path(path), PermissionsExt::from_mode(mode)).unwrap();
    };
    let mode = |path: &str| std::fs::metadata(home.path(path)).unwrap().permissions().mode() & 0o777;
    set("out/a.md", 0o600);
    set("out/sub/c.rs", 0o755);
    set("out/b.md", 0o600);
    run(&home, "out:rw", &ALLOWED).expect(0);
    home.almoner(&["undo", "r1"]).expect(0);
    assert_eq!([mode("out/a.md"), mode("out/sub/c.rs"), mode("out/b.md")], [0o600, 0o755, 0o600]);
}
