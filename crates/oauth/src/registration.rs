//! The registration of Almoner at an authorization server (RFC 7591).

use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::discovery::AuthorizationServer;
use crate::error::OauthError;
use crate::http_client::{self, HttpClient, host};

/// The name under which Almoner registers.
const NAME: &str = "Almoner";

/// The way in which a client proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// It has no secret.
    Public,
    /// Its secret goes into the header.
    Header,
    /// Its secret goes into the form.
    Form,
}

/// A registered client.
#[derive(Clone, Debug)]
pub struct Client {
    /// The identifier.
    pub id: String,
    /// The secret, if the client has one.
    pub secret: Option<Zeroizing<String>>,
    /// The way in which the client proves who it is.
    pub authentication: ClientAuthentication,
}

impl Client {
    /// Returns a client that the user has registered. A client with a secret sends the secret in the header, as every
    /// server must accept.
    #[must_use]
    pub fn own(id: String, secret: Option<Zeroizing<String>>) -> Client {
        let authentication = match secret {
            Some(_) => ClientAuthentication::Header,
            None => ClientAuthentication::Public,
        };
        Client { id, secret, authentication }
    }
}

/// Registers Almoner at an authorization server.
///
/// # Errors
/// When the server registers no programs, or refuses.
pub fn register(
    server: &AuthorizationServer,
    redirect: &str,
    scope: Option<&str>,
    http: &dyn HttpClient,
) -> Result<Client, OauthError> {
    let endpoint = server
        .registration_endpoint
        .as_ref()
        .ok_or_else(|| OauthError::NoRegistration { host: server.issuer.clone() })?;
    let mut wish = json!({
        "client_name": NAME,
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    });
    if let Some(scope) = scope {
        wish["scope"] = Value::from(scope);
    }
    let (status, answer) = http_client::json(http, http_client::post_json(endpoint.url(), &wish))?;
    let place = host(endpoint.url());
    let text = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
    if !(200..300).contains(&status) {
        let code = text("error").unwrap_or_else(|| format!("it answered with the status {status}"));
        return Err(OauthError::Refused { host: place, code, description: text("error_description") });
    }
    let id = text("client_id").filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| OauthError::Invalid {
        host: place.clone(),
        reason: "it names no `client_id`".to_owned(),
    })?;
    let secret = text("client_secret").filter(|secret| !secret.is_empty()).map(Zeroizing::new);
    // A server may give a secret although none was asked for. The way to use it is the server's choice.
    let authentication = match (text("token_endpoint_auth_method").as_deref(), &secret) {
        (_, None) | (Some("none"), _) => ClientAuthentication::Public,
        (Some("client_secret_post"), Some(_)) => ClientAuthentication::Form,
        (None | Some("client_secret_basic"), Some(_)) => ClientAuthentication::Header,
        (Some(other), Some(_)) => {
            let reason = format!("it wants the client to prove itself by `{other}`");
            return Err(OauthError::Invalid { host: place, reason });
        }
    };
    Ok(Client { id, secret, authentication })
}
