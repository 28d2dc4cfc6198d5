//! The client over OpenAI's chat format against every way in which a server can misbehave.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use model::served::ServedModel;
use model::{Message, ModelError, Progress, Provider, Reply, Request, Retry, Secret, Stop};
use serde_json::json;

use crate::server::{Answer, End, Server, events, http, json as json_answer};

const STREAM: &str = concat!(
    ": comment\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"Grüß \"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"Gott\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3}}\n\n",
    "data: [DONE]\n\n",
);

/// The outcome of one call.
struct Outcome {
    result: Result<Reply, ModelError>,
    news: Vec<Progress>,
    slept: Duration,
    requests: Vec<String>,
}

fn retry(slept: &Arc<Mutex<Duration>>) -> Retry {
    let slept = Arc::clone(slept);
    Retry { tries: 3, sleep: Arc::new(move |time| *slept.lock().unwrap() += time) }
}

fn ask(answers: Vec<Answer>) -> Outcome {
    let server = Server::new(answers);
    let slept = Arc::default();
    let reference = format!("compat:{}/v1#m", server.url).parse().unwrap();
    let key = |name: &str| (name == "ALMONER_COMPAT_KEY").then(|| Secret::new("sk-topsecret"));
    let served = ServedModel::open(&reference, &key, retry(&slept)).unwrap();
    let request = Request { messages: vec![Message::user("hi")], ..Request::default() };
    let mut news = Vec::new();
    let result = served.complete(&request, &mut |progress| news.push(progress));
    let slept = *slept.lock().unwrap();
    Outcome { result, news, slept, requests: server.requests() }
}

#[test]
fn cut_stream_is_understood() {
    for step in [1, 2, 3, 7, 100, usize::MAX] {
        let outcome = ask(vec![Answer { step, ..events(STREAM) }]);
        let reply = outcome.result.unwrap();
        assert_eq!((reply.text.as_str(), reply.stop), ("Grüß Gott", Stop::End));
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (12, 3));
        let shown: Vec<_> = ["Grüß ", "Gott"].map(|text| Progress::Text(text.to_owned())).into();
        assert_eq!(outcome.news, shown);
        assert!(outcome.requests[0].to_lowercase().contains("authorization: bearer sk-topsecret"));
    }
}

#[test]
fn unstreamed_answer_is_understood() {
    let body = json!({"choices": [{"message": {"content": "whole"}, "finish_reason": "length"}]});
    let reply = ask(vec![json_answer("200 OK", &body.to_string())]).result.unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("whole", Stop::Length));
}

#[test]
fn partial_stream_is_retried_and_never_a_reply() {
    let half = &STREAM[..STREAM.find("Gott").unwrap()];
    let outcome = ask(vec![events(half), events(STREAM)]);
    assert_eq!(outcome.result.unwrap().text, "Grüß Gott");
    assert!(outcome.news.contains(&Progress::Restarted));

    // Cut at any byte before the reason to stop, there is no reply.
    let end = STREAM.find("finish_reason").unwrap();
    for cut in (0..end).step_by(11) {
        let outcome = ask(vec![events(&STREAM.as_bytes()[..cut])]);
        assert!(
            matches!(outcome.result, Err(ModelError::CutOff { .. })),
            "cut at {cut}: {:?}",
            outcome.result
        );
        assert_eq!(outcome.requests.len(), 3);
    }
    // A body that is shorter than announced was cut off, too.
    let outcome =
        ask(vec![http("200 OK", "content-type: application/json\r\ncontent-length: 999\r\n", "{\"cho")]);
    assert!(matches!(outcome.result, Err(ModelError::CutOff { .. })), "{:?}", outcome.result);
}

#[test]
fn failures_are_named_and_retried_if_transient() {
    #[track_caller]
    fn check(answers: Vec<Answer>, kind: &str, tries: usize, slept: f64) {
        let outcome = ask(answers);
        let error = outcome.result.unwrap_err();
        assert_eq!(serde_json::to_value(&error).unwrap()["kind"], kind, "{error}");
        assert_eq!((outcome.requests.len(), outcome.slept.as_secs_f64()), (tries, slept), "{error}");
        assert!(!format!("{error} {error:?} {}", error.help()).contains("topsecret"), "{error}");
    }
    let error = |status: &str, message: &str| {
        json_answer(status, &json!({"error": {"message": message}}).to_string())
    };
    check(vec![error("401 Unauthorized", "no: sk-topsecret")], "unauthorized", 1, 0.0);
    check(vec![error("404 Not Found", "no model m")], "model_not_found", 1, 0.0);
    check(vec![error("400 Bad Request", "maximum context length")], "context_too_long", 1, 0.0);
    check(vec![error("400 Bad Request", "no such thing")], "refused", 1, 0.0);
    check(vec![error("500 Internal Server Error", "oops")], "server_error", 3, 2.5);
    check(vec![http("503 Unavailable", "", "<html>")], "server_error", 3, 2.5);
    check(vec![http("429 Slow", "retry-after: 4\r\n", "")], "rate_limited", 3, 8.0);
    check(vec![http("429 Slow", "retry-after: 3600\r\n", "")], "rate_limited", 1, 0.0);
    check(vec![error("429 Slow", "You exceeded your current quota")], "quota_exceeded", 1, 0.0);
    check(vec![events("data: {\"choices\": [}\n\n")], "malformed", 3, 2.5);
    check(vec![events("data: {\"error\": {\"message\": \"overloaded\"}}\n\n")], "server_error", 3, 2.5);
    check(vec![json_answer("200 OK", "not json")], "malformed", 3, 2.5);
    check(vec![json_answer("200 OK", "{}")], "malformed", 3, 2.5);
    check(vec![events("data: [DONE]\n\n")], "cut_off", 3, 2.5);
    check(vec![http("307 Elsewhere", "location: http://127.0.0.1:1/\r\n", "")], "refused", 1, 0.0);
    check(vec![Answer { bytes: Vec::new(), step: 1, end: End::Close }], "cut_off", 3, 2.5);
    check(vec![Answer { bytes: b"SSH-2.0\r\n\r\n".to_vec(), step: 9, end: End::Close }], "malformed", 3, 2.5);
}

