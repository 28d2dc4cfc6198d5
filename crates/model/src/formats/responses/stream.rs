//! The assembly of an answer in the Responses format, from the events of a stream or from one object.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::error::ModelError;
use crate::formats::ending::Ending;
use crate::formats::fields::{self, Content};
use crate::formats::{Assembly, faults};
use crate::reply::{Reply, Usage};
use crate::served::calls::{Calls, PartialCall, as_text};

/// The field that holds the answer.
const ROOT: &str = "output";

/// The parts of a reply that have been read so far.
#[derive(Debug, Default)]
pub(in crate::formats) struct Stream {
    /// The texts by the numbers of their item and of their part in it.
    texts: BTreeMap<(u64, u64), String>,
    calls: Calls,
    /// The numbers of items by their ids. Some servers number no pieces.
    items: BTreeMap<String, u64>,
    usage: Usage,
    /// The last word about the state of the answer.
    status: Option<String>,
    ending: Ending,
    seen_any: bool,
    is_whole: bool,
}

impl Stream {
    /// Returns the number of the item that an event is about.
    fn number(&self, event: &Value) -> u64 {
        let by_id = || self.items.get(event.get("item_id")?.as_str()?).copied();
        fields::count(event, "output_index").or_else(by_id).unwrap_or_default()
    }

    fn text(&self) -> String {
        self.texts.values().map(String::as_str).collect()
    }

    /// Sets the whole text of a part, and returns what is new of it. The pieces that came before may have gaps, or come
    /// twice.
    fn set_text(&mut self, key: (u64, u64), whole: String) -> String {
        let known = self.texts.entry(key).or_default();
        let added = whole.strip_prefix(known.as_str()).unwrap_or_default().to_owned();
        if !whole.is_empty() {
            *known = whole;
        }
        added
    }

    /// Takes an item when it begins.
    fn begin(&mut self, index: u64, item: &Value) -> Result<(), ModelError> {
        if let Some(id) = fields::text(item, "id") {
            self.items.insert(id, index);
        }
        if fields::word(item, "type").as_deref() == Some("function_call") {
            self.seen_any = true;
            let call = PartialCall { index, ..PartialCall::default() };
            self.calls.push(call)?;
            self.fill_call(index, item);
        }
        Ok(())
    }

    /// Sets those fields of a call that an item gives. Empty fields replace nothing that came before.
    fn fill_call(&mut self, index: u64, item: &Value) {
        let Some(call) = self.calls.at(index) else { return };
        let id = fields::text(item, "call_id").or_else(|| fields::text(item, "id"));
        let arguments = fields::given(item, "arguments").cloned().map(as_text);
        for (own, given) in [
            (&mut call.id, id),
            (&mut call.name, fields::text(item, "name")),
            (&mut call.arguments, arguments),
        ] {
            if let Some(given) = given.filter(|given| !given.is_empty()) {
                *own = given;
            }
        }
    }

    /// Takes a finished item, and returns its new text.
    fn finish_item(&mut self, index: u64, item: &Value) -> Result<String, ModelError> {
        match fields::word(item, "type").as_deref() {
            Some("function_call") => {
                match self.calls.at(index) {
                    Some(_) => self.fill_call(index, item),
                    None => self.begin(index, item)?,
                }
                Ok(String::new())
            }
            Some("message") => Ok(self.message(index, item)),
            Some("reasoning") => {
                self.ending.thinking = self.ending.thinking.saturating_add(item.to_string().len() as u64);
                Ok(String::new())
            }
            _ => Ok(String::new()),
        }
    }

    fn message(&mut self, index: u64, item: &Value) -> String {
        self.seen_any = true;
        let parts = match item.get("content") {
            Some(Value::Array(parts)) => parts.as_slice(),
            Some(single) => std::slice::from_ref(single),
            None => &[],
        };
        let mut added = String::new();
        for (position, part) in (0..).zip(parts) {
            let content = Content::of_part(part);
            if !content.refusal.is_empty() {
                self.ending.refusal = content.refusal;
            }
            added += &self.set_text((index, position), content.text);
        }
        added
    }

    /// Takes the object that describes the whole answer, and returns its new text.
    fn finish_response(&mut self, response: &Value) -> Result<String, ModelError> {
        if let Some(error) = faults::reported(response, ROOT) {
            return Err(error);
        }
        if let Some(usage) = fields::given(response, "usage") {
            self.usage.input_tokens = fields::count(usage, "input_tokens").unwrap_or_default();
            self.usage.output_tokens = fields::count(usage, "output_tokens").unwrap_or_default();
            let cached =
                usage.get("input_tokens_details").and_then(|details| fields::count(details, "cached_tokens"));
            self.usage.cached_tokens = cached.unwrap_or_default();
        }
        let mut added = String::new();
        let has_calls = !self.calls.0.is_empty();
        // The numbers of items in the answer are the places in its list. Some servers number the pieces otherwise.
        let said = fields::list(response, ROOT).iter().any(|item| item.get("content").is_some());
        let before = self.text();
        if said {
            self.texts.clear();
        }
        for (index, item) in (0..).zip(fields::list(response, ROOT)) {
            match fields::word(item, "type").as_deref() {
                Some("message") => drop(self.message(index, item)),
                Some("function_call") if has_calls => {}
                _ => drop(self.finish_item(index, item)?),
            }
        }
        if self.text().is_empty() {
            let text = fields::text(response, "output_text").unwrap_or_else(|| before.clone());
            self.seen_any |= !text.is_empty();
            self.texts.insert((0, 0), text);
        }
        if let Some(new) = self.text().strip_prefix(before.as_str()) {
            added.push_str(new);
        }
        self.status = fields::word(response, "status").map(|word| word.into_owned());
        let details = fields::given(response, "incomplete_details");
        let reason = details.and_then(|details| fields::word(details, "reason"));
        match (self.status.as_deref(), reason) {
            (Some("incomplete"), Some(reason)) => self.ending.note(Some(reason)),
            (Some("incomplete"), None) => self.ending.note(Some("max_output_tokens")),
            (Some(status), _) => self.ending.note(Some(status)),
            (None, _) => {}
        }
        Ok(added)
    }

