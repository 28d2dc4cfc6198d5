//! The canonical bytes of values, and their BLAKE3 hashes. Equal values have equal fingerprints, on every machine and
//! forever.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::codec::smallcaps;
use crate::value::{Reference, Value};

/// A BLAKE3 hash, which is shown and stored as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// Returns the hash of some bytes.
    pub fn of(bytes: &[u8]) -> Hash {
        Hash(*blake3::hash(bytes).as_bytes())
    }

    /// Returns the 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads a hash in the form that `Display` writes.
    pub fn from_hex(hex: &str) -> Option<Hash> {
        blake3::Hash::from_hex(hex).ok().filter(|hash| *hash.to_hex() == *hex).map(|hash| Hash(hash.into()))
    }
}

impl From<[u8; 32]> for Hash {
    fn from(bytes: [u8; 32]) -> Self {
        Hash(bytes)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&blake3::Hash::from(self.0).to_hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Hash({self})")
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = String::deserialize(deserializer)?;
        Hash::from_hex(&hex).ok_or_else(|| serde::de::Error::custom("not 64 lower-case hexadecimal digits"))
    }
}

/// Appends bytes with their length before them (eight bytes, big-endian). A sequence of such parts can be read back
/// in only one way.
pub fn push_prefixed(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&(part.len() as u64).to_be_bytes());
    out.extend_from_slice(part);
}

/// Returns the canonical bytes of a value. They are its smallcaps body without alleged interface names, the number of
/// slots, and the slots in order of first occurrence. The body and each slot have their length before them.
pub fn canonical_bytes<C: Reference + AsRef<[u8]>>(value: &Value<C>) -> Vec<u8> {
    let data = smallcaps::encode_canonical(value);
    let mut out = Vec::with_capacity(data.body.len() + 16 + 40 * data.slots.len());
    push_prefixed(&mut out, data.body.as_bytes());
    out.extend_from_slice(&(data.slots.len() as u64).to_be_bytes());
    for slot in &data.slots {
        push_prefixed(&mut out, slot.as_ref());
    }
    out
}

/// Returns the BLAKE3 hash of the [`canonical_bytes`].
///
/// ```
/// use passable::{Value, fingerprint};
/// let one: Value = Value::record([("a", Value::number(0.0)), ("b", Value::null())])?;
/// let two: Value = Value::record([("b", Value::null()), ("a", Value::number(-0.0))])?;
/// assert_eq!(fingerprint(&one), fingerprint(&two));
/// # Ok::<(), passable::ValueError>(())
/// ```
pub fn fingerprint<C: Reference + AsRef<[u8]>>(value: &Value<C>) -> Hash {
    Hash::of(&canonical_bytes(value))
}
