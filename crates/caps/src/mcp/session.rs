//! A session with one server, in both forms of the protocol: that of 2026-07-28, and the ones before it.
//!
//! The session reads messages as JSON, part by part. The types of the protocol's libraries reject a whole page of
//! tools, or a whole result, for one bad part of it.
//!
//! Nothing runs in the background: messages are only read while a caller waits for an answer. A server that writes at
//! another time fills its pipe and waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use passable::visible_line;
use policy::Secrets;
use resource::mcp::{ServerTransport, ToolServer};
use serde_json::{Map, Value as Json, json};

use super::listing::{self, ToolListing};
use super::mcp_error::{McpError, short};
use super::message;
use super::transport::{Incoming, Link, ServerHandle};
use super::{program, web};
use crate::http::HostServices;

/// The version of the protocol that has no greeting. Each request names it.
const MODERN: &str = "2026-07-28";
/// The versions of the protocol that begin with a greeting, the newest first.
const GREETED: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The maximum number of a server's versions that are named.
const MAX_VERSIONS: usize = 8;
/// The key with which a request of the newer form names its version.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The time that a server has to list its tools, if the time for its start is shorter.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// The time after which a server that says nothing is also greeted in the older form.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of times that a server may answer a call with a question. Each question is declined.
const MAX_ROUNDS: usize = 3;
/// The error codes of JSON-RPC for an unknown method, and for a version of the protocol that is not spoken.
const UNKNOWN_METHOD: i64 = -32_601;
/// The error codes by which a server of the newer form rejects a request for another reason than its age.
const MODERN_REJECTIONS: [i64; 2] = [-32_020, -32_021];

/// The result of a request: the answer's `result`, or the failure.
type Answer = Result<Json, McpError>;

/// An open session.
pub(super) struct Session {
    link: Link,
    carrier: Option<ServerHandle>,
    /// The time for one call.
    patience: Duration,
    /// The time for listing the tools.
    listing_time: Duration,
    /// The secrets that the server was given.
    given: Secrets,
    last_id: u64,
    /// The part of each request that the newer form of the protocol wants.
    meta: Option<Json>,
}

/// Returns the present values of the secrets that a server gets.
fn given(server: &ToolServer, outside: &dyn HostServices) -> Secrets {
    let value = |name: &str| match &server.line {
        ServerTransport::Program(_) => outside.secret_for_program(name).ok(),
        ServerTransport::Web(web) => outside.secret(name, &web.places.first()?.origin).ok(),
    };
    let names = server.secrets().into_iter();
    let values: Vec<_> = names.filter_map(|name| Some((name, value(name)?))).collect();
    Secrets::new(values.iter().map(|(name, value)| (*name, value.as_str())))
}

