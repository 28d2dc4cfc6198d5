//! Directories through the real binary: every method, their attenuation, the card of an edit, and the state after a
//! crash.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::kill_sweep::{AFTER, BEFORE, Doomed, until_it_survives};
use crate::test_home::{Said, TestHome};

const WORKER: &str = "---\nslots: { out: dir rw }\n---\nDo it.\n";

pub(crate) fn home(turns: Json) -> TestHome {
    let home = TestHome::new();
    home.write("clerk.worker", WORKER);
    home.write("script.json", json!([{ "turns": turns }]).to_string());
    home.write("out/a.md", "one two\n");
    home.write("out/b.md", "b\n");
    home.write("out/sub/c.rs", "fn main() {}\n");
    home
}

pub(crate) fn calls(calls: &[(&str, Json)]) -> Json {
    let call = |(name, arguments): &(&str, Json)| json!({ "name": name, "arguments": arguments });
    json!({ "calls": calls.iter().map(call).collect::<Vec<_>>() })
}

pub(crate) fn done() -> Json {
    json!({ "text": "done" })
}

pub(crate) const ALLOWED: [&str; 10] = [
    "--allow",
    "out.write",
    "--allow",
    "out.edit",
    "--allow",
    "out.move",
    "--allow",
    "out.remove",
    "--allow",
    "out.make_directory",
];

pub(crate) fn run(home: &TestHome, out: &str, more: &[&str]) -> Said {
    let slot = format!("out={out}");
    let args = ["run", "clerk.worker", "-m", "scripted:script.json", "-e", &slot];
    home.almoner(&[&args[..], more].concat())
}

/// Returns the completions of the first run's calls, in order.
fn completions(home: &TestHome) -> Vec<Json> {
    let steps = home.trace("r1")["steps"].take();
    let entries = steps.as_array().unwrap().iter().map(|step| step["entry"].clone());
    entries.filter(|entry| entry["entry"] == "completed").map(|entry| entry["completion"].clone()).collect()
}

/// Returns everything in `out`, by path.
pub(crate) fn files(home: &TestHome) -> String {
    fn gather(at: &std::path::Path, before: &str, all: &mut Vec<String>) {
        for entry in std::fs::read_dir(at).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{before}{}", entry.file_name().to_string_lossy());
            match entry.file_type().unwrap().is_dir() {
                true => {
                    all.push(format!("{name}/"));
                    gather(&entry.path(), &format!("{name}/"), all);
                }
                false => all.push(format!("{name}={:?}", std::fs::read_to_string(entry.path()).unwrap())),
            }
        }
    }
    let mut all = vec![];
    gather(&home.path("out"), "", &mut all);
    all.sort();
    all.join(" ")
}

/// Returns one of every change.
pub(crate) fn changes() -> Json {
    json!([
        calls(&[("out_edit", json!({ "path": "a.md", "old": "two", "new": "2" }))]),
        calls(&[("out_move", json!({ "from": "b.md", "to": "kept/b.md" }))]),
        calls(&[("out_remove", json!({ "path": "sub/c.rs" }))]),
        calls(&[("out_make_directory", json!({ "path": "sub/deep" }))]),
        done()
    ])
}

pub(crate) const CHANGED: &str = r#"a.md="one 2\n" kept/ kept/b.md="b\n" sub/ sub/deep/"#;

