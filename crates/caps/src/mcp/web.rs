//! A server at an address: each message is posted, and the response is read as it arrives.
//!
//! The server is reached like any part of the web. The name is resolved and its addresses are checked each time, no
//! redirect is followed, and a key is put in here and nowhere before.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use framing::events::Events;
use kernel::proposal::Finding;
use network::failure_reason;
use resource::programs::Setting;
use resource::web::{Place, SecretUse, Web};
use serde_json::Value as Json;
use ureq::http::{HeaderName, HeaderValue, Method, Request, Response};
use zeroize::Zeroizing;

use super::login;
use super::mcp_error::{McpError, short};
use super::message::{self, Content};
use super::transport::{Incoming, IncomingSender, Link, MAX_LEN, MAX_UNASKED, ServerHandle};
use crate::http::{HostServices, edge};

/// The maximum length of a session's identifier, in bytes.
const MAX_SESSION_LEN: usize = 1024;
/// The maximum length of the identifier of an event, in bytes.
const MAX_EVENT_ID_LEN: usize = 1024;
/// The maximum number of bytes that are read of an answer that is no message.
const MAX_WORDS_LEN: u64 = 8 << 10;
/// The maximum number of times that a stream of events is taken up again.
const MAX_RESUMPTIONS: usize = 5;
/// The time before a stream is taken up again, if the server names none, and the longest time that counts.
const RESUME_INTERVAL: Duration = Duration::from_secs(1);
const MAX_RESUME_INTERVAL: Duration = Duration::from_secs(10);
/// The time for telling the server that the session is over.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(2);
/// The errors of a connection that the server has closed.
const CLOSED: [ErrorKind; 4] = [
    ErrorKind::UnexpectedEof,
    ErrorKind::ConnectionReset,
    ErrorKind::ConnectionAborted,
    ErrorKind::BrokenPipe,
];

/// One server: its address, and the facts that are known about its session.
struct WebServer {
    web: Web,
    place: Place,
    /// The headers of each request, beside the one that carries the key.
    headers: BTreeMap<String, Setting>,
    /// The query of the address, without the `?`.
    query: String,
    outside: Arc<dyn HostServices>,
    patience: Duration,
    known: Mutex<SessionHeaders>,
}

