//! Which documents a worker may be handed.

/// The documents that a worker may get. Any others are refused before the model is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachments {
    /// How many there may be.
    pub max: u32,
    /// How many bytes they may have together.
    pub bytes: u64,
    /// How their names may end, in lower case with the point; empty: in any way.
    pub suffixes: Vec<String>,
    /// The types that their content may have: `application/pdf`, or `image/*` for all that begin so; empty: any type.
    pub types: Vec<String>,
}

/// The types that documents are found to be.
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

/// Types that stand for all that begin in the same way.
pub(crate) const MEDIA_FAMILIES: [&str; 2] = ["image/*", "text/*"];

impl Attachments {
    /// Returns the widest limits that can be stated: any number, size and kind of documents.
    pub fn any() -> Attachments {
        Attachments { max: 1_000, bytes: 1 << 40, suffixes: Vec::new(), types: Vec::new() }
    }

    /// Returns whether a document may be called so.
    pub fn takes(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        self.suffixes.is_empty() || self.suffixes.iter().any(|suffix| lower.ends_with(suffix.as_str()))
    }

    /// Returns whether a document's content may have this type. A document of unknown type fits no named type.
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
