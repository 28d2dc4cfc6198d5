//! `kill -9` at every step that a journal can hold: the run comes to the same end, and nothing is done twice.
//!
//! A few plays together have every kind of step in their journals, which the list of kinds checks: a kind that is new to the
//! kernel does not compile here before it is in the list, and the test fails before a play has it. Each play is made once
//! undisturbed, and then again with a daemon that dies just before, and just after, each of its commits.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::kill_sweep::{AFTER, BEFORE, Doomed, at_each, commits, is_full};
use crate::test_home::{Said, TestHome};

macro_rules! kinds {
    ($($kind:ident)*) => {
        /// The kinds of steps, all of them.
        const KINDS: &[&str] = &[$(stringify!($kind)),*];

        fn name(entry: &kernel::run::Entry) -> &'static str {
            match entry { $(kernel::run::Entry::$kind { .. } => stringify!($kind),)* }
        }
    };
}

kinds! {
    Prompted Replied Rejected Proposed Judged Answered EffectStarted Slept Questioned OutcomeUnknown OutcomeConfirmed Completed Spilled Paged
    Shrunk
    Spawned Yielded Collected Said Exhausted Raised Held Suspended Stalled Resumed Finished Reverted Applied Discarded
    Forgotten
}

/// Something that is done from its beginning to its end.
struct Play {
    name: &'static str,
    home: fn() -> TestHome,
    /// The commands of a user who repeats each one until it is acknowledged, to the end of the play. May begin
    /// anywhere.
    persist: fn(&TestHome),
    /// The check of the final state, and of entries that the journal of the first run may hold only so often.
    check: fn(&TestHome, &str),
}

