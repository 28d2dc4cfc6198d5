//! Tests of applying a staged file hunk by hunk. An applied hunk counts as the run's own change, and the user can
//! apply or leave out the rest.

use std::time::Duration;

use serde_json::json;

use crate::directories::{calls, done, home, run};
use crate::kill_sweep::{AFTER, BEFORE, Doomed, until_it_survives};
use crate::test_home::TestHome;

/// Returns forty lines. Those in `changed` are in capitals.
pub(crate) fn lines(changed: &[usize]) -> String {
    let line =
        |at: usize| if changed.contains(&at) { format!("LINE {at}\n") } else { format!("line {at}\n") };
    (1..=40).map(line).collect()
}

/// Returns a home in which a run has changed lines 2, 20 and 38 of a staged file, and one line of another.
pub(crate) fn staged() -> TestHome {
    let home = home(json!([
        calls(&[
            ("out_write", json!({ "path": "long.md", "content": lines(&[2, 20, 38]) })),
            ("out_edit", json!({ "path": "a.md", "old": "two", "new": "2" })),
        ]),
        done(),
    ]));
    home.write("out/long.md", lines(&[]));
    run(&home, "out:stage", &[]).expect(0);
    home
}

fn apply(home: &TestHome, hunks: &[&str], code: i32) -> String {
    let marks = hunks.iter().flat_map(|number| ["--hunk", number]);
    let args: Vec<&str> = ["apply", "r1", "--only", "long.md"].into_iter().chain(marks).collect();
    let said = home.almoner(&args).expect(code);
    said.out + &said.err
}

#[test]
fn hunks_are_applied_singly_and_undone_together() {
    let home = staged();
    let diff = || home.almoner(&["diff", "r1", "--only", "long.md"]).expect(0).out;
    assert_eq!(diff().matches("\n@@").count(), 3, "{}", diff());
    apply(&home, &["2"], 0);
    assert_eq!(home.read("out/long.md"), lines(&[20]));
    assert_eq!(home.read("out/a.md"), "one two\n", "the other file was not named");
    // The remaining hunks are numbered anew. An applied hunk is not a conflicting change of somebody else.
    let left = diff();
    assert_eq!(left.matches("\n@@").count(), 2, "{left}");
    assert!(!left.contains("CONFLICT") && !left.contains("-line 20"), "{left}");
    apply(&home, &["1", "2"], 0);
    assert_eq!(home.read("out/long.md"), lines(&[2, 20, 38]));
    let why = home.almoner(&["why", "out/long.md"]).expect(0).out;
    assert!(why.contains("you had r1 applied"), "{why}");
    home.almoner(&["undo", "r1"]).expect(0);
    assert_eq!(home.read("out/long.md"), lines(&[]));
    // From a part as from the whole.
    apply(&home, &["3"], 0);
    assert_eq!(home.read("out/long.md"), lines(&[38]));
    home.almoner(&["undo", "r1"]).expect(0);
    assert_eq!(home.read("out/long.md"), lines(&[]));
    let undo = home.almoner(&["undo", "r1", "--dry-run"]).expect(0).out;
    assert!(!undo.contains("would"), "{undo}");
    home.almoner(&["apply", "r1"]).expect(0);
    assert_eq!(home.read("out/long.md"), lines(&[2, 20, 38]));
    assert_eq!(home.read("out/a.md"), "one 2\n");
}

#[test]
fn apply_and_undo_skip_files_modified_since() {
    let home = staged();
    apply(&home, &["1"], 0);
    home.write("out/long.md", lines(&[2]) + "mine\n");
    let said = apply(&home, &["1"], 8);
    assert!(said.contains("nothing was done"), "{said}");
    assert!(apply(&home, &[], 8).contains("CONFLICT"));
    assert!(home.almoner(&["undo", "r1"]).expect(8).out.contains("CONFLICT"));
    assert_eq!(home.read("out/long.md"), lines(&[2]) + "mine\n");
}

#[test]
fn missing_hunk_is_refused_with_the_reason() {
    let home = staged();
    for (args, code, says) in [
        (&["--only", "long.md", "--hunk", "4"][..], 2, "counted from 1"),
        (&["--only", "long.md", "--hunk", "0"], 2, "counted from 1"),
        (&["--hunk", "1"], 2, "--only"),
        (&["--only", "long.md", "--only", "a.md", "--hunk", "1"], 2, "within one file"),
        (&["--only", "long.md", "--hunk", "x"], 2, "cannot read `x`"),
    ] {
        let said = home.almoner(&[&["apply", "r1"], args].concat()).expect(code);
        assert!(said.err.contains(says), "{args:?}: {}", said.err);
        assert_eq!(home.read("out/long.md"), lines(&[]), "{args:?}");
    }
}

#[test]
fn discarded_hunk_is_not_applied_and_the_rest_is() {
    let home = staged();
    let diff = || home.almoner(&["diff", "r1"]).expect(0).out;
    let discard = |args: &[&str], code: i32| home.almoner(&[&["discard", "r1"], args].concat()).expect(code);
    discard(&["--only", "long.md", "--hunk", "2"], 0);
    assert!(!diff().contains("LINE 20") && diff().contains("LINE 38"), "{}", diff());
    // The daemon may have been ended meanwhile.
    home.almoner(&["stop"]).expect(0);
    apply(&home, &["1"], 0);
    assert_eq!(home.read("out/long.md"), lines(&[2]));
    discard(&["--only", "long.md", "--hunk", "2"], 2);
    discard(&["--only", "long.md", "--hunk", "1"], 0);
    let why = home.almoner(&["why", "out/long.md"]).expect(0).out;
    assert!(why.contains("thrown away"), "{why}");
    assert!(!diff().contains("long.md") && diff().contains("a.md"), "{}", diff());
    discard(&["--only", "long.md"], 8);
    discard(&["--only", "none.md"], 4);
    home.almoner(&["apply", "r1"]).expect(0);
    assert_eq!(home.read("out/long.md"), lines(&[2]), "what was applied stays, the rest is gone");
    assert_eq!(home.read("out/a.md"), "one 2\n");
    home.almoner(&["undo", "r1"]).expect(0);
    assert_eq!(home.read("out/long.md"), lines(&[]));
    let home = staged();
    home.almoner(&["discard", "r1", "--only", "a.md"]).expect(0);
    let trace = home.almoner(&["trace", "r1"]).expect(0).out;
    assert!(trace.contains("you had thrown away of the staged copy"), "{trace}");
    home.almoner(&["apply", "r1"]).expect(0);
    assert_eq!(home.read("out/a.md"), "one two\n");
    assert_eq!(home.read("out/long.md"), lines(&[2, 20, 38]));
}

#[test]
fn hunk_is_applied_once_despite_kills_around_commits() {
    for point in [BEFORE, AFTER] {
        until_it_survives(point, 1, |nth| {
            let home = staged();
            home.almoner(&["stop"]).expect(0);
            let mut daemon = Doomed::start(&home, point, nth);
            home.almoner(&["apply", "r1", "--only", "long.md", "--hunk", "2"]);
            let died = daemon.dies_within(Duration::from_secs(1));
            daemon.end();
            if home.read("out/long.md") == lines(&[]) {
                apply(&home, &["2"], 0);
            }
            assert_eq!(home.read("out/long.md"), lines(&[20]), "{point} {nth}");
            home.almoner(&["undo", "r1"]).expect(0);
            assert_eq!(home.read("out/long.md"), lines(&[]), "{point} {nth}");
            died
        });
    }
}
