//! The words for a damaged store. Every answer of the daemon comes with them, from the first damage on.

use std::time::Duration;

use kernel::run::Trouble;
use passable::Untrusted;

use super::daemon::Daemon;
use control::exit::{Exit, Failure};

/// The maximum time after the opening of the store for which an answer waits for the examination of the store. A small
/// store is examined within milliseconds, so that even the first answer tells of the damage.
const EXAMINATION_WAIT: Duration = Duration::from_millis(250);

/// Returns the warning for the user of a damaged store, with the number of rows that the reads of this thread have left
/// out since the last call. Returns `None` as long as no damage is known.
pub fn warning(daemon: &Daemon) -> Option<Failure> {
    let left_out = store::take_left_out();
    let damage = daemon.store.examined_damage(EXAMINATION_WAIT)?;
    let mut message =
        format!("the store is damaged: {damage}. It can be read, and nothing is begun or changed any more");
    if !left_out.is_empty() {
        message = format!("{message}. Left out here: {left_out}");
    }
    Some(Failure::new(Exit::Failure, message).help(store::restore_advice(daemon.store.dir())))
}

/// Returns the trouble of a run that cannot go on because the store is damaged, or `None` if no damage is known.
pub fn trouble(daemon: &Daemon) -> Option<Trouble> {
    let damage = daemon.store.damage()?;
    Some(Trouble {
        code: "store/damaged".to_owned(),
        message: Untrusted::new(format!("the store is damaged: {damage}")),
        help: store::restore_advice(daemon.store.dir()),
    })
}
