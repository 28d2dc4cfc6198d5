//! `almoner audit follow`: receivers get each event at least once, across the ends of every program involved.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value as Json;

use crate::ports::free_port;
use crate::test_home::{CLERK, Said, TestHome};

/// The words of prompts, documents, arguments and people, and a value of the vault. No receiver gets any of them.
const CONTENT: [&str; 5] =
    ["zebra-prompt", "zebra-document", "zebra-argument", "zebra-reason", "zebra-secret"];

/// Returns a home in which a run was asked, denied and approved.
fn lived_in() -> TestHome {
    let call = |path: &str, content: &str| {
        format!(r#"{{"name": "out_write", "arguments": {{"path": "{path}", "content": "{content}"}}}}"#)
    };
    let read = r#"{"name": "mail_read", "arguments": {"path": "letter.txt"}}"#;
    let calls = format!(
        r#"{{"calls": [{read}, {}, {}]}}"#,
        call("a.md", "zebra-argument"),
        call("b.md", "zebra-argument, too")
    );
    let home = TestHome::with_clerk(&calls);
    let worker = home.read("clerk.worker");
    home.write("clerk.worker", format!("{worker}\nSay zebra-prompt.\n"));
    home.write("mail/letter.txt", "zebra-document, and zebra-secret");
    home.piped(&["secret", "set", "token"], b"zebra-secret\n").expect(0);
    home.almoner(&CLERK).expect(7);
    home.almoner(&["approve", "1", "1"]).expect(0);
    home.almoner(&["deny", "1", "2", "-r", "zebra-reason"]);
    home.almoner(&["resume", "r1"]).expect(0);
    home
}

fn last_event(home: &TestHome) -> u64 {
    let last = home.almoner(&["audit", "-n", "1", "--json"]).expect(0).json();
    last["last"][0]["seq"].as_u64().unwrap()
}

fn numbers(lines: &str) -> Vec<u64> {
    let number = |line: &str| serde_json::from_str::<Json>(line).unwrap()["seq"].as_u64().unwrap();
    lines.lines().map(number).collect()
}

fn follow(home: &TestHome, more: &[&str]) -> Said {
    home.almoner(&[&["audit", "follow", "--once"], more].concat())
}

#[test]
fn stream_of_lines_goes_on_where_it_stopped() {
    let home = lived_in();
    let last = last_event(&home);
    let all: Vec<u64> = (1..=last).collect();
    let said = follow(&home, &["--jsonl"]).expect(0);
    assert_eq!(numbers(&said.out), all);
    let mut before = "0".repeat(64);
    for line in said.out.lines() {
        let event: Json = serde_json::from_str(line).unwrap();
        assert_eq!(event["prev"], before.as_str(), "each event follows the one before: {line}");
        event["hash"].as_str().unwrap().clone_into(&mut before);
        assert!(CONTENT.iter().all(|word| !line.contains(word)), "{line}");
    }
    let anchor = format!("{last}:{before}");
    home.almoner(&["audit", "verify", "--contains", &anchor]).expect(0);
    // Nothing is sent twice by a new command or a new daemon.
    assert_eq!(follow(&home, &["--jsonl"]).expect(0).out, "");
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["mkdir", "notes"]).expect(0);
    let new: Vec<u64> = (last + 1..=last_event(&home)).collect();
    assert!(!new.is_empty());
    assert_eq!(numbers(&follow(&home, &["--jsonl"]).expect(0).out), new);
    // Another cursor, and another beginning.
    let all: Vec<u64> = (1..=last_event(&home)).collect();
    assert_eq!(numbers(&follow(&home, &["--jsonl", "--cursor", "other"]).expect(0).out), all);
    assert_eq!(numbers(&follow(&home, &["--jsonl", "--from", "3"]).expect(0).out), all[2..]);
    assert_eq!(follow(&home, &["--jsonl", "--from", "now"]).expect(0).out, "");
    assert_eq!(numbers(&follow(&home, &["--jsonl", "--from", "start"]).expect(0).out), all);
    assert_eq!(follow(&home, &["--jsonl", "--from", "now", "--cursor", "late"]).expect(0).out, "");
    home.almoner(&["mkdir", "more"]).expect(0);
    let new: Vec<u64> = (all.len() as u64 + 1..=last_event(&home)).collect();
    assert_eq!(numbers(&follow(&home, &["--jsonl", "--cursor", "late"]).expect(0).out), new);
    follow(&home, &["--jsonl", "--from", "99999"]).expect(4);
    for wrong in [
        &["--from", "0", "--jsonl"][..],
        &["--cursor", "../x", "--jsonl"],
        &[],
        &["--jsonl", "--otlp", "http://h"],
        &["--jsonl", "--header", "x-tenant=one"],
    ] {
        follow(&home, wrong).expect(2);
    }
}

