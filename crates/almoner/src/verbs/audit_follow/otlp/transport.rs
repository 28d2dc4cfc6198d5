//! OTLP over HTTP: requests that are repeated until the collector takes them.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::thread;
use std::time::{Duration, SystemTime};

use config::network_source::NetworkSource;
use network::{NetworkError, failure_reason};
use passable::visible_line;
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Uri};

use crate::session::Session;
use crate::ui::output;
use control::exit::{Exit, Failure};

/// The variable with headers for the collector, as other programs read it.
const HEADERS_VARIABLE: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// The maximum time for one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The wait before the first repetition. Each wait is up to twice as long as the one before.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The longest wait between two requests.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// The longest wait that a collector can ask for.
const MAX_ASKED_WAIT: Duration = Duration::from_secs(3600);

/// The maximum size of an answer, in bytes.
const MAX_ANSWER_BYTES: u64 = 64 << 10;

/// The statuses after which the protocol repeats a request.
const RETRIED: [u16; 4] = [429, 502, 503, 504];

/// The status of a request that is too large for the collector.
const TOO_LARGE: u16 = 413;

/// The failure of a request that is not repeated.
#[derive(Debug)]
pub(super) enum PostError {
    /// The request is too large. Parts of it may be taken.
    TooLarge(Failure),
    /// The collector refuses the request.
    Refused(Failure),
}

/// The way to a collector.
pub(super) struct Transport {
    network: NetworkSource,
    /// The address of the collector, without a slash at its end.
    base: String,
    headers: HeaderMap,
    /// Whether the last request was not taken.
    is_down: bool,
}

/// The result of one try.
enum Attempt {
    Taken(Vec<u8>),
    /// The collector takes nothing now. It may have asked for a wait.
    Later(String, Option<Duration>),
    Refused(u16, String),
    /// The machine's administrator does not let the collector be reached. Only the administrator can change it.
    Forbidden(NetworkError),
}

impl Transport {
    /// Returns the way to the collector at an address.
    ///
    /// # Errors
    /// When the address or a header is none.
    pub(super) fn new(acting: &Session<'_>, url: &str, headers: &[String]) -> Result<Transport, Failure> {
        let base = parse_url(url)?;
        let mut map = HeaderMap::new();
        let variable = std::env::var(HEADERS_VARIABLE).unwrap_or_default();
        let from_variable = variable.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        for pair in from_variable.chain(headers.iter().map(String::as_str)) {
            let (name, value) = parse_header(pair)?;
            map.insert(name, value);
        }
        let network = NetworkSource::new(acting.place);
        Ok(Transport { network, base, headers: map, is_down: false })
    }

    /// Returns the address of the collector.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// Posts a message until the collector takes it, and returns its answer.
    ///
    /// # Errors
    /// When the collector refuses the message for good.
    pub(super) fn post(&mut self, path: &str, body: &[u8]) -> Result<Vec<u8>, PostError> {
        let mut wait = FIRST_WAIT;
        loop {
            match self.attempt(path, body) {
                Attempt::Taken(answer) => {
                    if std::mem::take(&mut self.is_down) {
                        output::progress(&format!("{} takes events again", visible_line(&self.base)));
                    }
                    return Ok(answer);
                }
                Attempt::Later(reason, asked) => {
                    if !std::mem::replace(&mut self.is_down, true) {
                        output::note(&format!(
                            "cannot deliver events to {}: {}; trying again",
                            visible_line(&self.base),
                            visible_line(&reason)
                        ));
                    }
                    thread::sleep(asked.map_or_else(|| jittered(wait), |asked| asked.min(MAX_ASKED_WAIT)));
                    wait = (wait * 2).min(MAX_WAIT);
                }
                Attempt::Forbidden(error) => {
                    let message = format!("cannot deliver events to {}: {error}", visible_line(&self.base));
                    return Err(PostError::Refused(Failure::new(Exit::Denied, message).help(error.help())));
                }
                Attempt::Refused(status, reason) => {
                    let failure = refusal(&self.base, status, &reason);
                    return Err(match status {
                        TOO_LARGE => PostError::TooLarge(failure),
                        _ => PostError::Refused(failure),
                    });
                }
            }
        }
    }

    fn attempt(&self, path: &str, body: &[u8]) -> Attempt {
        let url = format!("{}{path}", self.base);
        let agent = self.network.current().agent(&url, &|config| {
            config
                .http_status_as_error(false)
                .timeout_global(Some(REQUEST_TIMEOUT))
                .user_agent(concat!("almoner/", env!("CARGO_PKG_VERSION")))
        });
        let agent = match agent {
            Ok(agent) => agent,
            Err(error) if error.is_managed() => return Attempt::Forbidden(error),
            Err(error) => return Attempt::Later(error.to_string(), None),
        };
        let mut request = agent.post(&url).header("content-type", "application/x-protobuf");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut response = match request.send(body) {
            Ok(response) => response,
            Err(error) => return Attempt::Later(failure_reason(&error), None),
        };
        let status = response.status().as_u16();
        let asked = asked_wait(response.headers(), SystemTime::now());
        let answer = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
        match status {
            200..=299 => Attempt::Taken(answer.unwrap_or_default()),
            _ if RETRIED.contains(&status) => Attempt::Later(format!("status {status}"), asked),
            _ => Attempt::Refused(status, reason_of(&answer.unwrap_or_default())),
        }
    }
}

