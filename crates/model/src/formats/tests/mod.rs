//! Tests of the rules that hold for every format.

mod chat;
mod requests;

use serde_json::{Value, json};

use super::*;
use crate::reply::Stop;

/// The same answers, as the servers of one format write them.
struct Samples {
    format: Format,
    /// "Hello, 世界!" in pieces, with 12 tokens read and 3 written.
    text: Vec<Value>,
    /// The same text in one message.
    whole: Value,
    /// `read({"p":1})`, then `list` with arguments that are no JSON, where the format can say that.
    calls: Vec<Value>,
    /// Text that was cut by the limit.
    cut: Vec<Value>,
    /// An answer that the vendor withheld.
    withheld: Option<Vec<Value>>,
    /// A failure inside of a successful answer.
    failed: Value,
}

fn samples() -> Vec<Samples> {
    vec![chat_samples(), responses_samples(), anthropic_samples(), gemini_samples(), ollama_samples()]
}

fn chat_samples() -> Samples {
    let delta = |delta: Value| json!({"choices": [{"delta": delta}]});
    let end = |reason: &str| json!({"choices": [{"delta": {}, "finish_reason": reason}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3}});
    Samples {
        format: Format::Chat,
        text: vec![
            delta(json!({"content": "Hello, "})),
            delta(json!({"content": "世界!"})),
            end("stop"),
            usage,
        ],
        whole: json!({"choices": [{"message": {"content": "Hello, 世界!"}, "finish_reason": "stop"}],
                      "usage": {"prompt_tokens": 12, "completion_tokens": 3}}),
        calls: vec![
            delta(
                json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"p\""}}]}),
            ),
            delta(
                json!({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "list", "arguments": "{oops"}}]}),
            ),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]})),
            end("tool_calls"),
        ],
        cut: vec![delta(json!({"content": "Hel"})), end("length")],
        withheld: Some(vec![end("content_filter")]),
        failed: json!({"error": {"message": "slow down", "code": 429}}),
    }
}

fn responses_samples() -> Samples {
    let text = |piece: &str| json!({"type": "response.output_text.delta", "output_index": 0, "delta": piece});
    let usage = json!({"input_tokens": 12, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 0}});
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "Hello, 世界!"}]});
    let end = |kind: &str| json!({"type": format!("response.{kind}"), "response": {"status": kind, "output": [], "usage": usage}});
    let call =
        |id: &str, name: &str| json!({"type": "function_call", "call_id": id, "name": name, "arguments": ""});
    let added = |at: u64, item: Value| json!({"type": "response.output_item.added", "output_index": at, "item": item});
    let more = |at: u64, piece: &str| json!({"type": "response.function_call_arguments.delta", "output_index": at, "delta": piece});
    Samples {
        format: Format::Responses,
        text: vec![
            json!({"type": "response.created", "response": {"status": "in_progress"}}),
            added(0, json!({"type": "message", "content": []})),
            text("Hello, "),
            text("世界!"),
            json!({"type": "response.output_item.done", "output_index": 0, "item": message}),
            end("completed"),
        ],
        whole: json!({"status": "completed", "error": null, "output": [{"type": "reasoning"}, message], "usage": usage}),
        calls: vec![
            added(0, call("a", "read")),
            added(1, call("b", "list")),
            more(0, "{\"p\""),
            more(1, "{oops"),
            more(0, ":1}"),
            json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": "{\"p\":1}"}),
            end("completed"),
        ],
        cut: vec![text("Hel"), end("incomplete")],
        withheld: Some(vec![
            json!({"type": "response.refusal.delta", "delta": "I cannot"}),
            end("completed"),
        ]),
        failed: json!({"type": "response.failed", "response": {"error":
            {"code": "rate_limit_exceeded", "message": "slow down"}}}),
    }
}

