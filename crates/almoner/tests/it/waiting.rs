//! `almoner wait`: it watches a run to its end, or until only a person can move it on.

use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value as Json, json};

use crate::test_home::{CLERK, Said, TestHome};

/// The time for a command to connect. A shorter one makes a test weaker, and never makes it fail.
const PAUSE: Duration = Duration::from_millis(500);

/// Returns a home with a worker that sleeps for an hour, and a run of it.
fn sleeper() -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { clock: timer }\n---\nWait.\n");
    let call = json!({ "name": "clock_wait", "arguments": { "how_long": "1h" } });
    home.write("script.json", json!([{ "turns": [{ "calls": [call] }, { "text": "woken" }] }]).to_string());
    home.almoner(&["run", "w.worker", "-mscripted:script.json", "--detach"]).expect(0);
    while !home.almoner(&["runs"]).expect(0).out.contains("waits until") {}
    home
}

fn begin(home: &TestHome, args: &[&str]) -> Child {
    home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(process: i64, signal: Signal) {
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    rustix::process::kill_process(process, signal).unwrap();
}

fn end(child: Child) -> Said {
    Said::of(child.wait_with_output().unwrap())
}

#[test]
fn wait_prints_the_envelope_that_run_prints() {
    let call = r#"{"name": "out_write", "arguments": {"path": "a.md", "content": "text\n"}}"#;
    let home = TestHome::with_clerk(&format!(r#"{{"calls": [{call}]}}"#));
    let waiting = home.almoner(&[&CLERK[..], &["--json"]].concat()).expect(7).json();
    assert_eq!(home.almoner(&["wait", "r1", "--json"]).expect(7).json(), waiting);
    assert_eq!(waiting["pending"], json!([1]));
    let said = home.almoner(&["wait", "last"]).expect(7);
    assert!(said.out.is_empty() && said.err.contains("r1 waits for you: message 1"), "{}", said.err);
    // A run that waits for an answer goes on under the eyes of the command.
    home.almoner(&["approve", "1"]).expect(0);
    let done = home.almoner(&["wait", "r1", "--json"]).expect(0).json();
    assert_eq!(home.almoner(&["resume", "r1", "--json"]).expect(0).json(), done);
    assert_eq!((&done["state"], &done["value"]), (&json!("done"), &json!("done")));
    assert_eq!(home.almoner(&["wait", "r1"]).expect(0).out, "done\n");
    home.almoner(&["wait", "r1", "-o", "result.txt"]).expect(0);
    assert_eq!(home.read("result.txt"), "done");
    for verb in ["wait", "resume"] {
        assert_eq!(home.almoner(&[verb, "r1", "-o", "-"]).expect(0).out, "done");
        home.almoner(&[verb, "r1", "-o", "-", "--json"]).expect(2);
    }
    assert!(!home.path("-").exists());
    home.almoner(&["wait", "r9"]).expect(4);
    home.almoner(&["wait", "soon"]).expect(2);
}

#[test]
fn wait_ends_as_failed_stalled_and_silent_runs_do() {
    let home = TestHome::new();
    home.write("w.worker", "---\nlimits: { turns: 1 }\n---\nSay it.\n");
    home.write("script.json", r#"[{"turns": [{"error": "unauthorized"}]}]"#);
    let run = home.almoner(&["run", "w.worker", "-mscripted:script.json", "--json"]);
    let waited = home.almoner(&["wait", "r1", "--json"]).expect(run.code);
    assert_eq!((waited.json(), &waited.json()["state"]), (run.json(), &json!("stalled")));
    home.almoner(&["cancel", "r1"]).expect(0);
    let failed = home.almoner(&["wait", "r1", "--json"]);
    assert_ne!(failed.code, 0);
    assert_eq!(failed.json()["state"], "failed");
    // A conversation waits for words.
    home.write("script.json", r#"[{"turns": [{"text": "hello"}]}]"#);
    home.piped(&["chat", "-mscripted:script.json"], b"hi\n").expect(0);
    let chat = home.almoner(&["wait", "r2", "--json"]).expect(7);
    assert_eq!((&chat.json()["state"], &chat.json()["pending"]), (&json!("waiting"), &json!([])));
    assert!(chat.err.contains("chat --continue r2"), "{}", chat.err);
}

#[test]
fn wait_with_a_timeout_leaves_the_run_alone() {
    let home = sleeper();
    for seconds in ["0", "1"] {
        let said = home.almoner(&["wait", "r1", "--timeout", seconds, "--json"]).expect(9);
        let running: Json = json!({ "version": 1, "run": "r1", "state": "running", "pending": [] });
        assert_eq!(said.json(), running);
        assert!(said.err.contains("the time is over, and r1 goes on"), "{}", said.err);
    }
    home.almoner(&["wait", "r1", "--timeout", "soon"]).expect(2);
    assert!(home.almoner(&["runs"]).expect(0).out.contains("waits until"));
}

#[test]
fn interrupted_wait_leaves_the_run_alone() {
    let home = sleeper();
    let waiting = begin(&home, &["wait", "r1"]);
    std::thread::sleep(PAUSE);
    signal(waiting.id().into(), Signal::INT);
    let said = end(waiting).expect(130);
    assert!(said.err.contains("interrupted; r1 goes on"), "{}", said.err);
    assert!(home.almoner(&["runs"]).expect(0).out.contains("waits until"));
}

#[test]
fn wait_goes_on_across_a_killed_and_a_stopped_daemon() {
    let home = sleeper();
    let waiting = begin(&home, &["wait", "r1", "--json"]);
    std::thread::sleep(PAUSE);
    let daemon = home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_i64().unwrap();
    signal(daemon, Signal::KILL);
    std::thread::sleep(PAUSE);
    home.almoner(&["stop"]).expect(0);
    std::thread::sleep(PAUSE);
    // A stopped daemon stays stopped, until a command of the user starts the next one.
    assert!(UnixStream::connect(home.root().join("run/control.sock")).is_err());
    home.almoner(&["cancel", "r1"]).expect(0);
    let said = end(waiting);
    assert_eq!(said.json()["state"], "failed", "{said:?}");
    assert!(said.err.contains("waiting for the next daemon"), "{}", said.err);
}
