//! A worker definition with its files and limits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::BlobHash;

use super::limits::Limits;

/// The name under which a program keeps its project's policies. The policies lie beside the worker file, and models
/// do not see them.
pub const PROJECT_POLICY: &str = "policy.cedar";

/// A worker definition with everything that belongs to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Program {
    /// The worker's name.
    pub name: String,
    /// The hash of the worker's definition.
    pub definition: BlobHash,
    /// The files that the definition includes, by name.
    #[serde(default)]
    pub includes: BTreeMap<String, BlobHash>,
    /// The limits of one run of the worker.
    pub limits: Limits,
}
