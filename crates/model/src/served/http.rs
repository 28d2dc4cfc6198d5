//! One HTTP exchange, on a thread of its own so that the caller can give it up at any moment.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use network::{Network, NetworkError, failure_reason};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::asked_wait::{asked_wait, until_replenished};
use super::complaint::complaint;
use super::gzip;
use super::overflow::{Overflow, overflow, overflow_fields};
use super::pace::{MinimumPace, PaceWatch};
use crate::error::ModelError;
use crate::request::Cancel;
use crate::secret::Secret;

/// The maximum size of a whole body, in bytes.
pub(super) const MAX_BODY: u64 = 64 << 20;
/// The timeout of a question about a model. Without an answer, nothing is known.
const LOOK_UP_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum size of an answer about models, in bytes. The lists of brokers are large.
const MAX_LOOK_UP: u64 = 8 << 20;

/// A part of the exchange. The parts come in order: one head, then pieces, then the end.
#[derive(Debug)]
pub(super) enum Part {
    /// The beginning of a successful answer.
    Head {
        /// The way in which the messages of the answer are separated.
        framing: Framing,
        /// The time until the server has something left, if it says that nothing is.
        replenished: Option<Duration>,
    },
    /// A piece of the body.
    Piece(Vec<u8>),
    /// The regular end of the body. If the sender goes away without it, the exchange failed.
    End,
    /// The failure of the exchange.
    Failed(ModelError),
}

/// The way in which the messages of an answer are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// The whole answer is one message.
    SingleMessage,
    /// Each message is a server-sent event.
    Events,
    /// Each message is a line.
    Lines,
}

/// The address of a server, and the settings for requests to it.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub(super) agent: ureq::Agent,
    /// The address up to the part that the protocol adds.
    pub(super) base_url: String,
    /// The scheme, host and port, for error messages.
    pub(super) server: String,
    pub(super) model: String,
    /// The key, with the name of the header that carries it.
    pub(super) key: Option<(&'static str, Secret)>,
    /// Other headers that the protocol requires.
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// The pace that the server has to keep.
    pub(super) pace: MinimumPace,
}

impl Endpoint {
    /// Returns the headers of every request: those of the protocol, and the key.
    pub(super) fn header_values(&self) -> impl Iterator<Item = (&'static str, String)> {
        let fixed = self.headers.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let key = self.key.iter().map(|(name, key)| match *name {
            "authorization" => (*name, format!("Bearer {}", key.reveal())),
            _ => (*name, key.reveal().to_owned()),
        });
        fixed.chain(key)
    }

    /// Returns a text that the server wrote, without the key.
    pub(super) fn scrub(&self, text: String) -> String {
        match &self.key {
            Some((_, key)) => key.scrub(&text),
            None => text,
        }
    }

