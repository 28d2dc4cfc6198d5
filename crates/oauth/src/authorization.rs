//! The visit of the browser to an authorization server, and its way back.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use url::Url;
use zeroize::Zeroizing;

use crate::discovery::Discovery;
use crate::error::OauthError;
use crate::http_client::host;
use crate::registration::Client;

/// A login that waits for the person in the browser.
pub struct PendingLogin {
    /// The facts that were found about the server.
    pub discovery: Discovery,
    /// The client.
    pub client: Client,
    /// The address to which the browser is sent back.
    pub redirect: String,
    /// The scope that is asked for, if any.
    pub scope: Option<String>,
    state: String,
    verifier: Zeroizing<String>,
}

impl std::fmt::Debug for PendingLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingLogin").field("issuer", &self.discovery.server.issuer).finish_non_exhaustive()
    }
}

/// Returns the scope to ask for: the scopes that the server wants, and one that lets a login last, if it is known.
#[must_use]
pub(crate) fn scope(discovery: &Discovery, own: &[String]) -> Option<String> {
    let wanted = if own.is_empty() { &discovery.scopes } else { own };
    let mut all: Vec<&str> = wanted.iter().map(String::as_str).collect();
    // OpenID gives out no token for a later time without it.
    let lasting = "offline_access";
    if own.is_empty()
        && discovery.server.scopes.iter().any(|scope| scope == lasting)
        && !all.contains(&lasting)
    {
        all.push(lasting);
    }
    (!all.is_empty()).then(|| all.join(" "))
}

impl PendingLogin {
    /// Returns the scope that a login would ask for. `own` are the scopes that the user names.
    #[must_use]
    pub fn scope_for(discovery: &Discovery, own: &[String]) -> Option<String> {
        scope(discovery, own)
    }

    /// Prepares a login. `random` is 64 bytes that nobody can guess.
    #[must_use]
    pub fn new(
        discovery: Discovery,
        client: Client,
        redirect: String,
        scope: Option<String>,
        random: &[u8; 64],
    ) -> PendingLogin {
        let (verifier, state) = random.split_at(32);
        PendingLogin {
            discovery,
            client,
            redirect,
            scope,
            verifier: Zeroizing::new(URL_SAFE_NO_PAD.encode(verifier)),
            state: URL_SAFE_NO_PAD.encode(state),
        }
    }

    /// Returns the name of this login, which comes back with the browser.
    #[must_use]
    pub fn state(&self) -> &str {
        &self.state
    }

    pub(crate) fn verifier(&self) -> &str {
        &self.verifier
    }