#[test]
fn model_uses_every_directory_method() {
    let home = home(changes());
    run(&home, "out:rw", &ALLOWED).expect(0);
    assert_eq!(files(&home), CHANGED);
    let home = self::home(json!([
        calls(&[
            ("out_glob", json!({ "pattern": "**/*.rs" })),
            ("out_grep", json!({ "pattern": "(?i)TWO|main" })),
            ("out_stat", json!({ "path": "a.md" })),
            ("out_read", json!({ "path": "a.md", "offset": 4, "bytes": 3 })),
            ("out_edit", json!({ "path": "a.md", "old": "three", "new": "3" })),
            ("out_glob", json!({ "pattern": "../*" })),
        ]),
        done()
    ]));
    run(&home, "out:rw", &[]).expect(0);
    let came: Vec<String> = completions(&home).iter().map(Json::to_string).collect();
    for (at, words) in [
        (0, &["sub/c.rs"][..]),
        (1, &["a.md", "one two", "sub/c.rs", "fn main"]),
        (2, &["file", "modified_ms", "digest"]),
        (3, &["two", "truncated"]),
    ] {
        for word in words {
            assert!(came.iter().any(|text| text.contains(word)), "{at} {word}: {came:?}");
        }
    }
    let refused = home.almoner(&["trace", "r1"]).expect(0).out;
    assert!(refused.contains("edit/not-found") && refused.contains("path/parent"), "{refused}");
}

#[test]
fn only_endowed_methods_are_offered_and_allowed() {
    let home = home(json!([calls(&[("out_write", json!({ "path": "n.md", "content": "x" }))]), done()]));
    let plan =
        run(&home, "out:rw?methods=read,glob&methods=append&max=1MiB&total=1GiB", &["--dry-run"]).expect(0);
    let plan = format!("{}{}", plan.out, plan.err);
    assert!(!plan.contains("would make it"), "{plan}");
    let new = run(&home, "./new:rw", &["--dry-run"]).expect(0).out;
    assert!(new.contains("notes: `out` is not there, and the run would make it: "), "{new}");
    assert!(!home.path("new").exists());
    assert!(
        plan.contains("(append, glob, read; at most 1048576 bytes each; at most 1073741824 bytes in all)"),
        "{plan}"
    );
    assert!(!plan.contains("out_write") && plan.contains("out_append"), "{plan}");
    run(&home, "out:rw?methods=read,append", &[]).expect(0);
    assert!(!home.path("out/n.md").exists());
    let said = home.almoner(&["trace", "r1"]).expect(0).out;
    assert!(said.contains("tool/unknown"), "{said}");
    for (slot, words) in [
        ("out:rw?methods=raed", "did you mean `read`?"),
        ("out:rw?methods=burn", "has no method `burn`"),
        ("out:rw?methods=", "names none"),
        ("out:rw?total=lots", "a size is written like"),
    ] {
        let said = run(&home, slot, &[]).expect(2);
        assert!(said.err.contains(words), "{slot}: {}", said.err);
    }
    let said = run(&home, "out:rw?methods=read", &["--allow", "out.write"]).expect(2);
    assert!(said.err.contains("bound without this method"), "{}", said.err);
}

#[test]
fn writes_over_the_directory_total_are_refused() {
    let write =
        |path: &str, content: &str| calls(&[("out_write", json!({ "path": path, "content": content }))]);
    let home = home(json!([write("n.md", &"x".repeat(100)), write("m.md", "12345"), done()]));
    run(&home, "out:rw?total=40", &ALLOWED).expect(0);
    assert!(!home.path("out/n.md").exists());
    assert_eq!(home.read("out/m.md"), "12345");
    let said = home.almoner(&["trace", "r1"]).expect(0).out;
    assert!(said.contains("dir/total"), "{said}");
}

