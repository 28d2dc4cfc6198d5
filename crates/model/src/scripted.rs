//! Answers written down beforehand: for tests and for the demonstration without a download.
//!
//! A script is a JSON list of entries. The first entry that fits the request answers it; which of its turns
//! depends only on how many replies the conversation already holds. So the provider has no state of its own: the
//! same request gets the same answer after any crash.
//!
//! ```json
//! [ { "worker": "triage", "contains": "invoice",
//!     "turns": [ { "calls": [ { "name": "out_write", "arguments": { "path": "a", "text": "b" } } ] },
//!                { "json": { "class": "invoice" } } ] },
//!   { "turns": [ { "text": "nothing to do" }, { "error": "rate_limited" } ] } ]
//! ```

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::error::ModelError;
use crate::provider::{Progress, Provider};
use crate::reply::{MalformedCall, Reply, Stop, Usage};
use crate::request::{Call, Message, Request};

/// A model that answers from a script.
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    path: PathBuf,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The worker for which this entry is.
    worker: Option<String>,
    /// The text that some user message must contain.
    contains: Option<String>,
    /// The text that the worker's own text must contain, after its inputs were put in.
    says: Option<String>,
    turns: Vec<Turn>,
}

/// One reply of a script: text or JSON, with calls, or an error.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Turn {
    text: Option<String>,
    json: Option<Value>,
    calls: Vec<ScriptedCall>,
    error: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    name: String,
    /// The arguments of the call. A string that starts with `!` stands for raw text that is not JSON.
    #[serde(default)]
    arguments: Value,
}

