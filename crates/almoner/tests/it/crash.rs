//! `kill -9` at every commit of the main job: nothing acknowledged is lost, nothing is done twice.
//!
//! The run of the demo is made once undisturbed. Then it is made again for each of its commits, with a daemon that
//! kills itself just before or just after that commit. The client is killed with it, and `resume` goes on. Files and
//! journals must come out the same.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::kill_sweep::{AFTER, BEFORE, Doomed, at_each, commits};
use crate::test_home::{TRIAGE, TestHome};

/// The files and journals that the run leaves behind, without the parts that differ from run to run.
#[derive(Debug, PartialEq)]
struct Left {
    files: BTreeMap<String, String>,
    journals: BTreeMap<String, Value>,
}

fn left(home: &TestHome) -> Left {
    let mut files = BTreeMap::new();
    for dir in ["out", "outbox"] {
        for entry in std::fs::read_dir(home.path(dir)).into_iter().flatten().flatten() {
            let name = format!("{dir}/{}", entry.file_name().to_string_lossy());
            files.insert(name.clone(), home.read(&name));
        }
    }
    let runs = home.almoner(&["runs", "--all", "-n", "1000", "--json"]).expect(0).json();
    let journals = runs
        .as_array()
        .unwrap()
        .iter()
        .map(|run| {
            let number = format!("r{}", run["number"]);
            let mut steps = home.trace(&number)["steps"].take();
            forget(&mut steps);
            (number, without_waiting(steps))
        })
        .collect();
    Left { files, journals }
}

/// Removes times, random identities, and values that depend on them or on the location of the home.
fn forget(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in [
                "at_ms",
                "grant",
                "fingerprint",
                "principal",
                "usage",
                "request",
                "reply",
                "model",
                "seconds",
            ] {
                fields.remove(name);
            }
            // The script's path is part of the model's name.
            fields.retain(|name, value| !(name == "sources" && value.is_array()));
            fields.values_mut().for_each(forget);
        }
        Value::Array(items) => items.iter_mut().for_each(forget),
        Value::String(text) if text.contains("scripted:") => *text = "(names the model)".to_owned(),
        _ => {}
    }
}

/// Returns the journal without the marks of waiting, and numbered anew. Whether a parent had begun to wait when its
/// child ended is a matter of time, and nothing else depends on it.
fn without_waiting(steps: Value) -> Value {
    let Value::Array(steps) = steps else { panic!("a journal is a list") };
    let waits = |step: &Value| matches!(step["entry"]["entry"].as_str(), Some("suspended" | "resumed"));
    let mut kept: Vec<Value> = steps.into_iter().filter(|step| !waits(step)).collect();
    let numbers: BTreeMap<u64, u64> =
        kept.iter().zip(1..).map(|(step, new)| (step["number"].as_u64().unwrap(), new)).collect();
    kept.iter_mut().for_each(|step| renumber(step, &numbers));
    Value::Array(kept)
}

fn renumber(value: &mut Value, numbers: &BTreeMap<u64, u64>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let refers = ["number", "proposal", "prompted", "replied", "step"].contains(&name.as_str());
                match value.as_u64().and_then(|n| numbers.get(&n)) {
                    Some(new) if refers => *value = (*new).into(),
                    _ => renumber(value, numbers),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| renumber(item, numbers)),
        _ => {}
    }
}

/// Says where two outcomes differ first.
#[track_caller]
fn assert_same(got: &Left, expected: &Left, when: &str) {
    assert_eq!(got.files, expected.files, "{when}");
    assert_eq!(
        got.journals.keys().collect::<Vec<_>>(),
        expected.journals.keys().collect::<Vec<_>>(),
        "{when}"
    );
    for (run, steps) in &expected.journals {
        let names = |steps: &Value| {
            let steps = steps.as_array().unwrap();
            steps.iter().map(|s| s["entry"]["entry"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&got.journals[run]), names(steps), "{when}: {run}");
        assert_eq!(got.journals[run], *steps, "{when}: {run}");
    }
}

/// Brings the job to its end without disturbance, from any state.
fn to_the_end(home: &TestHome) {
    let runs = home.almoner(&["runs", "--json"]).expect(0).json();
    if runs.as_array().unwrap().is_empty() {
        // It was killed before the run was acknowledged: the person starts it again.
        home.almoner(&TRIAGE).expect(7);
    }
    for _ in 0..3 {
        let said = home.almoner(&["resume"]);
        match said.code {
            0 => return,
            7 => {
                home.almoner(&["approve", "1"]).expect(0);
            }
            code => panic!("resume ended with {code}:\n{}", said.err),
        }
    }
    panic!("the run does not end");
}

/// Runs the job with a daemon that dies at `point` for the `nth` time, then goes on. False if it never got there.
fn disturbed(point: &str, nth: u64) -> Option<Left> {
    let home = TestHome::with_inbox();
    let mut daemon = Doomed::start(&home, point, nth);
    let mut client = home.command(&TRIAGE).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The client ends when the card waits. The answer and the steps after it are part of the job.
    let mut died = false;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        if daemon.has_died() {
            died = true;
            break;
        }
        if client.try_wait().unwrap().is_some() {
            let approve =
                home.command(&["approve", "1"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
            let resume = home.command(&["resume"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
            let _ = (approve, resume);
            // The job is over, or the daemon is about to die.
            died = daemon.dies_within(Duration::from_millis(300));
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = client.kill();
    let _ = client.wait();
    daemon.end();
    if !died {
        return None;
    }
    // A request of the dead client may still be under way. It ends here.
    home.almoner(&["stop"]).expect(0);
    to_the_end(&home);
    Some(left(&home))
}

fn kill_at_every(point: &'static str) {
    let home = TestHome::with_inbox();
    home.almoner(&TRIAGE).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    let expected = left(&home);
    let count = commits(&home);
    assert!(count > 30, "the job has only {count} commits");
    assert_eq!(expected.files.len(), 6);
    drop(home);
    // A commit may have held two commands at once, so the last ones may not be there to be killed at.
    at_each(point, count, count - 6, |nth| {
        let got = disturbed(point, nth);
        if let Some(got) = &got {
            assert_same(got, &expected, &format!("killed at {point} {nth} of {count}"));
        }
        got.is_some()
    });
}

#[test]
fn demo_run_survives_a_kill_before_every_commit() {
    kill_at_every(BEFORE);
}

#[test]
fn demo_run_survives_a_kill_after_every_commit() {
    kill_at_every(AFTER);
}
