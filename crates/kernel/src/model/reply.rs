//! The reply to a command, and its meaning for the caller.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::id::{FormulaId, GrantNumber, HostRun, MessageNumber, RunNumber, StepRef};

/// The reply to a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// It was done.
    #[default]
    Done,
    /// A run was started.
    Started {
        /// Its number.
        run: RunNumber,
    },
    /// The journal of an agent's acts outside of runs was found, or made.
    AgentJournal {
        /// Where it is.
        at: HostRun,
    },
    /// A call was proposed in such a journal.
    Proposed {
        /// The step that proposes it.
        at: StepRef,
    },
    /// The same send of the same code had proposed its call before; nothing changed.
    AlreadyProposed {
        /// The step that proposed it.
        at: StepRef,
    },
    /// An approval was answered.
    Answered {
        /// The run that waited for it.
        run: RunNumber,
        /// The entries that were answered by this command.
        entries: Vec<usize>,
        /// Whether entries are still open.
        needs_you: bool,
    },
    /// Everything that the answer was for had been answered before; nothing changed.
    AlreadyAnswered {
        /// The run that waited for it.
        run: RunNumber,
    },
    /// None of the runs is stalled; nothing changed.
    NotStalled,
    /// The journal has grown since the decision to suspend; nothing changed.
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
        /// Its handle.
        handle: FormulaId,
    },
    /// Something was asked for.
    RequestSent {
        /// Settles with the answer.
        promise: FormulaId,
        /// The message in the actor's mailbox; `None` if the call attached to an earlier one.
        number: Option<MessageNumber>,
    },
    /// A message was sent.
    Sent {
        /// Its number in the actor's mailbox.
        number: MessageNumber,
    },
    /// Endowed code is parked until a vat has brought it to its end.
    CodeQueued {
        /// The code.
        eval: FormulaId,
        /// The promise for its result.
        promise: FormulaId,
    },
    /// A grant was made.
    Granted {
        /// Its number.
        number: GrantNumber,
    },
    /// Somebody has answered before; nothing changed.
    AlreadySettled,
    /// So many messages were dismissed.
    Dismissed {
        /// How many.
        count: u64,
    },
    /// So many formulas were collected.
    Collected {
        /// How many.
        count: u64,
        /// Whether nothing is left to look at.
        done: bool,
    },
    /// So many agents were told of ticks.
    Ticked {
        /// How many.
        count: u64,
        /// Whether no agent is left that must be told now.
        done: bool,
    },
}

/// The meaning of a command's reply to the caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// `undefined`.
    Nothing,
    /// The agent that was made or found.
    Agent {
        /// The name of its interface.
        interface: Cow<'static, str>,
    },
    /// The object that was made.
    Object {
        /// The name of its interface.
        interface: Cow<'static, str>,
    },
    /// The promise for the requested result.
    Promise,
    /// A text that was known before.
    Text(String),
}