/// Returns a command, said again until a daemon has lived long enough to answer it.
fn insist(home: &TestHome, args: &[&str]) -> Said {
    let begun = Instant::now();
    loop {
        let said = home.almoner(args);
        if said.code != 3 {
            return said;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{args:?}: {}", said.err);
    }
}

/// Begins the run, if it has not begun, and brings it to its end.
fn go(home: &TestHome, run: &[&str]) {
    go_with(home, run, |home, _| answer(home));
}

/// Brings a run to its end as [`go`] does, with `answer` for the waiting message, by its number.
fn go_with(home: &TestHome, run: &[&str], answer: impl Fn(&TestHome, &str)) {
    let begun = Instant::now();
    while insist(home, &["runs", "--json"]).json().as_array().unwrap().is_empty() {
        home.almoner(run);
    }
    loop {
        assert!(begun.elapsed() < Duration::from_secs(120), "it does not end: {}", home.trace("r1"));
        match insist(home, &["resume", "r1"]).code {
            0 => return,
            // The run has stalled, so the script is repaired.
            1 => home.write("script.json", MENDED),
            7 => {
                let letters = insist(home, &["inbox", "--json"]).json();
                if let Some(letter) = letters.get(0) {
                    answer(home, &letter["number"].to_string());
                }
            }
            code => panic!("resume ended with {code}: {}", home.trace("r1")),
        }
    }
}

/// Answers all waiting messages.
fn answer(home: &TestHome) {
    for letter in insist(home, &["inbox", "--json"]).json().as_array().unwrap() {
        let number = letter["number"].to_string();
        let args = match letter["message"]["body"]["type"].as_str().unwrap() {
            "form" => vec!["submit", &number, "answer=blue"],
            // The user looks up whether the call happened.
            "outcome-unknown" => {
                vec!["outcome", &number, if home.path("in/log").exists() { "yes" } else { "no" }]
            }
            _ => vec!["approve", &number],
        };
        home.almoner(&args);
    }
}

fn steps(home: &TestHome, run: &str) -> Vec<Json> {
    home.trace(run)["steps"].as_array().unwrap().iter().map(|step| step["entry"].clone()).collect()
}

/// Returns the kinds in the journals of all runs.
fn kinds(home: &TestHome) -> BTreeSet<String> {
    let runs = home.almoner(&["runs", "--all", "--json"]).expect(0).json();
    let runs = runs.as_array().unwrap().iter().map(|run| format!("r{}", run["number"]));
    let entries = runs.flat_map(|run| steps(home, &run));
    entries
        .map(|entry| {
            let entry: kernel::run::Entry = serde_json::from_value(entry).unwrap();
            name(&entry).to_owned()
        })
        .collect()
}

fn count(home: &TestHome, kind: &str) -> usize {
    steps(home, "r1").iter().filter(|entry| entry["entry"] == kind).count()
}

fn call(name: &str, arguments: &Json) -> Json {
    json!({ "calls": [{ "name": name, "arguments": arguments }] })
}

fn read_on(result: &str) -> Json {
    json!({ "name": "read_result", "arguments": { "result": result, "from": 50_000, "bytes": 100 } })
}

fn script(home: &TestHome, script: &Json) {
    home.write("script.json", script.to_string());
}

const MENDED: &str = r#"[{ "turns": [{ "text": "done" }] }]"#;

/// A run that asks, waits, is refused, and reads a long result. It calls a program, a worker and a directory, and
/// runs out of turns.
const WORK: Play = Play {
    name: "work",
    home: || {
        let home = TestHome::new();
        home.write(
            "w.worker",
            "---\nslots: { out: dir rw, docs: dir, me: ask, clock: timer, tools: program, child: worker }\nlimits: { turns: 6 }\n---\nWork.\n",
        );
        home.write("child.worker", "---\n---\nSay it.\n");
        home.write("docs/long.txt", "0123456789\n".repeat(8_000));
        for dir in ["out", "in"] {
            std::fs::create_dir_all(home.path(dir)).unwrap();
        }
        script(
            &home,
            &json!([
                { "worker": "w", "turns": [
                    call("docs_read", &json!({ "path": "long.txt" })),
                    // Which it is depends on whether the run has been taken up again before.
                    { "calls": [read_on("#3"), read_on("#4")] },
                    { "calls": [{ "name": "none" }] },
                    call("out_append", &json!({ "path": "log.txt", "content": "one\n" })),
                    call("me_ask", &json!({ "question": "Which?", "choices": ["red", "blue"] })),
                    call("clock_wait", &json!({ "how_long": "200ms" })),
                    call("tools_run", &json!({ "argv": ["sh", "-c", "echo line >> log"] })),
                    call("child", &json!({})),
                    { "text": "done" } ] },
                { "worker": "child", "turns": [{ "text": "said" }] },
            ]),
        );
        home
    },
    persist: |home| {
        go(
            home,
            &[
                "run",
                "w.worker",
                "-e",
                "out=out:rw",
                "-e",
                "docs=docs",
                "-e",
                "tools=program:sh?dir=in:rw&exec=yes",
                "-e",
                "child=child.worker",
                "-mscripted:script.json",
            ],
        );
    },
    check: |home, when| {
        assert_eq!(home.read("out/log.txt"), "one\n", "{when}");
        assert_eq!(home.read("in/log"), "line\n", "{when}");
        for (kind, times) in [("questioned", 1), ("slept", 1), ("raised", 1), ("rejected", 2), ("paged", 1)] {
            assert_eq!(count(home, kind), times, "{when}: {kind}: {}", home.trace("r1"));
        }
        let trace = home.trace("r1").to_string();
        assert!(trace.contains(r#"\"answer\":\"blue\""#), "{when}: {trace}");
        assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "done\n", "{when}");
    },
};

/// A run that writes in a staged copy, which is applied, undone, and forgotten.
const STAGED: Play = Play {
    name: "staged",
    home: || {
        let home = TestHome::new();
        home.write("w.worker", "---\nslots: { out: dir rw }\n---\nWrite it down.\n");
        home.write("out/a.txt", "as it was\n");
        let write = call("out_write", &json!({ "path": "a.txt", "content": "new\n" }));
        script(&home, &json!([{ "turns": [write, { "text": "done" }] }]));
        home
    },
    persist: |home| {
        go(home, &["run", "w.worker", "-e", "out=out:stage", "-mscripted:script.json"]);
        insist(home, &["apply", "r1"]).expect(0);
        insist(home, &["undo", "r1"]).expect(0);
        insist(home, &["forget", "r1", "--yes"]).expect(0);
    },
    check: |home, when| {
        assert_eq!(home.read("out/a.txt"), "as it was\n", "{when}");
        for kind in ["applied", "reverted", "forgotten", "effect_started"] {
            assert!(count(home, kind) >= 1, "{when}: {kind}");
        }
        assert_eq!(count(home, "effect_started"), 1, "{when}");
    },
};

/// A staged copy that is thrown away.
const THROWN_AWAY: Play = Play {
    name: "thrown away",
    home: STAGED.home,
    persist: |home| {
        go(home, &["run", "w.worker", "-e", "out=out:stage", "-mscripted:script.json"]);
        insist(home, &["discard", "r1"]).expect(0);
    },
    check: |home, when| {
        assert_eq!(home.read("out/a.txt"), "as it was\n", "{when}");
        assert_eq!((count(home, "discarded"), count(home, "effect_started")), (1, 1), "{when}");
        // Also of a run that was never acknowledged, nothing is left.
        home.almoner(&["gc"]).expect(0);
        let copies = std::fs::read_dir(home.root().join("state/stages")).map_or(0, Iterator::count);
        assert_eq!(copies, 0, "{when}: a copy was left");
    },
};

/// One child for each of two documents; the model fails at first.
const EACH: Play = Play {
    name: "each",
    home: || {
        let home = TestHome::new();
        home.write("w.worker", "---\n---\nSay what it is.\n");
        home.write("in/a.md", "a");
        home.write("in/b.md", "b");
        script(&home, &json!([{ "turns": [{ "error": "server_error" }] }]));
        home
    },
    persist: |home| go(home, &["run", "w.worker", "in", "--each", "-j1", "-mscripted:script.json"]),
    check: |home, when| {
        assert_eq!((count(home, "spawned"), count(home, "collected")), (2, 2), "{when}");
        let runs = home.almoner(&["runs", "--all", "--json"]).expect(0).json();
        assert_eq!(runs.as_array().unwrap().len(), 3, "{when}: {runs}");
        for run in ["r2", "r3"] {
            let replies = steps(home, run).iter().filter(|entry| entry["entry"] == "replied").count();
            assert_eq!(replies, 1, "{when}: {run}");
        }
    },
};

/// A conversation in which each message is recorded once, and answered once.
const TALK: Play = Play {
    name: "talk",
    home: || {
        let home = TestHome::new();
        script(&home, &json!([{ "turns": [{ "text": "it is noted" }, { "text": "blue, as you said" }] }]));
        home
    },
    persist: |home| {
        const WORDS: [&str; 2] = ["it is blue", "what is it?"];
        while insist(home, &["runs", "--json"]).json().as_array().unwrap().is_empty() {
            home.piped(&["chat", "-mscripted:script.json"], format!("{}\n", WORDS[0]).as_bytes());
        }
        for words in WORDS {
            // A user without an acknowledgement looks into the journal before repeating a message.
            while !insist(home, &["trace", "r1", "--json"]).out.contains(words) {
                home.piped(&["chat", "--continue", "r1"], format!("{words}\n").as_bytes());
            }
            while home.piped(&["chat", "--continue", "r1"], b"").code != 0 {}
        }
    },
    check: |home, when| {
        assert_eq!((count(home, "said"), count(home, "replied")), (2, 2), "{when}");
    },
};

/// A worker that calls itself: it may go no deeper, is let go one level deeper, and is then refused.
const DEEP: Play = Play {
    name: "deep",
    home: || {
        let home = TestHome::new();
        home.write("w.worker", "---\nslots: { again: worker }\nlimits: { depth: 1 }\n---\nGo down.\n");
        script(&home, &json!([{ "turns": [call("again", &json!({})), { "text": "bottom" }] }]));
        home
    },
    persist: |home| {
        go_with(home, &["run", "w.worker", "-eagain=self", "-mscripted:script.json"], |home, number| {
            let runs = insist(home, &["runs", "--all", "--json"]).json().as_array().unwrap().len();
            let yes = ["approve", number, "--depth", "1"];
            let no = ["deny", number];
            home.almoner(if runs == 2 { &yes } else { &no });
        });
    },
    check: |home, when| {
        let runs = home.almoner(&["runs", "--all", "--json"]).expect(0).json();
        assert_eq!(runs.as_array().unwrap().len(), 3, "{when}: {runs}");
        assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "bottom\n", "{when}");
    },
};

/// A run whose conversation becomes too long for its model, until old turns are a line each.
const LONG: Play = Play {
    name: "long",
    home: || {
        let home = TestHome::new();
        home.write("w.worker", "---\nslots: { docs: dir }\n---\nRead.\n");
        let mut turns = Vec::new();
        for name in ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"] {
            home.write(&format!("docs/{name}"), "0123456789\n".repeat(500));
            turns.push(call("docs_read", &json!({ "path": name })));
        }
        turns.push(json!({ "error": "context_too_long" }));
        // Only the newest turn is left by then.
        let rest = [json!({ "text": "never" }), json!({ "text": "done" })];
        script(
            &home,
            &json!([{ "contains": "left out here for lack of room", "turns": rest }, { "turns": turns }]),
        );
        home
    },
    persist: |home| go(home, &["run", "w.worker", "-edocs=docs", "-mscripted:script.json"]),
    check: |home, when| {
        assert!(count(home, "shrunk") >= 1, "{when}: {}", home.trace("r1"));
        assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "done\n", "{when}");
    },
};

