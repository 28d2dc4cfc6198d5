//! Tests with the corpus of attacks on approvals and the protocol: `tests/attacks`, one file each.
//!
//! Every file names its attempt, the effect that can be seen from the outside if it succeeds, and a control. The
//! control is the same attempt without the protection. An attack whose control fails shows nothing, so both must come
//! out as they should.

mod file;
mod loose;
mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::kill_sweep::Sample;
use file::Attack;

/// Where the attacks come from. Each must have some.
const SOURCES: [&str; 12] = [
    "passepartout-5.1",
    "passepartout-5.2",
    "passepartout-5.3",
    "passepartout-5.4",
    "passepartout-5.5",
    "passepartout-5.6",
    "passepartout-5.7",
    "passepartout-5.8",
    "spoofed-consent",
    "spoofed-card",
    "wrong-answer",
    "wrong-answerer",
];

/// Fewer attempts than this and some have been lost.
const ATTEMPTS: usize = 390;

fn corpus() -> Vec<Attack> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attacks");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let asked = std::env::var("ALMONER_ATTACK").ok();
    let wanted = |path: &&std::path::PathBuf| {
        asked.as_ref().is_none_or(|part| path.display().to_string().contains(part))
    };
    // The folders hold other corpora.
    paths.iter().filter(|path| path.is_file()).filter(wanted).flat_map(|path| Attack::read(path)).collect()
}

/// Checks the outcome of an attack, and that of its control if it is to be tried. Returns a description of the first
/// wrong outcome as the error.
fn judged(attack: &Attack, has_control: bool) -> Result<(), String> {
    let after = scene::play(&attack.scene, &attack.steps).map_err(|e| format!("it was not tried: {e}"))?;
    if after.shows(&attack.success) {
        return Err(format!("it SUCCEEDED: {:?}\n{}", attack.success, after.heard));
    }
    drop(after);
    if !has_control {
        return Ok(());
    }
    let control = match attack.unprotected() {
        Some((scene, steps)) => {
            scene::play(&scene, &steps).map_err(|e| format!("its control was not tried: {e}"))?
        }
        None => loose::play(&attack.scene),
    };
    match control.shows(&attack.success) {
        true => Ok(()),
        false => Err(format!("its control fails as well: {:?}\n{}", attack.success, control.heard)),
    }
}

#[test]
fn every_attack_fails_and_succeeds_without_its_defence() {
    let corpus = corpus();
    // The short check makes every attack, and one control of four, which changes with the commit.
    let sample = Sample::from_env();
    let has_control = |index: usize| sample.tries(index as u64 % 4, 4);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::SeqCst);
                    let Some(attack) = corpus.get(index) else { return };
                    let outcome = std::panic::catch_unwind(|| judged(attack, has_control(index)));
                    let outcome = outcome.unwrap_or_else(|_| Err("it was not tried: see above".to_owned()));
                    assert!(
                        done.lock().unwrap().insert(&attack.id, (attack, outcome)).is_none(),
                        "{}",
                        attack.id
                    );
                }
            });
        }
    });
    let done = done.into_inner().unwrap();
    println!("| attack | from | tries | outcome |\n| --- | --- | --- | --- |");
    for (id, (attack, outcome)) in &done {
        let outcome = outcome.as_ref().map_or("FAILED", |()| "came to nothing");
        println!("| {id} | {} | {} | {outcome} |", attack.from, attack.tries);
    }
    let failed: Vec<String> = done
        .iter()
        .filter_map(|(id, (_, outcome))| Some(format!("{id}: {}", outcome.as_ref().err()?)))
        .collect();
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), done.len(), failed.join("\n\n"));
    assert_eq!(done.len(), corpus.len(), "an attack was not made");
    if std::env::var_os("ALMONER_ATTACK").is_none() {
        let from: BTreeSet<&str> = corpus.iter().map(|attack| attack.from.as_str()).collect();
        assert_eq!(from, BTreeSet::from(SOURCES), "where attacks come from");
        assert!(corpus.len() >= ATTEMPTS, "only {} attempts", corpus.len());
    }
}
