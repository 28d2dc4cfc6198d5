//! The requests of a login, without the network.

use serde_json::Value;
use url::Url;
use zeroize::Zeroizing;

use crate::error::OauthError;

/// A request.
#[derive(Debug)]
pub struct HttpRequest {
    /// The method in capitals.
    pub method: &'static str,
    /// The address.
    pub url: Url,
    /// The headers, with names in lower case.
    pub headers: Vec<(&'static str, Zeroizing<String>)>,
    /// The body, which may hold secrets.
    pub body: Zeroizing<Vec<u8>>,
}

/// An answer.
#[derive(Debug)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The value of `www-authenticate`, if there is one.
    pub challenge: Option<String>,
    /// The body, which may hold secrets.
    pub body: Zeroizing<Vec<u8>>,
}

/// The sender of requests. It follows no redirect, and bounds the size of the answer.
pub trait HttpClient {
    /// Sends a request and returns the answer.
    ///
    /// # Errors
    /// The reason why there is no answer, without any secret.
    fn send(&self, request: HttpRequest) -> Result<HttpResponse, String>;
}

/// Returns the server of an address, for messages.
pub(crate) fn host(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Sends a request and returns the status and the JSON of the answer. An answer without JSON is `null`.
pub(crate) fn json(http: &dyn HttpClient, request: HttpRequest) -> Result<(u16, Value), OauthError> {
    let server = host(&request.url);
    let response = http.send(request).map_err(|reason| OauthError::Unreachable { host: server, reason })?;
    Ok((response.status, serde_json::from_slice(&response.body).unwrap_or(Value::Null)))
}

/// Returns a request for a document of JSON.
pub(crate) fn get(url: &Url) -> HttpRequest {
    HttpRequest {
        method: "GET",
        url: url.clone(),
        headers: vec![("accept", Zeroizing::new("application/json".to_owned()))],
        body: Zeroizing::default(),
    }
}

/// Returns a request with a body of JSON.
pub(crate) fn post_json(url: &Url, body: &Value) -> HttpRequest {
    let kind = |text: &str| Zeroizing::new(text.to_owned());
    HttpRequest {
        method: "POST",
        url: url.clone(),
        headers: vec![("accept", kind("application/json")), ("content-type", kind("application/json"))],
        body: Zeroizing::new(body.to_string().into_bytes()),
    }
}

/// Returns a request with the fields of a form.
pub(crate) fn post_form(url: &Url, fields: &[(&str, &str)]) -> HttpRequest {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    let kind = |text: &str| Zeroizing::new(text.to_owned());
    HttpRequest {
        method: "POST",
        url: url.clone(),
        headers: vec![
            ("accept", kind("application/json")),
            ("content-type", kind("application/x-www-form-urlencoded")),
        ],
        body: Zeroizing::new(form.finish().into_bytes()),
    }
}
