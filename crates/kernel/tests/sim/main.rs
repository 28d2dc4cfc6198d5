//! The kernel under deterministic simulation: agents act at random over a store that fails at random. The laws that
//! must hold are checked all the time. A seed decides everything.
//!
//! `ALMONER_SIM_SEEDS=N` plays N seeds (1,000 unless set) from `ALMONER_SIM_FROM` (0 unless set);
//! `ALMONER_SIM_SEED=S` plays seed S alone and reports the broken law. `cargo xtask test --deep` plays 10,000 seeds
//! that were never played before.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test stands where a user does, and says so by panicking when something is wrong"
)]

mod bug;
mod counts;
mod image;
mod laws;
mod random;
mod script;
mod seeds;
mod simulation;

use std::time::Instant;

use bug::Planted;
use seeds::{Range, played, sought};

/// How many seeds are played unless the environment says otherwise.
const SEEDS: u64 = 1_000;

/// In so many seeds everything must have happened. A shorter run is for looking for something, not for coverage.
const SEEDS_FOR_COVERAGE: u64 = 10_000;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("the number of a seed"))
}

#[test]
fn every_law_holds_for_every_seed() {
    let one = variable("ALMONER_SIM_SEED");
    let range = match one {
        Some(seed) => Range { from: seed, to: seed + 1 },
        None => {
            let from = variable("ALMONER_SIM_FROM").unwrap_or(0);
            Range { from, to: from + variable("ALMONER_SIM_SEEDS").unwrap_or(SEEDS) }
        }
    };
    let start = Instant::now();
    let (counts, failure) = sought(range, Planted::NONE);
    println!("{counts}");
    println!(
        "{} seeds from {}, {} commands, {:.1} s",
        range.to - range.from,
        range.from,
        counts.commands,
        start.elapsed().as_secs_f64()
    );
    if let Some(failure) = failure {
        panic!("{failure}");
    }
    if range.to - range.from >= SEEDS_FOR_COVERAGE {
        assert_eq!(counts.rare(), Vec::<String>::new(), "happened too rarely");
    }
}

#[test]
fn same_seed_gives_the_same_store() {
    for seed in [3, 77, 1_234] {
        let [first, second] = [(); 2].map(|()| played(seed, Planted::NONE).0.store.digest());
        assert_eq!(first, second, "seed {seed}");
    }
}

#[cfg(feature = "planted")]
#[test]
fn every_planted_bug_is_found() {
    for bug in bug::Bug::ALL {
        let start = Instant::now();
        let (_, failure) = sought(Range { from: 0, to: 1_000 }, Planted::bug(bug));
        let Some(failure) = failure else { panic!("{bug:?} was not found within 1,000 seeds") };
        println!(
            "{:<24} seed {:>4}  {:<45} {:.1} s",
            format!("{bug:?}"),
            failure.seed,
            failure.broken.law,
            start.elapsed().as_secs_f64()
        );
    }
}
