//! Models that a server serves, in any wire format.
//!
//! Servers differ in the features that they accept and the fields that they leave out. So the provider streams, but
//! also accepts a whole answer. It leaves out of the request the features that a server has refused by name. It
//! accepts replies without calls, and calls to unknown tools. It keeps arguments that are not JSON word for word in
//! [`crate::Reply::malformed`]. The differences between formats are in [`crate::formats`].

pub(crate) mod address;

pub use address::OLLAMA_HOST;
pub use dialect::Dialect;
pub use wire_request::WireRequest;
mod answer;
pub(crate) mod asked_wait;
pub(crate) mod calls;
pub(crate) mod complaint;
pub(crate) mod dialect;
mod gzip;
pub(crate) mod http;
mod inquiry;
mod json_values;
pub(crate) mod message;
mod overflow;
mod pace;
mod rate_limits;
mod wire_request;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use network::Network;
use passable::ExactJson;

use crate::error::ModelError;
use crate::formats::{self, Format};
use crate::limits::{LimitMemory, ModelLimits};
use crate::provider::{Progress, Provider};
use crate::reference::ModelRef;
use crate::reply::Reply;
use crate::request::Request;
use crate::retry::Retry;
use crate::secret::{Lookup, Secret};
use crate::vendor::Vendor;

pub(crate) use http::agent;
pub use pace::MinimumPace;
pub use rate_limits::RateLimits;

use answer::Answer;
use http::{Endpoint, Part, Received};
use overflow::accepted_output;
use rate_limits::Turn;

/// The maximum size of a single message of an answer, in bytes.
const MAX_EVENT: usize = 8 << 20;

/// The variable with the key for [`ModelRef::Compat`]. It is no vendor's variable, because a key must never go to a
/// server that it is not for.
pub const COMPAT_KEY: &str = "ALMONER_COMPAT_KEY";

/// The maximum number of times that one request is changed after a refusal.
const MAX_ADAPTATIONS: usize = 10;

/// The number of bytes from which a text that began with an opening tag is surely thinking.
const MIN_THINKING: usize = 64;

/// The smallest number of tokens that is worth asking for as a reply.
const MIN_ROOM: u32 = 256;

/// The size of a request from which on an Ollama server is asked for its limits, in bytes. Smaller requests fit any
/// context.
const MIN_INQUIRY_BYTES: usize = 12 << 10;

/// The timeout for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time for which a connection stays open after its server has used up its time, if the caller does not notice.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum time for which a request waits for a server's limit and keeps its thread. A longer wait is the caller's.
const MAX_HELD_WAIT: Duration = Duration::from_secs(10);

/// The things that the models of all servers share: the way to the servers, and the view of their limits.
#[derive(Clone, Debug, Default)]
pub struct ServerAccess {
    /// The way to the servers.
    pub network: Arc<Network>,
    /// The limits of the servers, as far as they are known.
    pub limits: Arc<RateLimits>,
    /// The pace that each server has to keep.
    pub pace: MinimumPace,
}

/// A model behind a server.
#[derive(Debug)]
pub struct ServedModel {
    reference: ModelRef,
    /// The reference with the server's address and without a key.
    identity: String,
    /// The limits that the vendor's documentation states.
    limits: ModelLimits,
    format: Format,
    endpoint: Endpoint,
    retry: Retry,
    rate_limits: Arc<RateLimits>,
    /// The name of the rate limit that counts: the server, the model, and a digest of the key.
    limit: String,
    /// The dialect of the server, as it is known so far.
    dialect: Mutex<Dialect>,
    /// The limits that servers have stated.
    memory: Arc<LimitMemory>,
}