impl ScriptedModel {
    /// Reads a script from a file.
    ///
    /// # Errors
    ///
    /// [`ModelError::File`] when the file cannot be read, [`ModelError::Script`] when it is not a script.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        Self::parse(path, &Self::text(path)?)
    }

    pub(crate) fn text(path: &Path) -> Result<String, ModelError> {
        std::fs::read_to_string(path)
            .map_err(|e| ModelError::File { path: path.to_owned(), reason: e.to_string() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the model for the text of a script. `path` is only used for [`Provider::name`].
    ///
    /// # Errors
    ///
    /// [`ModelError::Script`] when the text is not a script.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ModelError> {
        let entries: Vec<Entry> = serde_json::from_str(&passable::keep_integers(text))
            .map_err(|e| ModelError::Script(format!("{} is not a script: {e}", path.display())))?;
        Ok(Self { path: path.to_owned(), entries })
    }

    fn fits(entry: &Entry, request: &Request) -> bool {
        entry.worker.as_ref().is_none_or(|worker| *worker == request.worker)
            && entry.says.as_ref().is_none_or(|needle| request.system.contains(needle))
            && entry.contains.as_ref().is_none_or(|needle| {
                request
                    .messages
                    .iter()
                    .any(|m| matches!(m, Message::User { text, .. } if text.contains(needle)))
            })
    }
}

impl Provider for ScriptedModel {
    fn name(&self) -> String {
        format!("scripted:{}", self.path.display())
    }

    fn complete(&self, request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Reply, ModelError> {
        if request.cancel.is_canceled() {
            return Err(ModelError::Canceled);
        }
        let entry = self.entries.iter().find(|entry| Self::fits(entry, request)).ok_or_else(|| {
            ModelError::Script(format!("{}: no entry fits worker `{}`", self.path.display(), request.worker))
        })?;
        let number = request.turn();
        let turn = entry.turns.get(number).ok_or_else(|| {
            ModelError::Script(format!(
                "{}: worker `{}` asks for turn {}, but its entry has {}",
                self.path.display(),
                request.worker,
                number + 1,
                entry.turns.len()
            ))
        })?;
        let reply = turn.reply(number)?;
        if !reply.text.is_empty() {
            progress(Progress::Text(reply.text.clone()));
        }
        Ok(Reply { usage: usage(request, &reply), ..reply })
    }
}

impl Turn {
    fn reply(&self, number: usize) -> Result<Reply, ModelError> {
        if let Some(error) = &self.error {
            return Err(named_error(error));
        }
        let mut reply = Reply {
            text: self.json.as_ref().map_or_else(|| self.text.clone().unwrap_or_default(), Value::to_string),
            ..Reply::default()
        };
        for (i, call) in self.calls.iter().enumerate() {
            let (id, name) = (format!("call_{number}_{i}"), call.name.clone());
            match call.arguments.as_str().and_then(|s| s.strip_prefix('!')) {
                Some(raw) => {
                    let reason = "scripted as malformed".to_owned();
                    reply.malformed.push(MalformedCall { id, name, arguments: raw.to_owned(), reason });
                }
                None => {
                    let arguments = match &call.arguments {
                        Value::Null => Value::Object(serde_json::Map::new()),
                        value => value.clone(),
                    };
                    reply.calls.push(Call::new(id, name, arguments));
                }
            }
        }
        if !self.calls.is_empty() {
            reply.stop = Stop::Calls;
        }
        Ok(reply)
    }
}

/// Returns stable figures of about four bytes per token, so that recorded runs compare equal.
fn usage(request: &Request, reply: &Reply) -> Usage {
    let said = |m: &Message| match m {
        Message::User { text, .. } | Message::Assistant { text, .. } => text.len(),
        Message::ToolResult { content, .. } => content.len(),
    };
    let input = request.system.len() + request.messages.iter().map(said).sum::<usize>();
    let output: usize =
        reply.text.len() + reply.calls.iter().map(|c| c.arguments.to_string().len()).sum::<usize>();
    Usage { input_tokens: (input / 4) as u64, output_tokens: (output / 4) as u64, ..Usage::default() }
}

/// Returns a scripted error: one of a few names, or the text of a failure.
fn named_error(text: &str) -> ModelError {
    let server = "the scripted server".to_owned();
    let reason = "scripted".to_owned();
    match text {
        "unreachable" => ModelError::Unreachable { server, reason },
        "unauthorized" => ModelError::Unauthorized { server, reason },
        "rate_limited" => ModelError::RateLimited { retry_after: Some(Duration::from_secs(1)) },
        "server_error" => ModelError::ServerError { server: String::new(), status: 500, message: reason },
        "malformed" => ModelError::malformed(reason),
        "cut_off" => ModelError::CutOff { bytes: 0 },
        "context_too_long" => ModelError::ContextTooLong { tokens: None, limit: None },
        "canceled" => ModelError::Canceled,
        text => ModelError::Script(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SCRIPT: &str = r#"[
        { "worker": "triage", "contains": "invoice", "turns": [
            { "text": "I look", "calls": [ { "name": "read", "arguments": { "path": "a" } }, { "name": "list" } ] },
            { "json": { "class": "invoice" } },
            { "calls": [ { "name": "read", "arguments": "!{oops" } ] },
            { "error": "rate_limited" } ] },
        { "turns": [ { "text": "other" } ] } ]"#;

    fn ask(worker: &str, text: &str, replies: usize) -> Result<Reply, ModelError> {
        let mut messages = vec![Message::user(text)];
        for _ in 0..replies {
            messages.push(Message::Assistant { text: String::new(), calls: vec![] });
        }
        let request = Request { worker: worker.into(), messages, ..Request::default() };
        let model = ScriptedModel::parse(Path::new("s.json"), SCRIPT).unwrap();
        let first = model.complete(&request, &mut |_| {});
        assert_eq!(first, model.complete(&request, &mut |_| {}), "the provider has no state");
        first
    }

    #[test]
    fn script_turn_is_the_number_of_replies() {
        let reply = ask("triage", "an invoice", 0).unwrap();
        assert_eq!((reply.text.as_str(), reply.stop), ("I look", Stop::Calls));
        assert_eq!(reply.calls[0].arguments, json!({"path": "a"}));
        assert_eq!(reply.calls[1].arguments, json!({}));
        assert_ne!(reply.calls[0].id, reply.calls[1].id);
        let reply = ask("triage", "an invoice", 1).unwrap();
        assert_eq!((reply.json(), reply.stop), (Ok(json!({"class": "invoice"})), Stop::End));
        assert_eq!(ask("triage", "an invoice", 2).unwrap().malformed[0].arguments, "{oops");
        assert!(matches!(ask("triage", "an invoice", 3), Err(ModelError::RateLimited { .. })));
        let past = ask("triage", "an invoice", 4).unwrap_err().to_string();
        assert!(past.contains("turn 5") && past.contains("has 4"), "{past}");
    }

    #[test]
    fn first_matching_entry_wins() {
        assert_eq!(ask("triage", "a letter", 0).unwrap().text, "other");
        assert_eq!(ask("extract", "an invoice", 0).unwrap().text, "other");
        let none = ScriptedModel::parse(Path::new("s.json"), "[]").unwrap();
        let error = none.complete(&Request::default(), &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("no entry fits"), "{error}");
        assert!(ScriptedModel::parse(Path::new("s.json"), r#"[{"turn": []}]"#).is_err());
    }
}
