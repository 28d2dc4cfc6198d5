//! The control protocol against its published schemas: frames of real sessions, frames of an older client, frames that
//! are none, and frames that a generator makes from the schema.
//!
//! The judge of a frame is the published validator of JSON Schema.

mod generated;
mod replay;
mod schema;

use std::time::Instant;

use serde_json::{Value as Json, json};

use crate::test_home::{CLERK, Said, TestHome};
use crate::wire::{self, Control};
use schema::Schema;

/// The frames of the commands of one test, one file for each connection.
struct RecordedHome {
    home: TestHome,
}

impl RecordedHome {
    fn new() -> RecordedHome {
        let home = TestHome::with_clerk(
            r#"{"calls": [{"name": "outbox_send", "arguments": {"to": "b@a.example", "subject": "Hi", "body": "x"}}]}"#,
        );
        std::fs::create_dir(home.path("frames")).unwrap();
        RecordedHome { home }
    }

    fn almoner(&self, args: &[&str]) -> Said {
        let mut command = self.home.command(args);
        Said::of(command.env("ALMONER_TEST_FRAMES", self.home.path("frames")).output().unwrap())
    }

    /// Returns the frames of each connection, in order.
    fn connections(&self) -> Vec<Vec<Json>> {
        let mut files: Vec<_> =
            std::fs::read_dir(self.home.path("frames")).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        let frames = |path| {
            let text = std::fs::read_to_string(path).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        files.into_iter().map(frames).collect()
    }
}

#[test]
fn frames_of_sessions_are_valid_and_broken_ones_are_not() {
    let recorded = RecordedHome::new();
    let run = |args: &[&str], code| drop(recorded.almoner(args).expect(code));
    run(&CLERK, 7);
    for args in [
        &["status", "--json"][..],
        &["inbox"],
        &["inbox", "1", "--json"],
        &["approve", "1"],
        &["trace", "r1", "--json"],
        &["runs", "--json"],
        &["why", "r1"],
        &["undo", "r1", "--dry-run"],
        &["stats"],
        &["mkdir", "papers"],
        &["store", "greeting=hello"],
        &["list"],
        &["show", "greeting"],
        &["mkguest", "bob"],
        &["send", "bob", "hello"],
        &["inbox", "--as", "bob"],
        &["grants"],
        &["share", "greeting"],
        &["audit", "verify"],
        &["models"],
        &["policy"],
        &["sessions"],
        &["secret", "list"],
        &["gc"],
        &["export", "r1"],
        &["forget", "r1", "--yes"],
    ] {
        run(args, 0);
    }
    run(&["why", "r99"], 4);
    let schema = Schema::read(wire::VERSION);
    let (mut requests, mut tags) = (0, std::collections::BTreeSet::new());
    for frames in recorded.connections() {
        schema.check_conversation(&frames);
        for frame in frames.iter().filter(|frame| frame.get("request").is_some()) {
            requests += 1;
            tags.insert(frame["request"].as_str().unwrap().to_owned());
            for broken in broken_forms(frame) {
                assert!(!schema.accepts("Request", &broken), "{broken}");
            }
        }
    }
    assert!(requests > 40 && tags.len() > 18, "{requests} requests of {tags:?}");
}

/// Returns the frame with faults that the schema must find.
fn broken_forms(frame: &Json) -> Vec<Json> {
    let mut forms = Vec::new();
    let mut change = |change: &dyn Fn(&mut serde_json::Map<String, Json>)| {
        let mut frame = frame.clone();
        change(frame.as_object_mut().unwrap());
        forms.push(frame);
    };
    change(&|fields| drop(fields.shift_remove("request")));
    change(&|fields| drop(fields.insert("request".to_owned(), json!("no_such_request"))));
    change(&|fields| drop(fields.insert("no_such_field".to_owned(), json!(null))));
    change(&|fields| drop(fields.insert("agent".to_owned(), json!(7))));
    forms
}

/// Checks frames that no daemon can read: each gets a failure that says why, and the connection stays.
#[test]
fn unreadable_frames_are_answered_and_connection_stays() {
    let home = TestHome::new();
    home.almoner(&["status"]).expect(0);
    let schema = Schema::read(wire::VERSION);
    let deep =
        |depth: usize| format!(r#"{{"request":"look","look":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let frames: Vec<(Vec<u8>, &str)> = vec![
        (b"".to_vec(), "not_json"),
        (b"{".to_vec(), "not_json"),
        (b"status".to_vec(), "not_json"),
        (b"\0\0\0\0".to_vec(), "not_json"),
        (b"{\"request\":\"status\"}{}".to_vec(), "not_json"),
        (b"{\"request\":\"\xff\"}".to_vec(), "not_utf8"),
        (vec![0x80; 1 << 16], "not_utf8"),
        (deep(200).into_bytes(), "too_deep"),
        (deep(1 << 20).into_bytes(), "too_deep"),
        (b"null".to_vec(), "wrong_field"),
        (b"[{\"request\":\"status\"}]".to_vec(), "wrong_field"),
        (b"{}".to_vec(), "missing_field"),
        (br#"{"request":"statuss"}"#.to_vec(), "unknown_request"),
        (br#"{"request":"journal"}"#.to_vec(), "missing_field"),
        (br#"{"request":"journal","run":"r1"}"#.to_vec(), "wrong_field"),
        (br#"{"request":"journal","run":1.5}"#.to_vec(), "wrong_field"),
        (br#"{"request":"journal","run":1,"frm":2}"#.to_vec(), "unknown_field"),
        (
            br#"{"request":"approve","text":"","message":1,"for_run":false,"entrys":[]}"#.to_vec(),
            "unknown_field",
        ),
        (br#"{"request":"act","act":{"do":"share","path":[]}}"#.to_vec(), "wrong_field"),
        (vec![b' '; control::frame::MAX_FRAME + 1], "too_long"),
    ];
    let mut control = Control::open(&home);
    for (frame, problem) in frames {
        control.send(&frame).unwrap();
        let answer = control.hear().unwrap();
        assert!(schema.accepts("Response", &answer), "{answer}");
        assert_eq!(
            (&answer["response"], &answer["body"]["exit"]),
            (&json!("failed"), &json!("usage")),
            "{answer}"
        );
        assert_eq!(answer["body"]["problem"]["problem"], problem, "{answer}");
        assert_eq!(control.ask(&json!({"request": "status"}))["response"], "status", "after {problem}");
    }
    // A hello that cannot be read is answered as well, and the next one is heard.
    let mut control = Control::silent(&home);
    for (hello, problem) in [
        (json!("{"), "not_json"),
        (json!({"request": "status"}), "missing_field"),
        (json!({"version": wire::VERSION}), "missing_field"),
        (json!({"version": wire::VERSION - 2, "build": "x", "keys": {}}), "version"),
        (json!({"version": wire::VERSION + 1}), "version"),
    ] {
        let answer = control.ask(&hello);
        assert_eq!(answer["body"]["problem"]["problem"], problem, "{answer}");
    }
    let served = control.ask(&json!({"version": 0}))["body"]["problem"]["served"].clone();
    assert_eq!(served, json!([wire::VERSION, wire::VERSION - 1]));
    assert_eq!(control.ask(&wire::hello())["response"], "welcome");
}

/// Checks that a client which is no client, such as a browser, hears of it at once and not after the announced bytes.
#[test]
fn foreign_protocol_is_answered_before_its_length_is_read() {
    let home = TestHome::new();
    home.almoner(&["status"]).expect(0);
    let mut control = Control::silent(&home);
    control.send_raw(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let answer = control.hear().unwrap();
    assert_eq!(answer["body"]["problem"]["problem"], "too_long", "{answer}");
}

#[test]
fn unknown_field_is_ignored_for_client_of_version_16_only() {
    let home = TestHome::new();
    home.almoner(&["status"]).expect(0);
    let request = json!({"request": "runs", "limit": 1, "colour": "blue"});
    for (version, expected) in [(16, "runs"), (17, "failed")] {
        let mut control = Control::silent(&home);
        control.ask(&json!({"version": version, "build": "test", "keys": {}}));
        assert_eq!(control.ask(&request)["response"], expected, "{version}");
    }
}

/// Checks that a command asks a daemon of the version before in that version, and keeps to its first failure if such a
/// daemon does not answer either.
#[test]
fn command_asks_daemon_of_version_16_in_its_version() {
    let home = TestHome::new();
    let socket = home.root().join("run/control.sock");
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    // The words of a daemon that knows no problems.
    let refusal = json!({"response": "failed", "body": {"exit": "conflict", "message": "the daemon speaks version 16",
        "help": "stop the daemon", "silent": false}});
    // A daemon of another build would be replaced.
    let build = env!("CARGO_PKG_VERSION");
    let welcome = json!({"response": "welcome", "body": {"build": build, "waiting": 0, "files": ""}});
    // A client that is refused greets once more, in the turn in which it may replace the daemon.
    for (second, greetings, code) in [(&welcome, 1, 0), (&refusal, 2, 8)] {
        let _ = std::fs::remove_file(&socket);
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let answers = [vec![refusal.clone()], vec![second.clone(), json!({"response": "runs", "body": []})]];
        let daemon = std::thread::spawn(move || {
            let mut heard = Vec::new();
            for answers in std::iter::repeat_n(answers, greetings).flatten() {
                let mut control = Control::from(listener.accept().unwrap().0);
                for answer in answers {
                    // A client that was refused says no more.
                    let Ok(frame) = control.hear() else { break };
                    heard.push(frame);
                    control.send(answer.to_string().as_bytes()).unwrap();
                }
            }
            heard
        });
        let said = home.almoner(&["runs"]).expect(code);
        let heard = daemon.join().unwrap();
        assert_eq!((&heard[0]["version"], &heard[1]["version"]), (&json!(17), &json!(16)));
        assert_eq!(said.err.contains("the daemon speaks version 16"), code == 8, "{}", said.err);
    }
    std::fs::remove_file(&socket).unwrap();
}

/// Checks that the daemon answers each frame that is valid by the schema, and refuses it with one more field.
#[test]
fn generated_requests_are_answered_on_one_connection() {
    let home = TestHome::new();
    home.almoner(&["status"]).expect(0);
    let pid = home.almoner(&["status", "--json"]).json()["pid"].clone();
    let rounds = std::env::var("ALMONER_PROTOCOL_ROUNDS").map_or(300, |rounds| rounds.parse().unwrap());
    let (begun, seed) = (Instant::now(), 20_261_129);
    generated::ask_generated(&home, seed, rounds);
    let log = std::fs::read_to_string(home.root().join("daemon.log")).unwrap_or_default();
    assert!(!log.contains("panicked"), "{log}");
    assert_eq!(home.almoner(&["status", "--json"]).json()["pid"], pid, "after {:?}", begun.elapsed());
}

#[test]
fn client_of_version_16_is_served_in_its_form() {
    replay::replay("16.jsonl", 16);
}
