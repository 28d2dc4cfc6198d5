//! The tools of a server, as the user sees them.

use kernel::BlobHash;
use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// The tools of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolTable {
    /// The user's name for the server.
    pub server: String,
    /// The tools, in the order of the server.
    pub tools: Vec<ToolRow>,
    /// The faults of the server's list, in our own words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolRow {
    /// The server's name for the tool.
    pub name: Untrusted,
    /// The digest of the server's complete description of the tool.
    pub digest: BlobHash,
    /// The purpose of the tool, in the server's words.
    pub description: Untrusted,
    /// The parameters of the tool, in one line.
    pub signature: Untrusted,
    /// Whether the server says that the tool only reads. This has no effect.
    pub says_it_reads: bool,
    /// Whether the server says that the tool reaches others, or `None` if it does not say. A yes counts against the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says_it_reaches_others: Option<bool>,
    /// Whether the server says that the tool may destroy something, or `None` if it does not say. This has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says_it_destroys: Option<bool>,
    /// The reason why the tool cannot be handed over, if so.
    pub problem: Option<String>,
}
