//! The key of the vault, and how it is itself protected.

use age::secrecy::{ExposeSecret as _, SecretString};
use age::x25519;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::error::VaultError;
use crate::secret::Secret;

/// How the key is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// It lies in the keyring of the operating system.
    Keyring,
    /// It lies beside the vault, under a passphrase.
    Passphrase,
    /// It lies beside the vault as it is.
    File,
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
        }
    }
}

/// How the key shall be protected.
#[derive(Clone, Copy, Debug)]
pub enum ProtectionChoice<'a> {
    /// In the keyring.
    Keyring,
    /// Under this passphrase.
    Passphrase(&'a Secret),
    /// As it is.
    File,
}

impl ProtectionChoice<'_> {
    /// Returns the kind of it.
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

/// The most work that a passphrase may cost to check, as a power of two: a file that asks for more is not ours.
const MAX_WORK: u8 = 20;

/// Returns whether a key file is one that a passphrase opens.
pub(crate) fn is_wrapped(file: &[u8]) -> bool {
    file.starts_with(MAGIC)
}

/// Identities as the text of a key file.
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

/// Puts the text of a key file under a passphrase.
pub(crate) fn wrap(text: &Secret, passphrase: &Secret, work: u8) -> Result<Vec<u8>, String> {
    let mut recipient = age::scrypt::Recipient::new(SecretString::from(passphrase.reveal().to_owned()));
    recipient.set_work_factor(work);
    age::encrypt(&recipient, text.reveal().as_bytes()).map_err(|e| e.to_string())
}

/// Returns the text of a key file that lies under a passphrase; `None` if it is another passphrase.
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

/// Encrypts for an identity.
pub(crate) fn encrypt(identity: &x25519::Identity, bytes: &[u8]) -> Result<Vec<u8>, VaultError> {
    age::encrypt(&identity.to_public(), bytes)
        .map_err(|e| VaultError::Keyring(format!("the vault cannot be encrypted: {e}")))
}
