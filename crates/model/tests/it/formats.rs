//! Every wire format over a real connection: whole, cut at any byte, refused, and never ending.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use model::served::{ServedModel, ServerAccess};
use model::{Message, ModelError, Progress, Provider, Reply, Request, Retry, Secret, Stop};
use serde_json::{Value, json};

use crate::server::{Answer, End, Server, http, json as json_answer};

/// How a format's servers write one answer.
struct Peer {
    /// The reference, with `URL` for the server's address.
    reference: &'static str,
    /// The path that is asked for.
    path: &'static str,
    /// The header with the key; empty where there is none.
    key: &'static str,
    content_type: &'static str,
    /// "Grüß Gott" in a stream.
    stream: String,
}

fn events(list: &[Value]) -> String {
    list.iter().map(|event| format!("event: x\ndata: {event}\n\n")).collect()
}

fn lines(list: &[Value]) -> String {
    list.iter().map(|line| format!("{line}\n")).collect()
}

fn peers() -> Vec<Peer> {
    let text = |piece: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}});
    let output = |piece: &str| json!({"type": "response.output_text.delta", "delta": piece});
    let part = |piece: &str| json!({"candidates": [{"content": {"parts": [{"text": piece}]}}]});
    let said = |piece: &str| json!({"message": {"content": piece}, "done": false});
    vec![
        Peer {
            reference: "anthropic:URL#m",
            path: "POST /v1/messages ",
            key: "x-api-key: sk-topsecret",
            content_type: "text/event-stream",
            stream: events(&[
                json!({"type": "message_start", "message": {"usage": {"input_tokens": 12}}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                text("Grüß "),
                text("Gott"),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}),
                json!({"type": "message_stop"}),
            ]),
        },
        Peer {
            reference: "openai-responses:URL/v1#m",
            path: "POST /v1/responses ",
            key: "authorization: Bearer sk-topsecret",
            content_type: "text/event-stream; charset=utf-8",
            stream: events(&[
                output("Grüß "),
                output("Gott"),
                json!({"type": "response.completed", "response":
                    {"status": "completed", "usage": {"input_tokens": 12, "output_tokens": 3}}}),
            ]),
        },
        Peer {
            reference: "gemini:URL#m",
            path: "POST /v1beta/models/m:streamGenerateContent?alt=sse ",
            key: "x-goog-api-key: sk-topsecret",
            content_type: "text/event-stream",
            stream: events(&[
                part("Grüß "),
                part("Gott"),
                json!({"candidates": [{"finishReason": "STOP"}],
                       "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 3}}),
            ]),
        },
        Peer {
            reference: "ollama:URL#m",
            path: "POST /api/chat ",
            key: "",
            content_type: "application/x-ndjson",
            stream: lines(&[
                said("Grüß "),
                said("Gott"),
                json!({"message": {"content": ""}, "done": true, "done_reason": "stop",
                       "prompt_eval_count": 12, "eval_count": 3}),
            ]),
        },
    ]
}

impl Peer {
    fn answer(&self, stream: &[u8]) -> Answer {
        http("200 OK", &format!("content-type: {}\r\n", self.content_type), stream)
    }

    fn open(&self, server: &Server, retry: Retry) -> ServedModel {
        let reference = self.reference.replace("URL", &server.url).parse().unwrap();
        let key = |name: &str| name.ends_with("_API_KEY").then(|| Secret::new("sk-topsecret"));
        ServedModel::open(&reference, &key, retry, &ServerAccess::default()).unwrap()
    }
}

struct Outcome {
    result: Result<Reply, ModelError>,
    news: Vec<Progress>,
    slept: Duration,
    requests: Vec<String>,
}

fn ask(peer: &Peer, answers: Vec<Answer>) -> Outcome {
    let server = Server::new(answers);
    let slept: Arc<Mutex<Duration>> = Arc::default();
    let sum = Arc::clone(&slept);
    let retry = Retry { tries: 3, sleep: Arc::new(move |time| *sum.lock().unwrap() += time) };
    let request = Request { messages: vec![Message::user("hi")], ..Request::default() };
    let mut news = Vec::new();
    let result = peer.open(&server, retry).complete(&request, &mut |progress| news.push(progress));
    let slept = *slept.lock().unwrap();
    Outcome { result, news, slept, requests: server.requests() }
}

#[test]
fn cut_stream_is_understood_in_every_format() {
    for peer in peers() {
        for step in [1, 3, 100, usize::MAX] {
            let outcome = ask(&peer, vec![Answer { step, ..peer.answer(peer.stream.as_bytes()) }]);
            let reply = outcome.result.unwrap();
            assert_eq!((reply.text.as_str(), reply.stop), ("Grüß Gott", Stop::End), "{}", peer.reference);
            assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (12, 3), "{}", peer.reference);
            let shown: Vec<_> = ["Grüß ", "Gott"].map(|text| Progress::Text(text.to_owned())).into();
            assert_eq!(outcome.news, shown, "{}", peer.reference);
            let request = &outcome.requests[0];
            assert!(request.starts_with(peer.path), "{request}");
            let has_key = request.to_lowercase().contains("sk-topsecret");
            assert_eq!(has_key, !peer.key.is_empty(), "{request}");
            assert!(request.to_lowercase().contains(&peer.key.to_lowercase()), "{request}");
        }
    }
}

