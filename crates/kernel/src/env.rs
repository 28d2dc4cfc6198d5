//! The inputs of a command from the outside: a reading of the clock, and entropy.

use std::cell::Cell;

use crate::event::{Recorder, Surface};

/// Expands to whether a bug is planted. This is `false`, except in a simulation that looks for the bug.
#[cfg(feature = "planted")]
macro_rules! planted {
    ($env:expr, $bug:ident) => {
        $env.has($crate::planted::Bug::$bug)
    };
}

/// Expands to `false`: a released build has no planted bugs.
#[cfg(not(feature = "planted"))]
macro_rules! planted {
    ($env:expr, $bug:ident) => {
        false
    };
}

/// One reading of the clock and one draw of entropy, and the party that gives the command. The effects of a command depend only on these, the state and the
/// command.
#[derive(Clone, Debug)]
pub struct Env {
    now_ms: i64,
    entropy: [u8; 32],
    drawn: Cell<u64>,
    recorder: Option<Recorder>,
    surface: Option<Surface>,
    #[cfg(feature = "planted")]
    planted: Option<crate::planted::Bug>,
}

impl Env {
    /// Returns an environment. `now_ms` is in milliseconds since 1970. `entropy` must never be used for two commands.
    pub fn new(now_ms: i64, entropy: [u8; 32]) -> Env {
        Env {
            now_ms,
            entropy,
            drawn: Cell::new(0),
            recorder: None,
            surface: None,
            #[cfg(feature = "planted")]
            planted: None,
        }
    }

    /// Returns the environment of a process that this user runs on this machine. Events name both.
    pub fn recorded_by(self, recorder: Recorder) -> Env {
        Env { recorder: Some(recorder), ..self }
    }

    /// Returns the environment of a command that came over this surface.
    pub fn over(self, surface: Option<Surface>) -> Env {
        Env { surface, ..self }
    }

    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    pub(crate) fn surface(&self) -> Option<Surface> {
        self.surface
    }

    /// Returns the environment with a planted bug.
    #[cfg(feature = "planted")]
    pub fn with_planted(mut self, bug: crate::planted::Bug) -> Env {
        self.planted = Some(bug);
        self
    }

    #[cfg(feature = "planted")]
    pub(crate) fn has(&self, bug: crate::planted::Bug) -> bool {
        self.planted == Some(bug)
    }

    /// Returns the clock's reading, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// Returns a fresh number: 48 bits of the clock, then 208 bits derived from the entropy. Formulas that are made
    /// at about the same time lie together in a store. The number is still impossible to guess.
    pub fn number(&self) -> [u8; 32] {
        let n = self.drawn.get();
        self.drawn.set(n.wrapping_add(1));
        let mut hasher = blake3::Hasher::new_derive_key("almoner formula number v1");
        hasher.update(&self.entropy);
        hasher.update(&n.to_le_bytes());
        let mut number = *hasher.finalize().as_bytes();
        // 48 bits of milliseconds last for 8,900 years. A clock that stands before 1970 stands at 1970.
        let time = u64::try_from(self.now_ms).unwrap_or(0).min((1 << 48) - 1);
        number[..6].copy_from_slice(&time.to_be_bytes()[2..]);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_begin_with_their_time_and_end_at_random() {
        let check = |now_ms: i64, time: [u8; 6]| {
            let env = Env::new(now_ms, [7; 32]);
            let (one, two) = (env.number(), env.number());
            assert_eq!((&one[..6], &two[..6]), (&time[..], &time[..]), "{now_ms}");
            assert_ne!(one[6..], two[6..]);
            assert_ne!(one[6..], Env::new(now_ms, [8; 32]).number()[6..]);
        };
        check(0, [0; 6]);
        check(-1, [0; 6]);
        check(0x0102_0304_0506, [1, 2, 3, 4, 5, 6]);
        check(i64::MAX, [0xff; 6]);
    }
}
