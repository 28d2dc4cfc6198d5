//! The verb `forget`, which removes the data that a run worked on.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kernel::RunNumber;
use kernel::command::{Act, UserCommand};
use passable::Untrusted;

use super::staging;
use crate::queries::{changes, runs};
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};

/// Forgets the data that a run and its descendants worked on. Data that other runs share stays. The next sweep
/// removes the bytes.
///
/// The daemon forgets child by child, and the named run last. So repeating an interrupted request completes it.
///
/// # Errors
/// When there is no such run, it is part of another run, it has not ended, or it still has staged changes.
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
    // The data must not stay in memory for later runs either.
    daemon.memory.forget();
    Ok(forgotten)
}
