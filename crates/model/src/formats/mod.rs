//! The wire formats: the JSON of requests, and the assembly of answers that come whole or in pieces.
//!
//! In each folder, `wire` writes requests and declares the types of answers, and `stream` assembles an answer. The
//! code that they share (HTTP, retrying, keys, calls in pieces) is in [`crate::served`].

mod anthropic;
mod chat;
mod gemini;
mod ollama;
mod responses;
mod schema;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::ModelError;
use crate::reply::Reply;
use crate::request::Request;
use crate::served::dialect::{Dialect, Form};
use crate::served::http::status_error;
use crate::vendor::Vendor;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// OpenAI's chat completions, which many servers speak.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
    /// Ollama's own format.
    Ollama,
}

/// The assembly of a reply from the messages of an answer.
pub(crate) trait Assembly {
    /// Adds one message of a stream, and returns the new text.
    ///
    /// # Errors
    ///
    /// When the data is no message of the format, or reports a failure.
    fn take(&mut self, data: &[u8]) -> Result<String, ModelError>;

    /// Adds an answer that came whole, and returns its text.
    ///
    /// # Errors
    ///
    /// The same as for [`Assembly::take`].
    fn take_whole(&mut self, data: &[u8]) -> Result<String, ModelError> {
        self.take(data)
    }

    /// Returns whether any part of an answer has come.
    fn seen_any(&self) -> bool;

    /// Returns whether the server said that the answer is complete.
    fn is_finished(&self) -> bool;

    /// Returns whether nothing more can follow. In that case the rest of the stream is not read.
    fn is_over(&self) -> bool {
        false
    }

    /// Returns the reply. A call that came without an id gets one, and `turn` makes this id unique within the
    /// conversation.
    ///
    /// # Errors
    ///
    /// When the provider withheld the answer.
    fn reply(self: Box<Self>, turn: usize) -> Result<Reply, ModelError>;
}

impl Format {
    /// Returns the format of a vendor.
    pub(crate) fn for_vendor(vendor: Vendor) -> Self {
        match vendor {
            Vendor::Anthropic => Self::Anthropic,
            Vendor::OpenAi => Self::Chat,
            Vendor::OpenAiResponses => Self::Responses,
            Vendor::Gemini => Self::Gemini,
        }
    }

    /// Returns the name of the header that carries the key.
    pub(crate) fn key_header(self) -> &'static str {
        match self {
            Self::Anthropic => "x-api-key",
            Self::Gemini => "x-goog-api-key",
            Self::Chat | Self::Responses | Self::Ollama => "authorization",
        }
    }

    /// Returns the headers that belong to every request.
    pub(crate) fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            _ => &[],
        }
    }

    /// Returns the dialect in which a server is addressed until it refuses something.
    pub(crate) fn dialect(self, is_openai: bool) -> Dialect {
        let form_beside_tools = match self {
            Self::Chat => is_openai,
            Self::Responses | Self::Anthropic => true,
            // Before version 3, Gemini refuses both in one request. Ollama would turn every call into an answer.
            Self::Gemini | Self::Ollama => false,
        };
        Dialect {
            is_openai,
            completion_tokens: is_openai,
            form_beside_tools,
            can_force: self == Self::Anthropic,
            ..Dialect::default()
        }
    }

    /// Returns the address of a request.
    pub(crate) fn url(self, base_url: &str, model: &str, dialect: Dialect) -> String {
        match self {
            Self::Chat => format!("{base_url}/chat/completions"),
            Self::Responses => format!("{base_url}/responses"),
            Self::Anthropic => format!("{}/messages", versioned(base_url, "v1")),
            Self::Gemini => gemini::url(&versioned(base_url, "v1beta"), model, dialect),
            Self::Ollama => format!("{base_url}/api/chat"),
        }
    }

    /// Returns the body of a request.
    pub(crate) fn body(self, request: &Request, model: &str, dialect: Dialect) -> Value {
        match self {
            Self::Chat => chat::body(request, model, dialect),
            Self::Responses => responses::body(request, model, dialect),
            Self::Anthropic => anthropic::body(request, model, dialect),
            Self::Gemini => gemini::body(request, dialect),
            Self::Ollama => ollama::body(request, model, dialect),
        }
    }

    /// Returns the parser of the answer to a request.
    pub(crate) fn assembly(self, request: &Request, dialect: Dialect) -> Box<dyn Assembly> {
        match self {
            Self::Chat => Box::new(chat::Stream::default()),
            Self::Responses => Box::new(responses::Stream::default()),
            Self::Anthropic => Box::new(anthropic::Stream::new(form(request, dialect) == Some(Form::Tool))),
            Self::Gemini => Box::new(gemini::Stream::default()),
            Self::Ollama => Box::new(ollama::Stream::default()),
        }
    }
}

/// Returns the address with the version of the protocol at its end. Some users write the version, and some do not.
fn versioned(base_url: &str, version: &str) -> String {
    let last = base_url.rsplit('/').next().unwrap_or_default();
    let has_version = last.starts_with('v') && last.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    if has_version { base_url.to_owned() } else { format!("{base_url}/{version}") }
}

/// Returns the way in which the form of the output is requested, or `None` if the request has no form.
fn form(request: &Request, dialect: Dialect) -> Option<Form> {
    request.output.as_ref()?;
    Some(match dialect.form {
        Form::Native if !request.tools.is_empty() && !dialect.form_beside_tools => Form::Prompt,
        // A model that must call one tool can call no other.
        Form::Tool if !request.tools.is_empty() => Form::Prompt,
        form => form,
    })
}

/// Returns the standing instructions. If the form of the output is requested in words, they include it.
fn system(request: &Request, form: Option<Form>) -> String {
    let mut system = request.system.clone();
    if let (Some(Form::Prompt), Some(schema)) = (form, &request.output) {
        system.push_str(
            "\n\nWhen you give your final answer, write nothing but one JSON value that satisfies this JSON Schema:\n",
        );
        system.push_str(&schema.to_string());
    }
    system
}

/// Returns a message of a format from its JSON.
fn parse<T: DeserializeOwned>(data: &[u8]) -> Result<T, ModelError> {
    serde_json::from_slice(data)
        .map_err(|e| ModelError::Malformed { what: format!("{e} in `{}`", excerpt(data)) })
}

/// Returns the error that a server sent inside of a successful answer.
fn in_band_error(error: &Value) -> ModelError {
    let field = |name: &str| error.get(name).and_then(Value::as_str);
    let message = field("message").or(error.as_str()).map_or_else(|| error.to_string(), str::to_owned);
    let number = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let named = field("type").into_iter().chain(field("code")).find_map(|name| match name {
        "rate_limit_error" | "rate_limit_exceeded" => Some(429),
        "overloaded_error" => Some(529),
        "authentication_error" => Some(401),
        "permission_error" => Some(403),
        "not_found_error" => Some(404),
        "invalid_request_error" | "invalid_prompt" => Some(400),
        "insufficient_quota" => Some(402),
        _ => None,
    });
    status_error(number.or(named).unwrap_or(500), &message, None, "the server", "")
}

/// Returns the first bytes of something unreadable, for a message.
fn excerpt(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data.get(..data.len().min(200)).unwrap_or_default());
    text.chars().take(120).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests;
