//! The models that a daemon knows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::exit::Failure;
use serde::{Deserialize, Serialize};

/// The list that `almoner models` shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelList {
    /// The models that can be used. The default model comes first.
    pub can_ask: Vec<KnownModel>,
    /// The local models that Almoner can fetch.
    pub local: Vec<LocalModel>,
    /// The vendors, each with the variables for its key.
    pub vendors: Vec<VendorKey>,
    /// The names that the user chose, each with its model.
    pub names: BTreeMap<String, String>,
    /// The models that may read private documents.
    pub private: BTreeSet<String>,
    /// The model that is used if none is named.
    pub used: String,
    /// The same model, with the reason for the choice.
    pub used_because: String,
    /// The directory of the weights.
    pub dir: PathBuf,
    /// The date of the built-in prices.
    pub prices_dated: String,
    /// The models that have a built-in price.
    pub priced: Vec<String>,
    /// The line about the models that the machine's administrator allows, if they are restricted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed: Option<String>,
    /// The reason why the user's settings cannot be read.
    pub settings_failure: Option<Failure>,
}

/// A model that can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KnownModel {
    /// The text with which a person names the model.
    pub model: String,
    /// The origin of the model: a key, a server, the settings or the disk.
    pub origin: String,
}

/// A model that runs on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LocalModel {
    /// The name of the model after `local:`.
    pub name: String,
    /// The size of the weights on the disk, in bytes.
    pub bytes: u64,
    /// The memory that the model needs, in bytes.
    pub memory: u64,
    /// The licence of the weights.
    pub licence: String,
    /// The SHA-256 hash of the weights, in hexadecimal digits.
    pub sha256: String,
    /// Whether the weights are on this disk.
    pub is_here: bool,
}

/// A vendor of models, with the variables for its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VendorKey {
    /// The name of the vendor in references to models.
    pub name: String,
    /// The environment variable that holds the key, if one does.
    pub key: Option<String>,
    /// The variables that may hold a key.
    pub variables: Vec<String>,
}
