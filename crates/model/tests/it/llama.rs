//! The client against a real server, llama.cpp's; and the embedded engine against llama.cpp's own reading of the
//! same model file.

use std::process::Command;

use model::served::{ServedModel, ServerAccess};
use model::{Message, Provider, Reply, Request, Retry, Stop, Tool};
use serde_json::json;

use crate::tiny;
use crate::tools::{Running, tool};

/// Serves a model file. Its chat template is the file's own.
const SERVER: &str = r#"
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[2])
params.n_ctx, params.n_parallel, params.warmup = 4096, 1, False
# Nothing rounded that the embedded engine does not round.
params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
while True: time.sleep(1000)
"#;

struct Llama {
    server: Running,
    #[cfg_attr(not(feature = "local"), allow(dead_code, reason = "kept for the server's sake"))]
    dir: tempfile::TempDir,
}

fn start() -> Llama {
    let python = tool("venv/bin/python");
    let dir = tempfile::tempdir().unwrap();
    let weights = dir.path().join("tiny.gguf");
    tiny::write(&weights, true);
    let server = Running::start(|port| {
        let mut command = Command::new(python);
        command.args(["-c", SERVER]).arg(&weights).arg(port.to_string());
        command
    });
    Llama { server, dir }
}

fn ask(llama: &Llama, request: &Request) -> Reply {
    ask_in(llama, "compat:URL/v1#tiny", request)
}

/// Asks in a format. `URL` in the reference stands for the server's address.
fn ask_in(llama: &Llama, format: &str, request: &Request) -> Reply {
    let url = format!("http://127.0.0.1:{}", llama.server.port);
    let reference = format.replace("URL", &url).parse().unwrap();
    // The server listens before the model is loaded and answers 503 until then: retrying covers that time.
    let served = ServedModel::open(
        &reference,
        &|_| None,
        Retry { tries: 8, ..Retry::default() },
        &ServerAccess::default(),
    )
    .unwrap();
    served.complete(request, &mut |_| {}).unwrap()
}

fn user(text: &str) -> Request {
    Request {
        system: "You are a careful assistant.".into(),
        messages: vec![Message::user(text)],
        max_tokens: Some(40),
        ..Request::default()
    }
}

#[test]
fn real_server_streams_text_and_obeys_a_schema() {
    let llama = start();
    let reply = ask(&llama, &user("Tell me something."));
    assert_eq!((reply.stop, reply.usage.output_tokens), (Stop::Length, 40));
    assert!(!reply.text.is_empty() && reply.usage.input_tokens > 20);

    let schema = json!({"type": "object", "properties": {"kind": {"enum": ["letter", "bill"]}, "n": {"type": "integer"}},
                        "required": ["kind"], "additionalProperties": false});
    let reply = ask(&llama, &Request { output: Some(schema), max_tokens: Some(300), ..user("What is it?") });
    // Random weights may go on with digits for ever, but the output begins in the form.
    assert!(reply.text.trim_start().starts_with('{') && reply.text.contains("\"kind\""), "{reply:?}");

    let parameters = json!({"type": "object", "properties": {}});
    let tools = vec![Tool { name: "look".into(), description: "Looks.".into(), parameters }];
    // A call or none, malformed or not: any is a reply, not an error.
    ask(&llama, &Request { tools, ..user("Look!") });
}

#[test]
fn real_server_answers_alike_in_every_format() {
    let llama = start();
    let first = ask(&llama, &user("Tell me something."));
    for format in ["anthropic:URL#tiny", "openai-responses:URL/v1#tiny"] {
        let reply = ask_in(&llama, format, &user("Tell me something."));
        assert_eq!(reply.text, first.text, "{format}");
        // Over Responses it calls an answer complete that its limit has cut.
        let known = if format.starts_with("openai") { Stop::End } else { Stop::Length };
        assert!([Stop::Length, known].contains(&reply.stop), "{format}: {:?}", reply.stop);
        assert_eq!(reply.usage.output_tokens, first.usage.output_tokens, "{format}");
        assert_eq!(reply.usage.input_tokens, first.usage.input_tokens, "{format}");
        let tools = vec![Tool {
            name: "look".into(),
            description: "Looks.".into(),
            parameters: json!({"type": "object", "properties": {}}),
        }];
        // A call or none, malformed or not: any is a reply, not an error.
        ask_in(&llama, format, &Request { tools, ..user("Look!") });
    }
}

#[cfg(feature = "local")]
#[test]
fn engine_output_matches_llama_cpp() {
    let llama = start();
    let local = crate::local::client(&llama.dir.path().join("tiny.gguf"), &[]);
    for text in [
        "Tell me something.",
        "Wie heißt die Stadt im Süden, 123?",
        "{\"a\": [1, 2]}\n\n  and then the end",
        "x",
    ] {
        let theirs = ask(&llama, &user(text));
        let ours = local.complete(&user(text), &mut |_| {}).unwrap();
        assert_eq!(ours.usage.input_tokens, theirs.usage.input_tokens, "tokens of {text:?}");
        assert_eq!(ours.text, theirs.text, "after {text:?}");
    }
}
