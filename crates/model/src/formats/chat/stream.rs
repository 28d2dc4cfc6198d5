//! The assembly of a reply in the chat completions format, from its deltas or from one message.

use serde_json::Value;

use super::wire::{CallDelta, Chunk};
use crate::error::ModelError;
use crate::formats::{Assembly, in_band_error, parse};
use crate::reply::{Reply, Stop, Usage};
use crate::served::calls::{Calls, PartialCall};

/// The parts of a reply that have been read so far.
#[derive(Debug, Default)]
pub(in crate::formats) struct Stream {
    text: String,
    calls: Calls,
    finish: Option<String>,
    usage: Usage,
    seen_any: bool,
}

impl Assembly for Stream {
    fn take(&mut self, data: &[u8]) -> Result<String, ModelError> {
        let chunk: Chunk = parse(data)?;
        if let Some(error) = chunk.error.filter(|e| !e.is_null()) {
            return Err(in_band_error(&error));
        }
        if let Some(usage) = chunk.usage {
            self.usage.input_tokens = usage.prompt_tokens.unwrap_or(self.usage.input_tokens);
            self.usage.output_tokens = usage.completion_tokens.unwrap_or(self.usage.output_tokens);
            let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
            self.usage.cached_tokens = cached.unwrap_or(self.usage.cached_tokens);
        }
        let mut added = String::new();
        // The request asked for one answer only, so further choices are ignored.
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

    fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn seen_any(&self) -> bool {
        self.seen_any
    }

    fn reply(self: Box<Self>, turn: usize) -> Result<Reply, ModelError> {
        if self.finish.as_deref() == Some("content_filter") {
            return Err(ModelError::Filtered);
        }
        let mut reply = Reply { text: self.text, usage: self.usage, ..Reply::default() };
        self.calls.put(turn, &mut reply);
        // Servers disagree on the finish reason of a reply with calls, so the calls decide. A reply that was cut off
        // stays cut off.
        let has_calls = !reply.calls.is_empty() || !reply.malformed.is_empty();
        reply.stop = match self.finish.as_deref() {
            Some("length") => Stop::Length,
            _ if has_calls => Stop::Calls,
            _ => Stop::End,
        };
        Ok(reply)
    }
}

impl Stream {
    fn add_call(&mut self, delta: CallDelta, position: usize) -> Result<(), ModelError> {
        let id = delta.id.unwrap_or_default();
        let index = delta.index.unwrap_or(position as u64);
        // Some servers send every call whole under index 0. There, another id means another call.
        let known =
            self.calls.0.iter().rposition(|call| {
                call.index == index && (id.is_empty() || call.id.is_empty() || call.id == id)
            });
        let at = known.unwrap_or(self.calls.0.len());
        if known.is_none() {
            self.calls.push(PartialCall { index, ..PartialCall::default() })?;
        }
        if let Some(call) = self.calls.0.get_mut(at) {
            if call.id.is_empty() {
                call.id = id;
            }
            if let Some(function) = delta.function {
                // The name comes whole. Some servers repeat the name in every delta, which must not double it.
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
}
