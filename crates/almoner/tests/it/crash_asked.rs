//! `kill -9` at every commit of a run that asks and is answered from two terminals at once, one for and one against.
//!
//! The order of the two answers differs from run to run, so no run is compared with an undisturbed one. Each proposal
//! must have one outcome and at most one effect. An answer that was acknowledged to a terminal must count, and the
//! world must agree with the journal.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::kill_sweep::{AFTER, BEFORE, Doomed, at_each, commits};
use crate::test_home::{Said, TestHome};

const WORKER: &str = "---\nslots: { out: dir rw, outbox: outbox }\n---\nDo it.\n";
/// Of several models each request and each reply is recorded by itself, as with any that is paid for.
const TWO: &str = "scripted:script.json,scripted:script.json";
const RUN: [&str; 8] = ["run", "clerk.worker", "-e", "out=out:rw", "-e", "outbox=outbox", "-m", TWO];
/// A card with two entries, then one with a single one.
const SCRIPT: &str = r#"[{ "turns": [
    { "calls": [
        { "name": "out_write", "arguments": { "path": "a.md", "content": "text\n" } },
        { "name": "outbox_send", "arguments": { "to": "a@own.example", "subject": "one", "body": "b" } } ] },
    { "calls": [ { "name": "outbox_send", "arguments": { "to": "b@own.example", "subject": "two", "body": "b" } } ] },
    { "text": "done" } ] }]"#;

/// An answer that was acknowledged to a terminal: the message, whether it was a yes, and the entries that it decided.
type Acknowledged = (u64, bool, Vec<u64>);

fn begun() -> TestHome {
    let home = TestHome::new();
    home.write("clerk.worker", WORKER);
    home.write("script.json", SCRIPT);
    for dir in ["out", "outbox"] {
        std::fs::create_dir(home.path(dir)).unwrap();
    }
    home
}

/// Starts a command that may fail, because the daemon may die under it.
fn quiet(home: &TestHome, args: &[&str]) -> Child {
    home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the numbers of the cards that wait.
fn open(home: &TestHome) -> Option<Vec<u64>> {
    let said = home.almoner(&["inbox", "--json"]);
    let letters: Json = serde_json::from_str(&said.out).ok()?;
    letters.as_array()?.iter().map(|letter| letter["number"].as_u64()).collect()
}

/// Answers every waiting message from two terminals until the run is over. Returns the acknowledged answers.
fn answered(home: &TestHome) -> Vec<Acknowledged> {
    let mut told = Vec::new();
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < Duration::from_secs(120), "the run does not end");
        if home.almoner(&["resume", "r1"]).code == 0 {
            return told;
        }
        for message in open(home).unwrap_or_default() {
            let number = message.to_string();
            let yes = quiet(home, &["approve", &number, "--json"]);
            let no = quiet(home, &["deny", &number, "-r", "no", "--json"]);
            for (child, yes) in [(yes, true), (no, false)] {
                let said = Said::of(child.wait_with_output().unwrap());
                let answer: Json = serde_json::from_str(&said.out).unwrap_or_default();
                match answer["body"]["reply"].as_str() {
                    Some("answered") => {
                        let entries = answer["body"]["entries"].as_array().unwrap();
                        told.push((message, yes, entries.iter().map(|e| e.as_u64().unwrap()).collect()));
                    }
                    Some("already_answered") => {}
                    // The daemon has died, and nothing is known.
                    _ => assert_ne!(said.code, 0, "{said:?}"),
                }
            }
        }
    }
}

