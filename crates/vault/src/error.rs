//! The errors of a vault.

use std::path::PathBuf;

/// Why a vault could not be read or changed. Nothing here holds a value.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The key lies under a passphrase that the user has not given yet.
    #[error("the vault is locked: its key lies under a passphrase")]
    Locked,
    /// The passphrase is another one.
    #[error("this is not the vault's passphrase")]
    WrongPassphrase,
    /// No key that could be found opens the vault.
    #[error("the key of {vault} is not there: neither in {key} nor in the keyring")]
    NoKey {
        /// The vault.
        vault: PathBuf,
        /// Where the key was looked for.
        key: PathBuf,
    },
    /// A file is damaged, or not a file of this kind.
    #[error("{path} cannot be read: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault of the file.
        why: String,
    },
    /// The file system failed.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The keyring failed.
    #[error("the keyring: {0}")]
    Keyring(String),
    /// The name is none.
    #[error(
        "`{0}` is no name for a secret: letters, digits, `_`, `-` and `.`, beginning with a letter, at most 64"
    )]
    Name(String),
    /// There is no secret of this name.
    #[error("there is no secret `{0}`")]
    Missing(String),
    /// The value is empty, or longer than any may be.
    #[error("a value has 1 to {most} bytes, not {got}", most = crate::MAX_VALUE_LEN)]
    Size {
        /// How many bytes were given.
        got: usize,
    },
    /// There are as many secrets as there may be.
    #[error("the vault is full: it holds at most {0} secrets")]
    Full(usize),
}

impl VaultError {
    /// Returns the way out, in one line.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            VaultError::Locked => "`almoner unlock` asks for the passphrase",
            VaultError::WrongPassphrase => "try again; without the passphrase the values cannot be had back",
            VaultError::NoKey { .. } => {
                "bring the key back from where you keep copies, or move the vault away and set the secrets anew"
            }
            VaultError::Damaged { .. } => {
                "bring the file back from where you keep copies, or move it away and set the secrets anew"
            }
            VaultError::Io { .. } => "check the directory, its permissions and its room; nothing was changed",
            VaultError::Keyring(_) => {
                "unlock the keyring of your session, or keep the key elsewhere (`almoner secret rotate --key`)"
            }
            VaultError::Name(_) => "choose a name like GITHUB_TOKEN",
            VaultError::Missing(_) => "`almoner secret list` shows which there are",
            VaultError::Size { .. } => "give the value itself, not a file of them",
            VaultError::Full(_) => "`almoner secret remove` makes room",
        }
    }
}
