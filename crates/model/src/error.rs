//! The errors of models, and the remedy for each.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The reason why a model gave no reply. The error is serializable, because it crosses a process boundary and is kept
/// in journals. It never contains a key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ModelError {
    /// No connection could be made: no network, a wrong address, or no server there.
    #[error("cannot reach {server}: {reason}")]
    Unreachable {
        /// The scheme, host and port of the server.
        server: String,
        /// The system's message.
        reason: String,
    },
    /// The proxy or the certificate authorities that the user has set cannot be used.
    #[error("{reason}")]
    Network {
        /// The setting and its fault.
        reason: String,
        /// The remedy.
        help: String,
    },
    /// The server rejected the key, or requires one.
    #[error("{server} did not accept the key: {reason}")]
    Unauthorized {
        /// The scheme, host and port of the server.
        server: String,
        /// The server's message.
        reason: String,
    },
    /// The model needs a key, and none is set.
    #[error("no key: the variable {variable} is not set")]
    KeyMissing {
        /// The environment variable that should hold the key.
        variable: String,
    },
    /// A key would have been sent over the network without encryption.
    #[error("will not send a key to {server} without encryption")]
    KeyInTheClear {
        /// The scheme, host and port of the server.
        server: String,
    },
    /// The server received too many requests, and still said so after the retries.
    #[error("the model's server asks to slow down")]
    RateLimited {
        /// The time that the server asked to wait.
        retry_after: Option<Duration>,
    },
    /// The account has nothing left to spend.
    #[error("the account has no quota left: {message}")]
    QuotaExceeded {
        /// The server's message.
        message: String,
    },
    /// The server failed, and failed again in the retries.
    #[error("{} {}: {message}", named(server), failure(*status))]
    ServerError {
        /// The scheme, host and port of the server.
        #[serde(default)]
        server: String,
        /// The HTTP status, 5xx or 408, or 200 if the failure was reported within an answer.
        status: u16,
        /// The server's message, shortened.
        message: String,
    },
    /// The server understood the request and refused it.
    #[error("{} refused the request with status {status}: {message}", named(server))]
    Refused {
        /// The scheme, host and port of the server.
        #[serde(default)]
        server: String,
        /// The HTTP status, 3xx or 4xx.
        status: u16,
        /// The server's message, shortened.
        message: String,
    },
    /// The model takes no tools, and the request has some.
    #[error("the model `{model}` takes no tools, says {}: {message}", named(server))]
    NoTools {
        /// The scheme, host and port of the server.
        server: String,
        /// The model's name.
        model: String,
        /// The server's message, shortened.
        message: String,
    },
    /// The provider's safety filter withheld the answer.
    #[error("{} withheld the answer (content filter{})", named(server), behind(reason))]
    Filtered {
        /// The scheme, host and port of the server.
        #[serde(default)]
        server: String,
        /// The server's reason, or an empty text.
        #[serde(default)]
        reason: String,
    },
    /// The model declined to answer, in words of its own.
    #[error("the model behind {} declined to answer: {message}", named(server))]
    Declined {
        /// The scheme, host and port of the server.
        server: String,
        /// The model's words.
        message: String,
    },
    /// The server ended the answer for a reason that does not mean that it is complete.
    #[error(
        "{} ended the answer with `{reason}`, which does not mean that it is complete{}",
        named(server),
        behind(message)
    )]
    Incomplete {
        /// The scheme, host and port of the server.
        server: String,
        /// The reason, as the server wrote it.
        reason: String,
        /// The server's message, or an empty text.
        message: String,
    },
    /// The answer broke the protocol.
    #[error("{} sent an answer that Almoner cannot read: {what}", named(server))]
    Malformed {
        /// The scheme, host and port of the server.
        #[serde(default)]
        server: String,
        /// The fault in the answer, and its place.
        what: String,
    },
    /// The connection ended in the middle of the answer, and did so again in the retries.
    #[error("the answer was cut off after {bytes} bytes")]
    CutOff {
        /// The number of bytes received.
        bytes: u64,
    },
    /// The server did not keep the minimum pace.
    #[error("{} is too slow: {}", named(server), pace(*bytes, *seconds))]
    TooSlow {
        /// The scheme, host and port of the server.
        #[serde(default)]
        server: String,
        /// The number of bytes of an answer that came.
        bytes: u64,
        /// The time since the request began, in seconds.
        seconds: u64,
    },
    /// The answer was larger than the limit.
    #[error("the answer is longer than {}", longest(*limit))]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The request does not fit the model's context.
    #[error("the request does not fit the model's context{}", figures(*tokens, *limit))]
    ContextTooLong {
        /// The number of tokens in the request, if known.
        tokens: Option<u64>,
        /// The number of tokens that fit, if known.
        limit: Option<u64>,
    },
    /// No model has this name.
    #[error("there is no model `{model}`: {reason}")]
    ModelNotFound {
        /// The model's name.
        model: String,
        /// The places that were searched, or the server's message.
        reason: String,
    },
    /// The local model cannot be held to the schema.
    #[error("the local model cannot be held to this schema: {reason}")]
    SchemaRefused {
        /// The part of the schema, and the problem with it.
        reason: String,
    },
    /// Loading the local model would need more memory than is available.
    #[error("the local model needs {} of memory, {} are free", mib(*needed), mib(*available))]
    TooLittleMemory {
        /// The number of bytes needed.
        needed: u64,
        /// The number of bytes available.
        available: u64,
    },
    /// The local model has not been downloaded.
    #[error("the local model's weights are not at {}", path.display())]
    WeightsMissing {
        /// The path at which the weights were expected.
        path: PathBuf,
    },
    /// The local model's file is damaged or not the right one.
    #[error("the local model's weights at {} are damaged: {reason}", path.display())]
    WeightsCorrupt {
        /// The file.
        path: PathBuf,
        /// The mismatch.
        reason: String,
    },
    /// The process that holds the local model died or could not be started, more than once.
    #[error("the local model's process ended: {reason}")]
    HostDied {
        /// The exit status of the process, and the end of its error output.
        reason: String,
    },
    /// This program was built without the local model.
    #[error("this build has no local model")]
    NotBuilt,
    /// A script or recording has no answer to this request, or an answer that is an error.
    #[error("{0}")]
    Script(String),
    /// A file could not be read or written.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// The caller stopped the call.
    #[error("stopped")]
    Canceled,
}

