//! Tests of a guest's use of a granted directory over Endo's protocol. Each call passes the gates and happens exactly
//! once, even if the guest or the daemon goes away meanwhile.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::kill_sweep::{AFTER, BEFORE, Doomed, commits, until_it_survives};
use crate::test_home::TestHome;

/// How long anything may take before the test gives up.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A connection that speaks Endo's protocol, as bytes.
struct Client {
    stream: UnixStream,
    questions: u64,
    bytes: Vec<u8>,
}

impl Client {
    /// Connects to the daemon of a home once it listens.
    fn connect(home: &TestHome) -> Client {
        let begun = Instant::now();
        let stream = loop {
            match UnixStream::connect(home.root().join("run/captp0.sock")) {
                Ok(stream) => break stream,
                Err(e) => assert!(begun.elapsed() < TIMEOUT, "nobody listens: {e}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut client = Client { stream, questions: 1, bytes: vec![] };
        client.write(&json!({ "type": "CTP_BOOTSTRAP", "epoch": 0, "questionID": "q-1" }));
        client.hear("q-1");
        client
    }

    fn write(&mut self, message: &Json) -> bool {
        let text = message.to_string();
        self.stream.write_all(format!("{}:{text},", text.len()).as_bytes()).is_ok()
    }

    /// Asks, and does not wait: which question it is.
    fn call(&mut self, target: &str, method: &str, args: &Json) -> String {
        self.questions += 1;
        let question = format!("q-{}", self.questions);
        let body = json!([method, args]).to_string();
        self.write(&json!({ "type": "CTP_CALL", "epoch": 0, "questionID": question, "target": target,
            "method": { "body": body, "slots": [] } }));
        question
    }

    fn next(&mut self) -> Option<Json> {
        loop {
            let colon = self.bytes.iter().position(|byte| *byte == b':');
            if let Some(colon) = colon {
                let length: usize = std::str::from_utf8(&self.bytes[..colon]).unwrap().parse().unwrap();
                if self.bytes.len() > colon + 1 + length {
                    let message = serde_json::from_slice(&self.bytes[colon + 1..colon + 1 + length]).unwrap();
                    self.bytes.drain(..colon + 2 + length);
                    return Some(message);
                }
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
            }
        }
    }

    /// Returns the answer to a question: its result or its error. `None` if the daemon has gone.
    fn hear(&mut self, question: &str) -> Option<Result<Json, String>> {
        loop {
            let message = self.next()?;
            if message["type"] == "CTP_DISCONNECT" {
                return None;
            }
            if message["type"] == "CTP_RETURN" && message["answerID"] == question {
                return Some(match message.get("exception") {
                    Some(exception) => Err(exception["body"].to_string()),
                    None => Ok(message["result"].clone()),
                });
            }
        }
    }

    fn try_ask(&mut self, target: &str, method: &str, args: &Json) -> Option<Result<Json, String>> {
        let question = self.call(target, method, args);
        self.hear(&question)
    }

    #[track_caller]
    fn ask(&mut self, target: &str, method: &str, args: &Json) -> Json {
        self.try_ask(target, method, args).unwrap().unwrap()
    }

    #[track_caller]
    fn object(&mut self, target: &str, method: &str, args: &Json) -> String {
        let result = self.ask(target, method, args);
        result["slots"][0].as_str().unwrap().replacen('+', "-", 1)
    }

    /// Returns the directory, as the guest has it.
    fn docs(&mut self) -> String {
        let host = self.object("o-1", "host", &json!([]));
        let guest = self.object(&host, "lookup", &json!(["fae-agent"]));
        self.object(&guest, "lookup", &json!(["docs"]))
    }
}

/// Returns a home with a guest that was handed the directory `docs`.
fn home_with_granted_directory() -> TestHome {
    let home = TestHome::new();
    home.write("docs/a.md", "old\n");
    home.almoner(&["status"]).expect(0);
    let mut client = Client::connect(&home);
    let host = client.object("o-1", "host", &json!([]));
    client.ask(&host, "provideMount", &json!([home.path("docs"), "docs"]));
    client.ask(&host, "provideGuest", &json!(["fae", { "agentName": "fae-agent" }]));
    client.ask(&host, "send", &json!(["fae", ["", ""], ["docs"], ["docs"]]));
    let guest = client.object(&host, "lookup", &json!(["fae-agent"]));
    let first = json!({ "@qclass": "bigint", "digits": "0" });
    client.ask(&guest, "adopt", &json!([first, "docs", "docs"]));
    home
}

/// Returns the entries of the directory, by name, with their content.
fn lies(home: &TestHome) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(home.path("docs")).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            let held =
                if entry.path().is_dir() { "/".to_owned() } else { home.read(&format!("docs/{name}")) };
            (name, held)
        })
        .collect()
}

fn entries(home: &TestHome, kind: &str) -> usize {
    let trace = home.trace("r1");
    trace["steps"].as_array().unwrap().iter().filter(|step| step["entry"]["entry"] == kind).count()
}