const PLAYS: [Play; 7] = [WORK, STAGED, THROWN_AWAY, EACH, TALK, DEEP, LONG];

/// Returns the play with a daemon that dies at `point` for the `nth` time. Whether it got there, and which kinds came
/// of it.
fn disturbed(play: &Play, point: &str, nth: u64) -> (bool, BTreeSet<String>) {
    let home = (play.home)();
    let daemon = Doomed::start(&home, point, nth);
    (play.persist)(&home);
    let died = daemon.end();
    (play.check)(&home, &format!("{}: killed at {point} {nth}", play.name));
    (died, kinds(&home))
}

#[test]
fn a_run_that_is_killed_at_any_step_comes_to_the_same_end() {
    let found = std::sync::Mutex::new(BTreeSet::new());
    for play in &PLAYS {
        let home = (play.home)();
        (play.persist)(&home);
        (play.check)(&home, &format!("{}: undisturbed", play.name));
        let last = commits(&home);
        found.lock().unwrap().extend(kinds(&home));
        drop(home);
        for point in [BEFORE, AFTER] {
            at_each(&format!("{} {point}", play.name), last, last.saturating_sub(6), |nth| {
                let (died, kinds) = disturbed(play, point, nth);
                found.lock().unwrap().extend(kinds);
                died
            });
        }
    }
    let found = found.into_inner().unwrap();
    let missing: Vec<&&str> = KINDS.iter().filter(|kind| !found.contains(**kind)).collect();
    // A doubt and its resolution need a kill at one certain commit, which a sample need not visit.
    assert!(missing.is_empty() || !is_full(), "no play has these steps: {missing:?}");
}
