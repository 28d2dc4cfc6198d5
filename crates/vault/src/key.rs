//! The key of the vault, and its protection.

use age::secrecy::{ExposeSecret as _, SecretString};
use age::x25519;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::error::VaultError;
use crate::secret::Secret;

/// The present protection of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// The key is in the keyring of the operating system.
    Keyring,
    /// The key is in a file beside the vault, encrypted with a passphrase.
    Passphrase,
    /// The key is in a file beside the vault, unencrypted.
    File,
    /// The key is missing: neither the file beside the vault nor the keyring holds one that opens the vault.
    KeyMissing,
}

impl Protection {
    /// Returns the strength and the limits of this protection, in one line.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Protection::Keyring => {
                "key in the system's keyring: copies of your files tell nothing; a program of yours can ask for it while you are logged in"
            }
            Protection::Passphrase => {
                "key under a passphrase: whoever has your files has nothing; the values are in the daemon's memory while it is unlocked"
            }
            Protection::File => {
                "key in a file beside the vault (0600): keeps values out of backups, logs and pages, but not from who can read your files"
            }
            Protection::KeyMissing => {
                "key missing: neither the file beside the vault nor the system's keyring holds one that opens it"
            }
        }
    }
}

/// The protection that the key is to get.
#[derive(Clone, Copy, Debug)]
pub enum ProtectionChoice<'a> {
    /// The keyring of the operating system.
    Keyring,
    /// A file that is encrypted with this passphrase.
    Passphrase(&'a Secret),
    /// An unencrypted file.
    File,
}

impl ProtectionChoice<'_> {
    /// Returns the kind of protection.
    #[must_use]
    pub fn kind(self) -> Protection {
        match self {
            ProtectionChoice::Keyring => Protection::Keyring,
            ProtectionChoice::Passphrase(_) => Protection::Passphrase,
            ProtectionChoice::File => Protection::File,
        }
    }
}

/// The first bytes of an age file.
const MAGIC: &[u8] = b"age-encryption.org/v1";

/// The maximum work factor of a passphrase, as a power of two. A file with a larger one is not from this program.
const MAX_WORK: u8 = 20;

/// Returns whether a key file is encrypted with a passphrase.
#[must_use]
pub fn is_wrapped(file: &[u8]) -> bool {
    file.starts_with(MAGIC)
}

/// Returns the text of a key file with these identities.
pub(crate) fn to_text(identities: &[&x25519::Identity]) -> Secret {
    let mut text = String::with_capacity(identities.len() * 80);
    for identity in identities {
        text.push_str(identity.to_string().expose_secret());
        text.push('\n');
    }
    Secret::new(text)
}

/// Returns the identities in the text of a key file.
pub(crate) fn from_text(text: &str) -> Vec<x25519::Identity> {
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Encrypts the text of a key file with a passphrase.
pub(crate) fn wrap(text: &Secret, passphrase: &Secret, work: u8) -> Result<Vec<u8>, String> {
    let mut recipient = age::scrypt::Recipient::new(SecretString::from(passphrase.reveal().to_owned()));
    recipient.set_work_factor(work);
    age::encrypt(&recipient, text.reveal().as_bytes()).map_err(|e| e.to_string())
}

/// Decrypts the text of a key file with a passphrase. Returns `None` if the passphrase is wrong.
pub(crate) fn unwrap(file: &[u8], passphrase: &Secret) -> Result<Option<Secret>, String> {
    let mut identity = age::scrypt::Identity::new(SecretString::from(passphrase.reveal().to_owned()));
    identity.set_max_work_factor(MAX_WORK);
    match age::decrypt(&identity, file) {
        Ok(bytes) => {
            let bytes = Zeroizing::new(bytes);
            let text = std::str::from_utf8(&bytes).map_err(|_| "it holds no key".to_owned())?;
            Ok(Some(Secret::new(text)))
        }
        Err(
            age::DecryptError::NoMatchingKeys
            | age::DecryptError::KeyDecryptionFailed
            | age::DecryptError::DecryptionFailed,
        ) => Ok(None),
        Err(e) => Err(e.to_string()),
    }
}

/// Encrypts bytes for an identity.
pub(crate) fn encrypt(identity: &x25519::Identity, bytes: &[u8]) -> Result<Vec<u8>, VaultError> {
    age::encrypt(&identity.to_public(), bytes)
        .map_err(|e| VaultError::Keyring(format!("the vault cannot be encrypted: {e}")))
}
