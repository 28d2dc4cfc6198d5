//! Traffic of the vendors' servers that others have recorded for their tests. It comes with their packages, which
//! `cargo xtask tools` fetches; nothing of it is kept here.
//!
//! Each answer is served once more, byte for byte. A second, plain reading of the documented fields says what the client
//! owes.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::served::{ServedModel, ServerAccess};
use model::{Message, ModelError, Provider, Reply, Request, Retry, Secret, Stop};
use serde::Deserialize;
use serde_json::Value;

use crate::server::{Answer, End, Server};
use crate::tools::tool;

/// Prints each recorded answer of the archives in a folder, as a line of JSON.
const READER: &str = r#"
import base64, gzip, json, pathlib, sys, tarfile, yaml

class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    pass

def plain(loader, suffix, node):
    if isinstance(node, yaml.MappingNode): return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode): return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)

Loader.add_multi_constructor("", plain)

def raw(body):
    if isinstance(body, dict):
        body = body.get("string") or ""
    if body is None:
        return b""
    body = body if isinstance(body, bytes) else str(body).encode()
    return gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body

def kind(headers):
    for name, value in (headers or {}).items():
        if name.lower() == "content-type":
            return str(value[0] if isinstance(value, list) else value)
    return ""

for archive in sorted(pathlib.Path(sys.argv[1]).glob("*.tar.gz")):
    package = archive.name.removesuffix(".tar.gz").rsplit("-", 1)[0]
    with tarfile.open(archive) as files:
        for member in files:
            name = member.name
            if "cassette" not in name or not name.endswith((".yaml", ".yml", ".yaml.gz")) or member.size > 2_000_000:
                continue
            text = files.extractfile(member).read()
            text = gzip.decompress(text) if name.endswith(".gz") else text
            recorded = yaml.load(text, Loader=Loader)
            if not isinstance(recorded, dict):
                continue
            pairs = recorded.get("interactions")
            if pairs is None:
                both = zip(recorded.get("requests") or [], recorded.get("responses") or [])
                pairs = [{"request": request, "response": response} for request, response in both]
            for pair in pairs:
                asked, said = pair["request"], pair["response"]
                if asked.get("method") != "POST":
                    continue
                status = said.get("status") or {}
                code = status.get("code") if isinstance(status, dict) else said.get("status_code")
                print(json.dumps({
                    "package": package, "file": name, "uri": str(asked.get("uri")), "status": int(code or 200),
                    "asked": raw(asked.get("body")).decode("utf-8", "replace"), "kind": kind(said.get("headers")),
                    "said": base64.b64encode(raw(said.get("body"))).decode(),
                }))
"#;

#[derive(Debug, Deserialize)]
struct Recording {
    package: String,
    file: String,
    uri: String,
    status: u16,
    asked: String,
    kind: String,
    said: String,
}

/// The content of an answer, by the plainest reading of its documentation.
#[derive(Debug, Default, PartialEq)]
struct Expectation {
    text: String,
    refusal: String,
    calls: usize,
    is_length: bool,
    is_withheld: bool,
}

impl Recording {
    /// Returns the format, and a reference to a server of it. Recordings of other things have none.
    fn format(&self) -> Option<(&'static str, &'static str)> {
        let path = self.uri.split('?').next().unwrap_or_default();
        let asked: Value = serde_json::from_str(&self.asked).unwrap_or_default();
        let has = |name: &str| asked.get(name).is_some();
        // Some packages hide the addresses.
        let is_hidden = !path.starts_with("http") && !has("encoding_format");
        match () {
            () if path.ends_with("/chat/completions") => Some(("chat", "compat:URL/v1#m")),
            () if path.ends_with("/v1/responses") => Some(("responses", "openai-responses:URL/v1#m")),
            () if is_hidden && has("input") && has("model") => {
                Some(("responses", "openai-responses:URL/v1#m"))
            }
            () if is_hidden && has("messages") && !has("max_tokens") => Some(("chat", "compat:URL/v1#m")),
            () if path.ends_with("/v1/messages") => Some(("anthropic", "anthropic:URL#m")),
            () if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") => {
                Some(("gemini", "gemini:URL#m"))
            }
            () if path.ends_with("/api/chat") => Some(("ollama", "ollama:URL#m")),
            () => None,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        STANDARD.decode(&self.said).unwrap()
    }

