//! The targets that a person binds to the slots of a worker.

use std::collections::BTreeSet;

use resource::Resource;
use serde::{Deserialize, Serialize};

use crate::grant::Attenuation;
use crate::id::{BlobHash, FormulaId};
use crate::name::NamePath;

use super::program::Program;

/// One slot and its target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Binding {
    /// The slot.
    pub slot: String,
    /// The target that fills the slot.
    pub target: Target,
    /// The methods that the worker may call.
    pub methods: BTreeSet<String>,
    /// The restrictions on the target.
    #[serde(default)]
    pub attenuation: Attenuation,
    /// The methods for which the person does not want to be asked.
    #[serde(default)]
    pub allow: BTreeSet<String>,
    /// The methods for which the worker file wants the person to be asked.
    #[serde(default)]
    pub ask: BTreeSet<String>,
}

/// The target that a person binds to a slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "target", rename_all = "snake_case")]
pub enum Target {
    /// A resource that a person typed, in its resolved form. Or a resource for which nothing is typed: questions, a
    /// timer, or mail.
    Resource(Resource),
    /// A worker that has no slots of its own.
    Worker(Program),
    /// A worker with bindings for its slots. The worker holds these and nothing of its caller's.
    Endowed {
        /// The worker.
        program: Program,
        /// The bindings of the worker's slots.
        bindings: Vec<Binding>,
    },
    /// A model: a worker that passes its input on to a model of its own, with limits for all calls together.
    Model {
        /// The worker.
        program: Program,
        /// The model, or several that are asked in turn.
        model: String,
    },
    /// The worker that has the slot, so that a run can call its own worker.
    Myself,
    /// The right of a run to make workers.
    Workshop,
    /// The formula behind one of the actor's names.
    Named {
        /// The name.
        path: NamePath,
    },
}

/// The additions of a person to a worker that a run makes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Addition {
    /// The bindings for some of the new worker's slots. They replace the maker's own grants for these slots.
    #[serde(default)]
    pub bindings: Vec<Binding>,
    /// The worker's text, if the person has changed it. Its bytes lie beside the store.
    #[serde(default)]
    pub edited: Option<BlobHash>,
    /// Each name in the bindings, with the formula for which it stood when the person chose it. If a name stands for
    /// another formula when the worker is about to be made, the call is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<(NamePath, FormulaId)>,
}
