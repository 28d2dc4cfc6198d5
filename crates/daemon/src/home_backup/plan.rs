//! The plan of a restore: everything that a person sees before it counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::relocation::PathMap;
use kernel::run::{Run, State};
use kernel::table::FormulaRow;
use kernel::txn::{NO_OWNER, ReadTxn, StoreFault, Table};
use kernel::{FormulaId, MessageNumber, RunNumber, query, table};
use resource::PathUse;
use store::Store;

use super::authority::RestoredAuthority;
use config::clock;

/// The number of rows that are read at a time.
const PAGE_SIZE: usize = 256;

/// The maximum number of messages that are counted.
const MAX_MESSAGES: usize = 10_000;

/// The plan of a restore.
#[derive(Clone, Debug, Default)]
pub struct RestorePlan {
    /// The directories that move, with those of the home itself.
    pub moves: PathMap,
    /// The paths of this machine to which the store leads, outside of the home.
    pub paths: Vec<PlannedPath>,
    /// The number of staged copies.
    pub stages: usize,
    /// The lines of the configuration that change.
    pub texts: Vec<TextChange>,
    /// The authority that the configuration gives.
    pub authority: RestoredAuthority,
    /// The trusted files of projects: the path before, and the path afterwards.
    pub trusted: Vec<(String, String)>,
    /// The number of messages that wait for an answer.
    pub waiting: usize,
    /// The runs that go on by themselves as soon as the daemon starts.
    pub continuing: Vec<RunNumber>,
    /// The directories of `--map` that nothing in the backup names.
    pub unused: Vec<String>,
}

/// A path of this machine to which the store leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPath {
    /// The path before.
    pub from: String,
    /// The path afterwards.
    pub to: String,
    /// The use of the path.
    pub purpose: PathUse,
    /// The grants in force that lead to it, by their slots.
    pub slots: BTreeSet<String>,
    /// Whether there is such a directory or file at the path afterwards.
    pub is_there: bool,
}

/// A line of a text that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextChange {
    /// The name of the file in the configuration directory.
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// The line before.
    pub before: String,
    /// The line afterwards.
    pub after: String,
}

/// The parts of a store that a plan shows.
#[derive(Default)]
pub struct StoreSurvey {
    /// The paths that resources name, with their use and the slots of grants in force.
    paths: BTreeMap<(String, PathUse), BTreeSet<String>>,
    waiting: usize,
    continuing: Vec<RunNumber>,
}

impl StoreSurvey {
    /// Surveys a store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn new(store: &Store) -> Result<StoreSurvey, StoreFault> {
        store.read(survey).map_err(store::ReadError::into_inner)
    }

    /// Returns whether the store names a directory, or something below it.
    pub fn names(&self, dir: &str) -> bool {
        self.paths
            .keys()
            .any(|(path, _)| path == dir || path.starts_with(&format!("{}/", dir.trim_end_matches('/'))))
    }

    /// Fills the plan for these moves. Paths below `state`, the state directory of the backup, are those of staged copies.
    pub fn plan(self, moves: PathMap, state: &str) -> RestorePlan {
        let mut plan =
            RestorePlan { waiting: self.waiting, continuing: self.continuing, ..RestorePlan::default() };
        let inside = format!("{}/", state.trim_end_matches('/'));
        let mut stages = BTreeSet::new();
        for ((from, purpose), slots) in self.paths {
            if from.starts_with(&inside) {
                stages.insert(from);
                continue;
            }
            let to = moves.moved(&from).unwrap_or_else(|| from.clone());
            let is_there = match purpose {
                PathUse::Directory => Path::new(&to).is_dir(),
                PathUse::Program => Path::new(&to).is_file(),
                PathUse::Read => Path::new(&to).exists(),
            };
            plan.paths.push(PlannedPath { from, to, purpose, slots, is_there });
        }
        plan.stages = stages.len();
        plan.moves = moves;
        plan
    }
}

fn survey(txn: &mut dyn ReadTxn) -> Result<StoreSurvey, StoreFault> {
    let mut survey = StoreSurvey::default();
    let mut named: BTreeMap<FormulaId, Vec<(PathUse, String)>> = BTreeMap::new();
    let mut grants: Vec<FormulaId> = Vec::new();
    let node = table::host(txn)?.map(|host| host.node).unwrap_or_default();
    each_row::<FormulaRow>(txn, Table::Formula, &NO_OWNER, &mut |key, row| {
        let Ok(number) = <[u8; 32]>::try_from(key) else { return };
        let id = FormulaId { number, node };
        match row.formula {
            Formula::Resource(resource) => {
                named.insert(id, resource.paths());
            }
            Formula::Grant { .. } => grants.push(id),
            _ => {}
        }
    })?;
    for (purpose, path) in named.values().flatten() {
        survey.paths.entry((path.clone(), *purpose)).or_default();
    }
    for id in grants {
        let Some(grant) = table::grant(txn, &id)? else { continue };
        if grant.ended(clock::now_ms()).is_some() {
            continue;
        }
        // For a staged copy, the directory counts into which its changes would be applied.
        let staged = grant.attenuation.staged_from.clone().map(|path| vec![(PathUse::Directory, path)]);
        let reached = table::reach(txn, &id)?.and_then(|reached| named.get(&reached.id).cloned());
        for (purpose, path) in staged.or(reached).unwrap_or_default() {
            survey.paths.entry((path, purpose)).or_default().insert(slot_of(&grant));
        }
    }
    for host in table::hosts(txn)? {
        survey.waiting += query::awaiting(txn, &host, MessageNumber(0), MAX_MESSAGES)?.len();
        each_row::<Run>(txn, Table::Run, &host.number, &mut |_, run| {
            let goes_on = matches!(run.state, State::Ready) && !run.is_agent_journal();
            survey.continuing.extend(goes_on.then_some(run.number));
        })?;
    }
    Ok(survey)
}

fn slot_of(grant: &Grant) -> String {
    format!("{} `{}`", grant.number, passable::visible_line(&grant.slot))
}

/// Passes each row of an owner to `act`.
fn each_row<T: serde::de::DeserializeOwned>(
    txn: &mut dyn ReadTxn,
    table: Table,
    owner: &kernel::txn::Owner,
    act: &mut dyn FnMut(&[u8], T),
) -> Result<(), StoreFault> {
    let mut from = Vec::new();
    loop {
        let page: Vec<(Vec<u8>, T)> = table::scan(txn, table, owner, &from, &[], PAGE_SIZE, false)?;
        let is_last = page.len() < PAGE_SIZE;
        for (key, row) in page {
            act(&key, row);
            from = [&key[..], &[0]].concat();
        }
        if is_last {
            return Ok(());
        }
    }
}
