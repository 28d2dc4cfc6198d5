//! Permissions for calls: for one proposal, or for as long as a run lasts.

use crate::command::Fault;
use crate::id::{RunNumber, StepRef};
use crate::proposal::Fingerprint;
use crate::run::{Entry, Run};
use crate::state::State;
use crate::table::{self, PermissionRow};
use crate::txn::Table;

/// Returns the permission for a proposal. For `None`, the permission is the one that lasts as long as `run`.
pub(crate) fn permission(
    state: &mut State<'_>,
    fingerprint: Fingerprint,
    proposal: Option<StepRef>,
    run: RunNumber,
) -> Result<Option<PermissionRow>, Fault> {
    let owner = state.owner();
    let key = table::permission_key(fingerprint, proposal);
    let row: Option<PermissionRow> = table::load(state.txn, Table::Permission, &owner, &key)?;
    // A fingerprint covers its run, so a lasting permission can only ever match that run.
    Ok(row.filter(|row| row.proposal.is_none_or(|p| p.run == run)))
}

/// Forgets the permissions that lasted only as long as the run.
pub(crate) fn forget_permissions(state: &mut State<'_>, run: &Run) -> Result<(), Fault> {
    let owner = state.owner();
    let key = run_permissions_key(run);
    let kept: Option<Vec<crate::proposal::Fingerprint>> =
        table::load(state.txn, Table::Meta, &owner, key.as_bytes())?;
    for fingerprint in kept.unwrap_or_default() {
        state.txn.delete(Table::Permission, &owner, &table::permission_key(fingerprint, None))?;
    }
    state.txn.delete(Table::Meta, &owner, key.as_bytes())?;
    Ok(())
}

/// Returns the key of the list of a run's lasting permissions, which is kept until the run ends.
pub(crate) fn run_permissions_key(run: &Run) -> String {
    format!("permissions of {}", run.number)
}

/// Removes the permission for a call that will not begin any more.
pub(crate) fn forget_permission(state: &mut State<'_>, run: &Run, step: u64) -> Result<(), Fault> {
    let at = StepRef { run: run.number, step };
    if let Entry::Proposed { fingerprint, .. } = state.step(at)?.entry {
        let owner = state.owner();
        state.txn.delete(Table::Permission, &owner, &table::permission_key(fingerprint, Some(at)))?;
    }
    Ok(())
}
