//! The documents that a worker accepts.

/// The limits for the documents that a worker accepts. Other documents are refused before the model is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachments {
    /// The maximum number of documents.
    pub max: u32,
    /// The maximum size of all documents together, in bytes.
    pub bytes: u64,
    /// The allowed endings of names, in lower case and with the point. If the list is empty, all are allowed.
    pub suffixes: Vec<String>,
    /// The allowed media types of the content: `application/pdf`, or `image/*` for all images. If the list is empty,
    /// all are allowed.
    pub types: Vec<String>,
}

/// The media types that the program can recognize.
pub const MEDIA_TYPES: [&str; 10] = [
    "application/json",
    "application/pdf",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
    "message/rfc822",
    "text/csv",
    "text/markdown",
    "text/plain",
];

/// The wildcard types, which stand for all types with this beginning.
pub(crate) const MEDIA_FAMILIES: [&str; 2] = ["image/*", "text/*"];

impl Attachments {
    /// Returns limits that allow any documents that a file can allow.
    pub fn any() -> Attachments {
        Attachments { max: 1_000, bytes: 1 << 40, suffixes: Vec::new(), types: Vec::new() }
    }

    /// Returns whether a document may have this name.
    pub fn takes(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        self.suffixes.is_empty() || self.suffixes.iter().any(|suffix| lower.ends_with(suffix.as_str()))
    }

    /// Returns whether a document's content may have this type. A document of unknown type is only allowed if all
    /// types are.
    pub fn takes_type(&self, media_type: &str) -> bool {
        let fits = |own: &String| match own.strip_suffix('*') {
            Some(family) => media_type.starts_with(family),
            None => own == media_type,
        };
        self.types.is_empty() || self.types.iter().any(fits)
    }
}

impl Default for Attachments {
    fn default() -> Attachments {
        Attachments { max: 4, bytes: 10 << 20, suffixes: Vec::new(), types: Vec::new() }
    }
}
