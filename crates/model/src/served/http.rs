//! One HTTP exchange, on a thread of its own so that the caller can give it up at any moment.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::date;
use crate::error::ModelError;
use crate::request::Cancel;
use crate::secret::Secret;

/// The maximum size of a whole body, in bytes.
const MAX_BODY: u64 = 64 << 20;
/// The maximum number of characters of a server's error message that are kept.
const MAX_MESSAGE_LEN: usize = 500;

/// A part of the exchange. The parts come in order: one head, then pieces, then the end.
#[derive(Debug)]
pub(super) enum Part {
    /// The beginning of a successful answer.
    Head {
        /// The way in which the messages of the answer are separated.
        framing: Framing,
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
}

impl Endpoint {
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

/// Returns an agent with the time-outs that a model needs: a short one for a connection, and a long one for an
/// answer.
pub(crate) fn agent(connect: Duration, silence: Duration) -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_resolve(Some(connect))
        .timeout_connect(Some(connect))
        .timeout_recv_response(Some(silence))
        .timeout_per_read(Some(silence))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("almoner/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent()
}

/// Sends the body, and passes each part of the answer to `handle` until `handle` returns `Ok(true)`.
pub(super) fn exchange(
    endpoint: &Endpoint,
    url: String,
    body: String,
    cancel: &Cancel,
    mut handle: impl FnMut(Part) -> Result<bool, ModelError>,
) -> Result<(), ModelError> {
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
        match next(&parts, cancel)? {
            Part::Failed(error) => return Err(error),
            part => {
                let last = matches!(part, Part::End);
                if handle(part)? || last {
                    return Ok(());
                }
            }
        }
    }
}

fn next(parts: &Receiver<Part>, cancel: &Cancel) -> Result<Part, ModelError> {
    loop {
        if cancel.is_canceled() {
            return Err(ModelError::Canceled);
        }
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
    for (name, value) in endpoint.headers {
        request = request.header(*name, *value);
    }
    match &endpoint.key {
        Some((name @ "authorization", key)) => {
            request = request.header(*name, format!("Bearer {}", key.reveal()));
        }
        Some((name, key)) => request = request.header(*name, key.reveal()),
        None => {}
    }
    let mut response = request.send(body).map_err(|e| connection_error(&e, &endpoint.server))?;
    let status = response.status().as_u16();
    if !(200..300).contains(&status) {
        let retry_after = response
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok())
            .and_then(|value| date::retry_after(value, SystemTime::now()));
        let mut text = Vec::new();
        // An incomplete error body is enough.
        let _ = response.body_mut().as_reader().take(64 << 10).read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text);
        let text = endpoint.key.as_ref().map_or_else(|| text.to_string(), |(_, key)| key.scrub(&text));
        let retry_after = retry_after.or_else(|| retry_delay(&text));
        return Err(status_error(status, &text, retry_after, &endpoint.server, &endpoint.model));
    }
    let kind = response.headers().get("content-type").and_then(|v| v.to_str().ok()).unwrap_or_default();
    let framing = match kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "text/event-stream" => Framing::Events,
        "application/x-ndjson" | "application/jsonl" => Framing::Lines,
        _ => Framing::SingleMessage,
    };
    if sender.send(Part::Head { framing }).is_err() {
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

/// Returns the wait that Gemini asks for in the body of an error: `"retryDelay": "34s"`.
fn retry_delay(body: &str) -> Option<Duration> {
    let parsed: Value = serde_json::from_str(body).ok()?;
    let details = parsed.get("error")?.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

/// Returns the error of an exchange in which no answer began.
fn connection_error(error: &ureq::Error, server: &str) -> ModelError {
    match error {
        ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => {
            ModelError::Malformed { what: format!("no HTTP answer from {server}: {error}") }
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
        error => ModelError::Unreachable { server: server.to_owned(), reason: error.to_string() },
    }
}

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
    let context = [
        "context_length",
        "context length",
        "maximum context",
        "context size",
        "exceeds the context",
        "prompt is too long",
        "input token count",
        "exceeds the available context",
    ];
    match status {
        400 if says(&["api key not valid", "api_key_invalid"]) => {
            ModelError::Unauthorized { server: server.to_owned(), reason: message }
        }
        401 | 403 => ModelError::Unauthorized { server: server.to_owned(), reason: message },
        400 | 413 | 422 | 500 if says(&context) => ModelError::ContextTooLong { tokens: None, limit: None },
        413 => ModelError::ContextTooLong { tokens: None, limit: None },
        404 => ModelError::ModelNotFound { model: model.to_owned(), reason: message },
        402 => ModelError::QuotaExceeded { message },
        400 if says(&["credit balance is too low"]) => ModelError::QuotaExceeded { message },
        429 if retry_after.is_none() && says(&["insufficient_quota", "exceeded your current quota"]) => {
            ModelError::QuotaExceeded { message }
        }
        429 => ModelError::RateLimited { retry_after },
        408 | 500.. => ModelError::ServerError { status, message },
        _ => ModelError::Refused { status, message },
    }
}

/// Returns the server's message from the usual forms of an error body, on one line.
fn complaint(body: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let words = parsed.as_ref().and_then(|json| {
        let error = json.get("error").unwrap_or(json);
        let message =
            error.get("message").or(error.get("detail")).and_then(Value::as_str).or(error.as_str())?;
        let code = error.get("code").and_then(Value::as_str);
        Some(code.map_or_else(|| message.to_owned(), |code| format!("{message} ({code})")))
    });
    let words = words.unwrap_or_else(|| body.to_owned());
    let line: String =
        words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_MESSAGE_LEN).collect();
    let line = line.trim().to_owned();
    if line.is_empty() { "no reason given".to_owned() } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_delay_in_the_body_is_found() {
        for (body, expected) in [
            (r#"{"error":{"details":[{"@type":"x"},{"retryDelay":"34.5s"}]}}"#, Some(34.5)),
            (r#"{"error":{"details":[{"retryDelay":"soon"}]}}"#, None),
            (r#"{"error":{"details":[{"retryDelay":"-1s"}]}}"#, None),
            ("no", None),
        ] {
            assert_eq!(retry_delay(body).map(|wait| wait.as_secs_f64()), expected, "{body}");
        }
    }

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
        check(400, r#"{"detail": "no"}"#, "refused");
        check(307, "", "refused");
    }
}
