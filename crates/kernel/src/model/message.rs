//! Messages: the durable, numbered mail of agents.

use std::collections::BTreeMap;

use passable::Untrusted;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::budget::Raise;
use crate::id::{FormulaId, GrantNumber, MessageNumber, Number, RunNumber, StepRef};
use crate::outcome::CommandOutcome;
use crate::proposal::{Fingerprint, Value};

use super::run_outcome::Trouble;
use super::usage::Usage;

pub use super::mail_amount::MailAmount;

/// A message as it was sent. It is one formula, to which the mailboxes of the sender and the recipient both refer.
/// Later answers are in the rows of the mailboxes, not here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// The handle of the sender.
    pub from: FormulaId,
    /// The handle of the recipient.
    pub to: FormulaId,
    /// The time at which the message was sent, in milliseconds since 1970.
    pub sent_ms: i64,
    /// The message that this one answers, by its formula's number. This is no reference, so it keeps nothing alive.
    #[serde(default)]
    pub reply_to: Option<Number>,
    /// The content.
    pub body: Body,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Body {
    /// A request for a value.
    Request {
        /// The purpose of the request.
        description: Untrusted,
        /// The promise that settles with the answer.
        promise: FormulaId,
        /// The right to settle the promise.
        resolver: FormulaId,
        /// The run that asks, with the slot that the answer would fill, if a run asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<HostRequest>,
    },
    /// Text with named values between its pieces.
    Package {
        /// The pieces of text: at least as many as there are names.
        strings: Vec<Untrusted>,
        /// The names that stand behind the pieces of text, in order.
        names: Vec<String>,
        /// The values of the names: plain data, or grants held by the recipient.
        ids: Vec<FormulaId>,
        /// The run that says the text, if a run does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunNumber>,
    },
    /// The proposal of a program, which does nothing until the recipient endows it.
    Definition {
        /// The program.
        definition: FormulaId,
        /// The promise that settles with the first outcome that is shared.
        promise: FormulaId,
        /// The right to settle the promise.
        resolver: FormulaId,
        /// The run that proposes the program, with its description, if a run does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Draft>,
    },
    /// A request to run code over values that the sender already holds.
    EvalRequest {
        /// The code.
        source: Untrusted,
        /// The names in the code.
        names: Vec<String>,
        /// The values of the names, fixed when the message was sent.
        ids: Vec<FormulaId>,
        /// The promise that settles with the outcome.
        promise: FormulaId,
        /// The right to settle the promise.
        resolver: FormulaId,
    },
    /// A form, which asks for a record of values.
    Form {
        /// The purpose of the form.
        description: Untrusted,
        /// The fields, in order.
        fields: Vec<Field>,
        /// The promise that settles with the first record that fits.
        promise: FormulaId,
        /// The right to settle the promise.
        resolver: FormulaId,
        /// Whether the form may be answered more than once. Later answers arrive only as `value` messages.
        #[serde(default)]
        repeatable: bool,
        /// The run that asks, if a run does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunNumber>,
    },
    /// A value, as an answer.
    Value {
        /// The value.
        value: FormulaId,
    },
    /// Proposals of one step of one run that wait for a person.
    Approval {
        /// The run that waits.
        run: RunNumber,
        /// The proposals, each bound to its fingerprint.
        entries: Vec<ApprovalEntry>,
    },
    /// The question whether an effect happened that a crash interrupted. Only a person can find this out.
    OutcomeUnknown {
        /// The run that waits.
        run: RunNumber,
        /// The call that may have been made.
        entry: ApprovalEntry,
    },
    /// The request of a run that has used up a limit and needs more.
    Budget {
        /// The run that waits.
        run: RunNumber,
        /// The error that names the limit, and the remedy.
        trouble: Trouble,
        /// The usage of the run so far.
        used: Usage,
        /// The raise that a plain yes gives.
        offer: Raise,
    },
    /// A result that carries capabilities. It is withheld until a person says that they may be given away.
    Release {
        /// The result as it was withheld.
        result: FormulaId,
        /// The guest that would get the result.
        guest: FormulaId,
        /// The definition's promise, which the answer settles.
        promise: FormulaId,
        /// The descriptions, in words, of the capabilities that would be given away.
        gives: Vec<String>,
    },
    /// The question whether an agent that has used up its quota of mail may send more.
    MailQuota {
        /// The agent.
        sender: FormulaId,
        /// The host's name for the agent when it was asked, or else the short form of the identifier.
        name: String,
        /// The mail that the agent has sent so far.
        sent: MailAmount,
        /// The amount that a yes adds.
        offer: MailAmount,
    },
    /// A user's command to the daemon, kept so that the transcript is complete.
    Command {
        /// The command's verb.
        verb: String,
        /// The command as text.
        text: Untrusted,
        /// The run that the command started or changed.
        #[serde(default)]
        run: Option<RunNumber>,
        /// The formula of the run, if the command started one. The transcript keeps the run in this way.
        #[serde(default)]
        made: Option<FormulaId>,
        /// The grant that the command changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<GrantNumber>,
    },
}

