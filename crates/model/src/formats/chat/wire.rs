//! The JSON of requests and answers in the chat completions format.

use passable::ExactJson;
use serde_json::{Map, Value, json};

use crate::formats::instructions::placed;
use crate::formats::{form, schema};
use crate::media::{Media, MediaKind};
use crate::request::{Message, Request, marked};
use crate::served::dialect::{Dialect, Form};

/// Returns the body of a chat-completions request.
pub(in crate::formats) fn body(request: &Request, model: &str, dialect: Dialect) -> Value {
    let form = form(request, dialect);
    let (system, conversation) = placed(request, form, dialect);
    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    messages.extend(conversation.iter().map(message));

    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    body.insert("messages".into(), json!(messages));
    if let Some(most) = dialect.answer_limit(request, None) {
        let limit = if dialect.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        body.insert(limit.into(), json!(most));
    }
    if !dialect.no_temperature {
        body.insert("temperature".into(), json!(request.temperature));
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool.name, "description": tool.description, "parameters": tool.parameters }})
            })
            .collect();
        body.insert("tools".into(), json!(tools));
    }
    if let (Some(Form::Native), Some(schema)) = (form, &request.output) {
        // A schema that the server cannot enforce strictly is only a hint. Only OpenAI refuses keywords outside of
        // its subset, so only OpenAI gets the cut schema.
        let cut = schema::OPENAI.cut(schema);
        let strict = cut.is_some();
        let schema = cut.filter(|_| dialect.is_openai).unwrap_or_else(|| schema.clone());
        let format = json!({"type": "json_schema", "json_schema": {
            "name": "answer", "schema": schema, "strict": strict }});
        body.insert("response_format".into(), format);
    }
    body.insert("stream".into(), json!(!dialect.no_stream));
    if !dialect.no_stream && !dialect.no_stream_options {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    Value::Object(body)
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { text, media } if media.is_empty() => json!({"role": "user", "content": text}),
        Message::User { text, media } => {
            let parts = media.iter().map(part).chain([json!({"type": "text", "text": text})]);
            json!({"role": "user", "content": parts.collect::<Vec<_>>()})
        }
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    json!({"id": call.id, "type": "function", "function": {
                        "name": call.name, "arguments": ExactJson(&call.arguments).to_string() }})
                })
                .collect();
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
        Message::ToolResult { id, content, is_error, .. } => {
            json!({"role": "tool", "tool_call_id": id, "content": marked(content, *is_error)})
        }
    }
}

/// Returns the part for an image or a PDF file, which is sent unchanged.
fn part(media: &Media) -> Value {
    match media.kind {
        MediaKind::Image => json!({"type": "image_url", "image_url": {"url": media.data_url()}}),
        MediaKind::Pdf => {
            json!({"type": "file", "file": {"filename": media.name, "file_data": media.data_url()}})
        }
    }
}
