//! API keys that clients bring along. They stay in memory: they are never written and never printed.
//!
//! A key belongs to one server. The daemon keeps the key under the server address from the same client's variables,
//! and gives it out for that address alone. A later client with other variables changes nothing for runs that go to
//! another server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use model::served::COMPAT_KEY;
use model::{ModelRef, Secret, Vendor};

use control::protocol::ClientKeys;

/// The keys, by variable and server address.
#[derive(Default)]
pub struct KeyStore(Mutex<BTreeMap<(&'static str, Option<String>), Secret>>);

impl KeyStore {
    /// Keeps the vendors' keys of a client, each for the server address from the same client's variables.
    pub fn add_vendor_keys(&self, brought: &ClientKeys) {
        let beside = |name: &str| brought.get(name).map(|value| Secret::new(value.as_str()));
        for vendor in Vendor::ALL {
            let unnamed = ModelRef::Vendor { vendor, base_url: None, model: String::new(), key: None };
            // If the address is invalid, its key is not kept.
            if let Ok(ModelRef::Vendor { base_url, .. }) = unnamed.pinned(&beside) {
                for variable in vendor.keys() {
                    self.keep(variable, base_url.clone(), beside(variable));
                }
            }
        }
    }

    /// Keeps the key for a compatible server: the server of the run that is being started or resumed. If the run's
    /// models are on several servers, the key's owner is unknown and the key is not kept.
    pub fn add_server_key(&self, models: &[String], brought: &ClientKeys) {
        let servers: BTreeSet<String> = models
            .iter()
            .flat_map(|model| model::parse_list(model).unwrap_or_default())
            .filter_map(|model| match model {
                // A model with a key of its own uses no other key.
                ModelRef::Compat { base_url, key: None, .. } => Some(base_url),
                _ => None,
            })
            .collect();
        if let (Some(server), 1) = (servers.first(), servers.len()) {
            let key = brought.get(COMPAT_KEY).map(|value| Secret::new(value.as_str()));
            self.keep(COMPAT_KEY, Some(server.clone()), key);
        }
    }

    fn keep(&self, variable: &'static str, server: Option<String>, key: Option<Secret>) {
        // A client without a key does not remove the key of an earlier client.
        if let Some(key) = key.filter(|key| !key.reveal().trim().is_empty()) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((variable, server), key);
        }
    }

    /// Returns whether the store has a key for the model's vendor, for whichever server.
    pub fn is_for_another(&self, reference: &ModelRef) -> bool {
        let ModelRef::Vendor { vendor, .. } = reference else { return false };
        let keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.keys().any(|(name, _)| vendor.keys().contains(name))
    }

    /// Returns the key for a model's server, by the name of its variable. The server's address comes from the model
    /// reference.
    pub fn get(&self, variable: &str, reference: &ModelRef) -> Option<Secret> {
        // If the reference names a key of the vault, that key is used.
        if reference.key().is_some() {
            return None;
        }
        let place = match reference {
            ModelRef::Vendor { vendor, base_url, .. } => {
                let own = vendor.keys().iter().find(|own| **own == variable)?;
                (*own, base_url.clone())
            }
            ModelRef::Compat { base_url, .. } if variable == COMPAT_KEY => {
                (COMPAT_KEY, Some(base_url.clone()))
            }
            _ => return None,
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&place).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::vendor_keys::variables;

    fn client_keys(vars: &[(&str, &str)]) -> ClientKeys {
        vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[track_caller]
    fn check(keys: &KeyStore, model: &str, expected: Option<&str>) {
        let reference: ModelRef = model.parse().unwrap();
        let got: Vec<Secret> = variables().filter_map(|name| keys.get(name, &reference)).collect();
        assert_eq!(got.iter().map(Secret::reveal).collect::<Vec<_>>(), Vec::from_iter(expected), "{model}");
    }

    #[test]
    fn key_is_used_only_for_the_address_set_with_it() {
        let keys = KeyStore::default();
        keys.add_vendor_keys(&client_keys(&[
            ("OPENAI_API_KEY", "own"),
            ("OPENAI_BASE_URL", "https://own/v1/"),
        ]));
        check(&keys, "openai:https://own/v1#m", Some("own"));
        check(&keys, "openai:m", None);
        // Another client brings a key for OpenAI's own server.
        keys.add_vendor_keys(&client_keys(&[("OPENAI_API_KEY", "theirs"), ("ALMONER_COMPAT_KEY", "c")]));
        check(&keys, "openai:https://own/v1#m", Some("own"));
        check(&keys, "openai:m", Some("theirs"));
        // An address without a key, an empty key, an invalid address and an empty set change nothing.
        keys.add_vendor_keys(&client_keys(&[("OPENAI_BASE_URL", "https://own/v1")]));
        keys.add_vendor_keys(&client_keys(&[("OPENAI_API_KEY", " ")]));
        keys.add_vendor_keys(&client_keys(&[("OPENAI_API_KEY", "lost"), ("OPENAI_BASE_URL", "no address")]));
        keys.add_vendor_keys(&client_keys(&[]));
        check(&keys, "openai:m", Some("theirs"));
        // A newer key for the same server takes the place of the older one.
        keys.add_vendor_keys(&client_keys(&[("OPENAI_API_KEY", "new")]));
        check(&keys, "openai:other", Some("new"));
        check(&keys, "openai-responses:other", Some("new"));
        // Each vendor gets its own key only.
        check(&keys, "anthropic:m", None);
        keys.add_vendor_keys(&client_keys(&[("ANTHROPIC_API_KEY", "a"), ("GOOGLE_API_KEY", "g")]));
        check(&keys, "anthropic:m", Some("a"));
        check(&keys, "gemini:m", Some("g"));
        check(&keys, "anthropic:https://own/v1#m", None);
        for other in ["ollama:m", "ollama:https://own/v1#m", "compat:https://own/v1#m", "local"] {
            check(&keys, other, None);
        }
    }

    #[test]
    fn compat_key_is_used_only_for_the_server_named_with_it() {
        let keys = KeyStore::default();
        let model = |name: &str| format!("compat:https://{name}/v1#m");
        keys.add_server_key(
            &[model("a"), model("a"), "openai:m".to_owned()],
            &client_keys(&[("ALMONER_COMPAT_KEY", "a")]),
        );
        keys.add_server_key(&[model("b")], &client_keys(&[("ALMONER_COMPAT_KEY", "b")]));
        // With two servers, the owner of the key is unknown.
        keys.add_server_key(&[model("a"), model("c")], &client_keys(&[("ALMONER_COMPAT_KEY", "c")]));
        keys.add_server_key(&[model("a")], &client_keys(&[]));
        check(&keys, &model("a"), Some("a"));
        check(&keys, &model("b"), Some("b"));
        check(&keys, &model("c"), None);
        check(&keys, "openai:https://a/v1#m", None);
    }
}
