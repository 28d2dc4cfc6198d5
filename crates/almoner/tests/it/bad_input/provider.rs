//! A model's server that is away, busy, broken, or talks nonsense.
//!
//! The run stalls, keeps what it has, and goes on when the server is well again.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{Answer, Server, calls, events, raw_events, says, status};
use super::{Desk, check, runs};
use crate::home::Said;

/// A worker whose answer must have a form.
const FORM: &str = "---\noutput: { size: number }\n---\nHow large is it?\n";

fn run(desk: &Desk, worker: &[&str], model: &str) -> Said {
    desk.home.almoner(&[&["run", "-m", model], worker].concat())
}

/// The server fails as it is told for `tries` requests and is well afterwards.
#[track_caller]
fn stalls_and_resumes(failing: Answer, tries: usize, says_what: &[&str], help: &str) {
    let desk = Desk::new();
    let server = Server::start(move |number, _| if number < tries { failing.clone() } else { says("hello") });
    let said = run(&desk, &["hello.worker"], &server.model());
    check(&said, &["run"], 1, says_what, help);
    check(&said, &["run"], 1, &["r3 stalled"], "almoner resume");
    assert_eq!(server.requests().len(), tries, "as many tries as are worth it");
    assert_eq!(said.out, "", "no half answer is a result");
    assert!(runs(&desk.home)[0]["state"].to_string().contains("stalled"));
    // Other runs go their way meanwhile.
    desk.home.almoner(&super::RUN_HELLO).expect(0);
    assert_eq!(desk.home.almoner(&["resume", "r3"]).expect(0).out, "hello\n");
    assert_eq!(server.requests().len(), tries + 1);
    desk.nothing_lost();
}