#[test]
fn rate_limited_server_is_retried_after_its_wait() {
    let limited = http("429 Slow", "retry-after: 2\r\n", "");
    let outcome = ask(vec![limited, events(STREAM)]);
    assert_eq!(outcome.result.unwrap().text, "Grüß Gott");
    assert_eq!(outcome.slept, Duration::from_secs(2));
}

#[test]
fn feature_refused_by_name_is_omitted() {
    let refusal =
        |what: &str| json_answer("400 Bad Request", &json!({"error": {"message": what}}).to_string());
    let outcome = ask(vec![
        refusal("Unsupported parameter: 'max_tokens', use 'max_completion_tokens'"),
        refusal("'temperature' does not support 0"),
        refusal("stream_options is unknown"),
        events(STREAM),
    ]);
    assert_eq!(outcome.result.unwrap().text, "Grüß Gott");
    let last = &outcome.requests[3];
    assert!(last.contains("max_completion_tokens") && !last.contains("temperature"), "{last}");
    assert!(!last.contains("stream_options"), "{last}");
}

#[test]
fn known_unknown_and_malformed_calls_arrive() {
    let stream = concat!(
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"no_such_tool\",\"arguments\":\"{\\\"x\\\"\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"read\",\"arguments\":\"{nonsense\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\":1}\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    );
    let reply = ask(vec![events(stream)]).result.unwrap();
    assert_eq!((reply.calls[0].name.as_str(), &reply.calls[0].arguments), ("no_such_tool", &json!({"x": 1})));
    assert_eq!(reply.malformed[0].arguments, "{nonsense");
    assert_eq!(reply.stop, Stop::Calls);
}

#[test]
fn endless_answer_is_aborted() {
    let mut body = vec![b' '; 65 << 20];
    body[..2].copy_from_slice(b"{ ");
    let outcome = ask(vec![http("200 OK", "content-type: application/json\r\n", &body)]);
    assert!(matches!(outcome.result, Err(ModelError::TooLarge { .. })), "{:?}", outcome.result);
    assert_eq!(outcome.requests.len(), 1);
}

#[test]
fn missing_server_is_an_error_with_help() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let reference = format!("compat:http://{free}/v1#m").parse().unwrap();
    let served = ServedModel::open(&reference, &|_| None, retry(&Arc::default())).unwrap();
    let error = served.complete(&Request::default(), &mut |_| {}).unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error}");
    assert!(error.is_transient() && error.help().contains("-m local"), "{}", error.help());
}

#[test]
fn call_ends_at_its_timeout() {
    let server = Server::new(vec![Answer { bytes: Vec::new(), step: usize::MAX, end: End::Silence }]);
    let reference = format!("compat:{}/v1#m", server.url).parse().unwrap();
    let served = ServedModel::open(&reference, &|_| None, Retry::default()).unwrap();
    let mut request = Request::default();
    request.cancel = request.cancel.within(Duration::from_millis(150));
    assert_eq!(served.complete(&request, &mut |_| {}), Err(ModelError::Canceled));
    assert!(request.cancel.is_late());
    assert!(!Request::default().cancel.is_late());
}

#[test]
fn key_is_redacted_in_every_notation() {
    let key = "sk-test-KEY/abc+def=123";
    let escaped: String = key.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
    let told = format!(r#"{{"error": {{"message": "bad key {escaped}"}}}}"#);
    let said = format!(
        r#"{{"choices": [{{"message": {{"content": "it is {escaped}"}}, "finish_reason": "stop"}}]}}"#
    );
    for answer in [
        json_answer("401 Unauthorized", &told),
        json_answer("400 Bad Request", &told),
        json_answer("200 OK", &said),
    ] {
        let server = Server::new(vec![answer]);
        let reference = format!("compat:{}/v1#m", server.url).parse().unwrap();
        let lookup = |name: &str| (name == "ALMONER_COMPAT_KEY").then(|| Secret::new(key));
        let served = ServedModel::open(&reference, &lookup, Retry::default()).unwrap();
        let mut shown = String::new();
        let result = served.complete(&Request::default(), &mut |part| shown += &format!("{part:?}"));
        let all = format!("{result:?} {shown}");
        assert!(all.contains("[key]") && !all.contains(key), "{all}");
    }
}

#[test]
fn call_can_be_cancelled_while_the_server_is_silent() {
    for bytes in [Vec::new(), events(&STREAM[..100]).bytes] {
        let server = Server::new(vec![Answer { bytes, step: usize::MAX, end: End::Silence }]);
        let reference = format!("compat:{}/v1#m", server.url).parse().unwrap();
        let served = ServedModel::open(&reference, &|_| None, Retry::default()).unwrap();
        let request = Request::default();
        let switch = request.cancel.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(150));
            switch.cancel();
        });
        let begun = Instant::now();
        assert_eq!(served.complete(&request, &mut |_| {}), Err(ModelError::Canceled));
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
}
