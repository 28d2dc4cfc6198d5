//! The input of a model: one [`Request`] holds everything that determines the answer.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical;
use crate::media::Media;

/// The maximum number of bytes of the text and the calls of one reply. About a million tokens fit into it.
pub const MAX_ANSWER_BYTES: u64 = 4 << 20;

/// One question to a model. Providers keep no conversation: every request holds all of it.
///
/// Two requests that serialize alike have the same [`Request::hash`], in any order of the keys in their schemas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// The name of the worker that asks. It is a label, which only the scripted provider and logs read.
    pub worker: String,
    /// Standing instructions, put before the conversation.
    pub system: String,
    /// The conversation so far, oldest first.
    pub messages: Vec<Message>,
    /// The tools that the model may call. Without tools, the model can only answer.
    pub tools: Vec<Tool>,
    /// A JSON Schema that the final answer's text must satisfy. A provider enforces the form as well as it can. The
    /// caller still checks, since not every server enforces it.
    pub output: Option<Value>,
    /// The maximum number of tokens that the model may write in this reply. `None` means the model's own limit, or the
    /// default of its format. It is not part of the request's identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The maximum number of bytes of the reply's text and calls. `None` means [`MAX_ANSWER_BYTES`]. It is not part of the
    /// request's identity.
    #[serde(skip)]
    pub max_bytes: Option<u64>,
    /// The temperature. 0 means greedy, and the local model is always greedy.
    pub temperature: f32,
    /// The switch by which another thread can stop the call. It is not part of the request's identity.
    #[serde(skip)]
    pub cancel: Cancel,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            worker: String::new(),
            system: String::new(),
            messages: Vec::new(),
            tools: Vec::new(),
            output: None,
            max_tokens: None,
            max_bytes: None,
            temperature: 0.0,
            cancel: Cancel::default(),
        }
    }
}

impl Request {
    /// Returns the maximum number of bytes of the reply's text and calls.
    #[must_use]
    pub fn answer_bytes(&self) -> u64 {
        self.max_bytes.unwrap_or(MAX_ANSWER_BYTES)
    }

    /// Returns the request's identity: 64 lower-case hex digits over its canonical JSON (keys sorted at every level).
    /// Recordings are found by it.
    ///
    /// The token limit is left out, because it depends on the run's remaining budget and on the server's answers so
    /// far. A recorded reply is the same under another limit, unless the limit cut it.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut json = serde_json::to_value(self).unwrap_or(Value::Null);
        if let Some(fields) = json.as_object_mut() {
            fields.remove("max_tokens");
        }
        let mut hasher = blake3::Hasher::new_derive_key("almoner model request v1");
        hasher.update(canonical::json(&json).as_bytes());
        hasher.finalize().to_hex().to_string()
    }

    /// Returns the number of replies that the model has already given in this conversation.
    #[must_use]
    pub fn turn(&self) -> usize {
        self.messages.iter().filter(|m| matches!(m, Message::Assistant { .. })).count()
    }
}

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A message of the user, or of the worker on the user's behalf.
    User {
        /// The text, attachments included.
        text: String,
        /// Documents that are sent unchanged. The list is empty unless the model [accepts](crate::MediaSupport) them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        media: Vec<Media>,
    },
    /// An earlier message of the model, as it was in its [`crate::Reply`].
    Assistant {
        /// The free text, possibly empty.
        text: String,
        /// The calls that the model proposed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
    },
    /// The result of one call of the assistant message before it.
    ToolResult {
        /// The [`Call::id`] of the call.
        id: String,
        /// The tool's name.
        name: String,
        /// The result, or the finding, as text.
        content: String,
        /// Whether the call failed or was refused.
        #[serde(default)]
        is_error: bool,
    },
}

impl Message {
    /// Returns a user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), media: Vec::new() }
    }
}

/// Returns the content of a tool result for protocols that have no flag for failure. A failure with text is marked as
/// an error. Data is left as it is, so that the model can parse it.
pub(crate) fn marked(content: &str, is_error: bool) -> Cow<'_, str> {
    let is_data = || serde_json::from_str::<serde_json::Map<String, Value>>(content).is_ok();
    match is_error && !is_data() {
        true => Cow::Owned(format!("error: {content}")),
        false => Cow::Borrowed(content),
    }
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// The name of the tool, in ASCII letters, digits, `_` and `-`.
    pub name: String,
    /// One or two sentences on the purpose of the tool.
    pub description: String,
    /// The JSON Schema of the arguments, which describes an object.
    pub parameters: Value,
}

