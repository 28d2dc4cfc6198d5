//! The words for a damaged store. Every answer of the daemon comes with them, from the first damage on.

use std::time::Duration;

use kernel::run::Trouble;
use passable::Untrusted;
use store::LeftOut;

use super::daemon::Daemon;
use control::exit::{Exit, Failure};

/// The maximum time after the opening of the store for which an answer waits for the examination of the store. A small
/// store is examined within milliseconds, so that even the first answer tells of the damage.
const EXAMINATION_WAIT: Duration = Duration::from_millis(250);

/// The maximum number of characters of the database's own words that are shown.
const MAX_DETAIL_CHARS: usize = 120;

/// Returns the warning for the user of a damaged store, with the rows that an answer leaves out. Returns `None` as long
/// as no damage is known.
pub fn warning(daemon: &Daemon, left_out: &LeftOut) -> Option<Failure> {
    let damage = daemon.store.examined_damage(EXAMINATION_WAIT)?;
    let told = match left_out.is_empty() {
        true => "the store is damaged, and rows may be missing here. Nothing".to_owned(),
        false => format!("cannot read {left_out}: the store is damaged. The rest can be read; nothing"),
    };
    let message = format!("{told} is begun or changed any more ({})", detail(&damage));
    Some(Failure::new(Exit::Failure, message).help(store::restore_advice(daemon.store.dir())))
}

/// Returns a failure as it is told of a damaged store: a row that is not found may be one that was lost.
pub fn unsure(daemon: &Daemon, failure: Failure) -> Failure {
    let is_damaged =
        failure.exit == Exit::NotFound && daemon.store.examined_damage(EXAMINATION_WAIT).is_some();
    if is_damaged { failure.in_damaged_store() } else { failure }
}

/// Returns the database's own words for the damage, in one short line.
fn detail(damage: &str) -> String {
    let words: Vec<&str> = damage.split_whitespace().collect();
    let mut words: Vec<char> = words.join(" ").chars().collect();
    if words.len() > MAX_DETAIL_CHARS {
        words.truncate(MAX_DETAIL_CHARS);
        words.push('…');
    }
    format!("the database says: {}", words.into_iter().collect::<String>())
}

/// Returns the trouble of a run that cannot go on because the store is damaged, or `None` if no damage is known.
pub fn trouble(daemon: &Daemon) -> Option<Trouble> {
    let damage = daemon.store.damage()?;
    Some(Trouble {
        code: "store/damaged".to_owned(),
        message: Untrusted::new(format!("the store is damaged ({})", detail(&damage))),
        help: store::restore_advice(daemon.store.dir()),
    })
}