impl From<network::NetworkError> for ModelError {
    fn from(error: network::NetworkError) -> Self {
        Self::Network { reason: error.to_string(), help: error.help().to_owned() }
    }
}

impl ModelError {
    /// Returns whether the same request may succeed a little later, without any action by the user.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::RateLimited { .. }
                | Self::ServerError { .. }
                | Self::CutOff { .. }
                | Self::TooSlow { .. }
                | Self::Malformed { .. }
                | Self::Incomplete { .. }
                | Self::HostDied { .. }
        )
    }

    /// Returns the error for an answer that breaks its protocol. The server is named later, by [`ModelError::at`].
    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed { server: String::new(), what: what.into() }
    }

    /// Returns the error with the server that it came from, unless it names one already.
    pub(crate) fn at(mut self, server: &str) -> Self {
        if let Self::ServerError { server: own, .. }
        | Self::Refused { server: own, .. }
        | Self::NoTools { server: own, .. }
        | Self::Filtered { server: own, .. }
        | Self::Declined { server: own, .. }
        | Self::Incomplete { server: own, .. }
        | Self::TooSlow { server: own, .. }
        | Self::Malformed { server: own, .. } = &mut self
            && own.is_empty()
        {
            server.clone_into(own);
        }
        self
    }

    /// Returns one line that names the remedy.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Unreachable { .. } => {
                "check the network and the address (`almoner doctor network`); `-m local` needs neither"
                    .to_owned()
            }
            Self::Network { help, .. } => help.clone(),
            Self::Unauthorized { .. } => "check the key and that it may use this model".to_owned(),
            Self::KeyMissing { variable } => {
                format!("set {variable}, or choose a model that needs no key, such as `-m local`")
            }
            Self::KeyInTheClear { .. } => "use an https address, or unset the key".to_owned(),
            Self::RateLimited { retry_after: Some(wait) } => {
                format!("wait {} s and resume the run", wait.as_millis().div_ceil(1000).max(1))
            }
            Self::RateLimited { retry_after: None } => "wait a minute and resume the run".to_owned(),
            Self::QuotaExceeded { .. } => "top up the account or use another model".to_owned(),
            Self::ServerError { .. }
            | Self::CutOff { .. }
            | Self::Malformed { .. }
            | Self::Incomplete { .. } => {
                "the fault is the server's: resume the run later, or use another model".to_owned()
            }
            Self::TooSlow { .. } => {
                "use another model, or give servers more time: `silence` and `pace` under `[models]` in config.toml"
                    .to_owned()
            }
            Self::NoTools { .. } => "use another model, or a worker without slots".to_owned(),
            Self::Refused { .. } => "read the server's message; the request itself has to change".to_owned(),
            Self::Filtered { .. } | Self::Declined { .. } => {
                "change the request, or use another model".to_owned()
            }
            Self::TooLarge { .. } => {
                "ask for less at once, set `answer` under `limits:` in the worker file, or use another model"
                    .to_owned()
            }
            Self::ContextTooLong { .. } => {
                "give it less at once (fewer or smaller attachments), or use a model with a larger context"
                    .to_owned()
            }
            Self::ModelNotFound { .. } => "see `almoner models` for the models there are".to_owned(),
            Self::SchemaRefused { .. } => "simplify the output pattern, or use another model".to_owned(),
            Self::TooLittleMemory { .. } => {
                "close other programs, or use a model over the network (`-m openai:…`, `-m ollama:…`)"
                    .to_owned()
            }
            Self::WeightsMissing { .. } => "run `almoner models pull`".to_owned(),
            Self::WeightsCorrupt { .. } => "remove the file and run `almoner models pull`".to_owned(),
            Self::HostDied { .. } => {
                "resume the run; if it happens again, `almoner doctor` shows memory and limits".to_owned()
            }
            Self::NotBuilt => "build with the feature `local`, or use another model".to_owned(),
            Self::Script(_) => "add a turn to the script, or record the run again".to_owned(),
            Self::File { .. } => "check that the file exists and can be read and written".to_owned(),
            Self::Canceled => "resume the run when you like".to_owned(),
        }
    }
}

/// Returns the words for a server, which may have no address.
fn named(server: &str) -> String {
    if server.is_empty() { "the model's server".to_owned() } else { format!("the server at {server}") }
}

fn failure(status: u16) -> String {
    match status {
        200..300 => "reported a failure within its answer".to_owned(),
        status => format!("failed with status {status}"),
    }
}

/// Returns a colon and the words, if there are any.
fn behind(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

fn pace(bytes: u64, seconds: u64) -> String {
    match bytes {
        0 => format!("it sent nothing of an answer in {seconds} s"),
        1 => format!("it sent 1 byte of an answer in {seconds} s"),
        _ => format!("it sent {bytes} bytes of an answer in {seconds} s, and hardly anything new at the end"),
    }
}

/// Returns the size of the longest answer.
fn longest(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{bytes} bytes") } else { mib(bytes) }
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

fn figures(tokens: Option<u64>, limit: Option<u64>) -> String {
    match (tokens, limit) {
        (Some(tokens), Some(limit)) => format!(" ({tokens} tokens, {limit} fit)"),
        (None, Some(limit)) => format!(" ({limit} tokens fit)"),
        (Some(tokens), None) => format!(" ({tokens} tokens)"),
        (None, None) => String::new(),
    }
}