impl ServedModel {
    /// Returns the provider for a vendor's, an `ollama:` or a `compat:` reference. No connection is made yet.
    ///
    /// # Errors
    ///
    /// [`ModelError::KeyMissing`] for a vendor itself without a key. [`ModelError::KeyInTheClear`] when a key would
    /// go over plain HTTP to another machine. [`ModelError::ModelNotFound`] for a reference of another kind.
    /// [`ModelError::Network`] when the settings of the network cannot be used.
    pub fn open(
        reference: &ModelRef,
        lookup: Lookup<'_>,
        retry: Retry,
        access: &ServerAccess,
    ) -> Result<Self, ModelError> {
        let setting = |name: &str| lookup(name).filter(|value| !value.reveal().trim().is_empty());
        let pinned = reference.clone().pinned(lookup).map_err(|error| ModelError::ModelNotFound {
            model: reference.to_string(),
            reason: error.to_string(),
        })?;
        let (format, base_url, model, key) = match &pinned {
            ModelRef::Vendor { vendor, base_url, model, .. } => {
                let key = vendor.keys().iter().find_map(|name| setting(name));
                if base_url.is_none() && key.is_none() {
                    return Err(ModelError::KeyMissing { variable: vendor.keys().join(" or ") });
                }
                let base_url = base_url.clone().unwrap_or_else(|| vendor.url().to_owned());
                (Format::for_vendor(*vendor), base_url, model, key)
            }
            ModelRef::Ollama { url, model } => {
                (Format::Ollama, url.clone().unwrap_or_else(|| address::OLLAMA.to_owned()), model, None)
            }
            ModelRef::Compat { base_url, model, .. } => {
                (Format::Chat, base_url.clone(), model, setting(COMPAT_KEY))
            }
            other => {
                let reason = "not a server's model".to_owned();
                return Err(ModelError::ModelNotFound { model: other.to_string(), reason });
            }
        };
        let server = address::origin(&base_url);
        if key.is_some() && !server.starts_with("https://") && !address::is_loopback(&server) {
            return Err(ModelError::KeyInTheClear { server });
        }
        let is_openai = matches!(&pinned, ModelRef::Vendor { vendor: Vendor::OpenAi, .. });
        let silence = access.pace.silence + CLOSE_TIMEOUT;
        let agent = agent(&access.network, &base_url, CONNECT_TIMEOUT, silence)?;
        let digest = key.as_ref().map(|key| blake3::hash(key.reveal().trim().as_bytes()).to_hex());
        let limit = format!("{server} {model} {}", digest.as_ref().map_or("", |digest| digest.as_str()));
        let endpoint = Endpoint {
            agent,
            base_url,
            server,
            model: model.clone(),
            key: key.map(|key| (format.key_header(), Secret::new(key.reveal().trim()))),
            headers: format.headers(),
            pace: access.pace,
        };
        let dialect = Mutex::new(format.dialect(is_openai));
        Ok(Self {
            reference: reference.clone(),
            identity: pinned.plain().to_string(),
            limits: ModelLimits::lookup(&pinned),
            format,
            endpoint,
            retry,
            rate_limits: Arc::clone(&access.limits),
            limit,
            dialect,
            memory: Arc::default(),
        })
    }

    /// Returns the provider with a memory for the limits that servers state, which outlives it.
    #[must_use]
    pub(crate) fn with_memory(self, memory: Arc<LimitMemory>) -> Self {
        Self { memory, ..self }
    }

    /// Returns the limits that are known without a question to the server.
    fn known_limits(&self) -> ModelLimits {
        self.memory.get(&self.identity).or(self.limits)
    }

    /// Returns the limits that the server states if it is asked for them. It is asked once.
    fn asked_limits(&self) -> ModelLimits {
        // OpenAI's own server states none.
        let states_none = self.endpoint.server == address::origin(Vendor::OpenAi.url());
        if !states_none && self.memory.is_first_question(&self.identity) {
            self.memory.learn(&self.identity, inquiry::ask(&self.endpoint, self.format));
        }
        self.known_limits()
    }

    /// Returns the dialect for the next attempt. A reply may have at most `room` tokens, if that is set.
    fn present_dialect(&self, room: Option<u32>) -> Dialect {
        let limits = self.known_limits();
        let stated = limits.output.and_then(|most| u32::try_from(most).ok());
        let max_output = stated.into_iter().chain(room).min();
        let dialect = *self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
        Dialect { max_output, context: limits.context, ..dialect }
    }

