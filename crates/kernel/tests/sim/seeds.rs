//! Playing seeds, on every core there is.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bug::Planted;
use crate::counts::Counts;
use crate::laws::{Broken, Law};
use crate::script;
use crate::simulation::Simulation;

/// Seeds from one to below another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// A seed that breaks a law.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) seed: u64,
    pub(crate) broken: Broken,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { seed, broken: Broken { law, what } } = self;
        writeln!(f, "seed {seed} breaks `{law}`: {what}")?;
        write!(f, "again: ALMONER_SIM_SEED={seed} cargo test -p kernel --test sim every_law -- --nocapture")
    }
}

/// Plays one seed to its end, or to the first law that breaks.
pub(crate) fn played(seed: u64, planted: Planted) -> (Simulation, Law) {
    let mut world = Simulation::new(seed, planted);
    let law = script::play(&mut world);
    (world, law)
}

/// Plays seeds until one breaks a law. Returns the lowest that does.
pub(crate) fn sought(range: Range, planted: Planted) -> (Counts, Option<Failure>) {
    let next = AtomicU64::new(range.from);
    let end = AtomicU64::new(range.to);
    let found: Mutex<(Counts, Option<Failure>)> = Mutex::default();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let mut counts = Counts::default();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end.load(Ordering::Relaxed) {
                        break;
                    }
                    let (world, law) = played(seed, planted);
                    counts.add(&world.counts);
                    if let Err(broken) = law {
                        // Lower seeds that are still at work go on, so that the answer is the same every time.
                        end.fetch_min(seed, Ordering::Relaxed);
                        let mut found = found.lock().unwrap();
                        if found.1.as_ref().is_none_or(|other| seed < other.seed) {
                            found.1 = Some(Failure { seed, broken });
                        }
                        break;
                    }
                }
                found.lock().unwrap().0.add(&counts);
            });
        }
    });
    found.into_inner().unwrap()
}
