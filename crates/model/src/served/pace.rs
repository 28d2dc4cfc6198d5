//! The minimum pace of a server: the time that a request waits for an answer, and for each part of it.
//!
//! A server that sends nothing, or one byte a minute, or only the comments that keep a connection open, would hold a
//! request for ever. So each part of the answer buys time, and the request ends when its time is used up. The time is
//! generous, because a server on a small machine reads a long prompt for minutes and then writes a token in a second.

use std::time::{Duration, Instant};

use crate::error::ModelError;

/// The minimum pace that a server has to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinimumPace {
    /// The maximum time without any part of an answer. A large prompt takes minutes to read on a small machine.
    pub silence: Duration,
    /// The number of bytes of an answer that must come in a minute. With 0, any part of an answer is enough. A stream
    /// has 100 bytes and more for each token, so the default allows ten seconds and more for a token.
    pub bytes: u64,
}

impl Default for MinimumPace {
    fn default() -> Self {
        Self { silence: Duration::from_secs(1200), bytes: 512 }
    }
}

/// The time that a server has left for the next part of its answer.
#[derive(Debug)]
pub(super) struct PaceWatch {
    pace: MinimumPace,
    begun: Instant,
    /// The time at which the request ends if nothing more comes.
    until: Instant,
    /// The number of bytes of the answer so far.
    received: u64,
}

impl PaceWatch {
    /// Returns the watch for a request that begins now.
    pub(super) fn new(pace: MinimumPace, now: Instant) -> Self {
        Self { pace, begun: now, until: now + pace.silence, received: 0 }
    }

    /// Notes that the head of the answer came. It tells that the server is there, so the time begins anew, once.
    pub(super) fn begin_body(&mut self, now: Instant) {
        self.until = now + self.pace.silence;
    }

    /// Notes how many bytes of the answer have come in all. New bytes buy time, up to the maximum silence.
    pub(super) fn note(&mut self, received: u64, now: Instant) {
        let new = received.saturating_sub(self.received);
        if new == 0 {
            return;
        }
        self.received = received;
        let most = now + self.pace.silence;
        let bought = match self.pace.bytes {
            0 => self.pace.silence,
            bytes => Duration::from_secs_f64((new as f64 / bytes as f64).min(1e6) * 60.0),
        };
        self.until = (self.until + bought).min(most);
    }

    /// Checks that the server has time left.
    ///
    /// # Errors
    /// [`ModelError::TooSlow`] when it has none.
    pub(super) fn check(&self, now: Instant) -> Result<(), ModelError> {
        if now < self.until {
            return Ok(());
        }
        let seconds = now.saturating_duration_since(self.begun).as_secs();
        Err(ModelError::TooSlow { server: String::new(), bytes: self.received, seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the second at which a request ends, if `bytes` of the answer come every `every` seconds. The test has a
    /// clock of its own.
    fn ended_at(pace: MinimumPace, every: u64, bytes: u64) -> Option<u64> {
        let begun = Instant::now();
        let mut watch = PaceWatch::new(pace, begun);
        for second in 1..=7200 {
            let now = begun + Duration::from_secs(second);
            if every > 0 && second % every == 0 {
                watch.note(watch.received + bytes, now);
            }
            if watch.check(now).is_err() {
                return Some(second);
            }
        }
        None
    }

    /// Reported of other programs: oobabooga/textgen#2645 (a CPU reads a prompt for twelve minutes), olimorris/
    /// codecompanion.nvim#223 (one token a second), mateaix/mateclaw#597 (a silent server is waited for without end).
    #[test]
    fn slow_answers_go_on_and_endless_waits_end() {
        let pace = MinimumPace::default();
        // One token a second, and one in ten seconds.
        assert_eq!(ended_at(pace, 1, 110), None);
        assert_eq!(ended_at(pace, 10, 110), None);
        // A part after each 19 minutes.
        assert_eq!(ended_at(pace, 1140, 12_000), None);
        // Nothing at all, one byte a minute, and one token in half a minute.
        assert_eq!(ended_at(pace, 0, 0), Some(1200));
        assert!(ended_at(pace, 60, 1).is_some_and(|end| end < 1220));
        assert!(ended_at(pace, 30, 110).is_some_and(|end| (1800..2400).contains(&end)));
        // A large part at the beginning buys no more than the maximum silence.
        let mut watch = PaceWatch::new(pace, Instant::now());
        let now = watch.begun + Duration::from_secs(1);
        watch.note(1 << 30, now);
        assert!(watch.check(now + Duration::from_secs(1199)).is_ok());
        assert!(watch.check(now + Duration::from_secs(1200)).is_err());
        // Without a minimum, one byte in the time of silence is enough.
        assert_eq!(ended_at(MinimumPace { bytes: 0, ..pace }, 1199, 1), None);
    }
}
