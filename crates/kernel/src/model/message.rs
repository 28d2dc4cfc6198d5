//! Messages: the durable, numbered mail of agents.

use std::collections::BTreeMap;

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::budget::Raise;
use crate::id::{FormulaId, GrantNumber, MessageNumber, Number, RunNumber, StepRef};
use crate::outcome::CommandOutcome;
use crate::proposal::{Fingerprint, Value};

use super::run_outcome::Trouble;
use super::usage::Usage;

/// A message as it was sent: one formula, to which the mailboxes of sender and recipient both refer. Later answers
/// are in the mailbox's row, not here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The handle of the agent who sent it.
    pub from: FormulaId,
    /// The handle of the agent to whom.
    pub to: FormulaId,
    /// When, in milliseconds since 1970.
    pub sent_ms: i64,
    /// The message that it answers: the number of that message's formula. No reference: it keeps nothing alive.
    #[serde(default)]
    pub reply_to: Option<Number>,
    /// The content.
    pub body: Body,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Body {
    /// Asks for a value.
    Request {
        /// The purpose.
        description: Untrusted,
        /// Settles with the answer.
        promise: FormulaId,
        /// Settles the promise.
        resolver: FormulaId,
        /// The run that asks, if one does, and the slot that the answer would fill.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<HostRequest>,
    },
    /// Text with named values between its pieces.
    Package {
        /// The pieces of text: at least as many as there are names.
        strings: Vec<Untrusted>,
        /// The names that stand behind the pieces, in order.
        names: Vec<String>,
        /// The values of the names: plain data, or grants held by the recipient.
        ids: Vec<FormulaId>,
        /// The run that says it, if one does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunNumber>,
    },
    /// Proposes an inert program that the recipient may endow.
    Definition {
        /// The program.
        definition: FormulaId,
        /// Settles with the first outcome that is shared.
        promise: FormulaId,
        /// Settles the promise.
        resolver: FormulaId,
        /// The run that proposes it, if one does, and the run's description of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Draft>,
    },
    /// Asks to run code over things that the sender already holds.
    EvalRequest {
        /// The code.
        source: Untrusted,
        /// The names in the code.
        names: Vec<String>,
        /// The values of the names, fixed when the message was sent.
        ids: Vec<FormulaId>,
        /// Settles with the outcome.
        promise: FormulaId,
        /// Settles the promise.
        resolver: FormulaId,
    },
    /// Asks for a record of values.
    Form {
        /// The purpose.
        description: Untrusted,
        /// The fields, in order.
        fields: Vec<Field>,
        /// Settles with the first record that fits.
        promise: FormulaId,
        /// Settles the promise.
        resolver: FormulaId,
        /// Whether it may be answered more than once: later answers come as `value` messages alone.
        #[serde(default)]
        repeatable: bool,
        /// The run that asks, if one does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunNumber>,
    },
    /// Hands over a value, as an answer.
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
    /// Asks whether an effect happened that a crash cut off and that nothing but a person can look for.
    OutcomeUnknown {
        /// The run that waits.
        run: RunNumber,
        /// The call that may have been made.
        entry: ApprovalEntry,
    },
    /// A run has used up a limit, and asks for more.
    Budget {
        /// The run that waits.
        run: RunNumber,
        /// The limit that it has used up, and the remedy.
        trouble: Trouble,
        /// All that it has used so far.
        used: Usage,
        /// The raise that a plain yes gives.
        offer: Raise,
    },
    /// A result that carries capabilities, withheld until a person says that they may be given away.
    Release {
        /// The result as it was withheld.
        result: FormulaId,
        /// Who would get it.
        guest: FormulaId,
        /// The definition's promise, settled by the answer.
        promise: FormulaId,
        /// The capabilities that would be given away, each described in words.
        gives: Vec<String>,
    },
    /// A user's command to the daemon, kept so that the transcript is complete.
    Command {
        /// The command's verb.
        verb: String,
        /// The command as text.
        text: Untrusted,
        /// The run that it started or changed.
        #[serde(default)]
        run: Option<RunNumber>,
        /// The run's formula, if it started one: the transcript keeps it.
        #[serde(default)]
        made: Option<FormulaId>,
        /// The grant that it changed.
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

    /// Returns the run whose words it is.
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
pub struct HostRequest {
    /// The run.
    pub run: RunNumber,
    /// The slot for the capability that the run gets, unless the answer is data.
    pub slot: String,
}

/// Code that a run proposes to its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// The run.
    pub run: RunNumber,
    /// The run's description of the code. Foreign text.
    pub description: Untrusted,
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The name under which its value stands in the record.
    pub name: String,
    /// The label that a user reads. Foreign text.
    pub label: Untrusted,
    /// The pattern of its value, as the value as which a pattern travels.
    pub pattern: Value,
    /// The value of the field unless another one is given.
    #[serde(default)]
    pub default: Option<Value>,
    /// An example for the person who fills it in.
    #[serde(default)]
    pub example: Option<Value>,
    /// Whether the value is a secret: it is sealed, and the form's sender gets a capability.
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

    /// Returns every formula that the message refers to, each with the part that it plays.
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
pub struct ApprovalEntry {
    /// Where it was proposed.
    pub proposal: StepRef,
    /// The fingerprint of the exact proposal.
    pub fingerprint: Fingerprint,
}

/// How a message, or one entry of an approval, was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Yes.
    Approved {
        /// Also again, as often as the same run proposes exactly the same.
        for_run: bool,
        /// When, in milliseconds since 1970.
        at_ms: i64,
    },
    /// No.
    Denied {
        /// The reason, as the model or the sender reads it.
        reason: Untrusted,
        /// When, in milliseconds since 1970.
        at_ms: i64,
    },
    /// It happened.
    Happened {
        /// When this was said, in milliseconds since 1970.
        at_ms: i64,
    },
    /// It did not happen, and may be done now.
    Repeat {
        /// When this was said, in milliseconds since 1970.
        at_ms: i64,
    },
    /// No answer: the asker has withdrawn the question.
    Withdrawn {
        /// The reason, in the asker's words.
        reason: Untrusted,
        /// When, in milliseconds since 1970.
        at_ms: i64,
    },
}

/// The part of a message that stays when its references have been dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// The message's own number, the same in every mailbox.
    pub id: Number,
    /// Its type.
    pub kind: String,
    /// The number of the handle from which it came.
    pub from: Number,
    /// The number of the handle to which it went.
    pub to: Number,
    /// When it was sent, in milliseconds since 1970.
    pub sent_ms: i64,
    /// The message that it answers.
    #[serde(default)]
    pub reply_to: Option<Number>,
}

