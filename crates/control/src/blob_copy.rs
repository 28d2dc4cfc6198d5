//! Copies of bytes out of the store, and the space that garbage collection freed.

use serde::{Deserialize, Serialize};

/// Bytes beside the store, as a copy that leaves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copy {
    /// The bytes, if they are text.
    pub text: Option<String>,
    /// The bytes in Base64, if they are not.
    pub base64: Option<String>,
    /// Whether values of the vault were taken out of it, or all of it was left out because of one.
    #[serde(default)]
    pub redacted: bool,
}

/// The result of a garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreedSpace {
    /// How many formulas were collected.
    pub formulas: u64,
    /// How many blobs were removed.
    pub blobs: u64,
    /// How many bytes these had.
    pub bytes: u64,
    /// How many lists of others were found damaged.
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
