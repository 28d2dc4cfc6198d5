//! Passkeys: the public keys of browsers that log in without a code. They are stored with the sessions.
//!
//! A passkey is valid for one name of the pages. [`super::ceremonies`] makes and checks them.

use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// The maximum number of passkeys. Every device of a user needs one.
pub const MAX_PASSKEYS: usize = 32;

/// The maximum number of characters in the name of a passkey.
pub const MAX_NAME_LEN: usize = 60;

/// One passkey. Its private part is in the browser, or in a device beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passkey {
    /// The number that identifies the passkey.
    pub number: u64,
    /// The name, which is the user's word or the browser's own description.
    pub name: Untrusted,
    /// The name of the pages, without a port, under which it was made. Browsers show it under no other.
    pub domain: String,
    /// The data of its key.
    #[serde(flatten)]
    pub(super) key: PasskeyKey,
    /// The time at which it was made, in milliseconds since 1970.
    pub made_ms: i64,
    /// The time of the last login with it, in milliseconds since 1970. `None` before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_ms: Option<i64>,
}

/// The verified data of a passkey, in the encodings of the library that checks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PasskeyKey {
    /// The identifier that the browser chose.
    #[serde(with = "base64_text")]
    pub(super) credential: Vec<u8>,
    /// The identifier under which browsers keep the passkeys of these pages.
    #[serde(with = "base64_text")]
    pub(super) user: Vec<u8>,
    /// The public key.
    #[serde(with = "base64_text")]
    pub(super) public: Vec<u8>,
    /// The part that a login changes, such as the counter of signatures.
    #[serde(with = "base64_text")]
    pub(super) state: Vec<u8>,
}

/// All passkeys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passkeys {
    /// The highest number that was given.
    next: u64,
    /// The passkeys that were not removed.
    kept: Vec<Passkey>,
}

impl Passkeys {
    /// Returns whether no passkey was ever made. A number is not given twice, so the last one is kept.
    pub fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// Returns whether no passkey can be added.
    pub fn is_full(&self) -> bool {
        self.kept.len() >= MAX_PASSKEYS
    }

    /// Returns all passkeys, newest first.
    pub fn all(&self) -> impl Iterator<Item = &Passkey> {
        self.kept.iter().rev()
    }

    /// Returns the passkeys for this name of the pages, newest first.
    pub fn of(&self, domain: &str) -> impl Iterator<Item = &Passkey> {
        self.all().filter(move |one| one.domain == domain)
    }

    /// Returns the passkey that the browser identifies so.
    pub(super) fn by_credential(&self, domain: &str, credential: &[u8]) -> Option<&Passkey> {
        self.of(domain).find(|one| one.key.credential == credential)
    }

    /// Adds a verified passkey, and returns its number.
    pub(super) fn add(&mut self, name: &str, domain: &str, key: PasskeyKey, now_ms: i64) -> u64 {
        self.next += 1;
        self.kept.push(Passkey {
            number: self.next,
            name: Untrusted::new(name.chars().take(MAX_NAME_LEN).collect::<String>()),
            domain: domain.to_owned(),
            key,
            made_ms: now_ms,
            used_ms: None,
        });
        self.next
    }

    /// Records a login.
    pub(super) fn used(&mut self, number: u64, state: Vec<u8>, now_ms: i64) {
        if let Some(passkey) = self.kept.iter_mut().find(|one| one.number == number) {
            (passkey.key.state, passkey.used_ms) = (state, Some(now_ms));
        }
    }

    /// Removes a passkey. Returns whether it existed.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        let before = self.kept.len();
        self.kept.retain(|one| one.number != number);
        before != self.kept.len()
    }

    /// Removes all passkeys.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }

    /// Removes the passkeys of a name that the pages no longer have.
    pub fn forget(&mut self, domain: &str) {
        self.kept.retain(|one| one.domain != domain);
    }
}

/// Bytes as base64, in files.
mod base64_text {
    use base64::Engine as _;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        BASE64_URL_SAFE_NO_PAD.decode(text).map_err(D::Error::custom)
    }
}