/// A message as it lies in one mailbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mail {
    /// Who, to whom, when.
    pub envelope: Envelope,
    /// The message; `None` once it has been dismissed.
    pub message: Option<FormulaId>,
    /// The answers so far, by entry; a message that asks for one thing has entry 0.
    #[serde(default)]
    pub answers: BTreeMap<usize, Answer>,
    /// Whether somebody still has to answer it here.
    pub needs_you: bool,
    /// When it was dismissed, in milliseconds since 1970.
    #[serde(default)]
    pub dismissed_ms: Option<i64>,
    /// For a definition: how often something was done with it that can be done again. Who has seen another number has not
    /// seen it as it is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub done: u64,
    /// For a definition: its last endowments, oldest first. The mailbox keeps their results as long as the message
    /// lies there, and nothing else of them. Code that has ended and that no agent holds is collected as always.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endowed: Vec<EndowmentRecord>,
    /// For a command: its outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CommandOutcome>,
}

/// An endowment of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndowmentRecord {
    /// The run or the code that was made. It may be gone.
    pub made: FormulaId,
    /// The promise for its result.
    pub result: FormulaId,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The number of things that had been done with the definition before.
    pub after: u64,
}

impl EndowmentRecord {
    /// Returns the part that its result plays in the mailbox that keeps it, under its definition's number.
    pub(crate) fn label(&self, number: MessageNumber) -> String {
        format!("endowed {number} {}", self.after)
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
