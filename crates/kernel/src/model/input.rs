//! The input of a run: values, documents and items.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::id::{BlobHash, RunNumber};
use crate::proposal::Value;
use crate::provenance::{Provenance, Source};

use super::run_outcome::Trouble;

/// The input of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Input {
    /// The named inputs: a record.
    pub values: Value,
    /// Documents that the model is shown.
    #[serde(default)]
    pub attachments: Vec<Attachment>,
    /// For an `Each` run: the items, one for each child.
    #[serde(default)]
    pub items: Vec<Attachment>,
    /// Files from which named inputs were read. Their content does not count as the user's own words.
    #[serde(default)]
    pub origins: Vec<Source>,
    /// For an `Each` run that retries the failed items of another run: the results of that run's other items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Box<Earlier>>,
}

/// The results of items in another run. These items have no children in this run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Earlier {
    /// The other run.
    pub run: RunNumber,
    /// The results, by the index of the item.
    pub results: BTreeMap<usize, Value>,
    /// The provenance of the results.
    pub provenance: Provenance,
    /// The items with a result whose files the other run did not write. This run writes them, and asks no model again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unwritten: BTreeSet<usize>,
}

impl Input {
    /// Returns the result of an item in another run.
    pub fn earlier(&self, index: usize) -> Option<&Value> {
        self.earlier.as_ref().and_then(|earlier| earlier.results.get(&index))
    }

    /// Returns the reason why an item fails before any model is asked, if there is one.
    pub fn rejected(&self, index: usize) -> Option<&Rejection> {
        self.items.get(index)?.rejected.as_deref()
    }
}

/// A document handed to a run, kept by content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attachment {
    /// The file name of the document.
    pub name: String,
    /// The hash of the document's bytes.
    pub hash: BlobHash,
    /// The hash of the text that the model is shown.
    pub text: BlobHash,
    /// The number of bytes of the document.
    pub bytes: u64,
    /// The media type, found in the content: `application/pdf`. Empty for documents from a time when the type was not
    /// kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub media_type: String,
    /// The sentences about what the text lacks, for the person. They hold foreign words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// For an item of an `Each` run: the reason why the item fails at once, without a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Box<Rejection>>,
}

/// The failure of an item before any model is asked. The other items of the run are not affected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rejection {
    /// The reason.
    pub trouble: Trouble,
    /// Whether the document itself was read and is kept.
    pub is_read: bool,
    /// The path of a document that could not be read. A retry reads this file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The directory below which the document was found, if the user named only that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}