/// Checks that each proposal has one outcome and at most one effect, and that every acknowledged answer counts.
fn check(home: &TestHome, told: &[Acknowledged], when: &str) {
    let trace = home.trace("r1");
    let steps: Vec<&Json> = trace["steps"].as_array().unwrap().iter().map(|step| &step["entry"]).collect();
    let numbers: Vec<u64> =
        trace["steps"].as_array().unwrap().iter().map(|s| s["number"].as_u64().unwrap()).collect();
    let proposals: Vec<(u64, &Json)> = numbers
        .into_iter()
        .zip(&steps)
        .filter(|(_, entry)| entry["entry"] == "proposed")
        .map(|(number, entry)| (number, &entry["proposal"]))
        .collect();
    assert_eq!(proposals.len(), 3, "{when}: {steps:#?}");
    let of = |proposal: u64, kind: &str| -> Vec<&Json> {
        steps.iter().filter(|e| e["entry"] == kind && e["proposal"] == proposal).copied().collect()
    };
    let (mut files, mut mails) = (0, Vec::new());
    for (index, (number, proposal)) in proposals.iter().enumerate() {
        let (answers, begun, completed) =
            (of(*number, "answered"), of(*number, "effect_started"), of(*number, "completed"));
        assert_eq!((answers.len(), completed.len()), (1, 1), "{when}: {steps:#?}");
        let yes = answers[0]["approved"] == true;
        assert_eq!(begun.len(), usize::from(yes), "{when}: {steps:#?}");
        let (message, entry) = (answers[0]["message"].as_u64().unwrap(), if index == 1 { 1 } else { 0 });
        for (_, said, _) in told.iter().filter(|(m, _, entries)| *m == message && entries.contains(&entry)) {
            assert_eq!(*said, yes, "{when}: a terminal was told otherwise about entry {entry} of {message}");
        }
        match proposal["method"].as_str() {
            _ if !yes => {}
            Some("write") => files += 1,
            _ => mails.push(if index == 1 { "To: a@own.example" } else { "To: b@own.example" }),
        }
    }
    let spool = std::fs::read_dir(home.path("outbox")).unwrap().flatten();
    let mut spooled: Vec<String> = spool
        .map(|mail| {
            std::fs::read_to_string(mail.path()).unwrap().lines().next().unwrap_or_default().to_owned()
        })
        .collect();
    spooled.sort();
    assert_eq!(spooled, mails, "{when}");
    assert_eq!(usize::from(home.path("out/a.md").exists()), files, "{when}");
    let report = home.almoner(&["doctor", "daemon", "--json"]).json();
    for id in ["store", "audit chain"] {
        let row = report["checks"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap();
        assert_eq!(row["ok"], true, "{when}: {report}");
    }
}

/// Returns the whole of it with a daemon that dies at `point` for the `nth` time. False if it never got there.
fn disturbed(point: &str, nth: u64) -> bool {
    let home = begun();
    let daemon = Doomed::start(&home, point, nth);
    // A run whose start was not acknowledged is begun again.
    let started = Instant::now();
    while home.almoner(&RUN).code != 7 {
        assert!(started.elapsed() < Duration::from_secs(60), "{point} {nth}: it does not begin");
        let runs = home.almoner(&["runs", "--json"]);
        if runs.code == 0 && runs.json().as_array().is_some_and(|runs| !runs.is_empty()) {
            break;
        }
    }
    let told = answered(&home);
    let died = daemon.end();
    check(&home, &told, &format!("killed at {point} {nth}"));
    died
}

fn kill_at_every(point: &'static str) {
    let home = begun();
    home.almoner(&RUN).expect(7);
    let told = answered(&home);
    assert!(told.len() >= 2, "{told:?}");
    check(&home, &told, "undisturbed");
    let count = commits(&home);
    drop(home);
    assert!(count >= 12, "the run has only {count} commits");
    // A denial takes fewer commits than a yes, and so the undisturbed run may have had fewer.
    at_each(point, count + 4, count - 8, |nth| disturbed(point, nth));
}

#[test]
fn competing_answers_survive_a_kill_before_every_commit() {
    kill_at_every(BEFORE);
}

#[test]
fn competing_answers_survive_a_kill_after_every_commit() {
    kill_at_every(AFTER);
}
