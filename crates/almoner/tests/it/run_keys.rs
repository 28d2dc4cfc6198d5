//! Keys of runs: a command with a key can be repeated until it has an answer, and starts one run.

use std::thread;

use serde_json::{Value as Json, json};

use crate::kill_sweep::{AFTER, BEFORE, Doomed, until_it_survives};
use crate::test_home::{CLERK, Said, TestHome};
use crate::wire::Control;

/// Returns a home with a run that asks before it writes.
fn home() -> TestHome {
    let call = r#"{"name": "out_write", "arguments": {"path": "a.md", "content": "text\n"}}"#;
    TestHome::with_clerk(&format!(r#"{{"calls": [{call}]}}"#))
}

fn clerk(home: &TestHome, more: &[&str]) -> Said {
    home.almoner(&[&CLERK[..], more].concat())
}

fn count(home: &TestHome) -> usize {
    home.almoner(&["runs", "--all", "--json"]).expect(0).json().as_array().unwrap().len()
}

#[test]
fn repeated_key_follows_the_run_from_where_it_is() {
    let home = home();
    let key = ["--key", "order/7", "--json"];
    let first = clerk(&home, &key).expect(7);
    assert_eq!(first.json()["run"], "r1");
    // The run waits for a person.
    let again = clerk(&home, &key).expect(7);
    assert_eq!(again.json(), first.json());
    assert!(again.err.contains("r1 was started before with this key"), "{}", again.err);
    assert_eq!(clerk(&home, &["--key", "order/7", "--detach"]).expect(0).out, "r1\n");
    // The daemon is another one, and the directories of the run have moved.
    home.almoner(&["stop"]).expect(0);
    std::fs::rename(home.path("outbox"), home.path("moved")).unwrap();
    assert_eq!(clerk(&home, &key).expect(7).json(), first.json());
    std::fs::rename(home.path("moved"), home.path("outbox")).unwrap();
    // The run has ended, and its documents are forgotten.
    home.almoner(&["approve", "1"]).expect(0);
    let done = clerk(&home, &key).expect(0).json();
    assert_eq!(
        (&done["run"], &done["state"], &done["value"]),
        (&json!("r1"), &json!("done"), &json!("done"))
    );
    home.almoner(&["forget", "r1", "--yes"]).expect(0);
    assert_eq!(clerk(&home, &key).expect(0).json(), done);
    assert_eq!(count(&home), 1);
    clerk(&home, &["--key", "order/8", "--detach"]).expect(0);
    assert_eq!(count(&home), 2);
    // A cancelled run keeps its key, so the way out names another one.
    home.almoner(&["cancel", "r2"]).expect(0);
    let cancelled = clerk(&home, &["--key", "order/8"]);
    assert!(cancelled.code != 0 && cancelled.err.contains("again with another key"), "{cancelled:?}");
}

#[test]
fn repeated_key_of_a_stalled_run_tells_of_its_trouble() {
    let home = TestHome::new();
    home.write("w.worker", "---\n---\nSay it.\n");
    home.write("script.json", r#"[{"turns": [{"error": "unauthorized"}]}]"#);
    let run = ["run", "w.worker", "-mscripted:script.json", "--key", "k", "--json"];
    let first = home.almoner(&run);
    assert_eq!(first.json()["state"], "stalled", "{first:?}");
    let again = home.almoner(&run).expect(first.code);
    assert_eq!(again.json(), first.json());
    home.write("script.json", r#"[{"turns": [{"text": "said"}]}]"#);
    home.almoner(&["resume", "r1"]).expect(0);
    assert_eq!(home.almoner(&run).expect(0).json()["value"], "said");
    assert_eq!(count(&home), 1);
}

#[test]
fn other_request_with_the_key_is_a_conflict() {
    let home = TestHome::new();
    home.write(
        "w.worker",
        "---\ninput: { to: string, n: number? }\nslots: { out: dir rw, docs: dir }\n---\nSay it.\n",
    );
    home.write("script.json", r#"[{"turns": [{"text": "said"}]}]"#);
    home.write("other.json", r#"[{"turns": [{"text": "said"}]}]"#);
    for dir in ["out", "docs", "docs2"] {
        std::fs::create_dir(home.path(dir)).unwrap();
    }
    home.write("a.txt", "a");
    home.write("b.txt", "b");
    let model = "scripted:script.json";
    let command = |inputs: &[&str], out: &str, docs: &str, model: &str, more: &[&str]| {
        let out = format!("out={out}");
        let docs = format!("docs={docs}");
        let args =
            [&["run", "w.worker"], inputs, &["-e", &out, "-e", &docs, "-m", model, "--key", "k"], more];
        home.almoner(&args.concat())
    };
    let usual = ["to=me", "a.txt"];
    command(&usual, "out:rw", "docs", model, &[]).expect(0);
    let conflict = |said: Said, part: &str| {
        let said = said.expect(8);
        let expected =
            format!("error: cannot start the run: the key `k` belongs to r1, which has another {part}\n");
        assert!(said.err.contains(&expected), "{part}: {}", said.err);
        assert!(said.err.contains(" help: `almoner why r1`"), "{}", said.err);
    };
    conflict(command(&["to=you", "a.txt"], "out:rw", "docs", model, &[]), "input `to`");
    conflict(command(&["to=me", "n:=1", "a.txt"], "out:rw", "docs", model, &[]), "input `n`");
    conflict(command(&["to=me", "b.txt"], "out:rw", "docs", model, &[]), "document 1");
    conflict(command(&["to=me", "a.txt", "b.txt"], "out:rw", "docs", model, &[]), "document 2");
    conflict(command(&["to=me"], "out:rw", "docs", model, &[]), "document 1");
    conflict(command(&usual, "out:rw", "docs2", model, &[]), "content of its slot `docs`");
    conflict(command(&usual, "out:stage", "docs", model, &[]), "content of its slot `out`");
    conflict(command(&usual, "out:rw", "docs", model, &["--allow", "out.write"]), "list of allowed methods");
    conflict(command(&usual, "out:rw", "docs", model, &["--each"]), "shape");
    conflict(command(&usual, "out:rw", "docs", "scripted:other.json", &[]), "model");
    // The same name with other bytes is another document.
    home.write("a.txt", "A");
    conflict(command(&usual, "out:rw", "docs", model, &[]), "document 1");
    home.write("a.txt", "a");
    command(&usual, "out:rw", "docs", model, &[]).expect(0);
    let worker = home.read("w.worker");
    home.write("w.worker", worker.replace("Say", "Tell"));
    conflict(command(&usual, "out:rw", "docs", model, &[]), "worker");
    assert_eq!(count(&home), 1);
}

#[test]
fn key_of_a_batch_covers_items_that_cannot_be_read() {
    let home = TestHome::new();
    home.write("w.worker", "---\n---\nSay it.\n");
    home.write("script.json", r#"[{"turns": [{"text": "said"}]}]"#);
    home.write("in/a.txt", "a");
    home.write("in/b.txt", [0, 159, 146, 150]);
    let run = |more: &[&str]| {
        let base =
            ["run", "w.worker", "in/*.txt", "--each", "-mscripted:script.json", "--key", "k", "--json"];
        home.almoner(&[&base[..], more].concat())
    };
    let first = run(&[]);
    let count_before = count(&home);
    // The number of items at work is no part of the request.
    for more in [&[][..], &["-j2"]] {
        assert_eq!(run(more).expect(first.code).json(), first.json());
    }
    assert_eq!(count(&home), count_before);
    home.write("in/b.txt", "b");
    assert!(run(&[]).expect(8).err.contains("document 2"));
    // The last run changes with each one, so that a retry with a key names its run.
    let retry = ["run", "w.worker", "--each", "--retry-failed", "--key", "k2", "-mscripted:script.json"];
    assert!(home.almoner(&retry).expect(2).err.contains("--retry-failed=RUN"));
}

#[test]
fn bad_key_is_refused_before_anything_starts() {
    let home = home();
    let long = "k".repeat(129);
    for key in ["", "a b", "schlüssel", "a\u{202e}b", &long] {
        clerk(&home, &["--key", key]).expect(2);
    }
    clerk(&home, &["--key", "k", "--dry-run"]).expect(2);
    assert_eq!(count(&home), 0);
}

#[test]
fn question_with_a_key_is_asked_once() {
    let home = TestHome::new();
    home.write("script.json", r#"[{"turns": [{"text": "blue"}]}]"#);
    let ask = |question: &str| home.almoner(&["ask", question, "-mscripted:script.json", "--key", "k"]);
    for _ in 0..2 {
        assert_eq!(ask("Which colour?").expect(0).out, "blue\n");
    }
    assert!(ask("Which size?").expect(8).err.contains("another input `question`"));
    assert_eq!(count(&home), 1);
}

/// Returns the request of the control protocol for a run with a key.
fn request(home: &TestHome, key: &str, text: &str) -> Json {
    let worker = json!({ "name": "w", "source": format!("---\n---\n{text}\n") });
    let script = home.path("script.json").display().to_string();
    let model = json!({ "model": "named", "is": format!("scripted:{script}") });
    json!({ "request": "run", "text": "run w", "worker": worker, "spec": { "model": model }, "key": key })
}

#[test]
fn requests_that_race_for_a_key_start_one_run() {
    let home = TestHome::new();
    home.write("script.json", r#"[{"turns": [{"text": "said"}]}]"#);
    home.almoner(&["status"]).expect(0);
    for round in 0..5 {
        let request = request(&home, &format!("k{round}"), "Do it.");
        let replies: Vec<Json> = thread::scope(|scope| {
            let ask = || Control::open(&home).ask(&request);
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().map(|asking| asking.join().unwrap()["body"].clone()).collect()
        });
        let started = replies.iter().filter(|reply| reply["reply"] == "started").count();
        let already = replies.iter().filter(|reply| reply["reply"] == "already_started").count();
        assert_eq!((started, already), (1, 7), "{replies:?}");
        assert!(replies.iter().all(|reply| reply["run"] == round + 1), "{replies:?}");
    }
    let mut control = Control::open(&home);
    let refused = control.ask(&request(&home, "k0", "Do something else."));
    assert_eq!((&refused["response"], &refused["body"]["exit"]), (&json!("failed"), &json!("conflict")));
    assert_eq!(count(&home), 5);
}

fn killed_at(point: &str) {
    until_it_survives("a run with a key", 3, |nth| {
        let home = TestHome::new();
        home.write("w.worker", "---\n---\nSay it.\n");
        home.write("script.json", r#"[{"turns": [{"text": "said"}]}]"#);
        let doomed = Doomed::start(&home, point, nth);
        let command = ["run", "w.worker", "-mscripted:script.json", "--key", "k", "--json"];
        let said = loop {
            let said = home.almoner(&command);
            if said.code != 3 {
                break said.expect(0).json();
            }
        };
        assert_eq!((&said["run"], &said["value"]), (&json!("r1"), &json!("said")));
        let died = doomed.end();
        assert_eq!(count(&home), 1, "{point} {nth}");
        died
    });
}

#[test]
fn key_starts_one_run_despite_a_kill_before_each_commit() {
    killed_at(BEFORE);
}

#[test]
fn key_starts_one_run_despite_a_kill_after_each_commit() {
    killed_at(AFTER);
}
