//! The assembly of a reply in the Messages format, from the events of a stream or from one message.

use std::borrow::Cow;

use serde_json::Value;

use super::ANSWER;
use crate::error::ModelError;
use crate::formats::ending::Ending;
use crate::formats::fields::{self, Content};
use crate::formats::{Assembly, faults};
use crate::reply::{Reply, Usage};
use crate::served::calls::{Calls, PartialCall, as_text};

/// The field of a whole message that holds the answer.
const ROOT: &str = "content";
/// The kinds of parts that ask for a tool.
const CALL_KINDS: [&str; 2] = ["tool_use", "function_call"];

/// The parts of a reply that have been read so far.
#[derive(Debug, Default)]
pub(in crate::formats) struct Stream {
    /// Whether the answer comes as the arguments of a call.
    by_tool: bool,
    text: String,
    calls: Calls,
    /// The numbers of the calls whose arguments came with their beginning. Pieces after it repeat them.
    given_whole: Vec<u64>,
    ending: Ending,
    /// The input tokens outside of the cache. The vendor counts cached tokens separately.
    fresh: u64,
    usage: Usage,
    seen_any: bool,
    is_over: bool,
    is_whole: bool,
}

impl Stream {
    pub(in crate::formats) fn new(by_tool: bool) -> Self {
        Self { by_tool, ..Self::default() }
    }

    fn count(&mut self, value: &Value) {
        let Some(usage) = fields::given(value, "usage") else { return };
        let count = |name: &str| fields::count(usage, name);
        let own = &mut self.usage;
        self.fresh = count("input_tokens").unwrap_or(self.fresh);
        own.cached_tokens = count("cache_read_input_tokens").unwrap_or(own.cached_tokens);
        own.cache_write_tokens = count("cache_creation_input_tokens").unwrap_or(own.cache_write_tokens);
        own.output_tokens = count("output_tokens").unwrap_or(own.output_tokens);
        let all = self.fresh.saturating_add(own.cached_tokens);
        own.input_tokens = all.saturating_add(own.cache_write_tokens);
    }

    /// Adds a part of the message when it begins, and returns its text. In a whole message, the part is complete by
    /// then.
    fn begin(&mut self, index: u64, block: &Value) -> Result<String, ModelError> {
        self.seen_any = true;
        let kind = fields::word(block, "type").unwrap_or_default();
        if CALL_KINDS.contains(&kind.as_ref()) {
            let input = fields::first(block, &["input", "arguments"]).cloned().unwrap_or_default();
            let arguments = match input {
                // A stream begins a call with an empty object, and sends the text of the arguments after it.
                Value::Object(fields) if fields.is_empty() => String::new(),
                input => as_text(input),
            };
            if !arguments.trim().is_empty() {
                self.given_whole.push(index);
            }
            self.calls.push(PartialCall {
                index,
                id: fields::text(block, "id").unwrap_or_default(),
                name: fields::text(block, "name").unwrap_or_default(),
                arguments,
                signature: None,
            })?;
            return Ok(String::new());
        }
        Ok(self.add(Content::of_part(block)))
    }

    fn add(&mut self, content: Content) -> String {
        self.text.push_str(&content.text);
        self.ending.refusal.push_str(&content.refusal);
        self.ending.thinking = self.ending.thinking.saturating_add(content.thinking);
        content.text
    }

    fn delta(&mut self, index: u64, delta: &Value) -> Result<String, ModelError> {
        if let Some(piece) = fields::given(delta, "partial_json") {
            let piece = as_text(piece.clone());
            let is_repeated = self.given_whole.contains(&index);
            match self.calls.at(index) {
                Some(_) if is_repeated => {}
                Some(call) => call.arguments.push_str(&piece),
                None if piece.trim().is_empty() => {}
                None => return Err(ModelError::malformed("arguments of a call that has not begun")),
            }
            return Ok(String::new());
        }
        self.seen_any = true;
        // Signatures and citations have no text.
        Ok(if is_said(delta) { self.add(Content::of_part(delta)) } else { String::new() })
    }

