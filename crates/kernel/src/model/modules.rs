//! Programs of modules: code that consists of several texts. The modules lie beside the store.

use std::collections::BTreeMap;

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::id::BlobHash;

/// The maximum number of variables of a program.
const MAX_VARIABLES: usize = 256;

/// The maximum size of the variables' names and values together, in bytes.
const MAX_ENV_BYTES: usize = 64 << 10;

/// The form in which a program was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ModuleFormat {
    /// A ZIP file of sources with a map.
    Archive,
    /// An archive as text in Base64, within a record.
    Bundle,
    /// A tree of files.
    Tree,
}

impl ModuleFormat {
    /// Returns the name that Endo's clients use for the formula of such a program.
    pub fn kind(self) -> &'static str {
        match self {
            ModuleFormat::Archive => "make-archive",
            ModuleFormat::Bundle => "make-bundle",
            ModuleFormat::Tree => "make-from-tree",
        }
    }

    /// Returns the form in words, such as `an archive`.
    pub fn describe(self) -> &'static str {
        match self {
            ModuleFormat::Archive => "an archive",
            ModuleFormat::Bundle => "a bundle",
            ModuleFormat::Tree => "a tree of files",
        }
    }
}

/// A program of modules, whose `make` is called with powers, a context and variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Modules {
    /// The form in which the program was handed over.
    pub packed: ModuleFormat,
    /// The hash of the bytes of the unpacked modules. The bytes are the same each time the program is begun.
    pub hash: BlobHash,
    /// The number of bytes.
    pub bytes: u64,
    /// The name of the module whose `make` is called, as a person is shown it.
    pub entry: Untrusted,
    /// The variables that the program is given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

impl Modules {
    /// Returns the problem with the variables, if there is one.
    pub(crate) fn complaint(&self) -> Option<String> {
        if self.env.len() > MAX_VARIABLES {
            return Some(format!("{} variables in `env`, but {MAX_VARIABLES} is the limit", self.env.len()));
        }
        let bytes: usize = self.env.iter().map(|(name, value)| name.len().saturating_add(value.len())).sum();
        (bytes > MAX_ENV_BYTES).then(|| format!("{bytes} bytes in `env`, but {MAX_ENV_BYTES} is the limit"))
    }
}
