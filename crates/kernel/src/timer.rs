//! Timers: counters of clock intervals, and the agents that are notified of them.
//!
//! The number of a tick follows from the clock alone. So it goes on over restarts, and a tick without a listener
//! costs nothing. The connection of a client notifies the client. An agent *subscribes*: each tick is a message in
//! its mailbox. Ticks that passed while the daemon was stopped are reported in one message.

use serde::{Deserialize, Serialize};

use crate::formula::Formula;
use crate::id::{FormulaId, Number, RunNumber};
use crate::proposal::Finding;
use crate::table;
use crate::txn::{NO_OWNER, ReadTxn, StoreFault, Table};

/// The shortest interval, in milliseconds.
pub const MIN_INTERVAL_MS: u64 = 10;

/// The shortest interval of a timer to which an agent subscribes, in milliseconds: each tick is a message that stays.
pub const MIN_SUBSCRIPTION_INTERVAL_MS: u64 = 1_000;

/// The longest interval, in milliseconds: ten years.
pub const MAX_INTERVAL_MS: u64 = 10 * 366 * 24 * 60 * 60 * 1_000;

/// The longest label, in bytes.
pub const MAX_LABEL_LEN: usize = 200;

/// How many timers of one agent go at a time, and to how many one agent may be subscribed.
pub const MAX_ITEMS: usize = 100;

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

/// Returns the timer that a reference leads to, if the holder of the reference may use it at this time.
///
/// # Errors
/// When the store fails. The inner error says why no tick comes.
pub fn timer(
    txn: &mut dyn ReadTxn,
    reference: &FormulaId,
    now_ms: i64,
) -> Result<Result<Timer, TimerFault>, StoreFault> {
    let Some(reached) = table::reach(txn, reference)? else { return Ok(Err(TimerFault::NotFound)) };
    if let Some(finding) = reached.refusal("subscribe", now_ms) {
        return Ok(Err(TimerFault::Refused(finding)));
    }
    let Formula::Timer { owner, interval_ms, label, begun_ms } = reached.formula else {
        return Ok(Err(TimerFault::NotFound));
    };
    let row: Option<TimerRow> = table::load(txn, Table::Meta, &owner.0, &timer_key(&reached.id))?;
    if row.is_some_and(|row| row.ended_ms.is_some()) {
        return Ok(Err(TimerFault::Cancelled));
    }
    Ok(Ok(Timer { id: reached.id, interval_ms, begun_ms, label }))
}

/// Returns the subscriptions of an agent.
///
/// # Errors
/// When the store fails.
pub fn subscriptions(txn: &mut dyn ReadTxn, agent: &FormulaId) -> Result<Vec<Subscription>, StoreFault> {
    let end = table::prefix_end(SUBSCRIPTION);
    let rows: Vec<(Vec<u8>, Subscription)> =
        table::scan(txn, Table::Meta, &agent.number, SUBSCRIPTION, &end, usize::MAX, false)?;
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Returns when the daemon must act next: for the next tick of a subscribed agent, or for a call that ends at a time.
/// Returns `None` if nothing is due.
///
/// # Errors
/// When the store fails.
pub fn next_due(txn: &mut dyn ReadTxn) -> Result<Option<i64>, StoreFault> {
    let (tick, wake) = (first_due(txn)?.map(|due| due.at_ms), first_wake(txn)?.map(|wake| wake.at_ms));
    Ok(tick.into_iter().chain(wake).min())
}

/// A call of a run that comes to its end at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wake {
    pub(crate) at_ms: i64,
    /// The host whose run it is.
    pub(crate) host: FormulaId,
    pub(crate) run: RunNumber,
    /// The step that proposed the call.
    pub(crate) step: u64,
}

/// Returns the first of them.
pub(crate) fn first_wake(txn: &mut dyn ReadTxn) -> Result<Option<Wake>, StoreFault> {
    let rows = txn.range(Table::Meta, &NO_OWNER, WAKE, &table::prefix_end(WAKE), 1, false)?;
    let Some((key, _)) = rows.into_iter().next() else { return Ok(None) };
    let part = |from: usize, to: usize| key.get(WAKE.len() + from..WAKE.len() + to);
    let number = |from: usize| Some(u64::from_be_bytes(part(from, from + 8)?.try_into().ok()?));
    let wake = || {
        Some(Wake {
            at_ms: (number(0)? ^ (1 << 63)) as i64,
            host: FormulaId { number: part(8, 40)?.try_into().ok()?, node: part(40, 72)?.try_into().ok()? },
            run: RunNumber(number(72)?),
            step: number(80)?,
        })
    };
    wake().map(Some).ok_or_else(|| StoreFault::Corrupt("a key of `meta` is no time to wake at".to_owned()))
}

/// Returns the key of a call that comes to its end at a time, in the order in which they do.
pub(crate) fn wake_key(wake: &Wake) -> Vec<u8> {
    let at = (wake.at_ms as u64) ^ (1 << 63);
    let (host, run, step) = (&wake.host, wake.run.0.to_be_bytes(), wake.step.to_be_bytes());
    [WAKE, &at.to_be_bytes()[..], &host.number, &host.node, &run, &step].concat()
}

/// The first tick that must be reported to an agent.
pub(crate) struct Due {
    pub(crate) at_ms: i64,
    pub(crate) agent: Number,
    pub(crate) timer: Number,
}

pub(crate) fn first_due(txn: &mut dyn ReadTxn) -> Result<Option<Due>, StoreFault> {
    let rows = txn.range(Table::Meta, &NO_OWNER, DUE, &table::prefix_end(DUE), 1, false)?;
    let Some((key, _)) = rows.into_iter().next() else { return Ok(None) };
    let part = |from: usize, to: usize| key.get(DUE.len() + from..DUE.len() + to);
    let due = || {
        let at = u64::from_be_bytes(part(0, 8)?.try_into().ok()?);
        let agent = Number(part(8, 40)?.try_into().ok()?);
        let timer = Number(part(40, 72)?.try_into().ok()?);
        Some(Due { at_ms: (at ^ (1 << 63)) as i64, agent, timer })
    };
    due().map(Some).ok_or_else(|| StoreFault::Corrupt("a key of `meta` is no tick's".to_owned()))
}

/// The prefix of the keys of timers, which lie under their makers.
pub(crate) const TIMER: &[u8] = b"timer ";
/// The prefix of the keys of subscriptions, which lie under their subscribers.
pub(crate) const SUBSCRIPTION: &[u8] = b"ticks ";
/// How the keys of calls that end at a time begin.
const WAKE: &[u8] = b"wake ";
/// How the keys of ticks to come begin, in the order in which they come.
const DUE: &[u8] = b"due ";
/// The part that a timer plays with an agent that is subscribed to it.
pub const TICKS: &str = "ticks";

/// Returns the key of the changing part of a timer.
pub(crate) fn timer_key(timer: &FormulaId) -> Vec<u8> {
    [TIMER, &timer.number].concat()
}

/// Returns the key of a subscription.
pub(crate) fn subscription_key(timer: &FormulaId) -> Vec<u8> {
    [SUBSCRIPTION, &timer.number].concat()
}

/// Returns the key of a tick to come: times before 1970 come first.
pub(crate) fn due_key(due_ms: i64, agent: &Number, timer: &FormulaId) -> Vec<u8> {
    let at = (due_ms as u64) ^ (1 << 63);
    [DUE, &at.to_be_bytes()[..], &agent.0, &timer.number].concat()
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
