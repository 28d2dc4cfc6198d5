//! The report about a backup of a home.

use serde::{Deserialize, Serialize};

/// The report about a backup of a home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackupReport {
    /// The number of files in the backup.
    pub files: u64,
    /// The size of the backup, in bytes.
    pub bytes: u64,
    /// Whether the backup holds the key of the vault.
    pub has_key: bool,
    /// Whether that key opens nothing without a passphrase.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_passphrase: bool,
    /// The parts of the home that the backup leaves out, each in a short sentence.
    pub left_out: Vec<String>,
}
