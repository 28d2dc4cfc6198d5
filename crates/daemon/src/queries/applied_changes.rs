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

/// The changes that a person applied from staged copies, or put back.
#[derive(Default)]
pub struct PlacedChanges {
    in_place: BTreeMap<String, AppliedChanges>,
    /// The sizes of files that were put back although the run's content was too large to be kept, by absolute path.
    given_up: BTreeMap<String, u64>,
    /// The permissions of files before a change, by absolute path and the description of the file's state.
    modes: BTreeMap<(String, String), u32>,
}

impl PlacedChanges {
    /// Returns the change at an absolute path that was applied and not undone since.
    pub fn get(&self, path: &str) -> Option<&AppliedChanges> {
        self.in_place.get(path)
    }

    /// Returns the size of a file whose content is gone, because a person gave it up at an absolute path.
    pub fn given_up(&self, path: &str) -> Option<u64> {
        self.given_up.get(path).copied()
    }

    /// Returns the last known permissions of a file in a state with this description.
    pub fn mode(&self, path: &str, description: &str) -> Option<u32> {
        self.modes.get(&(path.to_owned(), description.to_owned())).copied()
    }
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
pub fn applied_changes(daemon: &HostDaemon, run: RunNumber) -> Result<PlacedChanges, Failure> {
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
    let mut placed = PlacedChanges::default();
    for (_, is_applied, by, files) in entries {
        for file in files {
            if let Some(mode) = file.mode {
                placed.modes.insert((file.path.clone(), file.from.clone()), mode);
            }
            if is_applied {
                placed.given_up.remove(&file.path);
            }
            placed.given_up.extend(file.given_up.map(|bytes| (file.path.clone(), bytes)));
            if is_applied {
                placed
                    .in_place
                    .insert(file.path, AppliedChanges { description: file.to, is_own: family.contains(&by) });
            } else if file.from == file.to {
                // Equal states mean that the file was put back. Other entries only announce an undo, which may have
                // been interrupted.
                placed.in_place.remove(&file.path);
            }
        }
    }
    Ok(placed)
}
