//! Commands about timers.

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::id::FormulaId;
use crate::name::NamePath;

/// An act on timers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "timing", rename_all = "snake_case")]
pub enum TimerAct {
    /// Makes a timer that begins now. Only a host makes one.
    Make {
        /// Its name.
        path: NamePath,
        /// How long from tick to tick, in milliseconds.
        interval_ms: u64,
        /// The purpose of the timer. Foreign text.
        label: Untrusted,
    },
    /// From now on each tick of a timer is a message in the actor's mailbox.
    Subscribe {
        /// The timer, or a grant of it. The actor must hold it.
        timer: FormulaId,
    },
    /// Ends that.
    Unsubscribe {
        /// The timer, or the grant of it, as it was subscribed to.
        timer: FormulaId,
    },
    /// Tells agents of ticks that have come.
    Tick {
        /// How many agents are told, at most.
        budget: u32,
    },
}