/// The headers that the server has set for the session.
#[derive(Clone, Default)]
struct SessionHeaders {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

/// The last place in a stream of events, from which the stream can be taken up again.
#[derive(Default)]
struct StreamPosition {
    event: Option<HeaderValue>,
    retry: Option<Duration>,
}

/// The end of a stream of events.
enum StreamEnd {
    /// The answer has arrived.
    Answered,
    /// The stream broke off before the answer.
    Cut,
    /// The stream cannot be read on.
    Unreadable(&'static str),
}

/// Prepares the connection to the server. Nothing is sent yet.
pub(super) fn open(
    web: &Web,
    headers: &BTreeMap<String, Setting>,
    query: &str,
    outside: &Arc<dyn HostServices>,
    patience: Duration,
) -> Result<(ServerHandle, Link), McpError> {
    let Some(place) = web.places.first() else {
        return Err(McpError::Unreachable("it has no address".to_owned()));
    };
    let server = Arc::new(WebServer {
        web: web.clone(),
        place: place.clone(),
        headers: headers.clone(),
        query: query.to_owned(),
        outside: Arc::clone(outside),
        patience,
        known: Mutex::default(),
    });
    let (out, said) = channel::<Vec<u8>>();
    let (link, incoming) = Link::new(out);
    let posting = Arc::clone(&server);
    std::thread::Builder::new()
        .name("mcp-post".to_owned())
        .spawn(move || post_messages(&posting, &said, &incoming))
        .map_err(|error| McpError::Unreachable(error.to_string()))?;
    let carrier = ServerHandle::new(move || {
        server.say_goodbye();
        None
    });
    Ok((carrier, link))
}

/// Posts outgoing messages. Requests are posted in parallel, because the answer to one may wait for a later message.
/// All other messages are posted one after the other.
fn post_messages(server: &Arc<WebServer>, said: &Receiver<Vec<u8>>, incoming: &IncomingSender) {
    for message in said {
        let json: Json = serde_json::from_slice(&message).unwrap_or(Json::Null);
        let is_request = json.get("method").is_some() && json.get("id").is_some();
        if !is_request {
            // A notice, or an answer to the server: there is nobody to whom its failure could be told.
            let _unanswered = server.post(&json, message, incoming);
            continue;
        }
        let (server, incoming) = (Arc::clone(server), incoming.clone());
        let posted = std::thread::Builder::new().name("mcp-request".to_owned()).spawn(move || {
            if let Err(error) = server.post(&json, message, &incoming) {
                let id = json.get("id").cloned().unwrap_or(Json::Null);
                let _gone = incoming.send(Incoming::Failure { id, error });
            }
        });
        if posted.is_err() {
            return;
        }
    }
}

/// Returns a request with a token, unless the request has an authorization already.
fn authorized(mut request: Request<Vec<u8>>, token: Option<&str>) -> Result<Request<Vec<u8>>, McpError> {
    match token.filter(|_| !request.headers().contains_key("authorization")) {
        Some(token) if !login::put(&mut request, token) => {
            Err(McpError::Unreachable("the token of its login cannot be sent".to_owned()))
        }
        _ => Ok(request),
    }
}

impl WebServer {
    /// Posts one message, and forwards the response.
    ///
    /// # Errors
    /// When no response can be expected.
    fn post(&self, json: &Json, message: Vec<u8>, incoming: &IncomingSender) -> Result<(), McpError> {
        let until = Instant::now() + self.patience;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let request = self.request(Method::POST, json, message, &known)?;
        let mut response = self.send_authorized(request, self.patience)?;
        self.learn(&response);
        let is_request = json.get("id").is_some() && json.get("method").is_some();
        match response.status().as_u16() {
            200 => {
                self.outside.login_accepted(&login::login_address(&self.place));
                self.read(response, json, &known, until, incoming)
            }
            202 | 204 if !is_request => Ok(()),
            status @ (202 | 204) => Err(invalid(json, &format!("it has the status {status} and no message"))),
            status @ (401 | 403) => {
                let challenge = response.headers().get("www-authenticate");
                let challenge = challenge.and_then(|value| value.to_str().ok()).map(str::to_owned);
                Err(McpError::Denied { status, words: refusal_text(&mut response), challenge })
            }
            status @ 300..=399 => {
                let location = response.headers().get("location").and_then(|value| value.to_str().ok());
                let place =
                    location.map(|place| format!(" and leads to {}", short(place))).unwrap_or_default();
                Err(McpError::Redirected(format!("with the status {status}{place}")))
            }
            404 if known.session.is_some() => {
                self.known.lock().unwrap_or_else(PoisonError::into_inner).session = None;
                Err(McpError::SessionExpired)
            }
            // A server of another version may answer an unknown message with an error status and a response.
            status => {
                let text = body(&mut response);
                match message::read(text.as_bytes()) {
                    Content::Messages(messages) if is_request && messages.iter().any(message::is_answer) => {
                        forward(messages, Some(json), incoming);
                        Ok(())
                    }
                    _ => Err(McpError::Status { status, words: plain_words(&text) }),
                }
            }
        }
    }

    /// Sends a request with the token of the user's login, if there is one. A token that the server refuses is renewed
    /// once.
    fn send_authorized(
        &self,
        request: Request<Vec<u8>>,
        time: Duration,
    ) -> Result<Response<ureq::Body>, McpError> {
        let token = login::token(&self.web, &self.place, &*self.outside)
            .map_err(|why| blocked(why.finding("its login", &self.place.origin)))?;
        let token = token.as_ref().map(|token| token.as_str());
        let response = self.send(authorized(request.clone(), token)?, time)?;
        if response.status().as_u16() != 401 || request.headers().contains_key("authorization") {
            return Ok(response);
        }
        let challenge = response.headers().get("www-authenticate").and_then(|value| value.to_str().ok());
        let server = login::login_address(&self.place);
        match self.web.secret.is_none().then(|| self.outside.renewed_token(&server, token, challenge)) {
            Some(Some(token)) => {
                let again = self.send(authorized(request, Some(&token))?, time)?;
                if again.status().as_u16() == 401 {
                    // A new token does not help, so only the user can.
                    let _none = self.outside.renewed_token(&server, None, None);
                }
                Ok(again)
            }
            _ => Ok(response),
        }
    }

