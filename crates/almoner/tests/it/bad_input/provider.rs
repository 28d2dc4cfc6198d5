//! Tests of a model's server that is away, busy, broken, or talks nonsense.
//!
//! The run stalls, keeps its state, and goes on when the server is well again.

use serde_json::{Value, json};

use super::server::{Answer, Server, calls, events, raw_events, says, status};
use super::{RunFixture, check, runs};
use crate::test_home::Said;

/// A worker whose answer must have a form.
const FORM: &str = "---\noutput: { size: number }\n---\nHow large is it?\n";

fn run(desk: &RunFixture, worker: &[&str], model: &str) -> Said {
    desk.home.almoner(&[&["run", "-m", model], worker].concat())
}

/// A way to fail: the server's answer, the number of tries that are worthwhile, the error messages, and the way out.
struct Failing {
    answer: Answer,
    tries: usize,
    says: &'static [&'static str],
    help: &'static str,
}

fn failing(answer: Answer, tries: usize, says: &'static [&'static str], help: &'static str) -> Failing {
    Failing { answer, tries, says, help }
}

/// Checks that a run stalls at a server that fails every time, and resumes once the server is well.
#[track_caller]
fn stalls_and_resumes(case: Failing) {
    let Failing { answer, tries, says: says_what, help } = case;
    let desk = RunFixture::new();
    let server = Server::start(move |number, _| if number < tries { answer.clone() } else { says("hello") });
    let said = run(&desk, &["hello.worker"], &server.model());
    check(&said, &["run"], 1, says_what, help);
    check(&said, &["run"], 1, &["r3 stalled"], "almoner resume");
    assert_eq!(server.requests().len(), tries, "as many tries as are worth it: {says_what:?}");
    assert_eq!(said.out, "", "no half answer is a result");
    assert!(runs(&desk.home)[0]["state"].to_string().contains("stalled"));
    // Other runs go their way meanwhile.
    desk.home.almoner(&super::RUN_HELLO).expect(0);
    assert_eq!(desk.home.almoner(&["resume", "r3"]).expect(0).out, "hello\n");
    assert_eq!(server.requests().len(), tries + 1);
    desk.nothing_lost();
}

