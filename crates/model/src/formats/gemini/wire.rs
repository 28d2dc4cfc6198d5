//! The JSON of requests and answers in the `generateContent` format.

use serde_json::{Map, Value, json};

use crate::formats::instructions::placed;
use crate::formats::{form, schema};
use crate::media::Media;
use crate::request::{Message, Request};
use crate::served::calls::{as_object, plain};
use crate::served::dialect::{Dialect, Form};

/// The placeholder signature of a call that another model made. With it, the server does not check for a real
/// signature.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Returns the address of a request. The model's name is part of the path.
pub(in crate::formats) fn url(base_url: &str, model: &str, dialect: Dialect) -> String {
    let (folder, name) = match model.split_once('/') {
        Some((folder @ ("models" | "tunedModels"), name)) => (folder, name),
        _ => ("models", model),
    };
    let model = format!("{folder}/{}", spelt(name));
    match dialect.no_stream {
        true => format!("{base_url}/{model}:generateContent"),
        false => format!("{base_url}/{model}:streamGenerateContent?alt=sse"),
    }
}

/// Returns a name as a single part of a path. Characters that could lead elsewhere are escaped.
fn spelt(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// Returns the body of a request.
pub(in crate::formats) fn body(request: &Request, dialect: Dialect) -> Value {
    let mut form = form(request, dialect);
    let cut = request.output.as_ref().and_then(|schema| schema::GEMINI.cut(schema));
    if form == Some(Form::Native) && cut.is_none() {
        form = Some(Form::Prompt);
    }
    let (system, messages) = placed(request, form, dialect);
    let mut body = Map::new();
    if !system.is_empty() {
        body.insert("systemInstruction".into(), json!({"parts": [{"text": system}]}));
    }
    body.insert("contents".into(), json!(contents(&messages)));
    if !request.tools.is_empty() {
        let declared = request.tools.iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description,
                   "parametersJsonSchema": tool.parameters})
        });
        body.insert("tools".into(), json!([{"functionDeclarations": declared.collect::<Vec<_>>()}]));
    }
    let mut config = Map::new();
    if let Some(most) = dialect.answer_limit(request, None) {
        config.insert("maxOutputTokens".into(), json!(most));
    }
    if !dialect.no_temperature {
        config.insert("temperature".into(), json!(request.temperature));
    }
    if let (Some(Form::Native), Some(schema)) = (form, cut) {
        config.insert("responseMimeType".into(), json!("application/json"));
        config.insert("responseJsonSchema".into(), schema);
    }
    body.insert("generationConfig".into(), Value::Object(config));
    Value::Object(body)
}

/// Returns the conversation in turns. All messages between two replies become one content.
fn contents(all: &[Message]) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in all {
        let (role, parts) = match message {
            Message::User { text, media } => {
                let text = (!text.is_empty()).then(|| json!({ "text": text }));
                ("user", media.iter().map(part).chain(text).collect())
            }
            Message::Assistant { text, calls } => {
                let text = (!text.is_empty()).then(|| json!({ "text": text }));
                let calls = calls.iter().enumerate().map(|(at, call)| {
                    let mut part = json!({"functionCall":
                        {"name": plain(&call.name), "args": as_object(&call.arguments)}});
                    // The first call of a reply must have a signature. Servers that know no signatures ignore the
                    // field.
                    match (&call.signature, at) {
                        (Some(signature), _) => part["thoughtSignature"] = json!(signature),
                        (None, 0) => part["thoughtSignature"] = json!(NO_SIGNATURE),
                        (None, _) => {}
                    }
                    part
                });
                ("model", text.into_iter().chain(calls).collect::<Vec<_>>())
            }
            Message::ToolResult { name, content, is_error, .. } => {
                let key = if *is_error { "error" } else { "result" };
                let response = json!({"name": plain(name), "response": {key: content}});
                ("user", vec![json!({ "functionResponse": response })])
            }
        };
        match turns.last_mut() {
            Some((last, into)) if *last == role => into.extend(parts),
            _ => turns.push((role, parts)),
        }
    }
    let filled = turns.into_iter().map(|(role, mut parts)| {
        if parts.is_empty() {
            // The protocol allows no content without parts.
            parts.push(json!({"text": "(nothing)"}));
        }
        json!({"role": role, "parts": parts})
    });
    filled.collect()
}

/// Returns the part for an image or a document, which is sent unchanged.
fn part(media: &Media) -> Value {
    json!({"inlineData": {"mimeType": media.media_type, "data": media.base64()}})
}
