//! The shared limits for all calls of one endowed worker, such as a model that a person has handed over.
//!
//! A call borrows a part of the remaining limits, and returns the unused part when it ends. So calls that run at the
//! same time cannot exceed the limits together.

use crate::command::Fault;
use crate::formula::Formula;
use crate::id::FormulaId;
use crate::model::limits::Share;
use crate::run::{Limits, Run};
use crate::state::State;
use crate::table;
use crate::txn::{NO_OWNER, Table};

/// Returns the key of the one row of a worker, which all its callers share.
fn key(worker: &FormulaId) -> Vec<u8> {
    [b"left of ", &worker.number[..]].concat()
}

/// Removes the row of a worker that is gone.
pub(crate) fn forget(state: &mut State<'_>, worker: &FormulaId) -> Result<(), Fault> {
    Ok(state.txn.delete(Table::Meta, &NO_OWNER, &key(worker))?)
}

fn left(state: &mut State<'_>, worker: &FormulaId, whole: Limits) -> Result<Limits, Fault> {
    Ok(table::load(state.txn, Table::Meta, &NO_OWNER, &key(worker))?.unwrap_or(whole))
}

fn keep(state: &mut State<'_>, worker: &FormulaId, left: &Limits) -> Result<(), Fault> {
    Ok(table::save(state.txn, Table::Meta, &NO_OWNER, &key(worker), left, None)?)
}

/// Lends a call its share of the remainder of `whole`, within the limits `may` that the call has anyway. `calls` is
/// the number of calls that share the remainder. Returns the lent limits, or `None` if nothing is left.
pub(super) fn lend(
    state: &mut State<'_>,
    worker: &FormulaId,
    whole: Limits,
    may: Limits,
    calls: u64,
) -> Result<Option<Limits>, Fault> {
    let mut left = left(state, worker, whole)?;
    // The bytes that are kept count for the caller alone.
    let share = Share { tokens: left.tokens, usd_micros: left.usd_micros, kept: u64::MAX };
    let part = Share { kept: may.kept, ..share.part(calls) };
    if part.tokens == 0 || part.usd_micros == Some(0) {
        return Ok(None);
    }
    let lent = may.within(part);
    left.tokens = left.tokens.saturating_sub(lent.tokens);
    left.usd_micros =
        left.usd_micros.map(|micros| micros.saturating_sub(lent.usd_micros.unwrap_or_default()));
    keep(state, worker, &left)?;
    Ok(Some(lent))
}

/// Takes back the limits that a call has not used.
pub(super) fn take_back(state: &mut State<'_>, child: &Run) -> Result<(), Fault> {
    let Some(Formula::Worker { limits, pooled: true, .. }) =
        table::formula(state.txn, &child.worker)?.map(|row| row.formula)
    else {
        return Ok(());
    };
    let mut left = left(state, &child.worker, limits)?;
    let unused = child.limits.tokens.saturating_sub(child.used.tokens());
    // A call that used more than its part leaves less for the others.
    let over = child.used.tokens().saturating_sub(child.limits.tokens);
    left.tokens = left.tokens.saturating_add(unused).saturating_sub(over).min(limits.tokens);
    let unspent = child.limits.usd_micros.unwrap_or_default().saturating_sub(child.used.usd_micros);
    let lent = child.limits.usd_micros.unwrap_or(u64::MAX);
    let overspent = child.used.usd_micros.saturating_sub(lent);
    left.usd_micros = left
        .usd_micros
        .zip(limits.usd_micros)
        .map(|(left, whole)| left.saturating_add(unspent).saturating_sub(overspent).min(whole));
    keep(state, &child.worker, &left)
}
