//! The chat-completions protocol: requests as JSON, answers from JSON, whole or in deltas.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::ModelError;
use crate::reply::{MalformedCall, Reply, Stop, Usage};
use crate::request::{Call, Message, Request, marked};

/// More calls than this in one reply are not taken.
const MOST_CALLS: usize = 256;

/// What a server is known not to bear; learnt from its refusals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Dialect {
    /// Says `max_completion_tokens`, as OpenAI's newer models demand.
    pub(super) completion_tokens: bool,
    /// Leave the temperature out: reasoning models refuse any.
    pub(super) no_temperature: bool,
    /// Ask for the output's form in words, not in `response_format`.
    pub(super) no_response_format: bool,
    /// The server takes tools and `response_format` in one request.
    pub(super) format_beside_tools: bool,
    /// Do not stream.
    pub(super) no_stream: bool,
    /// Do not ask for usage in the stream.
    pub(super) no_stream_options: bool,
}

impl Dialect {
    /// What to change after a refusal with this message; `None` when it names nothing that can be left out.
    pub(super) fn after_refusal(mut self, message: &str) -> Option<Self> {
        let before = self;
        if message.contains("max_completion_tokens") || message.contains("max_tokens") {
            self.completion_tokens = !self.completion_tokens;
        } else if message.contains("temperature") {
            self.no_temperature = true;
        } else if message.contains("response_format") || message.contains("json_schema") {
            self.no_response_format = true;
        } else if message.contains("stream_options") {
            self.no_stream_options = true;
        } else if message.contains("stream") {
            self.no_stream = true;
        }
        (self != before).then_some(self)
    }
}

/// The body of a chat-completions request.
pub(super) fn body(request: &Request, model: &str, dialect: Dialect) -> Value {
    let format_in_words = request.output.is_some()
        && (dialect.no_response_format || (!request.tools.is_empty() && !dialect.format_beside_tools));
    let mut system = request.system.clone();
    if let (true, Some(schema)) = (format_in_words, &request.output) {
        system.push_str(
            "\n\nWhen you give your final answer, write nothing but one JSON value that satisfies this JSON Schema:\n",
        );
        system.push_str(&schema.to_string());
    }

    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    messages.extend(request.messages.iter().map(message));

    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    body.insert("messages".into(), json!(messages));
    let limit = if dialect.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
    body.insert(limit.into(), json!(request.max_tokens));
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
    if let (false, Some(schema)) = (format_in_words, &request.output) {
        let format = json!({"type": "json_schema", "json_schema": {
            "name": "answer", "schema": schema, "strict": is_strict(schema) }});
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
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    json!({"id": call.id, "type": "function", "function": {
                        "name": call.name, "arguments": call.arguments.to_string() }})
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

/// Whether a schema fulfils OpenAI's conditions for strict enforcement: every object closed, every property
/// required. Others are sent as a hint.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let closed = match map.get("properties").and_then(Value::as_object) {
                None => map.get("type").is_none_or(|t| t != "object"),
                Some(properties) => {
                    let required = map.get("required").and_then(Value::as_array);
                    map.get("additionalProperties") == Some(&Value::Bool(false))
                        && properties.keys().all(|key| {
                            required.is_some_and(|required| required.iter().any(|r| r == key.as_str()))
                        })
                }
            };
            closed && map.values().all(is_strict)
        }
        Value::Array(items) => items.iter().all(is_strict),
        _ => true,
    }
}

/// A whole answer, or one delta of it. Fields that servers add are passed over; fields that they leave out or set
/// to null have defaults.
#[derive(Debug, Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    delta: Option<Delta>,
    message: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Delta {
    content: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Debug, Deserialize)]
struct CallDelta {
    index: Option<usize>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Debug, Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    /// A string of JSON; some servers send the JSON itself.
    arguments: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

/// Puts a reply together.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    text: String,
    calls: Vec<PartialCall>,
    finish: Option<String>,
    usage: Usage,
    seen_any: bool,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: usize,
    id: String,
    name: String,
    arguments: String,
}

impl Assembly {
    /// Takes in one event's data, or a whole body; gives the text that it adds.
    pub(super) fn take(&mut self, data: &[u8]) -> Result<String, ModelError> {
        let chunk: Chunk = serde_json::from_slice(data)
            .map_err(|e| ModelError::Malformed { what: format!("{e} in `{}`", excerpt(data)) })?;
        if let Some(error) = chunk.error.filter(|e| !e.is_null()) {
            return Err(in_band_error(&error));
        }
        if let Some(usage) = chunk.usage {
            self.usage.input_tokens = usage.prompt_tokens.unwrap_or(self.usage.input_tokens);
            self.usage.output_tokens = usage.completion_tokens.unwrap_or(self.usage.output_tokens);
        }
        let mut added = String::new();
        // Only one answer was asked for; further choices would be another's.
        if let Some(choice) = chunk.choices.into_iter().flatten().next() {
            self.seen_any = true;
            if let Some(delta) = choice.delta.or(choice.message) {
                added = delta.content.unwrap_or_default();
                self.text.push_str(&added);
                for (position, call) in delta.tool_calls.into_iter().flatten().enumerate() {
                    self.add_call(call, position)?;
                }
            }
            self.finish = choice.finish_reason.or(self.finish.take());
        }
        Ok(added)
    }