    /// Sends a request to one of the checked addresses.
    fn send(&self, request: Request<Vec<u8>>, time: Duration) -> Result<Response<ureq::Body>, McpError> {
        let addresses = edge::addresses(&self.web, &self.place.origin, &*self.outside)
            .map_err(|finding| McpError::Unreachable(finding.message.to_string()))?;
        let agent = edge::agent(&self.place.origin, &addresses, time, &self.outside.network())
            .map_err(|error| McpError::Unreachable(error.to_string()))?;
        agent.run(request).map_err(|error| match error {
            ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => {
                McpError::Unreachable("it accepted no connection in time".to_owned())
            }
            ureq::Error::Timeout(_) => {
                McpError::TimedOut { request: String::new(), seconds: time.as_secs(), output: String::new() }
            }
            ureq::Error::Io(error) if CLOSED.contains(&error.kind()) => {
                McpError::ConnectionClosed { request: String::new() }
            }
            other => {
                McpError::Unreachable(format!("no connection could be made: {}", failure_reason(&other)))
            }
        })
    }

    /// Returns a request with the headers of the session and the keys.
    fn request(
        &self,
        method: Method,
        json: &Json,
        message: Vec<u8>,
        known: &SessionHeaders,
    ) -> Result<Request<Vec<u8>>, McpError> {
        let unfit = || McpError::Unreachable("its key or a header of it cannot be sent".to_owned());
        let mark = if self.query.is_empty() { "" } else { "?" };
        let uri = format!("{}{}{mark}{}", self.place.origin, self.place.path, self.query);
        let mut request =
            Request::builder().method(method.clone()).uri(uri).body(message).map_err(|_| unfit())?;
        let headers = request.headers_mut();
        if method == Method::POST {
            headers.insert("content-type", HeaderValue::from_static("application/json"));
        }
        headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
        headers.extend(known.session.clone().map(|it| (HeaderName::from_static("mcp-session-id"), it)));
        // A message that names its version also has the version in a header. Since the version of 2026, the headers
        // repeat the method and the tool's name too.
        let own =
            json.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion").and_then(Json::as_str);
        let version = own.and_then(|own| HeaderValue::from_str(own).ok()).or(known.version.clone());
        headers.extend(version.map(|it| (HeaderName::from_static("mcp-protocol-version"), it)));
        if own.is_some() {
            let method = json.get("method").and_then(Json::as_str);
            let name =
                json.pointer("/params/name").and_then(Json::as_str).filter(|_| method == Some("tools/call"));
            for (header, value) in [("mcp-method", method), ("mcp-name", name)] {
                let value = value.and_then(|value| HeaderValue::from_str(value).ok());
                headers.extend(value.map(|it| (HeaderName::from_static(header), it)));
            }
        }
        for (header, setting) in &self.headers {
            let name = HeaderName::from_bytes(header.as_bytes()).map_err(|_| unfit())?;
            let value = match setting {
                Setting::Text(text) => HeaderValue::from_str(text).map_err(|_| unfit())?,
                Setting::Secret(secret) => {
                    // The secret is the whole value of the header.
                    let used =
                        SecretUse { name: secret.clone(), header: header.clone(), before: String::new() };
                    edge::in_header(&used, &self.secret(secret)?).map_err(blocked)?
                }
            };
            headers.insert(name, value);
        }
        if let Some(used) = &self.web.secret {
            let secret = self.secret(&used.name)?;
            let header = HeaderName::from_bytes(used.header.as_bytes()).map_err(|_| unfit())?;
            headers.insert(header, edge::in_header(used, &secret).map_err(blocked)?);
        }
        Ok(request)
    }

    /// Returns the value of a secret for this server.
    ///
    /// # Errors
    /// When the secret is missing or is for other servers, or the vault is locked.
    fn secret(&self, name: &str) -> Result<Zeroizing<String>, McpError> {
        let origin = &self.place.origin;
        self.outside.secret(name, origin).map_err(|why| blocked(why.finding(name, origin)))
    }

    fn learn(&self, response: &Response<ureq::Body>) {
        let session = response.headers().get("mcp-session-id");
        if let Some(session) = session.filter(|session| session.len() <= MAX_SESSION_LEN) {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).session = Some(session.clone());
        }
    }

