//! Questions of a run to the person whose run it is.

use serde_json::{Value as Json, json};

use crate::terminal::Terminal;
use crate::test_home::TestHome;

/// Returns a home with a worker that makes these calls, one a turn, and says `done`.
fn home(calls: &[Json]) -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { me: ask, out: dir rw }\n---\nFind out, and write it down.\n");
    let turns = calls.iter().map(|call| json!({ "calls": [call] }));
    let turns: Vec<Json> = turns.chain([json!({ "text": "done" })]).collect();
    home.write("script.json", json!([{ "turns": turns }]).to_string());
    home
}

fn ask(arguments: &Json) -> Json {
    json!({ "name": "me_ask", "arguments": arguments })
}

fn which() -> Json {
    ask(&json!({ "question": "Which colour?", "choices": ["red", "blue"] }))
}

const RUN: [&str; 7] =
    ["run", "w.worker", "-e", "out=out:rw", "--allow", "out.write", "-mscripted:script.json"];

/// Returns the completed calls of the run, as text.
fn outcomes(home: &TestHome) -> String {
    let trace = home.trace("r1");
    let steps = trace["steps"].as_array().unwrap();
    steps.iter().filter(|step| step["entry"]["entry"] == "completed").map(ToString::to_string).collect()
}

#[test]
fn run_asks_a_question_and_resumes_with_the_answer() {
    let home = home(&[which()]);
    let said = home.almoner(&RUN).expect(7);
    assert!(said.err.contains("waits for you: message 1"), "{}", said.err);
    assert!(home.almoner(&["status", "--json"]).expect(0).json()["at_work"].as_array().unwrap().is_empty());
    let shown = home.almoner(&["inbox", "1"]).expect(0).out;
    assert!(shown.contains("r1 asks this") && shown.contains("Which colour?"), "{shown}");
    // An answer that does not fit is refused, and so is an approval without an answer.
    home.almoner(&["submit", "1", "answer=green"]).expect(6);
    assert_ne!(home.almoner(&["approve", "1"]).code, 0);
    home.almoner(&["submit", "1", "answer=blue"]).expect(0);
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "done\n");
    assert!(outcomes(&home).contains(r#"\"answer\":\"blue\""#), "{}", outcomes(&home));
    // A second answer changes nothing.
    home.almoner(&["submit", "1", "answer=red"]);
    assert!(!outcomes(&home).contains("red"));
}

#[test]
fn form_with_several_fields_is_one_question() {
    let fields = json!({ "age": "0..150", "when": { "pattern": "date", "label": "From which day on?" } });
    let call = json!({ "name": "me_form", "arguments": { "description": "Two things", "fields": fields } });
    let home = home(&[call]);
    home.almoner(&RUN).expect(7);
    let shown = home.almoner(&["inbox", "1"]).expect(0).out;
    assert!(shown.contains("Two things") && shown.contains("From which day on?"), "{shown}");
    home.almoner(&["submit", "1", "age:=7", "when=2026-11-23"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(0);
    assert!(outcomes(&home).contains("2026-11-23"), "{}", outcomes(&home));
}

#[test]
fn invalid_question_is_refused_to_the_model_without_asking() {
    for (call, says) in [
        (ask(&json!({ "question": "One?", "choices": ["only"] })), "at least two choices"),
        (
            json!({ "name": "me_form", "arguments": { "description": "x", "fields": {} } }),
            "there are no fields here",
        ),
        (
            json!({ "name": "me_form", "arguments": { "description": "x", "fields": { "k": { "pattern": "string", "secret": true } } } }),
            "secrets are not asked for",
        ),
        (
            json!({ "name": "me_form", "arguments": { "description": "x", "fields": { "d": "dir" } } }),
            "fields",
        ),
    ] {
        let home = home(&[call]);
        assert_eq!(home.almoner(&RUN).expect(0).out, "done\n");
        assert!(outcomes(&home).contains(says), "{says} in {}", outcomes(&home));
        assert!(home.almoner(&["inbox", "--all"]).expect(0).out.lines().count() <= 1);
    }
}

#[test]
fn refusal_reaches_the_model_and_cancelling_ends_questions() {
    let refused = home(&[which()]);
    refused.almoner(&RUN).expect(7);
    refused.almoner(&["deny", "1", "-r", "decide yourself"]).expect(0);
    assert_eq!(refused.almoner(&["resume", "r1"]).expect(0).out, "done\n");
    assert!(outcomes(&refused).contains("decide yourself"), "{}", outcomes(&refused));

    let alone = home(&[which()]);
    assert_eq!(alone.almoner(&[&RUN[..], &["--on-ask", "deny"]].concat()).expect(0).out, "done\n");

    let cancelled = home(&[which()]);
    cancelled.almoner(&RUN).expect(7);
    cancelled.almoner(&["cancel", "r1"]).expect(0);
    assert!(cancelled.almoner(&["inbox"]).expect(0).out.is_empty());
    assert_ne!(cancelled.almoner(&["submit", "1", "answer=blue"]).code, 0);
}

#[test]
fn question_is_answered_at_the_terminal() {
    let home = home(&[which()]);
    let mut terminal = Terminal::open(&home, &RUN);
    terminal.shows("Type `submit 1 ANSWER`", 1);
    terminal.press("submit 1 green\n");
    terminal.shows("Type `submit 1 ANSWER`", 2);
    terminal.press("submit 1 blue\n");
    terminal.shows("\ndone", 1);
    assert_eq!(terminal.end().0, 0);
}
