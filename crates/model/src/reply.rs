//! The answers of a model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::request::Call;

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
    /// The model that answered, if several could have been asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Reply {
    /// Returns the text as JSON, or `None` if it is not JSON. A code fence around the JSON, which weak models add, is
    /// removed.
    #[must_use]
    pub fn json(&self) -> Option<Value> {
        let text = self.text.trim();
        let inner = text
            .strip_prefix("```json")
            .or_else(|| text.strip_prefix("```"))
            .and_then(|rest| rest.strip_suffix("```"))
            .unwrap_or(text);
        serde_json::from_str(inner.trim()).ok()
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
    /// The message of the JSON parser.
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