    /// Makes one exchange, and sets `spoke` once text was shown.
    fn attempt(
        &self,
        request: &Request,
        dialect: Dialect,
        progress: &mut dyn FnMut(Progress),
        spoke: &mut bool,
    ) -> Result<Reply, ModelError> {
        let model = &self.endpoint.model;
        let url = self.format.url(&self.endpoint.base_url, model, dialect);
        let body = ExactJson(&self.format.body(request, model, dialect)).to_string();
        let mut answer = Answer::new(self.format.assembly(request, dialect), request.answer_bytes());
        let mut filter = VisibleText::default();
        let mut shown = |text: String| {
            let text = filter.add(text);
            if !text.is_empty() {
                *spoke = true;
                progress(Progress::Text(self.endpoint.scrub(message::mend(text))));
            }
        };
        http::exchange(&self.endpoint, url, body, &request.cancel, |part| {
            if let Part::Head { replenished, .. } = &part {
                self.rate_limits.answered(&self.limit, Instant::now(), *replenished);
            }
            let is_over = answer.take(part, &mut shown)?;
            Ok(Received { is_over, bytes: answer.content_bytes() })
        })?;
        let reply = answer.assembly.reply(request.turn())?;
        Ok(Reply { dialect: Some(dialect), ..reply })
    }

    /// Repeats an exchange without the features that the server refused by name, and within the limits that it named,
    /// as long as each refusal names something new.
    ///
    /// # Errors
    ///
    /// [`ModelError::NoTools`] when the model takes no tools and the request has some.
    fn exchange_adapted(
        &self,
        request: &Request,
        progress: &mut dyn FnMut(Progress),
        spoke: &mut bool,
    ) -> Result<Reply, ModelError> {
        let mut room = None;
        for _ in 0..MAX_ADAPTATIONS {
            let dialect = self.present_dialect(room);
            let asked = self.format.answer_limit(request, dialect);
            let error = match self.attempt(request, dialect, progress, spoke) {
                Err(ModelError::ContextTooLong { tokens, limit }) => {
                    self.memory.learn(&self.identity, ModelLimits { context: limit, output: None });
                    if limit.is_none() {
                        self.memory.note_overflow(&self.identity);
                    }
                    match room_beside(tokens, limit, asked) {
                        Some(left) => room = Some(left),
                        None => return Err(ModelError::ContextTooLong { tokens, limit }),
                    }
                    continue;
                }
                Err(error) => error,
                reply => return reply,
            };
            let Some(message) = refusal(&error) else { return Err(error) };
            if let Some(most) = asked.and_then(|asked| accepted_output(message, u64::from(asked))) {
                self.memory.learn(&self.identity, ModelLimits { context: None, output: Some(most) });
                continue;
            }
            if dialect::refuses_tools(message) && !request.tools.is_empty() {
                let (server, model) = (self.endpoint.server.clone(), self.endpoint.model.clone());
                return Err(ModelError::NoTools { server, model, message: message.to_owned() });
            }
            let mut dialect = self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
            match dialect.after_refusal(message) {
                Some(next) => *dialect = next,
                None => return Err(error),
            }
        }
        self.attempt(request, self.present_dialect(room), progress, spoke)
    }
}

/// Returns the number of tokens that are left for the reply, if the request itself fits the context and only the reply
/// that it asks for does not.
fn room_beside(tokens: Option<u64>, limit: Option<u64>, asked: Option<u32>) -> Option<u32> {
    let left = u32::try_from(limit?.checked_sub(tokens?)?).ok()?;
    (left >= MIN_ROOM && left < asked?).then_some(left)
}

/// Returns the server's words, if the error may be a refusal of a feature. Servers that render a template of the model
/// report its refusal as a failure of their own.
fn refusal(error: &ModelError) -> Option<&str> {
    match error {
        ModelError::Refused { status: 400 | 422 | 501, message, .. } => Some(message),
        ModelError::ServerError { status: 200 | 500 | 501, message, .. }
            if dialect::refuses_tools(message) || dialect::refuses_roles(message) =>
        {
            Some(message)
        }
        // A gateway finds no server that has the model with tools.
        ModelError::ModelNotFound { reason, .. } if dialect::refuses_tools(reason) => Some(reason),
        _ => None,
    }
}

/// The text of an answer as it is shown while it comes: without the thinking at its beginning.
#[derive(Debug, Default)]
struct VisibleText {
    /// The text that may be thinking.
    held: String,
    is_through: bool,
}

