//! Secrets by name, in one file that is encrypted with age.
//!
//! The file is `vault.age` in the daemon's state directory. Its key is an age identity. The key is in the keyring of
//! the operating system, or in `vault.key` beside the file. That file is encrypted with a passphrase. If there is no
//! keyring and no user to ask for a passphrase, it is not encrypted. Both files are replaced atomically, so that a
//! crash leaves the old file or the new one.
//!
//! Values cannot be printed, and are wiped when they are dropped. Only the temporary copies that encryption and JSON
//! parsing make cannot be wiped.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "the vault owns its files, and asks the keyring's own program")]

mod contents;
mod error;
mod file;
mod key;
mod keyring;
mod login;
#[cfg(feature = "schema")]
mod schema;
mod secret;
mod site;

pub use contents::{Entry, MAX_VALUE_LEN, check_name};
pub use error::VaultError;
pub use key::{Protection, ProtectionChoice, is_wrapped};
pub use keyring::{Keyring, SecretTool};
pub use login::Login;
pub use secret::Secret;
pub use site::{Site, Vault};
