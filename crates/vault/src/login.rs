//! A login at a server, with its tokens.

use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// A login at the authorization server of one server. The tokens are for that server and for no other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Login {
    /// The authorization server.
    pub issuer: String,
    /// The server, as the tokens name it.
    pub resource: String,
    /// The address that gives out tokens.
    pub token_endpoint: String,
    /// The address that takes tokens back, if the authorization server names one.
    #[serde(default)]
    pub revocation_endpoint: Option<String>,
    /// The identifier of this program there.
    pub client_id: String,
    /// The secret of this program there, if it has one.
    #[serde(default)]
    pub client_secret: Option<Secret>,
    /// Whether that secret goes into the form of a request, and not into a header.
    #[serde(default)]
    pub secret_in_form: bool,
    /// The token for requests.
    pub access: Secret,
    /// The token that gets other tokens.
    #[serde(default)]
    pub refresh: Option<Secret>,
    /// The time at which the token for requests ends, in milliseconds since 1970, if it is known.
    #[serde(default)]
    pub expires_ms: Option<i64>,
    /// The scope of the tokens, if it is known.
    #[serde(default)]
    pub scope: Option<String>,
    /// The time of the login, in milliseconds since 1970.
    pub since_ms: i64,
}

impl Login {
    /// Returns all values that must never be shown.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        [Some(&self.access), self.refresh.as_ref(), self.client_secret.as_ref()].into_iter().flatten()
    }

    /// Returns the room that the login needs in the serialized form, in bytes.
    pub(crate) fn room(&self) -> usize {
        let texts = [&self.issuer, &self.resource, &self.token_endpoint, &self.client_id];
        let plain: usize = texts.iter().map(|text| text.len()).sum();
        let more = [&self.scope, &self.revocation_endpoint].into_iter().flatten().map(String::len);
        let more: usize = more.sum();
        // An escape sequence turns one byte into six.
        let secret: usize = self.secrets().map(|secret| secret.reveal().len()).sum();
        6 * (plain + more + secret) + 512
    }
}
