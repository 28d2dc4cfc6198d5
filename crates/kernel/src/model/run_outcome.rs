//! The outcome of a run: its result, or its failure and the remedy.

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::proposal::Value;

/// A failure and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trouble {
    /// A short, stable name: `model/unauthorized`, `output/invalid`, …
    pub code: String,
    /// The failure, in one sentence. It may quote foreign text.
    pub message: Untrusted,
    /// The remedy.
    pub help: String,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// The result of the run.
    Done(Value),
    /// The failure because of which the run has no result.
    Failed(Trouble),
}
