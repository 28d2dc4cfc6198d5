//! The protocol of the vault. Values of secrets are sent from a client to the daemon, and never back.

use resource::web::Origin;
use serde::{Deserialize, Serialize};
use vault::{Protection, Secret};

/// A client's act on the vault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum SecretAct {
    /// The state of the vault and the list of its secrets.
    List,
    /// Creates the vault, which must not exist yet.
    Create {
        /// The protection of the vault's key.
        key: KeyChoice,
    },
    /// Unlocks the vault.
    Unlock {
        /// The passphrase.
        passphrase: Secret,
    },
    /// Sets the value of a secret.
    Set {
        /// The name of the secret.
        name: String,
        /// The new value. With `None`, the present value stays.
        value: Option<Secret>,
        /// The servers that may receive the secret. With `None`, the present ones stay.
        origins: Option<Vec<Origin>>,
        /// Whether the secret must already exist.
        only: SecretScope,
    },
    /// Removes a secret.
    Remove {
        /// The name of the secret.
        name: String,
    },
    /// Encrypts the vault under a new key.
    RotateKey {
        /// The protection of the new key. With `None`, it stays the same.
        key: Option<KeyChoice>,
    },
}

/// The secrets that a change may affect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SecretScope {
    /// Any secret, existing or new.
    Any,
    /// Only an existing secret.
    Existing,
}

/// The protection of the vault's key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "key", rename_all = "snake_case")]
pub enum KeyChoice {
    /// The key is in the keyring.
    Keyring,
    /// The key is unencrypted, in a file beside the vault.
    File,
    /// The key is in a file beside the vault, encrypted with a passphrase.
    Passphrase {
        /// The passphrase.
        passphrase: Secret,
    },
}

/// The vault as it is shown, without values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VaultView {
    /// The protection of the key, or `None` if there is no vault yet.
    pub protection: Option<Protection>,
    /// Whether the vault exists but cannot be read.
    pub locked: bool,
    /// Whether this machine has a keyring that could hold the key.
    pub keyring: bool,
    /// The secrets, by name.
    pub secrets: Vec<SecretRow>,
}

/// A secret as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretRow {
    /// The name of the secret.
    pub name: String,
    /// The servers that may receive the secret.
    pub origins: Vec<Origin>,
    /// The time at which the secret was first set, in milliseconds since 1970.
    pub set_ms: i64,
    /// The time at which the present value was set.
    pub changed_ms: i64,
    /// The users of the secret: grants in force, each by its number and its target.
    pub used_by: Vec<String>,
    /// Whether the value is so short that redaction does not search for every spelling.
    pub short: bool,
}
