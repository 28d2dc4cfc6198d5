//! Any server that speaks OpenAI's chat-completions protocol: OpenAI itself, Ollama, llama.cpp, vLLM and others.
//!
//! Servers differ in what they bear and what they forget. The provider therefore streams but also takes a whole
//! answer; leaves out of the request what a server has refused by name; takes "no call" and calls to unknown
//! tools as normal; and keeps arguments that are not JSON word for word in [`crate::Reply::malformed`].

mod http;
mod sse;
mod wire;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::ModelError;
use crate::provider::{Progress, Provider};
use crate::reference::ModelRef;
use crate::reply::Reply;
use crate::request::Request;
use crate::retry::Retry;
use crate::secret::{Lookup, Secret};

pub(crate) use http::agent;

use http::{Endpoint, Part};
use wire::{Assembly, Dialect};

/// OpenAI's own address.
pub(crate) const OPENAI: &str = "https://api.openai.com/v1";
/// An Ollama on this machine.
pub(crate) const OLLAMA: &str = "http://127.0.0.1:11434";
/// The variable with the key for [`ModelRef::OpenAi`].
pub const OPENAI_KEY: &str = "OPENAI_API_KEY";
/// The variable that puts another server in OpenAI's place.
pub const OPENAI_URL: &str = "OPENAI_BASE_URL";
/// The variable with the key for [`ModelRef::Compat`]. Not OpenAI's: a key must never go to a server that it is
/// not for.
pub const COMPAT_KEY: &str = "ALMONER_COMPAT_KEY";
/// The variable with Ollama's address.
pub const OLLAMA_HOST: &str = "OLLAMA_HOST";

/// How long the making of a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a server may say nothing: a big prompt on a small machine takes minutes to read.
const SILENCE: Duration = Duration::from_secs(600);

/// A model behind an OpenAI-compatible server.
#[derive(Debug)]
pub struct Compat {
    reference: ModelRef,
    endpoint: Endpoint,
    retry: Retry,
    /// What the server has been found to bear.
    dialect: Mutex<Dialect>,
}

impl Compat {
    /// The provider for an `openai:`, `ollama:` or `compat:` reference. Connects to nothing yet.
    ///
    /// # Errors
    /// [`ModelError::KeyMissing`] for OpenAI itself without a key, [`ModelError::KeyInTheClear`] when a key would go
    /// over plain HTTP to another machine, [`ModelError::ModelNotFound`] for a reference of another kind.
    pub fn open(reference: &ModelRef, lookup: Lookup<'_>, retry: Retry) -> Result<Self, ModelError> {
        let setting = |name: &str| lookup(name).filter(|value| !value.reveal().trim().is_empty());
        let pinned = reference.clone().pinned(lookup).map_err(|error| ModelError::ModelNotFound {
            model: reference.to_string(),
            reason: error.to_string(),
        })?;
        let (base_url, model, key) = match &pinned {
            ModelRef::OpenAi { base_url, model } => {
                let key = setting(OPENAI_KEY);
                if base_url.is_none() && key.is_none() {
                    return Err(ModelError::KeyMissing { variable: OPENAI_KEY.to_owned() });
                }
                (base_url.clone().unwrap_or_else(|| OPENAI.to_owned()), model, key)
            }
            ModelRef::Ollama { url, model } => {
                (format!("{}/v1", url.as_deref().unwrap_or(OLLAMA)), model, None)
            }
            ModelRef::Compat { base_url, model } => (base_url.clone(), model, setting(COMPAT_KEY)),
            other => {
                let reason = "not a server's model".to_owned();
                return Err(ModelError::ModelNotFound { model: other.to_string(), reason });
            }
        };
        let server = origin(&base_url);
        if key.is_some() && !server.starts_with("https://") && !is_loopback(&server) {
            return Err(ModelError::KeyInTheClear { server });
        }
        let is_openai = matches!(pinned, ModelRef::OpenAi { .. });
        let dialect =
            Dialect { completion_tokens: is_openai, format_beside_tools: is_openai, ..Dialect::default() };
        let endpoint = Endpoint {
            agent: agent(CONNECT, SILENCE),
            url: format!("{base_url}/chat/completions"),
            server,
            model: model.clone(),
            key: key.map(|key| Secret::new(key.reveal().trim())),
        };
        Ok(Self { reference: reference.clone(), endpoint, retry, dialect: Mutex::new(dialect) })
    }

    /// One exchange; `spoke` becomes true once text was shown.
    fn attempt(
        &self,
        request: &Request,
        progress: &mut dyn FnMut(Progress),
        spoke: &mut bool,
    ) -> Result<Reply, ModelError> {
        let dialect = *self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
        let body = wire::body(request, &self.endpoint.model, dialect).to_string();
        let mut answer = Answer::default();
        let mut shown = |text: String| {
            if !text.is_empty() {
                *spoke = true;
                progress(Progress::Text(text));
            }
        };
        http::exchange(&self.endpoint, body, &request.cancel, |part| answer.take(part, &mut shown))?;
        answer.assembly.reply(request.turn())
    }

    /// Repeats an exchange without what the server refused by name, as long as that leads on.
    fn adapted(
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

impl Provider for Compat {
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
            self.adapted(request, progress, &mut spoke)
        })?;
        reply.usage.seconds = begun.elapsed().as_secs_f64();
        Ok(reply)
    }
}

/// An answer on its way, as events or whole.
#[derive(Default)]
struct Answer {
    events: sse::Events,
    whole: Option<Vec<u8>>,
    assembly: Assembly,
    received: u64,
}

