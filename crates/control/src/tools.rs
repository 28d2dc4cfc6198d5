//! A server's description of its tools, as a user sees it.

use std::time::Duration;

use kernel::BlobHash;
use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// The time that a server may take until it is ready to describe its tools, when a user waits for that alone.
pub const READY_TIMEOUT: Duration = Duration::from_secs(10);

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
    /// The server's name for it.
    pub name: Untrusted,
    /// The digest of all that the server says of it.
    pub digest: BlobHash,
    /// Its purpose, in the server's words.
    pub description: Untrusted,
    /// Its parameters, in one line.
    pub signature: Untrusted,
    /// Whether the server says that it only reads. It counts for nothing.
    pub says_it_reads: bool,
    /// Why it cannot be handed over, if it cannot.
    pub problem: Option<String>,
}
