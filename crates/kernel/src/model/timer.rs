//! Timers and their subscriptions, and the limits of both.

use serde::{Deserialize, Serialize};

use crate::id::FormulaId;
use crate::proposal::Finding;

/// The minimum interval, in milliseconds.
pub const MIN_INTERVAL_MS: u64 = 10;

/// The minimum interval of a timer to which an agent subscribes, in milliseconds. Each tick is a message that stays.
pub const MIN_SUBSCRIPTION_INTERVAL_MS: u64 = 1_000;

/// The maximum interval, in milliseconds: ten years.
pub const MAX_INTERVAL_MS: u64 = 10 * 366 * 24 * 60 * 60 * 1_000;

/// The maximum length of a label, in bytes.
pub const MAX_LABEL_LEN: usize = 200;

/// The changing part of a timer. The rest is in the timer's formula.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimerRow {
    /// The time at which the timer was cancelled, in milliseconds since 1970.
    #[serde(default)]
    pub ended_ms: Option<i64>,
}

/// The subscription of an agent to the ticks of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subscription {
    /// The reference through which the agent reaches the timer: the timer itself, or a grant of it.
    pub timer: FormulaId,
    /// The number of the last tick that the agent was told of, or that came before the subscription.
    pub seen: u64,
    /// The time of the next tick, in milliseconds since 1970.
    pub due_ms: i64,
}

/// The properties of a timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// The formula of the timer.
    pub id: FormulaId,
    /// The time between two ticks, in milliseconds.
    pub interval_ms: u64,
    /// The start of the timer, in milliseconds since 1970.
    pub begun_ms: i64,
    /// The maker's label for the timer.
    pub label: passable::Untrusted,
}

impl Timer {
    /// Returns the number of the last tick until `now_ms`, or 0 before the first one.
    pub fn tick_at(&self, now_ms: i64) -> u64 {
        let passed = u64::try_from(now_ms.saturating_sub(self.begun_ms)).unwrap_or(0);
        passed / self.interval_ms.max(1)
    }

    /// Returns the time of a tick, in milliseconds since 1970.
    pub fn comes_at(&self, tick: u64) -> i64 {
        let after = i64::try_from(self.interval_ms.saturating_mul(tick)).unwrap_or(i64::MAX);
        self.begun_ms.saturating_add(after)
    }
}

/// The reason why a timer gives no ticks.
#[derive(Clone, Debug, PartialEq)]
pub enum TimerFault {
    /// The formula is no timer, or is gone.
    NotFound,
    /// The timer was cancelled.
    Cancelled,
    /// A grant on the way to the timer has ended, or does not allow the call.
    Refused(Finding),
}

impl TimerFault {
    /// Returns the reason, in a few words.
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
            // A tick counts from its exact time on, and not before.
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
