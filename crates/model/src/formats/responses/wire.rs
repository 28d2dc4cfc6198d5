//! The JSON of requests and answers in the Responses format.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::formats::{form, schema, system};
use crate::media::{Media, MediaKind};
use crate::request::{Message, Request, marked};
use crate::served::dialect::{Dialect, Form};

/// The smallest token limit of a reply that the protocol accepts.
const MIN_TOKENS: u32 = 16;

/// Returns the body of a request. The server stores nothing, so every request contains the whole conversation.
pub(in crate::formats) fn body(request: &Request, model: &str, dialect: Dialect) -> Value {
    let form = form(request, dialect);
    let system = system(request, form);
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    if !system.is_empty() {
        body.insert("instructions".into(), json!(system));
    }
    let input: Vec<Value> = request.messages.iter().flat_map(items).collect();
    body.insert("input".into(), json!(input));
    body.insert("max_output_tokens".into(), json!(request.max_tokens.max(MIN_TOKENS)));
    if !dialect.no_temperature {
        body.insert("temperature".into(), json!(request.temperature));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"type": "function", "name": tool.name, "description": tool.description,
                   "parameters": tool.parameters, "strict": false})
        });
        body.insert("tools".into(), json!(tools.collect::<Vec<_>>()));
    }
    if let (Some(Form::Native), Some(schema)) = (form, &request.output) {
        let (schema, strict) = schema::OPENAI.cut(schema).map_or((schema.clone(), false), |cut| (cut, true));
        let format = json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": strict});
        body.insert("text".into(), json!({ "format": format }));
    }
    body.insert("store".into(), json!(false));
    body.insert("stream".into(), json!(!dialect.no_stream));
    Value::Object(body)
}

/// Returns the items that a message becomes.
fn items(message: &Message) -> Vec<Value> {
    match message {
        Message::User { text, media } => {
            let parts = media.iter().map(part).chain([json!({"type": "input_text", "text": text})]);
            vec![json!({"role": "user", "content": parts.collect::<Vec<_>>()})]
        }
        Message::Assistant { text, calls } => {
            let said = (!text.is_empty()).then(|| json!({"role": "assistant", "content": text}));
            let calls = calls.iter().map(|call| {
                json!({"type": "function_call", "call_id": call.id, "name": call.name,
                       "arguments": call.arguments.to_string()})
            });
            said.into_iter().chain(calls).collect()
        }
        Message::ToolResult { id, content, is_error, .. } => {
            vec![json!({"type": "function_call_output", "call_id": id, "output": marked(content, *is_error)})]
        }
    }
}

/// Returns the part for an image or a PDF file, which is sent unchanged.
fn part(media: &Media) -> Value {
    match media.kind {
        MediaKind::Image => json!({"type": "input_image", "image_url": media.data_url()}),
        MediaKind::Pdf => {
            json!({"type": "input_file", "filename": media.name, "file_data": media.data_url()})
        }
    }
}

/// One event of a stream.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) output_index: Option<u64>,
    pub(super) item: Option<Item>,
    /// A piece of text or of arguments.
    pub(super) delta: Option<String>,
    /// The whole arguments, once they are complete.
    pub(super) arguments: Option<String>,
    pub(super) response: Option<Response>,
    pub(super) error: Option<Value>,
    pub(super) message: Option<String>,
    pub(super) code: Option<Value>,
}

/// A whole answer, or the part of it that is known so far.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Response {
    pub(super) status: Option<String>,
    pub(super) output: Option<Vec<Item>>,
    pub(super) usage: Option<WireUsage>,
    pub(super) error: Option<Value>,
    pub(super) incomplete_details: Option<Incomplete>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Incomplete {
    pub(super) reason: Option<String>,
}

/// A message, a call, or another output of a model.
#[derive(Debug, Deserialize)]
pub(super) struct Item {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) content: Option<Vec<Part>>,
    pub(super) call_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Part {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) text: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireUsage {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) input_tokens_details: Option<InputDetails>,
}

#[derive(Debug, Deserialize)]
pub(super) struct InputDetails {
    pub(super) cached_tokens: Option<u64>,
}