impl VisibleText {
    /// Takes more of the text, and returns the part of it that can be shown.
    fn add(&mut self, text: String) -> String {
        if self.is_through {
            return text;
        }
        let was_empty = self.held.is_empty();
        self.held.push_str(&text);
        // A closing tag ends with one of these, and most pieces of thinking have none.
        let may_close = was_empty || self.held.len() < MIN_THINKING || text.contains(['>', ']', '▷']);
        if !may_close || formats::is_open_thinking(&self.held) {
            return String::new();
        }
        self.is_through = true;
        formats::without_thinking(&std::mem::take(&mut self.held)).to_owned()
    }
}

impl Provider for ServedModel {
    fn name(&self) -> String {
        self.reference.to_string()
    }

    fn limits(&self, bytes: usize) -> ModelLimits {
        let known = self.known_limits();
        // An older Ollama server shortens a request that is too long without a word. The others refuse it, and may state
        // the limit elsewhere.
        let is_due = match self.format {
            Format::Ollama => bytes >= MIN_INQUIRY_BYTES,
            _ => self.memory.has_overflowed(&self.identity),
        };
        match is_due && known.context.is_none() {
            true => self.asked_limits().or(known),
            false => known,
        }
    }

    fn complete(&self, request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Reply, ModelError> {
        let begun = Instant::now();
        let mut spoke = false;
        let mut held = Duration::ZERO;
        let mut reply = loop {
            held = self.await_turn(request, progress, begun, held)?;
            let sent = self.now(begun, held);
            let result = self.retry.run(&request.cancel, |_| {
                if std::mem::take(&mut spoke) {
                    progress(Progress::Restarted);
                }
                self.exchange_adapted(request, progress, &mut spoke)
                    .map_err(|error| self.endpoint.scrubbed(error.at(&self.endpoint.server)))
            });
            match result {
                Err(ModelError::RateLimited { retry_after }) => {
                    let now = self.now(begun, held);
                    self.rate_limits.refused(&self.limit, sent, now, retry_after);
                    if self.retry.tries == 1 {
                        // Another model is asked in place of this one.
                        return Err(ModelError::RateLimited { retry_after });
                    }
                }
                result => break result?,
            }
        };
        reply = self.endpoint.scrubbed(reply);
        reply.usage.seconds = begun.elapsed().as_secs_f64();
        Ok(reply)
    }
}

impl ServedModel {
    /// Returns the present time. A test that only pretends to wait has its own time.
    fn now(&self, begun: Instant, held: Duration) -> Instant {
        Instant::now().max(begun.checked_add(held).unwrap_or(begun))
    }

