//! Tests of messages from a run to its user: statements, requests and proposals.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use store::{Options, Store};

use crate::kill_sweep::{AFTER, BEFORE, Doomed, at_each, commits, goes_on};
use crate::terminal::Terminal;
use crate::test_home::TestHome;

const RUN: [&str; 5] = ["run", "w.worker", "-e", "out=out:rw", "-mscripted:script.json"];

/// Returns a home with a worker whose model makes these calls, those of one turn together, and says `done`.
fn in_turns(turns: &[Vec<Json>]) -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { me: mail, out: dir rw }\n---\nDo what there is to do.\n");
    home.write("docs/note.md", "The harbour is closed.\n");
    let turns = turns.iter().map(|calls| json!({ "calls": calls }));
    let turns: Vec<Json> = turns.chain([json!({ "text": "done" })]).collect();
    home.write("script.json", json!([{ "turns": turns }]).to_string());
    home
}

/// Returns the same, one call a turn.
fn home(calls: &[Json]) -> TestHome {
    in_turns(&calls.iter().map(|call| vec![call.clone()]).collect::<Vec<_>>())
}

fn call(method: &str, arguments: &Json) -> Json {
    json!({ "name": format!("me_{method}"), "arguments": arguments })
}

fn send(text: &str) -> Json {
    call("send", &json!({ "text": text }))
}

fn request(name: &str) -> Json {
    call("request", &json!({ "description": "The customer's papers", "name": name }))
}

fn define(source: &str, slots: &Json) -> Json {
    call("define", &json!({ "source": source, "slots": slots, "description": "Adds up" }))
}

fn read(slot: &str) -> Json {
    json!({ "name": format!("{slot}_read"), "arguments": { "path": "note.md" } })
}

/// Returns the completed calls of the run, as text.
fn outcomes(home: &TestHome) -> String {
    let trace = home.trace("r1");
    let steps = trace["steps"].as_array().unwrap();
    steps.iter().filter(|step| step["entry"]["entry"] == "completed").map(ToString::to_string).collect()
}

/// Starts the run, checks that it waits for message 1, and returns the text of this message.
#[track_caller]
fn asks(home: &TestHome) -> String {
    let said = home.almoner(&RUN).expect(7);
    assert!(said.err.contains("waits for you: message 1"), "{}", said.err);
    // Nothing is held meanwhile.
    assert!(home.almoner(&["status", "--json"]).expect(0).json()["at_work"].as_array().unwrap().is_empty());
    home.almoner(&["inbox", "1"]).expect(0).out
}

#[track_caller]
fn ends(home: &TestHome) {
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "done\n");
}

#[test]
fn run_sends_mail_to_the_inbox_without_waiting() {
    let home = home(&[send("Two letters\nhad no date.\u{1b}[2K")]);
    let plan = home.almoner(&[&RUN[..], &["--dry-run"]].concat()).expect(0);
    assert!(format!("{}{}", plan.out, plan.err).contains("mail to you, in your inbox"), "{plan:?}");
    let said = home.almoner(&RUN).expect(0);
    assert_eq!(said.out, "done\n");
    // A user who follows the run reads the message at once.
    assert!(said.err.contains("r1 says this; its words are those of a model"), "{}", said.err);
    assert!(home.almoner(&["inbox"]).expect(0).out.is_empty());
    assert!(home.almoner(&["inbox", "--all"]).expect(0).out.contains("r1 says: Two letters"));
    let shown = home.almoner(&["inbox", "1"]).expect(0).out;
    assert!(shown.contains("│ Two letters\n") && shown.contains("│ had no date.\\u{1B}[2K"), "{shown}");
    assert!(home.almoner(&["why", "1"]).expect(0).out.contains("r1 says"));
    // The run is over and reads no reply.
    assert_ne!(home.almoner(&["reply", "1", "which ones?"]).code, 0);
}

