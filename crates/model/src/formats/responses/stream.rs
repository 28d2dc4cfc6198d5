//! The assembly of an answer in the Responses format, from the events of a stream or from one object.

use serde_json::{Value, json};

use super::wire::{Event, Item, Response};
use crate::error::ModelError;
use crate::formats::{Assembly, in_band_error, parse};
use crate::reply::{Reply, Stop, Usage};
use crate::served::calls::{Calls, PartialCall};

/// The parts of a reply that have been read so far.
#[derive(Debug, Default)]
pub(in crate::formats) struct Stream {
    text: String,
    calls: Calls,
    usage: Usage,
    status: Option<String>,
    reason: Option<String>,
    refused: bool,
    seen_any: bool,
}

impl Stream {
    /// Adds the function call of an item. Items of other kinds are ignored.
    fn begin(&mut self, index: u64, item: Item) -> Result<(), ModelError> {
        if item.kind.as_deref() == Some("function_call") {
            self.seen_any = true;
            let id = item.call_id.unwrap_or_default();
            let (name, arguments) = (item.name.unwrap_or_default(), item.arguments.unwrap_or_default());
            self.calls.push(PartialCall { index, id, name, arguments, signature: None })?;
        }
        Ok(())
    }

    /// Adds a finished item and returns its new text. For a call, the item replaces the pieces that came before. A
    /// message counts only if the reply has no text yet.
    fn finish_item(&mut self, index: u64, item: Item) -> Result<String, ModelError> {
        match item.kind.as_deref() {
            Some("function_call") => match self.calls.at(index) {
                Some(call) => {
                    // Empty arguments do not replace the pieces that came before.
                    call.arguments = item
                        .arguments
                        .filter(|all| !all.is_empty())
                        .unwrap_or_else(|| std::mem::take(&mut call.arguments));
                    call.name = item.name.unwrap_or_else(|| std::mem::take(&mut call.name));
                    call.id = item.call_id.unwrap_or_else(|| std::mem::take(&mut call.id));
                    Ok(String::new())
                }
                None => self.begin(index, item).map(|()| String::new()),
            },
            Some("message") if self.text.is_empty() => Ok(self.message(item)),
            _ => Ok(String::new()),
        }
    }

    fn message(&mut self, item: Item) -> String {
        self.seen_any = true;
        let mut added = String::new();
        for part in item.content.into_iter().flatten() {
            match part.kind.as_deref() {
                Some("refusal") => self.refused = true,
                _ => added += &part.text.unwrap_or_default(),
            }
        }
        self.text.push_str(&added);
        added
    }

    /// Adds the object that describes the whole answer, and returns its new text.
    fn finish_response(&mut self, response: Response) -> Result<String, ModelError> {
        if let Some(error) = response.error.filter(|error| !error.is_null()) {
            return Err(in_band_error(&error));
        }
        if let Some(usage) = response.usage {
            self.usage.input_tokens = usage.input_tokens.unwrap_or_default();
            self.usage.output_tokens = usage.output_tokens.unwrap_or_default();
            let cached = usage.input_tokens_details.and_then(|details| details.cached_tokens);
            self.usage.cached_tokens = cached.unwrap_or_default();
        }
        self.reason = response.incomplete_details.and_then(|details| details.reason);
        self.status = response.status;
        let mut added = String::new();
        // If no pieces came before, the whole answer is in this object.
        let nothing_came = self.text.is_empty() && self.calls.0.is_empty();
        for (index, item) in response.output.into_iter().flatten().enumerate().filter(|_| nothing_came) {
            match item.kind.as_deref() {
                Some("message") => added += &self.message(item),
                _ => self.begin(index as u64, item)?,
            }
        }
        Ok(added)
    }
}

impl Assembly for Stream {
    fn take(&mut self, data: &[u8]) -> Result<String, ModelError> {
        let event: Event = parse(data)?;
        let index = event.output_index.unwrap_or_default();
        let nothing = Ok(String::new());
        match event.kind.as_deref() {
            Some("error") => {
                let flat = json!({"message": event.message, "code": event.code});
                Err(in_band_error(event.error.as_ref().filter(|e| e.is_object()).unwrap_or(&flat)))
            }
            Some("response.output_text.delta") => {
                self.seen_any = true;
                let added = event.delta.unwrap_or_default();
                self.text.push_str(&added);
                Ok(added)
            }
            Some("response.refusal.delta") => {
                (self.seen_any, self.refused) = (true, true);
                nothing
            }
            Some("response.output_item.added") => match event.item {
                Some(item) => self.begin(index, item).map(|()| String::new()),
                None => nothing,
            },
            Some("response.output_item.done") => match event.item {
                Some(item) => self.finish_item(index, item),
                None => nothing,
            },
            Some("response.function_call_arguments.delta") => {
                if let (Some(call), Some(piece)) = (self.calls.at(index), event.delta) {
                    call.arguments.push_str(&piece);
                }
                nothing
            }
            Some("response.function_call_arguments.done") => {
                if let (Some(call), Some(all)) = (self.calls.at(index), event.arguments) {
                    call.arguments = all;
                }
                nothing
            }
            Some("response.completed" | "response.incomplete" | "response.failed") => {
                let mut response = event.response.unwrap_or_default();
                let kind = event.kind.unwrap_or_default();
                let said = kind.trim_start_matches("response.").to_owned();
                if said == "failed" && response.error.as_ref().is_none_or(Value::is_null) {
                    response.error = Some(json!("the server says no more than that it failed"));
                }
                response.status = Some(said);
                self.finish_response(response)
            }
            Some(_) => nothing,
            None => {
                let what = "an event without a type".to_owned();
                Err(event.error.as_ref().map_or(ModelError::Malformed { what }, in_band_error))
            }
        }
    }

    fn take_whole(&mut self, data: &[u8]) -> Result<String, ModelError> {
        let response: Response = parse(data)?;
        self.seen_any |= response.output.is_some();
        self.finish_response(response)
    }

    fn seen_any(&self) -> bool {
        self.seen_any
    }

    fn is_finished(&self) -> bool {
        self.status.is_some()
    }

    fn is_over(&self) -> bool {
        self.status.is_some()
    }

    fn reply(self: Box<Self>, turn: usize) -> Result<Reply, ModelError> {
        if self.reason.as_deref() == Some("content_filter") || (self.refused && self.text.is_empty()) {
            return Err(ModelError::Filtered);
        }
        let mut reply = Reply { text: self.text, usage: self.usage, ..Reply::default() };
        self.calls.put(turn, &mut reply);
        let has_calls = !reply.calls.is_empty() || !reply.malformed.is_empty();
        reply.stop = match self.status.as_deref() {
            Some("incomplete") => Stop::Length,
            _ if has_calls => Stop::Calls,
            _ => Stop::End,
        };
        Ok(reply)
    }
}
