//! The kinds of things in a directory or a tree of files.

/// The kind of a part that was looked up in a directory or a tree of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A directory.
    Directory,
    /// A file.
    File,
    /// A directory of a tree that never changes.
    Tree,
    /// A file of a tree that never changes.
    Blob,
}
