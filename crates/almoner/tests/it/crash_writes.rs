//! `kill -9` at each step of the writing of one file: what lies there is whole, and the next daemon brings the write to its
//! end, once.

use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::kill_sweep::{Doomed, at_each};
use crate::test_home::TestHome;

/// Each step of a write, as `crates/caps/src/atomic_write.rs` has them.
const STEP: &str = "write.step";

/// A call that writes one file, about which the run asks.
struct Write {
    what: &'static str,
    tool: &'static str,
    arguments: fn() -> Json,
    /// The content of `out/a.md` before the call, if there is such a file.
    old: Option<&'static str>,
    /// The steps at which the daemon can die.
    steps: u64,
}

const WRITES: [Write; 3] = [
    Write {
        what: "a new file",
        tool: "out_write",
        arguments: || json!({ "path": "a.md", "content": "all of the new text\n" }),
        old: None,
        steps: 5,
    },
    Write {
        what: "a file in the place of another",
        tool: "out_edit",
        arguments: || json!({ "path": "a.md", "old": "the old", "new": "all of the new" }),
        old: Some("the old text\n"),
        steps: 6,
    },
    Write {
        what: "a mail",
        tool: "post_send",
        arguments: || json!({ "to": "a@b.example", "subject": "s", "body": "all of the new text\n" }),
        old: None,
        steps: 5,
    },
];

/// Returns the files that a reader of the directory sees, with their texts.
fn visible(home: &TestHome, dir: &str) -> Vec<(String, String)> {
    let names = std::fs::read_dir(home.path(dir)).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let seen = names.filter(|name| !name.starts_with('.'));
    seen.map(|name| (name.clone(), home.read(&format!("{dir}/{name}")))).collect()
}

/// Plays one write with a daemon that dies at its `nth` step. Returns whether it died.
fn killed(write: &Write, nth: u64) -> bool {
    let when = format!("{}: step {nth}", write.what);
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { out: dir rw, post: outbox }\n---\nWrite it.\n");
    let call = json!({ "name": write.tool, "arguments": (write.arguments)() });
    home.write("script.json", json!([{ "turns": [{ "calls": [call] }, { "text": "done" }] }]).to_string());
    for dir in ["out", "post"] {
        std::fs::create_dir(home.path(dir)).unwrap();
    }
    if let Some(old) = write.old {
        home.write("out/a.md", old);
    }
    let run = ["run", "w.worker", "-e", "out=out:rw", "-e", "post=post", "-m", "scripted:script.json"];
    home.almoner(&run).expect(7);
    home.almoner(&["stop"]).expect(0);
    let mut daemon = Doomed::start(&home, STEP, nth);
    home.almoner(&["approve", "1"]);
    let died = daemon.dies_within(Duration::from_secs(20));
    // The file that a reader finds is never half of it, and the old text is there as long as the new one is not.
    let is_whole = |text: &str| text == "all of the new text\n" || write.tool == "post_send";
    for (name, text) in visible(&home, "out") {
        assert!(is_whole(&text) || Some(text.as_str()) == write.old, "{when}: {name}: {text:?}");
    }
    for (name, text) in visible(&home, "post") {
        assert!(
            text.contains("all of the new text\r\n") && text.ends_with("\r\n"),
            "{when}: {name}: {text:?}"
        );
    }
    assert!(write.old.is_none() || home.path("out/a.md").exists(), "{when}: the old file is gone");
    drop(daemon);
    home.almoner(&["resume", "r1"]).expect(0);
    let dir = if write.tool == "post_send" { "post" } else { "out" };
    let left: Vec<(String, String)> = visible(&home, dir);
    assert!(left.len() == 1 && left[0].1.contains("all of the new text"), "{when}: {left:?}");
    // Not even a hidden file is left.
    assert_eq!(std::fs::read_dir(home.path(dir)).unwrap().count(), 1, "{when}");
    let steps = home.trace("r1")["steps"].clone();
    let count =
        |kind: &str| steps.as_array().unwrap().iter().filter(|step| step["entry"]["entry"] == kind).count();
    assert_eq!(["effect_started", "completed", "outcome_unknown"].map(count), [1, 1, 0], "{when}: {steps}");
    died
}

#[test]
fn write_killed_at_any_step_is_whole_and_made_once() {
    for write in &WRITES {
        at_each(write.what, write.steps, write.steps, |nth| killed(write, nth));
    }
}
