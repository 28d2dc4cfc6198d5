//! The report about the policies in force: those of the operator, and those of the machine's administrator.

use kernel::BlobHash;
use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// The operator's policies that are in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyFile {
    /// The path of the policy file, whether or not the file exists.
    pub path: String,
    /// The hash of the file that is in force, if there is one.
    pub digest: Option<BlobHash>,
    /// The policies, in the order of the file.
    pub policies: Vec<PolicyRow>,
    /// The number of examples that had the expected result.
    pub examples: usize,
    /// The warnings.
    pub warnings: Vec<Untrusted>,
    /// The faults of the present file. If there are any, the previous policies stay in force.
    pub problems: Vec<Untrusted>,
    /// Whether calls are judged at all. They are not while the first file is invalid.
    pub ready: bool,
    /// The slots of unfinished runs that policies about files do not bind: programs and tool servers that work in
    /// directories.
    #[serde(default)]
    pub unbound: Vec<Untrusted>,
    /// The policies of the machine's administrator, if there are any. They bind every home of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed: Option<ManagedPolicies>,
}

/// The policies of the machine's administrator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ManagedPolicies {
    /// The path of the file.
    pub path: String,
    /// The hash of the file, if it could be read.
    pub digest: Option<BlobHash>,
    /// The policies, in the order of the file.
    pub policies: Vec<PolicyRow>,
    /// The number of examples that had the expected result.
    pub examples: usize,
    /// The fault of the administrator's files. If there is one, no call is judged.
    pub problem: Option<Untrusted>,
}

/// One policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyRow {
    /// The name of the policy.
    pub name: String,
    /// The line on which the policy begins, counted from 1.
    pub line: usize,
    /// Whether the policy forbids calls. Otherwise it asks about calls, or permits them.
    pub forbids: bool,
    /// Whether the policy has a person asked about calls.
    #[serde(default)]
    pub asks: bool,
    /// Whether no other policy may ever permit the calls that this policy forbids.
    pub invariant: bool,
    /// Whether the policy forbids calls by the files that they name.
    #[serde(default)]
    pub is_of_files: bool,
    /// The reason for the policy.
    pub reason: Option<Untrusted>,
}

impl PolicyRow {
    /// Returns one word for what the policy does with the calls that it covers.
    pub fn verb(&self) -> &'static str {
        match (self.forbids, self.invariant) {
            _ if self.asks => "asks",
            (true, true) => "never",
            (true, false) => "forbids",
            (false, _) => "permits",
        }
    }
}