    fn add_call(&mut self, delta: CallDelta, position: usize) -> Result<(), ModelError> {
        let id = delta.id.unwrap_or_default();
        let index = delta.index.unwrap_or(position);
        // Some servers send every call whole under index 0: another id is another call.
        let known = self
            .calls
            .iter()
            .rposition(|call| call.index == index && (id.is_empty() || call.id.is_empty() || call.id == id));
        let at = known.unwrap_or(self.calls.len());
        if known.is_none() {
            if self.calls.len() == MOST_CALLS {
                return Err(ModelError::Malformed {
                    what: format!("more than {MOST_CALLS} calls in one reply"),
                });
            }
            self.calls.push(PartialCall { index, ..PartialCall::default() });
        }
        if let Some(call) = self.calls.get_mut(at) {
            if call.id.is_empty() {
                call.id = id;
            }
            if let Some(function) = delta.function {
                // The name comes whole; servers that repeat it in every delta must not double it.
                if let Some(name) = function.name.filter(|_| call.name.is_empty()) {
                    call.name = name;
                }
                match function.arguments {
                    None | Some(Value::Null) => {}
                    Some(Value::String(piece)) => call.arguments.push_str(&piece),
                    Some(whole) => call.arguments = whole.to_string(),
                }
            }
        }
        Ok(())
    }

    /// Whether the server said that the answer is complete.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether any part of an answer came.
    pub(super) fn seen_any(&self) -> bool {
        self.seen_any
    }

    /// The reply. `turn` makes the ids of calls that came without one unique within the conversation.
    pub(super) fn reply(self, turn: usize) -> Result<Reply, ModelError> {
        if self.finish.as_deref() == Some("content_filter") {
            return Err(ModelError::Filtered);
        }
        let mut reply = Reply { text: self.text, usage: self.usage, ..Reply::default() };
        let mut ids = BTreeSet::new();
        for (i, call) in self.calls.into_iter().enumerate() {
            // What is told of one call must not be taken for what is told of another.
            let id = match call.id {
                id if !id.is_empty() && ids.insert(id.clone()) => id,
                _ => format!("call_{turn}_{i}"),
            };
            let name = call.name;
            let text = call.arguments.trim();
            let parsed = if text.is_empty() { Ok(json!({})) } else { serde_json::from_str(text) };
            match parsed {
                Ok(arguments) => reply.calls.push(Call { id, name, arguments }),
                Err(e) => {
                    let (arguments, reason) = (call.arguments, e.to_string());
                    reply.malformed.push(MalformedCall { id, name, arguments, reason });
                }
            }
        }
        // Servers disagree on the reason beside calls, so the calls decide; a cut reply stays a cut reply.
        reply.stop = match self.finish.as_deref() {
            Some("length") => Stop::Length,
            _ if !reply.calls.is_empty() || !reply.malformed.is_empty() => Stop::Calls,
            _ => Stop::End,
        };
        Ok(reply)
    }
}

/// An error that the server sent inside a successful answer.
fn in_band_error(error: &Value) -> ModelError {
    let message =
        error.get("message").and_then(Value::as_str).map_or_else(|| error.to_string(), str::to_owned);
    let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    super::http::status_error(code.unwrap_or(500), &message, None, "the server", "")
}

