//! A request to a model, as the daemon sent it.

use kernel::StepRef;
use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// A request to a model, as the daemon sent it to the model's server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SentRequest {
    /// The number of the request among the run's requests, from 1.
    pub number: u64,
    /// The number of requests that the run has made.
    pub count: u64,
    /// The step that made the request.
    pub step: StepRef,
    /// The model.
    pub model: String,
    /// The address of the request. `None` for a model in this program, which gets the request as it is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The headers. A key is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Untrusted,
    /// Whether the model has answered. A server that refuses a part of a request gets it in another form, and only the
    /// answer says in which.
    pub is_answered: bool,
    /// Whether values that the vault holds now were removed. The model was sent them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}
