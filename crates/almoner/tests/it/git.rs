//! A repository as a capability, over the whole path: cards, answers, the confined process.

use std::process::Command;

use serde_json::{Value as Json, json};

use crate::creating::to_the_end;
use crate::kill_sweep::{AFTER, BEFORE, Doomed, at_each, commits};
use crate::test_home::TestHome;

const WORKER: &str = "---\nslots: { repo: git rw, now: clock }\n---\nMend it.\n";

fn git(home: &TestHome, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(words)
        .current_dir(home.path("project"))
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", home.work())
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.org")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.org")
        .output()
        .expect("these tests need git: `apt-get install git`");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn call(method: &str, arguments: Json) -> Json {
    json!({ "name": format!("repo_{method}"), "arguments": arguments })
}

/// Returns a home with a repository, and a worker that makes these calls, one turn each.
fn home(worker: &str, calls: &[Json]) -> TestHome {
    let home = TestHome::new();
    home.write("mend.worker", worker);
    home.write("project/a.txt", "one\ntwo\n");
    home.write("project/.env", "KEY=hunter2\n");
    git(&home, &["init", "-qb", "main"]);
    git(&home, &["add", "."]);
    git(&home, &["commit", "-qm", "First"]);
    let turns = calls.iter().map(|call| json!({ "calls": [call] }));
    let turns: Json = turns.chain([json!({ "text": "done" })]).collect();
    home.write("script.json", json!([{ "worker": "mend", "turns": turns }]).to_string());
    home
}

fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["run", "mend.worker", "-mscripted:script.json"];
    words.extend(more);
    words
}

const RW: [&str; 4] = ["-e", "repo=git:project:rw", "-e", "now=clock"];

fn card(home: &TestHome, number: &str) -> String {
    home.almoner(&["inbox", number, "--full"]).expect(0).out.replace("\n      ┆ ", "")
}

/// Returns the completion of each call as JSON: its value, or the rule that refused it. The first text of each pair
/// is empty.
fn results(home: &TestHome) -> Vec<(String, String)> {
    let trace = home.trace("r1").to_string();
    let steps: Json = serde_json::from_str(&trace).unwrap();
    let mut all = Vec::new();
    fn walk(value: &Json, all: &mut Vec<(String, String)>) {
        match value {
            Json::Object(fields) => {
                if let Some(completion) = fields.get("completion") {
                    all.push((String::new(), completion.to_string()));
                }
                fields.values().for_each(|value| walk(value, all));
            }
            Json::Array(items) => items.iter().for_each(|value| walk(value, all)),
            _ => {}
        }
    }
    walk(&steps, &mut all);
    all
}

