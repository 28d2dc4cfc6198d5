//! API keys that clients brought along: in memory only, never written, never printed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use model::Secret;

/// The keys by variable.
#[derive(Default)]
pub struct Keys(Mutex<BTreeMap<String, Secret>>);

impl Keys {
    /// Takes over what a client has; what it does not have stays.
    pub fn merge(&self, keys: BTreeMap<String, String>) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.extend(keys.into_iter().map(|(name, value)| (name, Secret::new(value))));
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<Secret> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}
