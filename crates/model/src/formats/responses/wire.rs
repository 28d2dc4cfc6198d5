//! The JSON of requests and answers in the Responses format.

use passable::ExactJson;
use serde_json::{Map, Value, json};

use crate::formats::instructions::placed;
use crate::formats::{form, schema};
use crate::media::{Media, MediaKind};
use crate::request::{Message, Request, marked};
use crate::served::dialect::{Dialect, Form};

/// The smallest token limit of a reply that the protocol accepts.
const MIN_TOKENS: u32 = 16;

/// Returns the body of a request. The server stores nothing, so every request contains the whole conversation.
pub(in crate::formats) fn body(request: &Request, model: &str, dialect: Dialect) -> Value {
    let form = form(request, dialect);
    let (system, messages) = placed(request, form, dialect);
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    if !system.is_empty() {
        body.insert("instructions".into(), json!(system));
    }
    let input: Vec<Value> = messages.iter().flat_map(items).collect();
    body.insert("input".into(), json!(input));
    if let Some(most) = dialect.answer_limit(request, None) {
        body.insert("max_output_tokens".into(), json!(most.max(MIN_TOKENS)));
    }
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
                       "arguments": ExactJson(&call.arguments).to_string()})
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
