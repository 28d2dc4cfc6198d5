//! The outcomes of users' commands.
//!
//! An outcome lies beside the command's message in the mailbox. It is a record that keeps nothing alive, and it stays
//! when the formulas that the command made are gone. A command that started a run has no outcome here, because the
//! run has a state of its own.

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::id::{FormulaId, GrantNumber, MessageNumber};
use crate::proposal::Value;

use super::promise::PromiseRow;
use super::reply::Reply;

/// The maximum size in bytes of a value that is kept with its command. A larger value is kept elsewhere.
const MAX_VALUE_BYTES: usize = 4 << 10;

/// The maximum size in bytes of the reason that is kept for a refusal or a failure.
const MAX_LEN: usize = 2 << 10;

/// The outcome of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CommandOutcome {
    /// No outcome yet: the work that the command started is still running.
    Running,
    /// No outcome yet: the agent that the command asked has not answered.
    WaitingForAnswer {
        /// The message that asks. `None` if an earlier command has sent the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<MessageNumber>,
    },
    /// The command was carried out.
    Done {
        /// The value of the outcome, if there is one to show.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<OutcomeValue>,
    },
    /// Nothing was left to do, because somebody was first or the work had ended by itself.
    NoChange,
    /// The command was refused, by the daemon or by the agent that the command asked. Nothing was done.
    Refused {
        /// The reason. It may quote foreign text.
        why: Untrusted,
    },
    /// The work that the command started has failed.
    Failed {
        /// The reason. It may quote foreign text.
        why: Untrusted,
    },
}

/// The value of a command's outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum OutcomeValue {
    /// Data.
    Value {
        /// The data.
        value: Value,
    },
    /// A value that is not kept here.
    Description {
        /// A description of the value, in words.
        words: String,
    },
    /// A message was sent.
    Message {
        /// The number of the message.
        number: MessageNumber,
    },
    /// A grant was made.
    Grant {
        /// The number of the grant.
        number: GrantNumber,
    },
    /// Messages were dismissed.
    Dismissed {
        /// The number of dismissed messages.
        count: u64,
    },
}

impl CommandOutcome {
    /// Returns the outcome that a reply shows, with the promise that will complete it. Returns `None` for a run,
    /// which has a state of its own, and for commands that no user gives.
    pub(crate) fn from_reply(reply: &Reply) -> Option<(CommandOutcome, Option<FormulaId>)> {
        let done = |to| Some((CommandOutcome::Done { to }, None));
        match reply {
            Reply::AnsweredAll { messages, .. } if messages.is_empty() => {
                Some((CommandOutcome::NoChange, None))
            }
            Reply::AnsweredAll { .. } => done(None),
            Reply::Done | Reply::Answered { .. } | Reply::Made { .. } | Reply::Agent { .. } => done(None),
            Reply::Sent { number } => done(Some(OutcomeValue::Message { number: *number })),
            Reply::Granted { number } => done(Some(OutcomeValue::Grant { number: *number })),
            Reply::Dismissed { count } => done(Some(OutcomeValue::Dismissed { count: *count })),
            Reply::RequestSent { promise, number } => {
                Some((CommandOutcome::WaitingForAnswer { number: *number }, Some(*promise)))
            }
            Reply::CodeQueued { promise, .. } => Some((CommandOutcome::Running, Some(*promise))),
            Reply::AlreadyAnswered { .. } | Reply::AlreadySettled | Reply::NotStalled => {
                Some((CommandOutcome::NoChange, None))
            }
            Reply::Started { .. }
            | Reply::AlreadyStarted { .. }
            | Reply::AgentJournal { .. }
            | Reply::Proposed { .. }
            | Reply::AlreadyProposed { .. }
            | Reply::NotSuspended
            | Reply::Collected { .. }
            | Reply::Ticked { .. } => None,
        }
    }

    /// Returns the outcome of a refused command.
    pub(crate) fn refused(why: &str) -> CommandOutcome {
        CommandOutcome::Refused { why: truncate(why) }
    }

    /// Returns the outcome after the promise for which the command waits has settled. Returns `None` while the
    /// promise is pending.
    pub(crate) fn settled(&self, row: &PromiseRow) -> Option<CommandOutcome> {
        Some(match row {
            PromiseRow::Pending => return None,
            PromiseRow::Fulfilled { value } => {
                CommandOutcome::Done { to: Some(OutcomeValue::from_value(value)) }
            }
            PromiseRow::Rejected { reason } => match self {
                CommandOutcome::WaitingForAnswer { .. } => CommandOutcome::Refused { why: truncate(reason) },
                _ => CommandOutcome::Failed { why: truncate(reason) },
            },
        })
    }
}

impl OutcomeValue {
    fn from_value(value: &Value) -> OutcomeValue {
        let thing = |words: String| OutcomeValue::Description { words };
        if value.as_reference().is_some() {
            return thing("something that can be used".to_owned());
        }
        if !value.references().is_empty() {
            return thing(format!("{} with something in it that can be used", value.in_words()));
        }
        let bytes = passable::smallcaps::encode(value).body.len();
        if bytes > MAX_VALUE_BYTES {
            return thing(format!("{} of {bytes} bytes", value.in_words()));
        }
        OutcomeValue::Value { value: value.clone() }
    }
}

/// Returns a reason, cut to the maximum size.
fn truncate(why: &str) -> Untrusted {
    let mut end = MAX_LEN.min(why.len());
    while !why.is_char_boundary(end) {
        end -= 1;
    }
    let (head, rest) = why.split_at(end);
    Untrusted::new(if rest.is_empty() { head.to_owned() } else { format!("{head} …") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settled_promise_gives_a_short_outcome() {
        let id = FormulaId { number: [1; 32], node: [2; 32] };
        let fulfilled = |value: Value| PromiseRow::Fulfilled { value };
        let rejected = |reason: &str| PromiseRow::Rejected { reason: reason.to_owned() };
        let to = |to: OutcomeValue| Some(CommandOutcome::Done { to: Some(to) });
        let thing = |words: &str| to(OutcomeValue::Description { words: words.to_owned() });
        let (going, asked) = (CommandOutcome::Running, CommandOutcome::WaitingForAnswer { number: None });
        for (before, row, after) in [
            (&going, PromiseRow::Pending, None),
            (&going, fulfilled(Value::string("x")), to(OutcomeValue::Value { value: Value::string("x") })),
            (&going, fulfilled(Value::remotable(id)), thing("something that can be used")),
            (
                &going,
                fulfilled(Value::array(vec![Value::remotable(id)])),
                thing("a list with something in it that can be used"),
            ),
            (&going, fulfilled(Value::string("x".repeat(MAX_VALUE_BYTES))), thing("text of 4099 bytes")),
            (&going, rejected("no"), Some(CommandOutcome::Failed { why: Untrusted::new("no") })),
            (&asked, rejected("no"), Some(CommandOutcome::Refused { why: Untrusted::new("no") })),
            (
                &asked,
                rejected(&"ä".repeat(MAX_LEN)),
                Some(CommandOutcome::Refused { why: Untrusted::new("ä".repeat(MAX_LEN / 2) + " …") }),
            ),
        ] {
            assert_eq!(before.settled(&row), after, "{row:?}");
        }
    }
}