#[test]
fn card_shows_the_edit_and_a_modified_file_is_asked_again() {
    let turns = json!([calls(&[("out_edit", json!({ "path": "a.md", "old": "two", "new": "2" }))]), done()]);
    let home = home(turns.clone());
    run(&home, "out:rw", &[]).expect(7);
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    assert!(card.contains("- one two") && card.contains("+ one 2"), "{card}");
    assert_eq!(home.read("out/a.md"), "one two\n");
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(0);
    assert_eq!(home.read("out/a.md"), "one 2\n");
    // The file is edited before the yes. The card no longer fits it, and the run asks anew.
    let home = self::home(turns);
    run(&home, "out:rw", &[]).expect(7);
    home.write("out/a.md", "one two three\n");
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(7);
    assert_eq!(home.read("out/a.md"), "one two three\n");
    let again = home.almoner(&["inbox", "2", "--full"]).expect(0).out;
    assert!(
        again.contains("+ one 2 three") && again.contains("has changed since you approved this"),
        "{again}"
    );
    home.almoner(&["approve", "2"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(0);
    assert_eq!(home.read("out/a.md"), "one 2 three\n");
}

/// Models edit one file twice in one reply, as in anomalyco/opencode#2882, langchain-ai/deepagents#6297 and
/// earendil-works/pi#2327.
#[test]
fn later_calls_of_a_reply_see_the_effects_of_earlier_ones() {
    let edit =
        |path: &str, old: &str, new: &str| ("out_edit", json!({ "path": path, "old": old, "new": new }));
    let write = |path: &str, content: &str| ("out_write", json!({ "path": path, "content": content }));
    let read = |path: &str| ("out_read", json!({ "path": path }));
    let go = |path: &str, to: &str| ("out_move", json!({ "from": path, "to": to }));
    for (of_reply, expected) in [
        (vec![edit("a.md", "one", "1"), edit("a.md", "two", "2")], r#"a.md="1 2\n""#),
        (vec![edit("a.md", "one", "1"), edit("./a.md", "1 two", "3")], r#"a.md="3\n""#),
        (vec![write("n.md", "new\n"), edit("n.md", "new", "newer"), read("n.md")], r#"n.md="newer\n""#),
        (vec![go("a.md", "m.md"), edit("m.md", "two", "2"), go("m.md", "o.md")], r#"o.md="one 2\n""#),
        (vec![write("n.md", "x"), write("n.md", "y"), write("c.md", "z")], r#"n.md="y""#),
    ] {
        let home = home(json!([calls(&of_reply), done()]));
        run(&home, "out:rw", &ALLOWED).expect(0);
        assert!(files(&home).contains(expected), "{of_reply:?}: {}", files(&home));
        let unmade: Vec<Json> = completions(&home).into_iter().filter(|one| one["done"].is_null()).collect();
        assert!(unmade.is_empty() && completions(&home).len() == of_reply.len(), "{of_reply:?}: {unmade:?}");
    }
}

/// Without `--allow`, each call asks. A later call that would be refused now is judged after the answer to the earlier
/// one, which makes its file.
#[test]
fn later_call_that_asks_is_judged_after_the_answer_to_the_earlier() {
    let write = ("out_write", json!({ "path": "n.md", "content": "new\n" }));
    let edit = ("out_edit", json!({ "path": "n.md", "old": "new", "new": "newer" }));
    let home = home(json!([calls(&[write, edit]), done()]));
    run(&home, "out:rw", &[]).expect(7);
    for message in ["1", "2"] {
        home.almoner(&["approve", message]).expect(0);
        home.almoner(&["resume", "r1"]).expect(if message == "1" { 7 } else { 0 });
    }
    assert!(files(&home).contains(r#"n.md="newer\n""#), "{}", files(&home));
    assert!(completions(&home).iter().all(|one| !one["done"].is_null()), "{:?}", completions(&home));
}

#[test]
fn second_approved_edit_of_a_file_asks_again_with_the_first_made() {
    let edit = |old: &str, new: &str| ("out_edit", json!({ "path": "a.md", "old": old, "new": new }));
    let other = ("out_edit", json!({ "path": "b.md", "old": "b", "new": "B" }));
    let home = home(json!([calls(&[edit("one", "1"), other, edit("two", "2")]), done()]));
    run(&home, "out:rw", &[]).expect(7);
    // All three ask together.
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    assert!(
        card.contains("wants to change 3 files") && card.contains("+ one 2") && card.contains("+ B"),
        "{card}"
    );
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(7);
    let card = home.almoner(&["inbox", "2", "--full"]).expect(0).out;
    assert!(
        card.contains("wants to change “") && card.contains("- 1 two") && card.contains("+ 1 2"),
        "{card}"
    );
    home.almoner(&["approve", "2"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(0);
    assert!(files(&home).starts_with(r#"a.md="1 2\n" b.md="B\n""#), "{}", files(&home));
}

#[test]
fn search_skips_secret_files_and_moving_one_asks() {
    let home = home(json!([
        calls(&[("out_grep", json!({ "pattern": "PERIWINKLE" }))]),
        calls(&[("out_move", json!({ "from": ".env", "to": "plain.md" }))]),
        done()
    ]));
    home.write("out/.env", "KEY=PERIWINKLE\n");
    run(&home, "out:rw", &ALLOWED).expect(7);
    let found = completions(&home)[0].to_string();
    assert!(!found.contains("PERIWINKLE") && found.contains("skipped"), "{found}");
    assert!(home.almoner(&["inbox", "1", "--full"]).expect(0).out.contains("paths/protected"));
    assert!(home.path("out/.env").exists());
}

#[test]
fn read_and_write_policies_cover_every_directory_method() {
    let home = home(json!([
        calls(&[
            ("out_edit", json!({ "path": "a.md", "old": "two", "new": "2" })),
            ("out_move", json!({ "from": "b.md", "to": "c.md" })),
            ("out_remove", json!({ "path": "b.md" })),
            ("out_make_directory", json!({ "path": "new" })),
            ("out_grep", json!({ "pattern": "main" })),
        ]),
        done()
    ]));
    let config = home.root().join("config");
    std::fs::create_dir_all(&config).unwrap();
    let policy = "@id(\"no-writing\")\nforbid(principal, action == Action::\"dir.write\", resource);\n\
                  @id(\"no-code\")\nforbid(principal, action == Action::\"dir.read\", resource) when { context has path && context.path like \"*.rs\" };\n";
    std::fs::write(config.join("policy.cedar"), policy).unwrap();
    let before = files(&home);
    run(&home, "out:rw", &ALLOWED).expect(0);
    assert_eq!(files(&home), before);
    let steps = home.trace("r1").to_string();
    assert_eq!(steps.matches("\"decision\":\"deny\"").count(), 5, "{steps}");
}

/// Returns the changes with a daemon that dies when it comes to `point` for the `nth` time; whether it did.
fn killed(point: &str, nth: u64) -> bool {
    let home = home(changes());
    let mut daemon = Doomed::start(&home, point, nth);
    let args = ["run", "clerk.worker", "-m", "scripted:script.json", "-e", "out=out:rw"];
    let mut client = home
        .command(&[&args[..], &ALLOWED].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut died = false;
    for _ in 0..60_000 {
        died = daemon.has_died();
        if died || client.try_wait().unwrap().is_some() {
            died = died || daemon.dies_within(Duration::from_millis(300));
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = client.kill();
    let _ = client.wait();
    daemon.end();
    // A request of the dead client may still be under way. It ends here.
    home.almoner(&["stop"]).expect(0);
    if home.almoner(&["runs", "--all", "--json"]).expect(0).json().as_array().unwrap().is_empty() {
        run(&home, "out:rw", &ALLOWED).expect(0);
    } else {
        home.almoner(&["resume"]).expect(0);
    }
    assert_eq!(files(&home), CHANGED, "killed at {point} {nth}");
    let done = completions(&home).iter().filter(|came| came.to_string().contains("done")).count();
    assert_eq!(done, 4, "killed at {point} {nth}: {:?}", completions(&home));
    died
}

#[test]
fn directory_changes_happen_once_despite_kills_before_commits() {
    until_it_survives(BEFORE, 9, |nth| killed(BEFORE, nth));
}

#[test]
fn directory_changes_happen_once_despite_kills_after_commits() {
    until_it_survives(AFTER, 9, |nth| killed(AFTER, nth));
}
