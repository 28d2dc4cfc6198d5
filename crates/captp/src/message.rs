//! The messages of CapTP, and their form in JSON.

use std::borrow::Cow;

use passable::{CapData, capdata, smallcaps};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::slot::{Kind, Slot};
use crate::violation::Violation;

/// A value whose references are slot names.
pub type Body = passable::Value<Slot>;

/// The maximum length of a reason that is repeated to the peer.
const MAX_REASON_LEN: usize = 4096;

/// One message. The slots have the names that the writer of the message uses.
#[derive(Clone, Debug)]
pub enum Message {
    /// A request for the root object.
    Bootstrap {
        /// The number that the asker chose for the answer.
        question: u64,
    },
    /// A call of an object, a promise, or an answer that has not come yet.
    Call {
        /// The number that the asker chose for the answer.
        question: u64,
        /// The target of the call.
        target: Slot,
        /// The call itself: `[name]`, `[null, arguments]`, or `[name, arguments]`.
        method: Body,
        /// Whether the call is synchronous.
        trap: bool,
    },
    /// The answer to a question.
    Return {
        /// The number that the asker chose for the answer.
        question: u64,
        /// The result, or the exception.
        outcome: Result<Body, Body>,
    },
    /// The outcome of a promise that was mentioned before.
    Resolve {
        /// The promise, by the name that the reader would write.
        promise: Slot,
        /// The value of the promise, or the reason why it was broken.
        outcome: Result<Body, Body>,
    },
    /// The end of the writer's use of a reference that the reader has exported.
    Drop {
        /// The name of the reference.
        slot: Slot,
        /// The number of messages with this reference that the writer has seen.
        references: u64,
    },
    /// The end of the session.
    Disconnect {
        /// The reason, as JSON.
        reason: Option<Box<RawValue>>,
    },
    /// A step of the synchronous protocol.
    TrapIterate,
}

/// The fields of a message of any kind, as they are read.
#[derive(Deserialize)]
struct Read<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(rename = "questionID", borrow, default)]
    question: Option<Cow<'a, str>>,
    #[serde(rename = "answerID", borrow, default)]
    answer: Option<Cow<'a, str>>,
    #[serde(rename = "promiseID", borrow, default)]
    promise: Option<Cow<'a, str>>,
    #[serde(rename = "slotID", borrow, default)]
    slot: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    target: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    method: Option<ReadBody<'a>>,
    #[serde(borrow, default)]
    result: Option<ReadBody<'a>>,
    #[serde(borrow, default)]
    exception: Option<ReadBody<'a>>,
    #[serde(borrow, default)]
    res: Option<ReadBody<'a>>,
    #[serde(borrow, default)]
    rej: Option<ReadBody<'a>>,
    #[serde(rename = "decRefs", default)]
    references: Option<f64>,
    #[serde(borrow, default)]
    trap: Option<&'a RawValue>,
    #[serde(default)]
    reason: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct ReadBody<'a> {
    #[serde(borrow)]
    body: Cow<'a, str>,
    #[serde(borrow)]
    slots: Vec<Cow<'a, str>>,
}

#[derive(Default, Serialize)]
struct Written<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u8>,
    #[serde(rename = "questionID", skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    #[serde(rename = "answerID", skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(rename = "promiseID", skip_serializing_if = "Option::is_none")]
    promise: Option<String>,
    #[serde(rename = "slotID", skip_serializing_if = "Option::is_none")]
    slot: Option<String>,
    #[serde(rename = "decRefs", skip_serializing_if = "Option::is_none")]
    references: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<WrittenBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<WrittenBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exception: Option<WrittenBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    res: Option<WrittenBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rej: Option<WrittenBody>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    trap: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct WrittenBody {
    body: String,
    slots: Vec<String>,
}

impl WrittenBody {
    fn of(value: &Body) -> Option<WrittenBody> {
        let data = capdata::encode(value);
        Some(WrittenBody { body: data.body, slots: data.slots.iter().map(Slot::to_string).collect() })
    }
}

impl ReadBody<'_> {
    fn value(self) -> Result<Body, Violation> {
        let slots = self.slots.iter().map(|slot| slot.parse()).collect::<Result<Vec<Slot>, _>>()?;
        let data = CapData { body: self.body.into_owned(), slots };
        let bounds = passable::Bounds { bytes: crate::netstring::MAX_LEN };
        let value = match data.body.starts_with('#') {
            true => smallcaps::decode(&data),
            false => capdata::decode_with(&data, bounds, |slot| match slot.kind {
                Kind::Promise | Kind::Question => capdata::SlotKind::Promise,
                Kind::Object | Kind::Trap => capdata::SlotKind::Remotable,
            }),
        };
        value.map_err(|error| Violation::Body(error.to_string()))
    }
}

