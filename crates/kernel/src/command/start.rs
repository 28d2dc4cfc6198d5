//! The command that starts a run.

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::model::binding::Binding;
use crate::run::{Input, Program, Shape};
use crate::run_key::KeyedRequest;

/// The start of a run, with the targets that are bound to the worker's slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Start {
    /// The person's command, for the transcript.
    pub text: Untrusted,
    /// The worker.
    pub worker: Program,
    /// The shape of the run: one execution, or one for each item.
    pub shape: Shape,
    /// The model's name.
    pub model: String,
    /// The input of the run.
    pub input: Input,
    /// The bindings of the slots.
    pub bindings: Vec<Binding>,
    /// Whether the input is private. Only readers who may read private data may read a private input.
    #[serde(default)]
    pub private: bool,
    /// The key under which the run starts once, if the program that asks for the run has given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyedRequest>,
}
