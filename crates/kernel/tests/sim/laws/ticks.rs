//! Ticks: each is announced once or counted as missed, none comes from an ended timer, and no row outlives its
//! formula.

use std::collections::BTreeSet;

use kernel::command::{Act, Reply, TimerAct};
use kernel::formula::Formula;
use kernel::message::{Body, Mail};
use kernel::table;
use kernel::timer::{self, MAX_ITEMS, Subscription, TICKS, TimerRow};
use kernel::txn::{NO_OWNER, Owner, ReadTxn as _, Table, decode_row};
use kernel::{FormulaId, Value};

use crate::image::Change;
use crate::simulation::Simulation;

use super::snapshot::{Number, Snapshot, number};
use super::{Law, expect};

/// Returns every subscription, with the agent that has it.
fn subscriptions(world: &Simulation) -> Vec<(Owner, Subscription)> {
    let rows = world.store.rows(Table::Meta);
    let ours = rows.filter(|(place, _)| place[32..].starts_with(b"ticks "));
    ours.map(|(place, row)| (number(place), decode_row(Table::Meta, row).unwrap())).collect()
}

/// Returns whether a run waits for a time.
fn sleeps(world: &Simulation) -> bool {
    world.store.rows(Table::Meta).any(|(place, _)| place[32..].starts_with(b"wake "))
}

/// The expected effect of a tick command on one subscription.
enum Expected {
    /// A message of this tick, which says that so many were missed.
    Tick { tick: u64, missed: u64 },
    /// A message that it is over.
    Over,
    /// Nothing yet.
    Silence,
}

/// The subscriptions that are due before a tick command, each with the expected effect.
pub(crate) struct Due(Vec<(Owner, Subscription, Expected)>);

pub(crate) fn before(world: &mut Simulation, act: &Act) -> Option<Due> {
    let Act::Timer(TimerAct::Tick { .. }) = act else { return None };
    let all = subscriptions(world).into_iter().filter(|(_, row)| row.due_ms <= world.now_ms);
    let all: Vec<_> = all.collect();
    let with = all.into_iter().map(|(agent, row)| (agent, row, expected(world, &row)));
    Some(Due(with.collect()))
}

/// Follows the grants by itself.
fn expected(world: &mut Simulation, row: &Subscription) -> Expected {
    let (mut next, mut found) = (vec![(row.timer, true)], None);
    while let Some((id, direct)) = next.pop() {
        match world.formula(&id) {
            Some(Formula::Grant { target, through, .. }) => {
                let grant = table::grant(&mut world.store, &id).unwrap().unwrap();
                if grant.revoked_ms.is_some() || (direct && !grant.allows("subscribe")) {
                    return Expected::Over;
                }
                next.push((target, direct));
                next.extend(through.into_iter().map(|id| (id, false)));
            }
            Some(Formula::Timer { interval_ms, begun_ms, .. }) if direct => {
                found = Some((id, interval_ms, begun_ms));
            }
            _ if direct => return Expected::Over,
            _ => {}
        }
    }
    let Some((id, interval_ms, begun_ms)) = found else { return Expected::Over };
    let cancelled = world.store.rows(Table::Meta).any(|(place, row)| {
        place[32..] == [&b"timer "[..], &id.number].concat()
            && decode_row::<TimerRow>(Table::Meta, row).unwrap().ended_ms.is_some()
    });
    let tick = u64::try_from(world.now_ms - begun_ms).unwrap() / interval_ms;
    match tick.checked_sub(row.seen + 1) {
        _ if cancelled => Expected::Over,
        Some(missed) => Expected::Tick { tick, missed },
        None => Expected::Silence,
    }
}

/// Checks that a tick command had the expected effects.
pub(crate) fn after(world: &mut Simulation, due: &Due, changes: &[Change], reply: &Reply) -> Law {
    let Reply::Ticked { done, .. } = reply else {
        return expect(false, "ticks-are-told", || format!("{reply:?}"));
    };
    let left: BTreeSet<(Owner, FormulaId)> =
        subscriptions(world).into_iter().map(|(agent, row)| (agent, row.timer)).collect();
    let mut told: Vec<(Owner, Option<(u64, u64)>)> = messages(world, changes);
    for (agent, row, expected) in &due.0 {
        let now: Option<Subscription> = world
            .store
            .get(Table::Meta, agent, &[&b"ticks "[..], &row.timer.number].concat())
            .unwrap()
            .map(|row| decode_row(Table::Meta, &row).unwrap());
        if now == Some(*row) {
            // Those who are not reached this time are reached the next time.
            expect(!done, "whoever-is-due-is-told", || format!("{row:?}"))?;
            continue;
        }
        let mut take = |what: Option<(u64, u64)>| {
            let at = told.iter().position(|(to, said)| to == agent && *said == what);
            at.map(|at| told.remove(at)).is_some()
        };
        let gone = !world.is_alive(&FormulaId { number: *agent, node: row.timer.node })
            || going(world).contains(agent);
        match expected {
            _ if gone => {
                expect(!left.contains(&(*agent, row.timer)), "the-dead-are-not-told", || format!("{row:?}"))?
            }
            Expected::Tick { tick, missed } => {
                expect(take(Some((*tick, *missed))), "each-tick-is-told-once-or-counted", || {
                    format!("tick {tick}, {missed} missed, of {row:?}; told {told:?}")
                })?;
            }
            Expected::Over => {
                let over = take(None) && now.is_none();
                expect(over, "no-tick-comes-of-what-has-ended", || format!("{row:?} becomes {now:?}"))?;
            }
            Expected::Silence => {
                let waits = now.is_some_and(|now| now.seen == row.seen && now.due_ms > world.now_ms);
                expect(waits, "an-early-look-tells-nothing", || format!("{row:?} becomes {now:?}"))?;
            }
        }
    }
    expect(told.is_empty(), "nobody-else-is-told", || format!("{told:?}"))
}

