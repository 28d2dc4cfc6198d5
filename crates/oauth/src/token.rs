//! Tokens: for a code, and for an earlier token.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::authorization::PendingLogin;
use crate::error::OauthError;
use crate::http_client::{self, HttpClient, HttpRequest, host};
use crate::registration::{Client, ClientAuthentication};
use crate::server_url::ServerUrl;

/// The maximum time for which a token counts as valid, in seconds. A server that names more is mistaken.
const MAX_SECONDS: f64 = 10.0 * 366.0 * 86_400.0;

/// The tokens that a server gave out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// The token for requests.
    pub access: Zeroizing<String>,
    /// The token that gets other tokens, if the server gave one.
    pub refresh: Option<Zeroizing<String>>,
    /// The time for which the token for requests is valid, in seconds, if the server says so.
    pub seconds: Option<u64>,
    /// The scope of the tokens, if the server says so.
    pub scope: Option<String>,
}

/// Gets tokens for the code with which the browser came back.
///
/// # Errors
/// When the server refuses, or cannot be reached.
pub fn exchange_code(login: &PendingLogin, code: &str, http: &dyn HttpClient) -> Result<Tokens, OauthError> {
    let resource = login.discovery.resource.to_string();
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", &login.redirect),
        ("code_verifier", login.verifier()),
        ("resource", &resource),
    ];
    ask(&login.discovery.server.token_endpoint, &login.client, &fields, http)
}

/// Gets new tokens for an earlier one.
///
/// # Errors
/// [`OauthError::LoginOver`] when only a new login helps.
pub fn refresh(
    endpoint: &ServerUrl,
    client: &Client,
    token: &str,
    resource: &str,
    http: &dyn HttpClient,
) -> Result<Tokens, OauthError> {
    let fields = [("grant_type", "refresh_token"), ("refresh_token", token), ("resource", resource)];
    ask(endpoint, client, &fields, http).map_err(|error| match error {
        OauthError::Refused { host, code, .. }
            if matches!(code.as_str(), "invalid_grant" | "invalid_client" | "unauthorized_client") =>
        {
            OauthError::LoginOver { host }
        }
        other => other,
    })
}

/// Asks a server to take a token back, so that it is not valid any more (RFC 7009).
///
/// # Errors
/// When the server refuses, or cannot be reached.
pub fn revoke(
    endpoint: &ServerUrl,
    client: &Client,
    token: &str,
    is_refresh: bool,
    http: &dyn HttpClient,
) -> Result<(), OauthError> {
    let kind = if is_refresh { "refresh_token" } else { "access_token" };
    let request = client_request(endpoint, client, &[("token", token), ("token_type_hint", kind)]);
    let place = host(endpoint.url());
    let (status, answer) = http_client::json(http, request)?;
    if (200..300).contains(&status) {
        return Ok(());
    }
    Err(match answer.get("error").and_then(Value::as_str) {
        Some(code) => OauthError::Refused { host: place, code: code.to_owned(), description: None },
        None => OauthError::Invalid { host: place, reason: format!("it answered with the status {status}") },
    })
}

fn ask(
    endpoint: &ServerUrl,
    client: &Client,
    fields: &[(&str, &str)],
    http: &dyn HttpClient,
) -> Result<Tokens, OauthError> {
    let (status, answer) = http_client::json(http, client_request(endpoint, client, fields))?;
    read(&host(endpoint.url()), status, &answer)
}

/// Returns the request of a client that says who it is.
fn client_request(endpoint: &ServerUrl, client: &Client, fields: &[(&str, &str)]) -> HttpRequest {
    let mut fields = fields.to_vec();
    let secret = client.secret.as_ref().map_or("", |secret| secret.as_str());
    // A client without a secret says who it is in the form.
    if client.authentication != ClientAuthentication::Header {
        fields.push(("client_id", &client.id));
    }
    if client.authentication == ClientAuthentication::Form {
        fields.push(("client_secret", secret));
    }
    let mut request = http_client::post_form(endpoint.url(), &fields);
    if client.authentication == ClientAuthentication::Header {
        let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = Zeroizing::new(format!("{}:{}", encode(&client.id), encode(secret)));
        let value = Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())));
        request.headers.push(("authorization", value));
    }
    request
}

