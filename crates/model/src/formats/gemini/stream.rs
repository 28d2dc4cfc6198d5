//! The assembly of a reply in the `generateContent` format, from the events of a stream or from one object.

use super::wire::{Candidate, Chunk};
use crate::error::ModelError;
use crate::formats::{Assembly, in_band_error, parse};
use crate::reply::{MalformedCall, Reply, Stop, Usage};
use crate::served::calls::{Calls, PartialCall, as_text};

/// The name given to a call that the server itself could not read.
const UNREADABLE: &str = "unreadable_call";

/// The parts of a reply that have been read so far.
#[derive(Debug, Default)]
pub(in crate::formats) struct Stream {
    text: String,
    calls: Calls,
    usage: Usage,
    finish: Option<String>,
    /// The server's message about the end of the answer.
    message: Option<String>,
    blocked: bool,
    seen_any: bool,
}

impl Stream {
    fn candidate(&mut self, candidate: Candidate) -> Result<String, ModelError> {
        self.seen_any = true;
        let mut added = String::new();
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            if let Some(call) = part.function_call {
                // Each call comes whole, in a part of its own.
                let index = self.calls.0.len() as u64;
                let arguments = call.args.map(as_text).unwrap_or_default();
                let (id, name) = (call.id.unwrap_or_default(), call.name.unwrap_or_default());
                let signature = part.thought_signature;
                self.calls.push(PartialCall { index, id, name, arguments, signature })?;
            } else if part.thought != Some(true) {
                // Thinking is not part of the answer.
                added += &part.text.unwrap_or_default();
            }
        }
        self.text.push_str(&added);
        self.finish = candidate.finish_reason.or(self.finish.take());
        self.message = candidate.finish_message.or(self.message.take());
        Ok(added)
    }
}

impl Assembly for Stream {
    fn take(&mut self, data: &[u8]) -> Result<String, ModelError> {
        let chunk: Chunk = parse(data)?;
        if let Some(error) = chunk.error.filter(|e| !e.is_null()) {
            return Err(in_band_error(&error));
        }
        if let Some(usage) = chunk.usage_metadata {
            let own = &mut self.usage;
            own.input_tokens = usage.prompt_token_count.unwrap_or(own.input_tokens);
            own.cached_tokens = usage.cached_content_token_count.unwrap_or(own.cached_tokens);
            // Each event repeats the counts from the beginning. Thinking is counted separately, but costs the same.
            let said = usage.candidates_token_count.unwrap_or_default();
            let all = said.saturating_add(usage.thoughts_token_count.unwrap_or_default());
            own.output_tokens = own.output_tokens.max(all);
        }
        if chunk.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            (self.blocked, self.seen_any) = (true, true);
        }
        // The request asked for one answer only, so further candidates are ignored.
        match chunk.candidates.into_iter().flatten().next() {
            Some(candidate) => self.candidate(candidate),
            None => Ok(String::new()),
        }
    }

    fn seen_any(&self) -> bool {
        self.seen_any
    }

    fn is_finished(&self) -> bool {
        self.finish.is_some() || self.blocked
    }

    fn reply(self: Box<Self>, turn: usize) -> Result<Reply, ModelError> {
        let withheld =
            ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE"];
        if self.blocked || self.finish.as_deref().is_some_and(|reason| withheld.contains(&reason)) {
            return Err(ModelError::Filtered);
        }
        let mut reply = Reply { text: self.text, usage: self.usage, ..Reply::default() };
        self.calls.put(turn, &mut reply);
        if self.finish.as_deref() == Some("MALFORMED_FUNCTION_CALL") {
            let arguments = self.message.unwrap_or_default();
            let reason = "the server could not read the call".to_owned();
            let id = format!("call_{turn}_{}", reply.calls.len() + reply.malformed.len());
            reply.malformed.push(MalformedCall { id, name: UNREADABLE.to_owned(), arguments, reason });
        }
        let has_calls = !reply.calls.is_empty() || !reply.malformed.is_empty();
        reply.stop = match self.finish.as_deref() {
            Some("MAX_TOKENS") => Stop::Length,
            _ if has_calls => Stop::Calls,
            _ => Stop::End,
        };
        Ok(reply)
    }
}
