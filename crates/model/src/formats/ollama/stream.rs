//! The assembly of a reply in the format of `/api/chat`, from its lines or from one object.

use serde_json::Value;

use crate::error::ModelError;
use crate::formats::ending::Ending;
use crate::formats::fields::{self, Content};
use crate::formats::{Assembly, faults};
use crate::reply::{Reply, Usage};
use crate::served::calls::{Calls, PartialCall, as_text};

/// The field that holds the answer.
const ROOT: &str = "message";

/// The parts of a reply that have been read so far.
#[derive(Debug, Default)]
pub(in crate::formats) struct Stream {
    text: String,
    calls: Calls,
    usage: Usage,
    is_done: bool,
    ending: Ending,
    seen_any: bool,
    is_whole: bool,
}

impl Assembly for Stream {
    fn take(&mut self, line: &Value) -> Result<String, ModelError> {
        if let Some(error) = faults::reported(line, ROOT) {
            return Err(error);
        }
        let said = fields::given(line, ROOT);
        if said.is_some_and(Value::is_string) {
            return Err(faults::in_band(line));
        }
        self.usage.input_tokens = fields::count(line, "prompt_eval_count").unwrap_or(self.usage.input_tokens);
        self.usage.output_tokens = fields::count(line, "eval_count").unwrap_or(self.usage.output_tokens);
        let mut added = String::new();
        if let Some(said) = said.filter(|said| said.is_object()) {
            self.seen_any = true;
            let content = Content::of(said.get("content"));
            added = content.text;
            self.ending.refusal.push_str(&content.refusal);
            let beside =
                fields::given(said, "thinking").map_or(0, |thinking| thinking.to_string().len() as u64);
            self.ending.thinking =
                self.ending.thinking.saturating_add(content.thinking).saturating_add(beside);
            for call in fields::list(said, "tool_calls") {
                self.call(call)?;
            }
        } else if let Some(text) = fields::text(line, "response") {
            self.seen_any = true;
            added = text;
        }
        self.text.push_str(&added);
        self.is_done |= fields::is_true(line, "done");
        self.is_whole = fields::given(line, "done").is_none();
        self.ending.note(fields::word(line, "done_reason"));
        Ok(added)
    }

    fn size(&self) -> usize {
        self.text.len() + self.calls.size()
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

    fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn root(&self) -> &'static str {
        ROOT
    }

    fn reply(self: Box<Self>, turn: usize) -> Result<Reply, ModelError> {
        let mut reply = Reply { text: self.text, usage: self.usage, ..Reply::default() };
        self.calls.put(turn, &mut reply);
        self.ending.close(reply)
    }
}

impl Stream {
    /// Takes a call, which always comes whole.
    fn call(&mut self, call: &Value) -> Result<(), ModelError> {
        let function =
            fields::given(call, "function").filter(|function| function.is_object()).unwrap_or(call);
        let arguments =
            fields::first(function, &["arguments", "parameters", "input"]).cloned().unwrap_or_default();
        self.calls.push(PartialCall {
            index: self.calls.0.len() as u64,
            id: fields::text(call, "id").unwrap_or_default(),
            name: fields::text(function, "name").unwrap_or_default(),
            arguments: as_text(arguments),
            signature: None,
        })
    }
}
