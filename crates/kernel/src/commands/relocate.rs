//! The move of directories: the rows that name them follow.
//!
//! The log of events cannot change, and it holds the hashes of some of these rows. So each move has a record with the
//! hashes of these rows before and after, an event holds the hash of that record, and the audit follows it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::audit;
use crate::command::Fault;
use crate::env::Env;
use crate::event::Change;
use crate::formula::Formula;
use crate::grant::Grant;
use crate::id::{BlobHash, Number};
use crate::model::binding::{Binding, Target};
use crate::provenance::Provenance;
use crate::query::relocations;
use crate::relocation::{PathMap, Relocation};
use crate::run::{Entry, Run, Step};
use crate::state::State;
use crate::table::{self, FormulaRow};
use crate::txn::{NO_OWNER, Owner, StoreFault, Table, Txn};

/// The number of rows that are read at a time.
const PAGE_SIZE: usize = 256;

/// Changes every row that names a directory which has moved, and records the move. A map without moves changes nothing.
///
/// Texts that tell of the past, such as messages and results, stay as they are.
pub fn relocate(txn: &mut dyn Txn, env: &Env, moves: &PathMap) -> Result<(), Fault> {
    if moves.is_empty() {
        return Ok(());
    }
    let mut state = State::of_store(txn, env)?;
    let mut records = BTreeMap::new();
    for agent in move_formulas(&mut state, moves, &mut records)? {
        move_runs(&mut state, &agent, moves)?;
        move_steps(&mut state, &agent, moves, &mut records)?;
    }
    let number = relocations::last(state.txn)? + 1;
    for (old, new) in &records {
        let key = relocations::record_key(number, old);
        table::save(state.txn, Table::Relocation, &NO_OWNER, &key, new, None)?;
    }
    let relocation = Relocation {
        moves: moves.clone(),
        at_ms: env.now_ms(),
        records: records.len() as u64,
        digest: relocations::digest(&records),
    };
    let key = table::number_key(number);
    table::save(state.txn, Table::Relocation, &NO_OWNER, &key, &relocation, None)?;
    let digest = audit::digest(&relocation)?;
    for host in table::hosts(state.txn)? {
        let seq = state.event_for(&host.number, Change::Relocated { number, digest })?;
        table::save(state.txn, Table::Relocation, &host.number, &key, &seq, None)?;
    }
    Ok(())
}

/// The hashes of changed records, before and after.
type Records = BTreeMap<BlobHash, BlobHash>;

