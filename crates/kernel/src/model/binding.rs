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
pub struct Binding {
    /// The slot.
    pub slot: String,
    /// The target that fills it.
    pub target: Target,
    /// The methods that may be called.
    pub methods: BTreeSet<String>,
    /// The restrictions on the target.
    #[serde(default)]
    pub attenuation: Attenuation,
    /// Methods about which the person does not want to be asked.
    #[serde(default)]
    pub allow: BTreeSet<String>,
    /// Methods about which the worker file wants the person to be asked.
    #[serde(default)]
    pub ask: BTreeSet<String>,
}

/// The target that a person binds to a slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "target", rename_all = "snake_case")]
pub enum Target {
    /// A resource that a person typed, resolved, or one for which nothing is typed: questions, a timer, mail.
    Resource(Resource),
    /// A worker that has no slots of its own.
    Worker(Program),
    /// A worker with bindings for its slots. It holds these and nothing of its caller's.
    Endowed {
        /// The worker.
        program: Program,
        /// The binding of each of its slots.
        bindings: Vec<Binding>,
    },
    /// A model: a worker that passes its input on to a model of its own, with limits for all calls together.
    Model {
        /// The worker.
        program: Program,
        /// The model, or several that are asked in turn.
        model: String,
    },
    /// The worker that has the slot, once more.
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
pub struct Addition {
    /// The bindings for some of its slots. They replace the maker's own grants there.
    #[serde(default)]
    pub bindings: Vec<Binding>,
    /// Its text, if the person has changed it; the bytes lie beside the store.
    #[serde(default)]
    pub edited: Option<BlobHash>,
    /// Each name in the bindings, with the formula that it stood for when the person chose it. If a name stands for
    /// another formula when the worker is due to be made, the call is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<(NamePath, FormulaId)>,
}
