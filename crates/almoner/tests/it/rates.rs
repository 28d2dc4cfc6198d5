//! Tests of rate limits: they hold for every run that uses a grant, and across restarts of the daemon.

use serde_json::{Value as Json, json};

use crate::test_home::TestHome;

fn write(name: &str) -> Json {
    json!({ "name": "out_write", "arguments": { "path": name, "content": "x" } })
}

/// Returns the files that were written.
fn written(home: &TestHome) -> Vec<String> {
    let found = std::fs::read_dir(home.path("out")).unwrap();
    let mut names: Vec<String> =
        found.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns a home with a worker that writes in one turn the files that stand together, and one that has another one
/// do so as well.
fn home(turns: &[&[&str]]) -> TestHome {
    let home = TestHome::new();
    std::fs::create_dir(home.path("out")).unwrap();
    home.write("w.worker", "---\nslots: { out: dir rw }\n---\nWrite.\n");
    home.write("boss.worker", "---\nslots: { helper: worker }\n---\nHave it written.\n");
    let turn = |words: &&[&str]| json!({ "calls": words.iter().map(|word| write(word)).collect::<Vec<_>>() });
    let turns: Vec<Json> = turns.iter().map(turn).chain([json!({ "text": "done" })]).collect();
    let helper = json!({ "calls": [{ "name": "helper", "arguments": {} }] });
    let script = json!([
        { "worker": "w", "turns": turns },
        { "worker": "boss", "turns": [helper, helper, { "text": "done" }] },
    ]);
    home.write("script.json", script.to_string());
    home
}

fn run(home: &TestHome, endow: &str) {
    let args = ["run", "w.worker", "-e", endow, "--allow", "out.write", "-mscripted:script.json"];
    home.almoner(&args).expect(0);
}

/// Returns the completed entries of a run whose calls the rate limit refused.
fn refused(home: &TestHome, run: &str) -> Vec<String> {
    let trace = home.trace(run);
    let steps = trace["steps"].as_array().unwrap().iter().map(|step| step["entry"].to_string());
    steps.filter(|entry| entry.contains(r#""completed""#) && entry.contains("rate/limit")).collect()
}

#[test]
fn calls_over_the_rate_limit_are_refused() {
    let home = home(&[&["one", "two"], &["three", "four"]]);
    run(&home, "out=out:rw?rate=3/h");
    assert_eq!(written(&home), ["one", "three", "two"]);
    let refused = refused(&home, "r1");
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(
        refused[0].contains("3 calls in 1 h") && refused[0].contains("the next call in 3"),
        "{refused:?}"
    );
    // The run is told of the rate limit first, before any other note of the gates.
    let trace = home.almoner(&["trace", "r1"]).expect(0).out;
    assert!(trace.contains("refused: `out` may be used for 3 calls in 1 h, and was"), "{trace}");
    let grants = home.almoner(&["grants"]).expect(0).out;
    assert!(grants.contains("3 calls in 1 h"), "{grants}");
    // A grant to another run has not been used yet.
    std::fs::remove_file(home.path("out/two")).unwrap();
    run(&home, "out=out:rw?rate=3/h");
    assert_eq!(written(&home), ["one", "three", "two"]);
}

#[test]
fn rate_limit_recovers_with_time_but_not_by_restart() {
    let home = home(&[&["one"], &["two"]]);
    home.write("w.worker", "---\nslots: { out: dir rw, clock: timer }\n---\nWrite.\n");
    let wait = json!({ "calls": [{ "name": "clock_wait", "arguments": { "how_long": "3s" } }] });
    let one = |word: &str| json!({ "calls": [write(word)] });
    let turns = json!([one("one"), one("refused"), wait, one("two"), { "text": "done" }]);
    home.write("script.json", json!([{ "turns": turns }]).to_string());
    run(&home, "out=out:rw?rate=1/3s");
    assert_eq!(written(&home), ["one", "two"]);
    assert_eq!(refused(&home, "r1").len(), 1);
}

#[test]
fn call_counts_against_its_rate_after_the_daemon_was_killed() {
    // One is written, the daemon is killed while the run waits, and the next one has to know of it.
    let home = home(&[]);
    home.write("w.worker", "---\nslots: { out: dir rw, me: ask }\n---\nWrite.\n");
    let ask = json!({ "name": "me_ask", "arguments": { "question": "Go on?", "choices": ["yes", "no"] } });
    let one = |call: Json| json!({ "calls": [call] });
    let turns = json!([one(write("one")), one(ask), one(write("two")), { "text": "done" }]);
    home.write("script.json", json!([{ "turns": turns }]).to_string());
    let args =
        ["run", "w.worker", "-e", "out=out:rw?rate=1/h", "--allow", "out.write", "-mscripted:script.json"];
    home.almoner(&args).expect(7);
    assert_eq!(written(&home), ["one"]);
    crate::eval::kill(crate::between::daemon_of(&home));
    home.almoner(&["submit", "1", "answer=yes"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(0);
    assert_eq!(written(&home), ["one"]);
    assert_eq!(refused(&home, "r1").len(), 1, "nobody is asked about what cannot be done");
}

#[test]
fn child_runs_share_the_rate_limit_of_their_grant() {
    let home = home(&[&["one", "two"]]);
    let args = [
        "run",
        "boss.worker",
        "-e",
        "helper=w.worker",
        "-e",
        "helper.out=out:rw?rate=3/h",
        "--allow",
        "helper.out.write",
        "-mscripted:script.json",
    ];
    home.almoner(&args).expect(0);
    assert_eq!(written(&home), ["one", "two"]);
    assert_eq!(refused(&home, "r2").len() + refused(&home, "r3").len(), 1);
}
