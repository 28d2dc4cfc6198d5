//! The wire formats: the JSON of requests, and the assembly of answers that come whole or in pieces.
//!
//! In each folder, `wire` writes requests and declares the types of answers, and `stream` assembles an answer. The
//! code that they share (HTTP, retrying, keys, calls in pieces) is in [`crate::served`].

mod anthropic;
mod chat;
mod ending;
mod faults;
mod fields;
mod gemini;
mod instructions;
mod ollama;
mod responses;
mod schema;
mod thinking;

use serde_json::Value;

use crate::error::ModelError;
use crate::reply::Reply;
use crate::request::Request;
use crate::served::dialect::{Dialect, Form};
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
    /// Adds one message of a stream, or a whole answer, and returns the new text.
    ///
    /// # Errors
    ///
    /// When the message reports a failure, or cannot be a part of an answer.
    fn take(&mut self, message: &Value) -> Result<String, ModelError>;

    /// Returns the number of bytes of the text and the calls so far.
    fn size(&self) -> usize;

    /// Returns whether any part of an answer has come.
    fn seen_any(&self) -> bool;

    /// Returns whether the server said that the answer is complete.
    fn is_finished(&self) -> bool;

    /// Returns whether nothing more can follow. In that case the rest of the stream is not read.
    fn is_over(&self) -> bool {
        false
    }

    /// Returns whether the last message was a whole answer that says nothing about its end.
    fn is_whole(&self) -> bool;

    /// Returns whether the mark `[DONE]` is enough of an end.
    fn takes_done(&self) -> bool {
        false
    }

    /// Returns the field in which a whole answer holds what the model said.
    fn root(&self) -> &'static str;

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

    /// Returns the address with the version of the protocol at its end, for the formats that have one.
    pub(crate) fn versioned(self, base_url: &str) -> String {
        match self {
            Self::Anthropic => versioned(base_url, "v1"),
            Self::Gemini => versioned(base_url, "v1beta"),
            Self::Chat | Self::Responses | Self::Ollama => base_url.to_owned(),
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

    /// Returns the token limit that a request is sent with, or `None` if it is sent without one.
    pub(crate) fn answer_limit(self, request: &Request, dialect: Dialect) -> Option<u32> {
        let default = match self {
            Self::Anthropic => Some(anthropic::DEFAULT_ANSWER),
            Self::Ollama => Some(ollama::DEFAULT_ANSWER),
            Self::Chat | Self::Responses | Self::Gemini => None,
        };
        dialect.answer_limit(request, default)
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

/// Returns whether a text begins with thinking that may not have ended yet.
pub(crate) fn is_open_thinking(text: &str) -> bool {
    thinking::is_open(text)
}

/// Returns a text without the thinking at its beginning.
pub(crate) fn without_thinking(text: &str) -> &str {
    thinking::split(text).0
}

#[cfg(test)]
mod tests;