#[test]
fn commit_is_shown_as_a_diff_and_made_exactly_so() {
    let home = home(
        WORKER,
        &[
            call("status", json!({})),
            call("diff", json!({})),
            json!({ "name": "now_today", "arguments": {} }),
            call("add", json!({ "paths": ["a.txt"] })),
            call("commit", json!({ "message": "Count in German" })),
        ],
    );
    home.write("project/a.txt", "eins\ntwo\n");
    let mut words = run(&RW);
    words.extend(["--allow", "repo.add"]);
    home.almoner(&words).expect(7);
    assert_eq!(git(&home, &["diff", "--cached", "--name-only"]), "a.txt");
    let shown = card(&home, "1");
    for line in [
        "sends repo.commit",
        "what is committed:",
        "│ -one",
        "│ +eins",
        "│ Count in German",
        "effects/commit",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    let log = git(&home, &["log", "-1", "--format=%an|%s|%(trailers:key=Almoner-Call,valueonly)"]);
    assert!(log.starts_with("Almoner run r1|Count in German|r1#"), "{log}");
    assert_eq!(git(&home, &["show", "HEAD:a.txt"]), "eins\ntwo");
    assert_eq!(git(&home, &["status", "--porcelain"]), "");
    let out = format!("{:?}", results(&home));
    assert!(out.contains("weekday"), "{out}");
}

#[test]
fn staging_card_lists_files_and_hidden_text_is_refused() {
    let calls = [
        call("add", json!({ "paths": ["."] })),
        call("commit", json!({ "message": "Plain\n\n\twith a tab" })),
        call("commit", json!({ "message": "Red \u{1b}[31m" })),
        call("commit", json!({ "message": "Turned \u{202e}round" })),
    ];
    let home = home(WORKER, &calls);
    home.write("project/a.txt", "eins\ntwo\n");
    std::fs::remove_file(home.path("project/.env")).unwrap();
    for number in 0..120 {
        home.write(&format!("project/many/{number:03}.txt"), "x\n");
    }
    home.almoner(&run(&RW)).expect(7);
    let shown = card(&home, "1");
    for line in
        ["what is staged:", "a.txt: 9 bytes", ".env: is gone", "many/000.txt: 2 bytes", "… and 22 more"]
    {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(7);
    home.almoner(&["approve", "2"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert_eq!(git(&home, &["log", "-1", "--format=%s"]), "Plain");
    let out = format!("{:?}", results(&home));
    assert_eq!(out.matches("has a character that nobody sees").count(), 2, "{out}");
}

#[test]
fn commit_with_newly_staged_files_is_asked_again() {
    let calls = [call("commit", json!({ "message": "Mine" }))];
    let home = home(WORKER, &calls);
    home.write("project/a.txt", "eins\ntwo\n");
    git(&home, &["add", "a.txt"]);
    home.almoner(&run(&RW)).expect(7);
    home.write("project/b.txt", "evil\n");
    git(&home, &["add", "b.txt"]);
    home.almoner(&["approve", "1"]).expect(0);
    // The staged changes are not the approved ones. The daemon asks again and shows the difference.
    home.almoner(&["resume"]).expect(7);
    assert_eq!(git(&home, &["log", "-1", "--format=%s"]), "First");
    let shown = card(&home, "2");
    assert!(shown.contains("+evil") && shown.contains("has changed since you approved this"), "{shown}");
}

#[test]
fn read_only_repository_refuses_writes_and_asks_for_secrets() {
    let worker = "---\nslots: { repo: git }\n---\nLook.\n";
    let calls = [call("log", json!({})), call("show", json!({ "revision": "HEAD", "path": ".env" }))];
    let home = home(worker, &calls);
    let said = home.almoner(&run(&["-e", "repo=git:project:rw"])).expect(2);
    assert!(said.err.contains("only reads"), "{}", said.err);
    let planned = home.almoner(&run(&["-e", "repo=git:project", "--dry-run"])).expect(0).out;
    assert!(planned.contains("repository") && !planned.contains("repo_commit"), "{planned}");
    home.almoner(&run(&["-e", "repo=git:project"])).expect(7);
    assert!(card(&home, "1").contains("holds keys or passwords"), "{}", card(&home, "1"));
    home.almoner(&["deny", "1", "--reason", "no"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert!(!home.trace("r1").to_string().contains("hunter2"));
}

#[test]
fn part_of_a_committed_key_asks() {
    const BODY: &str = "IJ1hgr5ZQ0Jm3V1nYt8zq0Lw3Jm9o0v0c1cA2xq9qW5x";
    let calls = [
        call("show", json!({ "revision": "HEAD", "path": "notes.txt", "offset": 40 })),
        call("show", json!({ "revision": "HEAD", "offset": 160 })),
        call("blame", json!({ "path": "notes.txt", "from": 3, "lines": 1 })),
        call("diff", json!({})),
    ];
    for one in &calls {
        let home = home("---\nslots: { repo: git }\n---\nLook.\n", std::slice::from_ref(one));
        let key =
            format!("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIE\n{BODY}\n-----END PRIVATE KEY-----\n");
        let lines: String = (0..20).map(|line| format!("line {line}\n")).collect();
        home.write("project/notes.txt", format!("{key}{lines}"));
        git(&home, &["add", "."]);
        git(&home, &["commit", "-qm", "Key"]);
        home.write("project/notes.txt", format!("{key}{lines}more\n"));
        home.almoner(&run(&["-e", "repo=git:project"])).expect(7);
        let shown = card(&home, "1");
        assert!(shown.contains("paths/keys-inside") && !shown.contains(BODY), "{one}: {shown}");
        assert!(!home.trace("r1").to_string().contains(BODY), "{one}");
    }
}

#[test]
fn repository_process_cannot_read_files_outside() {
    let calls =
        [call("status", json!({})), call("diff", json!({})), call("show", json!({ "revision": "HEAD" }))];
    let worker = "---\nslots: { repo: git }\n---\nLook.\n";
    let home = home(worker, &calls);
    // These settings stand for any setting that leads outside of the repository and that no check refuses by its
    // name.
    home.write("beside/excludes", "*\n");
    home.write("beside/config", "[user]\n\tname = hunter2\n");
    let beside = home.path("beside");
    git(&home, &["config", "core.excludesFile", beside.join("excludes").to_str().unwrap()]);
    git(&home, &["config", "core.attributesFile", beside.join("excludes").to_str().unwrap()]);
    home.write("project/new.txt", "new\n");
    home.almoner(&run(&["-e", "repo=git:project"])).expect(7);
    home.almoner(&["deny", "1", "--reason", "no"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    // The process could not read the excludes file, so Git ignored no file.
    let told = format!("{:?}", results(&home));
    assert!(told.contains("new.txt"), "{told}");
    git(&home, &["config", "include.path", beside.join("config").to_str().unwrap()]);
    home.almoner(&run(&["-e", "repo=git:project"]));
    let told = home.trace("r2").to_string();
    assert!(told.contains("git/") && !told.contains("hunter2"), "{told}");
}

#[test]
fn commit_made_by_a_killed_daemon_is_not_repeated() {
    let begun = || {
        let add = call("add", json!({ "paths": ["a.txt"] }));
        let home = home(WORKER, &[add, call("commit", json!({ "message": "Once" }))]);
        home.write("project/a.txt", "eins\ntwo\n");
        home
    };
    let undisturbed = begun();
    let mut words = run(&RW);
    words.extend(["--allow", "repo.add"]);
    undisturbed.almoner(&words).expect(7);
    to_the_end(&undisturbed);
    let all = commits(&undisturbed);
    let play = |point: &str, nth: u64| {
        let home = begun();
        let mut doomed = Doomed::start(&home, point, nth);
        home.almoner(&words);
        if !home.almoner(&["runs"]).out.contains("mend") {
            home.almoner(&words);
        }
        to_the_end(&home);
        assert_eq!(git(&home, &["log", "--format=%s"]), "Once\nFirst", "{point} {nth}");
        assert_eq!(git(&home, &["status", "--porcelain"]), "", "{point} {nth}");
        doomed.has_died()
    };
    for point in [BEFORE, AFTER] {
        at_each(point, all, all / 2 + 1, |nth| play(point, nth));
    }
}

/// Checks the daemon's own path: it dies when the switch has begun, and half of the files are of the other branch then.
#[test]
fn branch_half_checked_out_by_a_killed_daemon_is_checked_out() {
    let home = home(WORKER, &[call("switch", json!({ "name": "topic" }))]);
    git(&home, &["checkout", "-qb", "topic"]);
    for name in ["a.txt", "only.txt"] {
        home.write(&format!("project/{name}"), "topic\n");
    }
    git(&home, &["add", "."]);
    git(&home, &["commit", "-qm", "Topic"]);
    git(&home, &["checkout", "-q", "main"]);
    home.almoner(&run(&RW)).expect(7);
    home.almoner(&["stop"]).expect(0);
    // The second commit is the beginning of the call.
    let mut doomed = Doomed::start(&home, AFTER, 2);
    home.almoner(&["approve", "1"]);
    assert!(doomed.dies_within(std::time::Duration::from_secs(20)));
    assert_eq!(git(&home, &["branch", "--show-current"]), "main");
    git(&home, &["checkout", "-q", "topic", "--", "a.txt"]);
    home.almoner(&["resume"]).expect(0);
    assert_eq!(git(&home, &["branch", "--show-current"]), "topic");
    assert_eq!(git(&home, &["status", "--porcelain"]), "");
    let steps = home.trace("r1")["steps"].to_string();
    assert_eq!(steps.matches("\"effect_started\"").count(), 1, "{steps}");
    assert!(!steps.contains("outcome_unknown"), "{steps}");
}
