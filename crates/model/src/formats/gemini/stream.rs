//! The assembly of a reply in the `generateContent` format, from the events of a stream or from one object.

use serde_json::Value;

use crate::error::ModelError;
use crate::formats::ending::Ending;
use crate::formats::fields::{self, Content};
use crate::formats::{Assembly, faults};
use crate::reply::{MalformedCall, Reply, Usage};
use crate::served::calls::{Calls, PartialCall, as_text};

/// The field that holds the answers.
const ROOT: &str = "candidates";
/// The name given to a call that the server itself could not read.
const UNREADABLE: &str = "unreadable_call";
/// The reasons that mean that the model made a call which the server could not read or did not take.
const MALFORMED_CALL: [&str; 2] = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"];
/// The end of words that say that no reason is given.
const UNSPECIFIED: &str = "_UNSPECIFIED";

/// The parts of a reply that have been read so far.
#[derive(Debug, Default)]
pub(in crate::formats) struct Stream {
    text: String,
    calls: Calls,
    usage: Usage,
    ending: Ending,
    /// Whether the server could not read a call.
    is_malformed: bool,
    /// The provider's reason for taking no notice of the request.
    blocked: Option<String>,
    seen_any: bool,
}

/// Returns a field in the spelling of the format, or else in that of some proxies: `finishReason`, `finish_reason`.
fn either<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    fields::given(value, name).or_else(|| fields::given(value, &snake(name)))
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Returns a reason, unless it says that there is none.
fn reason(value: &Value, name: &str) -> Option<String> {
    let word = fields::word(value, name).or_else(|| fields::word(value, &snake(name)))?;
    (!word.to_ascii_uppercase().ends_with(UNSPECIFIED)).then(|| word.into_owned())
}

impl Stream {
    fn candidate(&mut self, candidate: &Value) -> Result<String, ModelError> {
        self.seen_any = true;
        let mut added = String::new();
        let content = fields::given(candidate, "content").unwrap_or(&Value::Null);
        if let Value::String(text) = content {
            added.push_str(text);
        }
        for part in fields::list(content, "parts") {
            if let Some(call) = either(part, "functionCall").filter(|call| call.is_object()) {
                // Each call comes whole, in a part of its own.
                let arguments = fields::first(call, &["args", "arguments"]).cloned().unwrap_or_default();
                let signature = either(part, "thoughtSignature").and_then(Value::as_str);
                self.calls.push(PartialCall {
                    index: self.calls.0.len() as u64,
                    id: fields::text(call, "id").unwrap_or_default(),
                    name: fields::text(call, "name").unwrap_or_default(),
                    arguments: as_text(arguments),
                    signature: signature.map(str::to_owned),
                })?;
            } else {
                let has_text = part.is_string() || fields::given(part, "text").is_some();
                let content = if has_text { Content::of_part(part) } else { Content::default() };
                added += &content.text;
                self.ending.refusal.push_str(&content.refusal);
                self.ending.thinking = self.ending.thinking.saturating_add(content.thinking);
            }
        }
        self.text.push_str(&added);
        if let Some(message) = either(candidate, "finishMessage").and_then(Value::as_str) {
            message.clone_into(&mut self.ending.message);
        }
        match reason(candidate, "finishReason") {
            Some(word) if MALFORMED_CALL.contains(&word.to_ascii_uppercase().as_str()) => {
                self.is_malformed = true
            }
            word => self.ending.note(word),
        }
        Ok(added)
    }

    fn count(&mut self, chunk: &Value) {
        let Some(usage) = either(chunk, "usageMetadata") else { return };
        let count = |name: &str| fields::count(usage, name).or_else(|| fields::count(usage, &snake(name)));
        let own = &mut self.usage;
        own.input_tokens = count("promptTokenCount").unwrap_or(own.input_tokens);
        own.cached_tokens = count("cachedContentTokenCount").unwrap_or(own.cached_tokens);
        // Each event repeats the counts from the beginning. Thinking is counted separately, but costs the same.
        let said = count("candidatesTokenCount").unwrap_or_default();
        let all = said.saturating_add(count("thoughtsTokenCount").unwrap_or_default());
        own.output_tokens = own.output_tokens.max(all);
    }
}

impl Assembly for Stream {
    fn take(&mut self, chunk: &Value) -> Result<String, ModelError> {
        if let Some(error) = faults::reported(chunk, ROOT) {
            return Err(error);
        }
        self.count(chunk);
        if let Some(feedback) = either(chunk, "promptFeedback")
            && let Some(mut word) = reason(feedback, "blockReason")
        {
            if let Some(message) = either(feedback, "blockReasonMessage").and_then(Value::as_str) {
                word = format!("{word}: {message}");
            }
            (self.blocked, self.seen_any) = (Some(word), true);
        }
        // The request asked for one answer only, so further candidates are ignored.
        let first = fields::list(chunk, ROOT).iter().find(|candidate| {
            candidate.is_object() && fields::count(candidate, "index").unwrap_or_default() == 0
        });
        match first {
            Some(candidate) => self.candidate(candidate),
            None => Ok(String::new()),
        }
    }

    fn size(&self) -> usize {
        self.text.len() + self.calls.size()
    }

    fn seen_any(&self) -> bool {
        self.seen_any
    }

    fn is_finished(&self) -> bool {
        self.ending.has_reason() || self.blocked.is_some() || self.is_malformed
    }

    fn is_whole(&self) -> bool {
        false
    }

    fn root(&self) -> &'static str {
        ROOT
    }

    fn reply(mut self: Box<Self>, turn: usize) -> Result<Reply, ModelError> {
        if let Some(reason) = self.blocked {
            return Err(ModelError::Filtered { server: String::new(), reason });
        }
        let mut reply = Reply { text: self.text, usage: self.usage, ..Reply::default() };
        self.calls.put(turn, &mut reply);
        if self.is_malformed {
            let arguments = std::mem::take(&mut self.ending.message);
            let reason = "the server could not read the call".to_owned();
            let id = format!("call_{turn}_{}", reply.calls.len() + reply.malformed.len());
            reply.malformed.push(MalformedCall { id, name: UNREADABLE.to_owned(), arguments, reason });
        }
        self.ending.close(reply)
    }
}
