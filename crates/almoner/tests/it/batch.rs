//! Runs over many documents: path patterns, and retries of failed documents.

use serde_json::{Value, json};

use crate::test_home::TestHome;

/// A worker that sorts one document, writes a line for each, and one list of all.
const WORKER: &str = "---\noutput: { kind: string }\nslots: { out: dir rw }\nwrite:\n\
    \x20 - { each: out, path: \"{{ item.stem }}.txt\", content: \"{{ output.kind }}\" }\n\
    \x20 - { once: out, path: all.csv, content: \"{% for row in items %}{{ row.item.name }}={% if row.error %}!{% else %}{{ row.output.kind }}{% endif %};{% endfor %}\" }\n\
    ---\nWhat is it?\n";

fn script(entries: &[(&str, Option<&str>)]) -> String {
    let all: Vec<Value> = entries
        .iter()
        .map(|(name, kind)| match kind {
            Some(kind) => json!({ "contains": name, "turns": [{ "text": json!({ "kind": kind }).to_string() }] }),
            None => json!({ "contains": name, "turns": (0..5).map(|_| json!({ "text": "nonsense" })).collect::<Vec<_>>() }),
        })
        .collect();
    json!(all).to_string()
}

fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let common = ["--each", "-j2", "-e", "out=./out:rw", "--allow", "out.write", "-m", "scripted:s.json"];
    [&["run", "w.worker"], more, &common].concat()
}

#[test]
fn retry_repeats_only_the_failed_items() {
    let home = TestHome::new();
    home.write("w.worker", WORKER);
    for name in ["a", "b", "c"] {
        home.write(&format!("in/{name}.md"), format!("this is {name}"));
    }
    home.write("in/.hidden.md", "this is hidden");
    home.write("s.json", script(&[("this is a", Some("A")), ("this is b", None), ("this is c", Some("C"))]));
    let plan = home.almoner(&run(&["in/*.md", "--dry-run"])).expect(0).out;
    assert!(plan.contains("notes: it starts 3 runs"), "{plan}");
    let first = home.almoner(&run(&["in/*.md"])).expect(1);
    assert!(first.err.contains("3 items: 2 done, 1 failed\n  b.md: "), "{first:?}");
    assert_eq!((home.read("out/a.txt"), home.read("out/c.txt")), ("A".to_owned(), "C".to_owned()));
    assert_eq!(home.read("out/all.csv"), "a.md=A;b.md=!;c.md=C;");
    // The retry works on the recorded documents, even if the files are gone, and leaves finished ones alone.
    std::fs::remove_dir_all(home.path("in")).unwrap();
    home.write("out/a.txt", "mine");
    std::fs::remove_file(home.path("out/all.csv")).unwrap();
    home.write("s.json", script(&[("this is b", Some("B"))]));
    let again = home.almoner(&[&run(&["--retry-failed"])[..], &["--json"]].concat()).expect(0);
    assert!(again.err.contains("3 items: 2 done before, in r1; 1 done now, 0 failed\n"), "{again:?}");
    assert_eq!(again.json()["batch"], json!({ "items": 3, "done": 1, "earlier": 2, "of": 1, "failed": [] }));
    assert_eq!((home.read("out/a.txt"), home.read("out/b.txt")), ("mine".to_owned(), "B".to_owned()));
    assert_eq!(home.read("out/all.csv"), "a.md=A;b.md=B;c.md=C;");
    let number = again.json()["run"].as_str().unwrap().to_owned();
    let children = home.trace(&number)["steps"].to_string().matches("\"spawned\"").count();
    assert_eq!(children, 1);
    assert!(home.almoner(&["inbox", "--all"]).expect(0).out.contains("(what failed in r1)"));
    // Nothing is left to do.
    let none = home.almoner(&run(&["--retry-failed"])).expect(4);
    assert!(none.err.contains(&format!("nothing failed in {number}")), "{none:?}");
    // The first run can be named. A run of another kind, or a missing one, cannot.
    let plan = home.almoner(&run(&["--retry-failed=r1", "--dry-run"])).expect(0).out;
    assert!(plan.contains("notes: it starts 1 run: "), "{plan}");
    home.almoner(&run(&["--retry-failed=r2"])).expect(2);
    home.almoner(&run(&["--retry-failed=r99"])).expect(4);
}

