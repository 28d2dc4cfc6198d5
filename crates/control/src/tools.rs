//! What a server says of its tools, as a person is shown it.

use std::time::Duration;

use kernel::BlobHash;
use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// How long a server may take until it is ready to say what it has, when a person waits for that alone.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The tools of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolTable {
    /// The server, by the user's name for it.
    pub server: String,
    /// Its tools, in its own order.
    pub tools: Vec<ToolRow>,
}

/// One tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolRow {
    /// What the server calls it.
    pub name: Untrusted,
    /// The digest of all that the server says of it.
    pub digest: BlobHash,
    /// What it does, in the server's words.
    pub description: Untrusted,
    /// What it takes, in one line.
    pub signature: Untrusted,
    /// Whether the server says that it only reads. It counts for nothing.
    pub says_it_reads: bool,
    /// Why it cannot be handed over, if it cannot.
    pub problem: Option<String>,
}
