//! `forget` and `gc`: what a run worked on goes, and so do bytes that nothing names.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kernel::RunNumber;
use kernel::command::{Act, Said};
use passable::Untrusted;

use super::staging;
use crate::queries::{changes, runs};
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};

/// Forgets what a run and all that it started worked on. What others have too stays; bytes go with the next sweep.
///
/// It is done child by child, the run that a person names last: what is cut off is done by asking again.
///
/// # Errors
/// When there is no such run, it is a part of another one, is not over, or has staged changes that nobody has decided
/// about.
pub fn forget(daemon: &HostDaemon, text: Untrusted, run: RunNumber) -> Result<Vec<RunNumber>, Failure> {
    let found = runs::one(daemon, run)?;
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
        let said = (*one == run).then(|| Said { verb: "forget".to_owned(), text: text.clone() });
        daemon.apply_as(daemon.host, said, Act::Forget { run: *one })?;
    }
    // Nor is it remembered by what is still to run.
    daemon.memory.forget();
    Ok(forgotten)
}
