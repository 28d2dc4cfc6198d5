//! `kill -9` at every commit where a question comes a second time. The approved file has changed since, or a crash
//! has cut off a call that may have happened.
//!
//! The user at the terminal answers again whenever an answer was not acknowledged. There must be one effect, and it
//! must be the one on the last card. A call that a person has confirmed must not be repeated.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::doubt::cut_off;
use crate::kill_sweep::{AFTER, BEFORE, Doomed, at_each, commits};
use crate::test_home::TestHome;

/// How long all of it may take before the test gives up.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Of several models each request and each reply is recorded by itself, as with any that is paid for.
const TWO: &str = "scripted:script.json,scripted:script.json";

/// A run that somebody must answer, and how it is told that all came as it must.
#[derive(Clone, Copy)]
struct Play {
    /// Until the moment from which commits are counted.
    prepare: fn() -> TestHome,
    /// One answer of the user at the terminal to a message of this kind.
    press: fn(&TestHome, u64, &str) -> i32,
    /// The check of the final state.
    check: fn(&TestHome, &str),
}

/// Returns the number and the kind of the first waiting message, if the daemon can be asked.
fn waiting(home: &TestHome) -> Option<(u64, String)> {
    let said = home.almoner(&["inbox", "--json"]);
    let letters: Json = serde_json::from_str(&said.out).ok()?;
    let first = letters.as_array()?.first()?;
    Some((first["number"].as_u64()?, first["message"]["body"]["type"].as_str()?.to_owned()))
}

/// Presses until nothing waits and the run is over.
fn play(home: &TestHome, play: Play) {
    let begun = Instant::now();
    while home.almoner(&["resume", "r1"]).code != 0 {
        assert!(begun.elapsed() < TIMEOUT, "the run does not end: {:?}", home.almoner(&["trace", "r1"]));
        if let Some((number, kind)) = waiting(home) {
            (play.press)(home, number, &kind);
        }
    }
}

/// Returns all of it with a daemon that dies at `point` for the `nth` time. False if it never got there.
fn disturbed(the: Play, point: &str, nth: u64) -> bool {
    let home = (the.prepare)();
    let daemon = Doomed::start(&home, point, nth);
    play(&home, the);
    let died = daemon.end();
    (the.check)(&home, &format!("killed at {point} {nth}"));
    died
}

fn kill_at_every(the: Play, point: &'static str, least: u64) {
    let home = (the.prepare)();
    let before = commits(&home);
    play(&home, the);
    let count = commits(&home) - before;
    (the.check)(&home, "undisturbed");
    drop(home);
    assert!(count >= least, "only {count} commits");
    at_each(point, count, count - 2, |nth| disturbed(the, point, nth));
}

/// Returns the kinds of the entries that speak of proposals, in order.
fn entries(home: &TestHome) -> Vec<String> {
    let trace = home.trace("r1");
    let of = |step: &Json| step["entry"]["entry"].as_str().unwrap().to_owned();
    trace["steps"].as_array().unwrap().iter().map(of).collect()
}

fn times(entries: &[String], kind: &str) -> usize {
    entries.iter().filter(|entry| *entry == kind).count()
}

fn whole(home: &TestHome, when: &str) {
    let report = home.almoner(&["doctor", "daemon", "--json"]).json();
    for id in ["store", "audit chain"] {
        let row = report["checks"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap();
        assert_eq!(row["ok"], true, "{when}: {report}");
    }
    home.almoner(&["audit", "verify"]).expect(0);
}

/// Returns a file would be replaced, the card is shown, and then somebody else changes the file.
fn changed_since() -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { out: dir rw }\n---\nWrite.\n");
    home.write("out/a.md", "as it was\n");
    let call = json!({ "name": "out_write", "arguments": { "path": "a.md", "content": "new\n" } });
    home.write("script.json", json!([{ "turns": [{ "calls": [call] }, { "text": "done" }] }]).to_string());
    home.almoner(&["run", "w.worker", "-e", "out=out:rw", "-m", TWO]).expect(7);
    home.write("out/a.md", "changed since\n");
    home.almoner(&["stop"]).expect(0);
    home
}

const STALE: Play = Play {
    prepare: changed_since,
    press: |home, number, _| home.almoner(&["approve", &number.to_string()]).code,
    check: |home, when| {
        assert_eq!(home.read("out/a.md"), "new\n", "{when}");
        let entries = entries(home);
        assert_eq!(times(&entries, "effect_started"), 1, "{when}: {entries:?}");
        // The first yes was for content that has changed. That proposal ends, another card comes, and its yes counts.
        assert_eq!(times(&entries, "completed"), 2, "{when}: {entries:?}");
        assert_eq!(times(&entries, "answered"), 2, "{when}: {entries:?}");
        assert_eq!(times(&entries, "judged"), 2, "{when}: {entries:?}");
        let second = home.almoner(&["inbox", "--all", "--json"]).json();
        let cards = second.as_array().unwrap().iter();
        assert_eq!(cards.filter(|l| l["message"]["body"]["type"] == "approval").count(), 2, "{when}");
        whole(home, when);
    },
};

#[test]
fn stale_approval_survives_a_kill_before_every_commit() {
    kill_at_every(STALE, BEFORE, 8);
}

#[test]
fn stale_approval_survives_a_kill_after_every_commit() {
    kill_at_every(STALE, AFTER, 8);
}

fn doubted(home: &TestHome, when: &str, lines: std::ops::RangeInclusive<usize>) {
    let log = home.read("in/log");
    assert!(lines.contains(&log.lines().count()), "{when}: {log}");
    let entries = entries(home);
    assert_eq!(times(&entries, "completed"), 1, "{when}: {entries:?}");
    whole(home, when);
}

fn happened(home: &TestHome, number: u64, kind: &str, word: &str) -> i32 {
    assert_eq!(kind, "outcome-unknown", "nothing else is asked");
    home.almoner(&["outcome", &number.to_string(), word]).code
}

#[test]
fn confirmed_outcome_survives_a_kill_at_every_commit() {
    let it_did = Play {
        prepare: cut_off,
        press: |home, number, kind| happened(home, number, kind, "yes"),
        check: |home, when| doubted(home, when, 1..=1),
    };
    kill_at_every(it_did, BEFORE, 4);
    kill_at_every(it_did, AFTER, 4);
}

#[test]
fn denied_outcome_survives_a_kill_at_every_commit() {
    // Each word that it did not happen lets it begin once. A crash in that beginning asks again, and is told the same: the
    // program was at work once more, at most.
    let it_did_not = Play {
        prepare: cut_off,
        press: |home, number, kind| happened(home, number, kind, "no"),
        check: |home, when| {
            let all = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
            let letters = all.as_array().unwrap().iter();
            let asked = letters.filter(|l| l["message"]["body"]["type"] == "outcome-unknown").count();
            doubted(home, when, 2..=1 + asked);
        },
    };
    kill_at_every(it_did_not, BEFORE, 5);
    kill_at_every(it_did_not, AFTER, 5);
}