#[test]
fn retried_items_can_fail_again() {
    let home = TestHome::new();
    home.write("w.worker", WORKER);
    for name in ["a", "b"] {
        home.write(&format!("in/{name}.md"), format!("this is {name}"));
    }
    home.write("s.json", script(&[("this is a", None), ("this is b", None)]));
    home.almoner(&run(&["--retry-failed"])).expect(4);
    let first = home.almoner(&run(&["in"]));
    assert!(first.code != 0 && first.err.contains("2 items: 0 done, 2 failed"), "{first:?}");
    home.write("s.json", script(&[("this is a", Some("A")), ("this is b", None)]));
    let second = home.almoner(&run(&["in", "--retry-failed"])).expect(1);
    assert!(second.err.contains("documents and inputs of r1 are used"), "{second:?}");
    assert!(second.err.contains("2 items: 0 done before, in r1; 1 done now, 1 failed"), "{second:?}");
    home.write("s.json", script(&[("this is b", None)]));
    let third = home.almoner(&run(&["--retry-failed"]));
    assert!(third.code != 0 && third.err.contains("1 done before"), "{third:?}");
    assert!(!home.path("out/b.txt").exists());
}

#[test]
fn batch_over_an_empty_pattern_is_refused() {
    let home = TestHome::new();
    home.write("w.worker", WORKER);
    home.write("s.json", "[]");
    let said = home.almoner(&run(&["in/*.md"])).expect(4);
    assert!(said.err.contains("no file is called in/*.md"), "{said:?}");
}

/// A worker that answers in text, and writes nothing.
const READER: &str = "---\nattachments: { suffixes: [.txt, .md, .pdf], bytes: 64KiB }\n---\nWhat is it?\n";

/// A script whose model gives the same answer to everything.
const ALWAYS: &str = r#"[{"turns": [{"text": "done"}]}]"#;

fn each<'a>(worker: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", worker, "in", "--each", "-j2", "-m", "scripted:s.json", "--json"][..], more].concat()
}

