//! The contents of the vault, and their serialized form inside the encryption.

use std::collections::BTreeMap;

use resource::web::Origin;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::error::VaultError;
use crate::login::Login;
use crate::secret::Secret;

/// The maximum size of a value, in bytes.
pub const MAX_VALUE_LEN: usize = 64 << 10;

/// The maximum number of secrets.
const MAX_SECRETS: usize = 1000;

/// The maximum number of logins.
const MAX_LOGINS: usize = 200;

/// The version of the serialized form.
const VERSION: u32 = 1;

/// A secret with its allowed servers and its times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The value.
    pub value: Secret,
    /// The servers to which the value may be sent. If the list is empty, it is sent to no server.
    #[serde(default)]
    pub origins: Vec<Origin>,
    /// The time at which the secret was first set, in milliseconds since 1970.
    pub set_ms: i64,
    /// The time at which the present value was set, in milliseconds since 1970.
    pub changed_ms: i64,
}

/// All secrets, and the key that seals the values of forms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Contents {
    version: u32,
    pub(crate) secrets: BTreeMap<String, Entry>,
    /// The key that seals the values of forms, as hexadecimal digits.
    #[serde(default)]
    pub(crate) sealing: Option<Secret>,
    /// The logins, by the addresses of the servers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) logins: BTreeMap<String, Login>,
}

impl Contents {
    pub(crate) fn new() -> Contents {
        Contents { version: VERSION, secrets: BTreeMap::new(), sealing: None, logins: BTreeMap::new() }
    }

    /// Returns the serialized contents, in one block of memory that is wiped when it is dropped.
    pub(crate) fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, String> {
        // The block has room for everything from the start. If it grew, it would be moved, and the old memory would
        // not be wiped.
        let each = |(name, entry): (&String, &Entry)| {
            let origins: usize = entry.origins.iter().map(|origin| origin.to_string().len() + 8).sum();
            // An escape sequence turns one byte into six.
            name.len() + 6 * entry.value.reveal().len() + origins + 128
        };
        let room: usize = self.secrets.iter().map(each).sum();
        let logins: usize = self.logins.iter().map(|(server, login)| 6 * server.len() + login.room()).sum();
        let mut bytes = Zeroizing::new(Vec::with_capacity(room + logins + 512));
        serde_json::to_writer(&mut *bytes, self).map_err(|e| e.to_string())?;
        Ok(bytes)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Contents, String> {
        // A parser's message could repeat a value, so only the place of the error is kept.
        let contents: Contents = serde_json::from_slice(bytes)
            .map_err(|e| format!("its inside is not in order (byte {})", e.column()))?;
        if contents.version != VERSION {
            return Err(format!("it is of version {}, and this program knows {VERSION}", contents.version));
        }
        Ok(contents)
    }

    /// Sets the value of a secret. Without new servers, an existing secret keeps its servers.
    pub(crate) fn set(
        &mut self,
        name: &str,
        value: Secret,
        origins: Option<Vec<Origin>>,
        now_ms: i64,
    ) -> Result<(), VaultError> {
        check_name(name)?;
        let got = value.reveal().len();
        if got == 0 || got > MAX_VALUE_LEN {
            return Err(VaultError::Size { got });
        }
        let is_full = self.secrets.len() >= MAX_SECRETS;
        match self.secrets.get_mut(name) {
            Some(entry) => {
                entry.value = value;
                entry.changed_ms = now_ms;
                if let Some(origins) = origins {
                    entry.origins = origins;
                }
            }
            None if is_full => return Err(VaultError::Full(MAX_SECRETS)),
            None => {
                let origins = origins.unwrap_or_default();
                let entry = Entry { value, origins, set_ms: now_ms, changed_ms: now_ms };
                self.secrets.insert(name.to_owned(), entry);
            }
        }
        Ok(())
    }
}

impl Contents {
    /// Sets the login at a server.
    pub(crate) fn set_login(&mut self, server: &str, login: Login) -> Result<(), VaultError> {
        let largest = login.secrets().map(|secret| secret.reveal().len()).max().unwrap_or_default();
        if largest > MAX_VALUE_LEN {
            return Err(VaultError::Size { got: largest });
        }
        if self.logins.len() >= MAX_LOGINS && !self.logins.contains_key(server) {
            return Err(VaultError::Full(MAX_LOGINS));
        }
        self.logins.insert(server.to_owned(), login);
        Ok(())
    }
}

/// Checks that a text can be the name of a secret.
///
/// # Errors
/// [`VaultError::Name`].
pub fn check_name(name: &str) -> Result<(), VaultError> {
    let fits = resource::secret::is_name(name);
    // A user may have typed a value in the place of the name, and the message must not show it.
    let shown = || if name.len() <= 20 { name.to_owned() } else { "what was given".to_owned() };
    fits.then_some(()).ok_or_else(|| VaultError::Name(shown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_secret_names_are_refused() {
        for name in ["A", "GITHUB_TOKEN", "api.key-2"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "1", "_a", "a b", "a/b", "ä", "a=b", &"a".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
        let error = check_name("sk-proj-0123456789abcdefghij klm").unwrap_err();
        assert!(!error.to_string().contains("0123456789"));
    }

    #[test]
    fn contents_round_trip_and_errors_hide_values() {
        let mut contents = Contents::new();
        let origins = vec!["https://a.example".parse().unwrap()];
        contents.set("A", Secret::new("\u{1}\"\\ü".repeat(100)), Some(origins), 5).unwrap();
        let bytes = contents.to_bytes().unwrap();
        assert_eq!(Contents::from_bytes(&bytes).unwrap(), contents);
        assert!(Contents::from_bytes(b"{\"version\":2,\"secrets\":{}}").is_err());
        let error =
            Contents::from_bytes(b"{\"version\":1,\"secrets\":{\"A\":{\"value\":swordfish}}}").unwrap_err();
        assert!(!error.contains("swordfish"), "{error}");
    }

    #[test]
    fn new_value_keeps_servers_and_first_date() {
        let mut contents = Contents::new();
        let origins: Vec<Origin> = vec!["https://a.example".parse().unwrap()];
        contents.set("A", Secret::new("one"), Some(origins.clone()), 5).unwrap();
        contents.set("A", Secret::new("two"), None, 9).unwrap();
        let entry = &contents.secrets["A"];
        assert_eq!((entry.value.reveal(), &entry.origins), ("two", &origins));
        assert_eq!((entry.set_ms, entry.changed_ms), (5, 9));
        assert!(matches!(contents.set("A", Secret::new(""), None, 9), Err(VaultError::Size { got: 0 })));
    }
}