impl Body {
    /// Returns the body's type as it is written on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Body::Request { .. } => "request",
            Body::Package { .. } => "package",
            Body::Definition { .. } => "definition",
            Body::EvalRequest { .. } => "eval-request",
            Body::Form { .. } => "form",
            Body::Value { .. } => "value",
            Body::Approval { .. }
            | Body::Release { .. }
            | Body::OutcomeUnknown { .. }
            | Body::MailQuota { .. }
            | Body::Budget { .. } => "approval",
            Body::Command { .. } => "command",
        }
    }

    /// Returns the promise and the resolver of a message that asks for something.
    pub fn asks(&self) -> Option<(FormulaId, FormulaId)> {
        match self {
            Body::Request { promise, resolver, .. }
            | Body::Definition { promise, resolver, .. }
            | Body::EvalRequest { promise, resolver, .. }
            | Body::Form { promise, resolver, .. } => Some((*promise, *resolver)),
            _ => None,
        }
    }

    /// Returns the run that wrote the message, if a run did.
    pub fn said_by(&self) -> Option<RunNumber> {
        match self {
            Body::Command { .. } => None,
            other => other.run(),
        }
    }

    /// Returns the run that the message is about.
    pub fn run(&self) -> Option<RunNumber> {
        match self {
            Body::Approval { run, .. } | Body::OutcomeUnknown { run, .. } | Body::Budget { run, .. } => {
                Some(*run)
            }
            Body::Command { run, .. } | Body::Form { run, .. } | Body::Package { run, .. } => *run,
            Body::Request { by, .. } => by.as_ref().map(|wish| wish.run),
            Body::Definition { by, .. } => by.as_ref().map(|draft| draft.run),
            _ => None,
        }
    }
}

/// A request of a run to its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostRequest {
    /// The run.
    pub run: RunNumber,
    /// The slot for the capability that the run gets, unless the answer is data.
    pub slot: String,
}

/// Code that a run proposes to its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Draft {
    /// The run.
    pub run: RunNumber,
    /// The run's description of the code. Foreign text.
    pub description: Untrusted,
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Field {
    /// The name of the field in the record.
    pub name: String,
    /// The label that a user reads. Foreign text.
    pub label: Untrusted,
    /// The pattern of the field's value, encoded as a value.
    pub pattern: Value,
    /// The value of the field if no value is given.
    #[serde(default)]
    pub default: Option<Value>,
    /// An example for the person who fills in the form.
    #[serde(default)]
    pub example: Option<Value>,
    /// Whether the value is a secret. A secret is sealed, and the form's sender gets a capability.
    #[serde(default)]
    pub secret: bool,
}

impl Field {
    /// Returns the field as a record, as Endo's clients read it.
    pub fn to_value(&self) -> Value {
        let mut parts = vec![
            ("name", Value::string(self.name.clone())),
            ("label", Value::string(self.label.raw().to_owned())),
            ("pattern", self.pattern.clone()),
        ];
        parts.extend(self.default.clone().map(|default| ("default", default)));
        parts.extend(self.example.clone().map(|example| ("example", example)));
        if self.secret {
            parts.push(("secret", Value::bool(true)));
        }
        Value::record_from_map(parts.into_iter().map(|(name, part)| (name.to_owned(), part)).collect())
    }
}

impl Message {
    /// Returns every formula that the message refers to.
    pub fn references(&self) -> Vec<FormulaId> {
        self.edges().into_iter().map(|(_, id)| id).collect()
    }

