//! `almoner secret`.

use clap::{Args, Subcommand, ValueEnum};

use super::JsonArg;

/// `almoner secret`.
#[derive(Debug, Args)]
pub struct SecretArgs {
    /// The verb.
    #[command(subcommand)]
    pub verb: SecretVerb,
}

/// The verbs for secrets.
#[derive(Debug, Subcommand)]
pub enum SecretVerb {
    /// Keep a value: typed without being shown, or from standard input
    Set(SetArgs),
    /// List the secrets, where each may go, and what uses it
    List(JsonArg),
    /// Forget a secret
    Remove {
        /// Its name
        name: String,
    },
    /// Give a secret a new value, or encrypt all under a new key (--key)
    Rotate(RotateArgs),
}

/// `almoner secret set`.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// Its name, like GITHUB_TOKEN
    pub name: String,
    /// Let it go to this server, like https://api.github.com (again for more)
    #[arg(long = "for", value_name = "ORIGIN")]
    pub origins: Vec<String>,
    /// Protect the key in this way, if this makes the vault
    #[arg(long, value_enum, value_name = "HOW")]
    pub key: Option<Key>,
}

/// `almoner secret rotate`.
#[derive(Debug, Args)]
pub struct RotateArgs {
    /// The secret that gets a new value
    #[arg(required_unless_present = "key", conflicts_with = "key")]
    pub name: Option<String>,
    /// Encrypt all under a new key, protected in this way [default: as now]
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1)]
    pub key: Option<Option<Key>>,
}

/// How the vault's key is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Key {
    /// In the keyring of the system
    Keyring,
    /// Under a passphrase, for which `almoner unlock` asks
    Passphrase,
    /// In a file beside the vault that only you can read
    File,
}