/// Returns the part of a request that names its version and its client.
fn request_meta(version: &str) -> Json {
    json!({
        VERSION_KEY: version,
        "io.modelcontextprotocol/clientInfo": client_info(),
        // The server may not use the model, list directories, or ask the user anything.
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn client_info() -> Json {
    json!({ "name": "almoner", "version": env!("CARGO_PKG_VERSION") })
}

impl Session {
    /// Starts or reaches the server, and greets it, within the time that it has to start.
    ///
    /// # Errors
    /// When the server cannot be started or reached, or does not answer as a server does.
    pub(super) fn open(server: &ToolServer, outside: &Arc<dyn HostServices>) -> Result<Session, McpError> {
        let start = Duration::from_millis(server.start_ms);
        let until = Instant::now() + start;
        let mut session = Session::begin(server, outside)?;
        let outcome = session.greet(until, start, true);
        match (outcome, &server.line) {
            (Ok(()), _) => Ok(session),
            // Some servers end when the first message is no `initialize` (0xMassi/webclaw#107).
            (Err(McpError::Disconnected(_)), ServerTransport::Program(_)) => {
                drop(session);
                let mut session = Session::begin(server, outside)?;
                match session.greet(until, start, false) {
                    Ok(()) => Ok(session),
                    Err(error) => Err(session.close_with_error(error)),
                }
            }
            (Err(error), _) => Err(session.close_with_error(error)),
        }
    }

    fn begin(server: &ToolServer, outside: &Arc<dyn HostServices>) -> Result<Session, McpError> {
        let start = Duration::from_millis(server.start_ms);
        let patience = Duration::from_millis(server.call_ms);
        let (carrier, link) = match &server.line {
            ServerTransport::Program(line) => program::open(&server.name, line, outside)?,
            ServerTransport::Web(line) => {
                web::open(line, &server.headers, &server.query, outside, patience.max(start))?
            }
        };
        Ok(Session {
            link,
            carrier: Some(carrier),
            patience,
            listing_time: start.max(LIST_TIMEOUT),
            given: given(server, &**outside),
            last_id: 0,
            meta: None,
        })
    }

    /// Finds out which form of the protocol the server speaks, and greets it.
    fn greet(&mut self, until: Instant, start: Duration, probes: bool) -> Result<(), McpError> {
        let mut probe = None;
        if probes {
            self.meta = Some(request_meta(MODERN));
            probe = Some(self.send_request("server/discover", Map::new())?);
            self.meta = None;
        }
        let probe_until = (Instant::now() + PROBE_TIMEOUT).min(until);
        let (mut greeting, mut version) = (None, GREETED[0]);
        loop {
            if probe.is_none() && greeting.is_none() {
                greeting = Some(self.send_greeting(version)?);
            }
            let now_until = if greeting.is_some() { until } else { probe_until };
            let Some((id, answer)) = self.answer(now_until)? else {
                if greeting.is_none() {
                    // The server may be slow, or may ignore messages that it does not know. It is greeted in both
                    // forms, and the first answer counts.
                    greeting = Some(self.send_greeting(version)?);
                    continue;
                }
                return Err(McpError::TimedOut {
                    request: "initialize".to_owned(),
                    seconds: start.as_secs(),
                    output: String::new(),
                });
            };
            let is = |sent: Option<u64>| sent.is_some_and(|sent| id.is_none_or(|id| id == sent));
            if is(greeting) {
                // Some servers refuse the newest version, instead of answering with their own.
                if let Err(McpError::OtherVersion { versions, .. }) = &answer
                    && version == GREETED[0]
                    && let Some(older) =
                        GREETED.into_iter().find(|known| versions.iter().any(|it| it == known))
                {
                    (greeting, version) = (Some(self.send_greeting(older)?), older);
                    continue;
                }
                return self.greeted(answer.map_err(|error| error.of("initialize"))?);
            }
            if is(probe) {
                probe = None;
                if self.discovered(answer.map_err(|error| error.of("server/discover")))? {
                    return Ok(());
                }
            }
        }
    }

    fn send_greeting(&mut self, version: &str) -> Result<u64, McpError> {
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": client_info(),
        });
        self.send_request("initialize", params.as_object().cloned().unwrap_or_default())
    }

    /// Returns whether the server speaks the newer form of the protocol, by its answer to the question.
    fn discovered(&mut self, answer: Answer) -> Result<bool, McpError> {
        match answer {
            Ok(result) => {
                let versions = result.get("supportedVersions").and_then(Json::as_array);
                let speaks = |known: &str| {
                    versions.is_some_and(|all| all.iter().any(|version| version.as_str() == Some(known)))
                };
                let is_modern = speaks(MODERN);
                if let Some(versions) = versions.filter(|all| !is_modern && !all.is_empty())
                    && !GREETED.iter().any(|known| speaks(known))
                {
                    return Err(other_version(versions));
                }
                self.meta = is_modern.then(|| request_meta(MODERN));
                Ok(is_modern)
            }
            Err(error @ McpError::Refused { code, .. }) if MODERN_REJECTIONS.contains(&code) => Err(error),
            // A server that names a version of the older form is greeted.
            Err(McpError::OtherVersion { versions, .. })
                if versions.iter().any(|version| GREETED.contains(&version.as_str())) =>
            {
                Ok(false)
            }
            // A server of an older form refuses the question, or hangs up. Then it is greeted.
            Err(
                McpError::Refused { .. }
                | McpError::InvalidAnswer { .. }
                | McpError::Status { .. }
                | McpError::ConnectionClosed { .. },
            ) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads the answer to the greeting.
    fn greeted(&mut self, result: Json) -> Result<(), McpError> {
        if !result.is_object() {
            return Err(McpError::invalid("initialize", "it is no object"));
        }
        match result.get("protocolVersion") {
            // A server that names no version is taken at its word that it understood.
            None | Some(Json::Null) => {}
            Some(Json::String(version)) if GREETED.contains(&version.as_str()) => {}
            Some(Json::String(version)) if version == MODERN => self.meta = Some(request_meta(MODERN)),
            Some(other) => return Err(other_version(std::slice::from_ref(other))),
        }
        self.link.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
    }

    /// Returns the secrets that the server was given. Its answers may repeat them.
    pub(super) fn given(&self) -> &Secrets {
        &self.given
    }

    /// Returns the server's present descriptions of its tools.
    ///
    /// # Errors
    /// When the first page of them cannot be read, or the server breaks off.
    pub(super) fn tools(&mut self) -> Result<ToolListing, McpError> {
        let until = Instant::now() + self.listing_time;
        let seconds = self.listing_time;
        listing::read(|params| self.request("tools/list", params, until, seconds))
    }

    /// Calls a tool. If the server asks the user a question, the question is declined.
    ///
    /// # Errors
    /// When the server refuses, breaks off, or answers with no result.
    pub(super) fn call(&mut self, tool: &str, arguments: Map<String, Json>) -> Answer {
        const CALL: &str = "tools/call";
        let until = Instant::now() + self.patience;
        let mut params = Map::from_iter([
            ("name".to_owned(), Json::from(tool)),
            ("arguments".to_owned(), Json::Object(arguments)),
        ]);
        for _ in 0..MAX_ROUNDS {
            let result = self.request(CALL, params.clone(), until, self.patience)?;
            match result.get("resultType").and_then(Json::as_str) {
                None | Some("complete") => return Ok(result),
                Some("input_required") => {
                    let asked = result.get("inputRequests").and_then(Json::as_object);
                    let declined = asked
                        .into_iter()
                        .flatten()
                        .map(|(key, _)| (key.clone(), json!({ "action": "decline" })));
                    params.insert("inputResponses".to_owned(), Json::Object(declined.collect()));
                    match result.get("requestState") {
                        Some(state) => params.insert("requestState".to_owned(), state.clone()),
                        None => params.remove("requestState"),
                    };
                }
                Some(_) => {
                    return Err(McpError::invalid(CALL, "it promises its result for later, as a task"));
                }
            }
        }
        Err(McpError::invalid(CALL, format!("it asks the user, {MAX_ROUNDS} times and more")))
    }

    /// Sends a request, and waits for its answer.
    fn request(&mut self, method: &str, params: Map<String, Json>, until: Instant, time: Duration) -> Answer {
        let sent = self.send_request(method, params)?;
        loop {
            match self.answer(until)? {
                // An error without an identifier is about the only request that is under way.
                Some((id, answer)) if id.is_none_or(|id| id == sent) => {
                    return answer.map_err(|error| error.of(method));
                }
                // An answer that arrives after its time.
                Some(_) => {}
                None => {
                    let reason = json!({ "requestId": sent, "reason": "it took too long" });
                    let cancelled =
                        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": reason });
                    self.link.send(&cancelled)?;
                    return Err(McpError::TimedOut {
                        request: method.to_owned(),
                        seconds: time.as_secs(),
                        output: String::new(),
                    });
                }
            }
        }
    }

    fn send_request(&mut self, method: &str, mut params: Map<String, Json>) -> Result<u64, McpError> {
        self.last_id += 1;
        params.extend(self.meta.clone().map(|meta| ("_meta".to_owned(), meta)));
        let mut message = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method });
        if let (false, Json::Object(message)) = (params.is_empty(), &mut message) {
            message.insert("params".to_owned(), Json::Object(params));
        }
        self.link.send(&message)?;
        Ok(self.last_id)
    }

    /// Returns the next answer with the request that it answers, or `None` if none arrives in time. Requests of the
    /// server are answered, and its notices are passed over.
    ///
    /// An answer without an identifier has `None`. It counts if it is an error.
    fn answer(&mut self, until: Instant) -> Result<Option<(Option<u64>, Answer)>, McpError> {
        loop {
            let message = match self.link.receive(until)? {
                None => return Ok(None),
                Some(Incoming::Failure { id, error }) => return Ok(Some((self.sent(&id), Err(error)))),
                Some(Incoming::Message(message)) => message,
            };
            let id = message.get("id").cloned().unwrap_or(Json::Null);
            if let Some(method) = message.get("method") {
                if !id.is_null() {
                    self.link.send(&reply(&id, method.as_str().unwrap_or_default()))?;
                }
                continue;
            }
            let sent = self.sent(&id);
            let part = |name: &str| message.get(name).filter(|part| !part.is_null());
            match (part("error"), part("result")) {
                (Some(error), _) => return Ok(Some((sent, Err(refusal(error))))),
                (None, Some(result)) if sent.is_some() => return Ok(Some((sent, Ok(result.clone())))),
                (None, None) if sent.is_some() => {
                    return Ok(Some((sent, Err(McpError::invalid("", "it has no `result` and no `error`")))));
                }
                // A result for nobody.
                _ => {}
            }
        }
    }

    /// Returns the number of the request that an identifier names.
    fn sent(&self, id: &Json) -> Option<u64> {
        // A request that was never made is named by an answer to nobody.
        if id.is_null() {
            None
        } else {
            (1..=self.last_id).rev().find(|sent| message::is_answer_to(id, *sent)).or(Some(0))
        }
    }

    /// Ends the session. Returns the error, with the reason for a disconnection if it is known.
    pub(super) fn close_with_error(mut self, error: McpError) -> McpError {
        self.link.close();
        let reason = self.carrier.take().and_then(ServerHandle::end).unwrap_or_default();
        match error {
            McpError::Disconnected(_) if reason.is_empty() => {
                McpError::Disconnected("it closed its standard output".to_owned())
            }
            McpError::Disconnected(_) => McpError::Disconnected(reason),
            McpError::TimedOut { request, seconds, .. } => {
                McpError::TimedOut { request, seconds, output: reason }
            }
            other => other,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The transport must see first that its client is gone.
        self.link.close();
        drop(self.carrier.take());
    }
}

/// Returns the reply to a request of the server. The server may ask for a sign of life, and for nothing else.
fn reply(id: &Json, method: &str) -> Json {
    let mut reply = json!({ "jsonrpc": "2.0", "id": id });
    let (part, value) = match method {
        "ping" => ("result", json!({})),
        "elicitation/create" => ("result", json!({ "action": "decline" })),
        _ => ("error", json!({ "code": UNKNOWN_METHOD, "message": "Almoner does not offer this" })),
    };
    reply[part] = value;
    reply
}

/// Returns the error that a server speaks only other versions of the protocol.
fn other_version(versions: &[Json]) -> McpError {
    let text = |version: &Json| version.as_str().map_or_else(|| version.to_string(), str::to_owned);
    let shown = |version: &Json| visible_line(&short(&text(version))).into_owned();
    let versions = versions.iter().take(MAX_VERSIONS).map(shown).collect();
    McpError::OtherVersion { versions, spoken: format!("{MODERN}, {}", GREETED.join(", ")) }
}

/// Returns the refusal that an `error` of the server describes.
fn refusal(error: &Json) -> McpError {
    let words = match error.get("message").unwrap_or(error) {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    // A refusal for the sake of the version names the versions that the server speaks.
    let supported = error.pointer("/data/supported").and_then(Json::as_array);
    if let Some(versions) = supported.filter(|all| !all.is_empty() && all.iter().all(Json::is_string)) {
        return other_version(versions);
    }
    let code = error.get("code").and_then(|code| code.as_i64().or_else(|| code.as_str()?.parse().ok()));
    McpError::Refused { request: String::new(), code: code.unwrap_or_default(), words }
}
