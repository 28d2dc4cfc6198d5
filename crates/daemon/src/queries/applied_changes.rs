//! The changes in directories that a person applied from a staged copy.

use std::collections::{BTreeMap, BTreeSet};

use kernel::RunNumber;
use kernel::run::Entry;

use super::{changes, runs};
use crate::state::daemon::HostDaemon;
use control::exit::Failure;

/// A change that was applied at a path.
pub struct AppliedChanges {
    /// The description of the state that was applied.
    pub description: String,
    /// Whether the change came from a staged copy of this run or its descendants, and not of its ancestors.
    pub is_own: bool,
}

/// Returns a run, its descendants and its ancestors. These runs share staged copies.
///
/// # Errors
/// When there is no such run, or it has not ended.
pub fn relatives(daemon: &HostDaemon, run: RunNumber) -> Result<BTreeSet<RunNumber>, Failure> {
    let mut runs = changes::whole_family(daemon, run)?;
    let mut above = runs::load_run(daemon, run)?.parent;
    while let Some(parent) = above {
        runs.insert(parent.run);
        above = runs::load_run(daemon, parent.run)?.parent;
    }
    Ok(runs)
}

/// Returns the changes that were applied from the staged copies of a run, its descendants and its ancestors, by
/// absolute path. Changes that were undone since are left out.
///
/// # Errors
/// When there is no such run, or it has not ended.
pub fn applied_changes(
    daemon: &HostDaemon,
    run: RunNumber,
) -> Result<BTreeMap<String, AppliedChanges>, Failure> {
    let family = changes::whole_family(daemon, run)?;
    let mut entries = Vec::new();
    for run in relatives(daemon, run)? {
        runs::for_each_step(daemon, run, 1, |step| {
            match step.entry {
                Entry::Applied { files } => entries.push((step.at_ms, true, run, files)),
                Entry::Reverted { files } => entries.push((step.at_ms, false, run, files)),
                _ => {}
            }
            true
        })?;
    }
    entries.sort_by_key(|(at_ms, ..)| *at_ms);
    let mut in_place = BTreeMap::new();
    for (_, is_applied, by, files) in entries {
        for file in files {
            if is_applied {
                in_place
                    .insert(file.path, AppliedChanges { description: file.to, is_own: family.contains(&by) });
            } else if file.from == file.to {
                // Equal states mean that the file was put back. Other entries only announce an undo, which may have
                // been interrupted.
                in_place.remove(&file.path);
            }
        }
    }
    Ok(in_place)
}