    /// Waits until the server's limit lets this request begin. Returns the time waited in this call so far.
    ///
    /// # Errors
    /// [`ModelError::RateLimited`] when the wait is too long to keep a thread.
    fn await_turn(
        &self,
        request: &Request,
        progress: &mut dyn FnMut(Progress),
        begun: Instant,
        mut held: Duration,
    ) -> Result<Duration, ModelError> {
        loop {
            if request.cancel.is_canceled() {
                return Err(ModelError::Canceled);
            }
            let Turn::Wait(wait) = self.rate_limits.turn(&self.limit, self.now(begun, held)) else {
                return Ok(held);
            };
            if self.retry.tries == 1 {
                return Err(ModelError::RateLimited { retry_after: Some(wait) });
            }
            if held.saturating_add(wait) > MAX_HELD_WAIT {
                let wait = self.rate_limits.send_away(&self.limit, wait);
                return Err(ModelError::RateLimited { retry_after: Some(wait) });
            }
            progress(Progress::Waiting { server: self.endpoint.server.clone(), wait });
            self.retry.wait(wait, &request.cancel);
            held = held.saturating_add(wait);
        }
    }
}

/// The names of the wire formats, as [`read_answer`] takes them.
pub const FORMATS: [&str; 5] = ["chat", "responses", "anthropic", "gemini", "ollama"];

/// Returns the reply in the bytes of an answer, which is read in pieces of `step` bytes, streamed or whole. No server
/// is needed.
///
/// # Errors
///
/// When the bytes are no answer of that format, or an incomplete one.
pub fn read_answer(format: &str, stream: bool, bytes: &[u8], step: usize) -> Result<Reply, ModelError> {
    let (format, framing) = match format {
        "responses" => (Format::Responses, http::Framing::Events),
        "anthropic" => (Format::Anthropic, http::Framing::Events),
        "gemini" => (Format::Gemini, http::Framing::Events),
        "ollama" => (Format::Ollama, http::Framing::Lines),
        _ => (Format::Chat, http::Framing::Events),
    };
    let framing = if stream { framing } else { http::Framing::SingleMessage };
    let request = Request::default();
    let mut answer = Answer::new(format.assembly(&request, Dialect::default()), request.answer_bytes());
    let pieces = bytes.chunks(step.max(1)).map(|piece| Part::Piece(piece.to_vec()));
    let head = Part::Head { framing, replenished: None };
    for part in [head].into_iter().chain(pieces).chain([Part::End]) {
        if answer.take(part, &mut |_| ())? {
            break;
        }
    }
    answer.assembly.reply(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use address::OLLAMA_HOST;

    #[test]
    fn keys_are_sent_only_to_permitted_servers() {
        #[track_caller]
        fn check(reference: &str, vars: &[(&str, &str)], expected: &str) {
            let lookup =
                |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| Secret::new(*value));
            let access = ServerAccess::default();
            let opened = ServedModel::open(&reference.parse().unwrap(), &lookup, Retry::default(), &access);
            let got = match opened {
                Ok(served) => match served.endpoint.key {
                    Some((_, key)) => format!("{} to {}", key.reveal(), served.endpoint.server),
                    None => format!("no key to {}", served.endpoint.server),
                },
                Err(error) => error.to_string(),
            };
            assert_eq!(got, expected);
        }
        let (openai, openai_url) = ("OPENAI_API_KEY", "OPENAI_BASE_URL");
        let key = (openai, "sk-1234");
        check("openai:m", &[], "no key: the variable OPENAI_API_KEY is not set");
        check("openai:m", &[(openai, " ")], "no key: the variable OPENAI_API_KEY is not set");
        check("openai:m", &[key], "sk-1234 to https://api.openai.com");
        check("openai-responses:m", &[key], "sk-1234 to https://api.openai.com");
        check("openai:m", &[key, (openai_url, "http://127.0.0.1:9/v1/")], "sk-1234 to http://127.0.0.1:9");
        check(
            "openai:m",
            &[key, (openai_url, "http://h/v1")],
            "will not send a key to http://h without encryption",
        );
        check("openai:m", &[(openai_url, "http://h/v1")], "no key to http://h");
        // A reference that names its server means that one; the variables do not count.
        let elsewhere = (openai_url, "https://elsewhere/v1");
        check("openai:https://own/v1#m", &[key, elsewhere], "sk-1234 to https://own");
        check("ollama:http://box:11434#m", &[key, (OLLAMA_HOST, "elsewhere")], "no key to http://box:11434");
        check("compat:https://other/v1#m", &[key], "no key to https://other");
        check("compat:https://other/v1#m", &[(COMPAT_KEY, "k")], "k to https://other");
        check("ollama:m", &[key, (COMPAT_KEY, "k")], "no key to http://127.0.0.1:11434");
        // Each vendor has a key of its own.
        check("anthropic:m", &[key], "no key: the variable ANTHROPIC_API_KEY is not set");
        check("anthropic:m", &[key, ("ANTHROPIC_API_KEY", "a")], "a to https://api.anthropic.com");
        check("gemini:m", &[key], "no key: the variable GEMINI_API_KEY or GOOGLE_API_KEY is not set");
        let google = ("GOOGLE_API_KEY", "second");
        check("gemini:m", &[google], "second to https://generativelanguage.googleapis.com");
        check(
            "gemini:m",
            &[google, ("GEMINI_API_KEY", "first")],
            "first to https://generativelanguage.googleapis.com",
        );
        check(
            "anthropic:http://h#m",
            &[("ANTHROPIC_API_KEY", "a")],
            "will not send a key to http://h without encryption",
        );
    }
}