fn anthropic_samples() -> Samples {
    let start = json!({"type": "message_start", "message": {"content": [], "usage":
        {"input_tokens": 2, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 4, "output_tokens": 1}}});
    let block =
        |at: u64, block: Value| json!({"type": "content_block_start", "index": at, "content_block": block});
    let text = |piece: &str| json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": piece}});
    let more = |at: u64, piece: &str| {
        json!({"type": "content_block_delta", "index": at,
               "delta": {"type": "input_json_delta", "partial_json": piece}})
    };
    let end = |reason: &str| json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}});
    let stop = json!({"type": "message_stop"});
    let call = |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    Samples {
        format: Format::Anthropic,
        text: vec![
            start.clone(),
            json!({"type": "ping"}),
            block(0, json!({"type": "thinking", "thinking": "hm"})),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
            block(1, json!({"type": "text", "text": ""})),
            text("Hello, "),
            text("世界!"),
            json!({"type": "content_block_stop", "index": 1}),
            end("end_turn"),
            stop.clone(),
        ],
        whole: json!({"type": "message", "stop_reason": "end_turn",
                      "content": [{"type": "text", "text": "Hello, 世界!"}],
                      "usage": {"input_tokens": 12, "output_tokens": 3}}),
        calls: vec![
            start.clone(),
            block(0, call("a", "read")),
            more(0, "{\"p\""),
            more(0, ":1}"),
            block(1, call("b", "list")),
            more(1, "{oops"),
            end("tool_use"),
            stop.clone(),
        ],
        cut: vec![
            start.clone(),
            block(1, json!({"type": "text", "text": ""})),
            text("Hel"),
            end("max_tokens"),
            stop.clone(),
        ],
        withheld: Some(vec![start, end("refusal"), stop]),
        failed: json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}),
    }
}

fn gemini_samples() -> Samples {
    let parts = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
    let end = |reason: &str| json!({"candidates": [{"content": {"parts": []}, "finishReason": reason}]});
    let usage = json!({"promptTokenCount": 12, "candidatesTokenCount": 1, "thoughtsTokenCount": 2});
    let mut last = end("STOP");
    last["usageMetadata"] = usage.clone();
    Samples {
        format: Format::Gemini,
        text: vec![
            parts(json!([{"text": "hm", "thought": true}])),
            parts(json!([{"text": "Hello, "}])),
            parts(json!([{"text": "世"}, {"text": "界!"}])),
            last,
        ],
        whole: json!({"candidates": [{"content": {"parts": [{"text": "Hello, 世界!"}]}, "finishReason": "STOP"}],
                      "usageMetadata": usage}),
        calls: vec![
            parts(
                json!([{"functionCall": {"id": "a", "name": "read", "args": {"p": 1}}, "thoughtSignature": "sig"}]),
            ),
            parts(json!([{"functionCall": {"id": "b", "name": "list", "args": "{oops"}}])),
            end("STOP"),
        ],
        cut: vec![parts(json!([{"text": "Hel"}])), end("MAX_TOKENS")],
        withheld: Some(vec![json!({"promptFeedback": {"blockReason": "SAFETY"}})]),
        failed: json!({"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}),
    }
}

fn ollama_samples() -> Samples {
    let said = |message: Value| json!({"message": message, "done": false});
    let end = |reason: &str| {
        json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
               "prompt_eval_count": 12, "eval_count": 3})
    };
    let text = |piece: &str| said(json!({"role": "assistant", "content": piece}));
    Samples {
        format: Format::Ollama,
        text: vec![
            said(json!({"content": "", "thinking": "hm"})),
            text("Hello, "),
            text("世界!"),
            end("stop"),
        ],
        whole: json!({"message": {"content": "Hello, 世界!"}, "done": true, "done_reason": "stop",
                      "prompt_eval_count": 12, "eval_count": 3}),
        calls: vec![
            said(json!({"content": "", "tool_calls": [
                {"id": "a", "function": {"name": "read", "arguments": {"p": 1}}},
                {"id": "b", "function": {"name": "list", "arguments": "{oops"}}]})),
            end("stop"),
        ],
        cut: vec![text("Hel"), end("length")],
        withheld: None,
        failed: json!({"error": {"type": "rate_limit_error", "message": "slow down"}}),
    }
}