#[test]
fn partial_stream_is_never_a_reply_in_any_format() {
    for peer in peers() {
        // Where the reason to stop begins; before it, nothing is a reply.
        let ends = ["stop_reason", "response.completed", "finishReason", "\"done\":true"];
        let end = ends.iter().filter_map(|end| peer.stream.find(end)).min().unwrap();
        for cut in (0..end).step_by(37) {
            let outcome = ask(&peer, vec![peer.answer(&peer.stream.as_bytes()[..cut])]);
            assert!(
                matches!(outcome.result, Err(ModelError::CutOff { .. })),
                "{} cut at {cut}: {:?}",
                peer.reference,
                outcome.result
            );
            assert_eq!(outcome.requests.len(), 3);
        }
        let half = &peer.stream.as_bytes()[..peer.stream.find("Gott").unwrap()];
        let outcome = ask(&peer, vec![peer.answer(half), peer.answer(peer.stream.as_bytes())]);
        assert_eq!(outcome.result.unwrap().text, "Grüß Gott");
        assert!(outcome.news.contains(&Progress::Restarted), "{}", peer.reference);
    }
}

#[test]
fn failures_have_the_same_names_in_every_format() {
    for peer in peers() {
        let check = |answers: Vec<Answer>, kind: &str, tries: usize, slept: f64| {
            let outcome = ask(&peer, answers);
            let error = outcome.result.unwrap_err();
            assert_eq!(serde_json::to_value(&error).unwrap()["kind"], kind, "{}: {error}", peer.reference);
            let seconds = (outcome.slept.as_secs_f64() * 10.0).round() / 10.0;
            assert_eq!((outcome.requests.len(), seconds), (tries, slept), "{error}");
            assert!(!format!("{error} {error:?} {}", error.help()).contains("topsecret"), "{error}");
        };
        let error = |status: &str, kind: &str, message: &str| {
            json_answer(
                status,
                &json!({"type": "error", "error": {"type": kind, "message": message}}).to_string(),
            )
        };
        // A server repeats the key only to peers that sent one.
        let told = if peer.key.is_empty() { "no" } else { "no: sk-topsecret" };
        check(vec![error("401 Unauthorized", "authentication_error", told)], "unauthorized", 1, 0.0);
        check(vec![error("404 Not Found", "not_found_error", "no model m")], "model_not_found", 1, 0.0);
        check(vec![error("400 Bad Request", "invalid_request_error", "no such thing")], "refused", 1, 0.0);
        check(vec![error("529 Overloaded", "overloaded_error", "Overloaded")], "server_error", 3, 2.5);
        check(vec![http("429 Slow", "retry-after: 4\r\n", "")], "rate_limited", 3, 8.0);
        check(
            vec![http("429 Slow", "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "")],
            "rate_limited",
            4,
            7.0,
        );
        check(
            vec![http("429 Slow", "retry-after: Sat, 06 Nov 2393 08:49:37 GMT\r\n", "")],
            "rate_limited",
            1,
            0.0,
        );
        check(vec![json_answer("200 OK", "not json")], "malformed", 3, 2.5);
        check(vec![json_answer("200 OK", "{}")], "malformed", 3, 2.5);
        check(vec![peer.answer(b"data: {]\n\n{]\n")], "malformed", 3, 2.5);
        check(vec![peer.answer(b"")], "cut_off", 3, 2.5);
    }
}

#[test]
fn endless_answer_is_aborted_in_every_format() {
    for peer in peers() {
        // One event without end, and events without end that say nothing.
        let outcome = ask(&peer, vec![peer.answer(&vec![b'x'; 9 << 20])]);
        assert!(matches!(outcome.result, Err(ModelError::Malformed { .. })), "{:?}", outcome.result);
        // The check for every landing sends fewer events with more blanks in each.
        let is_full = std::env::var("ALMONER_KILL_STRIDE").is_ok_and(|stride| stride == "1");
        let blanks = if is_full { "" } else { &" ".repeat(300) };
        let event = match peer.content_type.contains("ndjson") {
            true => format!("{{{blanks}}}\n"),
            false => format!("data: {{\"type\":\"ping\"{blanks}}}\n\n\n"),
        };
        let empty = event.repeat((66 << 20) / event.len());
        let outcome = ask(&peer, vec![peer.answer(empty.as_bytes())]);
        assert!(matches!(outcome.result, Err(ModelError::TooLarge { .. })), "{:?}", outcome.result);
        assert_eq!(outcome.requests.len(), 1, "{}", peer.reference);
    }
}

/// Reported of other programs: QwenLM/qwen-code#1403 (a model repeats a sentence until something stops it).
#[test]
fn long_answer_is_refused_in_every_format() {
    for peer in peers() {
        let server = Server::new(vec![peer.answer(peer.stream.as_bytes())]);
        let served = peer.open(&server, Retry::default());
        let request = Request { max_bytes: Some(2), ..Request::default() };
        let result = served.complete(&request, &mut |_| {});
        assert!(matches!(result, Err(ModelError::TooLarge { limit: 2 })), "{}: {result:?}", peer.reference);
        assert_eq!(server.requests().len(), 1, "it is not asked again");
    }
}

#[test]
fn silent_server_can_be_cancelled_in_every_format() {
    for peer in peers() {
        let bytes = peer.answer(&peer.stream.as_bytes()[..60]).bytes;
        let server = Server::new(vec![Answer { bytes, step: usize::MAX, end: End::Silence }]);
        let served = peer.open(&server, Retry::default());
        let request = Request::default();
        let switch = request.cancel.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(150));
            switch.cancel();
        });
        let begun = Instant::now();
        assert_eq!(served.complete(&request, &mut |_| {}), Err(ModelError::Canceled));
        // Far below the ten minutes that a server may be silent.
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn anthropic_refusal_changes_the_next_request() {
    let peer = &peers()[0];
    let refusal = |what: &str| {
        json_answer("400 Bad Request", &json!({"type": "error", "error": {"message": what}}).to_string())
    };
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let server = Server::new(vec![
        refusal("output_config: Extra inputs are not permitted"),
        refusal("`temperature` is deprecated for this model."),
        peer.answer(peer.stream.as_bytes()),
    ]);
    let request = Request { output: Some(schema), messages: vec![Message::user("x")], ..Request::default() };
    let reply = peer.open(&server, Retry::default()).complete(&request, &mut |_| {}).unwrap();
    // A model that answers in words all the same has answered: the caller checks the form.
    assert_eq!(reply.text, "Grüß Gott");
    let requests = server.requests();
    assert!(requests[0].contains("output_config") && !requests[1].contains("output_config"));
    assert!(requests[1].contains("\"name\":\"final_answer\"") && requests[1].contains("temperature"));
    assert!(!requests[2].contains("temperature"), "{}", requests[2]);
}
