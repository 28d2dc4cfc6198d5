//! Timers: making them, subscribing to them, and telling agents of ticks.

use std::collections::BTreeMap;

use passable::Untrusted;

use crate::command::{Fault, Reply, TimerAct};
use crate::formula::Formula;
use crate::id::FormulaId;
use crate::message::Body;
use crate::name::NamePath;
use crate::proposal::Value;
use crate::provenance::Provenance;
use crate::state::{State, collector};
use crate::table;
use crate::timer::{
    self, MAX_INTERVAL_MS, MAX_ITEMS, MAX_LABEL_LEN, MIN_INTERVAL_MS, MIN_SUBSCRIPTION_INTERVAL_MS,
    Subscription, Timer, TimerFault, TimerRow,
};
use crate::txn::{NO_OWNER, Table};

pub(super) fn timer(state: &mut State<'_>, act: TimerAct) -> Result<Reply, Fault> {
    match act {
        TimerAct::Make { path, interval_ms, label } => {
            state.hosts_only("make timers")?;
            make(state, &path, interval_ms, label)
        }
        TimerAct::Subscribe { timer } => subscribe(state, timer),
        TimerAct::Unsubscribe { timer } => {
            let actor = state.actor;
            match state.unsubscribe(&actor, &timer)? {
                true => Ok(Reply::Done),
                false => Ok(Reply::AlreadySettled),
            }
        }
        TimerAct::Tick { budget } => {
            state.daemon_only("tell of ticks")?;
            tick(state, budget)
        }
    }
}

fn misfit(what: String) -> Fault {
    Fault::Misfit { what }
}

fn make(state: &mut State<'_>, path: &NamePath, interval_ms: u64, label: Untrusted) -> Result<Reply, Fault> {
    if !(MIN_INTERVAL_MS..=MAX_INTERVAL_MS).contains(&interval_ms) {
        return Err(misfit(format!(
            "a timer's interval is {MIN_INTERVAL_MS} to {MAX_INTERVAL_MS} milliseconds, not {interval_ms}"
        )));
    }
    if label.raw().len() > MAX_LABEL_LEN {
        return Err(misfit(format!("a timer's label has at most {MAX_LABEL_LEN} bytes")));
    }
    let spot = state.spot(path, "storeIdentifier")?;
    let owner = state.me();
    let end = table::prefix_end(timer::TIMER);
    let rows: Vec<(Vec<u8>, TimerRow)> =
        table::scan(state.txn, Table::Meta, &owner.0, timer::TIMER, &end, usize::MAX, false)?;
    if rows.iter().filter(|(_, row)| row.ended_ms.is_none()).count() >= MAX_ITEMS {
        return Err(misfit(format!(
            "you have {MAX_ITEMS} timers already: cancel one that you no longer need"
        )));
    }
    let begun_ms = state.env.now_ms();
    let formula = Formula::Timer { owner, interval_ms, label, begun_ms };
    let id = state.make(formula, Provenance::host())?;
    table::save(state.txn, Table::Meta, &owner.0, &timer::timer_key(&id), &TimerRow::default(), None)?;
    let id = state.put(&spot, &id)?;
    Ok(Reply::Made { id })
}

/// Returns the timer, if it may still be used.
fn usable(state: &mut State<'_>, reference: &FormulaId) -> Result<Timer, Fault> {
    let now_ms = state.env.now_ms();
    timer::timer(state.txn, reference, now_ms)?.map_err(|silence| match silence {
        TimerFault::NotFound => misfit("this is no timer".to_owned()),
        TimerFault::Cancelled => misfit("the timer was cancelled: no more ticks come of it".to_owned()),
        TimerFault::Refused(finding) => Fault::Revoked(finding.message),
    })
}

fn subscribe(state: &mut State<'_>, reference: FormulaId) -> Result<Reply, Fault> {
    state.expect_held(&reference)?;
    let timer = usable(state, &reference)?;
    if timer.interval_ms < MIN_SUBSCRIPTION_INTERVAL_MS {
        return Err(misfit(format!(
            "each tick would be a message: a mailbox takes those of timers with {MIN_SUBSCRIPTION_INTERVAL_MS} milliseconds or more"
        )));
    }
    let owner = state.owner();
    let key = timer::subscription_key(&reference);
    if state.txn.get(Table::Meta, &owner, &key)?.is_some() {
        return Ok(Reply::AlreadySettled);
    }
    let actor = state.actor;
    if timer::subscriptions(state.txn, &actor)?.len() >= MAX_ITEMS {
        return Err(misfit(format!(
            "you are subscribed to {MAX_ITEMS} timers already: unsubscribe from one"
        )));
    }
    let seen = timer.tick_at(state.env.now_ms());
    let row = Subscription { timer: reference, seen, due_ms: timer.comes_at(seen.saturating_add(1)) };
    state.put_subscription(&actor, &row)?;
    state.tie(&actor, timer::TICKS, &reference)?;
    Ok(Reply::Done)
}

