//! The client over OpenAI's chat format against every way in which a server can misbehave.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use model::served::{ServedModel, ServerAccess};
use model::{
    Message, ModelError, ModelLimits, Opener, Progress, Provider, Reply, Request, Retry, Secret, Stop, Tool,
};
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
    ask_for(Some(900), answers)
}

/// Asks for a reply of at most so many tokens.
fn ask_for(max_tokens: Option<u32>, answers: Vec<Answer>) -> Outcome {
    let server = Server::new(answers);
    let slept = Arc::default();
    let reference = format!("compat:{}/v1#m", server.url).parse().unwrap();
    let key = |name: &str| (name == "ALMONER_COMPAT_KEY").then(|| Secret::new("sk-topsecret"));
    let served = ServedModel::open(&reference, &key, retry(&slept), &ServerAccess::default()).unwrap();
    let request = Request { messages: vec![Message::user("hi")], max_tokens, ..Request::default() };
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
        let seconds = (outcome.slept.as_secs_f64() * 10.0).round() / 10.0;
        assert_eq!((outcome.requests.len(), seconds), (tries, slept), "{error}");
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
    assert_eq!(outcome.slept.as_secs_f64().round(), 2.0);
    assert!(outcome.news.iter().any(|news| matches!(news, Progress::Waiting { .. })), "{:?}", outcome.news);
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

/// Returns the token limit in each request.
fn sent_limits(requests: &[String]) -> Vec<Option<u64>> {
    let limit = |request: &String| {
        let body = request.split("\r\n\r\n").nth(1).unwrap();
        serde_json::from_str::<serde_json::Value>(body).unwrap()["max_tokens"].as_u64()
    };
    requests.iter().map(limit).collect()
}

#[test]
fn reply_limit_adapts_to_the_limit_in_a_refusal() {
    let refusal =
        |what: &str| json_answer("400 Bad Request", &json!({"error": {"message": what}}).to_string());
    for (message, asked, sent) in [
        // ChatGPTNextWeb/NextChat#3195
        (
            "max_tokens is too large: 6000. This model supports at most 4096 completion tokens",
            Some(6000),
            Some(4096),
        ),
        // Gitlawb/openclaude#331
        (
            "`max_tokens`: integer above maximum value, expected a value <= 12288, but got 32000",
            Some(32_000),
            Some(12_288),
        ),
        // claude-code-best/claude-code#272: the request fits, and its reply does not.
        (
            "max_tokens is too large: 64000. This model's maximum context length is 64001 tokens and your request has \
             24235 input tokens",
            Some(64_000),
            Some(39_766),
        ),
    ] {
        let outcome = ask_for(asked, vec![refusal(message), events(STREAM)]);
        assert_eq!(outcome.result.unwrap().text, "Grüß Gott", "{message}");
        assert_eq!(sent_limits(&outcome.requests), [asked.map(u64::from), sent], "{message}");
    }
    // A request without a limit is sent without one.
    assert_eq!(sent_limits(&ask_for(None, vec![events(STREAM)]).requests), [None]);
    // Almost no room is left for a reply, so the request itself is too long.
    let full = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8100 in the \
                messages, 900 in the completion).";
    let outcome = ask(vec![refusal(full)]);
    assert_eq!(outcome.result, Err(ModelError::ContextTooLong { tokens: Some(8100), limit: Some(8192) }));
    assert_eq!(outcome.requests.len(), 1);
}

#[test]
fn stated_limits_outlive_the_provider() {
    let list = json!({"data": [{"id": "m", "max_model_len": 32_768}]}).to_string();
    let refusal = json!({"error": {"message": "max_tokens must be at most 4096"}}).to_string();
    let long = json!({"error": {"message": "the input length exceeds the context length"}}).to_string();
    let server = Server::new(vec![
        json_answer("400 Bad Request", &long),
        json_answer("200 OK", &list),
        json_answer("400 Bad Request", &refusal),
        events(STREAM),
        events(STREAM),
    ]);
    let opener = Opener::new(|_| None, "/nonexistent");
    let reference = format!("compat:{}/v1#m", server.url).parse().unwrap();
    assert_eq!(opener.open(&reference).unwrap().limits(100_000), ModelLimits::default());
    // The server refuses a request without naming its limit, so it is asked for it.
    let refused = opener.open(&reference).unwrap().complete(&Request::default(), &mut |_| {});
    assert_eq!(refused, Err(ModelError::ContextTooLong { tokens: None, limit: None }));
    for _ in 0..2 {
        assert_eq!(opener.open(&reference).unwrap().limits(0).context, Some(32_768));
    }
    let request = Request { max_tokens: Some(9000), ..Request::default() };
    for _ in 0..2 {
        opener.open(&reference).unwrap().complete(&request, &mut |_| {}).unwrap();
    }
    let sent = server.requests();
    assert!(sent[1].starts_with("GET /v1/models "), "{}", sent[1]);
    assert_eq!(sent_limits(&sent[2..]), [Some(9000), Some(4096), Some(4096)]);
    assert_eq!(
        opener.open(&reference).unwrap().limits(0),
        ModelLimits { context: Some(32_768), output: Some(4096) }
    );
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
    let served =
        ServedModel::open(&reference, &|_| None, retry(&Arc::default()), &ServerAccess::default()).unwrap();
    let error = served.complete(&Request::default(), &mut |_| {}).unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error}");
    assert!(error.is_transient() && error.help().contains("-m local"), "{}", error.help());
}