#[test]
fn discarding_standard_output_leaves_the_cursor_alone() {
    let home = TestHome::new();
    home.almoner(&["mkdir", "d"]).expect(0);
    let binary = home.command(&[]).get_program().to_owned();
    let outcome = |redirection: &str, more: &str| {
        // The shell closes the descriptor before the program starts.
        let line = format!("\"$0\" audit follow --jsonl --cursor c --once {more} {redirection}");
        let inner = home.command(&["-c", &line]);
        let mut outer = Command::new("sh");
        outer.args(inner.get_args()).arg(&binary).current_dir(home.work());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => outer.env(name, value),
                None => outer.env_remove(name),
            };
        }
        Said::of(outer.output().unwrap())
    };
    let cursor = home.root().join("state/cursors/c.json");
    for redirection in [">&-", "> /dev/null", "1<> /dev/null"] {
        let said = outcome(redirection, "").expect(1);
        assert!(said.err.contains("cannot write standard output: it is closed, or `/dev/null`"), "{said:?}");
        assert!(said.err.contains("help: `almoner audit follow --jsonl >> events.jsonl`"), "{said:?}");
        assert!(!cursor.exists(), "{redirection}");
    }
    let full = outcome("> /dev/full", "").expect(1);
    assert!(full.err.contains("error: cannot write standard output: the disk is full"), "{full:?}");
    assert!(!cursor.exists());
    // Nothing is written, so nothing is lost.
    outcome(">&-", "--from now").expect(0);
    assert!(cursor.exists());
    let all: Vec<u64> = (1..=last_event(&home)).collect();
    assert_eq!(numbers(&outcome("", "--from start").expect(0).out), all);
}

#[test]
fn cursor_of_another_log_or_receiver_is_a_conflict() {
    let home = lived_in();
    follow(&home, &["--jsonl", "--cursor", "c"]).expect(0);
    let said = follow(&home, &["--otlp", "http://127.0.0.1:9", "--cursor", "c"]).expect(8);
    assert!(said.err.contains("it belongs to jsonl"), "{}", said.err);
    // A second command would overtake the first.
    let mut first = home.command(&["audit", "follow", "--jsonl", "--cursor", "d"]).spawn().unwrap();
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    let said = follow(&home, &["--jsonl", "--cursor", "d"]).expect(8);
    assert!(said.err.contains("another command uses it"), "{}", said.err);
    first.kill().unwrap();
    first.wait().unwrap();
    // The home is an older one, whose events have other hashes.
    let path = home.root().join("state/cursors/c.json");
    let mut cursor: Json = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    cursor["log"]["hash"] = "0".repeat(64).into();
    std::fs::write(&path, cursor.to_string()).unwrap();
    let said = follow(&home, &["--jsonl", "--cursor", "c"]).expect(8);
    assert!(said.err.contains("the log does not go on from it") && said.out.is_empty(), "{}", said.err);
    assert!(!follow(&home, &["--jsonl", "--cursor", "c", "--from", "start"]).expect(0).out.is_empty());
    // A beginning that the user names replaces a cursor that cannot be used.
    let foreign = std::fs::read_to_string(&path).unwrap().replace("jsonl", "http://h");
    for (text, exit, says) in
        [("{", 1, "cannot read the cursor `c`"), (&foreign, 8, "it belongs to http://h")]
    {
        std::fs::write(&path, text).unwrap();
        let said = follow(&home, &["--jsonl", "--cursor", "c"]).expect(exit);
        assert!(said.err.contains(says) && said.out.is_empty(), "{}", said.err);
        let said = follow(&home, &["--jsonl", "--cursor", "c", "--from", "start"]).expect(0);
        assert!(said.err.contains(says) && said.err.contains("`--from` replaces it"), "{}", said.err);
        assert_eq!(numbers(&said.out), (1..=last_event(&home)).collect::<Vec<_>>());
        assert_eq!(follow(&home, &["--jsonl", "--cursor", "c"]).expect(0).out, "");
    }
}

fn kill(process: i64) {
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    rustix::process::kill_process(process, Signal::KILL).unwrap();
}