/// Moves the resources and the grants. Returns the owners of runs.
fn move_formulas(state: &mut State<'_>, moves: &PathMap, records: &mut Records) -> Result<Vec<Owner>, Fault> {
    let mut agents = Vec::new();
    // The keys of formulas have 32 bytes. Longer keys, of rows that belong to a formula, are not in this table.
    each_row::<FormulaRow>(state, Table::Formula, &NO_OWNER, &mut |state, key, mut row| {
        match &mut row.formula {
            Formula::Resource(resource) => {
                let before = resource.clone();
                resource.visit_paths(&mut |_, path| {
                    if let Some(moved) = moves.moved(path) {
                        *path = moved;
                    }
                });
                if *resource != before {
                    save(state, Table::Formula, &NO_OWNER, key, &row, Some(&row.provenance))?;
                }
            }
            Formula::Worker { model: Some(model), .. } => {
                if let Some(moved) = moves.moved_in_text(model) {
                    *model = moved;
                    save(state, Table::Formula, &NO_OWNER, key, &row, Some(&row.provenance))?;
                }
            }
            Formula::Grant { owner, .. } => move_grant(state, *owner, key, moves, records)?,
            Formula::Host { .. } | Formula::Guest { .. } => {
                agents.extend(Owner::try_from(key).ok());
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(agents)
}

fn move_grant(
    state: &mut State<'_>,
    owner: Number,
    key: &[u8],
    moves: &PathMap,
    records: &mut Records,
) -> Result<(), Fault> {
    let Some(before) = table::load::<Grant>(state.txn, Table::Grant, &owner.0, key)? else { return Ok(()) };
    let mut grant = before.clone();
    if let Some(words) = moves.moved_in_text(&grant.words) {
        grant.words = words;
    }
    move_option(&mut grant.attenuation.staged_from, moves);
    if grant != before {
        // The event of a grant holds its hash as it was made. A revocation has an event of its own.
        let made = |grant: &Grant| Grant { revoked_ms: None, revoked_by: None, ..grant.clone() };
        records.insert(audit::digest(&made(&before))?, audit::digest(&made(&grant))?);
        state.put_grant(&grant)?;
    }
    Ok(())
}

/// Moves the models of runs that are files, and the additions of a user to workers that runs are about to make.
fn move_runs(state: &mut State<'_>, owner: &Owner, moves: &PathMap) -> Result<(), Fault> {
    each_row::<Run>(state, Table::Run, owner, &mut |state, key, mut run| {
        let before = (run.model.clone(), run.additions.clone());
        if let Some(moved) = moves.moved_in_text(&run.model) {
            run.model = moved;
        }
        run.additions.values_mut().for_each(|(_, addition)| move_bindings(&mut addition.bindings, moves));
        if (&run.model, &run.additions) != (&before.0, &before.1) {
            save(state, Table::Run, owner, key, &run, Some(&run.provenance))?;
        }
        Ok(())
    })
}

fn move_bindings(bindings: &mut [Binding], moves: &PathMap) {
    for binding in bindings {
        move_option(&mut binding.attenuation.staged_from, moves);
        match &mut binding.target {
            Target::Resource(resource) => resource.visit_paths(&mut |_, path| {
                if let Some(moved) = moves.moved(path) {
                    *path = moved;
                }
            }),
            Target::Endowed { bindings, .. } => move_bindings(bindings, moves),
            Target::Worker(_)
            | Target::Model { .. }
            | Target::Myself
            | Target::Workshop
            | Target::Named { .. } => {}
        }
    }
}

/// Moves the paths of journals that later commands compare: the files that a user applied, discarded or put back, and
/// the places of calls that an agent made.
fn move_steps(
    state: &mut State<'_>,
    owner: &Owner,
    moves: &PathMap,
    records: &mut Records,
) -> Result<(), Fault> {
    each_row::<Step>(state, Table::Journal, owner, &mut |state, key, mut step| {
        let before = step.clone();
        match &mut step.entry {
            Entry::Reverted { files } | Entry::Applied { files } => {
                files.iter_mut().for_each(|file| move_path(&mut file.path, moves));
            }
            Entry::Discarded { files } => files.iter_mut().for_each(|file| move_path(&mut file.path, moves)),
            Entry::Proposed { proposal, .. } => move_option(&mut proposal.place, moves),
            _ => return Ok(()),
        }
        if step != before {
            records.insert(audit::digest(&before)?, audit::digest(&step)?);
            save(state, Table::Journal, owner, key, &step, Some(&step.provenance))?;
        }
        Ok(())
    })
}

fn move_path(path: &mut String, moves: &PathMap) {
    if let Some(moved) = moves.moved(path) {
        *path = moved;
    }
}

fn move_option(path: &mut Option<String>, moves: &PathMap) {
    if let Some(path) = path {
        move_path(path, moves);
    }
}

fn save<T: Serialize>(
    state: &mut State<'_>,
    table: Table,
    owner: &Owner,
    key: &[u8],
    row: &T,
    provenance: Option<&Provenance>,
) -> Result<(), StoreFault> {
    table::save(state.txn, table, owner, key, row, provenance)
}

/// A change of the row under a key.
type RowChange<'c, T> = &'c mut dyn FnMut(&mut State<'_>, &[u8], T) -> Result<(), Fault>;

/// Passes each row of an owner to `act`, which may change that row.
fn each_row<T: DeserializeOwned>(
    state: &mut State<'_>,
    table: Table,
    owner: &Owner,
    act: RowChange<'_, T>,
) -> Result<(), Fault> {
    let mut from = Vec::new();
    loop {
        let page: Vec<(Vec<u8>, T)> = table::scan(state.txn, table, owner, &from, &[], PAGE_SIZE, false)?;
        let is_last = page.len() < PAGE_SIZE;
        for (key, row) in page {
            act(state, &key, row)?;
            from = [&key[..], &[0]].concat();
        }
        if is_last {
            return Ok(());
        }
    }
}