    /// Returns the messages of the body: the events, the lines, or the one object.
    fn messages(&self) -> Vec<Value> {
        let text = String::from_utf8(self.bytes()).unwrap();
        if let Ok(whole) = serde_json::from_str::<Value>(&text) {
            return match whole {
                Value::Array(all) => all,
                one => vec![one],
            };
        }
        let lines = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
        lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn ask(&self, reference: &str) -> Result<Reply, ModelError> {
        let kind = if self.kind.contains('/') { self.kind.as_str() } else { "application/octet-stream" };
        let head = format!("HTTP/1.1 {} X\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n", self.status);
        let bytes = [head.into_bytes(), self.bytes()].concat();
        let server = Server::new(vec![Answer { bytes, step: 1000, end: End::Close }]);
        let reference = reference.replace("URL", &server.url).parse().unwrap();
        let key = |name: &str| name.ends_with("_API_KEY").then(|| Secret::new("sk-test"));
        let retry = Retry { tries: 1, sleep: Arc::new(|_| ()) };
        let request = Request { messages: vec![Message::user("hi")], ..Request::default() };
        ServedModel::open(&reference, &key, retry, &ServerAccess::default())
            .unwrap()
            .complete(&request, &mut |_| ())
    }
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn read(format: &str, messages: &[Value]) -> Expectation {
    let mut plain = Expectation::default();
    let mut numbers = BTreeSet::new();
    for message in messages {
        match format {
            "chat" => {
                let Some(choice) =
                    message["choices"].get(0).filter(|choice| choice["index"].as_u64() == Some(0))
                else {
                    continue;
                };
                let said = choice.get("delta").filter(|delta| !delta.is_null()).unwrap_or(&choice["message"]);
                plain.text += string(&said["content"]);
                plain.refusal += string(&said["refusal"]);
                for (at, call) in said["tool_calls"].as_array().into_iter().flatten().enumerate() {
                    numbers.insert(call["index"].as_u64().unwrap_or(at as u64));
                }
                plain.calls =
                    numbers.len() + usize::from(said["function_call"].is_object() && numbers.is_empty());
                plain.is_length |= string(&choice["finish_reason"]) == "length";
                plain.is_withheld |= string(&choice["finish_reason"]) == "content_filter";
            }
            "responses" => {
                let response = message.get("response").unwrap_or(message);
                if !["completed", "incomplete"].contains(&string(&response["status"])) {
                    continue;
                }
                for item in response["output"].as_array().into_iter().flatten() {
                    plain.calls += usize::from(item["type"] == "function_call");
                    for part in
                        item["content"].as_array().into_iter().flatten().filter(|_| item["type"] == "message")
                    {
                        plain.text += string(&part["text"]);
                        plain.refusal += string(&part["refusal"]);
                    }
                }
                plain.is_length |= response["status"] == "incomplete";
            }
            "anthropic" => {
                let parts = message["content"].as_array().into_iter().flatten();
                for part in parts.chain(message.get("content_block")) {
                    plain.calls += usize::from(part["type"] == "tool_use");
                    plain.text += string(&part["text"]);
                }
                plain.text += string(&message["delta"]["text"]);
                let reason = message.get("stop_reason").unwrap_or(&message["delta"]["stop_reason"]);
                plain.is_length |= reason == "max_tokens";
                plain.is_withheld |= reason == "refusal";
            }
            "gemini" => {
                let candidate = &message["candidates"][0];
                for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
                    plain.calls += usize::from(part["functionCall"].is_object());
                    if part["thought"] != true {
                        plain.text += string(&part["text"]);
                    }
                }
                plain.is_length |= candidate["finishReason"] == "MAX_TOKENS";
            }
            _ => {
                plain.text += string(&message["message"]["content"]);
                plain.calls += message["message"]["tool_calls"].as_array().map_or(0, Vec::len);
                plain.is_length |= message["done_reason"] == "length";
            }
        }
    }
    plain
}

/// Returns the fault of an outcome, or `None`.
fn fault(recording: &Recording, format: &str, outcome: &Result<Reply, ModelError>) -> Option<String> {
    let messages = recording.messages();
    if recording.status >= 400 || messages.iter().any(|message| message["error"].is_object()) {
        let is_named = matches!(outcome, Err(error) if !matches!(error, ModelError::Malformed { .. }));
        return (!is_named).then(|| format!("{outcome:?}"));
    }
    let plain = read(format, &messages);
    let holds = match outcome {
        Err(ModelError::Declined { message, .. }) => plain.refusal.trim() == message || plain.is_withheld,
        Err(ModelError::Filtered { .. }) => plain.is_withheld,
        Err(_) => false,
        Ok(reply) => {
            let calls = reply.calls.len() + reply.malformed.len();
            // Thinking in the text is left out of the answer.
            let same =
                reply.text == plain.text || (reply.thinking_bytes > 0 && plain.text.ends_with(&reply.text));
            let is_length = reply.stop == Stop::Length;
            same && calls == plain.calls && is_length == plain.is_length && plain.refusal.is_empty()
        }
    };
    (!holds).then(|| format!("{plain:?} read as {outcome:?}"))
}

#[test]
fn recorded_traffic_is_read_in_every_format() {
    let output =
        Command::new(tool("venv/bin/python")).args(["-c", READER]).arg(tool("recordings")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut read: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for line in text.lines() {
        let recording: Recording = serde_json::from_str(line).unwrap();
        let Some((format, reference)) = recording.format() else { continue };
        *read.entry((format, recording.package.clone())).or_default() += 1;
        if let Some(fault) = fault(&recording, format, &recording.ask(reference)) {
            faults.push(format!("{format} {} {}: {fault}", recording.file, recording.status));
        }
    }
    eprintln!("recorded answers read: {read:#?}");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    for format in ["chat", "responses", "anthropic", "gemini", "ollama"] {
        let packages = read.keys().filter(|(of, _)| *of == format).count();
        assert!(packages >= 2, "{format}: recordings of {packages} packages");
    }
}
