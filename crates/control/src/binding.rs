//! The bindings of a run's slots, as the store holds them.

use std::collections::{BTreeMap, BTreeSet};

use kernel::BlobHash;
use serde::{Deserialize, Serialize};

use resource::{Attenuation, ResourceSpec};

/// A slot of a run, and its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlotBinding {
    /// The name of the slot. `SLOT.INNER` is a slot of the worker that fills `SLOT`.
    pub slot: String,
    /// The kind of slot, as in worker files. `None` if the worker file has no such slot any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The content of the slot.
    pub content: SlotContent,
    /// The methods about which the person did not want to be asked.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub allow: BTreeSet<String>,
}

/// The content of a slot: a resource that a user can type, a worker, or another capability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "content", rename_all = "snake_case")]
pub enum SlotContent {
    /// A resource that a person can type after `-e SLOT=`.
    Typed {
        /// The resource with all its limits, as a person would type it.
        fill: ResourceSpec,
    },
    /// A worker. Its own slots have separate bindings.
    Worker {
        /// The name of the worker.
        name: String,
        /// The hash of the worker's definition.
        definition: BlobHash,
        /// The files that the definition includes, by name.
        includes: BTreeMap<String, BlobHash>,
        /// The limits of the worker's grants. They determine which documents are handed on to the worker.
        #[serde(default)]
        limits: Attenuation,
    },
    /// A capability that every run can have and that no user types: questions, a timer, mail or the making of
    /// workers.
    BuiltIn,
    /// A content that cannot be typed, because it has only a name in the store or no longer exists.
    Untyped {
        /// The description of the content.
        words: String,
    },
}
