//! The assembly of a reply in the chat completions format, from its deltas or from one message.

use serde_json::Value;

use crate::error::ModelError;
use crate::formats::ending::Ending;
use crate::formats::fields::{self, Content};
use crate::formats::{Assembly, faults};
use crate::reply::{Reply, Usage};
use crate::served::calls::{CallPiece, Calls, as_text};
use crate::served::message::mend;

/// The field that holds the answers.
const ROOT: &str = "choices";
/// The number of an old call, of which there can be only one. No other call has it.
const OLD_CALL: u64 = u64::MAX;

/// The parts of a reply that have been read so far.
#[derive(Debug, Default)]
pub(in crate::formats) struct Stream {
    text: String,
    calls: Calls,
    ending: Ending,
    usage: Usage,
    seen_any: bool,
    /// Whether the last part was a message and no delta.
    is_whole: bool,
}

impl Assembly for Stream {
    fn take(&mut self, chunk: &Value) -> Result<String, ModelError> {
        if let Some(error) = faults::reported(chunk, ROOT) {
            return Err(error);
        }
        self.count(chunk);
        // The request asked for one answer only, so further choices are ignored.
        let choice = fields::list(chunk, ROOT)
            .iter()
            .find(|choice| choice.is_object() && fields::count(choice, "index").unwrap_or_default() == 0);
        match choice {
            Some(choice) => self.choice(choice),
            None => Ok(String::new()),
        }
    }

    fn is_finished(&self) -> bool {
        self.ending.has_reason()
    }

    fn size(&self) -> usize {
        self.text.len() + self.calls.size()
    }

    fn seen_any(&self) -> bool {
        self.seen_any
    }

    fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn takes_done(&self) -> bool {
        true
    }

    fn root(&self) -> &'static str {
        ROOT
    }

    fn reply(self: Box<Self>, turn: usize) -> Result<Reply, ModelError> {
        let mut reply = Reply { text: self.text, usage: self.usage, ..Reply::default() };
        self.calls.put(turn, &mut reply);
        if !self.ending.has_reason() && !self.is_whole && !reply.malformed.is_empty() {
            // The server gave no reason, and a call is incomplete: the answer is not whole.
            let bytes = reply.malformed.iter().map(|call| call.arguments.len() as u64).sum();
            return Err(ModelError::CutOff { bytes });
        }
        self.ending.close(reply)
    }
}

impl Stream {
    fn count(&mut self, chunk: &Value) {
        let Some(usage) = fields::given(chunk, "usage") else { return };
        let own = &mut self.usage;
        own.input_tokens = fields::count(usage, "prompt_tokens").unwrap_or(own.input_tokens);
        own.output_tokens = fields::count(usage, "completion_tokens").unwrap_or(own.output_tokens);
        let details = fields::given(usage, "prompt_tokens_details");
        let cached = details.and_then(|details| fields::count(details, "cached_tokens"));
        own.cached_tokens = cached.unwrap_or(own.cached_tokens);
    }

    fn choice(&mut self, choice: &Value) -> Result<String, ModelError> {
        if let Some(error) = choice.get("error").filter(|error| error.is_object() || error.is_string()) {
            return Err(faults::in_band(error));
        }
        self.seen_any = true;
        self.count(choice);
        let delta =
            fields::given(choice, "delta").filter(|delta| *delta != &Value::Object(serde_json::Map::new()));
        let added = match (delta, fields::given(choice, "message"), fields::given(choice, "text")) {
            (Some(delta), _, _) => {
                self.is_whole = false;
                let said = self.said(delta)?;
                self.text.push_str(&said);
                said
            }
            (None, Some(message), _) => {
                self.is_whole = true;
                let said = self.said(message)?;
                self.replace(said)
            }
            (None, None, Some(_)) => {
                self.is_whole = fields::given(choice, "delta").is_none();
                let said = fields::text(choice, "text").unwrap_or_default();
                self.text.push_str(&said);
                said
            }
            (None, None, None) => String::new(),
        };
        let reason = fields::word(choice, "finish_reason").or_else(|| fields::word(choice, "finishReason"));
        self.ending.note(reason.or_else(|| fields::word(choice, "finish_details")));
        if self.ending.word().is_some_and(|word| word.eq_ignore_ascii_case("content_filter")) {
            self.ending.message = filtered_for(choice);
        }
        Ok(added)
    }

    /// Takes the content of a delta or of a message, and returns its text.
    fn said(&mut self, said: &Value) -> Result<String, ModelError> {
        if let Value::String(text) = said {
            return Ok(text.clone());
        }
        let content = Content::of(said.get("content"));
        let refusal = fields::text(said, "refusal").unwrap_or(content.refusal);
        self.ending.refusal.push_str(&refusal);
        let beside = ["reasoning_content", "reasoning", "thinking"];
        let beside = fields::first(said, &beside).map_or(0, |thinking| thinking.to_string().len() as u64);
        self.ending.thinking = self.ending.thinking.saturating_add(content.thinking).saturating_add(beside);
        for (position, call) in fields::list(said, "tool_calls").iter().enumerate() {
            let position = fields::count(call, "index").unwrap_or(position as u64);
            self.calls.add(piece(call, position))?;
        }
        if let Some(call) = fields::given(said, "function_call").filter(|call| call.is_object()) {
            self.calls.add(piece(call, OLD_CALL))?;
        }
        Ok(content.text)
    }

    /// Takes the text of a whole message, which may repeat the text of earlier deltas. Returns what is new.
    fn replace(&mut self, whole: String) -> String {
        let (known, said) = (mend(self.text.clone()), mend(whole.clone()));
        match said.strip_prefix(known.as_str()).map(str::to_owned) {
            Some(added) => {
                self.text = whole;
                added
            }
            None => {
                self.text.push_str(&whole);
                whole
            }
        }
    }
}

/// Returns a piece of a call. Some servers leave out the object around the name and the arguments.
fn piece(call: &Value, index: u64) -> CallPiece {
    let function = fields::given(call, "function").filter(|function| function.is_object()).unwrap_or(call);
    let arguments =
        fields::first(function, &["arguments", "parameters", "input"]).cloned().unwrap_or_default();
    CallPiece {
        index,
        id: fields::text(call, "id").unwrap_or_default(),
        name: fields::text(function, "name").unwrap_or_default(),
        arguments: as_text(arguments),
    }
}

/// Returns the names of the filters that withheld an answer.
fn filtered_for(choice: &Value) -> String {
    let results = choice.get("content_filter_results").and_then(Value::as_object);
    let names = results.into_iter().flatten().filter(|(_, result)| fields::is_true(result, "filtered"));
    names.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}
