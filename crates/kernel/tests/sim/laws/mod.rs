//! The laws that must hold: after every command ([`step`], [`choice`]), whenever a store comes up ([`check`]), and
//! when nothing is left to collect ([`at_rest`]).

mod audit;
mod authority;
pub(crate) mod choice;
mod confusables;
mod given;
mod graph;
mod held;
mod made;
mod mail;
mod runs;
mod snapshot;
pub(crate) mod step;
pub(crate) mod ticks;
mod tokens;

use std::collections::BTreeSet;

use kernel::command::{Act, Reply};

use crate::simulation::Simulation;
use snapshot::Snapshot;

/// A law that does not hold.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) law: &'static str,
    pub(crate) what: String,
}

impl Broken {
    pub(crate) fn of(law: &'static str, what: impl Into<String>) -> Broken {
        Broken { law, what: what.into() }
    }
}

pub(crate) type Law = Result<(), Broken>;

/// Refuses unless the law holds.
pub(crate) fn expect(holds: bool, law: &'static str, what: impl FnOnce() -> String) -> Law {
    if holds { Ok(()) } else { Err(Broken { law, what: what() }) }
}

/// Checks the laws that hold in every store.
pub(crate) fn check(world: &mut Simulation) -> Law {
    let snapshot = Snapshot::of(world);
    check_all(world, &snapshot)
}

fn check_all(world: &mut Simulation, snapshot: &Snapshot) -> Law {
    confusables::check(world, snapshot)?;
    audit::check(world, snapshot)?;
    given::check(world, snapshot)?;
    graph::check(world, snapshot)?;
    mail::check(snapshot)?;
    runs::check(world, snapshot)?;
    held::check(world, snapshot)?;
    made::check(world, snapshot)?;
    tokens::check(world)?;
    ticks::check(world, snapshot)?;
    authority::check(world, snapshot)
}

/// Returns whether the collector has begun to remove something.
pub(crate) fn is_collecting(world: &mut Simulation) -> bool {
    use kernel::txn::{NO_OWNER, ReadTxn as _, Table};
    world.store.get(Table::Collector, &NO_OWNER, b"phase").unwrap().is_some()
}

/// Collects all garbage, and checks that exactly the reachable formulas are left.
pub(crate) fn at_rest(world: &mut Simulation) -> Law {
    let root = world.root();
    for _ in 0..200 {
        let collect = Act::Collect { budget: 4_000, pinned: BTreeSet::new() };
        match world.apply(root, collect)? {
            Ok(outcome) if matches!(outcome.reply, Reply::Collected { done: true, .. }) => {
                world.commit();
                let snapshot = Snapshot::of(world);
                check_all(world, &snapshot)?;
                tokens::none_has_ended(world, world.now_ms)?;
                ticks::none_outlives(world, &snapshot)?;
                return graph::nothing_but_reachable(world, &snapshot);
            }
            // The disk was full, or there is more.
            _ => {}
        }
    }
    Err(Broken::of("collection-ends", "200 long steps were not enough"))
}
