//! The limits of a vat.

use serde::{Deserialize, Serialize};

/// The limits of a vat. Fuel, time and console output are counted anew for each order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The maximum number of heap bytes, at least [`Limits::MIN_MEMORY`].
    pub memory: usize,
    /// The maximum number of bytes of native stack, at most 6 MiB. The thread must have this much stack and 1 MiB
    /// more.
    pub stack: usize,
    /// The maximum number of steps per order. A loop iteration, a call and the like are one step each. Steps are
    /// counted in portions of 10,000.
    pub fuel: u64,
    /// The maximum time per order, in milliseconds.
    pub wall_ms: u64,
    /// The maximum number of sends that wait for an answer.
    pub sends: usize,
    /// The maximum number of bytes in one message: a send's arguments, an answer, a settled promise.
    pub message: usize,
    /// The maximum number of bytes that the vat may write to its console per order. The vat leaves out the rest, and
    /// notes that once.
    pub console: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory: 64 << 20,
            stack: 512 << 10,
            fuel: 1_000_000_000,
            wall_ms: 5_000,
            sends: 1_000,
            message: 1 << 20,
            console: 64 << 10,
        }
    }
}

impl Limits {
    /// The smallest possible heap. The engine crashes if it has not enough memory for itself.
    pub const MIN_MEMORY: usize = 4 << 20;
    /// The largest possible limit on messages. A message must fit a frame, even in its longest form.
    pub const MAX_MESSAGE: usize = 8 << 20;
    /// The smallest stack with which the realm can be made.
    pub const MIN_STACK: usize = 192 << 10;
    /// The largest stack that is accepted, because threads rarely have more than 8 MiB.
    pub const MAX_STACK: usize = 6 << 20;

    /// Returns the maximum number of bytes in one frame of a vat with these limits. A frame can hold a message, the
    /// console output, or all references that the vat released in one turn.
    pub(crate) fn frame(&self) -> usize {
        let limits = self.clamped();
        let written = limits.message.saturating_add(limits.console).saturating_mul(8);
        written.saturating_add(limits.memory / 16).saturating_add(64 << 10)
    }

    /// Returns these limits with memory, stack and message size clamped to the bounds that work.
    pub(crate) fn clamped(self) -> Limits {
        Limits {
            memory: self.memory.max(Limits::MIN_MEMORY),
            stack: self.stack.clamp(Limits::MIN_STACK, Limits::MAX_STACK),
            message: self.message.min(Limits::MAX_MESSAGE),
            ..self
        }
    }
}