#[test]
fn killed_followers_and_daemons_leave_no_gap() {
    let home = TestHome::new();
    home.almoner(&["mkdir", "d"]).expect(0);
    let file = home.path("events.jsonl");
    let begin = || {
        let out = std::fs::File::options().create(true).append(true).open(&file).unwrap();
        home.command(&["audit", "follow", "--jsonl"]).stdout(out).spawn().unwrap()
    };
    let mut follower = begin();
    for round in 0..12 {
        home.almoner(&["mkdir", &format!("d{round}")]).expect(0);
        match round % 4 {
            1 => {
                follower.kill().unwrap();
                follower.wait().unwrap();
                follower = begin();
            }
            3 => kill(home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_i64().unwrap()),
            _ => {}
        }
    }
    let last = last_event(&home);
    let begun = Instant::now();
    let seen = loop {
        let text = std::fs::read_to_string(&file).unwrap();
        // A killed follower can leave half a line.
        let whole = text.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
        let seen: BTreeSet<u64> = whole.filter_map(|event| event["seq"].as_u64()).collect();
        if seen.contains(&last) {
            break seen;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "event {last} does not come: {seen:?}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(seen, (1..=last).collect::<BTreeSet<u64>>());
    follower.kill().unwrap();
    follower.wait().unwrap();
}

/// A collector that others wrote the decoder of.
struct Collector {
    child: Child,
    port: u16,
    lines: std::sync::mpsc::Receiver<Json>,
}

impl Collector {
    fn start(port: u16, answers: &[&str]) -> Collector {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/otlp/collector.py");
        let mut child = Command::new(tool("venv/bin/python"))
            .arg(script)
            .arg(port.to_string())
            .args(answers)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = send.send(serde_json::from_str(&line).unwrap());
            }
        });
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "the collector ended; `cargo xtask tools` installs opentelemetry-proto");
            assert!(begun.elapsed() < Duration::from_secs(60), "the collector does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Collector { child, port, lines }
    }

    /// Returns the requests that it got so far. Their lines come before the one of this request.
    fn requests(&self) -> Vec<Json> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        self.lines.iter().take_while(|line| line["answer"] != "mark").collect()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tool(path: &str) -> PathBuf {
    let beside = || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools");
    let tool = std::env::var_os("ALMONER_TEST_TOOLS").map_or_else(beside, PathBuf::from).join(path);
    assert!(tool.exists(), "{} is missing: `cargo xtask tools` installs it", tool.display());
    tool
}

/// Returns the attributes of a span, a record or a resource.
fn attributes(of: &Json) -> BTreeMap<String, Json> {
    let list = of["attributes"].as_array().unwrap();
    let value = |value: &Json| value.as_object().unwrap().values().next().cloned().unwrap_or_default();
    list.iter().map(|one| (one["key"].as_str().unwrap().to_owned(), value(&one["value"]))).collect()
}

/// Returns the spans and the records of requests that were taken.
fn taken(requests: &[Json]) -> (Vec<Json>, Vec<Json>) {
    let (mut spans, mut records) = (Vec::new(), Vec::new());
    for request in
        requests.iter().filter(|request| matches!(request["answer"].as_str(), Some("ok" | "partial")))
    {
        assert_eq!(request["type"], "application/x-protobuf");
        for (list, inner, leaf, all) in [
            ("resource_spans", "scope_spans", "spans", &mut spans),
            ("resource_logs", "scope_logs", "log_records", &mut records),
        ] {
            for resource in request["body"][list].as_array().into_iter().flatten() {
                assert_eq!(attributes(&resource["resource"])["service.name"], "almoner");
                for scope in resource[inner].as_array().unwrap() {
                    assert_eq!(scope["schema_url"], "https://opentelemetry.io/schemas/1.41.1");
                    all.extend(scope[leaf].as_array().unwrap().iter().cloned());
                }
            }
        }
    }
    (spans, records)
}

fn event_numbers(records: &[Json]) -> Vec<u64> {
    let number = |record: &Json| attributes(record)["almoner.event.seq"].as_str().unwrap().parse().unwrap();
    records.iter().map(number).collect()
}

/// Returns the names of all attributes that OpenTelemetry has registered, and the values that they can have.
fn registry() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for folder in ["attributes", "_incubating/attributes"] {
        let folder = tool("lists/opentelemetry/semconv").join(folder);
        for file in std::fs::read_dir(folder).unwrap().flatten().filter(|file| file.path().is_file()) {
            let text = std::fs::read_to_string(file.path()).unwrap();
            let quoted = text.lines().filter_map(|line| line.split_once(" = \"")?.1.strip_suffix('"'));
            names.extend(quoted.map(str::to_owned));
        }
    }
    let schemas = std::fs::read_to_string(tool("lists/opentelemetry/semconv/schemas.py")).unwrap();
    assert!(schemas.contains("https://opentelemetry.io/schemas/1.41.1"), "the registry has another version");
    assert!(names.contains("gen_ai.operation.name"), "{names:?}");
    names
}