fn failed(json: &Value) -> Vec<(String, String)> {
    let rows = json["batch"]["failed"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rows.iter().map(|row| (text(&row["item"]), text(&row["why"]))).collect()
}

/// Reported of other programs: run-llama/llama_cloud_services#694, nextgenhealthcare/connect#1602,
/// BasedHardware/omi#10287 (one bad file ends or discards the whole batch).
#[test]
fn each_bad_file_is_one_failed_item() {
    use std::os::unix::ffi::OsStrExt as _;
    let home = TestHome::new();
    home.write("r.worker", READER);
    home.write("s.json", ALWAYS);
    home.write("in/a.txt", "a");
    home.write("in/b.txt", "b");
    home.write("in/empty.txt", "");
    home.write("in/bad.txt", b"\xff\xfe");
    home.write("in/large.txt", "x".repeat(100 << 10));
    home.write("in/other.exe", "x");
    home.write("in/broken.pdf", "%PDF-1.4\nnothing\n%%EOF\n");
    home.write("in/deep/c.txt", "c");
    std::fs::write(home.work().join("in").join(std::ffi::OsStr::from_bytes(b"q\xff.txt")), "q").unwrap();
    std::os::unix::fs::symlink("nowhere", home.path("in/link.txt")).unwrap();
    std::os::unix::net::UnixListener::bind(home.path("in/socket.txt")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(home.path("in/pipe.txt")).status().unwrap();
    assert!(fifo.success());
    let said = home.almoner(&each("r.worker", &[])).expect(1);
    let json = said.json();
    let names: Vec<String> = failed(&json).into_iter().map(|(name, _)| name).collect();
    for bad in [
        "bad.txt",
        "large.txt",
        "other.exe",
        "broken.pdf",
        "link.txt",
        "socket.txt",
        "pipe.txt",
        "q\u{fffd}.txt",
    ] {
        assert!(names.contains(&bad.to_owned()), "{bad}: {names:?}");
    }
    assert!(!names.contains(&"a.txt".to_owned()) && !names.contains(&"b.txt".to_owned()), "{names:?}");
    assert_eq!(json["state"], "done");
    for (name, why) in failed(&json) {
        assert!(!why.is_empty() && !why.contains(&name) && said.err.contains(&name), "{name}: {why}");
    }
    assert!(said.err.contains("the subdirectory `deep` is left out"), "{}", said.err);
    assert!(said.err.contains("items failed") && said.err.contains("--retry-failed="), "{}", said.err);
    // A file that can be read by now is done by the retry.
    home.write("in/bad.txt", "good");
    let again =
        home.almoner(&["run", "r.worker", "--each", "--retry-failed", "-m", "scripted:s.json", "--json"]);
    let names: Vec<String> = failed(&again.json()).into_iter().map(|(name, _)| name).collect();
    assert!(!names.contains(&"bad.txt".to_owned()) && names.contains(&"large.txt".to_owned()), "{names:?}");
    assert_eq!(again.json()["batch"]["done"], 1);
}

/// Maildir and MH name mails without a suffix.
#[test]
fn mailboxes_of_directories_are_read_by_their_content() {
    let home = TestHome::new();
    home.write("m.worker", "---\nattachments: { max: 1, suffixes: [.eml] }\n---\nSum it up.\n");
    home.write("s.json", ALWAYS);
    let mail = "From: Ann <a@x.example>\nTo: b@y.example\nSubject: Tea\nDate: Mon, 02 Nov 2026 10:00:00 +0000\n\nHi\n";
    home.write("md/cur/1795686799.M17144P25722Q2.host:2,S", mail);
    home.write("md/new/1795686800.M1P1.host", "no mail at all");
    home.write("md/tmp/unfinished", mail);
    home.write("mh/1", mail);
    home.write("mh/.mh_sequences", "cur: 1");
    let said =
        home.almoner(&["run", "m.worker", "md", "--each", "-m", "scripted:s.json", "--json"]).expect(1);
    let names: Vec<String> = failed(&said.json()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["1795686800.M1P1.host"], "{}", said.err);
    assert!(said.err.contains("takes no such files"), "{}", said.err);
    let said = home.almoner(&["run", "m.worker", "mh", "--each", "-m", "scripted:s.json"]).expect(0);
    assert!(said.err.contains("1 item: 1 done"), "{}", said.err);
}

#[test]
fn batch_of_bad_files_alone_ends_with_their_code() {
    let home = TestHome::new();
    home.write("r.worker", READER);
    home.write("s.json", ALWAYS);
    home.write("in/bad.txt", b"\xff\xfe");
    let said = home.almoner(&each("r.worker", &[])).expect(6);
    assert!(said.err.contains("1 item: 0 done, 1 failed"), "{}", said.err);
    // A name that is wrong as a whole is no item.
    home.almoner(&["run", "r.worker", "nowhere", "--each", "-m", "scripted:s.json"]).expect(4);
    let gone = home.almoner(&["run", "r.worker", "nowhere.txt", "in", "--each", "-m", "scripted:s.json"]);
    assert!(gone.err.contains("2 items: 0 done, 2 failed\n"), "{}", gone.err);
    std::fs::create_dir(home.path("none")).unwrap();
    home.almoner(&["run", "r.worker", "none", "--each", "-m", "scripted:s.json"]).expect(4);
}

/// Reported of other programs: apsun/AniConvert#3, tsduck/tsduck#1740.
#[test]
fn colliding_items_fail_before_a_model_is_asked() {
    let home = TestHome::new();
    home.write("w.worker", WORKER);
    for name in ["a.txt", "a.csv", "A.md", "b.md"] {
        home.write(&format!("in/{name}"), format!("this is {name}"));
    }
    home.write("s.json", r#"[{"turns": [{"json": {"kind": "K"}}]}]"#);
    let said = home.almoner(&[&run(&["in"])[..], &["--json"]].concat()).expect(1);
    let names: Vec<String> = failed(&said.json()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a.csv", "a.txt"], "{}", said.err);
    assert!(said.err.contains("it would write a.txt, which A.md writes"), "{}", said.err);
    let steps = home.trace("r1")["steps"].to_string();
    assert_eq!(steps.matches("\"spawned\"").count(), 2, "only two models were asked");
    // The file of the first batch would be a twin of `a.txt`.
    std::fs::remove_file(home.path("out/A.txt")).unwrap();
    // `--exclude` leaves one out, and says so if it leaves out nothing.
    let some =
        home.almoner(&run(&["in", "--exclude", "*.csv", "--exclude", "A.*", "--exclude", "*.bak"])).expect(0);
    assert!(some.err.contains("2 items: 2 done, 0 failed"), "{}", some.err);
    assert!(some.err.contains("`--exclude *.bak` leaves out no file"), "{}", some.err);
    let none = home.almoner(&run(&["in", "--exclude", "*"])).expect(4);
    assert!(none.err.contains("no file is left of 4"), "{}", none.err);
}

#[test]
fn unwritten_answer_is_written_by_the_retry() {
    let home = TestHome::new();
    let worker = "---\noutput: { kind: string }\nslots: { out: dir rw }\nwrite:\n\
        \x20 - { each: out, path: \"{{ output.kind }}.txt\", content: \"{{ item.name }}\" }\n---\nWhat is it?\n";
    home.write("w.worker", worker);
    for name in ["a", "b", "c"] {
        home.write(&format!("in/{name}.md"), format!("this is {name}"));
    }
    home.write(
        "s.json",
        script(&[("this is a", Some("X")), ("this is b", Some("x")), ("this is c", Some("../C"))]),
    );
    let said = home.almoner(&[&run(&["in"])[..], &["--json"]].concat()).expect(1);
    let json = said.json();
    let names: Vec<String> = failed(&json).into_iter().map(|(name, _)| name).collect();
    assert_eq!((names, &json["batch"]["done"]), (vec!["b.md".to_owned(), "c.md".to_owned()], &json!(1)));
    assert!(said.err.contains("another item writes x.txt too"), "{}", said.err);
    assert!(said.err.contains("asks no model again"), "{}", said.err);
    assert_eq!(json["value"]["items"][1]["output"]["kind"], "x", "the answer is kept");
    // The worker file is mended. The retry writes what was paid for, and the script has no answers any more.
    home.write("w.worker", worker.replace("{{ output.kind }}.txt", "{{ item.stem }}.txt"));
    home.write("s.json", "[]");
    let again = home.almoner(&[&run(&["--retry-failed"])[..], &["--json"]].concat()).expect(0);
    assert_eq!(again.json()["batch"]["failed"], json!([]));
    assert_eq!((home.read("out/b.txt"), home.read("out/c.txt")), ("b.md".to_owned(), "c.md".to_owned()));
    assert_eq!(home.read("out/X.txt"), "a.md");
    assert!(!home.path("out/a.txt").exists(), "what was written is not written again");
    let none = home.almoner(&run(&["--retry-failed"])).expect(4);
    assert!(none.err.contains("nothing failed"), "{}", none.err);
}

#[test]
fn denied_file_is_not_written_by_the_retry() {
    let worker = "---\noutput: { kind: string }\nslots: { out: dir rw }\nwrite:\n\
        \x20 - { each: out, path: \"{{ output.kind }}.txt\", content: \"{{ item.name }}\" }\n---\nWhat is it?\n";
    let asks = ["run", "w.worker", "in", "--each", "-e", "out=./out:rw", "-m", "scripted:s.json"];
    // The second of these items cannot be written to the path that its answer names.
    for (second, code, failed) in [("B", 5, 0), ("../B", 1, 1)] {
        let home = TestHome::new();
        home.write("w.worker", worker);
        home.write("in/a.md", "this is a");
        home.write("in/b.md", "this is b");
        home.write("s.json", script(&[("this is a", Some("A")), ("this is b", Some(second))]));
        home.almoner(&asks).expect(7);
        home.almoner(&["deny", "1", "-r", "not these"]).expect(0);
        let said = home.almoner(&["resume", "r1"]).expect(code);
        assert!(said.err.contains(&format!("{failed} failed")), "{said:?}");
        home.write("w.worker", worker.replace("{{ output.kind }}.txt", "{{ item.stem }}.txt"));
        home.write("s.json", "[]");
        let again = home.almoner(&run(&["--retry-failed"])).expect(if failed == 0 { 4 } else { 0 });
        assert!(!home.path("out/a.txt").exists() && !home.path("out/A.txt").exists(), "{again:?}");
        assert_eq!(home.path("out/b.txt").exists(), failed == 1, "{again:?}");
    }
}

/// A worker that writes a note about each document, and asks for it.
const NOTES: &str = "---\nslots: { out: dir rw }\n---\nTake a note.\n";

/// Returns a home whose items each ask for one write.
pub(crate) fn asking(count: usize) -> TestHome {
    let home = TestHome::new();
    home.write("n.worker", NOTES);
    let mut entries = Vec::new();
    for at in 0..count {
        home.write(&format!("in/d{at:02}.txt"), format!("document <{at}>"));
        let call = json!({ "name": "out_write", "arguments": { "path": format!("n{at:02}.md"), "content": "noted" } });
        entries.push(
            json!({ "contains": format!("<{at}>"), "turns": [{ "calls": [call] }, { "text": "done" }] }),
        );
    }
    home.write("s.json", json!(entries).to_string());
    home
}

pub(crate) fn notes<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let common = ["run", "n.worker", "in", "--each", "-j2", "-e", "out=./out:rw", "-m", "scripted:s.json"];
    [&common[..], more].concat()
}

/// Returns the line of the inbox for the questions of a batch, and the numbers in it.
fn batch_line(home: &TestHome) -> (String, String) {
    let inbox = home.almoner(&["inbox"]).expect(0).out;
    let line = inbox.lines().find(|line| line.contains("items ask")).unwrap_or_else(|| panic!("{inbox}"));
    (line.to_owned(), line.split_whitespace().nth(1).unwrap().to_owned())
}

/// Reported of other programs: coalesce-labs/catalyst#1301 (a wait holds a slot), gadzan/xacpx#148 (approving many at
/// once exceeds the limit of parallel work), 0xku/kon#32 (one question for each of many alike calls).
#[test]
fn waiting_items_give_their_places_up_to_the_limit() {
    let home = asking(12);
    let said = home.almoner(&notes(&["--waiting", "8"])).expect(7);
    let (line, numbers) = batch_line(&home);
    assert!(line.contains("8 items ask"), "{line}\n{}", said.err);
    let card = home.almoner(&["inbox", &numbers]).expect(0).out;
    assert!(
        card.contains("8 items ask for calls that look alike") && card.matches("│ noted").count() == 1,
        "{card}"
    );
    for at in 0..8 {
        assert!(card.contains(&format!("n{at:02}.md")) && card.contains(&format!("d{at:02}.txt")), "{card}");
    }
    assert!(card.contains(&format!("almoner approve {numbers}")), "{card}");
    // One answer covers all that were shown, and the others come to their question.
    let answered = home.almoner(&["approve", &numbers]).expect(0);
    assert!(answered.out.contains("answered 8 messages"), "{}", answered.out);
    home.almoner(&["resume", "r1"]).expect(7);
    let (line, rest) = batch_line(&home);
    assert!(line.contains("4 items ask"), "{line}");
    // The first answer cannot be given again, and names none of the later questions.
    let first: u64 = numbers.split('-').next().unwrap().parse().unwrap();
    for (list, code, reason) in [
        (numbers.clone(), 8, format!("message {first} needs no answer now")),
        (rest.replace('-', ",900,"), 4, "900".to_owned()),
        (format!("1,{rest}"), 8, "message 1 needs no answer now".to_owned()),
    ] {
        let refused = home.almoner(&["approve", &list]).expect(code).err;
        assert!(refused.contains(&format!("cannot use {list}")) && refused.contains(&reason), "{refused}");
    }
    let reversed = home.almoner(&["approve", "20-12"]).expect(2).err;
    assert!(reversed.contains("a range begins with its lower number"), "{reversed}");
    home.almoner(&["deny", &rest, "-r", "no more"]).expect(0);
    let done = home.almoner(&["resume", "r1"]);
    assert!(done.err.contains("12 items: 12 done"), "{}", done.err);
    assert_eq!(std::fs::read_dir(home.path("out")).unwrap().count(), 8);
}

/// Reported of other programs: coalesce-labs/catalyst#1301 (a wait holds a slot), gadzan/xacpx#148.
#[test]
fn fifty_items_with_two_jobs_all_come_to_their_question() {
    let home = asking(50);
    let said = home.almoner(&notes(&[])).expect(7);
    let (line, numbers) = batch_line(&home);
    assert!(line.contains("50 items ask"), "{line}");
    assert!(said.err.contains(&format!("50 items ask, messages {numbers}")), "{}", said.err);
    assert!(said.err.contains(&format!("`almoner inbox {numbers}` shows them as one card")), "{}", said.err);
    home.almoner(&["approve", &numbers]).expect(0);
    let done = home.almoner(&["resume", "r1"]);
    assert!(done.err.contains("50 items: 50 done"), "{}", done.err);
    assert_eq!(std::fs::read_dir(home.path("out")).unwrap().count(), 50);
}

#[test]
fn waiting_items_survive_a_killed_daemon() {
    let home = asking(5);
    home.almoner(&notes(&[])).expect(7);
    let pid = home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_u64().unwrap();
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
    let (line, numbers) = batch_line(&home);
    assert!(line.contains("5 items ask"), "{line}");
    home.almoner(&["approve", &numbers]).expect(0);
    let done = home.almoner(&["resume", "r1"]).expect(0);
    assert!(done.err.contains("5 items: 5 done, 0 failed"), "{}", done.err);
    assert_eq!(std::fs::read_dir(home.path("out")).unwrap().count(), 5);
}

#[test]
fn stalled_run_is_listed_until_it_goes_on() {
    let home = TestHome::new();
    home.write("r.worker", READER);
    home.write("in/a.txt", "a");
    home.write("in/b.txt", "b");
    home.write("s.json", r#"[{"turns": [{"error": "unauthorized"}]}]"#);
    home.almoner(&each("r.worker", &[]));
    let status = home.almoner(&["status"]).expect(0).out;
    assert!(status.contains("stalled r1 `r` has 2 stalled items: "), "{status}");
    assert!(status.contains("almoner resume r1"), "{status}");
    let inbox = home.almoner(&["inbox"]).expect(0).out;
    assert!(inbox.contains("r1 `r` has 2 stalled items: ") && inbox.contains("almoner resume r1"), "{inbox}");
    home.write("s.json", ALWAYS);
    home.almoner(&["resume", "r1"]).expect(0);
    assert!(!home.almoner(&["status"]).expect(0).out.contains("stalled"));
    assert!(home.almoner(&["inbox"]).expect(0).err.contains("nothing waits for you"));
}

#[test]
fn check_renders_templates_with_sample_values() {
    let home = TestHome::new();
    home.write("good.worker", WORKER);
    home.almoner(&["check", "good.worker"]).expect(0);
    home.write("bad.worker", WORKER.replace("{{ item.stem }}.txt", "../{{ item.stem }}.txt"));
    let said = home.almoner(&["check", "bad.worker"]).expect(6);
    assert!(said.err.contains("bad.worker, line 5: the path of a write"), "{}", said.err);
}

/// While items wait for a person, others may use up the tokens of all. A worker that an item has called spends them,
/// too.
#[test]
fn waiting_items_do_not_pass_the_token_limit_of_their_batch() {
    let home = TestHome::new();
    home.write("n.worker", "---\nslots: { sub: worker }\nlimits: { tokens: 3000 }\n---\nDo it.\n");
    home.write(
        "sub.worker",
        "---\ndescription: Writes.\nslots: { out: dir rw }\nattachments: { max: 3 }\n---\nWrite.\n",
    );
    std::fs::create_dir(home.path("out")).unwrap();
    let mut script = Vec::new();
    for at in 1..=8 {
        let note = format!("note {at}.");
        home.write(&format!("in/n{at}.md"), &note);
        let call = json!({ "name": "sub", "arguments": { "attachments": [format!("n{at}.md")] } });
        script.push(
            json!({ "worker": "n", "contains": note, "turns": [{ "calls": [call] }, { "text": "done" }] }),
        );
        let path = format!("{at}.txt");
        let write = json!({ "name": "out_write", "arguments": { "path": path, "content": "x" } });
        let read = json!({ "name": "out_read", "arguments": { "path": path } });
        let mut turns = vec![json!({ "calls": [write] })];
        turns.extend((0..6).map(|k| json!({ "calls": [read], "text": format!("{}{k}", "y".repeat(400)) })));
        turns.push(json!({ "text": "done" }));
        script.push(json!({ "worker": "sub", "contains": note, "turns": turns }));
    }
    home.write("s.json", json!(script).to_string());
    let run = ["run", "n.worker", "in", "--each", "-j1", "-e", "sub=sub.worker", "-e", "sub.out=./out:rw"];
    home.almoner(&[&run[..], &["-m", "scripted:s.json"]].concat());
    let inbox = home.almoner(&["inbox"]).expect(0).out;
    let list = inbox.split("almoner inbox ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    home.almoner(&["approve", &list]).expect(0);
    home.almoner(&["resume", "r1"]);
    let runs = home.almoner(&["runs", "--json"]).expect(0).json();
    let batch = runs.as_array().unwrap().iter().find(|run| run["number"] == 1).unwrap();
    let used = &batch["used"];
    let tokens = used["input_tokens"].as_u64().unwrap() + used["output_tokens"].as_u64().unwrap();
    // One item is at work at a time, and only its last reply may pass the limit.
    assert!((3000..5000).contains(&tokens), "{tokens} of 3000: {batch}");
}

#[test]
fn denial_of_several_messages_keeps_its_reason() {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { out: dir rw }\n---\nDo it.\n");
    std::fs::create_dir(home.path("out")).unwrap();
    for at in 1..=2 {
        home.write(&format!("in/{at}.md"), "note");
    }
    let write = json!({ "name": "out_write", "arguments": { "path": "a.txt", "content": "x" } });
    home.write("s.json", json!([{ "turns": [{ "calls": [write] }, { "text": "done" }] }]).to_string());
    let run = ["run", "w.worker", "in", "--each", "-j1", "-e", "out=./out:rw", "-m", "scripted:s.json"];
    home.almoner(&run).expect(7);
    home.almoner(&["deny", "1-2", "1"]).expect(2);
    home.almoner(&["deny", "1-2", "wrong", "folder"]).expect(0);
    for run in ["r2", "r3"] {
        assert!(home.trace(run).to_string().contains("wrong folder"), "{run}");
    }
}