/// Tells agents of the ticks that are due, and completes the waiting calls whose time has come. The ticks that were
/// due first come first.
fn tick(state: &mut State<'_>, budget: u32) -> Result<Reply, Fault> {
    let mut count = 0;
    let now_ms = state.env.now_ms();
    for _ in 0..budget {
        if let Some(wake) = timer::first_wake(state.txn)?.filter(|wake| wake.at_ms <= now_ms) {
            super::wait::wake(state, &wake)?;
            count += 1;
            continue;
        }
        let Some(due) = timer::first_due(state.txn)?.filter(|due| due.at_ms <= now_ms) else {
            return Ok(Reply::Ticked { count, done: true });
        };
        let (agent, reference) = (state.id_of(due.agent), state.id_of(due.timer));
        let key = timer::subscription_key(&reference);
        let row: Option<Subscription> = table::load(state.txn, Table::Meta, &agent.number, &key)?;
        let Some(row) = row.filter(|row| row.due_ms == due.at_ms) else {
            // Without this removal, a due row without a subscription would stay the first row for ever.
            let stale = timer::due_key(due.at_ms, &due.agent, &reference);
            state.txn.delete(Table::Meta, &NO_OWNER, &stale)?;
            continue;
        };
        let there = table::formula(state.txn, &agent)?.is_some() && !collector::is_going(state.txn, &agent)?;
        if !there {
            state.unsubscribe(&agent, &reference)?;
            continue;
        }
        let daemon = std::mem::replace(&mut state.actor, agent);
        let told = deliver_tick(state, &agent, row);
        state.actor = daemon;
        told?;
        count += 1;
    }
    Ok(Reply::Ticked { count, done: false })
}

/// Sends the agent, which is the actor, a message about the latest tick of one timer, or about the end of the ticks.
fn deliver_tick(state: &mut State<'_>, agent: &FormulaId, row: Subscription) -> Result<(), Fault> {
    let now_ms = state.env.now_ms();
    let found = timer::timer(state.txn, &row.timer, now_ms)?;
    let found = match found {
        Err(TimerFault::Refused(_)) if planted!(state.env, TickAfterRevocation) => {
            let reached = table::reach(state.txn, &row.timer)?;
            let id = reached.map_or(row.timer, |reached| reached.id);
            timer::timer(state.txn, &id, now_ms)?
        }
        other => other,
    };
    let timer = match found {
        Ok(timer) => timer,
        Err(silence) => {
            state.unsubscribe(agent, &row.timer)?;
            let text = format!("No more ticks come of a timer: {}.", silence.reason());
            let strings = vec![Untrusted::new(text)];
            let body = Body::Package { strings, names: vec![], ids: vec![], run: None };
            state.deliver(body, None, false, Provenance::host())?;
            return Ok(());
        }
    };
    let tick = timer.tick_at(now_ms);
    if tick <= row.seen {
        // The row was due early, only to check whether the timer can still be used.
        state.drop_due(agent, &row)?;
        let due_ms = timer.comes_at(row.seen.saturating_add(1));
        return state.put_subscription(agent, &Subscription { due_ms, ..row });
    }
    // Missed ticks are counted and no tick is told twice, even if the clock was changed meanwhile.
    let missed = tick.saturating_sub(row.seen).saturating_sub(1);
    let provenance = state.provenance_of(&timer.id)?;
    let label = timer.label.raw();
    let value = Value::record_from_map(BTreeMap::from([
        ("tick".to_owned(), number(tick)),
        ("label".to_owned(), Value::string(label.to_owned())),
        ("timestamp".to_owned(), Value::number(now_ms as f64)),
        ("missed".to_owned(), number(missed)),
    ]));
    let before = match missed {
        0 => String::new(),
        1 => " (1 tick before it was missed)".to_owned(),
        more => format!(" ({more} ticks before it were missed)"),
    };
    let text = format!("Tick {tick} of {label}{before}: ");
    let id = state.make(Formula::Marshal { value }, provenance.clone())?;
    let strings = vec![Untrusted::new(text), Untrusted::new("")];
    let body = Body::Package { strings, names: vec!["tick".to_owned()], ids: vec![id], run: None };
    state.deliver(body, None, false, provenance)?;
    let seen = if planted!(state.env, TickDeliveredTwice) { row.seen } else { tick };
    state.drop_due(agent, &row)?;
    let row = Subscription { seen, due_ms: timer.comes_at(tick.saturating_add(1)), ..row };
    state.put_subscription(agent, &row)
}

/// Returns a count in the form in which clients get it.
fn number(count: u64) -> Value {
    Value::number(count as f64)
}
