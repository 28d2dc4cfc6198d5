//! API keys that clients brought along: in memory only, never written, never printed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use model::Secret;

/// The keys by variable, as one client had them: a key is never used with an address that came from elsewhere.
#[derive(Default)]
pub struct Keys(Mutex<BTreeMap<String, Secret>>);

impl Keys {
    /// Takes over what a client has, all of it; a client that has nothing changes nothing.
    pub fn take(&self, keys: BTreeMap<String, String>) {
        if !keys.is_empty() {
            let keys = keys.into_iter().map(|(name, value)| (name, Secret::new(value))).collect();
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = keys;
        }
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<Secret> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}
