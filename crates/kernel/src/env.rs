//! What the outside hands to a command: a reading of the clock and entropy.

use std::cell::Cell;

/// One reading of the clock and one draw of entropy. Together with the state and the command they determine
/// everything that a command does.
#[derive(Clone, Debug)]
pub struct Env {
    now_ms: i64,
    entropy: [u8; 32],
    drawn: Cell<u64>,
}

impl Env {
    /// `now_ms` is milliseconds since 1970; `entropy` must never be used for two commands.
    pub fn new(now_ms: i64, entropy: [u8; 32]) -> Env {
        Env { now_ms, entropy, drawn: Cell::new(0) }
    }

    /// The clock's reading, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// A fresh number, as good as the entropy.
    pub fn number(&self) -> [u8; 32] {
        let n = self.drawn.get();
        self.drawn.set(n.wrapping_add(1));
        let mut hasher = blake3::Hasher::new_derive_key("almoner formula number v1");
        hasher.update(&self.entropy);
        hasher.update(&n.to_le_bytes());
        *hasher.finalize().as_bytes()
    }
}
