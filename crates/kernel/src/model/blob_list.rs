//! Lists of blobs: blobs that name other blobs, and keep them.

/// The first line of a request to a model, as the store keeps it: a list of its messages, which are blobs of their own.
pub const REQUEST_LIST: &[u8] = b"almoner request\n";
