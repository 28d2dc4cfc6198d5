//! Frames that an older client has sent, sent again.
//!
//! A file holds the connections of real commands, one on each line, in the order in which they began. A response holds
//! identifiers that later requests use. They differ each time, so each recorded identifier stands for the one at its
//! place in the new response.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::schema::Schema;
use crate::test_home::TestHome;
use crate::wire::Control;

/// The time that the daemon gets to end the work of a request.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Sends the recorded requests, and checks each response against the schema of their version.
pub(super) fn replay(file: &str, version: u32) {
    let home = TestHome::with_inbox();
    prepare(&home);
    home.almoner(&["status"]).expect(0);
    let schema = Schema::read(version);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/protocol").join(file);
    let mut known = Identifiers::default();
    let mut answered = 0;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let line = line.replace("$WORK", home.work().to_str().unwrap());
        let line = line.replace("$HOME", home.root().to_str().unwrap());
        let recorded: Json = serde_json::from_str(&line).unwrap();
        let frames = recorded["frames"].as_array().unwrap();
        let mut control = Control::silent(&home);
        let mut asked = Json::Null;
        for frame in frames {
            if frame.get("response").is_none() {
                asked = known.present(frame);
                // A store now begins with an event about who records, which version 16 does not show.
                if let Some(after) = asked["after"].as_u64().filter(|_| asked["request"] == "follow") {
                    asked["after"] = json!(after + 1);
                }
                if asked["request"] == "stop" {
                    return assert!(answered > 90, "{answered}");
                }
                await_idle(&home);
                control.send(asked.to_string().as_bytes()).unwrap();
                continue;
            }
            let response = control.hear().unwrap_or_else(|e| panic!("{e} after {asked}"));
            answered += 1;
            if asked.get("request").is_some() {
                schema.check_exchange(&asked, &response);
            } else {
                assert!(schema.accepts("Response", &response), "{response}");
            }
            let kind = |response: &Json| {
                (response["response"].clone(), response["body"]["change"]["change"].clone())
            };
            assert_eq!(kind(&response), kind(frame), "{asked} was answered with {response}");
            known.learn(frame, &response);
        }
    }
    panic!("the last command of {file} is no `stop`");
}

/// Writes the files that the recorded commands used.
fn prepare(home: &TestHome) {
    let script = |call: Json| json!([{"turns": [{"calls": [call]}, {"text": "done"}]}]).to_string();
    let send = json!({"to": "bob@a.example", "subject": "Hi", "body": "Hello"});
    home.write("clerk.json", script(json!({"name": "outbox_send", "arguments": send})));
    let write = json!({"path": "a.md", "content": "one\ntwo\n"});
    home.write("stage.json", script(json!({"name": "out_write", "arguments": write})));
    home.write("stage.worker", "---\nslots: { out: dir rw }\n---\nWrite.\n");
    for dir in ["out", "staged"] {
        std::fs::create_dir_all(home.path(dir)).unwrap();
    }
}

/// Waits until no run is at work. A recorded client had followed its run before it asked the next question.
fn await_idle(home: &TestHome) {
    let (mut control, begun) = (Control::open(home), Instant::now());
    loop {
        let status = control.ask(&json!({"request": "status"}));
        if status["body"]["at_work"] == json!([]) {
            return;
        }
        assert!(begun.elapsed() < IDLE_TIMEOUT, "{status}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The present identifiers, by the recorded ones.
#[derive(Default)]
struct Identifiers(BTreeMap<String, String>);

impl Identifiers {
    /// Notes the identifiers that stand at the same places.
    fn learn(&mut self, recorded: &Json, present: &Json) {
        match (recorded, present) {
            (Json::String(old), Json::String(new)) if old != new && is_identifier(old) => {
                self.0.insert(old.clone(), new.clone());
            }
            (Json::Array(old), Json::Array(new)) => {
                old.iter().zip(new).for_each(|(old, new)| self.learn(old, new));
            }
            (Json::Object(old), Json::Object(new)) => {
                for (name, old) in old {
                    new.get(name).into_iter().for_each(|new| self.learn(old, new));
                }
            }
            _ => {}
        }
    }

    /// Returns a recorded frame with the present identifiers.
    fn present(&self, frame: &Json) -> Json {
        match frame {
            Json::String(text) => json!(self.0.get(text).unwrap_or(text)),
            Json::Array(items) => items.iter().map(|item| self.present(item)).collect(),
            Json::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.present(value))).collect()
            }
            other => other.clone(),
        }
    }
}

fn is_identifier(text: &str) -> bool {
    text.len() >= 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':')
}
