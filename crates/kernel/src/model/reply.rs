//! The reply to a command, and the value that the caller gets for it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::id::{FormulaId, GrantNumber, HostRun, MessageNumber, RunNumber, StepRef};

/// The reply to a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// The command was carried out.
    #[default]
    Done,
    /// A run was started.
    Started {
        /// The number of the run.
        run: RunNumber,
    },
    /// An earlier request with the same key had started the run. Nothing changed.
    AlreadyStarted {
        /// The number of the run.
        run: RunNumber,
    },
    /// The journal of an agent's acts outside of runs was found, or made.
    AgentJournal {
        /// The host and the number of the journal.
        at: HostRun,
    },
    /// A call was proposed in the journal of an agent.
    Proposed {
        /// The step that proposes the call.
        at: StepRef,
    },
    /// The same send of the same code had proposed its call before. Nothing changed.
    AlreadyProposed {
        /// The step that proposed the call.
        at: StepRef,
    },
    /// An approval was answered.
    Answered {
        /// The run that waited for the answer.
        run: RunNumber,
        /// The entries that were answered by this command.
        entries: Vec<usize>,
        /// Whether entries are still open.
        needs_you: bool,
    },
    /// All entries of the answer had been answered before. Nothing changed.
    AlreadyAnswered {
        /// The run that waited for the answer.
        run: RunNumber,
    },
    /// Several approvals were answered.
    AnsweredAll {
        /// The approvals that this command answered.
        messages: Vec<MessageNumber>,
        /// The approvals that had been answered before.
        already: Vec<MessageNumber>,
    },
    /// No run was stalled, so nothing changed.
    NotStalled,
    /// The journal has grown since the decision to suspend. Nothing changed.
    NotSuspended,
    /// A formula was made, or found.
    Made {
        /// The formula.
        id: FormulaId,
    },
    /// An agent was made, or found.
    Agent {
        /// The agent.
        agent: FormulaId,
        /// The handle of the agent.
        handle: FormulaId,
    },
    /// A message that asks for something was sent.
    RequestSent {
        /// The promise that settles with the answer.
        promise: FormulaId,
        /// The number of the message in the actor's mailbox. `None` if the call attached to an earlier one.
        number: Option<MessageNumber>,
    },
    /// A message was sent.
    Sent {
        /// The number of the message in the actor's mailbox.
        number: MessageNumber,
    },
    /// Endowed code is queued until a vat has run it to its end.
    CodeQueued {
        /// The code.
        eval: FormulaId,
        /// The promise for the result of the code.
        promise: FormulaId,
    },
    /// A grant was made.
    Granted {
        /// The number of the grant.
        number: GrantNumber,
    },
    /// The matter was settled before. Nothing changed.
    AlreadySettled,
    /// Messages were dismissed.
    Dismissed {
        /// The number of dismissed messages.
        count: u64,
    },
    /// Formulas were collected.
    Collected {
        /// The number of collected formulas.
        count: u64,
        /// Whether nothing is left to look at.
        done: bool,
    },
    /// Agents were told of ticks.
    Ticked {
        /// The number of agents.
        count: u64,
        /// Whether no agent is left that must be told now.
        done: bool,
    },
}

/// The value that the caller gets for the reply to a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// The value `undefined`.
    Nothing,
    /// The agent that was made or found.
    Agent {
        /// The name of the agent's interface.
        interface: Cow<'static, str>,
    },
    /// The object that was made.
    Object {
        /// The name of the object's interface.
        interface: Cow<'static, str>,
    },
    /// The promise for the requested result.
    Promise,
    /// A text that was known before.
    Text(String),
}
