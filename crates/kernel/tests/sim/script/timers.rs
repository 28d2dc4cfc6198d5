//! Timers: made, handed on, subscribed to, and told of.

use kernel::command::{Act, Cancel, GrantAct, MailAct, NameAct, Send, TimerAct};
use kernel::formula::Formula;
use kernel::{FormulaId, GrantNumber, table};

use crate::laws::Law;
use crate::simulation::Simulation;

use super::{act, text};

/// The names that agents give to timers. Timers are found under all other names, too.
const CLOCKS: [&str; 3] = ["clock", "watch", "a"];

/// Returns a timer that the agent has a name for, or anything else.
fn clock(world: &mut Simulation, actor: FormulaId) -> FormulaId {
    if world.random.one_in(12) {
        let seen = world.seen.clone();
        return *world.random.pick(&seen);
    }
    let from = world.random.below(CLOCKS.len());
    let found = (0..CLOCKS.len()).find_map(|i| world.found(actor, CLOCKS[(from + i) % CLOCKS.len()]));
    let is_timer = |world: &mut Simulation, id: &FormulaId| {
        let reached = table::reach(&mut world.store, id).unwrap();
        reached.is_some_and(|reached| matches!(reached.formula, Formula::Timer { .. }))
    };
    match found {
        Some(id) if is_timer(world, &id) || world.random.one_in(8) => id,
        _ => {
            let own: Vec<FormulaId> = kernel::timer::subscriptions(&mut world.store, &actor)
                .unwrap()
                .iter()
                .map(|row| row.timer)
                .collect();
            world.random.any(&own).copied().unwrap_or(actor)
        }
    }
}

pub(super) fn step(world: &mut Simulation, actor: FormulaId) -> Law {
    let timing = |act| Act::Timer(act);
    let name = *world.random.pick(&CLOCKS);
    match world.random.below(20) {
        0..3 => {
            let interval_ms = *world.random.pick(&[5, 10, 1_000, 1_000, 1_300, 2_000]);
            let make = TimerAct::Make { path: super::path(name), interval_ms, label: text("tea") };
            act(world, actor, timing(make))
        }
        3..5 => hand_on(world),
        5..10 => {
            let timer = clock(world, actor);
            act(world, actor, timing(TimerAct::Subscribe { timer }))
        }
        10 => {
            let timer = clock(world, actor);
            act(world, actor, timing(TimerAct::Unsubscribe { timer }))
        }
        11 if world.random.one_in(2) => {
            let what = Cancel::Name { path: super::path(name) };
            act(world, actor, Act::Cancel { what, reason: text("") })
        }
        11 => act(world, actor, Act::Name(NameAct::Remove { path: super::path(name) })),
        12 => {
            let last = kernel::query::grants(&mut world.store, &actor.number).unwrap().pop();
            let grant = last.map_or(GrantNumber(1), |grant| grant.number);
            act(world, actor, Act::Grant(GrantAct::Revoke { grant }))
        }
        _ => {
            // Time passes, and it is the daemon that tells.
            world.now_ms += *world.random.pick(&[0, 0, 100, 700, 700, 1_000, 1_000, 5_000]);
            let daemon = if world.random.one_in(20) { actor } else { world.root() };
            let budget = *world.random.pick(&[0, 1, 2, 50, 50, 50]);
            act(world, daemon, timing(TimerAct::Tick { budget }))
        }
    }
}

/// Returns a timer goes to a guest, which gives it a name and subscribes to it.
fn hand_on(world: &mut Simulation) -> Law {
    let root = world.root();
    let guest = *world.random.pick(&["g1", "g2"]);
    let Some(handle) = world.found(root, guest) else { return Ok(()) };
    let Some(Formula::Handle { agent }) = world.formula(&handle) else { return Ok(()) };
    let send = Send {
        to: super::path(guest),
        strings: vec![text("here: "), text(".")],
        names: vec!["it".to_owned()],
        paths: vec![super::path("clock")],
        reply_to: None,
    };
    let Ok(_) = world.apply(root, Act::Mail(Box::new(MailAct::Send(send))))? else { return Ok(()) };
    let number = super::letter(world, &agent, |mail, received| received && mail.envelope.kind == "package");
    let adopt = MailAct::Adopt { number, edge: "it".to_owned(), path: super::path("clock") };
    act(world, agent, Act::Mail(Box::new(adopt)))?;
    let timer = clock(world, agent);
    act(world, agent, Act::Timer(TimerAct::Subscribe { timer }))
}
