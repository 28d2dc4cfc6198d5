//! The client against an emulator of OpenAI's server that others wrote: aimock.

use std::process::Command;
use std::sync::Arc;

use model::compat::Compat;
use model::{Message, ModelError, Provider, Reply, Request, Retry, Stop, Tool};
use serde_json::json;

use crate::tools::{Running, tool};

fn start(fixtures: &serde_json::Value, arguments: &[&str]) -> (Running, tempfile::TempDir) {
    let program = tool("node_modules/.bin/llmock");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("fixtures.json"), fixtures.to_string()).unwrap();
    let running = Running::start(|port| {
        let mut command = Command::new(program);
        command.args(["--port", &port.to_string(), "--chunk-size", "5", "--strict", "--log-level", "warn"]);
        command.arg("--fixtures").arg(dir.path()).args(arguments);
        command
    });
    (running, dir)
}

fn ask(server: &Running, request: &Request) -> Result<Reply, ModelError> {
    let reference = format!("compat:http://127.0.0.1:{}/v1#gpt-test", server.port).parse().unwrap();
    let retry = Retry { tries: 3, sleep: Arc::new(|_| ()) };
    Compat::open(&reference, &|_| None, retry).unwrap().complete(request, &mut |_| {})
}

#[test]
fn a_conversation_with_tools_and_a_schema() {
    let fixtures = json!({"fixtures": [
        {"match": {"userMessage": "weather", "hasToolResult": false},
         "response": {"toolCalls": [
            {"id": "c1", "name": "weather", "arguments": {"city": "Zürich"}},
            {"id": "c2", "name": "never_offered", "arguments": "{broken"}]}},
        {"match": {"toolCallId": "c1"}, "response": {"content": "{\"degrees\": 7}"}},
        {"match": {"userMessage": "hello"}, "response": {"content": "Hello, 世界!"}},
        {"match": {"userMessage": "limited"},
         "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}},
        {"match": {"userMessage": "who"},
         "response": {"error": {"message": "bad key", "type": "authentication_error"}, "status": 401}}
    ]});
    let (server, _dir) = start(&fixtures, &[]);
    let user = |text: &str| Request { messages: vec![Message::user(text)], ..Request::default() };

    let reply = ask(&server, &user("hello")).unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("Hello, 世界!", Stop::End));

    let mut request = user("weather?");
    request.tools.push(Tool {
        name: "weather".into(),
        description: "The weather of a city.".into(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    });
    request.output = Some(json!({"type": "object", "properties": {"degrees": {"type": "number"}}}));
    let reply = ask(&server, &request).unwrap();
    assert_eq!((reply.stop, &reply.calls[0].arguments), (Stop::Calls, &json!({"city": "Zürich"})));
    assert_eq!(
        (reply.malformed[0].name.as_str(), reply.malformed[0].arguments.as_str()),
        ("never_offered", "{broken")
    );

    let call = reply.calls[0].clone();
    let result = Message::ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        content: "7".into(),
        is_error: false,
    };
    request.messages.extend([Message::Assistant { text: reply.text, calls: vec![call] }, result]);
    assert_eq!(ask(&server, &request).unwrap().json(), Some(json!({"degrees": 7})));

    assert!(matches!(ask(&server, &user("limited")), Err(ModelError::RateLimited { .. })));
    assert!(matches!(ask(&server, &user("who")), Err(ModelError::Unauthorized { .. })));
}

#[test]
fn its_chaos_becomes_errors() {
    let fixtures =
        json!({"fixtures": [{"match": {}, "response": {"content": "fine, and long enough to be cut"}}]});
    let request = Request { messages: vec![Message::user("x")], ..Request::default() };
    for (flag, kinds) in [
        ("--chaos-drop", ["server_error"].as_slice()),
        ("--chaos-malformed", &["malformed"]),
        ("--chaos-disconnect", &["cut_off", "unreachable"]),
        ("--chaos-ratelimit", &["rate_limited"]),
    ] {
        let (server, _dir) = start(&fixtures, &[flag, "1"]);
        let error = ask(&server, &request).unwrap_err();
        let kind = serde_json::to_value(&error).unwrap()["kind"].as_str().unwrap().to_owned();
        assert!(kinds.contains(&kind.as_str()), "{flag}: {error:?}");
    }
}
