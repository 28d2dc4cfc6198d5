//! A server at an address: each message is posted, and the response is read as it arrives.
//!
//! The server is reached like any part of the web. The name is resolved and its addresses are checked each time, no
//! redirect is followed, and a key is put in here and nowhere before.

use std::io::{BufRead as _, BufReader, Read as _};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use framing::events::Events;
use resource::web::{Place, Web};
use serde_json::Value as Json;
use ureq::http::{HeaderName, HeaderValue, Request, Response};

use super::session::McpError;
use super::transport::{
    ClientTransport, MAX_LEN, MAX_UNASKED, MessageSender, NO_ANSWER_CODE, ServerHandle, forward_message,
};
use crate::http::{HostServices, edge};

/// The maximum length of a session's identifier, in bytes.
const MAX_SESSION_LEN: usize = 1024;

/// One server: its address, and the facts that are known about its session.
struct WebServer {
    web: Web,
    place: Place,
    outside: Arc<dyn HostServices>,
    patience: Duration,
    known: Mutex<SessionHeaders>,
}

/// The headers that the server has set for the session.
#[derive(Default)]
struct SessionHeaders {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// The reason why a message got no answer, in our own words.
    trouble: Option<String>,
}

/// Prepares the connection to the server. Nothing is sent yet.
pub(super) fn open(
    web: &Web,
    outside: &Arc<dyn HostServices>,
    patience: Duration,
) -> Result<(ServerHandle, ClientTransport), McpError> {
    let Some(place) = web.places.first() else {
        return Err(McpError::Unreachable("it has no address".to_owned()));
    };
    let link = Arc::new(WebServer {
        web: web.clone(),
        place: place.clone(),
        outside: Arc::clone(outside),
        patience,
        known: Mutex::default(),
    });
    let (out, said) = channel::<Vec<u8>>();
    let (wire, heard) = ClientTransport::new(out);
    let posting = Arc::clone(&link);
    std::thread::Builder::new()
        .name("mcp-post".to_owned())
        .spawn(move || post_messages(&posting, &said, &heard))
        .map_err(|error| McpError::Unreachable(error.to_string()))?;
    let carrier =
        ServerHandle::new(move || link.known.lock().unwrap_or_else(PoisonError::into_inner).trouble.take());
    Ok((carrier, wire))
}

/// Posts outgoing messages. Requests are posted in parallel, because the answer to one may wait for a later message.
/// All other messages are posted one after the other.
fn post_messages(link: &Arc<WebServer>, said: &Receiver<Vec<u8>>, heard: &MessageSender) {
    for message in said {
        let json: Json = serde_json::from_slice(&message).unwrap_or(Json::Null);
        let is_request = json.get("method").is_some() && json.get("id").is_some();
        if !is_request {
            link.post(&json, message, heard);
            continue;
        }
        let (link, heard) = (Arc::clone(link), heard.clone());
        let posted = std::thread::Builder::new().name("mcp-request".to_owned()).spawn(move || {
            if !link.post(&json, message, &heard) {
                link.refuse(&json, &heard);
            }
        });
        if posted.is_err() {
            return;
        }
    }
}

