//! `kill -9` at every commit: the same play again and again, each time with a daemon that dies one commit later.

use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::home::{Home, Said};

/// Just before a commit is on disk.
pub(crate) const BEFORE: &str = "store.before_commit";

/// Just after it is, and before anybody is told.
pub(crate) const AFTER: &str = "store.after_commit";

/// How many plays run at a time.
const AT_ONCE: usize = 2;

/// A daemon that dies when it comes to `point` for the `nth` time, from 1. It does not outlive the test.
pub(crate) struct Doomed(Child);

impl Doomed {
    pub(crate) fn start(home: &Home, point: &str, nth: u64) -> Doomed {
        Doomed(home.doomed_daemon(&format!("{point}={}*off->return", nth - 1)))
    }

    /// Whether it has died.
    pub(crate) fn has_died(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Whether it has died by then.
    pub(crate) fn dies_within(&mut self, patience: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < patience {
            if self.has_died() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    /// Waits until it has died by itself.
    pub(crate) fn wait(mut self) {
        self.0.wait().unwrap();
    }

    /// Ends it; whether it had died before.
    pub(crate) fn end(mut self) -> bool {
        self.has_died()
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Goes on with a run, whatever daemon dies meanwhile.
pub(crate) fn goes_on(home: &Home, run: &str) -> Said {
    loop {
        let said = home.almoner(&["resume", run]);
        // The daemon died under it; the next one comes up with the next command.
        if said.code != 3 {
            return said;
        }
    }
}

/// How many commits the store has made since the daemon began.
pub(crate) fn commits(home: &Home) -> u64 {
    home.almoner(&["status", "--json"]).expect(0).json()["commits"].as_u64().unwrap()
}

/// Plays with a daemon that dies at each commit from the first to `last`; `play` says whether it did. How many did.
pub(crate) fn at_each(last: u64, play: impl Fn(u64) -> bool + Sync) -> u64 {
    let (next, reached) = (AtomicU64::new(1), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let nth = next.fetch_add(1, Ordering::SeqCst);
                    if nth > last {
                        return;
                    }
                    reached.fetch_add(u64::from(play(nth)), Ordering::SeqCst);
                }
            });
        }
    });
    reached.into_inner()
}

/// The same, where nobody knows how many commits there will be: until the play comes to its end. How many times the daemon
/// died.
pub(crate) fn until_it_survives(play: impl Fn(u64) -> bool) -> u64 {
    /// A play that is cut off so often never comes to its end.
    const MOST: u64 = 200;
    let deaths = (1..=MOST).take_while(|nth| play(*nth)).count() as u64;
    assert!(deaths < MOST, "it dies for the {MOST}th time");
    deaths
}
