//! Refusals by a person: they never end a run, and a run that keeps asking for what is refused asks whether to go on.

use serde_json::{Value as Json, json};

use crate::test_home::TestHome;

fn send(to: &str) -> Json {
    let arguments = json!({ "to": to, "subject": "s", "body": "b" });
    json!({ "calls": [{ "name": "outbox_send", "arguments": arguments }] })
}

fn unknown(name: &str) -> Json {
    json!({ "calls": [{ "name": name, "arguments": {} }] })
}

/// Returns a home with a worker that may send, and whose model takes these turns.
fn home(turns: &[Json]) -> TestHome {
    let home = TestHome::new();
    std::fs::create_dir(home.path("outbox")).unwrap();
    std::fs::create_dir(home.path("in")).unwrap();
    home.write("in/a.txt", "a");
    home.write("in/b.txt", "b");
    home.write(
        "w.worker",
        "---\ndescription: Sends what is due.\ninput: { order?: string }\nslots: { outbox: outbox }\n---\nSend it.\n",
    );
    let turns = [turns, &[json!({ "text": "done" })]].concat();
    home.write("script.json", json!([{ "turns": turns }]).to_string());
    home
}

const RUN: [&str; 6] = ["run", "w.worker", "-e", "outbox=./outbox", "-m", "scripted:script.json"];

