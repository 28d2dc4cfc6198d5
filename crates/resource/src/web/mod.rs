//! Places of the web: the targets of an endowment, of a pinned secret, and of a call.
//!
//! There is one way to write each place. Text that can be read in two ways is rejected here, so that no later check
//! has to consider it. Examples are a user before the host, an address in octal, a dot at the end, and a
//! percent-encoded slash.

mod address;
mod origin;
mod path;

use core::net::IpAddr;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use address::{AddressScope, address_scope};
pub use origin::{BadPlace, Host, Origin, Scheme};
pub use path::{PlainPath, covers};

/// A server, and the part of it under a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// The server.
    pub origin: Origin,
    /// The path above everything in the place. `/` means the whole server.
    pub path: String,
}

impl Place {
    /// Reads `https://host[:port][/path]`.
    ///
    /// # Errors
    /// When the text can be read in two ways, or has a query or a fragment.
    pub fn parse(text: &str) -> Result<Place, BadPlace> {
        let (origin, rest) = Origin::split(text)?;
        let path = match rest {
            "" | "/" => "/".to_owned(),
            rest if rest.contains(['?', '#']) => return Err(BadPlace::Query),
            rest => PlainPath::parse(rest.strip_suffix('/').unwrap_or(rest))?.into_string(),
        };
        Ok(Place { origin, path })
    }

    /// Returns whether a path on a server is in this place.
    pub fn holds(&self, origin: &Origin, path: &str) -> bool {
        self.origin == *origin && covers(&self.path, path)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.origin, if self.path == "/" { "" } else { &self.path })
    }
}

/// A part of the web that a person hands over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Web {
    /// The targets of calls. Paths are relative to the first place. The first place may redirect to the others.
    pub places: Vec<Place>,
    /// The HTTP methods that may be used, in capitals.
    pub methods: BTreeSet<String>,
    /// The secret that is sent with requests, and the way to send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretUse>,
    /// The name of the header for an idempotency key, which makes a repeated request harmless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency: Option<String>,
    /// The address that the first place's name must have. It need not be public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
}

/// The way to send a secret with requests. The value is inserted just before the request is sent, and only for
/// servers to which the secret is pinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretUse {
    /// The secret's name in the vault.
    pub name: String,
    /// The name of the header, in lower case.
    pub header: String,
    /// The text before the value, such as `Bearer ` in an `authorization` header.
    pub before: String,
}

impl Web {
    /// Describes the part of the web in a few words.
    pub fn summary(&self) -> String {
        let places: Vec<String> = self.places.iter().map(ToString::to_string).collect();
        let methods: Vec<&str> = self.methods.iter().map(String::as_str).collect();
        let key = self.secret.as_ref().map(|used| format!(", with the secret {}", used.name));
        format!("{} ({}{})", places.join(" and "), methods.join(", "), key.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_holds_only_paths_under_its_own() {
        for (text, expected) in [
            ("https://api.example.com", Ok("https://api.example.com")),
            ("https://api.example.com/", Ok("https://api.example.com")),
            ("HTTPS://API.Example.com:443/v1/", Ok("https://api.example.com/v1")),
            ("https://api.example.com/v1?x=1", Err(())),
            ("https://api.example.com/v1#x", Err(())),
            ("https://api.example.com/v1/../v2", Err(())),
        ] {
            let got = Place::parse(text).map(|place| place.to_string()).map_err(|_| ());
            assert_eq!(got, expected.map(str::to_owned), "{text}");
        }
        let place = Place::parse("https://api.example.com/v1").unwrap();
        for (origin, path, held) in [
            ("https://api.example.com", "/v1", true),
            ("https://api.example.com", "/v1/things", true),
            ("https://api.example.com", "/v10", false),
            ("https://api.example.com", "/", false),
            ("https://api.example.com:8443", "/v1", false),
            ("http://api.example.com", "/v1", false),
            ("https://api.example.com.evil.net", "/v1", false),
        ] {
            assert_eq!(place.holds(&origin.parse().unwrap(), path), held, "{origin}{path}");
        }
    }
}