fn put_together(format: Format, messages: &[Value]) -> Result<Reply, ModelError> {
    let mut assembly = format.assembly(&Request::default(), Dialect::default());
    for message in messages {
        assert!(!assembly.is_over(), "{format:?}: nothing is read after the end");
        assembly.take(message)?;
    }
    assert!(assembly.seen_any() && assembly.is_finished(), "{format:?}");
    assembly.reply(3)
}

#[test]
fn text_without_a_call_is_complete_in_every_format() {
    for samples in samples() {
        let format = samples.format;
        let mut assembly = format.assembly(&Request::default(), Dialect::default());
        assembly.take(&samples.whole).unwrap();
        assert!(assembly.seen_any(), "{format:?}");
        for reply in [put_together(format, &samples.text).unwrap(), assembly.reply(0).unwrap()] {
            assert_eq!((reply.text.as_str(), reply.stop), ("Hello, 世界!", Stop::End), "{format:?}");
            assert!(reply.calls.is_empty() && reply.malformed.is_empty(), "{format:?}");
            assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (12, 3), "{format:?}");
        }
    }
    let reply = put_together(Format::Anthropic, &anthropic_samples().text).unwrap();
    assert_eq!((reply.usage.cached_tokens, reply.usage.cache_write_tokens), (6, 4));
}

#[test]
fn valid_and_malformed_calls_arrive_in_every_format() {
    for samples in samples() {
        let format = samples.format;
        let reply = put_together(format, &samples.calls).unwrap();
        assert_eq!(reply.stop, Stop::Calls, "{format:?}");
        let call = reply.calls.first().unwrap();
        assert_eq!((call.id.as_str(), call.name.as_str()), ("a", "read"), "{format:?}");
        assert_eq!(call.arguments, json!({"p": 1}), "{format:?}");
        let wrong = reply.malformed.first().unwrap();
        assert_eq!((wrong.id.as_str(), wrong.name.as_str()), ("b", "list"), "{format:?}");
        assert_eq!(wrong.arguments, "{oops", "{format:?}");
        assert_eq!(call.signature.is_some(), format == Format::Gemini);
    }
}

#[test]
fn early_end_is_reported_in_every_format() {
    for samples in samples() {
        let format = samples.format;
        let cut = put_together(format, &samples.cut).unwrap();
        assert_eq!((cut.text.as_str(), cut.stop), ("Hel", Stop::Length), "{format:?}");
        if let Some(withheld) = &samples.withheld {
            let error = put_together(format, withheld).unwrap_err();
            let is_withheld = matches!(error, ModelError::Filtered { .. } | ModelError::Declined { .. });
            assert!(is_withheld && !error.is_transient(), "{format:?}: {error}");
        }
        // An incomplete stream is never a reply.
        let mut half = format.assembly(&Request::default(), Dialect::default());
        for message in &samples.cut[..samples.cut.len() - 1] {
            half.take(message).unwrap();
        }
        assert!(!half.is_over(), "{format:?}");
        if format != Format::Anthropic {
            assert!(!half.is_finished(), "{format:?}");
        }
    }
}

