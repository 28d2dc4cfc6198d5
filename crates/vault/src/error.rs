//! The errors of a vault.

use std::path::{Path, PathBuf};

/// The reason why a vault could not be read or changed. No variant contains a secret value.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The key is protected by a passphrase that the user has not entered yet.
    #[error("the vault is locked: its key lies under a passphrase")]
    Locked,
    /// The passphrase is wrong.
    #[error("this is not the vault's passphrase")]
    WrongPassphrase,
    /// No available key opens the vault.
    #[error("the key of the vault is missing: neither {key} nor the keyring holds one that opens {vault}")]
    NoKey {
        /// The vault's file.
        vault: PathBuf,
        /// The file that may hold the key.
        key: PathBuf,
        /// Whether there is a keyring that may hold the key, and that may be locked.
        has_keyring: bool,
    },
    /// A file is damaged, or is not a vault or key file.
    #[error("{path} cannot be read: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// A description of the damage.
        why: String,
    },
    /// Another process has replaced the vault since it was opened.
    #[error("{path} has been replaced since it was opened")]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The file system failed.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The keyring failed.
    #[error("the keyring: {0}")]
    Keyring(String),
    /// The text cannot be the name of a secret.
    #[error(
        "`{0}` is no name for a secret: letters, digits, `_`, `-` and `.`, beginning with a letter, at most 64"
    )]
    Name(String),
    /// There is no secret with this name.
    #[error("there is no secret `{0}`")]
    Missing(String),
    /// The value is empty or too long.
    #[error("a value has 1 to {most} bytes, not {got}", most = crate::MAX_VALUE_LEN)]
    Size {
        /// The number of bytes of the value.
        got: usize,
    },
    /// The vault has the maximum number of secrets.
    #[error("the vault is full: it holds at most {0} secrets")]
    Full(usize),
}

impl VaultError {
    /// Returns a way to fix the problem, in one line.
    #[must_use]
    pub fn help(&self) -> String {
        let help = match self {
            VaultError::Locked => "`almoner unlock` asks for the passphrase",
            VaultError::WrongPassphrase => "try again; without the passphrase the values cannot be had back",
            VaultError::NoKey { vault, key, has_keyring } => {
                let word = |path: &Path| passable::shell_word(&path.to_string_lossy());
                let aside = vault.with_extension("age.without-key");
                let keyring = if *has_keyring {
                    "unlock the keyring of your session, if it holds the key; "
                } else {
                    ""
                };
                return format!(
                    "{keyring}`cp vault.key {}` brings back the key from a copy; without one, \
                     `mv --backup=numbered -T {} {}` lets `almoner secret set NAME` begin a new vault",
                    word(key),
                    word(vault),
                    word(&aside)
                );
            }
            VaultError::Damaged { path, .. } => {
                let word = |path: &Path| passable::shell_word(&path.to_string_lossy());
                let mut aside = path.as_os_str().to_owned();
                aside.push(".damaged");
                return format!(
                    "bring the file back from where you keep copies; without one, \
                     `mv --backup=numbered -T {} {}` lets `almoner secret set NAME` begin a new vault",
                    word(path),
                    word(Path::new(&aside))
                );
            }
            VaultError::Replaced { .. } => "nothing was changed; `almoner stop`, then the same command",
            VaultError::Io { .. } => "check the directory, its permissions and its room; nothing was changed",
            VaultError::Keyring(_) => {
                "unlock the keyring of your session, or keep the key elsewhere (`almoner secret rotate --key`)"
            }
            VaultError::Name(_) => "choose a name like GITHUB_TOKEN",
            VaultError::Missing(_) => "`almoner secret list` shows which there are",
            VaultError::Size { .. } => "give the value itself, not a file of them",
            VaultError::Full(_) => "`almoner secret remove` makes room",
        };
        help.to_owned()
    }
}
