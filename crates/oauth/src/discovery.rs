//! The discovery of the authorization server of a server (RFC 9728, RFC 8414, OpenID Connect Discovery).

use serde_json::Value;
use url::Url;

use crate::challenge::Challenge;
use crate::error::OauthError;
use crate::http_client::{HttpClient, get, host, json};
use crate::server_url::ServerUrl;

/// The path of the document about a protected server.
const RESOURCE: &str = "/.well-known/oauth-protected-resource";
/// The path of the document about an authorization server.
const SERVER: &str = "/.well-known/oauth-authorization-server";
/// The same in the words of OpenID.
const OPENID: &str = "/.well-known/openid-configuration";

/// An authorization server, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationServer {
    /// The name by which the server goes, which is an address.
    pub issuer: String,
    /// The address for the browser.
    pub authorization_endpoint: ServerUrl,
    /// The address that gives out tokens.
    pub token_endpoint: ServerUrl,
    /// The address that registers programs.
    pub registration_endpoint: Option<ServerUrl>,
    /// The address that takes tokens back.
    pub revocation_endpoint: Option<ServerUrl>,
    /// The scopes that the server knows.
    pub scopes: Vec<String>,
    /// Whether the server says who it is when it sends the browser back (RFC 9207).
    pub names_itself: bool,
}

/// The result of a discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// The server as the tokens name it.
    pub resource: ServerUrl,
    /// The authorization server.
    pub server: AuthorizationServer,
    /// The scopes to ask for, as the server asks for them.
    pub scopes: Vec<String>,
}

/// Finds the authorization server of a server. `challenge` is the header with which the server refused a request.
///
/// # Errors
/// When the server publishes nothing about its logins, or something that cannot be trusted.
pub fn discover(
    server: &ServerUrl,
    challenge: Option<&str>,
    http: &dyn HttpClient,
) -> Result<Discovery, OauthError> {
    let challenge = challenge.and_then(Challenge::parse).unwrap_or_default();
    let (resource, issuer, scopes) = match protected_resource(server, &challenge, http)? {
        Some((resource, issuer, scopes)) => (resource, issuer, scopes),
        // Before the document existed, the server itself was the authorization server.
        None => (server.clone(), ServerUrl::parse(&host(server.url()))?, vec![]),
    };
    let found = authorization_server(&issuer, http)?;
    let scopes = match challenge.scope {
        Some(scope) => scope.split_whitespace().map(str::to_owned).collect(),
        None => scopes,
    };
    Ok(Discovery { resource, server: found, scopes })
}

fn texts(value: &Value, name: &str) -> Vec<String> {
    let list = value.get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|item| Some(item.as_str()?.to_owned())).collect()
}

/// Returns the name of the protected server, the address of its authorization server, and the scopes.
fn protected_resource(
    server: &ServerUrl,
    challenge: &Challenge,
    http: &dyn HttpClient,
) -> Result<Option<(ServerUrl, ServerUrl, Vec<String>)>, OauthError> {
    let mut places = Vec::new();
    for text in &challenge.resource_metadata {
        places.push(server.named(text)?.url().clone());
    }
    let path = server.url().path().trim_end_matches('/');
    if !path.is_empty() {
        places.push(beside(server.url(), &format!("{RESOURCE}{path}")));
    }
    places.push(beside(server.url(), RESOURCE));
    for place in places {
        let (status, document) = json(http, get(&place))?;
        if status != 200 || !document.is_object() {
            continue;
        }
        let invalid = |reason: &str| OauthError::Invalid { host: host(&place), reason: reason.to_owned() };
        let named = document.get("resource").and_then(Value::as_str);
        let named = named.ok_or_else(|| invalid("the document about its logins names no server"))?;
        let resource = server.named(named)?;
        // A document of another server would send the tokens of that server to this one.
        if !server.is_within(&resource) {
            return Err(invalid("the document about its logins is about another server"));
        }
        let issuers = texts(&document, "authorization_servers");
        let issuer = issuers.first().ok_or_else(|| invalid("it names no authorization server"))?;
        return Ok(Some((resource, server.named(issuer)?, texts(&document, "scopes_supported"))));
    }
    Ok(None)
}

/// Returns the address with another path on the same server.
fn beside(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url
}

