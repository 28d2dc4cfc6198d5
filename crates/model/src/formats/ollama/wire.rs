//! The JSON of requests and answers in the format of `/api/chat`.

use serde_json::{Map, Value, json};

use crate::formats::form;
use crate::formats::instructions::placed;
use crate::media::{Media, MediaKind};
use crate::request::{Message, Request, marked};
use crate::served::calls::as_object;
use crate::served::dialect::{Dialect, Form};

/// The smallest context that is requested, in tokens.
const MIN_CONTEXT: u64 = 4096;
/// The largest context that is requested, in tokens. The server takes no more than its model supports.
const MAX_CONTEXT: u64 = 131_072;

/// The token limit of a reply, if the request names none. Without a limit, the server lets a model write ten times its
/// context.
pub(in crate::formats) const DEFAULT_ANSWER: u32 = 4096;

/// Returns the body of a request.
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
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.parameters }})
        });
        body.insert("tools".into(), json!(tools.collect::<Vec<_>>()));
    }
    if let (Some(Form::Native), Some(schema)) = (form, &request.output) {
        body.insert("format".into(), schema.clone());
    }
    body.insert("stream".into(), json!(!dialect.no_stream));
    // A prompt that does not fit is an error, and is not shortened. Older servers ignore this field.
    body.insert("truncate".into(), json!(false));
    let most = dialect.answer_limit(request, Some(DEFAULT_ANSWER)).unwrap_or(DEFAULT_ANSWER);
    let mut options = json!({"num_predict": most, "num_ctx": context(request, most, dialect)});
    if !dialect.no_temperature {
        options["temperature"] = json!(request.temperature);
    }
    body.insert("options".into(), options);
    Value::Object(body)
}

/// Returns the size of the context that the request and a reply of `most` tokens need. The size grows in steps, because
/// the server loads its model again for every other size. Without a size, the server would silently drop the beginning
/// of a request larger than its small default.
fn context(request: &Request, most: u32, dialect: Dialect) -> u64 {
    let said = |message: &Message| match message {
        Message::User { text, media } => text.len() + media.len() * 4096,
        Message::Assistant { text, calls } => {
            text.len() + calls.iter().map(|call| call.arguments.to_string().len() + 64).sum::<usize>()
        }
        Message::ToolResult { content, .. } => content.len(),
    };
    let tools: usize = request.tools.iter().map(|tool| tool.parameters.to_string().len() + 256).sum();
    let bytes = request.system.len() + tools + request.messages.iter().map(said).sum::<usize>();
    // Three bytes per token is a safe estimate for most languages.
    let tokens = bytes as u64 / 3 + u64::from(most) + 256;
    let size = tokens.next_power_of_two().clamp(MIN_CONTEXT, MAX_CONTEXT);
    dialect.context.map_or(size, |known| size.min(known.max(1)))
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { text, media } => {
            let images = media.iter().filter(|media| media.kind == MediaKind::Image).map(Media::base64);
            let images: Vec<String> = images.collect();
            match images.is_empty() {
                true => json!({"role": "user", "content": text}),
                false => json!({"role": "user", "content": text, "images": images}),
            }
        }
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| {
                json!({"id": call.id, "function": {"name": call.name, "arguments": as_object(&call.arguments)}})
            });
            json!({"role": "assistant", "content": text, "tool_calls": calls.collect::<Vec<_>>()})
        }
        Message::ToolResult { id, name, content, is_error } => {
            json!({"role": "tool", "tool_name": name, "tool_call_id": id, "content": marked(content, *is_error)})
        }
    }
}
