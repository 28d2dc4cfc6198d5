//! `forget` and `gc`: they remove the data that a run worked on, and bytes that nothing names.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kernel::RunNumber;
use kernel::command::{Act, UserCommand};
use passable::Untrusted;

use super::staging;
use crate::queries::{changes, runs};
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};

/// Forgets the data that a run and its descendants worked on. Data that others share stays. Bytes go with the next
/// sweep.
///
/// The daemon forgets child by child, the named run last, so asking again completes an interrupted request.
///
/// # Errors
/// When there is no such run, it is a part of another one, is not over, or has staged changes that are still
/// undecided.
pub fn forget(daemon: &HostDaemon, text: Untrusted, run: RunNumber) -> Result<Vec<RunNumber>, Failure> {
    let found = runs::load_run(daemon, run)?;
    if let Some(parent) = found.parent {
        return Err(Failure::new(Exit::Usage, format!("{run} is a part of {}", parent.run))
            .help(format!("`almoner forget {}` forgets both", parent.run)));
    }
    let family: BTreeSet<RunNumber> = changes::whole_family(daemon, run)?;
    let copies: Vec<PathBuf> = staging::copies(daemon, &found);
    if copies.iter().any(|copy| copy.exists()) {
        return Err(Failure::new(Exit::Conflict, format!("{run} has staged changes"))
            .help(format!("`almoner apply {run}` or `almoner discard {run}` first")));
    }
    let forgotten: Vec<RunNumber> = family.into_iter().rev().collect();
    for one in &forgotten {
        let said = (*one == run).then(|| UserCommand { verb: "forget".to_owned(), text: text.clone() });
        daemon.apply_as(daemon.host, said, Act::Forget { run: *one })?;
    }
    // Runs that are still to come must not find it in memory either.
    daemon.memory.forget();
    Ok(forgotten)
}