#[test]
fn error_in_a_success_body_fails_in_every_format() {
    for samples in samples() {
        let format = samples.format;
        let error =
            format.assembly(&Request::default(), Dialect::default()).take(&samples.failed).unwrap_err();
        assert!(matches!(error, ModelError::RateLimited { .. }), "{format:?}");
        for message in [
            json!({}),
            json!({"type": 7}),
            json!({"choices": 7, "candidates": 7, "message": 7, "output": 7, "content": 7}),
            json!({"choices": [], "candidates": [], "message": {}, "output": null}),
        ] {
            let mut assembly = format.assembly(&Request::default(), Dialect::default());
            // Wrong types give an error, or nothing that counts as the end of an answer.
            match assembly.take(&message) {
                Ok(_) => assert!(!assembly.is_finished(), "{format:?}: {message}"),
                Err(error) => assert!(matches!(error, ModelError::Malformed { .. }), "{format:?}: {error}"),
            }
        }
    }
}

#[test]
fn too_many_calls_are_refused_in_every_format() {
    for samples in samples() {
        let format = samples.format;
        let mut assembly = format.assembly(&Request::default(), Dialect::default());
        let mut number = 0;
        let error = loop {
            number += 1;
            assert!(number < 5000, "{format:?} takes calls without end");
            // The message that begins a call is sent again and again, each time with another id.
            let text = samples.calls.iter().find(|message| message.to_string().contains("\"read\"")).unwrap();
            let text = text.to_string().replace("\"a\"", &format!("\"a{number}\""));
            if let Err(error) = assembly.take(&serde_json::from_str(&text).unwrap()) {
                break error;
            }
        };
        assert!(error.to_string().contains("more than 4096 calls"), "{format:?}: {error}");
    }
}

#[test]
fn unreadable_gemini_call_is_reported_as_malformed() {
    let messages = [json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL",
                                           "finishMessage": "Malformed function call: read(p="}]})];
    let reply = put_together(Format::Gemini, &messages).unwrap();
    assert_eq!(reply.stop, Stop::Calls);
    assert_eq!(reply.malformed[0].arguments, "Malformed function call: read(p=");
}

#[test]
fn forced_answer_becomes_the_text() {
    let request = Request { output: Some(json!({"type": "string"})), ..Request::default() };
    let dialect = Dialect { form: Form::Tool, ..Dialect::default() };
    let answer = |piece: &str| {
        let mut assembly = Format::Anthropic.assembly(&request, dialect);
        for message in [
            json!({"type": "content_block_start", "index": 0,
                   "content_block": {"type": "tool_use", "id": "a", "name": "final_answer", "input": {}}}),
            json!({"type": "content_block_delta", "index": 0,
                   "delta": {"type": "input_json_delta", "partial_json": piece}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ] {
            assembly.take(&message).unwrap();
        }
        let reply = assembly.reply(0).unwrap();
        assert!(reply.calls.is_empty() && reply.malformed.is_empty() && reply.stop == Stop::End);
        reply.text
    };
    assert_eq!(answer("{\"answer\": {\"x\": 1}}"), "{\"x\":1}");
    assert_eq!(answer("{\"x\": 1}"), "{\"x\": 1}");
    assert_eq!(answer("{oops"), "{oops");
}

#[test]
fn urls_follow_each_format() {
    for (format, base, model, expected) in [
        (Format::Chat, "https://h/v1", "m", "https://h/v1/chat/completions"),
        (Format::Responses, "https://h/v1", "m", "https://h/v1/responses"),
        (Format::Anthropic, "https://h", "m", "https://h/v1/messages"),
        (Format::Anthropic, "https://h/v1", "m", "https://h/v1/messages"),
        (Format::Ollama, "http://h:1", "m", "http://h:1/api/chat"),
        (Format::Gemini, "https://h", "g-2.5", "https://h/v1beta/models/g-2.5:streamGenerateContent?alt=sse"),
        (Format::Gemini, "https://h/v1", "models/g", "https://h/v1/models/g:streamGenerateContent?alt=sse"),
        (
            Format::Gemini,
            "https://h",
            "../x?a#b",
            "https://h/v1beta/models/..%2Fx%3Fa%23b:streamGenerateContent?alt=sse",
        ),
    ] {
        assert_eq!(format.url(base, model, Dialect::default()), expected);
    }
}
