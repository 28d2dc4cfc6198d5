//! The assembly of a reply in the format of `/api/chat`, from its lines or from one object.

use super::wire::Line;
use crate::error::ModelError;
use crate::formats::{Assembly, in_band_error, parse};
use crate::reply::{Reply, Stop, Usage};
use crate::served::calls::{Calls, PartialCall, as_text};

/// The parts of a reply that have been read so far.
#[derive(Debug, Default)]
pub(in crate::formats) struct Stream {
    text: String,
    calls: Calls,
    usage: Usage,
    is_done: bool,
    reason: Option<String>,
    seen_any: bool,
}

impl Assembly for Stream {
    fn take(&mut self, data: &[u8]) -> Result<String, ModelError> {
        let line: Line = parse(data)?;
        if let Some(error) = line.error.filter(|e| !e.is_null()) {
            return Err(in_band_error(&error));
        }
        self.usage.input_tokens = line.prompt_eval_count.unwrap_or(self.usage.input_tokens);
        self.usage.output_tokens = line.eval_count.unwrap_or(self.usage.output_tokens);
        let mut added = String::new();
        if let Some(said) = line.message {
            self.seen_any = true;
            added = said.content.unwrap_or_default();
            self.text.push_str(&added);
            for call in said.tool_calls.into_iter().flatten() {
                let index = self.calls.0.len() as u64;
                let Some(function) = call.function else { continue };
                let name = function.name.unwrap_or_default();
                let arguments = function.arguments.map(as_text).unwrap_or_default();
                let id = call.id.unwrap_or_default();
                self.calls.push(PartialCall { index, id, name, arguments, signature: None })?;
            }
        }
        self.is_done |= line.done == Some(true);
        self.reason = line.done_reason.or(self.reason.take());
        Ok(added)
    }

    fn seen_any(&self) -> bool {
        self.seen_any
    }

    fn is_finished(&self) -> bool {
        self.is_done
    }

    fn is_over(&self) -> bool {
        self.is_done
    }

    fn reply(self: Box<Self>, turn: usize) -> Result<Reply, ModelError> {
        let mut reply = Reply { text: self.text, usage: self.usage, ..Reply::default() };
        self.calls.put(turn, &mut reply);
        let has_calls = !reply.calls.is_empty() || !reply.malformed.is_empty();
        reply.stop = match self.reason.as_deref() {
            Some("length") => Stop::Length,
            _ if has_calls => Stop::Calls,
            _ => Stop::End,
        };
        Ok(reply)
    }
}