    /// Reads the response: messages, or a stream of events with messages.
    ///
    /// # Errors
    /// When the response ends without an answer.
    fn read(
        &self,
        mut response: Response<ureq::Body>,
        request: &Json,
        known: &SessionHeaders,
        until: Instant,
        incoming: &IncomingSender,
    ) -> Result<(), McpError> {
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_ascii_lowercase();
        if !kind.starts_with("text/event-stream") {
            let reader = response.body_mut().with_config().limit(u64::MAX).reader();
            let mut bytes = Vec::new();
            let read = reader.take(MAX_LEN as u64).read_to_end(&mut bytes);
            if read.is_err() {
                return Err(invalid(request, "it broke off before its end"));
            }
            if bytes.len() >= MAX_LEN {
                return Err(invalid(request, "it is longer than 8 MiB"));
            }
            return match message::read(&bytes) {
                Content::Messages(messages) => {
                    self.learn_version(&messages);
                    match messages.iter().any(message::is_answer) {
                        true => {
                            forward(messages, Some(request), incoming);
                            Ok(())
                        }
                        false => Err(invalid(request, "it has no `result` and no `error`")),
                    }
                }
                _ if kind.starts_with("text/html") => Err(invalid(
                    request,
                    "it is a web page (text/html), and no JSON; is the address the one for MCP?",
                )),
                _ => Err(invalid(request, "it is no JSON")),
            };
        }
        let mut position = StreamPosition::default();
        let mut end = self.read_stream(response, request, &mut position, incoming);
        for _ in 0..MAX_RESUMPTIONS {
            let (StreamEnd::Cut, Some(event)) = (&end, position.event.clone()) else { break };
            let pause = position.retry.unwrap_or(RESUME_INTERVAL).min(MAX_RESUME_INTERVAL);
            let left = until.saturating_duration_since(Instant::now());
            if left <= pause {
                break;
            }
            std::thread::sleep(pause);
            let mut again = self.request(Method::GET, &Json::Null, vec![], known)?;
            let headers = again.headers_mut();
            headers.insert("accept", HeaderValue::from_static("text/event-stream"));
            headers.insert("last-event-id", event);
            let Ok(response) = self.send_authorized(again, left.saturating_sub(pause)) else { continue };
            if response.status().as_u16() != 200 {
                break;
            }
            end = self.read_stream(response, request, &mut position, incoming);
        }
        match end {
            StreamEnd::Answered => Ok(()),
            StreamEnd::Cut => Err(invalid(request, "its stream of events ended without the answer")),
            StreamEnd::Unreadable(reason) => Err(invalid(request, reason)),
        }
    }

    /// Reads a stream of events until the answer to the request.
    fn read_stream(
        &self,
        mut response: Response<ureq::Body>,
        request: &Json,
        position: &mut StreamPosition,
        incoming: &IncomingSender,
    ) -> StreamEnd {
        let id = request.get("id").and_then(Json::as_u64);
        let mut body = BufReader::new(response.body_mut().with_config().limit(u64::MAX).reader());
        let mut events = Events::up_to(MAX_LEN);
        while events.lines() < u64::from(MAX_UNASKED) {
            let (piece, is_end) = match body.fill_buf() {
                Ok(piece) => (piece, piece.is_empty()),
                Err(_) => (&[][..], true),
            };
            let (length, mut contents) = (piece.len(), Vec::new());
            // Messages that arrived in full count, even if an endless event follows them.
            let fed = events.push(piece, |event| contents.push(event));
            if is_end {
                contents.extend(events.finish());
            }
            body.consume(length);
            position.event = events
                .last_id()
                .filter(|event| event.len() <= MAX_EVENT_ID_LEN)
                .and_then(|event| HeaderValue::from_bytes(event).ok())
                .or(position.event.take());
            position.retry = events.retry_ms().map(Duration::from_millis).or(position.retry);
            for content in contents {
                let messages = match message::read(&content) {
                    Content::Messages(messages) => messages,
                    Content::Broken => return StreamEnd::Unreadable("it is no JSON, or was cut"),
                    Content::Noise => continue,
                };
                self.learn_version(&messages);
                let is_answered = messages.iter().any(|message| {
                    let named = message.get("id").unwrap_or(&Json::Null);
                    message::is_answer(message)
                        && (named.is_null() || id.is_none_or(|id| message::is_answer_to(named, id)))
                });
                if !forward(messages, None, incoming) || is_answered {
                    return StreamEnd::Answered;
                }
            }
            match (fed, is_end) {
                (Err(_), _) => return StreamEnd::Unreadable("an event of it is longer than 8 MiB"),
                (Ok(()), true) => return StreamEnd::Cut,
                _ => {}
            }
        }
        StreamEnd::Unreadable("it writes thousands of events that answer nothing")
    }

