//! Chat completions: the answers of servers, and the requests to them.

use serde_json::{Value, json};

use crate::error::ModelError;
use crate::formats::Assembly;
use crate::formats::chat::{Stream, body};
use crate::reply::{Reply, Stop};
use crate::request::{Call, Message, Request, Tool};
use crate::served::dialect::Dialect;

#[track_caller]
fn assemble(chunks: &[Value]) -> Reply {
    let mut assembly = Stream::default();
    for chunk in chunks {
        assembly.take(chunk).unwrap();
    }
    Box::new(assembly).reply(3).unwrap()
}

fn call(delta: Value) -> Value {
    json!({"choices": [{"delta": {"tool_calls": [delta]}}]})
}

#[test]
fn calls_are_assembled_from_server_pieces() {
    // Deltas by index, the OpenAI way.
    let reply = assemble(&[
        call(json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": ""}})),
        call(json!({"index": 1, "id": "b", "function": {"name": "list"}})),
        call(json!({"index": 0, "function": {"arguments": "{\"p\":"}})),
        call(json!({"index": 0, "function": {"arguments": "1}"}})),
        json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
    ]);
    assert_eq!(reply.calls[0], Call::new("a", "read", json!({"p": 1})));
    assert_eq!(reply.calls[1].arguments, json!({}));
    assert_eq!((reply.stop, reply.usage.input_tokens, reply.usage.output_tokens), (Stop::Calls, 5, 2));

    // Some servers send whole calls, all with index 0, with arguments as an object, and with "stop" as the reason.
    let reply = assemble(&[
        call(json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": {"p": 1}}})),
        call(json!({"index": 0, "id": "b", "function": {"name": "y", "arguments": "{bad"}})),
        json!({"choices": [{"finish_reason": "stop"}]}),
    ]);
    assert_eq!((reply.calls.len(), reply.malformed[0].arguments.as_str()), (1, "{bad"));
    assert_eq!(reply.stop, Stop::Calls);

    // No ids, no indices, in one message.
    let both = json!([{"function": {"name": "x", "arguments": "{}"}}, {"function": {"name": "y"}}]);
    let reply = assemble(&[json!({"choices": [{"message": {"content": null, "tool_calls": both}}]})]);
    let ids: Vec<_> = reply.calls.iter().map(|c| (c.id.as_str(), c.name.as_str())).collect();
    assert_eq!(ids, [("call_3_0", "x"), ("call_3_1", "y")]);
}

#[test]
fn calls_with_the_same_id_stay_separate() {
    let reply = assemble(&[
        call(json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}})),
        call(json!({"index": 1, "id": "a", "function": {"name": "y", "arguments": "{}"}})),
        call(json!({"index": 2, "id": "b", "function": {"name": "z", "arguments": "{"}})),
        json!({"choices": [{"finish_reason": "tool_calls"}]}),
    ]);
    let ids: Vec<_> = reply.calls.iter().map(|c| c.id.as_str()).collect();
    assert_eq!((ids, reply.malformed[0].id.as_str()), (vec!["a", "call_3_1"], "b"));
}

#[test]
fn invalid_reply_is_an_error() {
    let take = |chunk: Value| Stream::default().take(&chunk).unwrap_err();
    assert!(matches!(take(json!({"error": {"message": "boom"}})), ModelError::ServerError { .. }));
    assert!(matches!(
        take(json!({"error": {"message": "slow", "code": 429}})),
        ModelError::RateLimited { .. }
    ));
    let mut assembly = Stream::default();
    assembly.take(&json!({"choices": [{"finish_reason": "content_filter"}]})).unwrap();
    assert!(matches!(Box::new(assembly).reply(0), Err(ModelError::Filtered { .. })));
}

#[test]
fn request_follows_the_server_dialect() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let tool = Tool { name: "t".into(), description: "d".into(), parameters: json!({"type": "object"}) };
    let mut request = Request {
        system: "Be brief.".into(),
        messages: vec![
            Message::user("hi"),
            Message::Assistant { text: String::new(), calls: vec![Call::new("1", "t", json!({"x": 1}))] },
            Message::ToolResult { id: "1".into(), name: "t".into(), content: "no".into(), is_error: true },
        ],
        output: Some(schema.clone()),
        ..Request::default()
    };
    let plain = body(&request, "m", Dialect::default());
    assert_eq!(plain["response_format"]["json_schema"]["strict"], json!(false));
    assert_eq!(plain["messages"][2]["tool_calls"][0]["function"]["arguments"], json!("{\"x\":1}"));
    assert_eq!(plain["messages"][3]["content"], json!("error: no"));
    request.tools.push(tool);
    let beside = body(&request, "m", Dialect::default());
    assert!(beside.get("response_format").is_none());
    assert!(beside["messages"][0]["content"].as_str().unwrap().contains("JSON Schema"));
    let open = Dialect { form_beside_tools: true, completion_tokens: true, ..Dialect::default() };
    let open = body(&request, "m", open);
    assert!(open.get("response_format").is_some() && open.get("max_completion_tokens").is_none());
    // A request without a limit is sent without one, and a limit is at most the model's own.
    for (wanted, most, expected) in
        [(None, Some(9), None), (Some(5), Some(9), Some(5)), (Some(50), Some(9), Some(9))]
    {
        let limited = Dialect { max_output: most, ..Dialect::default() };
        let sent = body(&Request { max_tokens: wanted, ..request.clone() }, "m", limited);
        assert_eq!(sent.get("max_tokens").and_then(Value::as_u64), expected);
    }
}
