//! The state of a promise.

use serde::Serialize;

use crate::proposal::Value;

/// A promise as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PromiseRow {
    /// The promise has not settled.
    Pending,
    /// The promise has its value.
    Fulfilled {
        /// The value.
        value: Value,
    },
    /// The promise will never have a value.
    Rejected {
        /// The reason, in one sentence.
        reason: String,
    },
}