impl Message {
    /// Reads a message from its bytes.
    ///
    /// # Errors
    /// [`Violation`] when the bytes are no message.
    pub fn read(bytes: &[u8]) -> Result<Message, Violation> {
        let read: Read<'_> =
            serde_json::from_slice(bytes).map_err(|error| Violation::Json(error.to_string()))?;
        let kind = read.kind;
        Ok(match &*kind {
            "CTP_BOOTSTRAP" => Message::Bootstrap { question: question(read.question, "questionID")? },
            "CTP_CALL" => Message::Call {
                question: question(read.question, "questionID")?,
                target: slot(read.target, "target")?,
                method: read.method.ok_or(Violation::Missing("method"))?.value()?,
                trap: read.trap.is_some_and(|trap| !matches!(trap.get(), "false" | "null" | "0")),
            },
            "CTP_RETURN" => Message::Return {
                question: question(read.answer, "answerID")?,
                outcome: outcome(read.result, read.exception, "result")?,
            },
            "CTP_RESOLVE" => Message::Resolve {
                promise: slot(read.promise, "promiseID")?,
                outcome: outcome(read.res, read.rej, "res")?,
            },
            "CTP_DROP" => Message::Drop {
                slot: slot(read.slot, "slotID")?,
                // Endo's implementation also counts a value that is no number as zero.
                references: read.references.map_or(0, |references| references.max(0.0) as u64),
            },
            "CTP_DISCONNECT" => Message::Disconnect {
                reason: read.reason.filter(|reason| reason.get().len() <= MAX_REASON_LEN),
            },
            "CTP_TRAP_ITERATE" => Message::TrapIterate,
            _ => return Err(Violation::Type(kind.chars().take(40).collect())),
        })
    }

    /// Returns the message as JSON.
    pub fn to_json(&self) -> String {
        let name = |number: &u64| Some(Slot::theirs(Kind::Question, *number).to_string());
        let blank = Written { epoch: Some(0), ..Written::default() };
        let written = match self {
            Message::Bootstrap { question } => {
                Written { kind: "CTP_BOOTSTRAP", question: name(question), ..blank }
            }
            Message::Call { question, target, method, trap } => Written {
                kind: "CTP_CALL",
                question: name(question),
                target: Some(target.to_string()),
                method: WrittenBody::of(method),
                trap: *trap,
                ..blank
            },
            Message::Return { question, outcome } => {
                let (result, exception) = sides(outcome);
                Written { kind: "CTP_RETURN", answer: name(question), result, exception, ..blank }
            }
            Message::Resolve { promise, outcome } => {
                let (res, rej) = sides(outcome);
                Written {
                    kind: "CTP_RESOLVE",
                    epoch: None,
                    promise: Some(promise.to_string()),
                    res,
                    rej,
                    ..blank
                }
            }
            Message::Drop { slot, references } => Written {
                kind: "CTP_DROP",
                slot: Some(slot.to_string()),
                references: Some(*references),
                ..blank
            },
            Message::Disconnect { reason } => {
                Written { kind: "CTP_DISCONNECT", reason: reason.as_deref(), ..blank }
            }
            Message::TrapIterate => Written { kind: "CTP_TRAP_ITERATE", ..blank },
        };
        // This cannot fail: all parts of a message are text and numbers.
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// Returns the message that ends a session, with a reason as text.
    pub fn disconnect(reason: &str) -> Message {
        Message::Disconnect { reason: serde_json::value::to_raw_value(reason).ok() }
    }
}

fn question(text: Option<Cow<'_, str>>, name: &'static str) -> Result<u64, Violation> {
    match slot(text, name)? {
        Slot { kind: Kind::Question, own: false, number } => Ok(number),
        slot => Err(Violation::Slot { slot, name }),
    }
}

fn slot(text: Option<Cow<'_, str>>, name: &'static str) -> Result<Slot, Violation> {
    Ok(text.ok_or(Violation::Missing(name))?.parse()?)
}

fn outcome(
    good: Option<ReadBody<'_>>,
    bad: Option<ReadBody<'_>>,
    name: &'static str,
) -> Result<Result<Body, Body>, Violation> {
    match (good, bad) {
        (_, Some(bad)) => bad.value().map(Err),
        (Some(good), None) => good.value().map(Ok),
        (None, None) => Err(Violation::Missing(name)),
    }
}

fn sides(outcome: &Result<Body, Body>) -> (Option<WrittenBody>, Option<WrittenBody>) {
    match outcome {
        Ok(good) => (WrittenBody::of(good), None),
        Err(bad) => (None, WrittenBody::of(bad)),
    }
}
