//! The state of a promise.

use serde::Serialize;

use crate::proposal::Value;

/// A promise as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PromiseRow {
    /// Nothing has come of it yet.
    Pending,
    /// It has its value.
    Fulfilled {
        /// The value.
        value: Value,
    },
    /// It will never have one.
    Rejected {
        /// Why, in one sentence.
        reason: String,
    },
}