    /// Returns every formula to which the message refers, each with the label of its role.
    pub fn edges(&self) -> Vec<(String, FormulaId)> {
        let one = |label: &str, id: &FormulaId| (label.to_owned(), *id);
        let mut all = vec![one("from", &self.from), one("to", &self.to)];
        if let Some((promise, resolver)) = self.body.asks() {
            all.extend([one("promise", &promise), one("resolver", &resolver)]);
        }
        match &self.body {
            Body::Request { .. }
            | Body::Form { .. }
            | Body::Approval { .. }
            | Body::OutcomeUnknown { .. }
            | Body::MailQuota { .. }
            | Body::Budget { .. } => {}
            Body::Package { names, ids, .. } | Body::EvalRequest { names, ids, .. } => {
                all.extend(names.iter().zip(ids).map(|(name, id)| (format!("edge {name}"), *id)));
            }
            Body::Definition { definition, .. } => all.push(one("definition", definition)),
            Body::Value { value } => all.push(one("value", value)),
            Body::Release { result, guest, promise, .. } => {
                all.extend([one("result", result), one("guest", guest), one("promise", promise)]);
            }
            Body::Command { made, .. } => all.extend(made.iter().map(|made| one("made", made))),
        }
        all
    }
}

/// One proposal on an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalEntry {
    /// The step that proposed the call.
    pub proposal: StepRef,
    /// The fingerprint of the exact proposal.
    pub fingerprint: Fingerprint,
}

/// The answer to a message, or to one entry of an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// The answer is yes.
    Approved {
        /// Whether the approval also covers every identical call that the same run proposes later.
        for_run: bool,
        /// The time of the answer, in milliseconds since 1970.
        at_ms: i64,
    },
    /// The answer is no.
    Denied {
        /// The reason, as the model or the sender reads it.
        reason: Untrusted,
        /// The time of the answer, in milliseconds since 1970.
        at_ms: i64,
    },
    /// The effect happened.
    Happened {
        /// The time of the answer, in milliseconds since 1970.
        at_ms: i64,
    },
    /// The effect did not happen, and may be done now.
    Repeat {
        /// The time of the answer, in milliseconds since 1970.
        at_ms: i64,
    },
    /// There is no answer, because the asker has withdrawn the question.
    Withdrawn {
        /// The reason, in the asker's words.
        reason: Untrusted,
        /// The time of the withdrawal, in milliseconds since 1970.
        at_ms: i64,
    },
}

/// The part of a message that stays when its references have been dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope {
    /// The message's own number, the same in every mailbox.
    pub id: Number,
    /// The type of the message.
    pub kind: String,
    /// The number of the sender's handle.
    pub from: Number,
    /// The number of the recipient's handle.
    pub to: Number,
    /// The time at which the message was sent, in milliseconds since 1970.
    pub sent_ms: i64,
    /// The message that this one answers.
    #[serde(default)]
    pub reply_to: Option<Number>,
}

/// Reads answers by entry. Serde hands the keys of a flattened map over as texts only.
fn answers_by_entry<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<usize, Answer>, D::Error> {
    let texts = BTreeMap::<String, Answer>::deserialize(from)?;
    let entry = |(key, answer): (String, Answer)| Ok((key.parse().map_err(D::Error::custom)?, answer));
    texts.into_iter().map(entry).collect()
}

/// A message in one mailbox, with its state there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mail {
    /// The sender, the recipient, and the time of the message.
    pub envelope: Envelope,
    /// The message. `None` once it has been dismissed.
    pub message: Option<FormulaId>,
    /// The answers so far, by entry. A message that asks for one thing has only entry 0.
    #[serde(default, deserialize_with = "answers_by_entry")]
    pub answers: BTreeMap<usize, Answer>,
    /// Whether the message still needs an answer in this mailbox.
    pub needs_you: bool,
    /// The time at which the message was dismissed, in milliseconds since 1970.
    #[serde(default)]
    pub dismissed_ms: Option<i64>,
    /// For a definition: the number of times that it was endowed or edited. An actor that has seen another number has
    /// not seen the definition's present state.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub done: u64,
    /// For a definition: its last endowments, oldest first. The mailbox keeps their results until the message is
    /// dismissed, and nothing else of them. Code that has ended and that no agent holds is collected as always.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endowed: Vec<EndowmentRecord>,
    /// For a command: its outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CommandOutcome>,
}

/// An endowment of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndowmentRecord {
    /// The run or the code that was made. It may be gone.
    pub made: FormulaId,
    /// The promise for the result.
    pub result: FormulaId,
    /// The time of the endowment, in milliseconds since 1970.
    pub at_ms: i64,
    /// The number of times that the definition had been endowed or edited before.
    pub after: u64,
}

impl EndowmentRecord {
    /// Returns the label of the mailbox's reference to the result. `number` is the number of the definition's
    /// message.
    pub(crate) fn label(&self, number: MessageNumber) -> String {
        format!("endowed {number} {}", self.after)
    }
}
