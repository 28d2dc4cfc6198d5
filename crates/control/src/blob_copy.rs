//! Copies of bytes out of the store, and the space that garbage collection freed.

use serde::{Deserialize, Serialize};

/// A copy of stored bytes that leaves the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Copy {
    /// The bytes, if they are text.
    pub text: Option<String>,
    /// The bytes in Base64, if they are not text.
    pub base64: Option<String>,
    /// Whether secrets of the vault were redacted from the copy, or the whole content was left out because of one.
    #[serde(default)]
    pub redacted: bool,
}

/// The result of a garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FreedSpace {
    /// The number of formulas that were collected.
    pub formulas: u64,
    /// The number of blobs that were removed.
    pub blobs: u64,
    /// The number of bytes of these blobs.
    pub bytes: u64,
    /// The number of stored lists of other blobs, such as directory trees, that were found damaged.
    pub damaged: u64,
}

impl FreedSpace {
    /// Returns the freed space, as text.
    pub fn describe(&self) -> String {
        let count = |count: u64, of: &str| match count {
            1 => format!("1 {of}"),
            count => format!("{count} {of}s"),
        };
        let size = if self.bytes < 1024 {
            format!("{} bytes", self.bytes)
        } else {
            format!("{} KiB", self.bytes >> 10)
        };
        let mut text = format!("{} with {size} freed", count(self.blobs, "blob"));
        if self.formulas > 0 {
            text += &format!(", {} collected", count(self.formulas, "formula"));
        }
        if self.damaged > 0 {
            text += &format!(", {} found damaged (`almoner doctor`)", count(self.damaged, "list"));
        }
        text
    }
}