    /// Takes a whole message, or the beginning of one.
    fn message(&mut self, message: &Value) -> Result<String, ModelError> {
        self.count(message);
        let mut added = String::new();
        if message.get(ROOT).is_some_and(Value::is_string) {
            self.seen_any = true;
            added += &self.add(Content::of(message.get(ROOT)));
        }
        for (index, block) in fields::list(message, ROOT).iter().enumerate() {
            added += &self.begin(index as u64, block)?;
        }
        self.end(message);
        Ok(added)
    }

    /// Takes the reason and the words about the end, if they are there.
    fn end(&mut self, delta: &Value) {
        self.ending.note(fields::word(delta, "stop_reason"));
        let words = delta.get("stop_details").and_then(|details| fields::text(details, "explanation"));
        self.ending.message = words.unwrap_or_else(|| std::mem::take(&mut self.ending.message));
    }
}

/// Returns whether a delta holds text or thinking.
fn is_said(delta: &Value) -> bool {
    ["text", "thinking", "refusal"].iter().any(|name| fields::given(delta, name).is_some())
}

/// Returns the type of an event. Servers that leave it out of the data write it into the event's head alone, so the
/// fields have to tell.
fn kind_of(event: &Value) -> Option<Cow<'_, str>> {
    let has = |name: &str| event.get(name).is_some_and(Value::is_object);
    fields::word(event, "type").or_else(|| {
        Some(Cow::Borrowed(match () {
            () if has("content_block") => "content_block_start",
            () if has("message") => "message_start",
            () if has("delta") && fields::given(event, "index").is_some() => "content_block_delta",
            () if has("delta") => "message_delta",
            () if event.get(ROOT).is_some_and(|content| content.is_array() || content.is_string()) => {
                "message"
            }
            () => return None,
        }))
    })
}

impl Assembly for Stream {
    fn take(&mut self, event: &Value) -> Result<String, ModelError> {
        let kind = kind_of(event);
        if kind.as_deref() == Some("error") {
            return Err(faults::in_band(event.get("error").unwrap_or(event)));
        }
        // A `message` is a field of an event, and no words.
        if let Some(error) = faults::reported(event, if kind.is_some() { "type" } else { ROOT }) {
            return Err(error);
        }
        let Some(kind) = kind else { return Err(ModelError::malformed("the field `type` is missing")) };
        if kind != "message" {
            self.count(event);
        }
        let index = fields::count(event, "index").unwrap_or_default();
        let part = |name: &str| event.get(name).filter(|part| part.is_object());
        match kind.as_ref() {
            "message" => {
                (self.is_over, self.is_whole) = (true, true);
                self.seen_any |= fields::given(event, ROOT).is_some();
                self.message(event)
            }
            "message_start" => part("message").map_or(Ok(String::new()), |message| self.message(message)),
            "content_block_start" => {
                part("content_block").map_or(Ok(String::new()), |block| self.begin(index, block))
            }
            "content_block_delta" => {
                part("delta").map_or(Ok(String::new()), |delta| self.delta(index, delta))
            }
            "message_delta" => {
                if let Some(delta) = part("delta") {
                    self.end(delta);
                }
                self.seen_any |= self.ending.has_reason();
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

    fn size(&self) -> usize {
        self.text.len() + self.calls.size()
    }

    fn seen_any(&self) -> bool {
        self.seen_any
    }

    fn is_finished(&self) -> bool {
        self.seen_any && (self.is_over || self.ending.has_reason())
    }

    fn is_over(&self) -> bool {
        self.is_over && self.seen_any
    }

    fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn root(&self) -> &'static str {
        ROOT
    }

    fn reply(mut self: Box<Self>, turn: usize) -> Result<Reply, ModelError> {
        match self.ending.word() {
            Some("refusal") if self.ending.refusal.is_empty() => {
                // The text is the beginning of what was withheld, or the words of the refusal.
                let words = std::mem::take(&mut self.ending.message);
                self.ending.refusal = if words.is_empty() { std::mem::take(&mut self.text) } else { words };
            }
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
        let is_told = self.ending.has_reason() || self.is_whole;
        let mut reply = Reply { text: self.text, usage: self.usage, ..Reply::default() };
        self.calls.put(turn, &mut reply);
        if !is_told && !reply.malformed.is_empty() {
            // The stream ended without a reason, and a call is incomplete.
            return Err(ModelError::CutOff { bytes: reply.text.len() as u64 });
        }
        self.ending.close(reply)
    }
}