/// A call that the model proposes. The caller must judge the call, whose name may be one that was never offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The id of the call, which is unique within the reply. The tool result refers to it.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments, any JSON value.
    pub arguments: Value,
    /// Opaque data that the provider wants back with the call. Only Gemini sends such data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl Call {
    /// Returns a call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments, signature: None }
    }
}

/// A switch that stops a running call. Its clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    /// The switches that this one follows.
    followed: Vec<Arc<AtomicBool>>,
    /// The time from which the switch counts as thrown.
    until: Option<Instant>,
}

impl Cancel {
    /// Stops the calls that hold this switch. They return [`crate::ModelError::Canceled`] within about a second.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Returns whether [`Cancel::cancel`] was called, or the switch has thrown itself.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        let mut flags = std::iter::once(&self.flag).chain(&self.followed);
        flags.any(|flag| flag.load(Ordering::Relaxed)) || self.is_late()
    }

    /// Returns a switch of its own that also counts as thrown when this one is.
    #[must_use]
    pub fn follower(&self) -> Cancel {
        let followed = self.followed.iter().chain([&self.flag]).map(Arc::clone).collect();
        Cancel { flag: Arc::default(), followed, until: self.until }
    }

    /// Returns a clone of the switch, which throws itself after a time.
    #[must_use]
    pub fn within(&self, time: Duration) -> Cancel {
        Cancel { until: Instant::now().checked_add(time), ..self.clone() }
    }

    /// Returns whether the switch has thrown itself, because its time is over.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

impl PartialEq for Cancel {
    /// Returns `true`: the switch is not part of the question, so all switches are equal.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(schema: &str) -> Request {
        Request {
            messages: vec![Message::user("hi")],
            output: Some(serde_json::from_str(schema).unwrap()),
            ..Request::default()
        }
    }

    #[test]
    fn request_hash_ignores_key_order_limit_and_cancel_switch() {
        let a = request(r#"{"type":"object","properties":{"x":{"type":"string"},"a":{}}}"#);
        let b = request(r#"{"properties":{"a":{},"x":{"type":"string"}},"type":"object"}"#);
        b.cancel.cancel();
        assert_eq!(a.hash(), b.hash());
        assert_eq!(a.hash().len(), 64);
        assert_eq!(a.hash(), Request { max_tokens: Some(7), ..a.clone() }.hash());
        assert_ne!(a.hash(), Request { worker: "w".into(), ..a.clone() }.hash());
    }

    #[test]
    fn switch_stops_its_followers_and_not_the_other_way_round() {
        let all = Cancel::default();
        let (one, two) = (all.follower(), all.follower().within(Duration::from_secs(60)));
        one.cancel();
        assert!(one.is_canceled() && !two.is_canceled() && !all.is_canceled());
        all.cancel();
        assert!(two.is_canceled() && !two.is_late());
    }

    #[test]
    fn tool_failure_is_marked_unless_its_content_is_data() {
        for (content, is_error, expected) in [
            ("no", true, "error: no"),
            ("no", false, "no"),
            (r#"{"refused":[]}"#, true, r#"{"refused":[]}"#),
            (r#"{"refused":[]"#, true, r#"error: {"refused":[]"#),
            ("[]", true, "error: []"),
        ] {
            assert_eq!(marked(content, is_error), expected);
        }
    }

    #[test]
    fn messages_round_trip_as_json() {
        let messages = vec![
            Message::user("hi"),
            Message::Assistant { text: String::new(), calls: vec![Call::new("1", "t", json!({"a": [1]}))] },
            Message::ToolResult { id: "1".into(), name: "t".into(), content: "ok".into(), is_error: true },
        ];
        let text = serde_json::to_string(&messages).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Message>>(&text).unwrap(), messages);
        assert!(text.starts_with(r#"[{"role":"user","text":"hi"}"#));
    }
}