/// Users of other programs cannot tell whose fault it is: lynote-ai/humanize-text#55, huggingface/llm-vscode#99,
/// micasa-dev/micasa#156.
#[test]
fn failing_server_stalls_the_run_until_its_recovery() {
    let half = json!({"choices": [{"delta": {"content": "hel"}}]});
    let half_body =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{\"choices\": [";
    let busy = |headers, body| status("429 Too Many Requests", headers, body);
    let broke = r#"{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}"#;
    let later = "resume the run later";
    let cases = [
        // A pause of days is for the person to decide about.
        failing(
            busy("retry-after: 172800\r\n", ""),
            1,
            &["asks to slow down"],
            "wait 172800 s and resume the run",
        ),
        failing(busy("", broke), 1, &["no quota left"], "top up the account"),
        failing(
            status("500 Internal Server Error", "", "<b>oops\u{1b}[31m"),
            3,
            &["status 500", "oops"],
            later,
        ),
        failing(
            status("401 Unauthorized", "", r#"{"error": "bad key"}"#),
            1,
            &["the key: bad key"],
            "check the key",
        ),
        failing(
            status("404 Not Found", "", r#"{"error": "no such"}"#),
            1,
            &["no model `small`"],
            "almoner models",
        ),
        failing(
            status("400 Bad Request", "", r#"{"error": "odd"}"#),
            1,
            &["status 400: odd"],
            "has to change",
        ),
        failing(events(&[half], false), 3, &["cut off"], later),
        failing(half_body.into(), 3, &["cut off"], later),
        failing(raw_events("data: {\"choices\": [nonsense\n\n"), 3, &["cannot read", "nonsense"], later),
        failing(
            status("200 OK", "content-type: application/json\r\n", "[]"),
            3,
            &["the server at http://127.0.0.1:", "cannot read: the field `choices` is missing"],
            later,
        ),
        failing(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), 3, &["cannot read: it is no HTTP"], later),
        // Half an answer is no result, whatever the server calls its end.
        failing(ended_with("error"), 3, &["ended the answer with `error`"], "the fault is the server's"),
        failing(ended_with("network_error"), 3, &["ended the answer with `network_error`"], later),
        failing(ended_with(""), 3, &["cut off"], later),
    ];
    // They wait most of the time, so they wait together.
    std::thread::scope(|scope| {
        let running: Vec<_> =
            cases.into_iter().map(|case| scope.spawn(|| stalls_and_resumes(case))).collect();
        for case in running {
            if let Err(panic) = case.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

/// Returns half an answer, and a reason after it.
fn ended_with(reason: &str) -> Answer {
    let half = json!({"choices": [{"delta": {"content": "Half an ans"}, "finish_reason": reason}]});
    events(&[half], false)
}

#[test]
fn refusal_of_the_model_is_the_error_of_the_run() {
    let desk = RunFixture::new();
    let refusal = json!({"content": null, "refusal": "I cannot help with that."});
    let refused = json!({"choices": [{"delta": refusal, "finish_reason": "stop"}]});
    let server = Server::saying(vec![events(&[refused], true)]);
    let said = run(&desk, &["hello.worker"], &server.model());
    check(&said, &["run"], 1, &["declined to answer: I cannot help with that."], "change the request");
    assert_eq!(server.requests().len(), 1);
    desk.nothing_lost();
}

#[test]
fn thinking_around_the_answer_is_no_part_of_it() {
    let desk = RunFixture::new();
    desk.home.write("form.worker", FORM);
    for text in ["<think>\nplan\n</think>\n\n{\"size\": 5}", "plan\n</think>\n\n{\"size\": 5}"] {
        let server = Server::saying(vec![says(text)]);
        let said = run(&desk, &["form.worker", "--json"], &server.model()).expect(0);
        assert_eq!(said.json()["value"], json!({"size": 5}), "{text}");
        assert_eq!(server.requests().len(), 1, "{text}");
    }
    let server = Server::saying(vec![says("<think>plan</think>Paris.")]);
    assert_eq!(run(&desk, &["hello.worker"], &server.model()).expect(0).out, "Paris.\n");
    desk.nothing_lost();
}

#[test]
fn model_without_tools_or_system_role_is_served_or_named() {
    let desk = RunFixture::new();
    let server = Server::start(|_, body| match (body["messages"][0]["role"].as_str(), body.get("tools")) {
        (Some("system"), _) => status("400 Bad Request", "", r#"{"error": "System role not supported"}"#),
        (_, Some(_)) => status("400 Bad Request", "", r#"{"error": "small does not support tools"}"#),
        _ => says("hello"),
    });
    assert_eq!(run(&desk, &["hello.worker"], &server.model()).expect(0).out, "hello\n");
    let said = run(&desk, &["keeper.worker", "-e", "out=kept:rw"], &server.model());
    let words = &["the model `small` takes no tools", "small does not support tools"];
    check(&said, &["run"], 1, words, "a worker without slots");
    desk.nothing_lost();
}

#[test]
fn unreachable_server_stalls_the_run() {
    let desk = RunFixture::new();
    // A port that was free a moment ago.
    let port = crate::ports::free_port();
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
fn unknown_tool_is_reported_to_the_model() {
    let desk = RunFixture::new();
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
fn invalid_tool_arguments_are_reported_to_the_model() {
    let desk = RunFixture::new();
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

/// Other programs end with the number of tries alone: GIScience/ohsome-py#60, GameAnalytics/current#20,
/// langgenius/dify#40404.
#[test]
fn model_without_a_valid_call_fails_after_three_repairs() {
    let desk = RunFixture::new();
    let server = Server::saying(vec![calls("out_write", "{oops")]);
    let said = run(&desk, &["keeper.worker", "-e", "out=kept:rw"], &server.model());
    let last = "in 3 repairs: the arguments are no JSON: the mistake is at character 2, in `{oops`";
    check(&said, &["run"], 6, &[last], "use a larger model (`-m`)");
    assert_eq!(server.requests().len(), 4);
    desk.nothing_lost();
}

#[test]
fn answer_not_matching_the_output_form_is_asked_again() {
    let desk = RunFixture::new();
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
    let last = "in 3 repairs: the answer is not JSON";
    check(&said, &["run"], 6, &[last], "use another model (`-m`)");
    assert_eq!(said.json()["state"], "failed");
    assert_eq!(server.requests().len(), 4);
    desk.nothing_lost();
}

#[test]
fn empty_answer_ends_the_run_without_looping() {
    let desk = RunFixture::new();
    let server = Server::saying(vec![says("")]);
    let said = run(&desk, &["hello.worker", "--json"], &server.model());
    // Every outcome is reported, without a panic and without an endless loop.
    assert!(matches!(said.code, 0 | 6), "{said:?}");
    assert!(server.requests().len() <= 4);
    desk.nothing_lost();
}

fn last_message(request: &Value) -> String {
    request["messages"].as_array().unwrap().last().unwrap().to_string()
}
