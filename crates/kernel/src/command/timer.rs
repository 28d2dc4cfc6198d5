//! Commands about timers.

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::id::FormulaId;
use crate::name::NamePath;

/// An act on timers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "timing", rename_all = "snake_case")]
pub enum TimerAct {
    /// Makes a timer that begins now. Only a host makes one.
    Make {
        /// The name of the timer.
        path: NamePath,
        /// The time between two ticks, in milliseconds.
        interval_ms: u64,
        /// The purpose of the timer. Foreign text.
        label: Untrusted,
    },
    /// Subscribes the actor to a timer. From now on, each tick is a message in the actor's mailbox.
    Subscribe {
        /// The timer, or a grant of it. The actor must hold it.
        timer: FormulaId,
    },
    /// Ends a subscription.
    Unsubscribe {
        /// The timer or the grant to which the actor subscribed.
        timer: FormulaId,
    },
    /// Tells agents about the ticks that are due, and completes the waiting calls whose time has come.
    Tick {
        /// The maximum number of agents to tell and calls to complete.
        budget: u32,
    },
}