fn authorization_server(
    issuer: &ServerUrl,
    http: &dyn HttpClient,
) -> Result<AuthorizationServer, OauthError> {
    let url = issuer.url();
    let path = url.path().trim_end_matches('/').to_owned();
    let places = match path.is_empty() {
        true => vec![beside(url, SERVER), beside(url, OPENID)],
        false => vec![
            beside(url, &format!("{SERVER}{path}")),
            beside(url, &format!("{OPENID}{path}")),
            beside(url, &format!("{path}{OPENID}")),
        ],
    };
    for place in places {
        let (status, document) = json(http, get(&place))?;
        if status == 200 && document.is_object() {
            return described(issuer, &place, &document);
        }
    }
    Err(OauthError::NoMetadata { host: host(url) })
}

fn described(issuer: &ServerUrl, place: &Url, document: &Value) -> Result<AuthorizationServer, OauthError> {
    let invalid = |reason: String| OauthError::Invalid { host: host(place), reason };
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    let needed = |name: &str| text(name).ok_or_else(|| invalid(format!("it names no `{name}`")));
    let named = needed("issuer")?;
    // A server that answers in the name of another issuer would mix up the logins of two servers.
    let same = ServerUrl::parse(named)?;
    if same.to_string().trim_end_matches('/') != issuer.to_string().trim_end_matches('/') {
        return Err(invalid("it answers in the name of another issuer".to_owned()));
    }
    let endpoint = |name: &str| issuer.named(needed(name)?);
    let optional = |name: &str| text(name).map(|text| issuer.named(text)).transpose();
    let methods = texts(document, "code_challenge_methods_supported");
    if !methods.iter().any(|method| method == "S256") {
        return Err(invalid("it does not say that it checks codes with PKCE and S256".to_owned()));
    }
    let responses = texts(document, "response_types_supported");
    if !responses.is_empty() && !responses.iter().any(|response| response == "code") {
        return Err(invalid("it gives out no codes".to_owned()));
    }
    Ok(AuthorizationServer {
        issuer: named.to_owned(),
        authorization_endpoint: endpoint("authorization_endpoint")?,
        token_endpoint: endpoint("token_endpoint")?,
        registration_endpoint: optional("registration_endpoint")?,
        revocation_endpoint: optional("revocation_endpoint")?,
        scopes: texts(document, "scopes_supported"),
        names_itself: document.get("authorization_response_iss_parameter_supported")
            == Some(&Value::Bool(true)),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;
    use zeroize::Zeroizing;

    use super::*;
    use crate::http_client::{HttpRequest, HttpResponse};

    /// Documents by their addresses.
    pub(crate) struct Documents(pub(crate) BTreeMap<String, Value>);

    impl HttpClient for Documents {
        fn send(&self, request: HttpRequest) -> Result<HttpResponse, String> {
            let found = self.0.get(request.url.as_str());
            let (status, body) = match found {
                Some(document) => (200, document.to_string()),
                None => (404, "no".to_owned()),
            };
            Ok(HttpResponse { status, challenge: None, body: Zeroizing::new(body.into_bytes()) })
        }
    }

    fn server(issuer: &str) -> Value {
        json!({
            "issuer": issuer,
            "authorization_endpoint": "https://login.example/authorize",
            "token_endpoint": "https://login.example/token",
            "registration_endpoint": "https://login.example/register",
            "code_challenge_methods_supported": ["plain", "S256"],
            "authorization_response_iss_parameter_supported": true,
        })
    }

    fn resource(issuer: &str) -> Value {
        json!({ "resource": "https://mcp.example/mcp", "authorization_servers": [issuer], "scopes_supported": ["a"] })
    }

    fn find(challenge: Option<&str>, documents: &[(&str, Value)]) -> Result<Discovery, OauthError> {
        let documents = documents.iter().map(|(url, value)| ((*url).to_owned(), value.clone())).collect();
        discover(&ServerUrl::parse("https://mcp.example/mcp").unwrap(), challenge, &Documents(documents))
    }

    const PLACE: &str = "https://mcp.example/.well-known/oauth-protected-resource/mcp";
    const BARE: &str = "https://login.example/.well-known/oauth-authorization-server";

    /// Servers publish their documents in all of these places (open-webui/open-webui#19795,
    /// PrimeIntellect-ai/prime-agent#1591, cloudflare/mcp-server-cloudflare#257, getsentry/sentry-mcp#939).
    #[test]
    fn documents_are_found_in_every_usual_place() {
        let issuer = "https://login.example";
        let tenant = "https://login.example/tenant";
        let root = "https://mcp.example/.well-known/oauth-protected-resource";
        for (challenge, documents) in [
            (None, vec![(PLACE, resource(issuer)), (BARE, server(issuer))]),
            (None, vec![(root, resource("https://login.example/")), (BARE, server(issuer))]),
            (
                Some("Bearer resource_metadata=\"https://mcp.example/about\""),
                vec![("https://mcp.example/about", resource(issuer)), (BARE, server(issuer))],
            ),
            // The header names a place twice, and the first is wrong.
            (
                Some(
                    "Bearer resource_metadata=\"https://mcp.example/wrong\", resource_metadata=\"https://mcp.example/about\"",
                ),
                vec![("https://mcp.example/about", resource(issuer)), (BARE, server(issuer))],
            ),
            (
                Some("Bearer resource_metadata=\"https://mcp.example/wrong\""),
                vec![(PLACE, resource(issuer)), (BARE, server(issuer))],
            ),
            (
                None,
                vec![
                    (PLACE, resource(issuer)),
                    ("https://login.example/.well-known/openid-configuration", server(issuer)),
                ],
            ),
            (
                None,
                vec![
                    (PLACE, resource(tenant)),
                    ("https://login.example/.well-known/oauth-authorization-server/tenant", server(tenant)),
                ],
            ),
            (
                None,
                vec![
                    (PLACE, resource(tenant)),
                    ("https://login.example/tenant/.well-known/openid-configuration", server(tenant)),
                ],
            ),
        ] {
            let found = find(challenge, &documents).unwrap();
            assert_eq!(found.server.token_endpoint.to_string(), "https://login.example/token");
            assert_eq!(
                (found.resource.to_string().as_str(), found.scopes.len()),
                ("https://mcp.example/mcp", 1)
            );
            assert!(found.server.names_itself);
        }
        // Without a document about itself, a server is its own authorization server.
        let own = "https://mcp.example/.well-known/oauth-authorization-server";
        let found = find(None, &[(own, server("https://mcp.example"))]).unwrap();
        assert_eq!(found.server.issuer, "https://mcp.example");
        let scope =
            find(Some("Bearer scope=\"x y\""), &[(own, server("https://mcp.example"))]).unwrap().scopes;
        assert_eq!(scope, ["x", "y"]);
    }

    #[test]
    fn documents_that_mix_up_servers_are_refused() {
        let issuer = "https://login.example";
        let with = |name: &str, value: Value| {
            let mut document = server(issuer);
            document[name] = value;
            document
        };
        let other = json!({ "resource": "https://bank.example/mcp", "authorization_servers": [issuer] });
        let deeper = json!({ "resource": "https://mcp.example/mcp/more", "authorization_servers": [issuer] });
        let here =
            json!({ "resource": "https://mcp.example/mcp", "authorization_servers": ["http://127.0.0.1:1"] });
        let plain = json!({ "resource": "https://mcp.example/mcp", "authorization_servers": ["http://login.example"] });
        let none = json!({ "resource": "https://mcp.example/mcp", "authorization_servers": [] });
        for (documents, reason) in [
            (vec![(PLACE, other)], "another server"),
            (vec![(PLACE, deeper)], "another server"),
            (vec![(PLACE, here)], "names this machine"),
            (vec![(PLACE, plain)], "needs https"),
            (vec![(PLACE, none)], "no authorization server"),
            (vec![(PLACE, resource(issuer))], "publishes nothing"),
            (vec![], "publishes nothing"),
            (vec![(PLACE, resource(issuer)), (BARE, server("https://evil.example"))], "another issuer"),
            (
                vec![
                    (PLACE, resource(issuer)),
                    (BARE, with("token_endpoint", json!("http://login.example/token"))),
                ],
                "needs https",
            ),
            (
                vec![
                    (PLACE, resource(issuer)),
                    (BARE, with("token_endpoint", json!("https://127.0.0.1/token"))),
                ],
                "names this machine",
            ),
            (
                vec![
                    (PLACE, resource(issuer)),
                    (BARE, with("code_challenge_methods_supported", json!(["plain"]))),
                ],
                "PKCE",
            ),
            (
                vec![(PLACE, resource(issuer)), (BARE, with("response_types_supported", json!(["token"])))],
                "no codes",
            ),
            (
                vec![(PLACE, resource(issuer)), (BARE, with("authorization_endpoint", json!(null)))],
                "endpoint",
            ),
        ] {
            let error = find(None, &documents).unwrap_err().to_string();
            assert!(error.contains(reason), "{reason}: {error}");
        }
        let elsewhere = Some("Bearer resource_metadata=\"http://169.254.169.254/latest\"");
        assert!(find(elsewhere, &[]).is_err());
    }
}
