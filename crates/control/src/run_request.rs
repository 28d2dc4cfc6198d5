//! What a person says when a run is to begin.

use std::collections::BTreeMap;

use kernel::run::Limits;
use kernel::{BlobHash, RunNumber};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

use super::endowment::Endowment;

/// A run that a person wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRequest {
    /// The command as the person gave it.
    pub text: Untrusted,
    /// The worker's name.
    pub name: String,
    /// Its definition.
    pub source: String,
    /// The files that the definition includes, by name.
    pub includes: BTreeMap<String, String>,
    /// The directory of the worker file: where workers for unbound worker slots are looked for.
    pub beside: Option<String>,
    /// The named inputs, a JSON object.
    pub values: serde_json::Map<String, serde_json::Value>,
    /// Files from which named inputs were read, by input: name and hash.
    #[serde(default)]
    pub read_from: Vec<(String, BlobHash)>,
    /// The documents.
    pub documents: Vec<Document>,
    /// A conversation: nothing is asked of the model until something is said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chat: bool,
    /// Whether documents and inputs may only be read by models that may read what is private.
    #[serde(default)]
    pub private: bool,
    /// One child for each document, so many at a time.
    pub each: Option<u32>,
    /// What it may use up, where that is less than the worker file says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// What the person binds to slots.
    pub endow: Vec<Endowment>,
    /// Methods, as `slot.method`, about which the person does not want to be asked.
    pub allow: Vec<String>,
    /// The model.
    pub model: String,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Do again what has no result in this run, over the same documents and inputs; the rest is taken from there.
    #[serde(default)]
    pub retry: Option<RunNumber>,
    /// The policies under which the worker ran before, where no file of theirs lies beside it. They may only forbid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

/// The worker with whom one talks without naming another.
pub const TALKER: &str = "---\ndescription: Talks with you.\nattachments: { max: 16, bytes: 32MiB }\n---\nYou talk with a \
                          person. Be brief and exact; say so if you cannot know.\n";

/// A document that a person hands to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "document", rename_all = "snake_case")]
pub enum Document {
    /// A file of this machine, by absolute path.
    File {
        /// The path.
        path: String,
    },
    /// Bytes that were brought to the daemon before.
    Kept {
        /// What to call them.
        name: String,
        /// Their hash.
        hash: BlobHash,
    },
    /// Text that came through a pipe.
    Text {
        /// What to call it.
        name: String,
        /// The text.
        text: String,
    },
}
