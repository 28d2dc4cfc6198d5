//! Timers and their subscriptions, and the limits of both.

use serde::{Deserialize, Serialize};

use crate::id::FormulaId;
use crate::proposal::Finding;

/// The shortest interval, in milliseconds.
pub const MIN_INTERVAL_MS: u64 = 10;

/// The shortest interval of a timer to which an agent subscribes, in milliseconds: each tick is a message that stays.
pub const MIN_SUBSCRIPTION_INTERVAL_MS: u64 = 1_000;

/// The longest interval, in milliseconds: ten years.
pub const MAX_INTERVAL_MS: u64 = 10 * 366 * 24 * 60 * 60 * 1_000;

/// The longest label, in bytes.
pub const MAX_LABEL_LEN: usize = 200;

/// The changing part of a timer. The rest is its formula.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerRow {
    /// When it was cancelled, in milliseconds since 1970.
    #[serde(default)]
    pub ended_ms: Option<i64>,
}

/// An agent that is told of each tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// The timer as the agent reaches it: the timer itself, or a grant of it.
    pub timer: FormulaId,
    /// The last tick that it was told of, or that came before it subscribed.
    pub seen: u64,
    /// When the next one comes, in milliseconds since 1970.
    pub due_ms: i64,
}

/// The properties of a timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Its formula.
    pub id: FormulaId,
    /// How long from tick to tick, in milliseconds.
    pub interval_ms: u64,
    /// When it began, in milliseconds since 1970.
    pub begun_ms: i64,
    /// The label that its maker gave it.
    pub label: passable::Untrusted,
}

impl Timer {
    /// Returns the last tick that has come; 0 before the first.
    pub fn tick_at(&self, now_ms: i64) -> u64 {
        let passed = u64::try_from(now_ms.saturating_sub(self.begun_ms)).unwrap_or(0);
        passed / self.interval_ms.max(1)
    }

    /// Returns when a tick comes, in milliseconds since 1970.
    pub fn comes_at(&self, tick: u64) -> i64 {
        let after = i64::try_from(self.interval_ms.saturating_mul(tick)).unwrap_or(i64::MAX);
        self.begun_ms.saturating_add(after)
    }
}

/// Why nothing comes of a timer.
#[derive(Clone, Debug, PartialEq)]
pub enum TimerFault {
    /// It is no timer, or is gone.
    NotFound,
    /// It was cancelled.
    Cancelled,
    /// A grant on the way to it has ended, or does not allow this.
    Refused(Finding),
}

impl TimerFault {
    /// Returns why, in a few words.
    pub fn reason(&self) -> String {
        match self {
            TimerFault::NotFound => "it is gone".to_owned(),
            TimerFault::Cancelled => "it was cancelled".to_owned(),
            TimerFault::Refused(finding) => finding.message.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_tick_follows_from_the_clock() {
        let id = FormulaId { number: [1; 32], node: [0; 32] };
        let label = passable::Untrusted::new("x");
        let timer = |interval_ms, begun_ms| Timer { id, interval_ms, begun_ms, label: label.clone() };
        let check = |interval: u64, begun: i64, now: i64, tick: u64, next: i64| {
            let timer = timer(interval, begun);
            assert_eq!(timer.tick_at(now), tick, "{interval} from {begun} at {now}");
            assert_eq!(timer.comes_at(tick + 1), next, "{interval} from {begun} at {now}");
            // A tick has come when it comes, and not a moment before.
            assert_eq!(timer.tick_at(next), tick + 1);
            assert_eq!(timer.tick_at(next - 1), tick);
        };
        check(1_000, 5_000, 5_000, 0, 6_000);
        check(1_000, 5_000, 5_999, 0, 6_000);
        check(1_000, 5_000, 6_000, 1, 7_000);
        check(1_000, 5_000, 9_500, 4, 10_000);
        check(1_000, 5_000, 0, 0, 6_000);
        check(10, -25, 0, 2, 5);
        check(MAX_INTERVAL_MS, 0, 1, 0, MAX_INTERVAL_MS as i64);
        // Extreme values that no clock shows do not overflow.
        assert_eq!(timer(0, 0).tick_at(7), 7);
        assert_eq!(timer(MAX_INTERVAL_MS, 1).comes_at(u64::MAX), i64::MAX);
        assert_eq!(timer(10, i64::MIN).tick_at(i64::MAX), i64::MAX as u64 / 10);
    }
}
