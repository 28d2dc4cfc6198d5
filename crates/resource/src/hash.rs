//! Hashes of blobs, which are kept beside the store.

use std::fmt;
use std::str::FromStr;

use crate::hex::{Digits, from_hex, serde_as_text, to_hex};

/// The error for a text that is not an identifier of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {wanted}")]
pub struct BadId {
    /// The text that was given.
    pub text: String,
    /// The expected form, as a phrase ("a run like r17").
    pub wanted: &'static str,
}

/// The BLAKE3 hash of a blob, which is kept beside the store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobHash(pub [u8; 32]);

impl BlobHash {
    /// Returns the hash of `bytes`.
    pub fn of(bytes: &[u8]) -> BlobHash {
        BlobHash(*blake3::hash(bytes).as_bytes())
    }

    /// Returns the first eight digits of the hash, for people.
    pub fn short(&self) -> String {
        to_hex(&self.0).as_str()[..8].to_owned()
    }
}

impl fmt::Display for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(to_hex(&self.0).as_str())
    }
}

impl fmt::Debug for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobHash({})", self.short())
    }
}

impl FromStr for BlobHash {
    type Err = BadId;

    fn from_str(text: &str) -> Result<BlobHash, BadId> {
        from_hex(text.as_bytes())
            .map(BlobHash)
            .ok_or_else(|| BadId { text: text.to_owned(), wanted: "64 hex digits" })
    }
}

impl BlobHash {
    fn digits(&self) -> Digits<64> {
        to_hex(&self.0)
    }
}

serde_as_text!(BlobHash);
