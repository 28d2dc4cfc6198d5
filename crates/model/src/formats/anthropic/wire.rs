//! The JSON of requests and answers in the Messages format.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ANSWER;
use crate::formats::{form, schema, system};
use crate::media::{Media, MediaKind};
use crate::request::{Message, Request};
use crate::served::calls::{as_object, plain};
use crate::served::dialect::{Dialect, Form};

/// Returns the body of a request.
pub(in crate::formats) fn body(request: &Request, model: &str, dialect: Dialect) -> Value {
    let mut form = form(request, dialect);
    // A schema that the vendor cannot enforce for answers can still be the schema of a tool.
    let cut = request.output.as_ref().and_then(|schema| schema::ANTHROPIC.cut(schema));
    if form == Some(Form::Native) && cut.is_none() {
        form = Some(Form::Prompt);
    }
    let system = system(request, form);
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    body.insert("max_tokens".into(), json!(request.max_tokens));
    if !system.is_empty() {
        body.insert("system".into(), json!(system));
    }
    body.insert("messages".into(), json!(messages(&request.messages)));
    if !dialect.no_temperature {
        body.insert("temperature".into(), json!(request.temperature));
    }
    let tools = request.tools.iter().map(
        |tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters}),
    );
    let mut tools: Vec<Value> = tools.collect();
    match (form, &request.output, cut) {
        (Some(Form::Native), _, Some(schema)) => {
            body.insert("output_config".into(), json!({"format": {"type": "json_schema", "schema": schema}}));
        }
        (Some(Form::Tool), Some(schema), _) => {
            // The arguments of a tool must be an object, so the answer is a field of one.
            let wrapped = json!({"type": "object", "properties": {"answer": schema}, "required": ["answer"]});
            tools.push(json!({"name": ANSWER, "description": "Gives the final answer.",
                              "input_schema": wrapped}));
            body.insert("tool_choice".into(), json!({"type": "tool", "name": ANSWER}));
        }
        _ => {}
    }
    if !tools.is_empty() {
        body.insert("tools".into(), json!(tools));
    }
    body.insert("stream".into(), json!(!dialect.no_stream));
    Value::Object(body)
}

/// Returns the conversation in turns. All messages between two replies become one message, with their blocks in
/// order.
fn messages(all: &[Message]) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in all {
        let (role, blocks) = match message {
            Message::User { text, media } => {
                let blocks = media.iter().map(block).chain(text_block(text)).collect();
                ("user", blocks)
            }
            Message::Assistant { text, calls } => {
                let calls = calls.iter().map(|call| {
                    json!({"type": "tool_use", "id": plain(&call.id), "name": plain(&call.name),
                           "input": as_object(&call.arguments)})
                });
                ("assistant", text_block(text).chain(calls).collect::<Vec<_>>())
            }
            Message::ToolResult { id, content, is_error, .. } => {
                let mut result = json!({"type": "tool_result", "tool_use_id": plain(id), "content": content});
                if *is_error {
                    result["is_error"] = json!(true);
                }
                ("user", vec![result])
            }
        };
        match turns.last_mut() {
            Some((last, into)) if *last == role => into.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    let filled = turns.into_iter().map(|(role, mut blocks)| {
        if blocks.is_empty() {
            // The protocol allows no message without content.
            blocks.push(json!({"type": "text", "text": "(nothing)"}));
        }
        json!({"role": role, "content": blocks})
    });
    filled.collect()
}

/// Returns a text as a block. A blank text gives no block, because the protocol does not allow one.
fn text_block(text: &str) -> impl Iterator<Item = Value> + use<> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text})).into_iter()
}

/// Returns the block of an image or a PDF file, which is sent unchanged.
fn block(media: &Media) -> Value {
    let source = json!({"type": "base64", "media_type": media.media_type, "data": media.base64()});
    match media.kind {
        MediaKind::Image => json!({"type": "image", "source": source}),
        MediaKind::Pdf => json!({"type": "document", "source": source, "title": media.name}),
    }
}

/// One event of a stream.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    /// The message of a `message_start` event.
    pub(super) message: Option<FullMessage>,
    pub(super) index: Option<u64>,
    pub(super) content_block: Option<Block>,
    pub(super) delta: Option<Delta>,
    pub(super) usage: Option<WireUsage>,
    pub(super) error: Option<Value>,
}

/// A whole message, or the beginning of one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct FullMessage {
    #[serde(default)]
    pub(super) content: Option<Vec<Block>>,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: Option<WireUsage>,
}

/// A part of a message.
#[derive(Debug, Deserialize)]
pub(super) struct Block {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) text: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) input: Option<Value>,
}

/// An addition to a part, or to the message.
#[derive(Debug, Deserialize)]
pub(super) struct Delta {
    pub(super) text: Option<String>,
    pub(super) partial_json: Option<String>,
    pub(super) stop_reason: Option<String>,
}

/// The usage so far.
#[derive(Debug, Deserialize)]
pub(super) struct WireUsage {
    pub(super) input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
}