    /// Returns the address for the browser.
    #[must_use]
    pub fn address(&self) -> Url {
        let mut url = self.discovery.server.authorization_endpoint.url().clone();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.as_bytes()));
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client.id)
            .append_pair("redirect_uri", &self.redirect)
            .append_pair("state", &self.state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &self.discovery.resource.to_string());
        if let Some(scope) = &self.scope {
            query.append_pair("scope", scope);
            if scope.split(' ').any(|one| one == "offline_access") {
                query.append_pair("prompt", "consent");
            }
        }
        drop(query);
        url
    }

    /// Returns the code in the address to which the browser was sent back.
    ///
    /// # Errors
    /// When the address is of another login or of another server, or the login was refused.
    pub fn code(&self, redirected: &str) -> Result<Zeroizing<String>, OauthError> {
        let foreign = OauthError::ForeignAnswer;
        let url = Url::parse(redirected.trim()).map_err(|_| foreign("it cannot be read"))?;
        let expected = Url::parse(&self.redirect).map_err(|_| foreign("it cannot be read"))?;
        if (url.origin(), url.path()) != (expected.origin(), expected.path()) {
            return Err(foreign("it is another address than the one of this login"));
        }
        let mut fields: [Option<String>; 5] = [const { None }; 5];
        for (name, value) in url.query_pairs() {
            let at =
                ["state", "iss", "error", "error_description", "code"].iter().position(|own| *own == name);
            let Some(field) = at.and_then(|at| fields.get_mut(at)) else { continue };
            if field.replace(value.into_owned()).is_some() {
                return Err(foreign("it says something twice"));
            }
        }
        let [state, issuer, error, description, code] = fields;
        if state.as_deref() != Some(self.state.as_str()) {
            return Err(foreign("its `state` is another one"));
        }
        let server = &self.discovery.server;
        let is_other = match &issuer {
            Some(named) => *named != server.issuer,
            None => server.names_itself,
        };
        if is_other {
            return Err(OauthError::OtherServer { named: issuer, expected: server.issuer.clone() });
        }
        let place = host(server.authorization_endpoint.url());
        if let Some(code) = error {
            return Err(OauthError::Refused { host: place, code, description });
        }
        let code = code.filter(|code| !code.is_empty()).map(Zeroizing::new);
        code.ok_or_else(|| OauthError::Invalid { host: place, reason: "it gives out no code".to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::AuthorizationServer;
    use crate::server_url::ServerUrl;

    fn pending(names_itself: bool) -> PendingLogin {
        let url = |text: &str| ServerUrl::parse(text).unwrap();
        let server = AuthorizationServer {
            issuer: "https://login.example".to_owned(),
            authorization_endpoint: url("https://login.example/authorize?tenant=1"),
            token_endpoint: url("https://login.example/token"),
            registration_endpoint: None,
            revocation_endpoint: None,
            scopes: vec!["openid".to_owned(), "offline_access".to_owned()],
            names_itself,
        };
        let discovery =
            Discovery { resource: url("https://mcp.example/mcp"), server, scopes: vec!["files".to_owned()] };
        let scope = scope(&discovery, &[]);
        let client = Client::own("me".to_owned(), None);
        let mut random = [7; 64];
        random[32..].fill(9);
        PendingLogin::new(discovery, client, "http://127.0.0.1:5/callback".to_owned(), scope, &random)
    }

    #[test]
    fn browser_is_sent_with_pkce_and_the_resource() {
        let login = pending(true);
        let address = login.address().to_string();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(URL_SAFE_NO_PAD.encode([7; 32])));
        for part in [
            "https://login.example/authorize?tenant=1&response_type=code&client_id=me",
            "redirect_uri=http%3A%2F%2F127.0.0.1%3A5%2Fcallback",
            &format!("code_challenge={challenge}&code_challenge_method=S256"),
            "resource=https%3A%2F%2Fmcp.example%2Fmcp",
            "scope=files+offline_access&prompt=consent",
        ] {
            assert!(address.contains(part), "{part}: {address}");
        }
        assert!(!address.contains(login.verifier()) && !format!("{login:?}").contains(login.verifier()));
    }

    #[test]
    fn only_the_answer_of_this_login_is_taken() {
        let back = |login: &PendingLogin, rest: &str| {
            let state = login.state();
            login.code(&format!("http://127.0.0.1:5/callback?{}", rest.replace("STATE", state)))
        };
        let login = pending(true);
        let good = "code=abc&state=STATE&iss=https%3A%2F%2Flogin.example";
        assert_eq!(back(&login, good).unwrap().as_str(), "abc");
        for (rest, reason) in [
            ("code=abc&state=other&iss=https://login.example", "`state`"),
            ("code=abc&iss=https://login.example", "`state`"),
            (
                "code=abc&state=STATE&iss=https://evil.example",
                "another login server, https://evil.example, and this login is at https://login.example; the login is refused",
            ),
            ("error=x&state=STATE&iss=https://evil.example", "another login server, https://evil.example"),
            (
                "code=abc&state=STATE",
                "does not say which login server it comes from, and https://login.example promises",
            ),
            ("code=a&code=b&state=STATE&iss=https://login.example", "twice"),
            ("state=STATE&iss=https://login.example", "no code"),
            (
                "error=access_denied&error_description=no&state=STATE&iss=https://login.example",
                "access_denied (no)",
            ),
        ] {
            let error = back(&login, rest).unwrap_err().to_string();
            assert!(error.contains(reason), "{rest}: {error}");
        }
        assert!(login.code("http://127.0.0.1:6/callback?code=abc").is_err());
        assert!(login.code("http://127.0.0.1:5/other?code=abc").is_err());
        assert!(login.code("nonsense").is_err());
        assert!(back(&pending(false), "code=abc&state=STATE").is_ok());
        assert!(back(&pending(false), "code=abc&state=STATE&iss=https://evil.example").is_err());
    }
}
