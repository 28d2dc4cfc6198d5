//! The bindings of a run's slots, as the store has them.

use std::collections::{BTreeMap, BTreeSet};

use kernel::BlobHash;
use serde::{Deserialize, Serialize};

use resource::{Attenuation, ResourceSpec};

/// A slot of a run, and its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotBinding {
    /// The slot; `SLOT.INNER` is a slot of the worker that fills `SLOT`.
    pub slot: String,
    /// The content of the slot.
    pub content: SlotContent,
    /// Methods about which the person did not want to be asked.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub allow: BTreeSet<String>,
}

/// The content of a slot: one that a user can type, a worker, or one that no user types.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "content", rename_all = "snake_case")]
pub enum SlotContent {
    /// Something that a person can type behind `-e SLOT=`.
    Typed {
        /// The same as a person would have typed it, with every limit.
        fill: ResourceSpec,
    },
    /// A worker. Its own slots have bindings of their own.
    Worker {
        /// Its name.
        name: String,
        /// Its definition.
        definition: BlobHash,
        /// The files that the definition includes, by name.
        includes: BTreeMap<String, BlobHash>,
        /// The limits of its grants: they say which documents are handed on to it.
        #[serde(default)]
        limits: Attenuation,
    },
    /// A capability that a run has by itself and that no user types: questions, a timer, mail or the making of
    /// workers.
    BuiltIn,
    /// Something that cannot be typed, in words: it has only a name in the store, or is gone.
    Untyped {
        /// The words.
        words: String,
    },
}
