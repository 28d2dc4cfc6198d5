//! The assembly of a reply in the Messages format, from the events of a stream or from one message.

use serde_json::Value;

use super::ANSWER;
use super::wire::{Block, Event, FullMessage, WireUsage};
use crate::error::ModelError;
use crate::formats::{Assembly, in_band_error, parse};
use crate::reply::{Reply, Stop, Usage};
use crate::served::calls::{Calls, PartialCall, as_text};

/// The parts of a reply that have been read so far.
#[derive(Debug, Default)]
pub(in crate::formats) struct Stream {
    /// Whether the answer comes as the arguments of a call.
    by_tool: bool,
    text: String,
    calls: Calls,
    stop: Option<String>,
    /// The input tokens outside of the cache. The vendor counts cached tokens separately.
    fresh: u64,
    usage: Usage,
    seen_any: bool,
    is_over: bool,
}

impl Stream {
    pub(in crate::formats) fn new(by_tool: bool) -> Self {
        Self { by_tool, ..Self::default() }
    }

    fn used(&mut self, usage: &WireUsage) {
        let own = &mut self.usage;
        self.fresh = usage.input_tokens.unwrap_or(self.fresh);
        own.cached_tokens = usage.cache_read_input_tokens.unwrap_or(own.cached_tokens);
        own.cache_write_tokens = usage.cache_creation_input_tokens.unwrap_or(own.cache_write_tokens);
        own.output_tokens = usage.output_tokens.unwrap_or(own.output_tokens);
        let all = self.fresh.saturating_add(own.cached_tokens);
        own.input_tokens = all.saturating_add(own.cache_write_tokens);
    }

    /// Adds a part of the message when it begins, and returns its text. In a whole message, the part is complete by
    /// then.
    fn begin(&mut self, index: u64, block: Block) -> Result<String, ModelError> {
        self.seen_any = true;
        match block.kind.as_deref() {
            Some("tool_use") => {
                let arguments = match block.input {
                    // A stream begins a call with an empty object, and sends the text of the arguments after it.
                    Some(Value::Object(fields)) if fields.is_empty() => String::new(),
                    input => input.map(as_text).unwrap_or_default(),
                };
                let (id, name) = (block.id.unwrap_or_default(), block.name.unwrap_or_default());
                self.calls.push(PartialCall { index, id, name, arguments, signature: None })?;
                Ok(String::new())
            }
            // Thinking is not part of the answer.
            Some("text") | None => Ok(self.add(block.text.unwrap_or_default())),
            Some(_) => Ok(String::new()),
        }
    }

    fn add(&mut self, text: String) -> String {
        self.text.push_str(&text);
        text
    }

    fn message(&mut self, message: FullMessage) -> Result<String, ModelError> {
        if let Some(usage) = &message.usage {
            self.used(usage);
        }
        let mut added = String::new();
        for (index, block) in message.content.into_iter().flatten().enumerate() {
            added += &self.begin(index as u64, block)?;
        }
        self.stop = message.stop_reason.or(self.stop.take());
        Ok(added)
    }
}

impl Assembly for Stream {
    fn take(&mut self, data: &[u8]) -> Result<String, ModelError> {
        let event: Event = parse(data)?;
        let Some(kind) = event.kind.as_deref() else {
            let what = "an event without a type".to_owned();
            return Err(event.error.as_ref().map_or(ModelError::Malformed { what }, in_band_error));
        };
        if let Some(usage) = &event.usage {
            self.used(usage);
        }
        match kind {
            "error" => Err(in_band_error(&event.error.unwrap_or_default())),
            "message_start" => self.message(event.message.unwrap_or_default()),
            "content_block_start" => match event.content_block {
                Some(block) => self.begin(event.index.unwrap_or_default(), block),
                None => Ok(String::new()),
            },
            "content_block_delta" => {
                let Some(delta) = event.delta else { return Ok(String::new()) };
                if let Some(piece) = delta.partial_json {
                    if let Some(call) = self.calls.at(event.index.unwrap_or_default()) {
                        call.arguments.push_str(&piece);
                    }
                    return Ok(String::new());
                }
                self.seen_any = true;
                Ok(self.add(delta.text.unwrap_or_default()))
            }
            "message_delta" => {
                self.stop = event.delta.and_then(|delta| delta.stop_reason).or(self.stop.take());
                self.seen_any |= self.stop.is_some();
                Ok(String::new())
            }
            "message_stop" => {
                self.is_over = true;
                Ok(String::new())
            }
            // Pings, ends of parts, and types of events that the vendor may add later.
            _ => Ok(String::new()),
        }
    }

    fn take_whole(&mut self, data: &[u8]) -> Result<String, ModelError> {
        let value: Value = parse(data)?;
        match value.get("type").and_then(Value::as_str) {
            Some("error") => Err(in_band_error(value.get("error").unwrap_or(&Value::Null))),
            Some("message") => {
                self.seen_any = value.get("content").is_some_and(Value::is_array);
                self.is_over = true;
                self.message(parse(data)?)
            }
            _ => Err(ModelError::Malformed { what: "an answer that is no message".into() }),
        }
    }

    fn seen_any(&self) -> bool {
        self.seen_any
    }

    fn is_finished(&self) -> bool {
        self.is_over || self.stop.is_some()
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn reply(mut self: Box<Self>, turn: usize) -> Result<Reply, ModelError> {
        match self.stop.as_deref() {
            Some("refusal") => return Err(ModelError::Filtered),
            Some("model_context_window_exceeded") if self.text.is_empty() && self.calls.0.is_empty() => {
                return Err(ModelError::ContextTooLong { tokens: None, limit: None });
            }
            _ => {}
        }
        if self.by_tool
            && let Some(at) = self.calls.0.iter().position(|call| call.name == ANSWER)
        {
            let answer = self.calls.0.remove(at).arguments;
            let unwrapped = serde_json::from_str::<Value>(&answer);
            let unwrapped = unwrapped.ok().and_then(|mut value| Some(value.get_mut("answer")?.take()));
            // An answer in another form is passed on as it came, and fails the caller's check.
            self.text = unwrapped.map_or(answer, |value| value.to_string());
        }
        let mut reply = Reply { text: self.text, usage: self.usage, ..Reply::default() };
        self.calls.put(turn, &mut reply);
        let has_calls = !reply.calls.is_empty() || !reply.malformed.is_empty();
        reply.stop = match self.stop.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
            _ if has_calls => Stop::Calls,
            _ => Stop::End,
        };
        Ok(reply)
    }
}
