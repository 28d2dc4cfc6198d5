//! The protocol of the vault. Values go from a client to the daemon and never back.

use resource::web::Origin;
use serde::{Deserialize, Serialize};
use vault::{Protection, Secret};

/// A client's act on the vault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum SecretAct {
    /// How the vault is, and which secrets there are.
    List,
    /// Make the vault, which is not there yet.
    Create {
        /// How its key shall be protected.
        key: KeyChoice,
    },
    /// Open the vault.
    Unlock {
        /// The passphrase.
        passphrase: Secret,
    },
    /// Give a secret a value.
    Set {
        /// Its name.
        name: String,
        /// The value; `None` leaves the one that it has.
        value: Option<Secret>,
        /// The servers that it is for; `None` leaves those that it has.
        origins: Option<Vec<Origin>>,
        /// Whether it must be there already, or must not.
        only: SecretScope,
    },
    /// Remove a secret.
    Remove {
        /// Its name.
        name: String,
    },
    /// Encrypt everything under a new key.
    RotateKey {
        /// How that key shall be protected; `None`: as the one before.
        key: Option<KeyChoice>,
    },
}

/// Which secrets a change is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretScope {
    /// Any.
    Any,
    /// One that is there.
    Existing,
}

/// How the vault's key shall be protected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "key", rename_all = "snake_case")]
pub enum KeyChoice {
    /// In the keyring.
    Keyring,
    /// As it is, in a file beside the vault.
    File,
    /// There, under a passphrase.
    Passphrase {
        /// The passphrase.
        passphrase: Secret,
    },
}

/// The vault as it is shown: never a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultView {
    /// How its key is protected; `None` if there is no vault yet.
    pub protection: Option<Protection>,
    /// Whether it is there and cannot be read.
    pub locked: bool,
    /// Whether this machine has a keyring that could hold the key.
    pub keyring: bool,
    /// The secrets, by name.
    pub secrets: Vec<SecretRow>,
}

/// A secret as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretRow {
    /// Its name.
    pub name: String,
    /// The servers that it is for.
    pub origins: Vec<Origin>,
    /// When it was first set, in milliseconds since 1970.
    pub set_ms: i64,
    /// When it got its value.
    pub changed_ms: i64,
    /// Its users: grants in force, each by its number and its target.
    pub used_by: Vec<String>,
    /// Whether its value is so short that it is not looked for in each spelling.
    pub short: bool,
}
