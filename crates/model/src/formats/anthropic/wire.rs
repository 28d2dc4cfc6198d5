//! The JSON of requests and answers in the Messages format.

use serde_json::{Map, Value, json};

use super::ANSWER;
use crate::formats::instructions::placed;
use crate::formats::{form, schema};
use crate::media::{Media, MediaKind};
use crate::request::{Message, Request};
use crate::served::calls::{as_object, plain};
use crate::served::dialect::{Dialect, Form};

/// The token limit of a reply from a model whose own limit is unknown, if the request names none.
pub(in crate::formats) const DEFAULT_ANSWER: u32 = 16_384;

/// Returns the body of a request.
pub(in crate::formats) fn body(request: &Request, model: &str, dialect: Dialect) -> Value {
    let mut form = form(request, dialect);
    // A schema that the vendor cannot enforce for answers can still be the schema of a tool.
    let cut = request.output.as_ref().and_then(|schema| schema::ANTHROPIC.cut(schema));
    if form == Some(Form::Native) && cut.is_none() {
        form = Some(Form::Prompt);
    }
    let (system, messages) = placed(request, form, dialect);
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    // The protocol demands a limit.
    body.insert("max_tokens".into(), json!(dialect.answer_limit(request, Some(DEFAULT_ANSWER))));
    if !system.is_empty() {
        body.insert("system".into(), json!(system));
    }
    body.insert("messages".into(), json!(turns(&messages)));
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
fn turns(all: &[Message]) -> Vec<Value> {
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