fn going(world: &mut Simulation) -> BTreeSet<Number> {
    let phase = world.store.get(Table::Collector, &NO_OWNER, b"phase").unwrap();
    let removing = phase.is_some_and(|phase| phase == b"\"removing\"");
    let rows = world.store.rows(Table::Collector).filter(|(place, _)| removing && place[32] == b'v');
    rows.map(|(place, _)| number(&place[33..])).collect()
}

/// Returns the packages that came, with the tick of each that brings one.
fn messages(world: &mut Simulation, changes: &[Change]) -> Vec<(Owner, Option<(u64, u64)>)> {
    let new = changes.iter().filter(|change| change.table == Table::Message && change.before.is_none());
    let mails: Vec<(Owner, Mail)> = new
        .filter_map(|change| {
            let row = world.store.at(change)?;
            Some((change.owner(), decode_row::<Mail>(Table::Message, row).unwrap()))
        })
        .filter(|(_, mail)| mail.envelope.kind == "package")
        .collect();
    let mut all = Vec::new();
    for (owner, mail) in mails {
        let Some(Formula::Message { message }) = mail.message.and_then(|id| world.formula(&id)) else {
            continue;
        };
        let Body::Package { ids, .. } = message.body else { continue };
        let brought = ids.first().and_then(|id| match world.formula(id) {
            Some(Formula::Marshal { value }) => {
                let field = |name: &str| value.get(name).and_then(Value::as_f64).unwrap() as u64;
                Some((field("tick"), field("missed")))
            }
            _ => None,
        });
        all.push((owner, brought));
    }
    all
}

pub(crate) fn check(world: &mut Simulation, snapshot: &Snapshot) -> Law {
    let all = subscriptions(world);
    let rows = world.store.rows(Table::Meta).filter(|(place, _)| place[32..].starts_with(b"due "));
    let due: BTreeSet<Vec<u8>> = rows.map(|(place, _)| place[36..].to_vec()).collect();
    let mut expected = BTreeSet::new();
    for (agent, row) in &all {
        let at = (row.due_ms as u64) ^ (1 << 63);
        expected.insert([&at.to_be_bytes()[..], agent, &row.timer.number].concat());
        // An agent that is being removed loses its rows in several steps.
        if !snapshot.stays(agent) {
            continue;
        }
        let there = snapshot.formulas.contains_key(&row.timer.number);
        expect(there, "a-subscription-keeps-its-timer", || format!("{row:?}"))?;
        let reached = table::reach(&mut world.store, &row.timer).unwrap();
        if let Some(Formula::Timer { interval_ms, begun_ms, .. }) = reached.map(|reached| reached.formula) {
            let next = begun_ms + i64::try_from(interval_ms * (row.seen + 1)).unwrap();
            // Earlier if it is looked at for another reason; never later.
            expect(row.due_ms <= next, "no-tick-is-told-late", || format!("{row:?}, next at {next}"))?;
        }
        let same = all.iter().filter(|(other, _)| other == agent).count();
        expect(same <= MAX_ITEMS, "subscriptions-are-bounded", || same.to_string())?;
    }
    expect(due == expected, "what-is-due-is-what-is-subscribed-to", || {
        format!("{} are due, {} are subscribed to", due.len(), expected.len())
    })?;
    expect(
        timer::next_due(&mut world.store).unwrap().is_some() == (!all.is_empty() || sleeps(world)),
        "the-first-is-found",
        || format!("{} are subscribed to", all.len()),
    )
}

/// Returns the references that subscriptions are.
pub(crate) fn edges(world: &Simulation, node: [u8; 32]) -> BTreeSet<Vec<u8>> {
    let edge = |(agent, row): &(Owner, Subscription)| {
        table::edge_key(&row.timer, &FormulaId { number: *agent, node }, TICKS)
    };
    subscriptions(world).iter().map(edge).collect()
}

/// Checks, after a complete collection, that no row belongs to a removed formula.
pub(crate) fn none_outlives(world: &mut Simulation, snapshot: &Snapshot) -> Law {
    let gone = |number: &Number| !snapshot.formulas.contains_key(number);
    for (agent, row) in subscriptions(world) {
        expect(!gone(&agent), "no-row-outlives-its-formula", || format!("{row:?} of an agent that is gone"))?;
    }
    let rows = world.store.rows(Table::Meta).filter(|(place, _)| place[32..].starts_with(b"timer "));
    for (place, _) in rows {
        let timer = number(&place[38..]);
        expect(!gone(&timer), "no-row-outlives-its-formula", || "a timer's".to_owned())?;
    }
    Ok(())
}
