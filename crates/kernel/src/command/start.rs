//! The command that starts a run.

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::model::binding::Binding;
use crate::run::{Input, Program, Shape};

/// Starts a run: endows the worker with the targets that are bound to its slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The person's command, for the transcript.
    pub text: Untrusted,
    /// The worker.
    pub worker: Program,
    /// One execution, or one for each item.
    pub shape: Shape,
    /// The model's name.
    pub model: String,
    /// The input of the run.
    pub input: Input,
    /// The bindings of the slots.
    pub bindings: Vec<Binding>,
    /// Whether only readers who may read private data may read its input.
    #[serde(default)]
    pub private: bool,
}
