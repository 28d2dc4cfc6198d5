//! How much one vat may use.

use serde::{Deserialize, Serialize};

/// The limits of a vat. Fuel and time are given anew with each order; all else counts for as long as the vat lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of its heap, at least [`Limits::MIN_MEMORY`].
    pub memory: usize,
    /// Bytes of native stack that its code may use, at most 6 MiB. The thread must have as much and 1 MiB more.
    pub stack: usize,
    /// Steps per order: loops, calls and the like are one each. Counted in portions of 10,000.
    pub fuel: u64,
    /// Milliseconds per order.
    pub wall_ms: u64,
    /// Sends that are not answered yet.
    pub sends: usize,
    /// Bytes of one message: a send's arguments, an answer, a settled promise.
    pub message: usize,
    /// Bytes that it may write to its console per order. The vat leaves out the rest, and says so once.
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
    /// The least heap: the engine does not survive it if there is none for itself.
    pub const MIN_MEMORY: usize = 4 << 20;
    /// The most bytes of one message: it must fit a frame, however it is written there.
    pub const MAX_MESSAGE: usize = 8 << 20;
    /// The least stack with which the realm can be made.
    pub const MIN_STACK: usize = 192 << 10;
    /// The most stack that is accepted: threads have rarely more than 8 MiB.
    pub const MAX_STACK: usize = 6 << 20;

    /// Returns the most bytes of one frame that a vat of these limits has reason to send: a message, however it is
    /// written, a console full, or all that it lets go of in one turn.
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
