//! Messages: the durable, numbered mail of an agent.

use std::collections::BTreeMap;

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::id::{FormulaId, MessageNumber, RunNumber, StepRef};
use crate::proposal::Fingerprint;

/// A message as it was sent. What is answered later stands in the mailbox's row, not here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who sent it.
    pub from: FormulaId,
    /// To whom.
    pub to: FormulaId,
    /// When, in milliseconds since 1970.
    pub sent_ms: i64,
    /// The message that it answers.
    #[serde(default)]
    pub reply_to: Option<MessageNumber>,
    /// What it says.
    pub body: Body,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Body {
    /// Proposals of one step of one run that wait for a person.
    Approval {
        /// The run that waits.
        run: RunNumber,
        /// The proposals, each bound to its fingerprint.
        entries: Vec<Asked>,
    },
    /// What a person told the daemon to do, kept so that the transcript is whole.
    Command {
        /// The command's verb.
        verb: String,
        /// The command as text.
        text: Untrusted,
        /// The run that it started or changed.
        #[serde(default)]
        run: Option<RunNumber>,
    },
}

impl Body {
    /// The body's type as it is written on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Body::Approval { .. } => "approval",
            Body::Command { .. } => "command",
        }
    }
}

impl Message {
    /// Every formula that the message refers to.
    pub fn references(&self) -> Vec<FormulaId> {
        vec![self.from, self.to]
    }
}

/// One proposal on an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Where it was proposed.
    pub proposal: StepRef,
    /// What exactly was proposed.
    pub fingerprint: Fingerprint,
}

/// How one entry of an approval was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// It may be done.
    Approved {
        /// Also again, as often as the same run proposes exactly the same.
        for_run: bool,
        /// When, in milliseconds since 1970.
        at_ms: i64,
    },
    /// It may not.
    Denied {
        /// What the model is told.
        reason: Untrusted,
        /// When, in milliseconds since 1970.
        at_ms: i64,
    },
}

/// A message as it lies in one mailbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mail {
    /// The message.
    pub message: FormulaId,
    /// For an approval: the answers so far, by entry.
    #[serde(default)]
    pub answers: BTreeMap<usize, Answer>,
    /// Whether a person still has to answer it.
    pub needs_you: bool,
}