    /// Returns the same value with the key redacted in all its texts. A server can encode the key in many ways, but
    /// here all texts are decoded.
    pub(super) fn scrubbed<T: Serialize + DeserializeOwned>(&self, made: T) -> T {
        fn walk(endpoint: &Endpoint, value: &mut Value, found: &mut bool) {
            match value {
                Value::String(text) => {
                    let clean = endpoint.scrub(text.clone());
                    *found |= clean != *text;
                    *text = clean;
                }
                Value::Array(items) => items.iter_mut().for_each(|item| walk(endpoint, item, found)),
                Value::Object(fields) => {
                    let mut clean = serde_json::Map::new();
                    for (name, mut value) in std::mem::take(fields) {
                        walk(endpoint, &mut value, found);
                        let told = endpoint.scrub(name.clone());
                        *found |= told != name;
                        clean.insert(told, value);
                    }
                    *fields = clean;
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        if self.key.is_none() {
            return made;
        }
        let mut found = false;
        let Ok(mut value) = serde_json::to_value(&made) else { return made };
        walk(self, &mut value, &mut found);
        // JSON may lose the precision of numbers, so a value without the key stays as it was.
        match found.then(|| serde_json::from_value(value)) {
            Some(Ok(clean)) => clean,
            _ => made,
        }
    }
}

/// Returns an agent for a server, with a short time-out for a connection and a long one for an answer.
pub(crate) fn agent(
    network: &Network,
    url: &str,
    connect: Duration,
    silence: Duration,
) -> Result<ureq::Agent, NetworkError> {
    network.agent(url, &|config| {
        config
            .http_status_as_error(false)
            .timeout_resolve(Some(connect))
            .timeout_connect(Some(connect))
            .timeout_recv_response(Some(silence))
            .timeout_per_read(Some(silence))
            .user_agent(concat!("almoner/", env!("CARGO_PKG_VERSION")))
    })
}

/// Returns what a server says at an address, as JSON. With a body, the body is posted.
pub(super) fn look_up(endpoint: &Endpoint, url: &str, body: Option<Value>) -> Option<Value> {
    let headers = endpoint.header_values();
    let timeout = Some(LOOK_UP_TIMEOUT);
    let mut response = match body {
        None => {
            let request = endpoint.agent.get(url).config().timeout_global(timeout).build();
            headers.fold(request, |request, (name, value)| request.header(name, value)).call().ok()?
        }
        Some(body) => {
            let request = endpoint.agent.post(url).config().timeout_global(timeout).build();
            let request = headers.fold(request, |request, (name, value)| request.header(name, value));
            request.header("content-type", "application/json").send(body.to_string()).ok()?
        }
    };
    if response.status().as_u16() != 200 {
        return None;
    }
    let text = response.body_mut().with_config().limit(MAX_LOOK_UP).read_to_string().ok()?;
    serde_json::from_str(&text).ok()
}

/// The state of an answer after one of its parts.
pub(super) struct Received {
    /// Whether the answer is complete.
    pub(super) is_over: bool,
    /// The number of bytes of the answer so far. Bytes that only keep the connection open are none.
    pub(super) bytes: u64,
}

/// Sends the body, and passes each part of the answer to `handle` until the answer is complete.
///
/// # Errors
/// When the exchange or `handle` fails, or the server does not keep its pace.
pub(super) fn exchange(
    endpoint: &Endpoint,
    url: String,
    body: String,
    cancel: &Cancel,
    mut handle: impl FnMut(Part) -> Result<Received, ModelError>,
) -> Result<(), ModelError> {
    let mut watch = PaceWatch::new(endpoint.pace, Instant::now());
    // The channel is small. When the receiver goes away, the thread fails at its next send and ends.
    let (sender, parts) = sync_channel(16);
    let endpoint = endpoint.clone();
    std::thread::Builder::new()
        .name("model-http".into())
        .spawn(move || {
            let end = talk(&endpoint, &url, &body, &sender).map_or_else(Part::Failed, |()| Part::End);
            // The receiver may have gone away on purpose.
            let _ = sender.send(end);
        })
        .map_err(|e| ModelError::Unreachable { server: "a thread".into(), reason: e.to_string() })?;
    loop {
        match next(&parts, cancel, &watch)? {
            Part::Failed(error) => return Err(error),
            part => {
                let (begins, last) = (matches!(part, Part::Head { .. }), matches!(part, Part::End));
                let received = handle(part)?;
                if received.is_over || last {
                    return Ok(());
                }
                if begins {
                    watch.begin_body(Instant::now());
                }
                watch.note(received.bytes, Instant::now());
            }
        }
    }
}

fn next(parts: &Receiver<Part>, cancel: &Cancel, watch: &PaceWatch) -> Result<Part, ModelError> {
    loop {
        if cancel.is_canceled() {
            return Err(ModelError::Canceled);
        }
        // Parts that only keep the connection open buy no time, so this is checked before each part.
        watch.check(Instant::now())?;
        match parts.recv_timeout(Duration::from_millis(100)) {
            Ok(part) => return Ok(part),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(ModelError::CutOff { bytes: 0 }),
        }
    }
}

fn talk(endpoint: &Endpoint, url: &str, body: &str, sender: &SyncSender<Part>) -> Result<(), ModelError> {
    let mut request = endpoint
        .agent
        .post(url)
        .header("content-type", "application/json")
        .header("accept", "text/event-stream, application/x-ndjson, application/json");
    for (name, value) in endpoint.header_values() {
        request = request.header(name, value);
    }
    let mut response = request.send(body).map_err(|e| connection_error(&e, &endpoint.server))?;
    let status = response.status().as_u16();
    if !(200..300).contains(&status) {
        let mut text = Vec::new();
        // An incomplete error body is enough.
        let _ = response.body_mut().as_reader().take(64 << 10).read_to_end(&mut text);
        let text = gzip::unpacked(text);
        let text = String::from_utf8_lossy(&text);
        let text = endpoint.key.as_ref().map_or_else(|| text.to_string(), |(_, key)| key.scrub(&text));
        let retry_after = asked_wait(response.headers(), &text, SystemTime::now());
        return Err(status_error(status, &text, retry_after, &endpoint.server, &endpoint.model));
    }
    let kind = response.headers().get("content-type").and_then(|v| v.to_str().ok()).unwrap_or_default();
    let framing = match kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "text/event-stream" => Framing::Events,
        "application/x-ndjson" | "application/jsonl" => Framing::Lines,
        _ => Framing::SingleMessage,
    };
    let replenished = until_replenished(response.headers(), SystemTime::now());
    if sender.send(Part::Head { framing, replenished }).is_err() {
        return Ok(());
    }
    let mut reader = response.body_mut().with_config().limit(u64::MAX).reader();
    let mut received: u64 = 0;
    let mut buffer = vec![0; 16 << 10];
    loop {
        let n = match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => n,
            // The head came, so the server is there. Any later error of the system means that the answer was cut off.
            Err(_) => return Err(ModelError::CutOff { bytes: received }),
        };
        received += n as u64;
        if received > MAX_BODY {
            return Err(ModelError::TooLarge { limit: MAX_BODY });
        }
        let piece = buffer.get(..n).unwrap_or_default().to_vec();
        if sender.send(Part::Piece(piece)).is_err() {
            return Ok(());
        }
    }
}

/// Returns the error of an exchange in which no answer began.
fn connection_error(error: &ureq::Error, server: &str) -> ModelError {
    match error {
        ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => {
            ModelError::malformed(format!("it is no HTTP: {error}")).at(server)
        }
        // The connection was made and then lost.
        ureq::Error::Io(e)
            if matches!(
                e.kind(),
                std::io::ErrorKind::UnexpectedEof
                    | std::io::ErrorKind::ConnectionReset
                    | std::io::ErrorKind::BrokenPipe
            ) =>
        {
            ModelError::CutOff { bytes: 0 }
        }
        error => ModelError::Unreachable { server: server.to_owned(), reason: failure_reason(error) },
    }
}

/// The words by which servers say that a filter of theirs, and not a fault, stopped the request.
const FILTER: [&str; 5] = [
    "content_filter",
    "content_policy_violation",
    "content management policy",
    "data_inspection_failed",
    "requires moderation",
];

/// Returns the error for an HTTP status and its body.
pub(crate) fn status_error(
    status: u16,
    body: &str,
    retry_after: Option<Duration>,
    server: &str,
    model: &str,
) -> ModelError {
    let message = complaint(body);
    let lower = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if let Some(error) = too_long(status, &message, body) {
        return error;
    }
    let server_name = || server.to_owned();
    match status {
        400 if says(&["api key not valid", "api_key_invalid"]) => {
            ModelError::Unauthorized { server: server.to_owned(), reason: message }
        }
        404 => ModelError::ModelNotFound { model: model.to_owned(), reason: message },
        402 => ModelError::QuotaExceeded { message },
        400 if says(&["credit balance is too low"]) => ModelError::QuotaExceeded { message },
        // More time does not fill an empty account, even if the server names one.
        429 if says(&["insufficient_quota"]) => ModelError::QuotaExceeded { message },
        429 if retry_after.is_none() && says(&["exceeded your current quota"]) => {
            ModelError::QuotaExceeded { message }
        }
        429 => ModelError::RateLimited { retry_after },
        // An overloaded server that names a time asks for the same.
        503 | 529 if retry_after.is_some() => ModelError::RateLimited { retry_after },
        407 => ModelError::Unreachable {
            server: server.to_owned(),
            reason: "the proxy asks for a name and a password, or does not accept them (407)".to_owned(),
        },
        400 | 403 if says(&FILTER) => ModelError::Filtered { server: server_name(), reason: message },
        401 | 403 => ModelError::Unauthorized { server: server_name(), reason: message },
        408 | 500.. => ModelError::ServerError { server: server_name(), status, message },
        _ => ModelError::Refused { server: server_name(), status, message },
    }
}

/// Returns the error for a request that is too long for the model, if the server says so.
fn too_long(status: u16, message: &str, body: &str) -> Option<ModelError> {
    let named = match status {
        400 | 413 | 422 | 500 => overflow(message),
        // A request that is larger than all that the account may send in a minute never passes.
        429 if message.to_lowercase().contains("request too large") => overflow(message),
        _ => None,
    };
    let named = named.or((status == 413).then(Overflow::default))?;
    let fields = overflow_fields(body);
    Some(ModelError::ContextTooLong {
        tokens: named.tokens.or(fields.tokens),
        limit: named.limit.or(fields.limit),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_become_errors_with_help() {
        #[track_caller]
        fn check(status: u16, body: &str, expected: &str) {
            let error = status_error(status, body, None, "https://h", "m");
            let kind = serde_json::to_value(&error).unwrap();
            assert_eq!(kind["kind"], expected, "{error}");
            assert!(!error.help().is_empty());
        }
        check(401, r#"{"error": {"message": "bad key"}}"#, "unauthorized");
        check(404, r#"{"error": "model 'x' not found"}"#, "model_not_found");
        check(429, "", "rate_limited");
        check(429, r#"{"error": {"message": "x", "code": "insufficient_quota"}}"#, "quota_exceeded");
        check(407, "", "unreachable");
        check(500, "<html>", "server_error");
        check(503, "", "server_error");
        check(
            400,
            r#"{"error": {"message": "This model's maximum context length is 8"}}"#,
            "context_too_long",
        );
        check(
            400,
            r#"{"error": {"message": "the request exceeds the available context size"}}"#,
            "context_too_long",
        );
        check(
            400,
            r#"{"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}"#,
            "context_too_long",
        );
        check(
            400,
            r#"{"error": {"message": "API key not valid. Please pass a valid API key."}}"#,
            "unauthorized",
        );
        check(400, r#"{"error": {"message": "Your credit balance is too low"}}"#, "quota_exceeded");
        check(
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "server_error",
        );
        check(
            429,
            r#"{"error": {"message": "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41000."}}"#,
            "context_too_long",
        );
        check(413, "", "context_too_long");
        let sizes = r#"{"error": {"message": "exceeds the available context size", "n_ctx": 4096, "n_prompt_tokens": 4476}}"#;
        assert_eq!(
            status_error(400, sizes, None, "https://h", "m"),
            ModelError::ContextTooLong { tokens: Some(4476), limit: Some(4096) }
        );
        check(400, r#"{"detail": "no"}"#, "refused");
        check(307, "", "refused");
    }
}
