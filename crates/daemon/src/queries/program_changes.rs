//! The changes that programs made in staged copies.
//!
//! No call records them. As long as the copy exists, its difference to its first state tells them, whether the daemon
//! was killed meanwhile or not. Once the copy is gone, the steps tell them with which a person applied them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use caps::stage::{StageBase, StageChange, StageChanges};
use caps::undo::{PathState, max_kept_bytes};
use kernel::formula::Formula;
use kernel::run::{Entry, RestoredFile};
use kernel::{BlobHash, RunNumber, StepRef};
use passable::{Untrusted, visible_line};
use resource::Resource;

use super::changes::Change;
use super::runs;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};

/// A staged copy in which programs work.
struct ProgramCopy {
    /// The directory of the copy.
    stage: String,
    /// The real directory.
    root: String,
    /// The last step in which a program was called, with its time.
    at: (i64, StepRef),
    /// The maximum size of a file in it whose content an undo keeps.
    max_kept_bytes: u64,
}

/// Adds the changes of programs to the changes of a family of runs, and returns descriptions of those that cannot be
/// applied. In a copy in which programs work, the copy itself tells the state of each path.
///
/// # Errors
/// When the store or a copy cannot be read.
pub(super) fn add(
    daemon: &HostDaemon,
    family: &BTreeSet<RunNumber>,
    planned: &mut Vec<Change>,
) -> Result<Vec<Untrusted>, Failure> {
    let mut unappliable = Vec::new();
    for copy in copies(daemon, family)? {
        let is_present = StageBase::is_recorded(Path::new(&copy.stage));
        let found = match is_present {
            true => present_changes(&copy)?,
            false => StageChanges { changes: applied_changes(daemon, family, &copy.root)?, beyond: vec![] },
        };
        let beyond = found.beyond.into_iter();
        unappliable
            .extend(beyond.map(|what| Untrusted::new(format!("{} in {}", what, visible_line(&copy.root)))));
        let mut known: BTreeMap<String, StageChange> =
            found.changes.iter().map(|change| (change.path.clone(), change.clone())).collect();
        for change in planned.iter_mut().filter(|change| change.stage.as_deref() == Some(&copy.stage)) {
            match known.remove(&change.path) {
                Some(StageChange { before, after, .. }) => {
                    // A later program has changed the file again.
                    change.by_program = (change.before, change.after) != (before, after);
                    (change.before, change.after) = (before, after);
                }
                // The copy holds the first state again.
                None if is_present => change.after = change.before,
                None => {}
            }
        }
        let rest = found.changes.into_iter().filter(|change| known.contains_key(&change.path));
        planned.extend(rest.map(|StageChange { path, before, after }| Change {
            at: copy.at,
            root: copy.root.clone(),
            stage: Some(copy.stage.clone()),
            // Two changes with a step in common would count as a move.
            steps: BTreeSet::new(),
            path,
            before,
            after,
            by_program: true,
            max_kept_bytes: copy.max_kept_bytes,
        }));
    }
    Ok(unappliable)
}

fn present_changes(copy: &ProgramCopy) -> Result<StageChanges, Failure> {
    let stage = Path::new(&copy.stage);
    StageBase::read(stage).and_then(|base| base.changes(stage)).map_err(|error| {
        let message = format!("the staged copy of {} cannot be read: {error}", visible_line(&copy.root));
        Failure::new(Exit::Failure, message)
            .help("check the permissions in the store's directory, or `almoner discard`")
    })
}

/// Returns the staged copies in which programs of these runs work.
fn copies(daemon: &HostDaemon, family: &BTreeSet<RunNumber>) -> Result<Vec<ProgramCopy>, Failure> {
    let mut copies: BTreeMap<String, ProgramCopy> = BTreeMap::new();
    let mut roots = BTreeMap::new();
    for member in family {
        let found = runs::load_run(daemon, *member)?;
        let mut calls = BTreeMap::new();
        for id in found.grants.values() {
            match daemon.grant(id) {
                Ok((grant, Formula::Resource(Resource::Directory { path, .. }))) => {
                    let most = max_kept_bytes(&grant.attenuation);
                    roots.extend(grant.attenuation.staged_from.map(|root| (path, (root, most))));
                }
                Ok((_, Formula::Resource(Resource::Programs(programs)))) => {
                    let staged = programs.directories.iter().filter(|one| one.staged_slot.is_some());
                    calls.insert(*id, staged.map(|one| one.path.clone()).collect::<Vec<_>>());
                }
                _ => {}
            }
        }
        if calls.values().all(Vec::is_empty) {
            continue;
        }
        let first = (0, StepRef { run: *member, step: 1 });
        for stage in calls.values().flatten() {
            let copy =
                || ProgramCopy { stage: stage.clone(), root: String::new(), at: first, max_kept_bytes: 0 };
            copies.entry(stage.clone()).or_insert_with(copy);
        }
        runs::for_each_step(daemon, *member, 1, |step| {
            if let Entry::Proposed { proposal, .. } = &step.entry {
                let at = (step.at_ms, StepRef { run: *member, step: step.number });
                for stage in calls.get(&proposal.grant).into_iter().flatten() {
                    if let Some(copy) = copies.get_mut(stage) {
                        copy.at = copy.at.max(at);
                    }
                }
            }
            true
        })?;
    }
    let rooted = copies.into_values().filter_map(|copy| {
        let (root, max_kept_bytes) = roots.get(&copy.stage)?.clone();
        Some(ProgramCopy { root, max_kept_bytes, ..copy })
    });
    Ok(rooted.collect())
}

/// Returns the changes of programs that a person has applied to a directory, from the state before the first to the
/// state after the last.
fn applied_changes(
    daemon: &HostDaemon,
    family: &BTreeSet<RunNumber>,
    root: &str,
) -> Result<Vec<StageChange>, Failure> {
    let mut applied: Vec<(i64, RestoredFile)> = Vec::new();
    for member in family {
        runs::for_each_step(daemon, *member, 1, |step| {
            if let Entry::Applied { files } = step.entry {
                applied.extend(files.into_iter().map(|file| (step.at_ms, file)));
            }
            true
        })?;
    }
    applied.sort_by_key(|(at_ms, _)| *at_ms);
    let mut found: BTreeMap<String, StageChange> = BTreeMap::new();
    for (_, file) in applied {
        let Some(digests) = file.digests else { continue };
        let Some(path) = file.path.strip_prefix(root.trim_end_matches('/')) else { continue };
        let Some(path) = path.strip_prefix('/') else { continue };
        let (before, after) = (state(&file.from, digests.before), state(&file.to, digests.after));
        found
            .entry(path.to_owned())
            .and_modify(|change| change.after = after)
            .or_insert_with(|| StageChange { path: path.to_owned(), before, after });
    }
    // The entries of a directory come before the directory.
    Ok(found.into_values().rev().collect())
}

/// Returns the state of a path from its description and its digest.
fn state(description: &str, digest: Option<BlobHash>) -> PathState {
    match digest {
        Some(digest) => PathState::File(digest),
        None if description == PathState::Directory.description() => PathState::Directory,
        None => PathState::Nothing,
    }
}