    fn learn_version(&self, messages: &[Json]) {
        let version =
            messages.iter().find_map(|message| message.pointer("/result/protocolVersion")?.as_str());
        if let Some(version) = version {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.version = HeaderValue::from_str(version).ok();
        }
    }

    /// Tells the server that the session is over, if there was one. The server need not answer.
    fn say_goodbye(self: Arc<Self>) {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if known.session.is_none() {
            return;
        }
        let goodbye = move || {
            if let Ok(request) = self.request(Method::DELETE, &Json::Null, vec![], &known) {
                let _unanswered = self.send(request, GOODBYE_TIMEOUT);
            }
        };
        // The run does not wait for it.
        let _unsent = std::thread::Builder::new().name("mcp-goodbye".to_owned()).spawn(goodbye);
    }
}

/// Forwards messages. In the direct response to a request, the answer is that to the request, whatever it is called.
/// Returns `false` if nobody listens any more.
fn forward(messages: Vec<Json>, request: Option<&Json>, incoming: &IncomingSender) -> bool {
    let is_only = messages.iter().filter(|message| message::is_answer(message)).count() == 1;
    messages.into_iter().all(|mut message| {
        if let (Some(id), true, true) =
            (request.and_then(|request| request.get("id")), is_only, message::is_answer(&message))
        {
            message["id"] = id.clone();
        }
        incoming.send(Incoming::Message(message)).is_ok()
    })
}

fn blocked(finding: Finding) -> McpError {
    McpError::Blocked(Box::new(finding))
}

fn invalid(request: &Json, reason: &str) -> McpError {
    McpError::invalid(request.get("method").and_then(Json::as_str).unwrap_or_default(), reason)
}

/// Returns the beginning of a response's body as text.
fn body(response: &mut Response<ureq::Body>) -> String {
    let mut bytes = Vec::new();
    let reader = response.body_mut().with_config().limit(u64::MAX).reader();
    // A body that breaks off says what it says until there.
    let _cut = reader.take(MAX_WORDS_LEN).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the words in which a server refuses a request.
fn refusal_text(response: &mut Response<ureq::Body>) -> String {
    plain_words(&body(response))
}

/// Returns the words of a refusal: those of a JSON error, or the text without the marks of HTML.
fn plain_words(text: &str) -> String {
    let json: Json = serde_json::from_str(text).unwrap_or(Json::Null);
    let places = ["/error/message", "/error_description", "/message", "/detail", "/error"];
    if let Some(said) = places.iter().find_map(|place| json.pointer(place)?.as_str()) {
        return short(said);
    }
    let mut plain = String::new();
    let mut is_mark = false;
    for c in text.chars() {
        match c {
            '<' => is_mark = true,
            '>' if is_mark => {
                is_mark = false;
                plain.push(' ');
            }
            _ if !is_mark => plain.push(c),
            _ => {}
        }
    }
    short(&plain.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_show_the_words_of_the_server() {
        for (text, words) in [
            (r#"{"error":"invalid_token","error_description":"The token expired"}"#, "The token expired"),
            (
                r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Unauthorized"},"id":null}"#,
                "Unauthorized",
            ),
            (r#"{"message":"Bad credentials","documentation_url":"x"}"#, "Bad credentials"),
            (r#"{"error":"forbidden"}"#, "forbidden"),
            ("<html><h1>401</h1><p>Log in  first</p></html>", "401 Log in first"),
            ("plain words\n", "plain words"),
            ("", ""),
        ] {
            assert_eq!(plain_words(text), words, "{text}");
        }
    }
}