    /// Takes a whole answer.
    fn whole(&mut self, response: &Value) -> Result<String, ModelError> {
        let added = self.finish_response(response)?;
        self.seen_any |= fields::given(response, ROOT).is_some_and(Value::is_array);
        self.is_whole = fields::given(response, "status").is_none();
        Ok(added)
    }
}

impl Assembly for Stream {
    fn take(&mut self, event: &Value) -> Result<String, ModelError> {
        let kind = fields::word(event, "type");
        let Some(kind) = kind else {
            let is_whole =
                fields::word(event, "object").as_deref() == Some("response") || event.get(ROOT).is_some();
            return match faults::reported(event, ROOT) {
                Some(error) => Err(error),
                None if is_whole => self.whole(event),
                None => Err(ModelError::malformed("the field `type` is missing")),
            };
        };
        let index = self.number(event);
        let key = (index, fields::count(event, "content_index").unwrap_or_default());
        let delta = || match event.get("delta") {
            Some(delta) => Content::of_part(delta).text,
            None => String::new(),
        };
        let nothing = Ok(String::new());
        match kind.as_ref() {
            "error" => {
                let flat = json!({"message": event.get("message"), "code": event.get("code")});
                Err(faults::in_band(event.get("error").filter(|error| error.is_object()).unwrap_or(&flat)))
            }
            "response.output_text.delta" => {
                self.seen_any = true;
                let added = delta();
                self.texts.entry(key).or_default().push_str(&added);
                Ok(added)
            }
            "response.output_text.done" => match fields::text(event, "text") {
                Some(whole) => {
                    self.seen_any = true;
                    Ok(self.set_text(key, whole))
                }
                None => nothing,
            },
            "response.refusal.delta" => {
                self.seen_any = true;
                self.ending.refusal.push_str(&delta());
                nothing
            }
            "response.refusal.done" => {
                self.seen_any = true;
                if let Some(words) = fields::text(event, "refusal") {
                    self.ending.refusal = words;
                }
                nothing
            }
            "response.output_item.added" => match event.get("item") {
                Some(item) => self.begin(index, item).map(|()| String::new()),
                None => nothing,
            },
            "response.output_item.done" => match event.get("item") {
                Some(item) => self.finish_item(index, item),
                None => nothing,
            },
            "response.function_call_arguments.delta" => {
                if self.calls.at(index).is_none() {
                    // The item that begins the call may come later, or not at all.
                    self.calls.push(PartialCall { index, ..PartialCall::default() })?;
                }
                if let Some(call) = self.calls.at(index) {
                    call.arguments.push_str(&event.get("delta").cloned().map(as_text).unwrap_or_default());
                }
                nothing
            }
            "response.function_call_arguments.done" => {
                self.fill_arguments(index, event);
                nothing
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
            | "response.done" => {
                let response = event.get("response").filter(|response| response.is_object());
                let mut response = response.cloned().unwrap_or_else(|| json!({}));
                let said = kind.trim_start_matches("response.");
                let has_error = fields::given(&response, "error").is_some();
                if said == "failed" && !has_error {
                    response["error"] = json!("the server says no more than that it failed");
                }
                if said != "done" {
                    response["status"] = json!(said);
                } else if fields::given(&response, "status").is_none() {
                    response["status"] = json!("completed");
                }
                self.finish_response(&response)
            }
            "response" => self.whole(event),
            _ => nothing,
        }
    }

    fn size(&self) -> usize {
        self.texts.values().map(String::len).sum::<usize>() + self.calls.size()
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

    fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn root(&self) -> &'static str {
        ROOT
    }

    fn reply(self: Box<Self>, turn: usize) -> Result<Reply, ModelError> {
        let mut reply = Reply { text: self.text(), usage: self.usage, ..Reply::default() };
        self.calls.put(turn, &mut reply);
        self.ending.close(reply)
    }
}

impl Stream {
    /// Sets the arguments of a call once they are complete.
    fn fill_arguments(&mut self, index: u64, event: &Value) {
        let arguments = fields::given(event, "arguments").cloned().map(as_text).unwrap_or_default();
        if let Some(call) = self.calls.at(index).filter(|_| !arguments.is_empty()) {
            call.arguments = arguments;
        }
    }
}
