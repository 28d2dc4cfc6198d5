//! The models that a daemon knows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::exit::Failure;
use serde::{Deserialize, Serialize};

/// The list of `almoner models`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelList {
    /// The models that can be asked. The one that is used when none is named comes first.
    pub can_ask: Vec<KnownModel>,
    /// The local models that Almoner can fetch.
    pub local: Vec<LocalModel>,
    /// The vendors.
    pub vendors: Vec<VendorKey>,
    /// The user's own names, each with the model that it stands for.
    pub names: BTreeMap<String, String>,
    /// The models that may read private documents.
    pub private: BTreeSet<String>,
    /// The model that is used when none is named.
    pub used: String,
    /// The same, with the reason.
    pub used_because: String,
    /// The directory of the weights.
    pub dir: PathBuf,
    /// The date of the built-in prices.
    pub prices_dated: String,
    /// The models that have a built-in price.
    pub priced: Vec<String>,
    /// The reason why the settings of the user cannot be read.
    pub settings_failure: Option<Failure>,
}

/// A model that can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownModel {
    /// The text with which a person names it.
    pub model: String,
    /// Its origin: a key, a server, the settings or the disk.
    pub origin: String,
}

/// A model that runs on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalModel {
    /// Its name behind `local:`.
    pub name: String,
    /// The size of its weights on the disk.
    pub bytes: u64,
    /// The memory that it takes, in bytes.
    pub memory: u64,
    /// Its licence.
    pub licence: String,
    /// The SHA-256 of its weights, in hexadecimal digits.
    pub sha256: String,
    /// Whether the weights are on this disk.
    pub is_here: bool,
}

/// A vendor of models, and where its key is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VendorKey {
    /// Its name in references to models.
    pub name: String,
    /// The variable of the environment that holds the key.
    pub key: Option<String>,
    /// The variables that may hold a key.
    pub variables: Vec<String>,
}