impl WebServer {
    /// Posts one message, and forwards the response. Returns `false` if no response can be expected.
    fn post(&self, json: &Json, message: Vec<u8>, heard: &MessageSender) -> bool {
        let trouble = |what: &str| {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).trouble = Some(what.to_owned());
            false
        };
        let addresses = match edge::addresses(&self.web, &self.place.origin, &*self.outside) {
            Ok(addresses) => addresses,
            Err(finding) => return trouble(&finding.message),
        };
        let Some(request) = self.request(json, message) else { return trouble("its key cannot be sent") };
        let agent = edge::agent(&self.place.origin, &addresses, self.patience);
        let response = match agent.run(request) {
            Ok(response) => response,
            Err(_) => return trouble("no connection could be made, or there was no answer in time"),
        };
        self.learn(&response);
        match response.status().as_u16() {
            200 => self.read(response, heard),
            202 | 204 => true,
            // A server of another version may answer an unknown message with an error status and a response.
            400..500 if json.get("id").is_some() && self.read(response, heard) => true,
            status => trouble(&format!("it answered with the status {status}")),
        }
    }

    fn request(&self, json: &Json, message: Vec<u8>) -> Option<Request<Vec<u8>>> {
        let uri = format!("{}{}", self.place.origin, self.place.path);
        let mut request = Request::builder().method("POST").uri(uri).body(message).ok()?;
        let headers = request.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        headers.extend(known.session.clone().map(|it| (HeaderName::from_static("mcp-session-id"), it)));
        // A message that names its version also has the version in a header. Since the version of 2026, the headers
        // repeat the method and the tool's name too.
        let own =
            json.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion").and_then(Json::as_str);
        let version = own.and_then(|own| HeaderValue::from_str(own).ok()).or(known.version.clone());
        headers.extend(version.map(|it| (HeaderName::from_static("mcp-protocol-version"), it)));
        drop(known);
        if own.is_some() {
            let method = json.get("method").and_then(Json::as_str);
            let name =
                json.pointer("/params/name").and_then(Json::as_str).filter(|_| method == Some("tools/call"));
            for (header, value) in [("mcp-method", method), ("mcp-name", name)] {
                let value = value.and_then(|value| HeaderValue::from_str(value).ok());
                headers.extend(value.map(|it| (HeaderName::from_static(header), it)));
            }
        }
        if let Some(used) = &self.web.secret {
            let secret = self.outside.secret(&used.name, &self.place.origin).ok()?;
            let header = HeaderName::from_bytes(used.header.as_bytes()).ok()?;
            headers.insert(header, edge::in_header(used, &secret).ok()?);
        }
        Some(request)
    }

    fn learn(&self, response: &Response<ureq::Body>) {
        let session = response.headers().get("mcp-session-id");
        if let Some(session) = session.filter(|session| session.len() <= MAX_SESSION_LEN) {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).session = Some(session.clone());
        }
    }

    /// Reads the response: one message, or a stream of events that each contain a message. Returns `false` if it ends
    /// without an answer.
    fn read(&self, mut response: Response<ureq::Body>, heard: &MessageSender) -> bool {
        let kind =
            response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_stream = kind.starts_with("text/event-stream");
        let mut body = BufReader::new(response.body_mut().with_config().limit(u64::MAX).reader());
        if !is_stream {
            let mut bytes = Vec::new();
            let read = body.take(MAX_LEN as u64).read_to_end(&mut bytes);
            return read.is_ok_and(|count| count < MAX_LEN) && is_answer(&bytes) && self.hear(&bytes, heard);
        }
        let mut events = Events::up_to(MAX_LEN);
        while events.lines() < u64::from(MAX_UNASKED) {
            let Ok(piece @ [_, ..]) = body.fill_buf() else { return false };
            let (length, mut messages) = (piece.len(), Vec::new());
            // Messages that arrived in full count, even if an endless event follows them.
            let fed = events.push(piece, |message| messages.push(message));
            body.consume(length);
            for message in messages {
                if !self.hear(&message, heard) {
                    return false;
                }
                if is_answer(&message) {
                    return true;
                }
            }
            if fed.is_err() {
                return false;
            }
        }
        false
    }

    fn hear(&self, bytes: &[u8], heard: &MessageSender) -> bool {
        let json: Json = serde_json::from_slice(bytes).unwrap_or(Json::Null);
        if let Some(version) = json.pointer("/result/protocolVersion").and_then(Json::as_str) {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.version = HeaderValue::from_str(version).ok();
        }
        forward_message(bytes, heard)
    }

    /// Sends the protocol an error as the answer to a request, as a server would.
    fn refuse(&self, request: &Json, heard: &MessageSender) {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let why = known.trouble.clone().unwrap_or_else(|| "there was no answer".to_owned());
        drop(known);
        let error = serde_json::json!({
            "jsonrpc": "2.0",
            "id": request.get("id"),
            "error": { "code": NO_ANSWER_CODE, "message": why },
        });
        forward_message(error.to_string().as_bytes(), heard);
    }
}

fn is_answer(bytes: &[u8]) -> bool {
    let json: Json = serde_json::from_slice(bytes).unwrap_or(Json::Null);
    json.get("method").is_none() && (json.get("result").is_some() || json.get("error").is_some())
}