/// Reads the answer of a server. Servers differ in the types that they use, so a number may be a text.
fn read(place: &str, status: u16, answer: &Value) -> Result<Tokens, OauthError> {
    let text = |name: &str| {
        answer.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let invalid = |reason: &str| OauthError::Invalid { host: place.to_owned(), reason: reason.to_owned() };
    if let Some(code) = text("error") {
        return Err(OauthError::Refused {
            host: place.to_owned(),
            code,
            description: text("error_description"),
        });
    }
    if !(200..300).contains(&status) {
        return Err(invalid(&format!("it answered with the status {status}")));
    }
    let access = text("access_token").ok_or_else(|| invalid("it gives out no token"))?;
    if !access.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(invalid("its token cannot stand in a header"));
    }
    if text("token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(invalid("its token is of another kind than `Bearer`"));
    }
    let seconds = answer.get("expires_in").and_then(|value| match value {
        Value::String(text) => text.trim().parse::<f64>().ok(),
        other => other.as_f64(),
    });
    Ok(Tokens {
        access: Zeroizing::new(access),
        refresh: text("refresh_token").map(Zeroizing::new),
        seconds: seconds.filter(|s| s.is_finite()).map(|s| s.clamp(0.0, MAX_SECONDS) as u64),
        scope: text("scope"),
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::*;
    use crate::http_client::HttpResponse;

    /// Servers answer in these ways (modelcontextprotocol/typescript-sdk#1120, ramosbugs/oauth2-rs#151,
    /// badgateway/oauth2-client#123).
    #[test]
    fn answers_are_read_leniently_and_never_guessed() {
        for (status, answer, seconds) in [
            (200, json!({"access_token": "a", "token_type": "bearer", "expires_in": 3600}), Ok(Some(3600))),
            (200, json!({"access_token": "a", "expires_in": "3600"}), Ok(Some(3600))),
            (201, json!({"access_token": "a", "token_type": "Bearer", "expires_in": 3599.5}), Ok(Some(3599))),
            (200, json!({"access_token": "a", "expires_in": null, "refresh_token": ""}), Ok(None)),
            (200, json!({"access_token": "a", "expires_in": -5}), Ok(Some(0))),
            (200, json!({"error": "invalid_grant"}), Err("invalid_grant")),
            (400, json!({"error": "slow_down", "error_description": "x"}), Err("slow_down (x)")),
            (200, json!({"access_token": ""}), Err("no token")),
            (200, json!({"access_token": "a\nb"}), Err("header")),
            (200, json!({"access_token": "a", "token_type": "DPoP"}), Err("another kind")),
            (200, json!([]), Err("no token")),
            (502, Value::Null, Err("status 502")),
        ] {
            match (read("h", status, &answer), seconds) {
                (Ok(tokens), Ok(expected)) => assert_eq!(tokens.seconds, expected, "{answer}"),
                (Err(error), Err(reason)) => assert!(error.to_string().contains(reason), "{answer}: {error}"),
                (got, _) => panic!("{answer}: {got:?}"),
            }
        }
    }

    struct Recorder(RefCell<Vec<String>>, Value);

    impl HttpClient for Recorder {
        fn send(&self, request: HttpRequest) -> Result<HttpResponse, String> {
            let authorization = request.headers.iter().find(|(name, _)| *name == "authorization");
            let body = String::from_utf8_lossy(&request.body).into_owned();
            let seen = format!("{} {}", authorization.map_or("", |(_, value)| value.as_str()), body);
            self.0.borrow_mut().push(seen);
            let body = Zeroizing::new(self.1.to_string().into_bytes());
            Ok(HttpResponse { status: 400, challenge: None, body })
        }
    }

    /// A renewal for another resource than the login's is refused (modelcontextprotocol/rust-sdk#1084).
    #[test]
    fn refresh_names_the_client_and_notices_the_end() {
        let endpoint = ServerUrl::parse("https://login.example/token").unwrap();
        let http = Recorder(RefCell::default(), json!({"error": "invalid_grant"}));
        let with = |authentication, secret: Option<&str>| Client {
            id: "my id".to_owned(),
            secret: secret.map(|secret| Zeroizing::new(secret.to_owned())),
            authentication,
        };
        for client in [
            with(ClientAuthentication::Public, None),
            with(ClientAuthentication::Form, Some("p:w")),
            with(ClientAuthentication::Header, Some("p:w")),
        ] {
            let error = refresh(&endpoint, &client, "r", "https://mcp.example/mcp", &http).unwrap_err();
            assert_eq!(error, OauthError::LoginOver { host: "https://login.example".to_owned() });
        }
        let common = "grant_type=refresh_token&refresh_token=r&resource=https%3A%2F%2Fmcp.example%2Fmcp";
        let expected = [
            format!(" {common}&client_id=my+id"),
            format!(" {common}&client_id=my+id&client_secret=p%3Aw"),
            format!("Basic {} {common}", STANDARD.encode("my+id:p%3Aw")),
        ];
        assert_eq!(*http.0.borrow(), expected);
        let down = Recorder(RefCell::default(), json!({"error": "temporarily_unavailable"}));
        let error = refresh(&endpoint, &with(ClientAuthentication::Public, None), "r", "https://m", &down);
        assert!(matches!(error, Err(OauthError::Refused { .. })));
    }

    #[test]
    fn token_is_taken_back_in_the_name_of_the_client() {
        let endpoint = ServerUrl::parse("https://login.example/revoke").unwrap();
        let client = Client::own("me".to_owned(), None);
        let http = Recorder(RefCell::default(), json!({"error": "unsupported_token_type"}));
        for is_refresh in [true, false] {
            let error = revoke(&endpoint, &client, "r", is_refresh, &http).unwrap_err();
            assert!(error.to_string().contains("unsupported_token_type"), "{error}");
        }
        let expected = [
            " token=r&token_type_hint=refresh_token&client_id=me",
            " token=r&token_type_hint=access_token&client_id=me",
        ];
        assert_eq!(*http.0.borrow(), expected);
    }
}