/// Returns the failure for a status with which the collector refuses events for good.
fn refusal(base: &str, status: u16, reason: &str) -> Failure {
    let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    let message = format!("cannot deliver events to {}: status {status}{reason}", visible_line(base));
    let help = match status {
        401 | 403 => format!("give the collector's key: `--header NAME=VALUE`, or in {HEADERS_VARIABLE}"),
        404 => "check the address: `/v1/traces` and `/v1/logs` follow it by themselves".to_owned(),
        _ => "the cursor stays before them; the same command sends them again".to_owned(),
    };
    Failure::new(Exit::Failure, message).help(help)
}

/// Returns the wait that the header `Retry-After` asks for, in seconds or as a date.
fn asked_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get("retry-after")?.to_str().ok()?.trim();
    match text.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => Some(httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default()),
    }
}

/// Returns a wait between half of the given one and the whole, so that not all clients come back at once.
fn jittered(wait: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish() % 1000;
    wait / 2 + wait / 2 * u32::try_from(random).unwrap_or_default() / 1000
}

/// Returns the words of a refusal, as far as they are text. A status of the protocol holds its words as a field.
fn reason_of(answer: &[u8]) -> String {
    const MAX_CHARS: usize = 200;
    let text = String::from_utf8_lossy(answer);
    let words: String = text.chars().filter(|c| !c.is_control()).take(MAX_CHARS).collect();
    visible_line(words.trim()).into_owned()
}

/// Returns the address of a collector without a slash at its end.
fn parse_url(url: &str) -> Result<String, Failure> {
    let wrong = || {
        Failure::new(Exit::Usage, format!("cannot use `{}` as the address of a collector", visible_line(url)))
            .help("write it like `--otlp http://127.0.0.1:4318`; `/v1/traces` and `/v1/logs` follow it")
    };
    let uri: Uri = url.parse().map_err(|_| wrong())?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    if !is_http || uri.host().is_none_or(str::is_empty) || has_user || uri.query().is_some() {
        return Err(wrong());
    }
    Ok(url.trim_end_matches('/').to_owned())
}

fn parse_header(pair: &str) -> Result<(HeaderName, HeaderValue), Failure> {
    let parsed = pair.split_once('=').and_then(|(name, value)| {
        let name = name.trim().parse::<HeaderName>().ok()?;
        let mut value = HeaderValue::from_str(value.trim()).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    });
    // The text may hold a password, and is not repeated.
    parsed.ok_or_else(|| {
        Failure::new(Exit::Usage, "cannot read a header for the collector")
            .help(format!("write it as NAME=VALUE, after `--header` or in {HEADERS_VARIABLE}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_collectors_are_taken() {
        for (url, base) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318"),
            ("https://collector.example/otlp/", "https://collector.example/otlp"),
        ] {
            assert_eq!(parse_url(url).unwrap(), base);
        }
        for url in ["", "127.0.0.1:4318", "ftp://h", "http://me:pass@h", "http://h/?token=x", "http://"] {
            let failure = parse_url(url).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{url}");
        }
        for pair in ["", "name", "bad name=x", "name=a\nb"] {
            let failure = parse_header(pair).unwrap_err();
            assert!(!failure.message.raw().contains("bad"), "the text stays out of the message");
        }
        assert_eq!(parse_header("authorization=Bearer x=y").unwrap().1.to_str().unwrap(), "Bearer x=y");
    }

    #[test]
    fn refusal_names_the_status_and_its_way_out() {
        for (status, reason, message, help) in [
            (401, "", "cannot deliver events to http://h: status 401", "`--header NAME=VALUE`"),
            (
                403,
                "no key",
                "cannot deliver events to http://h: status 403 (no key)",
                "`--header NAME=VALUE`",
            ),
            (404, "", "cannot deliver events to http://h: status 404", "`/v1/traces` and `/v1/logs` follow"),
            (400, "", "cannot deliver events to http://h: status 400", "the cursor stays before them"),
        ] {
            let failure = refusal("http://h", status, reason);
            assert_eq!(failure.message.raw(), message);
            assert!(failure.help.contains(help), "{status}: {}", failure.help);
        }
    }

    #[test]
    fn asked_wait_is_read_in_seconds_and_as_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        for (value, expected) in [
            ("7", Some(7)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(7)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("soon", None),
        ] {
            let headers = HeaderMap::from_iter([(
                HeaderName::from_static("retry-after"),
                HeaderValue::from_static(value),
            )]);
            assert_eq!(asked_wait(&headers, now), expected.map(Duration::from_secs), "{value}");
        }
        for wait in [FIRST_WAIT, MAX_WAIT] {
            assert!((wait / 2..=wait).contains(&jittered(wait)));
        }
    }
}