#[test]
fn collector_gets_runs_calls_and_requests_without_content() {
    let home = lived_in();
    let last = last_event(&home);
    let port = free_port();
    let collector = Collector::start(port, &[]);
    let url = format!("http://127.0.0.1:{port}/");
    let said = home
        .command(&["audit", "follow", "--once", "--otlp", &url])
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc")
        .output()
        .unwrap();
    Said::of(said).expect(0);
    let requests = collector.requests();
    assert!(requests.iter().all(|request| request["key"] == "abc"), "{requests:?}");
    let (spans, records) = taken(&requests);
    assert_eq!(event_numbers(&records), (1..=last).collect::<Vec<_>>());
    for word in CONTENT {
        let quoting = requests.iter().find(|request| request.to_string().contains(word));
        assert!(quoting.is_none(), "{word}: {quoting:?}");
    }
    let registry = registry();
    for one in spans.iter().chain(&records) {
        for name in attributes(one).keys() {
            assert!(registry.contains(name) || name.starts_with("almoner."), "{name} is not registered");
        }
    }
    let named = |name: &str| -> Vec<&Json> {
        spans.iter().filter(|span| span["name"].as_str().unwrap().starts_with(name)).collect()
    };
    let [run] = named("invoke_agent clerk")[..] else { panic!("{spans:?}") };
    assert_eq!(attributes(run)["gen_ai.conversation.id"], "r1");
    assert_eq!(named("chat scripted").len(), 2);
    let calls = named("execute_tool ");
    assert_eq!(calls.len(), 3);
    for span in calls.iter().chain(&named("chat ")) {
        assert_eq!((&span["parent_span_id"], &span["trace_id"]), (&run["span_id"], &run["trace_id"]));
        let operation = attributes(span)["gen_ai.operation.name"].clone();
        assert!(registry.contains(operation.as_str().unwrap()), "{operation}");
        let time = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
        assert!(time("start_time_unix_nano") <= time("end_time_unix_nano"));
    }
    let ends: BTreeSet<String> = calls
        .iter()
        .map(|call| {
            let call = attributes(call);
            let words = ["gen_ai.tool.name", "almoner.completion", "error.type"];
            words.map(|word| call.get(word).and_then(Json::as_str).unwrap_or("-").to_owned()).join(" ")
        })
        .collect();
    let expected = ["mail.read done -", "out.write done -", "out.write refused host/denied"];
    assert_eq!(ends, expected.map(str::to_owned).into());
    let kinds: BTreeSet<&str> = records.iter().map(|record| record["event_name"].as_str().unwrap()).collect();
    for kind in
        ["run.started", "grant.made", "step.judged", "message.arrived", "message.answered", "run.finished"]
    {
        assert!(kinds.contains(format!("almoner.{kind}").as_str()), "{kind}: {kinds:?}");
    }
    // A second command sends nothing again, and the same events have the same identifiers.
    follow(&home, &["--otlp", &url]).expect(0);
    assert!(collector.requests().is_empty());
    follow(&home, &["--otlp", &url, "--from", "start"]).expect(0);
    assert_eq!(taken(&collector.requests()), (spans, records));
}

#[test]
fn collector_that_refuses_for_a_time_gets_every_event() {
    let home = lived_in();
    let last = last_event(&home);
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}");
    // The collector is not there when the command begins.
    let following = home.command(&["audit", "follow", "--once", "--otlp", &url]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let collector = Collector::start(port, &["503", "429:0", "drop", "413", "502", "partial", "504"]);
    let said = Said::of(following.wait_with_output().unwrap()).expect(0);
    for words in ["cannot deliver events to", "takes events again", "has rejected 1", "one is too old"] {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    let requests = collector.requests();
    let answers: Vec<&str> = requests.iter().filter_map(|request| request["answer"].as_str()).collect();
    assert_eq!(answers[..7], ["503", "429:0", "drop", "413", "502", "partial", "504"]);
    let (_, records) = taken(&requests);
    let seen: BTreeSet<u64> = event_numbers(&records).into_iter().collect();
    assert_eq!(seen, (1..=last).collect::<BTreeSet<u64>>());
}

#[test]
fn collector_that_refuses_for_good_keeps_the_cursor_back() {
    let home = lived_in();
    let last = last_event(&home);
    let port = free_port();
    let collector = Collector::start(port, &["ok", "401"]);
    let url = format!("http://127.0.0.1:{port}");
    let said = follow(&home, &["--otlp", &url]).expect(1);
    assert!(said.err.contains(": status 401 (not now)\n"), "{}", said.err);
    assert!(said.err.contains("`--header NAME=VALUE`"), "{}", said.err);
    collector.requests();
    follow(&home, &["--otlp", &url]).expect(0);
    let (_, records) = taken(&collector.requests());
    assert_eq!(event_numbers(&records), (1..=last).collect::<Vec<_>>());
    for wrong in ["127.0.0.1:4318", "http://me:pw@127.0.0.1", "ftp://127.0.0.1"] {
        let said = follow(&home, &["--otlp", wrong]).expect(2);
        assert!(said.err.contains("as the address of a collector"), "{}", said.err);
    }
}
