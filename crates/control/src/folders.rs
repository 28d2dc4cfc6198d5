//! Directories of this machine, as a user walks through them to choose one.

use passable::Untrusted;

/// The content of a directory, as far as a user can choose from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderList {
    /// The real path of the directory, behind all links.
    pub path: String,
    /// The directory above, if there is one.
    pub parent: Option<String>,
    /// The directories in it, and the files that can be chosen, by name.
    pub entries: Vec<FolderEntry>,
    /// The number of entries that are not listed, because there are too many or their names are no text.
    pub left_out: usize,
    /// The reason why the directory itself cannot be handed to a worker, or `None` if it can.
    pub refusal: Option<Untrusted>,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEntry {
    /// The name, which anybody may have chosen.
    pub name: Untrusted,
    /// The path, behind all links.
    pub path: String,
    /// Whether the entry is a file.
    pub is_file: bool,
    /// Whether the name is a link that leads elsewhere.
    pub is_link: bool,
}