impl Answer {
    /// Takes in one part; `Ok(true)` when the answer is complete.
    fn take(&mut self, part: Part, shown: &mut dyn FnMut(String)) -> Result<bool, ModelError> {
        match part {
            Part::Head { events } => {
                self.whole = (!events).then(Vec::new);
                Ok(false)
            }
            Part::Piece(piece) => {
                self.received += piece.len() as u64;
                if let Some(whole) = &mut self.whole {
                    whole.extend_from_slice(&piece);
                    return Ok(false);
                }
                let mut complete = Vec::new();
                self.events
                    .push(&piece, |event| complete.push(event))
                    .map_err(|sse::TooLarge| ModelError::Malformed { what: "an endless event".into() })?;
                for event in complete {
                    if self.event(&event, shown)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Part::End => self.end(shown),
            Part::Failed(error) => Err(error),
        }
    }

    fn event(&mut self, event: &[u8], shown: &mut dyn FnMut(String)) -> Result<bool, ModelError> {
        if event.trim_ascii() == b"[DONE]" {
            // Some servers name no reason before the end; a stream without any answer is still none.
            return if self.assembly.seen_any() { Ok(true) } else { Err(self.cut_off()) };
        }
        shown(self.assembly.take(event)?);
        Ok(false)
    }

    fn end(&mut self, shown: &mut dyn FnMut(String)) -> Result<bool, ModelError> {
        if let Some(whole) = self.whole.take() {
            if whole.trim_ascii().is_empty() {
                return Err(self.cut_off());
            }
            shown(self.assembly.take(&whole)?);
            if !self.assembly.seen_any() {
                return Err(ModelError::Malformed { what: "an answer without choices".into() });
            }
            return Ok(true);
        }
        if let Some(event) = self.events.finish()
            && self.event(&event, shown).map_err(|_| self.cut_off())?
        {
            return Ok(true);
        }
        if self.assembly.is_finished() { Ok(true) } else { Err(self.cut_off()) }
    }

    fn cut_off(&self) -> ModelError {
        ModelError::CutOff { bytes: self.received }
    }
}

/// Scheme, host and port of a URL.
pub(crate) fn origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let authority = rest.split('/').next().unwrap_or_default();
    // A user name or password is never shown.
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}")
}

fn is_loopback(origin: &str) -> bool {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let host = if let Some(rest) = host.strip_prefix('[') {
        rest.split(']').next().unwrap_or_default()
    } else {
        host.split(':').next().unwrap_or_default()
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Ollama's address in any of the forms that its own tools take.
pub(crate) fn ollama_url(lookup: Lookup<'_>) -> String {
    let host = lookup(OLLAMA_HOST).map(|host| host.reveal().trim().trim_end_matches('/').to_owned());
    let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| "127.0.0.1:11434".to_owned());
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", &host));
    // A server is told to listen on every address with 0.0.0.0; a client cannot connect to that.
    let rest = rest.replacen("0.0.0.0", "127.0.0.1", 1);
    let has_port = rest.rsplit(']').next().unwrap_or_default().contains(':');
    match (has_port, scheme) {
        (true, _) | (false, "https") => format!("{scheme}://{rest}"),
        (false, _) => format!("{scheme}://{rest}:11434"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_is_found_however_its_host_is_written() {
        #[track_caller]
        fn check(host: &str, expected: &str) {
            assert_eq!(ollama_url(&|_| Some(Secret::new(host))), expected);
        }
        check("", "http://127.0.0.1:11434");
        check("0.0.0.0", "http://127.0.0.1:11434");
        check("box:8080", "http://box:8080");
        check("https://box/", "https://box");
        check("[::1]", "http://[::1]:11434");
    }

    #[test]
    fn keys_go_only_where_they_may() {
        #[track_caller]
        fn check(reference: &str, vars: &[(&str, &str)], expected: &str) {
            let lookup =
                |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| Secret::new(*value));
            let opened = Compat::open(&reference.parse().unwrap(), &lookup, Retry::default());
            let got = match opened {
                Ok(compat) => match compat.endpoint.key {
                    Some(_) => format!("key to {}", compat.endpoint.server),
                    None => format!("no key to {}", compat.endpoint.server),
                },
                Err(error) => error.to_string(),
            };
            assert_eq!(got, expected);
        }
        let key = (OPENAI_KEY, "sk-1234");
        check("openai:m", &[], "no key: the variable OPENAI_API_KEY is not set");
        check("openai:m", &[(OPENAI_KEY, " ")], "no key: the variable OPENAI_API_KEY is not set");
        check("openai:m", &[key], "key to https://api.openai.com");
        check("openai:m", &[key, (OPENAI_URL, "http://127.0.0.1:9/v1/")], "key to http://127.0.0.1:9");
        check(
            "openai:m",
            &[key, (OPENAI_URL, "http://h/v1")],
            "will not send a key to http://h without encryption",
        );
        check("openai:m", &[(OPENAI_URL, "http://h/v1")], "no key to http://h");
        // A reference that names its server means that one, whatever the variables say.
        let elsewhere = (OPENAI_URL, "https://elsewhere/v1");
        check("openai:https://own/v1#m", &[key, elsewhere], "key to https://own");
        check("ollama:http://box:11434#m", &[key, (OLLAMA_HOST, "elsewhere")], "no key to http://box:11434");
        check("compat:https://other/v1#m", &[key], "no key to https://other");
        check("compat:https://other/v1#m", &[(COMPAT_KEY, "k")], "key to https://other");
        check("ollama:m", &[key, (COMPAT_KEY, "k")], "no key to http://127.0.0.1:11434");
    }
}
