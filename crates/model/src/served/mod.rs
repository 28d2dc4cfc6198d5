//! Models that a server serves, in any wire format.
//!
//! Servers differ in the features that they accept and the fields that they leave out. So the provider streams, but
//! also accepts a whole answer. It leaves out of the request the features that a server has refused by name. It
//! accepts replies without calls, and calls to unknown tools. It keeps arguments that are not JSON word for word in
//! [`crate::Reply::malformed`]. The differences between formats are in [`crate::formats`].

pub(crate) mod address;

pub use address::OLLAMA_HOST;
mod answer;
pub(crate) mod calls;
mod date;
pub(crate) mod dialect;
pub(crate) mod http;
mod lines;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::ModelError;
use crate::formats::Format;
use crate::provider::{Progress, Provider};
use crate::reference::ModelRef;
use crate::reply::Reply;
use crate::request::Request;
use crate::retry::Retry;
use crate::secret::{Lookup, Secret};
use crate::vendor::Vendor;

pub(crate) use http::agent;

use answer::Answer;
use dialect::Dialect;
use http::Endpoint;

/// The maximum size of a single message of an answer, in bytes.
const MAX_EVENT: usize = 8 << 20;

/// The variable with the key for [`ModelRef::Compat`]. It is no vendor's variable, because a key must never go to a
/// server that it is not for.
pub const COMPAT_KEY: &str = "ALMONER_COMPAT_KEY";

/// The timeout for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum time for which a server may send nothing. A big prompt takes minutes to read on a small machine.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(600);

/// A model behind a server.
#[derive(Debug)]
pub struct ServedModel {
    reference: ModelRef,
    format: Format,
    endpoint: Endpoint,
    retry: Retry,
    /// The dialect of the server, as it is known so far.
    dialect: Mutex<Dialect>,
}

impl ServedModel {
    /// Returns the provider for a vendor's, an `ollama:` or a `compat:` reference. No connection is made yet.
    ///
    /// # Errors
    ///
    /// [`ModelError::KeyMissing`] for a vendor itself without a key. [`ModelError::KeyInTheClear`] when a key would
    /// go over plain HTTP to another machine. [`ModelError::ModelNotFound`] for a reference of another kind.
    pub fn open(reference: &ModelRef, lookup: Lookup<'_>, retry: Retry) -> Result<Self, ModelError> {
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
        let endpoint = Endpoint {
            agent: agent(CONNECT_TIMEOUT, SILENCE_TIMEOUT),
            base_url,
            server,
            model: model.clone(),
            key: key.map(|key| (format.key_header(), Secret::new(key.reveal().trim()))),
            headers: format.headers(),
        };
        let dialect = Mutex::new(format.dialect(is_openai));
        Ok(Self { reference: reference.clone(), format, endpoint, retry, dialect })
    }

    /// Makes one exchange, and sets `spoke` once text was shown.
    fn attempt(
        &self,
        request: &Request,
        progress: &mut dyn FnMut(Progress),
        spoke: &mut bool,
    ) -> Result<Reply, ModelError> {
        let dialect = *self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
        let model = &self.endpoint.model;
        let url = self.format.url(&self.endpoint.base_url, model, dialect);
        let body = self.format.body(request, model, dialect).to_string();
        let mut answer = Answer::new(self.format.assembly(request, dialect));
        let mut shown = |text: String| {
            if !text.is_empty() {
                *spoke = true;
                progress(Progress::Text(self.endpoint.scrub(text)));
            }
        };
        http::exchange(&self.endpoint, url, body, &request.cancel, |part| answer.take(part, &mut shown))?;
        answer.assembly.reply(request.turn())
    }

    /// Repeats an exchange without the features that the server refused by name, as long as each refusal names a new
    /// one.
    fn exchange_adapted(
        &self,
        request: &Request,
        progress: &mut dyn FnMut(Progress),
        spoke: &mut bool,
    ) -> Result<Reply, ModelError> {
        for _ in 0..5 {
            let error = match self.attempt(request, progress, spoke) {
                Err(ModelError::Refused { status: 400 | 422, message }) => message,
                result => return result,
            };
            let mut dialect = self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
            match dialect.after_refusal(&error) {
                Some(next) => *dialect = next,
                None => return Err(ModelError::Refused { status: 400, message: error }),
            }
        }
        self.attempt(request, progress, spoke)
    }
}

impl Provider for ServedModel {
    fn name(&self) -> String {
        self.reference.to_string()
    }

    fn complete(&self, request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Reply, ModelError> {
        let begun = Instant::now();
        let mut spoke = false;
        let mut reply = self.retry.run(&request.cancel, |_| {
            if std::mem::take(&mut spoke) {
                progress(Progress::Restarted);
            }
            self.exchange_adapted(request, progress, &mut spoke)
                .map_err(|error| self.endpoint.scrubbed(error))
        })?;
        reply = self.endpoint.scrubbed(reply);
        reply.usage.seconds = begun.elapsed().as_secs_f64();
        Ok(reply)
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
    let mut answer = Answer::new(format.assembly(&Request::default(), Dialect::default()));
    let pieces = bytes.chunks(step.max(1)).map(|piece| http::Part::Piece(piece.to_vec()));
    for part in [http::Part::Head { framing }].into_iter().chain(pieces).chain([http::Part::End]) {
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
            let opened = ServedModel::open(&reference.parse().unwrap(), &lookup, Retry::default());
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