/// Says no to the message, and follows the run to where it waits next, or ends.
#[track_caller]
fn deny(home: &TestHome, message: u64, code: i32) {
    home.almoner(&["deny", &message.to_string(), "-r", "no"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(code);
}

fn kill(home: &TestHome) {
    let daemon = home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_i64().unwrap();
    crate::eval::kill(daemon.try_into().unwrap());
}

/// Reported of other programs: anomalyco/opencode#44255 (a no ends the whole turn), Gitlawb/zero#866 and
/// QwenLM/qwen-code#2819 (a model asks for the same without end).
#[test]
fn third_refusal_of_one_kind_parks_the_run() {
    let home =
        home(&[send("a@example.com"), send("b@example.com"), send("c@example.com"), send("d@example.com")]);
    home.almoner(&[&RUN[..], &["order=Send the bill."]].concat()).expect(7);
    deny(&home, 1, 7);
    deny(&home, 2, 7);
    deny(&home, 3, 7);
    // The question is in the store, whatever becomes of the daemon.
    kill(&home);
    let card = home.almoner(&["inbox", "4", "--full"]).expect(0).out;
    for part in [
        "(r1) ── w keeps asking for what you refuse",
        "Your task for r1 `w`:",
        "│ Send the bill.",
        "This run keeps asking for what you refuse. Stop it, or let it go on.",
        "! `outbox.send` was refused 3 times",
    ] {
        assert!(card.contains(part), "{part}: {card}");
    }
    let list = home.almoner(&["inbox"]).expect(0).out;
    assert!(list.contains("w keeps asking for what you refuse"), "{list}");
    let runs = home.almoner(&["runs"]).expect(0).out;
    assert!(runs.contains("keeps asking for what you refuse: message 4"), "{runs}");
    let json = home.almoner(&["inbox", "4", "--json"]).expect(0).json();
    assert_eq!(json["task"][0]["words"][0], json!(["order", "Send the bill."]), "{json}");
    assert_eq!(json["more"]["offer"]["refusals"], 3, "{json}");
    // It goes on, and may ask again.
    home.almoner(&["approve", "4"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(7);
    assert!(home.almoner(&["inbox", "4", "--full"]).expect(0).out.contains("✓ it goes on"));
    deny(&home, 5, 0);
    assert_eq!(std::fs::read_dir(home.path("outbox")).unwrap().count(), 0);
}

/// A model has three workers ask for what the user refuses, each once.
#[test]
fn refusals_of_called_workers_park_the_family_across_a_kill() {
    let home = home(&[]);
    home.write("child.worker", "---\nslots: { outbox: outbox }\n---\nSend it.\n");
    home.write("boss.worker", "---\nslots: { child: worker }\n---\nHave it sent.\n");
    let child = json!({ "calls": [{ "name": "child", "arguments": {} }] });
    let ask = |name: &str| json!({ "worker": "child", "turns": [send(name), { "text": "said" }] });
    let script = json!([
        { "worker": "boss", "turns": [child, child, child, { "text": "heard" }] },
        ask("a@example.com"),
    ]);
    home.write("script.json", script.to_string());
    let run = [
        "run",
        "boss.worker",
        "-e",
        "child=child.worker",
        "-e",
        "child.outbox=./outbox",
        "-mscripted:script.json",
    ];
    home.almoner(&run).expect(7);
    deny(&home, 1, 7);
    kill(&home);
    deny(&home, 2, 7);
    deny(&home, 3, 7);
    let card = home.almoner(&["inbox", "4", "--full"]).expect(0).out;
    assert!(
        card.contains("keeps asking for what you refuse") && card.contains("was refused 3 times"),
        "{card}"
    );
    home.almoner(&["deny", "4", "-r", "enough"]).expect(0);
    let runs = home.almoner(&["runs"]).expect(0).out;
    assert!(runs.contains("cancelled") && home.almoner(&["inbox"]).expect(0).out.is_empty(), "{runs}");
}

#[test]
fn card_names_the_file_of_a_task_and_else_shows_the_worker_text() {
    let home = home(&[send("a@example.com")]);
    home.almoner(&[&RUN[..], &["order=@in/a.txt"]].concat()).expect(7);
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    assert!(card.contains("order, from the file “in/a.txt”:"), "{card}");
    home.write("w.worker", "---\nslots: { outbox: outbox }\n---\nSend what is due.\n");
    home.almoner(&RUN).expect(7);
    let card = home.almoner(&["inbox", "2", "--full"]).expect(0).out;
    assert!(card.contains("│ Send what is due."), "{card}");
}

#[test]
fn unattended_run_that_keeps_asking_names_the_way_out() {
    let home = home(&[send("a@example.com"), send("b@example.com"), send("c@example.com")]);
    let said = home.almoner(&[&RUN[..], &["--on-ask", "deny"]].concat());
    let expected =
        ["`outbox.send` was refused 3 times", "--on-ask deny ended the run", "`--allow SLOT.METHOD`"];
    assert!(said.code != 0 && expected.iter().all(|part| said.err.contains(part)), "{said:?}");
}

#[test]
fn parked_run_is_stopped_by_a_no() {
    // One refusal by a person. The model makes the same call again, which is refused without a question.
    let home =
        home(&[send("a@example.com"), send("a@example.com"), send("a@example.com"), send("a@example.com")]);
    home.almoner(&RUN).expect(7);
    deny(&home, 1, 7);
    let card = home.almoner(&["inbox", "2", "--full"]).expect(0).out;
    assert!(card.contains("keeps asking for what you refuse"), "{card}");
    assert!(card.contains("│ Sends what is due."), "a worker without a text shows its description: {card}");
    kill(&home);
    home.almoner(&["deny", "2", "-r", "enough of this"]).expect(0);
    let said = home.almoner(&["resume", "r1"]);
    assert!(said.code != 0 && said.err.contains("enough of this"), "{said:?}");
    let runs = home.almoner(&["runs"]).expect(0).out;
    assert!(runs.contains("cancelled"), "{runs}");
    assert!(home.almoner(&["inbox"]).expect(0).out.is_empty());
    assert!(home.almoner(&["inbox", "2", "--full"]).expect(0).out.contains("✗ stopped: enough of this"));
}

#[test]
fn refusals_are_no_repairs() {
    // Three turns that need a repair may stand before each refusal, and after it.
    let bad = |from: usize| (from..from + 3).map(|at| unknown(&format!("none{at}")));
    let turns: Vec<Json> = bad(0)
        .chain([send("a@example.com")])
        .chain(bad(3))
        .chain([send("b@example.com")])
        .chain(bad(6))
        .collect();
    let home = home(&turns);
    home.write("w.worker", "---\nslots: { outbox: outbox }\nlimits: { turns: 40 }\n---\nSend it.\n");
    home.almoner(&RUN).expect(7);
    deny(&home, 1, 7);
    home.almoner(&["deny", "2", "-r", "no"]).expect(0);
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "done\n");
}

#[test]
fn refused_item_parks_alone() {
    let home = home(&[send("a@example.com"), send("a@example.com"), send("a@example.com")]);
    let said = home.almoner(&[&RUN[..], &["in", "--each"]].concat());
    assert_eq!(said.code, 7, "{said:?}");
    for message in ["1", "2"] {
        home.almoner(&["deny", message, "-r", "no"]).expect(0);
    }
    home.almoner(&["resume", "r1"]).expect(7);
    let list = home.almoner(&["inbox"]).expect(0).out;
    assert_eq!(list.matches("keeps asking for what you refuse").count(), 2, "{list}");
    home.almoner(&["approve", "3"]).expect(0);
    home.almoner(&["deny", "4", "-r", "stop"]).expect(0);
    let said = home.almoner(&["resume", "r1", "--json"]).expect(1);
    assert!(said.out.contains("done") && said.out.contains("stop"), "{said:?}");
}

#[test]
fn run_asks_fifty_times_and_then_whether_it_may_ask_more() {
    let home = home(&(0..51).map(|at| send(&format!("a{at}@example.com"))).collect::<Vec<_>>());
    home.write("w.worker", "---\nslots: { outbox: outbox }\nlimits: { turns: 100 }\n---\nSend it.\n");
    home.almoner(&RUN).expect(7);
    let sent = || std::fs::read_dir(home.path("outbox")).unwrap().count();
    for message in 1..=50 {
        home.almoner(&["approve", &message.to_string()]).expect(0);
        home.almoner(&["resume", "r1"]).expect(7);
    }
    assert_eq!(sent(), 50);
    let card = home.almoner(&["inbox", "51", "--full"]).expect(0).out;
    assert!(card.contains("the limit of 50 questions about calls is reached"), "{card}");
    assert!(!card.contains("outbox.send"), "it asks about a call: {card}");
    home.almoner(&["approve", "51"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(7);
    assert!(home.almoner(&["inbox", "52", "--full"]).expect(0).out.contains("a50@example.com"));
    assert_eq!(sent(), 50);
}