/// The first bytes of something unreadable, for a message.
pub(super) fn excerpt(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data.get(..data.len().min(200)).unwrap_or_default());
    text.chars().take(120).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Tool;

    #[track_caller]
    fn assemble(chunks: &[Value]) -> Reply {
        let mut assembly = Assembly::default();
        for chunk in chunks {
            assembly.take(chunk.to_string().as_bytes()).unwrap();
        }
        assembly.reply(3).unwrap()
    }

    fn call(delta: Value) -> Value {
        json!({"choices": [{"delta": {"tool_calls": [delta]}}]})
    }

    #[test]
    fn calls_are_put_together_from_what_servers_send() {
        // Deltas by index, the OpenAI way.
        let reply = assemble(&[
            call(json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": ""}})),
            call(json!({"index": 1, "id": "b", "function": {"name": "list"}})),
            call(json!({"index": 0, "function": {"arguments": "{\"p\":"}})),
            call(json!({"index": 0, "function": {"arguments": "1}"}})),
            json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
        ]);
        assert_eq!(reply.calls[0], Call { id: "a".into(), name: "read".into(), arguments: json!({"p": 1}) });
        assert_eq!(reply.calls[1].arguments, json!({}));
        assert_eq!((reply.stop, reply.usage.input_tokens, reply.usage.output_tokens), (Stop::Calls, 5, 2));

        // Whole calls, all with index 0, and arguments as an object; "stop" as the reason.
        let reply = assemble(&[
            call(json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": {"p": 1}}})),
            call(json!({"index": 0, "id": "b", "function": {"name": "y", "arguments": "{bad"}})),
            json!({"choices": [{"finish_reason": "stop"}]}),
        ]);
        assert_eq!((reply.calls.len(), reply.malformed[0].arguments.as_str()), (1, "{bad"));
        assert_eq!(reply.stop, Stop::Calls);

        // No ids, no indices, in one message.
        let both = json!([{"function": {"name": "x", "arguments": "{}"}}, {"function": {"name": "y"}}]);
        let reply = assemble(&[json!({"choices": [{"message": {"content": null, "tool_calls": both}}]})]);
        let ids: Vec<_> = reply.calls.iter().map(|c| (c.id.as_str(), c.name.as_str())).collect();
        assert_eq!(ids, [("call_3_0", "x"), ("call_3_1", "y")]);
    }

    #[test]
    fn two_calls_under_one_id_are_told_apart() {
        let reply = assemble(&[
            call(json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}})),
            call(json!({"index": 1, "id": "a", "function": {"name": "y", "arguments": "{}"}})),
            call(json!({"index": 2, "id": "b", "function": {"name": "z", "arguments": "{"}})),
        ]);
        let ids: Vec<_> = reply.calls.iter().map(|c| c.id.as_str()).collect();
        assert_eq!((ids, reply.malformed[0].id.as_str()), (vec!["a", "call_3_1"], "b"));
    }

    #[test]
    fn what_is_no_reply_is_an_error() {
        let take = |text: &str| Assembly::default().take(text.as_bytes()).unwrap_err();
        assert!(matches!(take("{\"choices\": ["), ModelError::Malformed { .. }));
        assert!(matches!(take("[]"), ModelError::Malformed { .. }));
        assert!(matches!(take(r#"{"error": {"message": "boom"}}"#), ModelError::ServerError { .. }));
        assert!(matches!(
            take(r#"{"error": {"message": "slow", "code": 429}}"#),
            ModelError::RateLimited { .. }
        ));
        let mut assembly = Assembly::default();
        assembly.take(br#"{"choices": [{"finish_reason": "content_filter"}]}"#).unwrap();
        assert_eq!(assembly.reply(0), Err(ModelError::Filtered));
    }

    #[test]
    fn a_request_is_spelt_as_the_server_bears_it() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let tool = Tool { name: "t".into(), description: "d".into(), parameters: json!({"type": "object"}) };
        let mut request = Request {
            system: "Be brief.".into(),
            messages: vec![
                Message::user("hi"),
                Message::Assistant {
                    text: String::new(),
                    calls: vec![Call { id: "1".into(), name: "t".into(), arguments: json!({"x": 1}) }],
                },
                Message::ToolResult {
                    id: "1".into(),
                    name: "t".into(),
                    content: "no".into(),
                    is_error: true,
                },
            ],
            output: Some(schema.clone()),
            ..Request::default()
        };
        let plain = body(&request, "m", Dialect::default());
        assert_eq!(plain["response_format"]["json_schema"]["strict"], json!(false));
        assert_eq!(plain["messages"][2]["tool_calls"][0]["function"]["arguments"], json!("{\"x\":1}"));
        assert_eq!(plain["messages"][3]["content"], json!("error: no"));
        request.tools.push(tool);
        let beside = body(&request, "m", Dialect::default());
        assert!(beside.get("response_format").is_none());
        assert!(beside["messages"][0]["content"].as_str().unwrap().contains("JSON Schema"));
        let open = Dialect { format_beside_tools: true, completion_tokens: true, ..Dialect::default() };
        let open = body(&request, "m", open);
        assert!(open.get("response_format").is_some() && open.get("max_completion_tokens").is_some());
        let learnt = Dialect::default().after_refusal("Unsupported value: 'temperature'").unwrap();
        assert!(body(&request, "m", learnt).get("temperature").is_none());
        assert_eq!(learnt.after_refusal("temperature"), None);

        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                            "additionalProperties": false});
        assert!(is_strict(&closed) && !is_strict(&schema));
    }
}
