//! A call in a run: its origin and its outcome.

use serde::{Deserialize, Serialize};

use crate::id::FormulaId;
use crate::proposal::{Finding, Value};
use crate::provenance::Provenance;

/// The origin of a call: a turn of the model, a step of the worker, or an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum CallSite {
    /// A call that the model made.
    Turn {
        /// The step at which the model replied.
        replied: u64,
        /// The index of the call in the reply, from 0.
        index: usize,
        /// The provider's name for the call.
        id: String,
    },
    /// A step of the worker's `then` list.
    Then {
        /// The index of the step, from 0.
        index: usize,
    },
    /// A step of the worker's `write` list.
    Write {
        /// The index among all writes of the run, from 0.
        index: usize,
    },
    /// A call that an agent made without a run of its own.
    Direct {
        /// The send of the call, if code made the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    },
}

/// The identity of a send of code. The same call, made again after a crash, is the same send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SendOrigin"))]
pub struct Origin {
    /// The code.
    pub eval: FormulaId,
    /// The number of the send among all sends of the code, from 0.
    pub send: u32,
}

/// The outcome of a proposal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// The call was made and returned a value.
    Done {
        /// The returned value.
        value: Value,
        /// The provenance of the value.
        provenance: Provenance,
    },
    /// The call was refused by a gate, by the user, or because its basis had changed since it was judged. Nothing
    /// happened.
    Refused(Vec<Finding>),
    /// The call was tried and failed. Nothing is left half done.
    Failed(Finding),
}