/// Waits until nothing has begun in the guest's journal that is not over.
fn rest(home: &TestHome) {
    let begun = Instant::now();
    loop {
        // The daemon may die in the middle of it.
        let said = home.almoner(&["trace", "r1", "--json"]);
        if said.code == 0 && said.json()["run"]["open"].as_object().is_some_and(serde_json::Map::is_empty) {
            return;
        }
        assert!(begun.elapsed() < TIMEOUT, "{said:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the guest's calls in order, each with the expected entries of the directory after it.
fn changes() -> Vec<(&'static str, Json, BTreeMap<String, String>)> {
    let lies = |all: &[(&str, &str)]| {
        all.iter().map(|(name, held)| ((*name).to_owned(), (*held).to_owned())).collect::<BTreeMap<_, _>>()
    };
    let long = "x".repeat(100_000);
    vec![
        ("writeText", json!(["n.md", "made\n"]), lies(&[("a.md", "old\n"), ("n.md", "made\n")])),
        ("writeText", json!(["a.md", long]), lies(&[("a.md", &long), ("n.md", "made\n")])),
        ("move", json!(["n.md", "a.md"]), lies(&[("a.md", "made\n")])),
        ("makeDirectory", json!(["d"]), lies(&[("a.md", "made\n"), ("d", "/")])),
        ("move", json!(["a.md", "m.md"]), lies(&[("d", "/"), ("m.md", "made\n")])),
        ("remove", json!(["m.md"]), lies(&[("d", "/")])),
        ("remove", json!(["d"]), lies(&[])),
    ]
}

/// Returns the expected entries of the directory after this many calls.
fn after(count: usize) -> BTreeMap<String, String> {
    match count.checked_sub(1) {
        None => BTreeMap::from([("a.md".to_owned(), "old\n".to_owned())]),
        Some(last) => changes()[last].2.clone(),
    }
}

/// Makes the changes with a daemon that dies at `point` for the `nth` time. False if it never got there.
fn killed(point: &str, nth: u64) -> bool {
    let home = home_with_granted_directory();
    home.almoner(&["stop"]).expect(0);
    let daemon = Doomed::start(&home, point, nth);
    let mut client = Client::connect(&home);
    let docs = client.docs();
    let mut told = 0;
    for (method, args, _) in changes() {
        match client.try_ask(&docs, method, &args) {
            Some(answer) => drop(answer.unwrap_or_else(|e| panic!("{point} {nth}: {method}: {e}"))),
            None => break,
        }
        told += 1;
    }
    let died = told < changes().len();
    daemon.end();
    let when = format!("killed at {point} {nth}, after {told}");
    // The next command finds every begun call completed, and no other change.
    home.almoner(&["status"]).expect(0);
    let is_there =
        home.almoner(&["runs", "--json"]).expect(0).json().as_array().is_some_and(|all| !all.is_empty());
    let done = if is_there {
        rest(&home);
        assert_eq!(entries(&home, "outcome_unknown"), 0, "{when}: {}", home.trace("r1"));
        assert_eq!(entries(&home, "effect_started"), entries(&home, "completed"), "{when}");
        entries(&home, "completed")
    } else {
        0
    };
    assert!((told..=told + 1).contains(&done), "{when}: {done} are in the journal");
    assert_eq!(lies(&home), after(done), "{when}: {}", home.trace("r1"));
    home.almoner(&["audit", "verify"]).expect(0);
    died
}

fn kill_at_every(point: &str) {
    let least = 2 * changes().len() as u64;
    until_it_survives(point, least, |nth| killed(point, nth));
}

#[test]
fn guest_writes_survive_a_kill_before_every_commit() {
    kill_at_every(BEFORE);
}

#[test]
fn guest_writes_survive_a_kill_after_every_commit() {
    kill_at_every(AFTER);
}

/// Returns a home with a guest whose call waits for approval, and whose connection is closed.
fn asked() -> TestHome {
    let home = home_with_granted_directory();
    let mut client = Client::connect(&home);
    let docs = client.docs();
    client.call(&docs, "writeText", &json!([".env", "mine\n"]));
    let begun = Instant::now();
    while home.almoner(&["inbox", "--json"]).expect(0).json().as_array().unwrap().is_empty() {
        assert!(begun.elapsed() < TIMEOUT, "nobody is asked");
    }
    drop(client);
    home.almoner(&["stop"]).expect(0);
    home
}

#[test]
fn approved_guest_write_happens_once_despite_kills() {
    for point in [BEFORE, AFTER] {
        // Three commits at least: the answer, the beginning and the end of the call. Later commits may be missing
        // when the daemon ends.
        until_it_survives(point, 3, |nth| {
            let home = asked();
            let daemon = Doomed::start(&home, point, nth);
            let begun = Instant::now();
            // The user approves again as long as the card is there.
            loop {
                let said = home.almoner(&["inbox", "--json"]);
                let cards = if said.code == 0 { said.json() } else { continue };
                let Some(card) = cards.as_array().unwrap().first() else { break };
                home.almoner(&["approve", &card["number"].to_string()]);
                assert!(begun.elapsed() < TIMEOUT, "the card stays");
            }
            rest(&home);
            let died = daemon.end();
            let when = format!("{point} {nth}");
            assert_eq!(home.read("docs/.env"), "mine\n", "{when}");
            assert_eq!((entries(&home, "effect_started"), entries(&home, "completed")), (1, 1), "{when}");
            home.almoner(&["audit", "verify"]).expect(0);
            died
        });
    }
}

#[test]
fn guest_write_into_a_spool_asks_like_a_mail() {
    let home = home_with_granted_directory();
    home.write("post.worker", "---\nslots: { box: outbox }\n---\nSay it.\n");
    home.write("post.json", json!([{ "turns": [{ "text": "said" }] }]).to_string());
    home.almoner(&["run", "post.worker", "-m", "scripted:post.json", "-e", "box=./docs/outbox"]).expect(0);
    let mut client = Client::connect(&home);
    let docs = client.docs();
    client.ask(&docs, "writeText", &json!(["n.md", "made\n"]));
    client.call(&docs, "writeText", &json!([["outbox", "r1-9.eml"], "mail\n"]));
    let begun = Instant::now();
    let number = loop {
        let open = home.almoner(&["inbox", "--json"]).expect(0).json();
        if let Some(card) = open.as_array().unwrap().first() {
            break card["number"].to_string();
        }
        assert!(begun.elapsed() < TIMEOUT, "nobody is asked");
    };
    assert!(!home.path("docs/outbox/r1-9.eml").exists());
    let card = home.almoner(&["inbox", &number, "--full"]).expect(0).out;
    assert!(card.contains("    sends docs.write") && card.contains("places/sends"), "{card}");
    home.almoner(&["approve", &number]).expect(0);
    while !home.path("docs/outbox/r1-9.eml").exists() {
        assert!(begun.elapsed() < TIMEOUT, "it is not made");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn guest_write_begun_before_a_crash_is_completed_after_it() {
    let home = home_with_granted_directory();
    home.almoner(&["stop"]).expect(0);
    // The journal, and the call itself.
    let daemon = Doomed::start(&home, AFTER, 2);
    let mut client = Client::connect(&home);
    let docs = client.docs();
    assert!(client.try_ask(&docs, "writeText", &json!(["n.md", "made\n"])).is_none());
    daemon.wait();
    assert_eq!(lies(&home), after(0), "it was not made");
    home.almoner(&["status"]).expect(0);
    rest(&home);
    assert_eq!(lies(&home), after(1), "and is made now, although nobody asks for it any more");
    assert_eq!((entries(&home, "effect_started"), entries(&home, "completed")), (1, 1));
}

#[test]
fn why_traces_a_file_to_the_guest_and_its_grant() {
    let home = home_with_granted_directory();
    let mut client = Client::connect(&home);
    let docs = client.docs();
    client.ask(&docs, "writeText", &json!(["n.md", "made\n"]));
    for name in ["n.md".to_owned(), home.path("docs/n.md").display().to_string()] {
        let why = home.almoner(&["why", &name]).expect(0).out;
        for says in ["was written by an effect", "docs.write was proposed", "@fae", "you gave it", "message "]
        {
            assert!(why.contains(says), "{says} is not in {why}");
        }
    }
    let runs = home.almoner(&["runs"]).expect(0).out;
    assert!(runs.contains("@fae") && runs.contains("without a run"), "{runs}");
    let trace = home.almoner(&["trace", "r1"]).expect(0).out;
    assert!(trace.contains("docs.write(n.md") && !trace.contains("model"), "{trace}");
    home.almoner(&["stats"]).expect(0);
}

#[test]
fn guest_read_costs_one_commit_and_records_no_content() {
    let home = home_with_granted_directory();
    let text = "CANARY of what was read\n";
    home.write("docs/a.md", text);
    let mut client = Client::connect(&home);
    let docs = client.docs();
    client.ask(&docs, "readText", &json!(["a.md"]));
    let before = commits(&home);
    for _ in 0..10 {
        client.ask(&docs, "readText", &json!(["a.md"]));
    }
    let cost = commits(&home) - before;
    // The daemon sometimes writes the results in a commit of their own.
    assert!((10..=14).contains(&cost), "{cost} commits for ten reads");
    client.ask(&docs, "writeText", &json!(["n.md", "made\n"]));
    rest(&home);
    for (kind, count) in [("proposed", 12), ("judged", 12), ("effect_started", 12), ("completed", 12)] {
        assert_eq!(entries(&home, kind), count, "{kind}");
    }
    let trace = home.trace("r1").to_string();
    assert!(!trace.contains("CANARY"), "{trace}");
    let of_it = format!("\\\"bytes\\\":{}", text.len());
    assert!(trace.contains(&of_it), "{of_it} is not in {trace}");
}
