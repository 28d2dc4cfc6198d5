//! Secrets by name, in one file that is encrypted with age.
//!
//! The file is `vault.age` in the daemon's state directory. Its key is an age identity, which lies in the keyring of
//! the operating system, or beside the file in `vault.key`. There it lies under a passphrase. Without a keyring and
//! without a user to ask, it lies there as it is. Both files are replaced whole, so that a crash leaves the old or
//! the new.
//!
//! Values have no way to be printed, and are wiped when they are dropped. Only the copies that the encryption and the
//! reading of JSON make on their way cannot be wiped.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "the vault owns its files, and asks the keyring's own program")]

mod contents;
mod error;
mod file;
mod key;
mod keyring;
mod secret;
mod site;

pub use contents::{Entry, MAX_VALUE_LEN, check_name};
pub use error::VaultError;
pub use key::{Protection, ProtectionChoice};
pub use keyring::{Keyring, SecretTool};
pub use secret::Secret;
pub use site::{Site, Vault};
