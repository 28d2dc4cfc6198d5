//! Timers: counters of clock intervals, and the agents that are notified of them.
//!
//! The number of a tick follows from the clock alone. So it goes on over restarts, and a tick without a listener
//! costs nothing. The connection of a client notifies the client. An agent *subscribes*: each tick is a message in
//! its mailbox. Ticks that passed while the daemon was stopped are reported in one message.

use crate::formula::Formula;
use crate::id::{FormulaId, Number, RunNumber};
use crate::table;
use crate::txn::{NO_OWNER, ReadTxn, StoreFault, Table};

pub use crate::model::timer::{
    MAX_INTERVAL_MS, MAX_LABEL_LEN, MIN_INTERVAL_MS, MIN_SUBSCRIPTION_INTERVAL_MS, Subscription, Timer,
    TimerFault, TimerRow,
};

/// The maximum number of active timers of one agent, and of timers to which one agent may be subscribed.
pub const MAX_ITEMS: usize = 100;

/// Returns the timer that a reference leads to, if the holder of the reference may use it at this time.
///
/// # Errors
///
/// When the store fails. The inner error is the reason why the timer cannot be used.
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

/// Returns the time at which the daemon must act next: at the next tick of a subscribed agent, or at the set end of a
/// call. Returns `None` if nothing is due.
///
/// # Errors
///
/// When the store fails.
pub fn next_due(txn: &mut dyn ReadTxn) -> Result<Option<i64>, StoreFault> {
    let (tick, wake) = (first_due(txn)?.map(|due| due.at_ms), first_wake(txn)?.map(|wake| wake.at_ms));
    Ok(tick.into_iter().chain(wake).min())
}

/// A call of a run that ends at a set time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wake {
    pub(crate) at_ms: i64,
    /// The host to which the run belongs.
    pub(crate) host: FormulaId,
    pub(crate) run: RunNumber,
    /// The step that proposed the call.
    pub(crate) step: u64,
}

/// Returns the call with the earliest set end.
pub(crate) fn first_wake(txn: &mut dyn ReadTxn) -> Result<Option<Wake>, StoreFault> {
    let rows = txn.range(Table::Meta, &NO_OWNER, WAKE, &table::prefix_end(WAKE), 1, false)?;
    let Some((key, _)) = rows.into_iter().next() else { return Ok(None) };
    wake_at(&key).map(Some)
}

/// Returns the runs of a host that wait for a set time, the earliest first. At most `limit` rows of all hosts are read.
///
/// # Errors
/// When the store fails.
pub fn waiting_runs(
    txn: &mut dyn ReadTxn,
    host: &FormulaId,
    limit: usize,
) -> Result<Vec<(RunNumber, i64)>, StoreFault> {
    let rows = txn.range(Table::Meta, &NO_OWNER, WAKE, &table::prefix_end(WAKE), limit, false)?;
    let wakes: Vec<Wake> = rows.iter().map(|(key, _)| wake_at(key)).collect::<Result<_, _>>()?;
    Ok(wakes.into_iter().filter(|wake| wake.host == *host).map(|wake| (wake.run, wake.at_ms)).collect())
}

fn wake_at(key: &[u8]) -> Result<Wake, StoreFault> {
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
    wake().ok_or_else(|| StoreFault::Corrupt("a key of `meta` is no time to wake at".to_owned()))
}

/// Returns the key of a call that ends at a set time. The keys are in the order of these times.
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

/// The prefix of the keys of calls that end at a set time.
const WAKE: &[u8] = b"wake ";

/// The prefix of the keys of future ticks, which are in the order of their times.
const DUE: &[u8] = b"due ";

/// The label of the reference from a subscriber to a timer.
pub const TICKS: &str = "ticks";

/// Returns the key of the changing part of a timer.
pub(crate) fn timer_key(timer: &FormulaId) -> Vec<u8> {
    [TIMER, &timer.number].concat()
}

/// Returns the key of a subscription.
pub(crate) fn subscription_key(timer: &FormulaId) -> Vec<u8> {
    [SUBSCRIPTION, &timer.number].concat()
}

/// Returns the key of a future tick. Times before 1970 come first.
pub(crate) fn due_key(due_ms: i64, agent: &Number, timer: &FormulaId) -> Vec<u8> {
    let at = (due_ms as u64) ^ (1 << 63);
    [DUE, &at.to_be_bytes()[..], &agent.0, &timer.number].concat()
}