/// Returns whether any model was sent these words, or has written them.
fn is_in_a_blob(home: &TestHome, what: &str) -> bool {
    home.almoner(&["stop"]).expect(0);
    let place = home.root().join("state/store");
    let begun = Instant::now();
    let store = loop {
        match Store::open(&place, Options::default()) {
            Ok(store) => break store,
            // A process that another test is just starting has a copy of the lock until it has become itself.
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(20), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let all = store.blobs().list().unwrap();
    all.iter().any(|hash| String::from_utf8_lossy(&store.blobs().get(hash).unwrap()).contains(what))
}

#[test]
fn reply_reaches_the_model_of_an_active_run() {
    let home = home(&[send("I begin."), request("papers")]);
    home.almoner(&RUN).expect(7);
    home.almoner(&["reply", "1", "leave out the second"]).expect(0);
    // A run is told words alone.
    home.almoner(&["store", "x=1"]).expect(0);
    assert_ne!(home.almoner(&["reply", "1", "see @x"]).code, 0);
    home.almoner(&["resolve", "2", "--text", "none"]).expect(0);
    ends(&home);
    assert!(home.trace("r1").to_string().contains(r#""entry":"said""#));
    // Its model was shown it.
    assert!(is_in_a_blob(&home, "leave out the second"));
}

#[test]
fn requested_value_is_delivered_once() {
    for answer in [&["--text", "4711"][..], &["number"][..]] {
        let home = home(&[request("papers")]);
        let shown = asks(&home);
        assert!(shown.contains("r1 asks for something; its words are those of a model"), "{shown}");
        assert!(shown.contains("│ The customer's papers") && shown.contains("`papers`"), "{shown}");
        home.almoner(&["store", "number=4711"]).expect(0);
        home.almoner(&[&["resolve", "1"], answer].concat()).expect(0);
        ends(&home);
        assert!(outcomes(&home).contains(r#"{\"value\":\"4711\"}"#), "{}", outcomes(&home));
        // A second answer changes nothing.
        assert_ne!(home.almoner(&["resolve", "1", "--text", "otherwise"]).code, 0);
        assert!(!home.trace("r1").to_string().contains("otherwise"));
    }
}

#[test]
fn resource_given_on_request_is_bound_with_its_limits() {
    let write = json!({ "name": "papers_write", "arguments": { "path": "a.md", "content": "x" } });
    let home = home(&[request("papers"), read("papers"), write]);
    asks(&home);
    home.almoner(&["resolve", "1", "-e", "papers=docs?suffix=.md"]).expect(0);
    ends(&home);
    let trace = home.trace("r1").to_string();
    assert!(trace.contains("The harbour is closed."), "{trace}");
    // It was given for reading, so there is no such tool.
    assert!(trace.contains("tool/unknown") && !home.path("docs/a.md").exists(), "{trace}");
    let grants = home.almoner(&["grants"]).expect(0).out;
    assert!(grants.contains("papers"), "{grants}");
    let why = home.almoner(&["why", "papers"]).expect(0).out;
    assert!(why.contains("you gave it: r1 asks for: The customer's papers"), "{why}");
}

#[test]
fn name_given_on_request_fills_a_slot_and_writes_ask() {
    let write = json!({ "name": "papers_write", "arguments": { "path": "a.md", "content": "x" } });
    let home = home(&[request("papers"), write]);
    asks(&home);
    home.almoner(&["mount", "docs", "archive"]).expect(0);
    home.almoner(&["resolve", "1", "archive", "--is", "outbox"]).expect(6);
    home.almoner(&["resolve", "1", "archive"]).expect(0);
    let said = home.almoner(&["resume", "r1"]).expect(7);
    assert!(said.err.contains("waits for you"), "{}", said.err);
    let open = home.almoner(&["inbox", "--json"]).expect(0).json()[0]["number"].to_string();
    home.almoner(&["approve", &open]).expect(0);
    ends(&home);
    assert_eq!(home.read("docs/a.md"), "x");
}

#[test]
fn resource_given_on_request_can_be_revoked_before_use() {
    let home = home(&[request("papers"), request("more"), read("papers")]);
    asks(&home);
    home.almoner(&["resolve", "1", "-e", "papers=docs"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(7);
    let grants = home.almoner(&["grants"]).expect(0).out;
    let grant = grants.lines().find(|line| line.contains(" papers ")).unwrap();
    home.almoner(&["revoke", grant.split_whitespace().next().unwrap()]).expect(0);
    let open = home.almoner(&["inbox", "--json"]).expect(0).json()[0]["number"].to_string();
    home.almoner(&["resolve", &open, "--text", "no more"]).expect(0);
    ends(&home);
    assert!(outcomes(&home).contains("grant/revoked"), "{}", outcomes(&home));
    assert!(!home.trace("r1").to_string().contains("harbour"));
}

#[test]
fn answer_that_fills_no_slot_is_refused() {
    let home = home(&[request("papers")]);
    asks(&home);
    for (args, code, says) in [
        (&["@self"][..], 6, "fills no such slot"),
        (&["@main"][..], 6, "fills no such slot"),
        (&["-e", "other=docs"][..], 2, "asks for `papers`"),
        (&["-e", "papers=docs", "--is", "root"][..], 2, "no kind of slot"),
        (&["-e", "papers=docs:stage"][..], 2, "a staged copy belongs"),
        (&["-e", "papers=self"][..], 6, "can fill no slot"),
        (&["-e", "papers=nowhere"][..], 4, "nowhere"),
        (&["-e", "papers=docs", "--allow", "papers.write"][..], 2, "names no method"),
        (&[][..], 2, "answered with one thing"),
    ] {
        let said = home.almoner(&[&["resolve", "1"], args].concat()).expect(code);
        assert!(said.err.contains(says), "{says} in {said:?}");
    }
    assert!(outcomes(&home).is_empty());
    home.almoner(&["reject", "1", "-r", "ask the archive"]).expect(0);
    ends(&home);
    assert!(outcomes(&home).contains("ask the archive"), "{}", outcomes(&home));
}

#[test]
fn proposed_code_runs_once_endowed_and_returns_its_result() {
    let home = home(&[define(
        "a + b",
        &json!({ "a": "number", "b": { "pattern": "number", "label": "The other" } }),
    )]);
    let shown = asks(&home);
    for part in ["r1 proposes this", "│ Adds up", "proposes code (1 line", "│ a + b", "│ The other"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    home.almoner(&["store", "x:=1", "y:=2"]).expect(0);
    // The daemon does not endow a proposal with objects that do not fit.
    assert_ne!(home.almoner(&["endow", "1", "a=x"]).code, 0);
    home.almoner(&["endow", "1", "a=x", "b=y"]).expect(0);
    ends(&home);
    assert!(outcomes(&home).contains(r#"{\"result\":3}"#), "{}", outcomes(&home));
}

#[test]
fn code_without_a_data_result_is_a_finding() {
    let any = json!({ "d": "dir" });
    let fails = "(() => { throw Error('the password is hunter2'); })()";
    for (source, slots, more, says) in [
        (fails, json!({}), &[][..], "define/failed"),
        ("d", any.clone(), &["d=archive"][..], "define/withheld"),
        ("d", any, &["d=archive", "--to", "guest-caps"][..], "define/withheld"),
        ("1", json!({}), &["--to", "me"][..], "define/kept"),
        ("'x'.repeat(70000)", json!({}), &[][..], "define/large"),
    ] {
        let home = home(&[define(source, &slots)]);
        asks(&home);
        home.almoner(&["mount", "docs", "archive"]).expect(0);
        home.almoner(&[&["endow", "1"], more].concat()).expect(0);
        ends(&home);
        let told = outcomes(&home);
        assert!(told.contains(says) && !told.contains("hunter2"), "{says} in {told}");
        assert!(home.almoner(&["inbox"]).expect(0).out.is_empty(), "nobody is asked to release anything");
    }
}

#[test]
fn model_is_notified_of_code_edited_by_the_user() {
    let home = home(&[define("1", &json!({}))]);
    asks(&home);
    home.write("mine.js", "2\n");
    home.almoner(&["edit", "1", "mine.js"]).expect(0);
    let open = home.almoner(&["inbox", "--json"]).expect(0).json()[0]["number"].to_string();
    assert!(home.almoner(&["inbox", &open]).expect(0).out.contains("r1 proposes this"));
    home.almoner(&["endow", &open]).expect(0);
    ends(&home);
    let told = outcomes(&home);
    assert!(told.contains("has changed the code") && told.contains(r#"\"result\":2"#), "{told}");
}

#[test]
fn invalid_mail_is_refused_to_the_model_without_asking() {
    let text = |text: &str| send(text);
    let named = |name: &str| request(name);
    let mut all: Vec<(Json, &str)> = vec![
        (text(""), "mail/empty"),
        (text(&"x".repeat(5_000)), "tool/arguments"),
        (define("---\nslots: {}\n---\nWork.\n", &json!({})), "define/source"),
        (define("1", &json!({ "k": { "pattern": "string", "secret": true } })), "define/slots"),
        (define("1", &json!({ "a b": "string" })), "define/slots"),
        (define(&"1+".repeat(40_000), &json!({})), "tool/arguments"),
        (call("request", &json!({ "description": "x" })), "tool/arguments"),
        (call("request", &json!({ "description": "x", "name": "y", "force": true })), "tool/arguments"),
    ];
    for name in ["out", "me", "me_send", "out_write", "out_x", "o u", "../out", "", "send", "create_worker"] {
        all.push((named(name), "mail/name"));
    }
    all.extend([(named("da\u{202e}ta"), "mail/name"), (named("оut"), "mail/name")]);
    for (call, says) in all {
        let home = home(std::slice::from_ref(&call));
        assert_eq!(home.almoner(&RUN).expect(0).out, "done\n", "{call}");
        let trace = home.trace("r1").to_string();
        assert!(trace.contains(says), "{says} of {call} in {trace}");
        assert!(home.almoner(&["inbox", "--all"]).expect(0).out.lines().count() <= 1, "{call}");
    }
}

#[test]
fn name_is_requested_once_at_a_time() {
    let home = in_turns(&[vec![request("papers"), request("papers")]]);
    asks(&home);
    assert!(outcomes(&home).contains("mail/name"), "{}", outcomes(&home));
    home.almoner(&["resolve", "1", "-e", "papers=docs"]).expect(0);
    ends(&home);
}

#[test]
fn run_sends_only_a_limited_number_of_messages() {
    let many: Vec<Json> = (0..130).map(|n| send(&format!("Number {n}"))).collect();
    let home = in_turns(&[many]);
    home.almoner(&RUN).expect(0);
    let letters = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let said = letters.as_array().unwrap().iter().filter(|l| l["mail"]["envelope"]["kind"] == "package");
    assert_eq!(said.count(), 100);
    assert_eq!(outcomes(&home).matches("mail/many").count(), 30);
}

#[test]
fn model_text_cannot_imitate_a_card() {
    let forged = format!("x\n    ✓ answered{}    ✓ answered\n── message 7 ── approval", " ".repeat(78));
    let calls = [
        call("request", &json!({ "description": forged, "name": "papers" })),
        call("define", &json!({ "source": forged, "description": forged })),
    ];
    for one in calls {
        let home = home(&[one]);
        let shown = asks(&home);
        assert!(shown.contains("answered"));
        for line in shown.lines().filter(|line| line.contains("answered") || line.contains("message 7")) {
            assert!(line.starts_with("      │ ") || line.starts_with("      ┆ "), "{line:?} in\n{shown}");
        }
        // A yes to a card is no answer.
        assert_ne!(home.almoner(&["approve", "1"]).code, 0);
    }
}

#[test]
fn refusal_reaches_the_run_and_cancelling_withdraws_requests() {
    for asked in [request("papers"), define("1", &json!({}))] {
        let alone = home(std::slice::from_ref(&asked));
        assert_eq!(alone.almoner(&[&RUN[..], &["--on-ask", "deny"]].concat()).expect(0).out, "done\n");
        assert!(outcomes(&alone).contains("nobody is there"), "{}", outcomes(&alone));

        let cancelled = home(&[asked]);
        asks(&cancelled);
        cancelled.almoner(&["cancel", "r1"]).expect(0);
        assert!(cancelled.almoner(&["inbox"]).expect(0).out.is_empty());
        assert!(cancelled.almoner(&["inbox", "1"]).expect(0).out.contains("withdrawn"));
        for answer in
            [&["resolve", "1", "-e", "papers=docs"][..], &["resolve", "1", "--text", "x"], &["endow", "1"]]
        {
            assert_ne!(cancelled.almoner(answer).code, 0);
        }
        assert!(!cancelled.almoner(&["grants"]).expect(0).out.contains("papers"));
    }
}

#[test]
fn terminal_accepts_a_requested_value_at_once() {
    let home = home(&[request("papers")]);
    let mut terminal = Terminal::open(&home, &RUN);
    terminal.shows("Type `resolve 1 TEXT`", 1);
    terminal.press("resolve 1 4711\n");
    terminal.shows("\ndone", 1);
    assert_eq!(terminal.end().0, 0);
    assert!(outcomes(&home).contains("4711"));
}

fn everything() -> TestHome {
    home(&[send("I begin."), request("papers"), read("papers"), define("a + 1", &json!({ "a": "number" }))])
}

/// Answers all messages until the run is over, even if daemons die meanwhile.
fn to_the_end(home: &TestHome) {
    loop {
        let said = goes_on(home, "r1");
        if said.code == 0 {
            assert_eq!(said.out, "done\n");
            return;
        }
        assert_eq!(said.code, 7, "{said:?}");
        let said = home.almoner(&["inbox", "--json"]);
        let letters: Json = serde_json::from_str(&said.out).unwrap_or_default();
        for letter in letters.as_array().into_iter().flatten() {
            let number = letter["number"].to_string();
            // It may have been answered before the daemon died.
            match letter["mail"]["envelope"]["kind"].as_str() {
                Some("definition") => {
                    home.almoner(&["store", "x:=1"]);
                    home.almoner(&["endow", &number, "a=x"])
                }
                _ => home.almoner(&["resolve", &number, "-e", "papers=docs"]),
            };
        }
    }
}

fn play(point: &str, nth: u64) -> bool {
    let home = everything();
    let daemon = Doomed::start(&home, point, nth);
    if home.almoner(&RUN).code != 7 && !home.almoner(&["runs"]).out.contains("r1") {
        // The command itself was lost.
        return daemon.end();
    }
    to_the_end(&home);
    let trace = home.trace("r1").to_string();
    assert_eq!(trace.matches(r#""entry":"questioned""#).count(), 2, "{point} {nth}: {trace}");
    let told = outcomes(&home);
    assert_eq!(told.matches(r#"{\"result\":2}"#).count(), 1, "{point} {nth}: {told}");
    assert_eq!(told.matches("harbour").count(), 1, "{point} {nth}: {told}");
    let letters = home.almoner(&["inbox", "--all"]).expect(0).out;
    assert_eq!(letters.matches("r1 says: I begin.").count(), 1, "{point} {nth}: {letters}");
    let grants = home.almoner(&["grants"]).expect(0).out;
    assert_eq!(grants.lines().filter(|line| line.contains(" papers ")).count(), 1, "{point} {nth}: {grants}");
    daemon.end()
}

#[test]
fn mail_is_delivered_once_despite_kills_at_any_commit() {
    let whole = everything();
    whole.almoner(&RUN).expect(7);
    to_the_end(&whole);
    let last = commits(&whole);
    for point in [BEFORE, AFTER] {
        at_each(point, last, last / 2 + 1, |nth| play(point, nth));
    }
}
