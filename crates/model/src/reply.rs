//! The answers of a model.

use passable::{ExactJsonError, read_exact_json};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::request::Call;
use crate::served::Dialect;

/// One whole answer. An incomplete answer is never a `Reply`, but the error [`crate::ModelError::CutOff`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reply {
    /// Free text, or the JSON that [`crate::Request::output`] asked for. May be empty beside calls.
    pub text: String,
    /// The calls that the model proposed, in its order. Even a model that was offered tools may answer without a
    /// call.
    pub calls: Vec<Call>,
    /// Calls whose arguments were not JSON.
    pub malformed: Vec<MalformedCall>,
    /// The cost of the answer.
    pub usage: Usage,
    /// The reason why the model stopped.
    pub stop: Stop,
    /// The number of bytes of thinking that came with the answer and is no part of its text.
    #[serde(skip_serializing_if = "is_zero")]
    pub thinking_bytes: u64,
    /// The model that answered, if several could have been asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The form in which the server took the request, if a server answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
}

impl Reply {
    /// Returns the number of bytes of the text and the calls, roughly. Numbers and truth values count nothing.
    #[must_use]
    pub fn size(&self) -> u64 {
        let calls = self.calls.iter().map(|call| call.name.len() + size_of_texts(&call.arguments));
        let malformed = self.malformed.iter().map(|call| call.name.len() + call.arguments.len());
        (self.text.len() + calls.sum::<usize>() + malformed.sum::<usize>()) as u64
    }

    /// Returns the text as JSON. A code fence around the JSON, which weak models add, is removed.
    ///
    /// # Errors
    /// If the text is not JSON, or JSON whose numbers or names would be lost.
    pub fn json(&self) -> Result<Value, ExactJsonError> {
        let text = self.text.trim();
        let inner = text
            .strip_prefix("```json")
            .or_else(|| text.strip_prefix("```"))
            .and_then(|rest| rest.strip_suffix("```"))
            .unwrap_or(text);
        read_exact_json(inner.trim())
    }
}

/// Returns the number of bytes of all texts in a value, names included.
fn size_of_texts(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size_of_texts).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + size_of_texts(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// A call whose arguments could not be parsed, kept word for word so that it can be shown to the model again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MalformedCall {
    /// The id of the call, as in [`Call::id`].
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The text in place of the arguments.
    pub arguments: String,
    /// The reason why the text is no JSON, in plain words.
    pub reason: String,
}

/// The cost of one reply, in the provider's own counts. A count is 0 if the provider does not report it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// The tokens of the request, including those from a cache.
    pub input_tokens: u64,
    /// The tokens of the request that the provider had in a cache, and charges less for.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// The tokens of the request that the provider wrote to a cache, and charges more for.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// The tokens of the reply.
    pub output_tokens: u64,
    /// The wall time of the call in seconds, including retries.
    pub seconds: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The reason why a reply ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model was done.
    #[default]
    End,
    /// The model waits for the results of its calls.
    Calls,
    /// `max_tokens` or the context was used up: the text is incomplete.
    Length,
}
