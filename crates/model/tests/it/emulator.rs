//! The client against an emulator of the vendors' servers that others wrote, aimock: in all five formats, and with its
//! chaos.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use model::served::{ServedModel, ServerAccess};
use model::{Message, ModelError, Provider, Reply, Request, Retry, Secret, Stop, Tool};
use serde_json::json;

use crate::tools::{Running, tool};

/// A reference of each format, with `URL` for the server's address.
const FORMATS: [&str; 5] = [
    "compat:URL/v1#gpt-test",
    "openai-responses:URL/v1#gpt-test",
    "anthropic:URL#claude-test",
    "gemini:URL#gemini-test",
    "ollama:URL#llama-test",
];

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

/// Asks in a format; tells for how long it waited between its tries.
fn ask(server: &Running, format: &str, request: &Request) -> (Result<Reply, ModelError>, Duration) {
    let url = format!("http://127.0.0.1:{}", server.port);
    let reference = format.replace("URL", &url).parse().unwrap();
    let slept: Arc<Mutex<Duration>> = Arc::default();
    let sum = Arc::clone(&slept);
    let retry = Retry { tries: 3, sleep: Arc::new(move |time| *sum.lock().unwrap() += time) };
    let key = |name: &str| name.ends_with("_KEY").then(|| Secret::new("sk-test"));
    let result = ServedModel::open(&reference, &key, retry, &ServerAccess::default())
        .unwrap()
        .complete(request, &mut |_| {});
    let slept = *slept.lock().unwrap();
    (result, slept)
}

#[test]
fn conversation_with_tools_and_schema_works_in_every_format() {
    let fixtures = json!({"fixtures": [
        {"match": {"userMessage": "weather", "hasToolResult": false},
         "response": {"toolCalls": [
            {"id": "c1", "name": "weather", "arguments": {"city": "Zürich"}},
            {"id": "c2", "name": "never_offered", "arguments": {}}]}},
        {"match": {"userMessage": "weather", "hasToolResult": true}, "response": {"content": "{\"degrees\": 7}"}},
        {"match": {"userMessage": "hello"}, "response": {"content": "Hello, 世界!"}},
        {"match": {"userMessage": "broken"},
         "response": {"toolCalls": [{"id": "c3", "name": "weather", "arguments": "{broken"}]}},
        {"match": {"userMessage": "limited"},
         "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}},
        {"match": {"userMessage": "who"},
         "response": {"error": {"message": "bad key", "type": "authentication_error"}, "status": 401}}
    ]});
    let (server, _dir) = start(&fixtures, &[]);
    let user = |text: &str| Request { messages: vec![Message::user(text)], ..Request::default() };
    let offered = Tool {
        name: "weather".into(),
        description: "The weather of a city.".into(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    };
    for format in FORMATS {
        // Tools offered and none called: an answer like any other.
        let mut request = Request { tools: vec![offered.clone()], ..user("hello") };
        let reply = ask(&server, format, &request).0.unwrap();
        assert_eq!((reply.text.as_str(), reply.stop), ("Hello, 世界!", Stop::End), "{format}");
        assert!(reply.calls.is_empty() && reply.malformed.is_empty(), "{format}");

        request.messages = vec![Message::user("weather?")];
        request.output = Some(json!({"type": "object", "properties": {"degrees": {"type": "number"}}}));
        let reply = ask(&server, format, &request).0.unwrap();
        assert_eq!(reply.stop, Stop::Calls, "{format}");
        assert_eq!(reply.calls[0].arguments, json!({"city": "Zürich"}), "{format}");
        assert_eq!(reply.calls[1].name, "never_offered", "{format}");
        assert_ne!(reply.calls[0].id, reply.calls[1].id, "{format}");

        let results = reply.calls.iter().map(|call| Message::ToolResult {
            id: call.id.clone(),
            name: call.name.clone(),
            content: "7".into(),
            is_error: call.name == "never_offered",
        });
        let results: Vec<_> = results.collect();
        request.messages.push(Message::Assistant { text: reply.text, calls: reply.calls.clone() });
        request.messages.extend(results);
        let reply = ask(&server, format, &request).0.unwrap();
        assert_eq!(reply.json(), Ok(json!({"degrees": 7})), "{format}");

        // The form alone, by the vendor's own means.
        request.tools.clear();
        assert_eq!(ask(&server, format, &request).0.unwrap().json(), Ok(json!({"degrees": 7})), "{format}");

        let limited = ask(&server, format, &user("limited")).0;
        assert!(matches!(limited, Err(ModelError::RateLimited { .. })), "{format}: {limited:?}");
        let who = ask(&server, format, &user("who")).0;
        assert!(matches!(who, Err(ModelError::Unauthorized { .. })), "{format}: {who:?}");
    }
    // Arguments that are no JSON: the emulator passes them on where arguments are text.
    for format in &FORMATS[..2] {
        let reply = ask(&server, format, &user("broken")).0.unwrap();
        let wrong = reply.malformed.first().unwrap_or_else(|| panic!("{format}: {reply:?}"));
        assert_eq!((wrong.name.as_str(), wrong.arguments.as_str()), ("weather", "{broken"), "{format}");
    }
}

#[test]
fn emulator_faults_become_errors_in_every_format() {
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
        for format in FORMATS {
            let (result, slept) = ask(&server, format, &request);
            let error = result.unwrap_err();
            let kind = serde_json::to_value(&error).unwrap()["kind"].as_str().unwrap().to_owned();
            assert!(kinds.contains(&kind.as_str()), "{format} {flag}: {error:?}");
            assert!(slept > Duration::ZERO, "{format} {flag}: it was tried again");
        }
    }
}
