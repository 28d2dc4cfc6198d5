//! The first and the last entry of a backup.

use std::collections::BTreeMap;

use kernel::BlobHash;
use serde::{Deserialize, Serialize};

/// The name of the first entry.
pub const HEADER: &str = "almoner-backup.json";

/// The name of the last entry.
pub const INDEX: &str = "almoner-index.json";

/// The version of the format of backups.
pub const FORMAT: u32 = 1;

/// The maximum size of the first entry, in bytes.
pub const MAX_HEADER_BYTES: u64 = 64 << 10;

/// The maximum size of the last entry, in bytes.
pub const MAX_INDEX_BYTES: u64 = 512 << 20;

/// The first entry of a backup: its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub almoner_backup: u32,
    /// The build of the program that made the backup.
    pub build: String,
    /// The time of the backup, in milliseconds since 1970.
    pub made_ms: i64,
    /// The state directory of the home, with all links followed.
    pub state: String,
    /// The configuration directory of the home, with all links followed.
    pub config: String,
    /// Whether the backup holds the key of the vault.
    pub has_key: bool,
}

/// The last entry of a backup: all entries between the first one and it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// The entries, by their paths in the backup.
    pub entries: BTreeMap<String, IndexEntry>,
    /// The parts of the home that the backup leaves out, each in a short sentence.
    pub left_out: Vec<String>,
}

/// An entry of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum IndexEntry {
    /// A directory.
    Directory {
        /// The permissions.
        mode: u32,
    },
    /// A regular file.
    File {
        /// The permissions.
        mode: u32,
        /// The size, in bytes.
        bytes: u64,
        /// The digest of the content.
        digest: BlobHash,
    },
    /// A symbolic link in a directory that a run or a client works in.
    Link {
        /// The target of the link.
        target: String,
    },
}