#[test]
fn a_server_that_is_busy_is_asked_again_and_then_waited_for() {
    // As long as it asks for, and no longer.
    let begun = Instant::now();
    let busy = status("429 Too Many Requests", "retry-after: 1\r\n", r#"{"error": {"message": "slow"}}"#);
    stalls_and_resumes(busy, 3, &["asks to slow down"], "wait 1 s and resume the run");
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn a_server_that_wants_a_long_pause_is_not_waited_for() {
    let busy = status("429 Too Many Requests", "retry-after: 3600\r\n", "");
    stalls_and_resumes(busy, 1, &["asks to slow down"], "wait 3600 s and resume the run");
}

#[test]
fn an_account_without_money_is_not_asked_again() {
    let broke = r#"{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}"#;
    let broke = status("429 Too Many Requests", "", broke);
    stalls_and_resumes(broke, 1, &["no quota left"], "top up the account");
}

#[test]
fn a_server_that_fails_is_asked_again() {
    let broken = status("500 Internal Server Error", "", "<html>oops\u{1b}[31m</html>");
    stalls_and_resumes(broken, 3, &["status 500", "oops"], "resume the run later");
}

#[test]
fn a_server_that_does_not_take_the_key_says_so() {
    let no = status("401 Unauthorized", "", r#"{"error": {"message": "bad key"}}"#);
    stalls_and_resumes(no, 1, &["did not accept the key: bad key"], "check the key");
}

#[test]
fn half_a_stream_is_no_answer() {
    let half = events(&[json!({"choices": [{"delta": {"content": "hel"}}]})], false);
    stalls_and_resumes(half, 3, &["cut off"], "resume the run later");
}

#[test]
fn half_a_body_is_no_answer() {
    let half =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{\"choices\": ["
            .to_vec();
    stalls_and_resumes(half, 3, &["cut off"], "resume the run later");
}

#[test]
fn malformed_json_is_no_answer() {
    stalls_and_resumes(
        raw_events("data: {\"choices\": [nonsense\n\n"),
        3,
        &["no reply"],
        "resume the run later",
    );
}

#[test]
fn what_is_no_http_is_no_answer() {
    stalls_and_resumes(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), 3, &["no reply"], "resume the run later");
}

#[test]
fn nobody_listens() {
    let desk = Desk::new();
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let model = format!("compat:http://127.0.0.1:{port}/v1#m");
    let said = run(&desk, &["hello.worker"], &model);
    check(&said, &["run"], 1, &["r3 stalled", "cannot reach", &port.to_string()], "check the network");
    let json = run(&desk, &["hello.worker", "--json"], &model);
    check(&json, &["run"], 1, &["r4 stalled"], "almoner resume");
    assert_eq!(json.json()["state"], "stalled");
    assert_eq!(json.json()["trouble"]["code"], "model/busy");
    desk.nothing_lost();
}

#[test]
fn an_unknown_tool_is_told_back_to_the_model() {
    let desk = Desk::new();
    let server = Server::saying(vec![calls("rm_rf", "{}"), says("then not")]);
    let said = run(&desk, &["keeper.worker", "-e", "out=kept:rw"], &server.model()).expect(0);
    assert_eq!(said.out, "then not\n");
    let second = server.requests()[1].to_string();
    for part in ["tool/unknown", "rm_rf", "out_list, out_read, out_write"] {
        assert!(second.contains(part), "{part}: {second}");
    }
    desk.nothing_lost();
}

#[test]
fn arguments_that_do_not_fit_are_told_back_to_the_model() {
    let desk = Desk::new();
    let server = Server::saying(vec![
        calls("out_write", "{\"path\": \"a.md\", \"content"),
        calls("out_write", r#"{"path": "a.md"}"#),
        calls("out_write", r#"{"path": 7, "content": "x"}"#),
        says("I give up"),
    ]);
    run(&desk, &["keeper.worker", "-e", "out=kept:rw"], &server.model()).expect(0);
    let requests = server.requests();
    for (request, rule) in [(1, "tool/json"), (2, "tool/arguments"), (3, "tool/arguments")] {
        let last = last_message(&requests[request]);
        assert!(last.contains(rule), "{request}: {last}");
    }
    assert!(!desk.home.path("kept/a.md").exists());
    desk.nothing_lost();
}

#[test]
fn a_model_that_never_calls_a_tool_correctly_is_given_up() {
    let desk = Desk::new();
    let server = Server::saying(vec![calls("out_write", "{oops")]);
    let said = run(&desk, &["keeper.worker", "-e", "out=kept:rw"], &server.model());
    check(&said, &["run"], 6, &["usable answer in 3 repairs"], "almoner trace");
    assert_eq!(server.requests().len(), 4);
    desk.nothing_lost();
}

#[test]
fn an_answer_without_the_form_is_asked_for_again() {
    let desk = Desk::new();
    desk.home.write("form.worker", FORM);
    // No tool call, no JSON; then the wrong type; then right.
    let server = Server::saying(vec![says("quite large"), says(r#"{"size": "5"}"#), says(r#"{"size": 5}"#)]);
    let said = run(&desk, &["form.worker", "--json"], &server.model()).expect(0);
    assert_eq!(said.json()["value"], json!({"size": 5}));
    let requests = server.requests();
    assert!(last_message(&requests[1]).contains("cannot be used"), "{}", requests[1]);
    assert!(last_message(&requests[2]).contains("size"), "{}", requests[2]);

    let server = Server::saying(vec![says("quite large")]);
    let said = run(&desk, &["form.worker", "--json"], &server.model());
    check(&said, &["run"], 6, &["usable answer in 3 repairs"], "another model may do better");
    assert_eq!(said.json()["state"], "failed");
    assert_eq!(server.requests().len(), 4);
    desk.nothing_lost();
}

#[test]
fn an_empty_answer_of_a_worker_without_a_form_is_an_empty_result() {
    let desk = Desk::new();
    let server = Server::saying(vec![says("")]);
    let said = run(&desk, &["hello.worker", "--json"], &server.model());
    // Whatever becomes of it, it is said; there is no panic and no endless loop.
    assert!(matches!(said.code, 0 | 6), "{said:?}");
    assert!(server.requests().len() <= 4);
    desk.nothing_lost();
}

fn last_message(request: &Value) -> String {
    request["messages"].as_array().unwrap().last().unwrap().to_string()
}