#[test]
fn call_ends_at_its_timeout() {
    let server = Server::new(vec![Answer { bytes: Vec::new(), step: usize::MAX, end: End::Silence }]);
    let reference = format!("compat:{}/v1#m", server.url).parse().unwrap();
    let served =
        ServedModel::open(&reference, &|_| None, Retry::default(), &ServerAccess::default()).unwrap();
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
        let served =
            ServedModel::open(&reference, &lookup, Retry::default(), &ServerAccess::default()).unwrap();
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
        let served =
            ServedModel::open(&reference, &|_| None, Retry::default(), &ServerAccess::default()).unwrap();
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

fn refusal(status: &str, message: &str) -> Answer {
    json_answer(status, &json!({"error": {"message": message}}).to_string())
}

/// The words are those of ggml-org/llama.cpp's templates, of Ministral (anomalyco/opencode#5034), of vLLM
/// (microsoft/autogen#1037), of LM Studio and of Gemini for Gemma.
#[test]
fn model_without_a_system_role_gets_it_in_the_first_message() {
    for (reference, status, message) in [
        ("compat:URL/v1#m", "400 Bad Request", "System role not supported"),
        ("compat:URL/v1#m", "500 Oops", "Only user, assistant and tool roles are supported, got system."),
        (
            "compat:URL/v1#m",
            "400 Bad Request",
            "Conversation roles must alternate user/assistant/user/assistant/...",
        ),
        ("compat:URL/v1#m", "200 OK", "Error rendering prompt: Conversation roles must alternate"),
        ("gemini:URL#m", "400 Bad Request", "Developer instruction is not enabled for models/gemma-3-27b-it"),
        ("ollama:URL#m", "400 Bad Request", "this model does not support system messages"),
    ] {
        let marks = ["\"role\":\"system\"", "systemInstruction"];
        let server = Server::with(move |_, request| {
            if marks.iter().any(|mark| request.contains(mark)) {
                return refusal(status, message);
            }
            // One message in each format; a reader takes what it knows.
            let answer = json!({"choices": [{"message": {"content": "well"}, "finish_reason": "stop"}],
                "candidates": [{"content": {"parts": [{"text": "well"}]}, "finishReason": "STOP"}],
                "message": {"content": "well"}, "done": true});
            json_answer("200 OK", &answer.to_string())
        });
        let reference = reference.replace("URL", &server.url).parse().unwrap();
        let key = |name: &str| name.ends_with("_KEY").then(|| Secret::new("sk"));
        let served =
            ServedModel::open(&reference, &key, retry(&Arc::default()), &ServerAccess::default()).unwrap();
        let messages = vec![Message::user("first"), Message::user("second")];
        let request = Request { system: "Be brief.".into(), messages, ..Request::default() };
        assert_eq!(served.complete(&request, &mut |_| {}).unwrap().text, "well", "{message}");
        let asked = server.requests();
        let last = asked.last().unwrap();
        assert!(last.contains("Be brief.\\n\\nfirst"), "{last}");
        // A feature that the server refused once is not tried again.
        served.complete(&request, &mut |_| {}).unwrap();
        assert_eq!(server.requests().len(), asked.len() + 1, "{message}");
    }
}

/// The words are those of ollama/ollama#6027, OpenRouter, vLLM and llama.cpp. Other programs advise to try again, or to
/// change the request: kenlasko/monize#405, atomantic/PortOS#5797.
#[test]
fn model_without_tools_is_named_and_not_asked_again() {
    for (status, message) in [
        ("400 Bad Request", "registry.ollama.ai/library/gemma3:4b does not support tools"),
        ("404 Not Found", "No endpoints found that support tool use."),
        ("400 Bad Request", "\"auto\" tool choice requires --enable-auto-tool-choice to be set"),
        ("500 Oops", "tools param requires --jinja flag"),
    ] {
        let server = Server::new(vec![refusal(status, message)]);
        let reference = format!("compat:{}/v1#gemma", server.url).parse().unwrap();
        let served =
            ServedModel::open(&reference, &|_| None, retry(&Arc::default()), &ServerAccess::default())
                .unwrap();
        let tool = Tool { name: "t".into(), description: "d".into(), parameters: json!({"type": "object"}) };
        let request = Request { tools: vec![tool], ..Request::default() };
        let error = served.complete(&request, &mut |_| {}).unwrap_err();
        assert!(matches!(error, ModelError::NoTools { .. }) && !error.is_transient(), "{error}");
        assert!(error.to_string().contains("the model `gemma` takes no tools"), "{error}");
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(error.help(), "use another model, or a worker without slots");
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn thinking_is_not_shown_while_it_comes() {
    let delta = |text: &str| format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}));
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let pieces = ["<th", "ink>\npl", "an > all", "\n</thi", "nk>\n\nPa", "ris."];
    let body: String = pieces.iter().map(|text| delta(text)).collect();
    let outcome = ask(vec![events(body + end)]);
    let reply = outcome.result.unwrap();
    assert_eq!(reply.text, "Paris.");
    assert!(reply.thinking_bytes > 0);
    let shown: Vec<_> = ["Pa", "ris."].map(|text| Progress::Text(text.to_owned())).into();
    assert_eq!(outcome.news, shown);
}
